"""A session whose user plane is silent for as long as its SMF said: one report, and one more for the next silence.

The time is a real second here; times of all lengths are tests/unit/test_n4_inactivity.c's.
"""

from kit import pfcp
from kit.scene import N4_STAGES
from scapy.contrib.pfcp import IE_ReportType, IE_UserPlaneInactivityTimer

UPIR = 8
STAGES = N4_STAGES


def assert_silent(scene, ue):
    """The SMF is told of this session's silence."""
    report = scene.smf.report()
    assert report.seid == ue.session.seid
    assert bytes(report[IE_ReportType])[4] == UPIR


def test_reported(scene):
    """Told once; packets of the UE begin another silence; other sessions are told nothing of."""
    ue, other = scene.attach(), scene.attach()
    pfcp.assert_accepted(ue.session.modify(IE_UserPlaneInactivityTimer(timer=1)))
    assert_silent(scene, ue)
    assert scene.smf.report(timeout=1.5) is None
    scene.assert_forwards(ue, other)
    assert_silent(scene, ue)
    pfcp.assert_accepted(ue.session.modify(IE_UserPlaneInactivityTimer(timer=0)))
    scene.assert_forwards(ue, other)
    assert scene.smf.report(timeout=1.5) is None
