"""Fragments through the daemon: of tunnels' packets, and of users' where rules ask for ports.

Kernels cut and put together: those of the gNB and of the data network. In mode af_packet the host's
kernel puts IPv4 fragments together before the daemon sees them, up to what a frame holds.
"""

import pytest
from kit import gtpu, rules, topology
from kit.daemon import Daemon
from kit.pfcp import assert_accepted
from kit.scene import Scene, datagram
from kit.wait import wait_for
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

CORE = {4: topology.N6_DN, 6: topology.N6_DN6}
UPF = {4: topology.N3_UPF, 6: topology.N3_UPF6}
GNB = {4: topology.N3_GNB, 6: topology.N3_GNB6}
PORT, QFI = 5001, 2  # what a rule asks for, and what tells that it was taken
DATA = bytes(i * 7 & 255 for i in range(2400))


def count(scene, name):
    """A counter over all workers."""
    rows = scene.daemon.ctl("show", "counters")["workers"]
    return sum(row["counters"].get(name, 0) for row in rows)


def own(ue, version):
    """The UE's address."""
    return ue.v4 if version == 4 else ue.v6


def attach(scene):
    """A UE whose session has a rule for packets from one port of the data network."""
    ue = scene.attach()
    asks = rules.sdf(f"permit out 17 from any {PORT} to assigned")
    assert_accepted(ue.session.modify(
        rules.qer_rate(9, 50000, 100000, QFI),
        rules.pdr(9, 10, [rules.interface(rules.CORE), rules.network(topology.DNN),
                          rules.ue_address(ue.v4, ue.v6), asks], 1, qer=9)))
    return ue


def pieces_of(packet, version, size=600):
    """The packet in fragments, the last first."""
    if version == 4:
        cut = fragment(packet, fragsize=size)
    else:
        head, rest = IPv6(src=packet.src, dst=packet.dst), packet.payload
        cut = fragment6(head / IPv6ExtHdrFragment(nh=17, id=packet[UDP].sport) / rest, size + 48)
    assert len(cut) > 2
    return list(reversed([type(packet)(bytes(one)) for one in cut]))


def joined(messages):
    """The UDP datagram of user packets that came in fragments."""
    parts = {}
    for message in messages:
        packet = (IP if message.payload[0] >> 4 == 4 else IPv6)(message.payload)
        if IPv6 in packet:
            parts[packet[IPv6ExtHdrFragment].offset * 8] = message.payload[48:]
        else:
            parts[packet.frag * 8] = message.payload[20:packet.len]
    whole = b""
    for at in sorted(parts):
        assert at == len(whole), sorted(parts)
        whole += parts[at]
    return whole


@pytest.mark.parametrize("version", (4, 6))
def test_down(scene, stage, version):
    """All fragments go by the rule that only the first one speaks of; without one, they just go."""
    ue, gathered = attach(scene), count(scene, "gathered")
    frame = Ether(src=scene.n6.mac, dst=scene.network.upf.mac("n6"))
    layer = IP if version == 4 else IPv6
    for number, (port, qfi) in enumerate(((PORT, QFI), (7, 1)), 1):
        packet = layer(src=CORE[version], dst=own(ue, version)) / UDP(
            sport=port, dport=number) / Raw(DATA[:1400])
        pieces = pieces_of(layer(bytes(packet)), version)
        for piece in pieces:
            scene.n6.send(frame / piece)
        got = []
        while sum(len(message.payload) for message in got) < 1400:
            found = scene.gnb.receive(lambda message: message.teid == ue.down_teid)
            assert found, scene.daemon.drops()
            got.append(found[1])
        assert {message.qfi for message in got} == {qfi}
        if (version, stage.mode) == (4, "af_packet"):
            assert got[0].payload[28:] == DATA[:1400]
            continue
        whole = joined(got)
        assert whole[8:] == DATA[:1400] and int.from_bytes(whole[:2], "big") == port
        assert len(got) == len(pieces)
        assert count(scene, "gathered") == gathered + number


def test_longer_than_a_frame(scene, stage):
    """As many fragments as come go; what the kernel put together and then cut off is dropped by name."""
    ue, before = attach(scene), scene.daemon.drops().get("bad_ip_header", 0)
    frame = Ether(src=scene.n6.mac, dst=scene.network.upf.mac("n6"))
    packet = IP(src=CORE[4], dst=ue.v4) / UDP(sport=PORT, dport=9) / Raw(DATA)
    for piece in pieces_of(IP(bytes(packet)), 4, 1200):
        scene.n6.send(frame / piece)
    if stage.mode == "af_packet":
        wait_for(lambda: scene.daemon.drops().get("bad_ip_header", 0) == before + 1, "the drop")
        return
    got = [scene.gnb.receive(lambda message: message.teid == ue.down_teid)[1] for _ in range(3)]
    assert joined(got)[8:] == DATA and {message.qfi for message in got} == {QFI}


@pytest.mark.parametrize("outer", (4, 6))
@pytest.mark.parametrize("version", (4, 6))
def test_of_tunnels(scene, version, outer):
    """The gNB's kernel cuts tunnels' packets that are too long for N3."""
    ue = scene.attach()
    with scene.gnb_over(outer) as gnb, scene.core_socket(version=version) as core:
        for size in (1457, 1480, 1500):
            data = DATA[:size - (28 if version == 4 else 48)]
            gnb.uplink(UPF[outer], ue.up_teid, datagram(ue, CORE[version], size, 7, data))
            got, sender = core.recvfrom(4096)
            assert (got, sender[1]) == (data, size)


@pytest.mark.parametrize("version", (4, 6))
def test_up(scene, version):
    """Fragments of a UE's packet, the last first; the data network's kernel puts them together."""
    ue = scene.attach()
    with scene.core_socket(version=version) as core:
        packet = datagram(ue, CORE[version], 1234, 7, DATA)
        for piece in pieces_of(type(packet)(bytes(packet)), version):
            scene.up(ue, piece)
        assert core.recv(4096) == DATA


def test_never_whole(network, mode, workers, tmp_path):
    """What does not come in time ends by name; so does what is too much. Others go through meanwhile."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket, workers)
        made["reassembly"] = {"timeout_ms": 200, "per_session": 4}
        return made

    with Daemon(network.upf, tmp_path, configuration) as daemon:
        with Scene(network, daemon, tmp_path) as scene:
            ue = attach(scene)
            frame = Ether(src=scene.n6.mac, dst=network.upf.mac("n6"))
            for sport in range(10):
                packet = IPv6(src=CORE[6], dst=ue.v6) / UDP(sport=sport, dport=9) / Raw(DATA[:1400])
                scene.n6.send(frame / pieces_of(IPv6(bytes(packet)), 6)[0])
            wait_for(lambda: daemon.drops().get("reassembly_full", 0) == 6, "those that are too many")
            scene.assert_forwards(ue)
            wait_for(lambda: daemon.drops().get("reassembly_timeout", 0) == 4, "the others")
            with scene.gnb_over(6):
                outer = IPv6(src=GNB[6], dst=UPF[6]) / UDP(sport=2152, dport=2152) / Raw(
                    gtpu.gpdu(ue.up_teid, datagram(ue, CORE[6], 5, 7, DATA[:1400])))
                piece = pieces_of(IPv6(bytes(outer)), 6)[1]
                scene.n3.send(Ether(src=scene.n3.mac, dst=network.upf.mac("n3")) / piece)
            wait_for(lambda: daemon.drops().get("reassembly_timeout", 0) == 5, "the tunnel's")
            assert daemon.ctl("show", "counters")["workers"][0]["counters"].get("held", 0) == 0
            scene.assert_forwards(ue, sequence=2)
            ue.session.delete()
