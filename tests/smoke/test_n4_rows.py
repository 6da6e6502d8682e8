"""More N4 inputs that have broken UPFs: node messages, filters, lengths in changes, many rules a PDR.

As test_n4_inputs.py, which has the plain refusals of establishments; here are those of changes, and
what packets do afterwards. After each test a session that had nothing to do with it still
forwards, and sessions, rules, tunnels and requests are as many as before.
"""

import contextlib
import socket
import struct

import pytest
from kit import pfcp, rules, topology
from kit.daemon import held
from kit.pfcp import cause, ie
from kit.rules import ACCESS, CORE, action, choose, far, interface, network, pdr, sdf, towards
from kit.scene import N4_STAGES, Ue, datagram
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import UDP

STAGES = N4_STAGES

CONDITIONAL, LENGTH, INCORRECT, NO_ASSOCIATION, RULE, NOT_SUPPORTED = 67, 68, 69, 72, 73, 76
SETUP, RELEASE = 5, 9
CAUSE, NODE_ID, RECOVERY, FEATURES, OUTER_HEADER, SDF_FILTER = 19, 60, 96, 89, 84, 23
MBR, GBR, VOLUME_THRESHOLD, TIME_THRESHOLD, VOLUME_QUOTA, PERIOD = 26, 27, 31, 32, 73, 64
MEASUREMENT, TRIGGERS, F_TEID, REMOVAL = 62, 37, 21, 95
UE, UE6 = "10.45.201.1", "2001:db8:cafe:c9::2"
DOWN_TEID = 0x0C000001


@pytest.fixture(autouse=True)
def bystander(scene):
    """A session that has nothing to do with it all; nothing is kept of what the test does."""
    ue = scene.attach(v4="10.45.200.1", v6="2001:db8:cafe:c8::2")
    scene.assert_forwards(ue)
    before = held(scene.daemon)
    yield ue
    assert scene.daemon.alive(), scene.daemon.log()
    scene.assert_forwards(ue, sequence=2)
    assert held(scene.daemon) == before


def raw(kind, data):
    """An IE of any type with any content."""
    return scapy_pfcp.IE_NotImplemented(ietype=kind, length=len(data), data=data)


def node(kind, sequence, *parts):
    """A node message as bytes; the IEs as (type, content)."""
    body = b"".join(struct.pack("!HH", number, len(data)) + data for number, data in parts)
    return struct.pack("!BBHI", 0x20, kind, 4 + len(body), sequence << 8) + body


def asked(scene, octets, sequence):
    """The answer to a message as bytes."""
    answer = scene.smf.exchange(octets, sequence)
    assert answer, "no answer"
    return scapy_pfcp.PFCP(answer)


def usual(**changed):
    """A session's rules by name, some of them changed; a list of IEs."""
    made = {
        "down": pdr(1, 100, [interface(CORE), network(topology.DNN), rules.ue_address(UE, UE6)], 1),
        "up": pdr(2, 100, [interface(ACCESS), choose(5), network(topology.DNN)], 2, removal=6),
        "far_down": far(1, action(FORW=1), [towards(ACCESS),
                                            rules.outer_header(topology.N3_GNB, DOWN_TEID)]),
        "far_up": far(2, action(FORW=1), [towards(CORE), network(topology.DNN)]),
    } | changed
    return [part for part in made.values() if part is not None]


@contextlib.contextmanager
def other(scene, **changed):
    """A further session, deleted at the end."""
    session = scene.smf.establish(*usual(**changed))
    yield Ue(session, DOWN_TEID, UE, UE6)
    pfcp.assert_accepted(session.delete())


# ---- nodes ----

NODE_IDS = {
    "IPv6": b"\x01" + socket.inet_pton(socket.AF_INET6, "2001:db8::4"),
    "FQDN": b"\x02\x03smf\x07example",
    "FQDN of one label": b"\x02\x03smf",
    "IPv4": b"\x00\x0a\x0a\x04\x63",
}


@pytest.mark.parametrize("octets", NODE_IDS.values(), ids=NODE_IDS)
def test_node_id(scene, octets):
    """Row 8: of any kind. Ours is answered the same way each time; then the association ends."""
    stamp, me = (RECOVERY, struct.pack("!I", 0xEEB90000)), (NODE_ID, octets)
    for sequence in (0xA10001, 0xA10002):
        answer = asked(scene, node(SETUP, sequence, me, stamp), sequence)
        assert cause(answer) == 1
        assert ie(answer, scapy_pfcp.IE_NodeId).ipv4 == topology.N4_UPF
    assert cause(asked(scene, node(RELEASE, 0xA10003, me), 0xA10003)) == 1
    assert cause(asked(scene, node(RELEASE, 0xA10004, me), 0xA10004)) == NO_ASSOCIATION


NO_NODE_IDS = [b"", b"\0", b"\0\x0a\x0a\x04", b"\1" + bytes(15), b"\2", b"\2\x1fsmf", b"\2\3sm",
               b"\2\3smf\0\3org", b"\2smf example", b"\3\1\2\3\4", b"\x0f", b"\2" + b"\x3f" * 300]


@pytest.mark.parametrize("number", range(len(NO_NODE_IDS)))
def test_node_id_that_is_none(scene, number):
    """Cut off, of no kind, or with labels that lie: refused, with what is at fault."""
    stamp, sequence = (RECOVERY, struct.pack("!I", 0xEEB90000)), 0xA20000 + number
    answer = asked(scene, node(SETUP, sequence, (NODE_ID, NO_NODE_IDS[number]), stamp), sequence)
    assert cause(answer) in (LENGTH, INCORRECT), answer.show(dump=True)
    assert ie(answer, scapy_pfcp.IE_OffendingIE).type == NODE_ID


def test_setup_twice(scene):
    """Row 9: the second answer is the first, byte for byte, and nothing is done twice."""
    octets = node(SETUP, 0xA30001, (NODE_ID, NODE_IDS["IPv6"]), (RECOVERY, bytes(3) + b"\1"))
    first = scene.smf.exchange(octets, 0xA30001)
    assert [scene.smf.exchange(octets, 0xA30001) for _ in range(3)] == [first] * 3
    gone = node(RELEASE, 0xA30002, (NODE_ID, NODE_IDS["IPv6"]))
    assert cause(scapy_pfcp.PFCP(scene.smf.exchange(gone, 0xA30002))) == 1


@pytest.mark.parametrize("flags", [0x28, 0x30, 0x38], ids=hex)
def test_spare_bits(scene, flags):
    """Row 7: a header with spare bits set is not one that we know."""
    octets = node(1, 0xA40001, (RECOVERY, struct.pack("!I", scene.smf.recovery)))
    assert scene.smf.discarded(bytes([flags]) + octets[1:])


def test_setup_with_session_ies(scene):
    """Row 6: the S flag and a session's rules do not make an association."""
    body = scapy_pfcp.PFCPSessionEstablishmentRequest(
        IE_list=[rules.node_id("10.10.4.98"), rules.f_seid(1, "10.10.4.98"),
                 scapy_pfcp.IE_RecoveryTimeStamp(timestamp=1), *usual()])
    octets = bytearray(bytes(scapy_pfcp.PFCP(S=1, seid=0, seq=0xA50001) / body))
    octets[1] = SETUP
    assert scene.smf.discarded(bytes(octets))


# ---- refusals of changes ----


def outer_update(data):
    """The Update FAR of the way down with an Outer Header Creation of any content."""
    return scapy_pfcp.IE_UpdateFAR(IE_list=[
        scapy_pfcp.IE_FAR_Id(id=1), action(FORW=1),
        scapy_pfcp.IE_UpdateForwardingParameters(
            IE_list=[towards(ACCESS), raw(OUTER_HEADER, data)])])


def filter_of(text):
    """A PDR above all others with a filter of any text: were it to match all, all would be dropped."""
    data = b"\1\0" + struct.pack("!H", len(text)) + text
    return [far(9, action(DROP=1)),
            pdr(9, 1, [interface(CORE), network(topology.DNN), rules.ue_address("10.45.200.1"),
                       raw(SDF_FILTER, data)], 9)]


def qer_with(kind, data):
    """A Create QER with an IE of any content."""
    return [scapy_pfcp.IE_CreateQER(IE_list=[
        scapy_pfcp.IE_QER_Id(id=9), scapy_pfcp.IE_GateStatus(ul=0, dl=0), raw(kind, data)])]


def urr_with(method, triggers, *parts):
    """A Create URR with IEs of any content."""
    return [scapy_pfcp.IE_CreateURR(IE_list=[
        scapy_pfcp.IE_URR_Id(id=9), raw(MEASUREMENT, bytes([method])), raw(TRIGGERS, triggers),
        *(raw(kind, data) for kind, data in parts)])]


VOLUME = b"\1" + struct.pack("!Q", 1000)
# name: (the change's IEs, causes that are right, Offending IE or None for any)
REFUSED = {
    **{f"21 outer header {data.hex()}": ([outer_update(data)], (LENGTH, INCORRECT), OUTER_HEADER)
       for data in (b"\1", b"\1\0\0", bytes.fromhex("01000000000 9".replace(" ", "")),
                    bytes.fromhex("020000000009") + bytes(15), bytes(10),
                    bytes.fromhex("010000000009") + bytes(3))},
    **{f"23 filter {number}": (filter_of(text), (RULE,), None) for number, text in enumerate((
        b"", b"aaaaaaaa", b"deny out ip from any to any", b"permit out ip from any to " + b"a" * 4000,
        b"permit " * 200, b"permit out ip\0from any to assigned", b"permit out ip from any to any\n",
        b"permit in ip from any to any", b"permit out ip from any 1-2-3 to any", b"\xff" * 40))},
    **{f"24 filter length {size:#x}": ([far(9, action(DROP=1)), pdr(9, 1, [
        interface(CORE), rules.ue_address("10.45.200.1"),
        raw(SDF_FILTER, b"\1\0" + struct.pack("!H", size) + b"permit out")], 9)], (LENGTH,), SDF_FILTER)
       for size in (11, 0x7FFF, 0xFFFE, 0xFFFF)},
    "27 five PDRs with QERs that are not there": ([
        pdr(number, 1, [interface(CORE), rules.ue_address("10.45.200.1")], 1, qer=90 + number)
        for number in range(20, 25)], (RULE,), None),
    "29 MBR": (qer_with(MBR, bytes(9)), (LENGTH,), MBR),
    "29 MBR empty": (qer_with(MBR, b""), (LENGTH,), MBR),
    "29 GBR": (qer_with(GBR, bytes(9)), (LENGTH,), GBR),
    "29 volume threshold": (urr_with(2, b"\2\0", (VOLUME_THRESHOLD, VOLUME[:-1])), (LENGTH,),
                            VOLUME_THRESHOLD),
    "29 volume threshold of all": (urr_with(2, b"\2\0", (VOLUME_THRESHOLD, b"\7" + bytes(23))),
                                   (LENGTH,), VOLUME_THRESHOLD),
    "29 volume quota": (urr_with(2, b"\0\1", (VOLUME_QUOTA, VOLUME[:-1])), (LENGTH,), VOLUME_QUOTA),
    "29 time threshold": (urr_with(1, b"\4\0", (TIME_THRESHOLD, bytes(3))), (LENGTH,), TIME_THRESHOLD),
    "29 no flags": (urr_with(2, b"\2\0", (VOLUME_THRESHOLD, b"\0")), (INCORRECT,), VOLUME_THRESHOLD),
    "45 PERIO without period": (urr_with(2, b"\1\0\0"), (CONDITIONAL,), PERIOD),
    "45 VOLTH without threshold": (urr_with(2, b"\2\0"), (CONDITIONAL,), VOLUME_THRESHOLD),
    "45 TIMTH without threshold": (urr_with(1, b"\4\0"), (CONDITIONAL,), TIME_THRESHOLD),
    "45 QUHTI without time": (urr_with(2, b"\x08\0"), (CONDITIONAL,), None),
    "45 LIUSA without link": (urr_with(2, b"\x80\0"), (CONDITIONAL,), None),
}


@pytest.mark.parametrize("change, causes, offending", REFUSED.values(), ids=REFUSED)
def test_refused_change(scene, bystander, change, causes, offending):
    """The cause and what is at fault, each time; the session is as before, packets too."""
    for _ in range(2):
        answer = bystander.session.modify(*change)
        assert cause(answer) in causes, answer.show(dump=True)
        assert answer.seid == bystander.session.seid
        if offending:
            assert ie(answer, scapy_pfcp.IE_OffendingIE).type == offending
    scene.assert_forwards(bystander, sequence=3)


# ---- what packets do ----


def test_no_far_then_packets(scene, bystander):
    """Row 20: a PDR without FAR ID is refused whole, so its TEID is nobody's."""
    broken = scapy_pfcp.IE_CreatePDR(IE_list=[
        scapy_pfcp.IE_PDR_Id(id=2), scapy_pfcp.IE_Precedence(precedence=1),
        scapy_pfcp.IE_PDI(IE_list=[interface(ACCESS), scapy_pfcp.IE_FTEID(
            V4=1, TEID=0x00ABCDEF, ipv4=topology.N3_UPF)]),
        scapy_pfcp.IE_OuterHeaderRemoval(header=6)])
    body, _ = scene.smf.establishment(*usual(up=broken))
    assert cause(scene.smf.request(body, seid=0)) == CONDITIONAL

    def nobodys():  # told apart by whether its scrambled bits led to another worker first
        drops = scene.daemon.drops()
        return drops.get("unknown_teid", 0) + drops.get("stale_reference", 0)

    before = nobodys()
    scene.gnb.uplink(topology.N3_UPF, 0x00ABCDEF, bystander.ip(topology.N6_DN) / UDP())
    wait_for(lambda: nobodys() == before + 1, "the drop")


@pytest.mark.parametrize("number", [6, 7, 14, 15])
def test_no_destination_then_packets(scene, number):
    """Row 35: a destination that we do not know is refused; packets go on as before."""
    with other(scene) as ue:
        change = scapy_pfcp.IE_UpdateFAR(IE_list=[
            scapy_pfcp.IE_FAR_Id(id=2), action(FORW=1),
            scapy_pfcp.IE_UpdateForwardingParameters(IE_list=[raw(42, bytes([number]))])])
        assert cause(ue.session.modify(change)) in (INCORRECT, NOT_SUPPORTED)
        scene.assert_forwards(ue, sequence=4)


@pytest.mark.parametrize("data", [b"\0", b"\6", b"\0\0", b"\0\1", b"\6\0", b"\6\1"], ids=bytes.hex)
def test_removal(scene, data):
    """Row 36: with and without the octet about extension headers."""
    up = scapy_pfcp.IE_CreatePDR(IE_list=[
        scapy_pfcp.IE_PDR_Id(id=2), scapy_pfcp.IE_Precedence(precedence=1),
        scapy_pfcp.IE_PDI(IE_list=[interface(ACCESS), choose(5), network(topology.DNN)]),
        raw(REMOVAL, data), scapy_pfcp.IE_FAR_Id(id=2)])
    with other(scene, up=up) as ue:
        scene.assert_forwards(ue)


def test_filters_both_ways(scene):
    """Row 25: one text serves both directions; an uplink PDR has its sides swapped."""
    text = f"permit out 17 from {topology.N6_DN}/32 7,9 to assigned 5060-5061"
    more = {"drop": far(3, action(DROP=1)),
            "up_some": pdr(3, 10, [interface(ACCESS), choose(5), network(topology.DNN), sdf(text)], 3,
                           removal=6)}
    with other(scene, **more) as ue, scene.core_socket(port=7) as seven, \
            scene.core_socket(port=8) as eight:
        for server, sport, dport, passes in ((seven, 5060, 7, False), (eight, 5060, 8, True),
                                             (seven, 5062, 7, True), (seven, 5061, 7, False)):
            packet = datagram(ue, topology.N6_DN, sport, dport)
            if passes:
                scene.up(ue, packet)
                assert server.recvfrom(2048)[1] == (UE, sport)
                continue
            before = scene.daemon.drops().get("far_drop", 0)
            scene.up(ue, packet)
            wait_for(lambda: scene.daemon.drops().get("far_drop", 0) == before + 1, "the drop")


def test_downlink_filter(scene):
    """Row 25: the same, down; what the filter does not say goes on by the other PDR."""
    text = f"permit out udp from {topology.N6_DN} 7 to any"
    more = {"drop": far(3, action(DROP=1)),
            "some": pdr(3, 10, [interface(CORE), network(topology.DNN), rules.ue_address(UE, UE6),
                                sdf(text)], 3)}
    with other(scene, **more) as ue, scene.core_socket(port=7) as seven, \
            scene.core_socket(port=9) as nine:
        before = scene.daemon.drops().get("far_drop", 0)
        seven.sendto(b"to be dropped", (UE, 4000))
        nine.sendto(b"to be delivered", (UE, 4000))
        found = scene.down(ue)
        assert found and bytes(found[1].payload.payload) == b"to be delivered"
        assert scene.daemon.drops().get("far_drop", 0) == before + 1


@pytest.mark.parametrize("text", [
    "permit out ip from any to any", "permit out ip from any to assigned",
    "permit out 58 from any to assigned", "permit out ip from ::/0 to assigned   ",
])
def test_filter_of_ipv6(scene, text):
    """Row 25: filters of a session that has IPv6, in the only PDR of the way down."""
    down = pdr(1, 100, [interface(CORE), network(topology.DNN), rules.ue_address(UE, UE6), sdf(text)],
               1)
    with other(scene, down=down) as ue:
        assert scene.ping(ue, topology.N6_DN6)


@pytest.mark.parametrize("closed, passes", [((), True), ((1,), False), ((2,), False), ((3,), False)],
                         ids=["open", "first", "second", "third"])
def test_several_qers(scene, closed, passes):
    """Rows 30, 31: all QERs of a PDR count; rates absent, and as high as they can be said."""
    rates = {1: [], 2: [scapy_pfcp.IE_MBR(ul=2**40 - 1, dl=10_000_000)],
             3: [raw(MBR, b"\xff" * 10)]}
    qers = {f"qer{number}": scapy_pfcp.IE_CreateQER(IE_list=[
        scapy_pfcp.IE_QER_Id(id=number),
        scapy_pfcp.IE_GateStatus(ul=int(number in closed), dl=0), *rates[number]])
        for number in rates}
    up = pdr(2, 100, [interface(ACCESS), choose(5), network(topology.DNN)], 2, removal=6, qer=1)
    up.IE_list += [scapy_pfcp.IE_QER_Id(id=2), scapy_pfcp.IE_QER_Id(id=3)]
    with other(scene, up=up, **qers) as ue:
        assert bool(scene.ping(ue, topology.N6_DN, timeout=3 if passes else 0.2)) == passes


def test_choose_id_of_three(scene):
    """Row 32: one TEID for one CHOOSE ID, another for another."""
    more = {f"up{number}": pdr(number, number, [
        interface(ACCESS), choose(5 if number < 5 else 6), network(topology.DNN),
        sdf(f"permit out 17 from any {number} to assigned")], 2, removal=6) for number in (3, 4, 5)}
    with other(scene, **more) as ue:
        teids = {number: tunnel[0] for number, tunnel in ue.session.tunnels.items()}
        assert set(teids) == {2, 3, 4, 5}
        assert teids[2] == teids[3] == teids[4] != teids[5]
        scene.assert_forwards(ue)


@pytest.mark.parametrize("data, causes", [
    (b"\x05", (1,)), (b"\x06", (1,)), (b"\x07", (1,)), (b"\x04", (INCORRECT,)), (b"\x0d", (LENGTH,)),
    (b"", (LENGTH,)),
    (b"\x01\0\0\0\0" + bytes((10, 10, 3, 1)), (INCORRECT,)), (b"\x01\0\0\0\1\x0a\x0a\x03", (LENGTH,)),
], ids=lambda value: value.hex() if isinstance(value, bytes) else "")
def test_f_teids(scene, data, causes):
    """Row 32: an F-TEID to be chosen has no TEID's octets; others are whole, or refused."""
    up = pdr(2, 100, [interface(ACCESS), raw(F_TEID, data), network(topology.DNN)], 2, removal=6)
    body, seid = scene.smf.establishment(*usual(up=up))
    answer = scene.smf.request(body, seid=0)
    assert cause(answer) in causes, answer.show(dump=True)
    if cause(answer) == 1:
        pfcp.assert_accepted(pfcp.Session(scene.smf, seid, answer).delete())
    else:
        assert ie(answer, scapy_pfcp.IE_OffendingIE).type == F_TEID


@pytest.mark.parametrize("triggers", [b"\2\0", b"\2\0\0", b"\x02\x01\x00"], ids=bytes.hex)
def test_triggers(scene, triggers):
    """Rows 28, 45: octets of flags in their order, two or three; ids at their end."""
    urr = urr_with(2, triggers, (VOLUME_THRESHOLD, VOLUME), (VOLUME_QUOTA, VOLUME))[0]
    urr.IE_list[0] = scapy_pfcp.IE_URR_Id(id=65535)
    down = pdr(65535, 100, [interface(CORE), network(topology.DNN), rules.ue_address(UE, UE6)], 1,
               urr=65535)
    with other(scene, down=down, urr=urr):
        assert scene.sessions() == 2


@pytest.mark.parametrize("kind, body", [(57, b"\x00\x13\0\1\x41"), (57, b""), (57, b"\0\x13\0\0")],
                         ids=["cause 65", "no cause", "empty cause"])
def test_report_answers_unasked(scene, bystander, kind, body):
    """Row 46, as far as nobody asked: counted, and the session stays."""
    octets = struct.pack("!BBHQI", 0x21, kind, 12 + len(body), bystander.session.up_seid, 0x77)
    assert scene.smf.discarded(octets + body)
    assert scene.sessions() == 1
