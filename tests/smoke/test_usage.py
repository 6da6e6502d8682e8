"""Usage reports over the wire: what users sent and got, told by thresholds, periods, queries and ends, and quotas that
stop them. Every trigger and every race is tests/unit/test_n4_usage.c's; here the daemon's packets are counted by scapy
and its reports are read by scapy and judged by tshark.
"""

import time

from kit import pfcp, rules, topology
from kit.pfcp import ie, ies
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import UDP

PING4 = 20 + 8 + 48  # bytes of the user packet
URR = 1
NTP_EPOCH = 2208988800  # seconds from 1900 to 1970


def update(*parts):
    """An Update URR."""
    return scapy_pfcp.IE_UpdateURR(IE_list=[scapy_pfcp.IE_URR_Id(id=URR), *parts])


def triggers(first=0, second=0):
    """Reporting Triggers, two octets."""
    return scapy_pfcp.IE_NotImplemented(ietype=37, data=bytes((first, second)))


def quota(total):
    """A Volume Quota of so many bytes in all."""
    return scapy_pfcp.IE_VolumeQuota(TOVOL=1, total=total)


def threshold(total):
    """A Volume Threshold of so many bytes in all."""
    return scapy_pfcp.IE_VolumeThreshold(TOVOL=1, total=total)


def assert_usage(usage, trigger, down, sequence):
    """One Usage Report: its trigger, the bytes of user packets that went down, its UR-SEQN."""
    said = ie(usage, scapy_pfcp.IE_UsageReportTrigger)
    assert [name for name in ("PERIO", "VOLTH", "DROTH", "VOLQU", "TERMR", "MONIT", "IMMER") if
            getattr(said, name)] == trigger.split(), said.show(dump=True)
    volume = ie(usage, scapy_pfcp.IE_VolumeMeasurement)
    assert (volume.total, volume.uplink, volume.downlink) == (down, 0, down)
    assert ie(usage, scapy_pfcp.IE_URR_Id).id == URR
    assert ie(usage, scapy_pfcp.IE_UR_SEQN).number == sequence


def reported(scene, ue):
    """The Usage Report of the next Session Report Request, which is of this UE."""
    report = scene.smf.report()
    assert report, scene.daemon.ctl("show", "session", f"{ue.session.up_seid:#x}")
    pfcp.assert_understood(report)
    assert report.seid == ue.session.seid
    kind = ie(report, scapy_pfcp.IE_ReportType)
    assert (kind.DLDR, kind.USAR, kind.ERIR, kind.UPIR) == (0, 1, 0, 0)
    return ie(report, scapy_pfcp.IE_UsageReport_SRR)


def ping(scene, ue, times=1):
    """The UE pings; only answers are of the URR, which is the downlink PDR's."""
    for sequence in range(times):
        assert scene.ping(ue, topology.N6_DN, sequence), scene.daemon.drops()


def test_threshold(scene):
    """A report for each crossing, with the bytes of user packets; then it counts anew."""
    ue, other = scene.attach("v4"), scene.attach("v4")
    pfcp.assert_accepted(ue.session.modify(update(threshold(3 * PING4))))
    for sequence in range(2):
        ping(scene, ue, 3)
        assert_usage(reported(scene, ue), "VOLTH", 3 * PING4, sequence)
    scene.assert_forwards(other)
    assert scene.smf.reports.empty()


def test_quota(scene):
    """Told when it is used up; nothing passes until there is more, and others are not stopped."""
    ue, other = scene.attach("v4"), scene.attach("v4")
    pfcp.assert_accepted(ue.session.modify(update(triggers(0, 1), quota(2 * PING4))))
    ping(scene, ue, 2)
    assert_usage(reported(scene, ue), "VOLQU", 2 * PING4, 0)
    dropped = scene.daemon.drops().get("quota_used", 0)
    assert scene.ping(ue, topology.N6_DN, timeout=0.2) is None
    assert scene.daemon.drops()["quota_used"] == dropped + 1
    scene.assert_forwards(other)
    pfcp.assert_accepted(ue.session.modify(update(quota(PING4))))
    ping(scene, ue)
    assert_usage(reported(scene, ue), "VOLQU", PING4, 1)


def test_quota_held(scene):
    """What comes down beyond a quota waits where the FAR for quota action says so, and leaves when there is more."""
    ue = scene.attach("v4")
    pfcp.assert_accepted(ue.session.modify(
        rules.far(7, rules.action(BUFF=1, NOCP=1)),
        update(triggers(0, 1), quota(PING4), scapy_pfcp.IE_FAR_Id(id=7))))
    ping(scene, ue)
    assert_usage(reported(scene, ue), "VOLQU", PING4, 0)
    with scene.core_socket() as core:
        for number in range(3):
            core.sendto(b"%d" % number, (ue.v4, 9))
    told = ie(scene.smf.report(), scapy_pfcp.IE_DownlinkDataReport)
    assert ie(told, scapy_pfcp.IE_PDR_Id).id == 1
    assert not scene.downs(ue, number=1, timeout=0.2)
    pfcp.assert_accepted(ue.session.modify(update(quota(10 * PING4))))
    got = scene.downs(ue, number=3)
    assert [bytes(packet[UDP].payload) for _, packet in got] == [b"0", b"1", b"2"]
    assert scene.smf.reports.empty()


def test_dropped_downlink(scene):
    """Downlink packets that a FAR drops are told of by number, and what passed before with them."""
    ue = scene.attach("v4")
    threshold_ie = scapy_pfcp.IE_DroppedDLTrafficThreshold(DLPA=1, packet_count=3)
    pfcp.assert_accepted(ue.session.modify(update(triggers(0x40, 0), threshold_ie)))
    ping(scene, ue, 2)
    pfcp.assert_accepted(ue.session.modify(scapy_pfcp.IE_UpdateFAR(IE_list=[
        scapy_pfcp.IE_FAR_Id(id=1), rules.action(DROP=1)])))
    with scene.core_socket() as core:
        for _ in range(3):
            core.sendto(b"lost", (ue.v4, 9))
    assert_usage(reported(scene, ue), "DROTH", 2 * PING4, 0)
    assert scene.smf.reports.empty()


def test_monitoring_time(scene):
    """What was counted before a monitoring time is told apart, and the threshold after it is another."""
    ue = scene.attach("v4")
    at = int(time.time()) + 2
    pfcp.assert_accepted(ue.session.modify(update(
        threshold(100 * PING4), scapy_pfcp.IE_MonitoringTime(time_value=at + NTP_EPOCH),
        scapy_pfcp.IE_SubsequentVolumeThreshold(TOVOL=1, total=2 * PING4))))
    ping(scene, ue, 3)
    seid = f"{ue.session.up_seid:#x}"
    wait_for(lambda: scene.daemon.ctl("show", "session", seid)["usage"][0]["down_bytes"] == 0,
             "the monitoring time")
    ping(scene, ue, 2)
    report = scene.smf.report()
    pfcp.assert_understood(report)
    before, after = ies(report, scapy_pfcp.IE_UsageReport_SRR)
    assert_usage(before, "VOLTH MONIT", 3 * PING4, 0)
    assert_usage(after, "VOLTH", 2 * PING4, 1)
    assert [(ie(usage, scapy_pfcp.IE_UsageInformation).BEF,
             ie(usage, scapy_pfcp.IE_UsageInformation).AFT)
            for usage in (before, after)] == [(1, 0), (0, 1)]


def test_period(scene):
    """Every second, also of what did not happen."""
    ue = scene.attach("v4")
    pfcp.assert_accepted(ue.session.modify(
        update(triggers(1, 0), scapy_pfcp.IE_MeasurementPeriod(period=1))))
    ping(scene, ue)
    assert_usage(reported(scene, ue), "PERIO", PING4, 0)
    assert_usage(reported(scene, ue), "PERIO", 0, 1)


def test_answers(scene):
    """Asked for in a modification, and told with the end of the session: each byte once."""
    ue = scene.attach("v4")
    ping(scene, ue, 2)
    query = scapy_pfcp.IE_QueryURR(IE_list=[scapy_pfcp.IE_URR_Id(id=URR)])
    answer = ue.session.modify(query)
    pfcp.assert_accepted(answer)
    assert_usage(ie(answer, scapy_pfcp.IE_UsageReport_SMR), "IMMER", 2 * PING4, 0)
    ping(scene, ue)
    answer = ue.session.modify(scapy_pfcp.IE_PFCPSMReqFlags(QUARR=1))
    assert_usage(ie(answer, scapy_pfcp.IE_UsageReport_SMR), "IMMER", PING4, 1)
    ping(scene, ue, 3)
    answer = ue.session.delete()
    assert len(ies(answer, scapy_pfcp.IE_UsageReport_SDR)) == 1
    assert_usage(ie(answer, scapy_pfcp.IE_UsageReport_SDR), "TERMR", 3 * PING4, 2)
    assert scene.smf.reports.empty()
