"""What is too long for a tunnel or for N6, or has no hop left: senders are told, or it is cut.

The data network's kernel is the judge of what it is told, and of what it is sent in pieces; so is the
gNB's of tunnels' packets in pieces.
"""

import json

import pytest
from kit import gtpu, pfcp, rules, topology
from kit.daemon import Daemon
from kit.scene import Scene, datagram
from kit.wait import wait_for
from scapy.layers.inet import ICMP, IP, IPerror
from scapy.layers.inet6 import ICMPv6PacketTooBig, ICMPv6TimeExceeded, IPerror6, IPv6
from scapy.layers.l2 import Ether

CORE = {4: topology.N6_DN, 6: topology.N6_DN6}
OURS = {4: topology.N6_UPF, 6: topology.N6_UPF6}
GNB = {4: topology.N3_GNB, 6: topology.N3_GNB6}
UDP_OVER = {4: 28, 6: 48}  # IP and UDP headers
N6_MTU = 1300
IP_MTU_DISCOVER, NEVER = 10, 0


def own(ue, version):
    """The UE's address."""
    return ue.v4 if version == 4 else ue.v6


def learnt(scene, ue, version):
    """What the data network's kernel takes for the MTU of the path to the UE; None: nothing special."""
    shown = scene.network.dn.run("ip", "-json", "-d", "route", "get", own(ue, version)).stdout
    return json.loads(shown)[0].get("metrics", [{}])[0].get("mtu")


def count(scene, name):
    """A counter over all workers."""
    rows = scene.daemon.ctl("show", "counters")["workers"]
    return sum(row["counters"].get(name, 0) for row in rows)


def pieces(scene, ue, total, sport=7):
    """The payload of a user's IPv4 packet of `total` bytes that comes down in pieces, and how many."""
    parts = {}
    while sum(map(len, parts.values())) < total - 20:
        found = scene.down(ue, lambda packet: IP in packet and (packet.flags.MF or packet.frag))
        assert found, f"{parts.keys()}: {scene.daemon.drops()}"
        assert len(found[0].payload) == found[1].len
        parts[found[1].frag] = bytes(found[0].payload)[20:]
    whole = b"".join(parts[at] for at in sorted(parts))
    assert int.from_bytes(whole[:2], "big") == sport
    return whole, len(parts)


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("outer, most", [(4, 1456), (6, 1436)])
def test_path_mtu(scene, version, outer, most):
    """The most that fits goes; of a byte more the kernel is told, and sends what fits from then on."""
    ue = scene.attach()
    pfcp.assert_accepted(ue.session.modify(rules.gnb_known(GNB[outer], ue.down_teid)))
    before, told = scene.daemon.drops().get("too_big", 0), count(scene, "icmp_too_big_sent")
    with scene.gnb_over(outer) as end:
        with scene.core_socket(version=version) as core:
            core.sendto(bytes(most - UDP_OVER[version]), (own(ue, version), 9))
            assert len(end.receive(gtpu.GPDU)[1].payload) == most
            core.sendto(bytes(most + 1 - UDP_OVER[version]), (own(ue, version), 9))
            wait_for(lambda: learnt(scene, ue, version) == most, "the kernel to know")
            core.sendto(bytes(1500 - UDP_OVER[version]), (own(ue, version), 9))
            sizes = [len(end.receive(gtpu.GPDU)[1].payload) for _ in range(2)]
    assert max(sizes) <= most and sum(sizes) == 1500 + (20 if version == 4 else 56)
    assert scene.daemon.drops().get("too_big") == before + 1
    assert count(scene, "icmp_too_big_sent") == told + 1


@pytest.mark.parametrize("version", (4, 6))
def test_no_hop_left(scene, version):
    """A UE that traces its way sees the UPF first; so does a host of the data network."""
    ue = scene.attach()
    hops = {"ttl": 1} if version == 4 else {"hlim": 1}
    scene.up(ue, datagram(ue, CORE[version], 1234, 33434, **hops))
    message, packet = scene.down(ue)
    assert (packet.src, packet.dst, message.qfi) == (OURS[version], own(ue, version), 1)
    if version == 4:
        assert (packet[ICMP].type, packet[ICMP].code, packet[IPerror].dst) == (11, 0, CORE[4])
    else:
        assert (packet[ICMPv6TimeExceeded].code, packet[IPerror6].dst) == (0, CORE[6])

    def is_told(frame):
        packet = Ether(frame)
        return ((ICMP in packet and packet[ICMP].type == 11 and packet[IP].src == OURS[4])
                or (ICMPv6TimeExceeded in packet and packet[IPv6].src == OURS[6]))

    with scene.core_socket(version=version) as core:
        core.setsockopt(*((0, 2) if version == 4 else (41, 16)), 1)  # IP_TTL, IPV6_UNICAST_HOPS
        core.sendto(b"far", (own(ue, version), 9))
    assert scene.n6.receive(is_told), scene.daemon.drops()


def test_cut_inside(scene):
    """An IPv4 packet that may be cut reaches the UE in pieces, each of which fits."""
    ue = scene.attach()
    cut = count(scene, "fragmented")
    for size in (1457, 1480, 1500):
        data = bytes(i & 255 for i in range(size - 28))
        with scene.core_socket() as core:
            core.setsockopt(0, IP_MTU_DISCOVER, NEVER)
            core.sendto(data, (ue.v4, 9))
            whole, number = pieces(scene, ue, size)
            assert (whole[8:], number) == (data, 2)
    assert count(scene, "fragmented") == cut + 3


@pytest.mark.parametrize("outer", (4, 6))
def test_cut_outside(network, mode, workers, tmp_path, outer):
    """With gtpu.fragment: outer the gNB's kernel puts the tunnel's packet together."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket, workers)
        made["gtpu"]["fragment"] = "outer"
        return made

    with Daemon(network.upf, tmp_path, configuration) as daemon:
        with Scene(network, daemon, tmp_path) as scene:
            ue = scene.attach("v4")
            pfcp.assert_accepted(ue.session.modify(rules.gnb_known(GNB[outer], ue.down_teid)))
            with scene.gnb_over(outer) as end:
                for size in (1457, 1500):
                    data = bytes(i & 255 for i in range(size - 28))
                    with scene.core_socket() as core:
                        core.setsockopt(0, IP_MTU_DISCOVER, NEVER)
                        core.sendto(data, (ue.v4, 9))
                    found = end.receive(gtpu.GPDU)
                    assert found, daemon.drops()
                    assert bytes(found[1].payload)[28:] == data
            assert count(scene, "fragments_made") == 4
            ue.session.delete()


def test_too_big_for_n6(network, mode, workers, tmp_path):
    """A smaller MTU on the data network's side: the UE is told, or its packet is cut."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket, workers)
        made["interfaces"][1]["mtu"] = N6_MTU
        return made

    with Daemon(network.upf, tmp_path, configuration) as daemon:
        with Scene(network, daemon, tmp_path) as scene:
            ue = scene.attach()
            data = bytes(i & 255 for i in range(1400 - 28))
            for version in (4, 6):
                scene.up(ue, datagram(ue, CORE[version], 5, 7, data,
                                      **({"flags": "DF"} if version == 4 else {})))
                found = scene.down(ue)
                assert found, daemon.drops()
                packet = found[1]
                assert packet.src == OURS[version]
                assert (packet[ICMP].nexthopmtu if version == 4
                        else packet[ICMPv6PacketTooBig].mtu) == N6_MTU
            with scene.core_socket() as core:
                scene.up(ue, datagram(ue, CORE[4], 5, 7, data))
                assert core.recv(2048) == data
            ue.session.delete()
