"""What rules can say beyond PDR and FAR: traffic endpoints, predefined rules, times; with packets.

IEs that scapy lacks are written as bytes.
"""

import struct
import time

import pytest
from kit import pfcp, rules, topology
from kit.pfcp import cause, ie, ies
from kit.rules import ACCESS, CORE, action, choose, far, interface, network, pdr, towards
from kit.scene import N4_STAGES, PAYLOAD, Ue, datagram
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp

STAGES = N4_STAGES

ACTIVATION, DEACTIVATION = 163, 164
DISCARD, ECHO = 9, 7  # ports of the predefined rules (kit/topology.py)
MISSING, RULE = 66, 73
ACTIVATE_PREDEFINED, ENDPOINT_ID = 106, 131


def endpoint_id(number):
    """A Traffic Endpoint ID."""
    return scapy_pfcp.IE_TrafficEndpointId(id=number)


def endpoint(kind, number, *parts):
    """A Create, Update or Remove Traffic Endpoint."""
    return kind(IE_list=[endpoint_id(number), *parts])


def at(kind, stamp):
    """An Activation or Deactivation Time."""
    return scapy_pfcp.IE_NotImplemented(ietype=kind, length=4, data=struct.pack("!I", stamp))


def more(created, *parts):
    """A grouped IE with further members."""
    return type(created)(IE_list=[*created.IE_list, *parts])


def updated(number, *parts):
    """An Update PDR."""
    return scapy_pfcp.IE_UpdatePDR(IE_list=[scapy_pfcp.IE_PDR_Id(id=number), *parts])


def created_endpoints(answer):
    """{Traffic Endpoint ID: TEID} of an answer."""
    return {ie(one, scapy_pfcp.IE_TrafficEndpointId).id: ie(one, scapy_pfcp.IE_FTEID).TEID
            for one in ies(answer, scapy_pfcp.IE_CreatedTrafficEndpoint)}


def arrives(scene, ue, port):
    """Does a UDP datagram of the UE's come to the data network?"""
    with scene.core_socket(port=port) as core:
        scene.up(ue, datagram(ue, topology.N6_DN, 1000, port))
        try:
            return core.recv(2048) == PAYLOAD
        except TimeoutError:
            return False


def dropped(scene, ue, port, reason):
    """Is a UDP datagram of the UE's dropped for this reason?"""
    before = scene.daemon.drops().get(reason, 0)
    scene.up(ue, datagram(ue, topology.N6_DN, 1000, port))
    return wait_for(lambda: scene.daemon.drops().get(reason, 0) == before + 1, reason)


# ---- traffic endpoints ----


@pytest.fixture
def shared(scene):
    """A UE whose PDRs of both directions have their PDI from one traffic endpoint."""
    scene.smf.associated or scene.smf.associate()
    ends = scene.addresses("v4v6")
    session = scene.smf.establish(
        pdr(1, 100, [interface(CORE), endpoint_id(1)], 1),
        pdr(2, 100, [interface(ACCESS), endpoint_id(1)], 2, removal=6),
        far(1, action(FORW=1), [towards(ACCESS), rules.outer_header(topology.N3_GNB, 0xE0001)]),
        far(2, action(FORW=1), [towards(CORE), network(topology.DNN), endpoint_id(1)]),
        endpoint(scapy_pfcp.IE_CreateTrafficEndpoint, 1, choose(), network(topology.DNN),
                 rules.ue_address(**ends)))
    return Ue(session, 0xE0001, ends["v4"], ends["v6"], created_endpoints(session.answer)[1])


def test_endpoint(scene, shared):
    """One F-TEID is picked, for the endpoint; packets go both ways."""
    assert shared.session.tunnels == {} and shared.given_teid
    scene.assert_forwards(shared)
    shown = scene.daemon.ctl("show", "session", f"0x{shared.session.up_seid:x}")
    assert [row["id"] for row in shown["traffic_endpoints"]] == [1]
    assert shown["traffic_endpoints"][0]["linked_fars"] == [2]


def test_endpoint_updated(scene, shared):
    """Another address and another F-TEID for all PDRs at once; the old ones lead nowhere."""
    old = Ue(shared.session, shared.down_teid, shared.v4, shared.v6, shared.given_teid)
    ends = scene.addresses("v4v6")
    answer = pfcp.assert_accepted(shared.session.modify(endpoint(
        scapy_pfcp.IE_UpdateTrafficEndpoint, 1, choose(7), rules.ue_address(**ends))))
    new = Ue(shared.session, shared.down_teid, ends["v4"], ends["v6"],
             created_endpoints(answer)[1])
    assert new.given_teid != old.given_teid
    scene.assert_forwards(new)
    assert not scene.ping(old, topology.N6_DN, 5, timeout=0.3)


def test_endpoint_removed(scene, shared):
    """With an endpoint go the PDRs that name it; a session needs others."""
    gone = endpoint(scapy_pfcp.IE_RemoveTrafficEndpoint, 1)
    answer = shared.session.modify(gone)
    assert cause(answer) == MISSING
    scene.assert_forwards(shared)
    pfcp.assert_accepted(shared.session.modify(
        gone, pdr(3, 100, [interface(CORE), network(topology.DNN),
                           rules.ue_address(shared.v4, shared.v6)], 1)))
    shown = scene.daemon.ctl("show", "session", f"0x{shared.session.up_seid:x}")
    assert [row["id"] for row in shown["pdrs"]] == [3] and not shown["tunnels"]


def test_endpoint_unknown(scene, shared):
    """73, the PDR, and the Traffic Endpoint ID; all is as before."""
    answer = shared.session.modify(pdr(3, 50, [interface(ACCESS), endpoint_id(9)], 2, removal=6))
    assert (cause(answer), ie(answer, scapy_pfcp.IE_OffendingIE).type) == (RULE, ENDPOINT_ID)
    scene.assert_forwards(shared)


# ---- predefined rules ----


def activate(name):
    """Activate Predefined Rules."""
    return scapy_pfcp.IE_ActivatePredefinedRules(name=name)


def test_predefined(scene):
    """Activated and deactivated under traffic: it takes its packets, and no others."""
    ue = scene.attach("v4")
    assert arrives(scene, ue, DISCARD)
    pfcp.assert_accepted(ue.session.modify(more(
        pdr(9, 10, [interface(ACCESS), choose(5), network(topology.DNN)], 2, removal=6),
        activate("no-discard"))))
    assert dropped(scene, ue, DISCARD, "far_drop")
    assert arrives(scene, ue, ECHO)
    scene.assert_forwards(ue)
    shown = scene.daemon.ctl("show", "predefined-rules")["predefined_rules"]
    assert {row["name"]: row["pdrs"] for row in shown} == {"no-discard": 1, "echo": 0}

    pfcp.assert_accepted(ue.session.modify(updated(
        9, scapy_pfcp.IE_DeactivatePredefinedRules(name="no-discard"))))
    assert arrives(scene, ue, DISCARD)
    scene.assert_forwards(ue, sequence=2)


def test_predefined_forwards(scene):
    """A rule with an action of its own needs no FAR."""
    ue = scene.attach("v4")
    pfcp.assert_accepted(ue.session.modify(
        scapy_pfcp.IE_UpdateFAR(IE_list=[scapy_pfcp.IE_FAR_Id(id=2), action(DROP=1)])))
    assert dropped(scene, ue, ECHO, "far_drop")
    made = pdr(9, 10, [interface(ACCESS), choose(5), network(topology.DNN)], 2, removal=6)
    parts = [part for part in made.IE_list if not isinstance(part, scapy_pfcp.IE_FAR_Id)]
    pfcp.assert_accepted(ue.session.modify(more(type(made)(IE_list=parts), activate("echo"))))
    assert arrives(scene, ue, ECHO)
    assert dropped(scene, ue, DISCARD, "far_drop")


def test_predefined_unknown(scene):
    """73, the PDR, and Activate Predefined Rules."""
    ue = scene.attach("v4")
    answer = ue.session.modify(more(
        pdr(9, 10, [interface(ACCESS), choose(5)], 2, removal=6), activate("nothing")))
    assert (cause(answer), ie(answer, scapy_pfcp.IE_OffendingIE).type) == (RULE,
                                                                           ACTIVATE_PREDEFINED)
    scene.assert_forwards(ue)


# ---- times ----


def test_times(scene):
    """A PDR that drops is active between two seconds of the wall clock, and not before or after."""
    ue = scene.attach("v4")
    now = int(time.time()) + pfcp.NTP_EPOCH
    seen = []

    def forwards():
        found = scene.ping(ue, topology.N6_DN, len(seen) + 1, timeout=0.5) is not None
        seen.append(found)
        return found

    pfcp.assert_accepted(ue.session.modify(
        more(pdr(9, 10, [interface(ACCESS), choose(5), network(topology.DNN)], 9, removal=6),
             at(ACTIVATION, now + 3), at(DEACTIVATION, now + 5)),
        far(9, action(DROP=1))))
    assert forwards()
    wait_for(lambda: not forwards(), "activation", 8)
    assert time.time() + pfcp.NTP_EPOCH >= now + 3
    wait_for(forwards, "deactivation", 8)
    assert time.time() + pfcp.NTP_EPOCH >= now + 5
    shown = scene.daemon.ctl("show", "session", f"0x{ue.session.up_seid:x}")["pdr_conditions"]
    assert [row["pdr"] for row in shown] == [9] and shown[0]["active_until"]


# ---- sessions ----


def test_established_anew(scene):
    """An establishment with the CP F-SEID of a living session: that one goes, the new one has all."""
    ue = scene.attach("v4")
    body = scapy_pfcp.PFCPSessionEstablishmentRequest(IE_list=[
        rules.node_id(topology.N4_SMF), rules.f_seid(ue.session.seid, topology.N4_SMF),
        *rules.open5gs_session(topology.N4_SMF, ue.v4)])
    answer = pfcp.assert_accepted(scene.smf.request(body, 0))
    new = pfcp.Session(scene.smf, ue.session.seid, answer)
    scene.smf.sessions[new.seid] = new
    assert scene.sessions() == 1 and new.up_seid != ue.session.up_seid
    ue = Ue(new, ue.down_teid, ue.v4, None)
    pfcp.assert_accepted(new.modify(rules.gnb_known(topology.N3_GNB, ue.down_teid)))
    scene.assert_forwards(ue)
