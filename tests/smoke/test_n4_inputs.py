"""N4 inputs that have broken UPFs, as bytes and by scapy: what is answered, and that nothing stays.

After each row the daemon runs, a session that had nothing to do with it still forwards, and there
are as many sessions as before (TS 29.244 7.6, 8.2.1).
"""

import struct

import pytest
from kit import pfcp, rules, topology
from kit.pfcp import cause, ie, ies
from kit.rules import ACCESS, CORE, action, choose, far, interface, network, pdr, sdf, towards
from kit.scene import N4_STAGES
from scapy.contrib import pfcp as scapy_pfcp

STAGES = N4_STAGES

MISSING, CONDITIONAL, LENGTH, INCORRECT, RULE = 66, 67, 68, 69, 73
NODE_ID, RECOVERY, F_SEID, CREATE_PDR, OUTER_HEADER = 60, 96, 57, 1, 84
SDF_FILTER, REMOVAL, FAR_ID, ACTION, MBR, TOWARDS = 23, 95, 108, 44, 26, 42
UE = "10.45.200.1"


@pytest.fixture
def bystander(scene):
    """A session that has nothing to do with it all: it forwards before and after."""
    ue = scene.attach()
    scene.assert_forwards(ue)
    yield ue
    assert scene.daemon.alive(), scene.daemon.log()
    assert scene.sessions() == 1
    scene.assert_forwards(ue, sequence=2)


def raw(kind, data):
    """An IE of any type with any content."""
    return scapy_pfcp.IE_NotImplemented(ietype=kind, length=len(data), data=data)


def node(kind, *parts):
    """A node message as bytes; the IEs as (type, content)."""
    body = b"".join(struct.pack("!HH", number, len(data)) + data for number, data in parts)
    return struct.pack("!BBHI", 0x20, kind, 4 + len(body), 0x777700) + body


STAMP = (RECOVERY, bytes.fromhex("e81fe7b4"))
ME = (NODE_ID, b"\0" + bytes((10, 10, 4, 2)))
HEARTBEAT = node(1, STAMP)

# ---- what gets no answer ----

DISCARDED = {
    "heartbeat, stamp of length 0": bytes.fromhex("2001000c0000020000600000e81fe7b4"),
    "vendor IE, then one past the end":
        bytes.fromhex("2001000f000000ffffff0000600004e81fdc30"),
    "heartbeat, vendor IE of length 1, no stamp": node(1, (0x8005, b"\1")),
    "heartbeat without stamp": node(1),
    "heartbeat answer without stamp": node(2),
    "answer nobody asked for": node(2, STAMP),
    "setup answer nobody asked for": node(6, ME, (19, b"\1"), STAMP),
    "session answer nobody asked for": struct.pack("!BBHQI", 0x21, 53, 17, 1, 0x100)
        + b"\0\x13\0\1\1",
    "unknown type": node(99, STAMP),
    "setup as a session message": struct.pack("!BBHQI", 0x21, 5, 12 + 8 + 9, 1, 0x100)
        + struct.pack("!HH", 96, 4) + STAMP[1] + struct.pack("!HH", 60, 5) + ME[1],
    "header says more": HEARTBEAT[:3] + b"\x40" + HEARTBEAT[4:],
    "header says less": HEARTBEAT[:3] + b"\x05" + HEARTBEAT[4:],
    "three octets": HEARTBEAT[:3],
    "one octet": b"\x20",
    "session message without a SEID": struct.pack("!BBHI", 0x20, 50, 4, 0x100),
}


@pytest.mark.parametrize("octets", DISCARDED.values(), ids=DISCARDED)
def test_discarded(scene, bystander, octets):
    """No answer, no change; counted."""
    del bystander
    def discards():
        counters = scene.daemon.ctl("show", "pfcp", "counters")["counters"]
        return sum(number for name, number in counters.items() if name.startswith("discard_"))

    before = discards()
    assert scene.smf.discarded(octets)
    assert discards() == before + 1


def test_other_version(scene, bystander):
    """A message of version 2 is told so (7.6.2)."""
    del bystander
    answer = scene.smf.exchange(b"\x40" + HEARTBEAT[1:], 0x7777)
    assert answer[1] == 11


# ---- associations ----


def answered(scene, octets):
    """The answer, by scapy."""
    octets = scene.smf.exchange(octets, 0x7777)
    assert octets, "no answer"
    return scapy_pfcp.PFCP(octets)


@pytest.mark.parametrize("parts, wanted", [
    ((STAMP,), NODE_ID), ((ME,), RECOVERY), ((), NODE_ID),
], ids=["no Node ID", "no stamp", "nothing"])
def test_association_that_lacks(scene, bystander, parts, wanted):
    """66 and the IE that is not there."""
    del bystander
    answer = answered(scene, node(5, *parts))
    assert (cause(answer), ie(answer, scapy_pfcp.IE_OffendingIE).type) == (MISSING, wanted)


@pytest.mark.parametrize("features", [None, 1, 2, 4, 6, 10])
def test_features_of_any_length(scene, bystander, features):
    """Absent, or as many octets as a later release may have."""
    del bystander
    stamp = (RECOVERY, struct.pack("!I", scene.smf.recovery))
    more = [] if features is None else [(89, bytes(features)), (43, bytes(features))]
    octets, sequence = node(5, ME, stamp, *more), 0x8800 + (features or 0)
    octets = octets[:4] + struct.pack("!I", sequence << 8) + octets[8:]
    pfcp.assert_accepted(scapy_pfcp.PFCP(scene.smf.exchange(octets, sequence)))


# ---- sessions ----


def usual(**changed):
    """A session's rules by name, some of them changed; a list of IEs. None leaves one out."""
    made = {
        "down": pdr(1, 100, [interface(CORE), network(topology.DNN), rules.ue_address(UE)], 1),
        "up": pdr(2, 100, [interface(ACCESS), choose(5), network(topology.DNN)], 2, removal=6),
        "far_down": far(1, action(FORW=1), [towards(ACCESS), rules.outer_header(topology.N3_GNB, 9)]),
        "far_up": far(2, action(FORW=1), [towards(CORE), network(topology.DNN)]),
    } | changed
    return [part for part in made.values() if part is not None]


def down(*more, number=1, far_id=1):
    """The PDR of the way down with more in its PDI."""
    return pdr(number, 100, [interface(CORE), network(topology.DNN), rules.ue_address(UE), *more],
               far_id)


def without(created, kind):
    """A grouped IE less the members of a class."""
    return type(created)(IE_list=[part for part in created.IE_list if not isinstance(part, kind)])


def outer(data):
    """The FAR of the way down with an Outer Header Creation of any content."""
    return {"far_down": far(1, action(FORW=1), [towards(ACCESS), raw(OUTER_HEADER, data)])}


def description(data):
    """The way down with an SDF Filter that has a flow description of any content."""
    return {"down": down(raw(SDF_FILTER, b"\1\0" + struct.pack("!H", len(data)) + data))}


def applied(data):
    """The FAR of the way up with an Apply Action of any content."""
    return {"far_up": scapy_pfcp.IE_CreateFAR(IE_list=[
        scapy_pfcp.IE_FAR_Id(id=2), raw(ACTION, data),
        scapy_pfcp.IE_ForwardingParameters(IE_list=[towards(CORE), network(topology.DNN)])])}


# name: (rules changed, causes that are right, Offending IE or None for any, failed PDR or None)
REFUSED = {
    "no FAR ID": ({"up": without(usual()[1], scapy_pfcp.IE_FAR_Id)}, (CONDITIONAL,), FAR_ID, None),
    "outer header, empty": (outer(b""), (LENGTH, INCORRECT), OUTER_HEADER, None),
    "outer header without address": (outer(bytes.fromhex("010000000009")), (LENGTH, INCORRECT),
                                     OUTER_HEADER, None),
    "outer header of 3 octets": (outer(b"\1\0\0"), (LENGTH, INCORRECT), OUTER_HEADER, None),
    "outer header, IPv6 cut off": (outer(bytes.fromhex("020000000009") + bytes(15)),
                                   (LENGTH, INCORRECT), OUTER_HEADER, None),
    "outer header of no kind": (outer(bytes.fromhex("000000000009") + bytes(4)),
                                (LENGTH, INCORRECT), OUTER_HEADER, None),
    "filter, empty": (description(b""), (RULE,), None, 1),
    "filter, aaaaaaaa": (description(b"aaaaaaaa"), (RULE,), None, 1),
    "filter, deny": (description(b"deny out ip from any to any"), (RULE,), None, 1),
    "filter of 4,000 characters": (description(b"permit out ip from any to " + b"a" * 4000),
                                   (RULE,), None, 1),
    "filter of 200 words": (description(b"permit " * 200), (RULE,), None, 1),
    "filter with a NUL": (description(b"permit out ip\0from any to assigned"), (RULE,), None, 1),
    "filter, unknown network": ({"down": pdr(1, 1, [interface(CORE), network("nowhere"),
                                                    rules.ue_address(UE)], 1)}, (RULE,), None, 1),
    "filter length past the IE": ({"down": down(raw(SDF_FILTER, b"\1\0\0\x40permit"))}, (LENGTH,),
                                  SDF_FILTER, None),
    "filter length 0xFFFE": ({"down": down(raw(SDF_FILTER, b"\1\0\xff\xfe"))}, (LENGTH,),
                             SDF_FILTER, None),
    "filter length 0x7FFF": ({"down": down(raw(SDF_FILTER, b"\1\0\x7f\xffpermit out"))}, (LENGTH,),
                             SDF_FILTER, None),
    "QER that is not there": ({"down": pdr(1, 1, [interface(CORE), rules.ue_address(UE)], 1,
                                           qer=9)}, (RULE,), None, 1),
    "FAR that is not there": ({"down": down(far_id=9)}, (RULE,), None, 1),
    "BAR that is not there": ({"far_down": far(1, action(BUFF=1, NOCP=1), bar=7)}, (RULE,), None,
                              None),
    "MBR cut off": ({"qer": scapy_pfcp.IE_CreateQER(IE_list=[
        scapy_pfcp.IE_QER_Id(id=1), scapy_pfcp.IE_GateStatus(), raw(MBR, bytes(9))])},
                    (LENGTH, INCORRECT), MBR, None),
    "drop and forward": (applied(b"\3\0"), (INCORRECT,), ACTION, None),
    "no action": (applied(b"\0\0"), (INCORRECT,), ACTION, None),
    "destination 15": ({"far_up": far(2, action(FORW=1), [raw(TOWARDS, b"\x0f")])}, (INCORRECT,),
                       TOWARDS, None),
    "removal 9": ({"up": pdr(2, 1, [interface(ACCESS), choose(5)], 2, removal=9)}, (INCORRECT,),
                  REMOVAL, None),
    "no PDR": ({"down": None, "up": None}, (MISSING,), CREATE_PDR, None),
    "IE past the end": ({"more": raw(CREATE_PDR, b"\0\x38\0\2\0\1\0\x1d\0\x40\0\0")},
                        (LENGTH, INCORRECT), None, None),
}


@pytest.mark.parametrize("changed, causes, offending, rule", REFUSED.values(), ids=REFUSED)
def test_refused_session(scene, bystander, changed, causes, offending, rule):
    """The cause and what is at fault; the same a second time; nothing is made."""
    del bystander
    for _ in range(2):
        body, seid = scene.smf.establishment(*usual(**changed))
        answer = scene.smf.request(body, seid=0)
        assert cause(answer) in causes, answer.show(dump=True)
        assert answer.seid == seid
        if offending:
            assert ie(answer, scapy_pfcp.IE_OffendingIE).type == offending
        if rule:
            failed = ie(answer, scapy_pfcp.IE_FailedRuleId)
            assert (failed.type, failed.pdr_id) == (0, rule)
        assert not ies(answer, scapy_pfcp.IE_CreatedPDR) and not ie(answer, scapy_pfcp.IE_FSEID)


@pytest.mark.parametrize("missing, wanted", [(scapy_pfcp.IE_FSEID, F_SEID),
                                             (scapy_pfcp.IE_NodeId, NODE_ID)])
def test_session_of_nobody(scene, bystander, missing, wanted):
    """An establishment that does not say whose it is."""
    del bystander
    body, _ = scene.smf.establishment(*usual())
    body.IE_list = [part for part in body.IE_list if not isinstance(part, missing)]
    answer = scene.smf.request(body, seid=0)
    assert (cause(answer), ie(answer, scapy_pfcp.IE_OffendingIE).type) == (MISSING, wanted)


ACCEPTED = {
    "ids at their end": {
        "down": pdr(65535, 100, [interface(CORE), rules.ue_address(UE)], 0xFFFFFFFF, urr=0xFFFFFFFF),
        "far_down": far(0xFFFFFFFF, action(FORW=1), [towards(ACCESS),
                                                     rules.outer_header(topology.N3_GNB, 9)]),
        "urr": rules.urr_volume(0xFFFFFFFF, 1)},
    "fast": {"qer": rules.qer_rate(1, 10_000_000, 2**40 - 1), "down": pdr(
        1, 100, [interface(CORE), rules.ue_address(UE)], 1, qer=1)},
    "action of 1 octet": applied(b"\2"),
    "removal 0": {"up": pdr(2, 1, [interface(ACCESS), choose(5)], 2, removal=0)},
    "removal of 2 octets": {"up": scapy_pfcp.IE_CreatePDR(IE_list=[
        scapy_pfcp.IE_PDR_Id(id=2), scapy_pfcp.IE_Precedence(precedence=1),
        scapy_pfcp.IE_PDI(IE_list=[interface(ACCESS), choose(5)]), raw(REMOVAL, b"\6\1"),
        scapy_pfcp.IE_FAR_Id(id=2)])},
    "plain network name": {"down": pdr(1, 1, [interface(CORE), raw(22, b"InterNet"),
                                              rules.ue_address(UE)], 1)},
    "no network name": {"down": pdr(1, 1, [interface(CORE), rules.ue_address(UE)], 1)},
    "unknown IE": {"more": raw(999, b"abc"), "vendor": raw(0x8001, b"\0\1xyz")},
    **{f"filter {text}": {"down": down(sdf(text))} for text in (
        "permit out ip from any to assigned",
        "permit out 17 from 10.0.0.0/24 1000-2000 to assigned 5060,5061",
        "permit out udp from 192.0.2.20 49459 to any",
        "permit out ip from 2001:db8::/32 to assigned",
        "permit out 41 from 192.0.2.4 to any",
        "permit out 6 from any to assigned 80  ")},
}


@pytest.mark.parametrize("changed", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted_session(scene, bystander, changed):
    """Unusual and right."""
    del bystander
    session = scene.smf.establish(*usual(**changed))
    assert session.tunnels[2][1] == topology.N3_UPF
    pfcp.assert_accepted(session.delete())


@pytest.mark.parametrize("change, failed", [
    (rules.gnb_known(topology.N3_GNB, 1, number=77), 77),
    (scapy_pfcp.IE_RemovePDR(IE_list=[scapy_pfcp.IE_PDR_Id(id=77)]), 77),
    (scapy_pfcp.IE_RemoveFAR(IE_list=[scapy_pfcp.IE_FAR_Id(id=77)]), 77),
    (scapy_pfcp.IE_RemoveFAR(IE_list=[scapy_pfcp.IE_FAR_Id(id=1)]), None),
    (scapy_pfcp.IE_UpdatePDR(IE_list=[raw(56, b"")]), None),
], ids=["update FAR", "remove PDR", "remove FAR", "remove a FAR in use", "PDR ID of length 0"])
def test_refused_change(scene, bystander, change, failed):
    """Of what is not there, or is needed."""
    answer = bystander.session.modify(change)
    assert cause(answer) in ((RULE,) if failed else (RULE, LENGTH)), answer.show(dump=True)
    if failed:
        rule = ie(answer, scapy_pfcp.IE_FailedRuleId)
        assert failed in (rule.pdr_id, rule.far_id)
    scene.assert_forwards(bystander, sequence=3)


def test_limits(scene, bystander):
    """More PDRs than a session may have: 75; the session lives on."""
    more = [down(sdf(f"permit out ip from 192.0.2.{number - 10} to assigned"), number=number)
            for number in range(10, 266)]
    answer = bystander.session.modify(*more)
    assert cause(answer) == 75
    scene.assert_forwards(bystander, sequence=3)
