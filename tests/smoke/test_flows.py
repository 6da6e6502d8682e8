"""Flows through the daemon: made by traffic of real hosts, shown, ended in time, by command and with their session.

What becomes of each in all cases is tests/chain/test_flows.c's.
"""

import pytest
from kit import topology
from kit.scene import datagram, play
from kit.wait import wait_for
from scapy.layers.inet import ICMP, IP, UDP, fragment
from scapy.layers.inet6 import ICMPv6ParamProblem, IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

EMBRYONIC_MS = 400
UNKNOWN = 253  # a protocol that nobody knows (RFC 3692)
CORES = (topology.N6_DN, topology.N6_DN6)


@pytest.fixture
def flows_scene(network, mode, workers, tmp_path):
    """A daemon whose sessions have flows."""
    with play(network, mode, workers, tmp_path, services=["l4_lifecycle"],
              embryonic_ms=EMBRYONIC_MS) as scene:
        yield scene


def shown(scene, *words):
    """The flows that there are, all pages."""
    rows, more = [], []
    while True:
        page = scene.daemon.ctl("show", "flows", "limit", "2", *more, *words)
        rows += page["flows"]
        if not page["next"]:
            return rows
        more = ["from", page["next"]]


def used(scene):
    """How many the workers say that there are."""
    return sum(row["flows"] for row in scene.daemon.ctl("show", "workers")["workers"])


def test_life(flows_scene):
    """Pings of both families of three UEs; a datagram that nobody takes; commands; the end of a session."""
    scene = flows_scene
    ues = [scene.attach() for _ in range(3)]
    scene.assert_forwards(*ues)
    rows = shown(scene)
    assert len(rows) == used(scene) == 6
    assert {row["class"] for row in rows} == {"established"}
    assert {row["kind"] for row in rows} == {"echo"}
    assert sorted(row["protocol"] for row in rows) == 3 * ["icmp"] + 3 * ["icmpv6"]
    assert all(row["chain"] == ["l4_lifecycle"] for row in rows)
    mine = shown(scene, "ue", ues[1].v4)
    assert {row["seid"] for row in mine} == {f"{ues[1].session.up_seid:#018x}"}
    assert {row["ue"].split()[0] for row in mine} == {ues[1].v4, ues[1].v6}

    scene.up(ues[0], datagram(ues[0], topology.N6_DN, 1000, 9))
    wait_for(lambda: used(scene) == 7, "its flow, of which the error that answers it is a part")
    wait_for(lambda: used(scene) == 6, "their ends")

    assert scene.daemon.ctl("clear", "flow", mine[0]["id"]) == {"cleared": 1}
    assert used(scene) == 5
    assert scene.daemon.ctl("clear", "flows", "ue", ues[1].v6) == {"cleared": 1}
    assert shown(scene, "ue", ues[1].v4) == []
    scene.assert_forwards(ues[1], sequence=2)
    assert used(scene) == 6
    ues[0].session.delete()
    assert used(scene) == 4
    assert scene.daemon.ctl("clear", "flows") == {"cleared": 4}
    scene.assert_forwards(*ues[1:], sequence=3)
    for ue in ues[1:]:
        ue.session.delete()
    assert used(scene) == 0


def test_acl(network, mode, workers, tmp_path):
    """Pings pass and datagrams do not, of either family; what passes is out of the list's way."""
    rows = ["deny udp from any to assigned", "allow icmp from any to assigned",
            "allow icmpv6 from any to assigned"]
    with play(network, mode, workers, tmp_path, services=["acl", "l4_lifecycle"], acl=rows) as scene:
        ue = scene.attach()
        scene.assert_forwards(ue)
        for dst in (topology.N6_DN, topology.N6_DN6):
            scene.up(ue, datagram(ue, dst, 1000, 9))
        wait_for(lambda: scene.daemon.drops().get("acl_denied", 0) == 2, "the drops")
        chains = sorted((row["protocol"], row["chain"]) for row in shown(scene))
        assert chains == [("icmp", ["l4_lifecycle"]), ("icmpv6", ["l4_lifecycle"]),
                          ("udp", ["acl", "l4_lifecycle"]), ("udp", ["acl", "l4_lifecycle"])]
        ue.session.delete()


def send_unknown(scene, ue):
    """The UE sends packets of an unknown protocol to the data network, over both families."""
    for dst in CORES:
        head = ue.ip(dst, nh=UNKNOWN) if ":" in dst else ue.ip(dst, proto=UNKNOWN)
        scene.up(ue, head / Raw(bytes(40)))


def is_refusal(packet):
    """Is it what a host says of a protocol that it does not know?"""
    return ICMPv6ParamProblem in packet or (ICMP in packet and packet[ICMP].type == 3)


# What the network instance says of unknown protocols and of errors about nothing known; whether the data network's errors
# reach the UE, which drops there are of two packets, and the kinds of the flows that there are.
HANDLED = [("drop", "pass", False, "flow_unknown_protocol", set()),
           ("pass", "drop", False, "flow_icmp_error", set()),
           ("pass", "pass", True, None, set()),
           ("flow", "drop", True, None, {"pair"})]


@pytest.mark.parametrize("protocol,error,answered,drop,kinds", HANDLED,
                         ids=["-".join(row[:2]) for row in HANDLED])
def test_handlers(network, mode, workers, tmp_path, protocol, error, answered, drop, kinds):
    """A protocol that flows do not know, and the errors that the data network sends about it."""
    with play(network, mode, workers, tmp_path, services=["l4_lifecycle"],
              on_unknown_protocol=protocol, on_icmp_error=error) as scene:
        ues = [scene.attach() for _ in range(2)]  # one of each worker
        for ue in ues:
            send_unknown(scene, ue)
        if answered:
            got = scene.downs(*ues, number=4)
            assert len(got) == 4 and all(is_refusal(packet) for _, packet in got), got
        if drop:
            wait_for(lambda: scene.daemon.drops().get(drop, 0) == 4, drop)
            assert {"flow_unknown_protocol", "flow_icmp_error"} & set(scene.daemon.drops()) == {drop}
        rows = shown(scene)
        assert {row["kind"] for row in rows} == kinds and len(rows) == (4 if kinds else 0)
        scene.settle()


@pytest.mark.parametrize("overflow", ["drop", "pass"])
def test_overflow(network, mode, workers, tmp_path, overflow):
    """One flow a worker and no more: other packets end, or pass by all services for flows."""
    with play(network, mode, workers, tmp_path, services=["l4_lifecycle"], flows=1,
              on_overflow=overflow) as scene:
        ue = scene.attach()
        assert scene.ping(ue, topology.N6_DN)
        if overflow == "pass":
            assert scene.ping(ue, topology.N6_DN6)
        else:
            assert not scene.ping(ue, topology.N6_DN6, timeout=0.1)
            wait_for(lambda: scene.daemon.drops().get("flow_network_full", 0) == 1, "the drop")
        assert scene.ping(ue, topology.N6_DN, sequence=2)
        assert [row["protocol"] for row in shown(scene)] == ["icmp"]
        missed = {row["kind"]: row for row in scene.daemon.ctl("show", "keys")["keys"]}
        assert missed["echo"]["missed_ue"].split()[0] == ue.v6
        assert missed["tuple"]["missed_ue"] is None
        scene.settle()


def own(ue, version):
    """The UE's address."""
    return ue.v4 if version == 4 else ue.v6


def pieces_of(packet):
    """The packet in fragments, the last first."""
    packet = type(packet)(bytes(packet))
    if IP in packet:
        return list(reversed(fragment(packet, fragsize=600)))
    head, rest = IPv6(src=packet.src, dst=packet.dst), packet.payload
    cut = fragment6(head / IPv6ExtHdrFragment(nh=17, id=packet[UDP].sport) / rest, 648)
    return [type(packet)(bytes(one)) for one in reversed(cut)]


def test_fragments(network, mode, workers, tmp_path):
    """Datagrams in pieces are of the flow that whole ones have, both ways, whichever queues bring the pieces."""
    data = bytes(i * 7 & 255 for i in range(2400))
    with play(network, mode, workers, tmp_path, services=["l4_lifecycle"]) as scene:
        ues = [scene.attach() for _ in range(2)]
        frame = Ether(src=scene.n6.mac, dst=network.upf.mac("n6"))
        for version, dst in zip((4, 6), CORES):
            with scene.core_socket(version=version) as core:
                for ue in ues:
                    for piece in pieces_of(datagram(ue, dst, 1234, 7, data)):
                        scene.up(ue, piece)
                    got, sender = core.recvfrom(4096)
                    assert (got, sender[1]) == (data, 1234)
                    answer = type(ue.ip(dst))(src=dst, dst=own(ue, version)) / UDP(sport=7, dport=1234)
                    for piece in pieces_of(answer / Raw(data[:1400])):
                        scene.n6.send(frame / piece)
                    bytes_got = 0
                    while bytes_got < 1400:  # in pieces, or as the host's kernel has joined them
                        got = scene.downs(ue, number=1)
                        assert got, scene.daemon.drops()
                        bytes_got += len(bytes(got[0][1].payload))
                    core.sendto(b"whole", sender)
                    assert scene.down(ue, lambda packet: bytes(packet[UDP].payload) == b"whole")
        rows = shown(scene)
        assert sorted(row["ue"] for row in rows) == sorted(
            text for ue in ues for text in (f"{ue.v4}:1234", f"[{ue.v6}]:1234"))
        assert {row["class"] for row in rows} == {"established"}
        assert {row["id"][:4] for row in rows} == {f"0x{i:02x}" for i in range(workers)}
        scene.settle()
