"""Whose packets are whose: UE addresses that the UPF picks, longer and shorter prefixes, framed routes.

PFCP by scapy; the data network's kernel answers pings of whatever host is behind the UE.
"""

import dataclasses
import ipaddress

import pytest
from kit import pfcp, rules, topology
from kit.rules import ACCESS, CORE, action, far, interface, network, pdr, towards
from scapy.contrib import pfcp as scapy_pfcp

FRAMED_ROUTE, FRAMED_IPV6_ROUTE, POOL_INFORMATION = 153, 155, 233
RULE_FAILURE = 73
V6, V4, CHV4, CHV6, IP6PL = 0x01, 0x02, 0x10, 0x20, 0x40
ROUTE, ROUTE6, WIDE = "192.168.77.0/24", "2001:db8:7700::/48", "2001:db8:fe00:1200::/56"


def ue_address(flags, tail=b""):
    """A UE IP Address whose flags scapy does not know by name, to be the packet's destination."""
    return scapy_pfcp.IE_NotImplemented(ietype=93, data=bytes([flags | 0x04]) + tail)


def framed(route):
    """A Framed-Route, or a Framed-IPv6-Route."""
    return scapy_pfcp.IE_NotImplemented(
        ietype=FRAMED_IPV6_ROUTE if ":" in route else FRAMED_ROUTE, data=route.encode())


def session(down, up=()):
    """The rules of a UE with these further IEs in its PDIs."""
    return [
        pdr(1, 100, [interface(CORE), network(topology.DNN), *down], 1),
        pdr(2, 100, [interface(ACCESS), rules.choose(5), network(topology.DNN), *up], 2, removal=6),
        far(1, action(FORW=1), [towards(ACCESS), rules.outer_header(topology.N3_GNB, 0x77)]),
        far(2, action(FORW=1), [towards(CORE), network(topology.DNN)]),
    ]


def attach(scene, down, up=()):
    """A UE whose way down is open; its addresses are those of the answer, if it has any."""
    if not scene.smf.associated:
        scene.smf.associate()
    made = scene.smf.establish(*session(down, up))
    created = pfcp.ies(made.answer, scapy_pfcp.IE_CreatedPDR)
    given = next(filter(None, (pfcp.ie(one, scapy_pfcp.IE_UE_IP_Address) for one in created)), None)
    ue = scene.ue(made)
    if given:
        ue = dataclasses.replace(ue, v4=given.ipv4 if given.V4 else None,
                                 v6=str(ipaddress.ip_address(given.ipv6) + 2) if given.V6 else None)
    pfcp.assert_accepted(made.modify(rules.gnb_known(topology.N3_GNB, ue.down_teid)))
    return ue


def hosts(ue, *addresses):
    """The UE as hosts behind it appear."""
    return [dataclasses.replace(ue, v4=None if ":" in one else one, v6=one if ":" in one else None)
            for one in addresses]


def refused(scene, *down):
    """The cause of a session with these IEs, and the rule that failed."""
    body, _ = scene.smf.establishment(*session(down))
    answer = scene.smf.request(body, seid=0)
    failed = pfcp.ie(answer, scapy_pfcp.IE_FailedRuleId)
    return pfcp.cause(answer), failed and failed.pdr_id


@pytest.fixture(autouse=True)
def routes(scene):
    """The data network's routes to what is behind UEs here."""
    for route in (ROUTE, ROUTE6, WIDE):
        scene.network.dn.inside("route", "replace", route, "via",
                                topology.N6_UPF6 if ":" in route else topology.N6_UPF)


def pool_used(scene):
    """How many addresses of each pool are given out."""
    return [row["used"] for row in scene.daemon.ctl("show", "pools")["pools"]]


def test_pool_information(scene):
    """The answer to an association names the pools: identity, network instance, families."""
    answer = scene.smf.associate()
    name = topology.DNN.encode()
    labels = bytes([len(name)]) + name
    expected = (b"\x00\xb1" + (2 + len(name)).to_bytes(2, "big") + len(name).to_bytes(2, "big") + name
                + b"\x00\x16" + len(labels).to_bytes(2, "big") + labels + b"\x01\x02\x00\x01\x03")
    assert [ie.data for ie in answer.payload.IE_list if ie.ietype == POOL_INFORMATION] == [expected]


def test_picked(scene):
    """Each UE gets addresses of its own from the pools; packets go both ways; all is given back."""
    before = pool_used(scene)
    ues = [attach(scene, [ue_address(CHV4 | CHV6)]) for _ in range(4)]
    assert len({ue.v4 for ue in ues} | {ue.v6 for ue in ues}) == 8
    for ue in ues:
        assert ipaddress.ip_address(ue.v4) in ipaddress.ip_network(topology.UE_POOL)
        assert ipaddress.ip_address(ue.v6) in ipaddress.ip_network(topology.UE_POOL6)
    scene.assert_forwards(*ues)
    assert pool_used(scene) == [used + 4 for used in before]
    assert refused(scene, rules.ue_address(ues[0].v4)) == (RULE_FAILURE, 1)
    ues[0].session.delete()
    assert pool_used(scene) == [used + 3 for used in before]
    again = attach(scene, [ue_address(CHV4 | CHV6)])
    assert again.v4 not in [ue.v4 for ue in ues]  # it rests
    scene.assert_forwards(again, *ues[1:])


def test_picked_prefix(scene):
    """A /56 of the pool: all of it leads to the UE, the next does not."""
    ue = attach(scene, [ue_address(CHV6 | IP6PL, bytes([56]))])
    prefix = ipaddress.ip_network((ue.v6, 56), strict=False)
    scene.assert_forwards(*hosts(ue, str(prefix[1]), str(prefix[-2]), str(prefix[1 << 70])))
    beside = ipaddress.ip_network((int(prefix[0]) - (1 << 72), 56))
    assert not scene.ping(hosts(ue, str(beside[1]))[0], topology.N6_DN6, timeout=0.3)
    assert scene.daemon.drops().get("spoofed_source")


def test_given_prefix(scene):
    """A /56 and a /128 of the SMF's, outside of the pools."""
    wide = ipaddress.ip_network(WIDE)
    ue = attach(scene, [ue_address(V6 | IP6PL, wide[0].packed + bytes([56]))])
    scene.assert_forwards(*hosts(ue, str(wide[1]), str(wide[-1])))
    inside = ue_address(V6, wide[1 << 64].packed)
    assert refused(scene, inside) == (RULE_FAILURE, 1)
    ue.session.delete()
    host = attach(scene, [ue_address(V6 | IP6PL, wide[9].packed + bytes([128]))])
    scene.assert_forwards(*hosts(host, str(wide[9])))
    assert not scene.ping(hosts(host, str(wide[8]))[0], topology.N6_DN6, timeout=0.3)


def test_framed_routes(scene):
    """Networks behind a UE: as Open5GS has them, with the UE's address down and alone up."""
    down = [rules.ue_address("10.45.9.9"), framed(f"{ROUTE} 10.45.9.9 1"), framed(ROUTE6)]
    ue = attach(scene, down, [framed(ROUTE), framed(ROUTE6)])
    ue = dataclasses.replace(ue, v4="10.45.9.9")
    scene.assert_forwards(ue, *hosts(ue, "192.168.77.1", "192.168.77.254", "2001:db8:7700:9::1"))
    assert not scene.ping(hosts(ue, "192.168.78.1")[0], topology.N6_DN, timeout=0.3)
    assert refused(scene, rules.ue_address("10.45.9.10"), framed(ROUTE)) == (RULE_FAILURE, 1)
    assert refused(scene, rules.ue_address("10.45.9.10"), framed("192.168.77")) == (RULE_FAILURE, 1)
    # A longer route within goes first; without it all is the first UE's again.
    other = attach(scene, [rules.ue_address("10.45.9.10"), framed("192.168.77.128/25")])
    scene.assert_forwards(*hosts(other, "192.168.77.129"), *hosts(ue, "192.168.77.127"))
    other.session.delete()
    scene.assert_forwards(*hosts(ue, "192.168.77.129"), sequence=2)
