"""A gNB that has lost a session's tunnel: its Error Indication becomes a report to the SMF.

The messages are put together here by hand; scapy reads what the SMF is told.
"""

import socket
import struct

from scapy.contrib.pfcp import IE_ErrorIndicationReport, IE_FTEID, IE_ReportType

from kit import gtpu, pfcp, rules, topology

TEID_DATA_I, PEER_ADDRESS = 16, 133
ERIR = 4


def indication(teid, address):
    """An Error Indication about a tunnel (TS 29.281 7.3.1)."""
    about = struct.pack("!BIBH", TEID_DATA_I, teid, PEER_ADDRESS, 4) + socket.inet_aton(address)
    return gtpu.encode(gtpu.ERROR_INDICATION, 0, about, sequence=0)


def test_reported(scene):
    """The owner's SMF is told of the tunnel, once; strangers' tunnels are of no interest."""
    ue, other = scene.attach(), scene.attach()
    scene.assert_forwards(ue, other)
    scene.gnb.send(topology.N3_UPF, indication(0x7FFFFFFF, topology.N3_GNB))
    scene.gnb.send(topology.N3_UPF, indication(ue.down_teid, "192.0.2.1"))
    for _ in range(20):
        scene.gnb.send(topology.N3_UPF, indication(ue.down_teid, topology.N3_GNB))
    report = scene.smf.report()
    assert report.seid == ue.session.seid
    assert bytes(report[IE_ReportType])[4] == ERIR
    remote = report[IE_ErrorIndicationReport][IE_FTEID]
    assert (remote.TEID, remote.ipv4) == (ue.down_teid, topology.N3_GNB)
    assert scene.smf.report(timeout=0.3) is None
    # What the SMF does then: the way down is closed, and opened again.
    pfcp.assert_accepted(ue.session.modify(rules.idle()))
    scene.gnb.send(topology.N3_UPF, indication(ue.down_teid, topology.N3_GNB))
    assert scene.smf.report(timeout=0.3) is None
    pfcp.assert_accepted(ue.session.modify(rules.gnb_known(topology.N3_GNB, ue.down_teid)))
    scene.assert_forwards(ue, other)
