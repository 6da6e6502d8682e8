"""A session of 256 PDRs with 16 SDF filters each: made over N4, forwards, is shown, and has its limits.

The establishment is an Open5GS one; modifications add the rest, as much as a datagram takes.
"""

import pytest
from kit import rules, topology
from kit.pfcp import assert_accepted, cause, ie
from kit.scene import datagram
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import UDP

MOST_PDRS, EACH = 256, 16
OF_OPEN5GS = 4  # PDRs, with one filter
A_REQUEST = 63  # PDRs
FIRST_PORT = 10000
QFIS = (2, 3, 4)
NO_RESOURCES = 75
SDF_FILTER = 23  # IE type


def flow(port):
    """A flow description of one port of the data network."""
    return rules.sdf(f"permit out 17 from any {port} to assigned")


def added(number, ue, filters):
    """A PDR for packets to the UE, before all others, whose QFI tells it from its neighbours."""
    pdi = [rules.interface(rules.CORE), rules.network("internet"), rules.ue_address(ue.v4, ue.v6)]
    return rules.pdr(100 + number, 10, [*pdi, *filters], 1, qer=100 + number % len(QFIS))


def qers():
    """Those that the added PDRs name."""
    return [rules.qer_rate(100 + i, 50000, 100000, qfi) for i, qfi in enumerate(QFIS)]


@pytest.fixture
def ue(scene):
    """One whose session has as many PDRs as it may, with as many filters as these may have."""
    made = scene.attach()
    assert_accepted(made.session.modify(*qers()))
    for first in range(0, MOST_PDRS - OF_OPEN5GS, A_REQUEST):
        assert_accepted(made.session.modify(*(
            added(number, made, [flow(FIRST_PORT + number * EACH + i) for i in range(EACH)])
            for number in range(first, first + A_REQUEST))))
    return made


def test_forwards(scene, ue):
    """Ports of the first, a middle and the last PDR get these PDRs' QFIs, others the ordinary one."""
    ports = {FIRST_PORT + number * EACH + i: QFIS[number % len(QFIS)]
             for number in (0, 1, 125, 250, 251) for i in (0, EACH - 1)}
    for version, own, other in ((4, ue.v4, topology.N6_DN), (6, ue.v6, topology.N6_DN6)):
        for port, qfi in (*ports.items(), (FIRST_PORT - 1, 1)):
            with scene.core_socket(version=version, port=port) as core:
                scene.up(ue, datagram(ue, other, 1000, port))
                _, sender = core.recvfrom(2048)
                assert sender[:2] == (own, 1000)
                core.sendto(b"down", sender)
            found = scene.down(ue, lambda packet, port=port: UDP in packet
                               and packet[UDP].sport == port)
            assert found, f"{port}: {scene.daemon.drops()}"
            assert found[0].qfi == qfi, port
    scene.assert_forwards(ue)


def test_shown(scene, ue):
    """All PDRs and filters are shown."""
    shown = scene.daemon.ctl("show", "session", hex(ue.session.up_seid))
    assert len(shown["pdrs"]) == MOST_PDRS
    assert len(shown["filters"]) == (MOST_PDRS - OF_OPEN5GS) * EACH + 1


def test_limits(scene, ue):
    """One PDR more, one filter more: refused with what was too much, and the session is as it was."""
    answer = ue.session.modify(added(MOST_PDRS, ue, [flow(9)]))
    assert cause(answer) == NO_RESOURCES
    assert ie(answer, scapy_pfcp.IE_FailedRuleId) is not None
    scene.assert_forwards(ue)

    assert_accepted(ue.session.modify(scapy_pfcp.IE_RemovePDR(IE_list=[
        scapy_pfcp.IE_PDR_Id(id=100)])))
    ranges = ",".join(str(port) for port in range(1, 9))
    lists = rules.sdf(f"permit out 17 from any {ranges} to assigned {ranges}")
    answer = ue.session.modify(added(MOST_PDRS, ue, [lists, lists]))  # each is 64 alternatives
    assert cause(answer) == NO_RESOURCES
    assert ie(answer, scapy_pfcp.IE_FailedRuleId) is not None
    assert ie(answer, scapy_pfcp.IE_OffendingIE).type == SDF_FILTER
    assert cause(ue.session.modify(added(MOST_PDRS, ue, [flow(9)] * (EACH + 1)))) == NO_RESOURCES
    scene.assert_forwards(ue)
