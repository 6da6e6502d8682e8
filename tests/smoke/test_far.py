"""What FARs do beyond plain forwarding, through the real daemon: duplicates, UDP tunnels, marks, policies.

Duplicates and tunnels end at sockets of the kernel's, so that what arrives has right headers and
checksums; the data network's own answers show that the user's packets still go their way.
"""

import contextlib
import socket

import pytest
from kit import gtpu, pfcp, rules, topology
from kit.scene import PAYLOAD, datagram, user_packet
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

LI_FUNCTION, INVALID_FORWARDING_POLICY = 4, 70
CORE = {4: topology.N6_DN, 6: topology.N6_DN6}
UPF = {4: topology.N6_UPF, 6: topology.N6_UPF6}
LI = {4: topology.N3_GNB, 6: topology.N3_GNB6}
LI_TEID, PORT = 0x11223344, 4711
SINK = 9  # a port of the data network where nobody answers
VERSIONS = (4, 6)


def udp_header(version, port=PORT):
    """An Outer Header Creation of UDP without GTP-U."""
    if version == 6:
        return scapy_pfcp.IE_OuterHeaderCreation(UDPIPV6=1, ipv6=CORE[6], port=port)
    return scapy_pfcp.IE_OuterHeaderCreation(UDPIPV4=1, ipv4=CORE[4], port=port)


def copies(*headers, update=False):
    """Duplicating Parameters towards the LI function, one for each outer header."""
    kind = (scapy_pfcp.IE_UpdateDuplicatingParameters if update
            else scapy_pfcp.IE_DuplicatingParameters)
    return [kind(IE_list=[rules.towards(LI_FUNCTION), header]) for header in headers]


def update_far(ue, number, *members):
    """An Update FAR with these IEs, accepted."""
    pfcp.assert_accepted(ue.session.modify(scapy_pfcp.IE_UpdateFAR(
        IE_list=[scapy_pfcp.IE_FAR_Id(id=number), *members])))


def parameters(*members):
    """Update Forwarding Parameters."""
    return scapy_pfcp.IE_UpdateForwardingParameters(IE_list=list(members))


def total(scene, name):
    """A counter of all workers."""
    rows = scene.daemon.ctl("show", "counters")["workers"]
    return sum(row["counters"].get(name, 0) for row in rows)


def core_udp(scene, version, port=PORT):
    """The far end of a UDP tunnel: a socket of the data network."""
    return scene.core_socket(version=version, port=port)


@contextlib.contextmanager
def li_gtpu(scene, version):
    """The LI function's end of a GTP-U tunnel, of that IP version."""
    if version == 4:
        yield scene.gnb
        return
    with gtpu.Gnb(scene.network.ran, LI[6]) as made:
        yield made


@pytest.mark.parametrize("outer", VERSIONS)
@pytest.mark.parametrize("inner", VERSIONS)
@pytest.mark.parametrize("act", ("FORW", "DROP"))
def test_duplicates_up(scene, outer, inner, act):
    """Two duplicates of an uplink packet, as the UE sent it; the packet itself goes on, or not."""
    ue = scene.attach()
    update_far(ue, 2, rules.action(**{act: 1, "DUPL": 1}),
               *copies(rules.outer_header(LI[outer], LI_TEID), udp_header(outer), update=True))
    packet = datagram(ue, CORE[inner], 1000, SINK)
    with core_udp(scene, outer) as tunnel, core_udp(scene, inner, SINK) as sink, \
            li_gtpu(scene, outer) as li:
        scene.up(ue, packet)
        sender, message = li.receive(lambda got: got.teid == LI_TEID)
        assert message.kind == gtpu.GPDU and message.extensions == []
        assert bytes(user_packet(message.payload)) == bytes(packet)
        data, sender = tunnel.recvfrom(2048)
        assert data == bytes(packet) and sender[:2] == (UPF[outer], PORT)
        if act == "FORW":
            assert sink.recvfrom(2048)[0] == PAYLOAD
        else:
            sink.setblocking(False)
            with pytest.raises(BlockingIOError):
                sink.recvfrom(2048)
            assert scene.daemon.drops()["far_drop"] > 0
    shown = scene.daemon.ctl("show", "session", hex(ue.session.up_seid))["duplicates"]
    assert [(row["far"], row["destination"], row["port"]) for row in shown] == [
        (2, "li_function", None), (2, "li_function", PORT)]


@pytest.mark.parametrize("outer", VERSIONS)
@pytest.mark.parametrize("inner", VERSIONS)
def test_duplicates_down(scene, outer, inner):
    """The same on the way down; the update that takes DUPL away ends it."""
    ue = scene.attach()
    update_far(ue, 1, rules.action(FORW=1, DUPL=1),
               *copies(rules.outer_header(LI[outer], LI_TEID), udp_header(outer), update=True))
    own = ue.v4 if inner == 4 else ue.v6
    with core_udp(scene, outer) as tunnel, core_udp(scene, inner, SINK) as source, \
            li_gtpu(scene, outer) as li:
        source.sendto(PAYLOAD, (own, 1000))
        copied = user_packet(li.receive(lambda got: got.teid == LI_TEID)[1].payload)
        assert bytes(copied) == tunnel.recvfrom(2048)[0]
        assert copied.dst == own and bytes(copied[UDP].payload) == PAYLOAD
        assert bytes(scene.down(ue)[1][UDP].payload) == PAYLOAD
        made = total(scene, "copies")
        update_far(ue, 1, rules.action(FORW=1))
        source.sendto(PAYLOAD, (own, 1000))
        assert scene.down(ue)
        assert total(scene, "copies") == made


def test_duplicates_while_idle(scene):
    """What is held for an idle UE has its duplicate when it comes, and none when it leaves."""
    ue = scene.attach("v4")
    update_far(ue, 1, rules.action(BUFF=1, NOCP=1, DUPL=1), *copies(udp_header(4), update=True))
    with core_udp(scene, 4) as tunnel, core_udp(scene, 4, SINK) as source:
        source.sendto(PAYLOAD, (ue.v4, 1000))
        assert IP(tunnel.recvfrom(2048)[0])[UDP].dport == 1000
        made = total(scene, "copies")
        scene.smf.report()
        update_far(ue, 1, rules.action(FORW=1, DUPL=1))
        assert bytes(scene.down(ue)[1][UDP].payload) == PAYLOAD
        assert total(scene, "copies") == made


@pytest.mark.parametrize("outer", VERSIONS)
@pytest.mark.parametrize("inner", VERSIONS)
def test_udp_tunnel(scene, outer, inner):
    """Uplink leaves N6 in UDP, one hop further than the UE sent it, marked as the FAR says."""
    ue = scene.attach()
    update_far(ue, 2, rules.action(FORW=1), parameters(
        rules.towards(rules.CORE), udp_header(outer),
        scapy_pfcp.IE_TransportLevelMarking(tos=0xB8, traffic_class=0xFC)))
    packet = datagram(ue, CORE[inner], 1000, SINK)
    with core_udp(scene, outer) as tunnel:
        scene.up(ue, packet)
        data, sender = tunnel.recvfrom(2048)
    assert sender[:2] == (UPF[outer], PORT)
    got, sent = user_packet(data), user_packet(bytes(packet))
    ttl = "hlim" if inner == 6 else "ttl"
    assert getattr(got, ttl) == getattr(sent, ttl) - 1
    assert bytes(got.payload) == bytes(sent.payload)
    frame = Ether(scene.n6.receive(lambda octets: PAYLOAD in octets))
    assert (frame[IPv6].tc if outer == 6 else frame[IP].tos) == 0xB8


@pytest.mark.parametrize("inner", VERSIONS)
def test_mark(scene, inner):
    """Without an outer header the user's own is marked; the data network's kernel takes it."""
    ue = scene.attach()
    update_far(ue, 2, rules.action(FORW=1), parameters(
        rules.towards(rules.CORE), scapy_pfcp.IE_TransportLevelMarking(tos=0xB8, traffic_class=0xFC)))
    option = ((socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS) if inner == 6
              else (socket.IPPROTO_IP, socket.IP_RECVTOS))
    with core_udp(scene, inner, SINK) as sink:
        sink.setsockopt(*option, 1)
        scene.up(ue, datagram(ue, CORE[inner], 1000, SINK))
        data, told, _flags, _sender = sink.recvmsg(2048, 64)
    assert data == PAYLOAD and told[0][2][0] == 0xB8


NOBODY = {4: "10.10.6.200", 6: "fd00:6::200"}  # on the data network's link


def policy(name=topology.POLICY):
    """A Forwarding Policy."""
    return scapy_pfcp.IE_ForwardingPolicy(policy_identifier=name)


@pytest.mark.parametrize("inner", VERSIONS)
def test_policy(scene, inner):
    """A policy's next hop gets what nobody on the link would; without it that does not leave."""
    ue = scene.attach()
    packet = datagram(ue, NOBODY[inner], 1000, SINK)
    update_far(ue, 2, rules.action(FORW=1), parameters(rules.towards(rules.CORE), policy()))
    scene.up(ue, packet)
    frame = Ether(scene.n6.receive(lambda octets: PAYLOAD in octets))
    assert (frame.dst, frame[IPv6 if inner == 6 else IP].dst) == (scene.network.dn.mac("n6"),
                                                                  NOBODY[inner])
    far = scene.daemon.ctl("show", "session", hex(ue.session.up_seid))["fars"][1]
    assert (far["id"], far["policy"]) == (2, topology.POLICY)
    update_far(ue, 2, parameters(
        rules.towards(rules.CORE), scapy_pfcp.IE_NotImplemented(ietype=41)))  # an empty one
    scene.assert_forwards(ue)


def test_unknown_policy(scene):
    """Refused by its cause, IE and rule; the session goes on as it was."""
    ue = scene.attach()
    answer = ue.session.modify(scapy_pfcp.IE_UpdateFAR(IE_list=[
        scapy_pfcp.IE_FAR_Id(id=2), parameters(rules.towards(rules.CORE), policy("none"))]))
    assert pfcp.cause(answer) == INVALID_FORWARDING_POLICY
    assert pfcp.ie(answer, scapy_pfcp.IE_OffendingIE).type == 41
    scene.assert_forwards(ue)
    assert topology.POLICY in str(scene.daemon.ctl("show", "config"))
