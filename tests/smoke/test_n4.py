"""N4 over UDP: associations and their end, duplicates, refusals, large and many requests.

What a session's rules do to packets is the judge of whether they are there (TS 29.244 6.2, 6.4, 7.6).
"""

import itertools
import socket
import struct

import pytest
from kit import pfcp, rules, topology
from kit.pfcp import ACCEPTED, cause, ie
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp

OTHER_SMF = "10.10.4.4"
NOT_FOUND, NO_ASSOCIATION, RULE_FAILURE = 65, 72, 73
ASSOCIATION_SETUP_RESPONSE = 6


@pytest.fixture
def other(scene):
    """A second SMF, which has no association."""
    namespace = scene.network.ran
    namespace.address("n4", f"{OTHER_SMF}/24")
    try:
        with pfcp.Smf(namespace, OTHER_SMF, topology.N4_UPF, scene.smf) as smf:
            yield smf
    finally:
        namespace.inside("address", "del", f"{OTHER_SMF}/24", "dev", "n4")


def counted(scene, name):
    """One of the daemon's counters of N4."""
    return scene.daemon.ctl("show", "pfcp", "counters")["counters"].get(name, 0)


def association(smf, recovery=None):
    """The octets of an Association Setup Request, and its sequence number."""
    return smf.message(scapy_pfcp.PFCPAssociationSetupRequest(IE_list=[
        rules.node_id(smf.address),
        scapy_pfcp.IE_RecoveryTimeStamp(timestamp=smf.recovery if recovery is None else recovery),
        scapy_pfcp.IE_CPFunctionFeatures()]))


def release(smf):
    """Ask for the end of the association; the answer."""
    smf.associated = False
    return smf.request(scapy_pfcp.PFCPAssociationReleaseRequest(
        IE_list=[rules.node_id(smf.address)]))


def shown(scene, ue):
    """A session's rules as the daemon shows them, without what counts."""
    def still(value):
        if isinstance(value, dict):
            return {key: still(inner) for key, inner in value.items()
                    if key not in ("packets", "bytes", "traffic", "up", "down")}
        return [still(inner) for inner in value] if isinstance(value, list) else value

    return still(scene.daemon.ctl("show", "session", hex(ue.session.up_seid)))


# ---- associations ----


def test_association(scene):
    """The answer has all that an SMF needs; it is shown; heartbeats are answered."""
    answer = scene.smf.associate()
    assert answer.message_type == ASSOCIATION_SETUP_RESPONSE
    assert ie(answer, scapy_pfcp.IE_NodeId).ipv4 == topology.N4_UPF
    features = ie(answer, scapy_pfcp.IE_UPFunctionFeatures)
    assert features.FTUP and not features.BUCP
    stamp = ie(answer, scapy_pfcp.IE_RecoveryTimeStamp).timestamp
    assert ie(scene.smf.heartbeat(), scapy_pfcp.IE_RecoveryTimeStamp).timestamp == stamp
    rows = scene.daemon.ctl("show", "associations")["associations"]
    assert [row["state"] for row in rows if row["node_id"] == topology.N4_SMF] == ["up"]


def test_association_set_up_again(scene):
    """Same recovery time stamp: sessions stay. Later: they are gone. Earlier: no answer."""
    ue = scene.attach()
    scene.smf.associate()
    scene.assert_forwards(ue)
    assert scene.smf.discarded(association(scene.smf, scene.smf.recovery - 5)[0])
    scene.assert_forwards(ue)
    scene.smf.recovery += 5
    scene.smf.associate()
    assert scene.sessions() == 0
    assert cause(ue.session.modify(rules.idle())) == NOT_FOUND
    scene.smf.sessions.clear()
    again = scene.attach(v4=ue.v4, v6=ue.v6)
    assert again.up_teid != ue.up_teid
    scene.assert_forwards(again)
    unknown = scene.daemon.drops().get("unknown_teid", 0) + scene.daemon.drops().get(
        "stale_reference", 0)
    assert not scene.ping(ue, topology.N6_DN, timeout=0.2)
    drops = scene.daemon.drops()
    assert drops.get("unknown_teid", 0) + drops.get("stale_reference", 0) == unknown + 1


def test_restart_seen_in_a_heartbeat(scene):
    """A heartbeat with a later recovery time stamp: the sessions are gone."""
    scene.attach()
    scene.smf.recovery += 5
    scene.smf.heartbeat()
    scene.smf.sessions.clear()
    wait_for(lambda: scene.sessions() == 0, "the sessions' end")
    scene.smf.associate()
    scene.assert_forwards(scene.attach())


def test_sequence_numbers_begin_again(scene):
    """A restarted SMF counts from 1 and does not get answers of its earlier life."""
    smf = scene.smf
    smf.recovery += 5
    for _ in range(2):
        smf._sequences = itertools.count(1)
        smf.recovery += 5
        smf.associated = False
        ue = scene.attach()
        assert ue.session.answer.seid == ue.session.seid
        scene.assert_forwards(ue)
        smf.sessions.clear()
    smf.sessions[ue.session.seid] = ue.session


def test_release(scene):
    """Sessions end with it; a session request afterwards gets 72; then all works again."""
    ue = scene.attach()
    assert cause(release(scene.smf)) == ACCEPTED
    assert scene.sessions() == 0
    scene.smf.sessions.clear()
    body, _ = scene.smf.establishment(*rules.open5gs_session(topology.N4_SMF, v4=ue.v4))
    assert cause(scene.smf.request(body, seid=0)) == NO_ASSOCIATION
    assert cause(ue.session.delete()) == NO_ASSOCIATION
    assert cause(release(scene.smf)) == NO_ASSOCIATION
    scene.assert_forwards(scene.attach())


def test_session_before_association(scene, other):
    """72, and nothing is made."""
    body, _ = other.establishment(*rules.open5gs_session(OTHER_SMF, v4="10.45.9.9"))
    assert cause(other.request(body, seid=0)) == NO_ASSOCIATION
    assert scene.sessions() == 0


def test_two_smfs(scene, other):
    """Each has its sessions; the end of one's association is not the other's."""
    mine = scene.attach()
    other.associate()
    theirs = other.establish(*rules.open5gs_session(OTHER_SMF, v4="10.45.9.9"))
    assert scene.sessions() == 2
    assert cause(release(other)) == ACCEPTED
    assert scene.sessions() == 1
    assert cause(theirs.delete()) in (NOT_FOUND, NO_ASSOCIATION)
    scene.assert_forwards(mine)


# ---- requests ----


def test_duplicates(scene):
    """A request is executed once; its second answer is the first, byte for byte."""
    smf = scene.smf
    scene.assert_forwards(scene.attach("v4"))
    repeated = counted(scene, "duplicates")
    body, seid = smf.establishment(*rules.open5gs_session(topology.N4_SMF, v4="10.45.8.1"))
    octets, sequence = smf.message(body, 0)
    first = smf.exchange(octets, sequence)
    assert smf.exchange(octets, sequence) == first and scene.sessions() == 2
    made = pfcp.Session(smf, seid, pfcp.assert_accepted(scapy_pfcp.PFCP(first)))
    for body in (scapy_pfcp.PFCPSessionModificationRequest(
            IE_list=[rules.gnb_known(topology.N3_GNB, 77)]),
                 scapy_pfcp.PFCPSessionDeletionRequest()):
        octets, sequence = smf.message(body, made.up_seid)
        first = smf.exchange(octets, sequence)
        pfcp.assert_accepted(scapy_pfcp.PFCP(first))
        assert [smf.exchange(octets, sequence) for _ in range(3)] == [first] * 3
    assert scene.sessions() == 1
    assert counted(scene, "duplicates") == repeated + 7


def test_session_that_is_not_there(scene):
    """65, and the answer's SEID is 0."""
    ue = scene.attach()
    for seid in (2**64 - 1, 0, ue.session.up_seid ^ 1):
        for body in (scapy_pfcp.PFCPSessionModificationRequest(IE_list=[rules.idle()]),
                     scapy_pfcp.PFCPSessionDeletionRequest()):
            answer = scene.smf.request(body, seid)
            assert (cause(answer), answer.seid) == (NOT_FOUND, 0)
    scene.assert_forwards(ue)


def test_refusal_changes_nothing(scene):
    """Nine good changes and a bad one: the session is as before, and forwards as before."""
    ue = scene.attach()
    scene.assert_forwards(ue)
    before = shown(scene, ue)
    good = [scapy_pfcp.IE_RemovePDR(IE_list=[scapy_pfcp.IE_PDR_Id(id=4)]),
            scapy_pfcp.IE_RemoveFAR(IE_list=[scapy_pfcp.IE_FAR_Id(id=3)]), rules.idle(),
            rules.far(4, rules.action(DROP=1)),
            rules.pdr(5, 10, [rules.interface(rules.CORE), rules.network(topology.DNN),
                              rules.ue_address(ue.v4),
                              rules.sdf("permit out ip from any to assigned")], 4),
            rules.pdr(6, 10, [rules.interface(rules.ACCESS), rules.choose(9),
                              rules.network(topology.DNN)], 4, removal=6),
            rules.urr_volume(2, 1000), rules.qer_rate(2, 1, 1),
            rules.pdr(7, 11, [rules.interface(rules.CORE), rules.ue_address(ue.v4)], 4, qer=2)]
    bad = rules.pdr(8, 12, [rules.interface(rules.CORE), rules.ue_address(ue.v4),
                            rules.sdf("permit out ip from nowhere to assigned")], 4)
    answer = ue.session.modify(*good, bad)
    assert cause(answer) == RULE_FAILURE
    failed = ie(answer, scapy_pfcp.IE_FailedRuleId)
    assert (failed.type, failed.pdr_id) == (0, 8)
    assert not pfcp.created_tunnels(answer)
    assert shown(scene, ue) == before
    scene.assert_forwards(ue, sequence=2)


def test_remove_and_create_in_one(scene):
    """Remove, then Create, in one request: a PDR made anew; what the update leaves out stays."""
    ue = scene.attach()
    pdi = [rules.interface(rules.CORE), rules.network(topology.DNN),
           rules.ue_address(ue.v4, ue.v6)]
    pfcp.assert_accepted(ue.session.modify(
        scapy_pfcp.IE_RemovePDR(IE_list=[scapy_pfcp.IE_PDR_Id(id=1)]),
        rules.pdr(1, 5, pdi, 1, qer=1)))
    scene.assert_forwards(ue)
    pfcp.assert_accepted(ue.session.modify(rules.idle()))
    assert not scene.ping(ue, topology.N6_DN, timeout=0.2)
    assert shown(scene, ue)["buffer_packets"] == 1
    pfcp.assert_accepted(ue.session.modify(rules.gnb_known(topology.N3_GNB, ue.down_teid)))
    scene.assert_forwards(ue, sequence=3)


def test_large_request(scene):
    """32 PDRs and 32 FARs in 9,000 octets, which come as IP fragments."""
    ue = scene.attach()
    filters = [rules.sdf(f"permit out 17 from 192.0.2.{number}/32 {number} to assigned 5060,5061")
               for number in range(10, 14)]
    more = [rules.pdr(number, number, [
        rules.interface(rules.CORE), rules.network(topology.DNN), rules.ue_address(ue.v4, ue.v6),
        *filters], number) for number in range(10, 42)]
    more += [rules.far(number, rules.action(FORW=1), [
        rules.towards(rules.ACCESS), rules.outer_header(topology.N3_GNB, ue.down_teid)])
        for number in range(10, 42)]
    octets, _ = scene.smf.message(scapy_pfcp.PFCPSessionModificationRequest(IE_list=more), 1)
    assert len(octets) > 9000
    pfcp.assert_accepted(ue.session.modify(*more))
    scene.assert_forwards(ue)


def test_burst_of_requests(scene):
    """20,000 requests at once from one SMF: its heartbeats are answered, its session stays."""
    ue = scene.attach()
    with scene.network.ran.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
        flood.bind((topology.N4_SMF, 0))
        for number in range(20000):
            head = struct.pack("!BBHQI", 0x21, 54, 12, number, (0x100000 + number) << 8)
            flood.sendto(head, (topology.N4_UPF, pfcp.PORT))
        assert scene.smf.heartbeat(timeout=1)
    scene.assert_forwards(ue)
