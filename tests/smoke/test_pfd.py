"""Applications: PFDs that an SMF provisions, sessions that name them, and packets that follow (TS 29.244 6.2.5).

The session of these tests forwards nothing but an application's traffic: what the application does not
have is dropped by name, both ways.
"""

import contextlib
import itertools

import pytest
from kit import pfcp, rules, topology
from kit.pfcp import ACCEPTED, cause, ie
from kit.scene import N4_STAGES, PAYLOAD, Ue, datagram
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import UDP

STAGES = N4_STAGES

RULE_FAILURE, NO_RESOURCES, NOT_SUPPORTED = 73, 75, 76
APPLICATION_ID, PFD_CONTENTS = 24, 61
DN = {4: topology.N6_DN, 6: topology.N6_DN6}
ECHO, OTHER = 7, 9  # ports of the data network
PFD_TYPES = {"custom": "CP", "domain": "DN", "url": "URL"}
_ports = itertools.count(20000)  # of UEs: no two exchanges are alike


def echo(version, port=ECHO):
    """The flow description of a server of the data network."""
    return f"permit out 17 from {DN[version]} {port} to assigned"


@pytest.fixture
def smf(scene):
    """The scene's SMF, associated; after the test only the configured application is left."""
    if not scene.smf.associated:
        scene.smf.associate()
    yield scene.smf
    assert cause(provision(scene.smf)) == ACCEPTED
    for session in list(scene.smf.sessions.values()):
        session.delete()
    assert names(scene) == [topology.APPLICATION]


def provision(smf, *ids):
    """Send a PFD Management Request; the answer."""
    return smf.request(scapy_pfcp.PFCPPFDManagementRequest(IE_list=list(ids)))


def applications(scene):
    """What the daemon shows of its applications, but for the configured one."""
    rows = scene.daemon.ctl("show", "applications")["applications"]
    return [row for row in rows if row["source"] != "config"]


def names(scene):
    """The names of all applications, one for each value."""
    rows = scene.daemon.ctl("show", "applications")["applications"]
    return [row["application"] for row in rows]


def application_rules(name, v4, v6, *more):
    """Rules that forward an application's traffic alone."""
    n3, n6 = rules.interface_type(rules.IF_TYPE_N3), rules.interface_type(rules.IF_TYPE_N6)
    dnn, app = rules.network(topology.DNN), rules.application(name)
    return [
        rules.pdr(1, 100, [rules.interface(rules.CORE), dnn, rules.ue_address(v4, v6), *more, app,
                           n6], 1),
        rules.pdr(2, 100, [rules.interface(rules.ACCESS), rules.choose(5), dnn, *more, app, n3], 2,
                  removal=rules.REMOVE_GTPU_UDP_IP),
        rules.far(1, rules.action(BUFF=1, NOCP=1)),
        rules.far(2, rules.action(FORW=1), [rules.towards(rules.CORE), dnn, n6]),
    ]


def attach(scene, name, *more):
    """A UE whose session names an application."""
    ends = scene.addresses("v4v6")
    session = scene.smf.establish(*application_rules(name, ends["v4"], ends["v6"], *more))
    ue = Ue(session, next(scene._teids), ends["v4"], ends["v6"])
    pfcp.assert_accepted(session.modify(rules.gnb_known(topology.N3_GNB, ue.down_teid)))
    return ue


def unmatched(scene):
    """Packets that no PDR matched."""
    return scene.daemon.drops().get("no_pdr", 0)


def reaches(scene, ue, core, version, ours, port):
    """Does the UE's packet reach the server? If not, it must have been dropped for want of a PDR."""
    before = unmatched(scene)

    def outcome():
        with contextlib.suppress(BlockingIOError):
            return core.recvfrom(2048)[0]
        return unmatched(scene) > before

    core.setblocking(False)
    scene.up(ue, datagram(ue, DN[version], ours, port))
    return wait_for(outcome, "a packet at the server, or dropped") == PAYLOAD


def passes(scene, ue, version, port=ECHO):
    """Does an exchange with this server pass? What goes up comes down, what does not is dropped."""
    ours = next(_ports)
    with scene.core_socket(version=version, port=port) as core:
        up = reaches(scene, ue, core, version, ours, port)
        before = unmatched(scene)
        core.sendto(b"down", (ue.v4 if version == 4 else ue.v6, ours))
        if not up:
            wait_for(lambda: unmatched(scene) > before, "a packet to be dropped")
            return False
        found = scene.down(ue, lambda packet: UDP in packet and packet[UDP].dport == ours)
        assert found and bytes(found[1][UDP].payload) == b"down", scene.daemon.drops()
    return True


def await_session(scene, ue, version, port=ECHO, up=True):
    """Wait until the session has followed: a UE's packet to this server does or does not get there."""
    def followed():
        with scene.core_socket(version=version, port=port) as core:
            return reaches(scene, ue, core, version, next(_ports), port) == up

    wait_for(followed, "the session to follow")


def test_follows(scene, smf):
    """Exactly the flows described pass; when they change under the living session, packets follow."""
    assert cause(provision(smf, rules.pfds("echo", rules.flow(echo(4))))) == ACCEPTED
    ue = attach(scene, "echo")
    assert passes(scene, ue, 4)
    assert not passes(scene, ue, 6) and not passes(scene, ue, 4, OTHER)

    contents = rules.flow(echo(6), echo(4, OTHER))
    assert cause(provision(smf, rules.pfds("echo", contents))) == ACCEPTED
    await_session(scene, ue, 6)
    assert passes(scene, ue, 6) and passes(scene, ue, 4, OTHER) and not passes(scene, ue, 4)

    assert cause(provision(smf, rules.pfds("echo"))) == ACCEPTED
    await_session(scene, ue, 6, up=False)
    assert not passes(scene, ue, 6) and not passes(scene, ue, 4, OTHER) and not passes(scene, ue, 4)

    assert cause(provision(smf, rules.pfds("echo", rules.flow(echo(4))))) == ACCEPTED
    await_session(scene, ue, 4)
    assert passes(scene, ue, 4)
    shown = scene.daemon.ctl("show", "session", hex(ue.session.up_seid))["pdrs"]
    assert [row["application"] for row in shown] == ["echo", "echo"]


def test_with_filter(scene, smf):
    """An SDF filter and an application in one PDR: a packet must match both."""
    provision(smf, rules.pfds("echo", rules.flow(echo(4), echo(6))))
    ue = attach(scene, "echo", rules.sdf(f"permit out ip from {topology.N6_NET} to assigned"))
    assert passes(scene, ue, 4) and not passes(scene, ue, 6)


def refusal(scene, name):
    """The cause, Offending IE and Failed Rule ID of an establishment."""
    ends = scene.addresses("v4v6")
    body, _ = scene.smf.establishment(*application_rules(name, ends["v4"], ends["v6"]))
    answer = scene.smf.request(body, seid=0)
    failed = ie(answer, scapy_pfcp.IE_FailedRuleId)
    return (cause(answer), ie(answer, scapy_pfcp.IE_OffendingIE).type,
            (failed.type, failed.pdr_id))


def test_refusals(scene, smf):
    """Unknown applications, and those with what nothing detects; the latter are stored and shown."""
    expected = (RULE_FAILURE, APPLICATION_ID, (0, 1))
    assert refusal(scene, "video") == expected
    for kind, flag in PFD_TYPES.items():
        field = {"CP": "custom", "DN": "domain", "URL": "url"}[flag]
        contents = scapy_pfcp.IE_PFDContents(**{flag: 1, field: b"v.example"})
        answer = provision(smf, rules.pfds("video", rules.flow(echo(4)), contents))
        assert cause(answer) == ACCEPTED
        shown = [(row["kind"], row["value"], row["pfd"], row["detected"], row["source"])
                 for row in applications(scene)]
        assert shown == [("flow", echo(4), 1, False, topology.N4_SMF),
                         (kind, "v.example", 2, False, topology.N4_SMF)]
        assert refusal(scene, "video") == expected
    assert scene.sessions() == 0


def test_in_use(scene, smf):
    """An application that a session names cannot come to need what nothing detects."""
    provision(smf, rules.pfds("echo", rules.flow(echo(4))))
    ue = attach(scene, "echo")
    contents = scapy_pfcp.IE_PFDContents(DN=1, domain=b"v.example")
    answer = provision(smf, rules.pfds("other", rules.flow(echo(6))), rules.pfds("echo", contents))
    assert (cause(answer), ie(answer, scapy_pfcp.IE_OffendingIE).type) == (
        NOT_SUPPORTED, PFD_CONTENTS)
    assert [row["application"] for row in applications(scene)] == ["echo"]
    assert passes(scene, ue, 4)


def test_configured(scene, smf):
    """An application of the configuration is there; an SMF's PFDs take its place until they go."""
    ue = attach(scene, topology.APPLICATION)
    assert passes(scene, ue, 4, topology.APPLICATION_PORT) and not passes(scene, ue, 4)
    provision(smf, rules.pfds(topology.APPLICATION, rules.flow(echo(4))))
    await_session(scene, ue, 4)
    assert passes(scene, ue, 4) and not passes(scene, ue, 4, topology.APPLICATION_PORT)
    provision(smf)
    await_session(scene, ue, 4, up=False)
    assert passes(scene, ue, 4, topology.APPLICATION_PORT)


def test_limit(scene, smf):
    """Applications beyond the limit are refused and counted; pages show all that are there."""
    given = [f"app{number}" for number in range(255)]  # with the configured one there are 256
    for at in range(0, 255, 64):
        ids = [rules.pfds(name, rules.flow(echo(4), echo(6))) for name in given[at:at + 64]]
        assert cause(provision(smf, *ids)) == ACCEPTED
    before = scene.daemon.ctl("show", "pfcp", "counters")["counters"]["pfds_full"]
    assert cause(provision(smf, rules.pfds("more", rules.flow(echo(4))))) == NO_RESOURCES
    after = scene.daemon.ctl("show", "pfcp", "counters")["counters"]["pfds_full"]
    assert after == before + 1
    seen, at = [], 1
    while at:
        page = scene.daemon.ctl("show", "applications", "from", str(at), "limit", "100")
        assert page["total"] == 256 and len(page["applications"]) <= 101
        seen += [row["application"] for row in page["applications"]]
        at = page["next"]
    assert sorted(seen) == sorted([topology.APPLICATION, *given * 2])


def test_features(scene, smf):
    """PFDM and PFDE are offered."""
    answer = scene.smf.associate()
    features = ie(answer, scapy_pfcp.IE_UPFunctionFeatures)
    assert features.PFDM == 1 and features.PFDE == 1
