"""User packets through the daemon, both ways: every family, protocol, mode and number of workers.

The data network's kernel answers pings and TCP by itself, so that what the daemon delivers must be
right to the last checksum.
"""

import socket

import pytest
from kit import gtpu, rules, topology
from kit.pfcp import cause, ie
from kit.scene import CONTROL_PDR, PAYLOAD, datagram, segment
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6ND_RA, ICMPv6ND_RS, ICMPv6NDOptPrefixInfo, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

FAMILIES = ("v4", "v6", "v4v6")
CORE = {4: topology.N6_DN, 6: topology.N6_DN6}
HOST, HOST6 = "10.10.3.9", "fd00:3::9"  # the host's own, on the device n3
FALSE_MAC = "02:00:00:00:00:99"
KERNEL_TTL = 64  # of what the data network sends


def versions(family):
    """The IP versions of a session."""
    return [version for version in (4, 6) if f"v{version}" in family]


def hops(packet):
    """TTL or hop limit."""
    return packet.hlim if IPv6 in packet else packet.ttl


def total(scene, *names):
    """Counters over all workers."""
    rows = scene.daemon.ctl("show", "counters")["workers"]
    return [sum(row["counters"].get(name, 0) for row in rows) for name in names]


@pytest.mark.parametrize("family", FAMILIES)
def test_ping(scene, family):
    """Up, answered by the data network's kernel, and down: TEID, QFI, sender, hop limit, data."""
    ue = scene.attach(family)
    up, down = total(scene, "up", "down")
    for version in versions(family):
        for sequence, size in ((1, 0), (2, 48), (3, 1372)):
            found = scene.ping(ue, CORE[version], sequence, bytes(size))
            assert found, f"{version} {size}: {scene.daemon.drops()}"
            message, packet = found
            assert (message.qfi, message.rqi, message.sequence) == (1, False, None)
            assert message.extension(gtpu.EXT_PDU_SESSION)[0] >> 4 == gtpu.DOWNLINK
            assert hops(packet) == KERNEL_TTL - 1
    sent = len(versions(family)) * 3
    assert total(scene, "up", "down") == [up + sent, down + sent]


@pytest.mark.parametrize("version", (4, 6))
def test_udp_both_ways(scene, version):
    """The data network sees the UE's own address and one hop less; its answer reaches the UE."""
    ue = scene.attach()
    with scene.core_socket(version=version) as core:
        scene.up(ue, datagram(ue, CORE[version], 1000, 7))
        data, sender = core.recvfrom(2048)
        assert (data, sender[:2]) == (PAYLOAD, (ue.v4 if version == 4 else ue.v6, 1000))
        core.sendto(b"down", sender)
    message, packet = scene.down(ue)
    assert (packet[UDP].sport, packet[UDP].dport, bytes(packet[UDP].payload)) == (7, 1000, b"down")
    assert message.qfi == 1 and hops(packet) == KERNEL_TTL - 1
    frame = scene.n6.receive(lambda octets: PAYLOAD in octets)
    assert hops(Ether(frame).payload) == 63 and Ether(frame).src == scene.network.upf.mac("n6")


@pytest.mark.parametrize("version", (4, 6))
def test_tcp_connection(scene, version):
    """A connection of the UE's, byte for byte through the daemon: SYN to data to FIN."""
    ue = scene.attach()

    def says(flags, seq, ack=0, data=b""):
        scene.up(ue, segment(ue, CORE[version], 4000, 80, flags, seq=seq, ack=ack) / Raw(data))

    def hears(flags):
        found = scene.down(ue, lambda packet: TCP in packet and packet[TCP].flags == flags)
        assert found, scene.daemon.drops()
        return found[1][TCP]

    with scene.core_socket(socket.SOCK_STREAM, version, 80) as server:
        server.listen()
        says("S", 100)
        theirs = hears("SA").seq
        says("A", 101, theirs + 1)
        connection, _ = server.accept()
        with connection:
            says("PA", 101, theirs + 1, b"hello")
            assert connection.recv(100) == b"hello"
            connection.sendall(b"world")
            heard = hears("PA")
            assert bytes(heard.payload) == b"world"
            says("FA", 106, heard.seq + 5)
            assert connection.recv(100) == b""


def test_sessions_of_all_workers(scene, stage):
    """Sessions are spread over the workers; what arrives at another's queue is handed over."""
    workers = stage.workers
    ues = [scene.attach("v4") for _ in range(4)]
    handed, = total(scene, "handoff_in")
    shown = scene.daemon.ctl("show", "workers")["workers"]
    assert [row["sessions"] for row in shown] == [4 // workers] * workers
    wanted = {(ue.v4, sport) for ue in ues for sport in range(1, 17)}
    frame = Ether(src=scene.n3.mac, dst=scene.network.upf.mac("n3"))
    outer = IP(src=topology.N3_GNB, dst=topology.N3_UPF)
    with scene.core_socket() as core:
        for address, sport in sorted(wanted):
            ue = next(ue for ue in ues if ue.v4 == address)
            user = gtpu.gpdu(ue.up_teid, datagram(ue, topology.N6_DN, sport, 7), 1)
            scene.n3.send(frame / outer / UDP(sport=5000 + sport, dport=2152) / Raw(user))
        senders = [core.recvfrom(100)[1] for _ in wanted]
        assert set(senders) == wanted
        for sender in senders:
            core.sendto(b"back", sender)
    got = scene.downs(*ues, number=len(wanted))
    assert {(ue.v4, packet[UDP].dport) for ue, packet in got} == wanted
    assert (total(scene, "handoff_in")[0] > handed) == (workers > 1)


def test_downlink_first(scene):
    """The data network begins: the kernel resolves the daemon, the daemon the gNB."""
    ue = scene.attach()
    for version, address in ((4, ue.v4), (6, ue.v6)):
        with scene.core_socket(version=version) as core:
            core.sendto(b"hello", (address, 9))
        assert scene.down(ue), scene.daemon.drops()


def test_router_solicitation(scene):
    """A UE's solicitation goes to the SMF as plain GTP-U; so comes the advertisement back."""
    ue = scene.attach()
    ask = IPv6(src="fe80::2", dst="ff02::2", hlim=255) / ICMPv6ND_RS()
    tell = IPv6(src="fe80::1", dst="fe80::2", hlim=255) / ICMPv6ND_RA() / ICMPv6NDOptPrefixInfo(
        prefix="2001:db8:cafe::", prefixlen=64)
    with gtpu.Gnb(scene.network.ran, topology.N4_SMF) as smf:
        scene.up(ue, ask)
        sender, message = smf.receive(gtpu.GPDU)
        assert (sender[0], message.teid, message.extensions) == (topology.N3_UPF, 1, [])
        assert message.payload == bytes(ask)
        smf.send(topology.N3_UPF, gtpu.gpdu(ue.session.tunnels[CONTROL_PDR][0], tell))
    message, packet = scene.down(ue)
    assert bytes(packet) == bytes(tell) and message.extensions == []
    scene.up(ue, IPv6(src="fe80::2", dst="ff02::1") / UDP(dport=9))
    scene.assert_forwards(ue)
    assert scene.daemon.drops()["spoofed_source"] > 0


@pytest.mark.parametrize("ends, prefix, core", [
    ({"v4": "10.99.0.5"}, "10.99.0.0/16", (topology.N6_DN, topology.N6_UPF)),
    ({"v6": "2001:db8:99:1::5"}, "2001:db8:99::/48", (topology.N6_DN6, topology.N6_UPF6)),
])
def test_address_outside_the_pools(scene, ends, prefix, core):
    """An SMF gives out what addresses it likes; only one session has an address."""
    route = ("-6" if ":" in prefix else "-4", "route", "replace", prefix, "via", core[1])
    scene.network.dn.inside(*route)
    ue = scene.attach(**ends)
    assert scene.ping(ue, core[0]), scene.daemon.drops()
    body, _ = scene.smf.establishment(*rules.open5gs_session(topology.N4_SMF, **ends))
    answer = scene.smf.request(body, seid=0)
    assert cause(answer) == 73 and ie(answer, scapy_pfcp.IE_FailedRuleId).pdr_id == 1
    assert scene.ping(ue, core[0], 2)


@pytest.mark.parametrize("device, name", [("n3", "access"), ("n6", "core")])
def test_device_down_and_up(scene, device, name):
    """A device that is set down and up again: it is told, and traffic goes on by itself."""
    def told(carrier, line):
        shown = scene.daemon.ctl("show", "interface", name)["carrier"]
        return shown == carrier and f"{name}: {line}" in scene.daemon.log(lines=None)

    ue = scene.attach()
    scene.assert_forwards(ue)
    scene.network.upf.inside("link", "set", "dev", device, "down")
    wait_for(lambda: told("down", "no carrier"), "the loss of carrier")
    scene.network.upf.inside("link", "set", "dev", device, "up")
    wait_for(lambda: told("up", "carrier is back"), "carrier")
    wait_for(lambda: scene.ping(ue, topology.N6_DN, 2, timeout=0.3), "the way")


def test_own_addresses_answer(scene):
    """The daemon's addresses answer pings on N3 and N6, and GTP-U Echo on N3."""
    for namespace, addresses in ((scene.network.ran, (topology.N3_UPF, topology.N3_UPF6)),
                                 (scene.network.dn, (topology.N6_UPF, topology.N6_UPF6))):
        for address in addresses:
            namespace.run("ping", "-n", "-c2", "-i0.1", "-W2", address)
    for sequence in (1, 65535):
        answer = scene.gnb.echo(topology.N3_UPF, sequence)
        assert (answer.sequence, answer.payload) == (sequence, gtpu.IE_RECOVERY)


def test_false_link_address(scene):
    """Somebody says that the gNB has another MAC: it is asked, and the way is right again."""
    def macs():
        rows = scene.daemon.ctl("show", "neighbours")["neighbours"]
        return [row["mac"] for row in rows if row["address"] == topology.N3_GNB]

    ue = scene.attach()
    scene.assert_forwards(ue)
    scene.n3.send(Ether(src=scene.n3.mac, dst=scene.network.upf.mac("n3")) / ARP(
        hwsrc=FALSE_MAC, psrc=topology.N3_GNB, pdst=topology.N3_UPF))
    wait_for(lambda: macs() == [FALSE_MAC], "the false one")
    wait_for(lambda: macs() == [scene.n3.mac], "the right one", timeout=3)
    scene.assert_forwards(ue, sequence=2)


def test_host_keeps_its_traffic(scene):
    """The host goes on using the device that Sluice uses, beside it, and its other devices."""
    host, ue = scene.network.upf, scene.attach()
    host.address("n3", f"{HOST}/24", f"{HOST6}/64")
    try:
        for namespace, addresses in ((host, (topology.N3_GNB, topology.N3_GNB6, topology.N4_SMF)),
                                     (scene.network.ran, (HOST, HOST6))):
            for address in addresses:
                namespace.run("ping", "-n", "-c2", "-i0.1", "-W2", address)
        scene.assert_forwards(ue)
    finally:
        for address in (f"{HOST}/24", f"{HOST6}/64"):
            host.inside("address", "del", address, "dev", "n3")
