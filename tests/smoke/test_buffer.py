"""Packets for a UE that is idle: held, told of once, delivered once and in order, dropped by name.

The SMF and the gNB are scapy's; tshark judges what the daemon told and sent.
"""

import pytest
from kit import pfcp, rules, topology
from kit.pfcp import ACCEPTED, ie
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import UDP

HELD = 64  # sessions.buffer_packets
PORT = 9


def shown(scene, ue):
    """What `show session` says."""
    return scene.daemon.ctl("show", "session", f"{ue.session.up_seid:#x}")


def held(scene, ue, number):
    """Wait until so many packets are held."""
    wait_for(lambda: shown(scene, ue)["buffer_packets"] == number, f"{number} packets held")


def send(scene, ue, version, numbers):
    """The data network sends numbered datagrams."""
    with scene.core_socket(version=version) as core:
        for number in numbers:
            core.sendto(b"%d" % number, (ue.v4 if version == 4 else ue.v6, PORT))


def numbers_of(got):
    """The numbers of datagrams that came."""
    return [int(bytes(packet[UDP].payload)) for _, packet in got]


def idle(scene, ue):
    """The UE goes idle."""
    pfcp.assert_accepted(ue.session.modify(rules.idle()))


def wake(scene, ue, gnb=topology.N3_GNB):
    """The way down is open again."""
    pfcp.assert_accepted(ue.session.modify(rules.gnb_known(gnb, ue.down_teid)))


def downlink_report(scene, ue):
    """The next report, which must be of downlink data: the SMF's request and its IE."""
    report = scene.smf.report()
    assert report, scene.daemon.drops()
    pfcp.assert_understood(report)
    kind = ie(report, scapy_pfcp.IE_ReportType)
    assert (kind.DLDR, kind.USAR, kind.ERIR, kind.UPIR) == (1, 0, 0, 0)
    assert report.seid == ue.session.seid
    return report, ie(report, scapy_pfcp.IE_DownlinkDataReport)


@pytest.mark.parametrize("version", (4, 6))
def test_paging(scene, version):
    """The first packet is told of, 100 more are not; what fits comes once and in order."""
    ue = scene.attach()
    dropped = scene.daemon.drops().get("buffer_full", 0)
    idle(scene, ue)
    send(scene, ue, version, range(101))
    _, told = downlink_report(scene, ue)
    assert ie(told, scapy_pfcp.IE_PDR_Id).id == 1
    service = ie(told, scapy_pfcp.IE_DownlinkDataServiceInformation)
    assert (service.QFII, service.PPI, service.qfi_val) == (1, 0, 1)
    held(scene, ue, HELD)
    wait_for(lambda: scene.daemon.drops()["buffer_full"] == dropped + 101 - HELD, "the rest dropped")
    wake(scene, ue)
    send(scene, ue, version, range(200, 203))
    got = scene.downs(ue, number=HELD + 3)
    assert numbers_of(got) == [*range(HELD), 200, 201, 202]
    assert not scene.downs(ue, number=1, timeout=0.1)
    assert shown(scene, ue)["buffer_packets"] == 0
    assert scene.smf.reports.empty()
    idle(scene, ue)
    send(scene, ue, version, range(1))
    downlink_report(scene, ue)  # another episode
    wake(scene, ue)
    assert numbers_of(scene.downs(ue, number=1)) == [0]
    scene.assert_forwards(ue)


@pytest.mark.parametrize("end", ("DROP", "DROBU", "deletion"))
def test_emptied(scene, end):
    """Nothing is left of what was held, and each has its name."""
    name = {"DROP": "far_drop"}.get(end, "buffer_dropped")
    ue = scene.attach()
    idle(scene, ue)
    dropped = scene.daemon.drops().get(name, 0)
    send(scene, ue, 4, range(5))
    downlink_report(scene, ue)
    held(scene, ue, 5)
    if end == "DROP":
        pfcp.assert_accepted(ue.session.modify(scapy_pfcp.IE_UpdateFAR(IE_list=[
            scapy_pfcp.IE_FAR_Id(id=1), rules.action(DROP=1)])))
    elif end == "DROBU":
        pfcp.assert_accepted(ue.session.modify(scapy_pfcp.IE_PFCPSMReqFlags(DROBU=1)))
        held(scene, ue, 0)
    else:
        pfcp.assert_accepted(ue.session.delete())
    wait_for(lambda: scene.daemon.drops().get(name) == dropped + 5, f"5 dropped as {name}")
    assert not scene.downs(ue, number=1, timeout=0.1)
    assert scene.smf.reports.empty()


def test_answer(scene):
    """What the SMF answers a report with is done: another BAR, and drop what waits."""
    ue = scene.attach()
    idle(scene, ue)
    scene.smf.answer_reports = False
    try:
        send(scene, ue, 4, range(20))
        report, _ = downlink_report(scene, ue)
        held(scene, ue, 20)
        scene.smf.answer(report, scapy_pfcp.PFCPSessionReportResponse(IE_list=[
            scapy_pfcp.IE_Cause(cause=ACCEPTED),
            scapy_pfcp.IE_UpdateBAR_SRR(IE_list=[
                scapy_pfcp.IE_BAR_Id(id=1), scapy_pfcp.IE_DownlinkDataNotificationDelay(delay=2),
                scapy_pfcp.IE_DLBufferingDuration(timer_unit=0, timer_value=5),
                scapy_pfcp.IE_SuggestedBufferingPacketsCount(count=7)]),
            scapy_pfcp.IE_PFCPSRRspFlags(DROBU=1)]), ue.session.up_seid)
        held(scene, ue, 0)
    finally:
        scene.smf.answer_reports = True
    bar = {"id": 1, "ddn_delay_ms": 100, "suggested_packets": 7, "duration_s": 10}
    wait_for(lambda: shown(scene, ue)["bars"] == [bar], "another BAR")
    wait_for(lambda: shown(scene, ue)["state"] == "up", "the owner has it")
    send(scene, ue, 4, range(20))
    held(scene, ue, 7)
    wake(scene, ue)
    assert numbers_of(scene.downs(ue, number=7)) == list(range(7))


def test_paging_policy(scene):
    """Where a QER has a paging policy indicator, the report says the packet's DSCP."""
    ue = scene.attach()
    qer = scapy_pfcp.IE_UpdateQER(IE_list=[
        scapy_pfcp.IE_QER_Id(id=1), scapy_pfcp.IE_PagingPolicyIndicator(ppi=5)])
    pfcp.assert_accepted(ue.session.modify(qer, rules.idle()))
    with scene.core_socket() as core:
        core.setsockopt(0, 1, 46 << 2)  # IP_TOS
        core.sendto(b"0", (ue.v4, PORT))
    _, told = downlink_report(scene, ue)
    service = ie(told, scapy_pfcp.IE_DownlinkDataServiceInformation)
    assert (service.QFII, service.PPI, service.qfi_val, service.ppi_val) == (1, 1, 1, 46)
