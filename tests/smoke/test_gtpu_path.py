"""A gNB that stops to answer GTP-U Echo Requests, and answers again: what the SMF is told (TS 29.244 7.4.5).

The gNB and the SMF are scapy and raw bytes; tshark reads the Node Reports.
"""

import pytest
from kit import gtpu, rules, topology, tshark
from kit.daemon import Daemon
from kit.pfcp import ACCEPTED, assert_understood, pfcp
from kit.scene import Scene
from kit.wait import wait_for

NODE_REPORT_REQUEST = 12
REPORTED = ("pfcp.node_report_type.upfr", "pfcp.node_report_type.uprr", "pfcp.node_id_ipv4")


def own_daemon(network, tmp_path, mode, workers):
    """A daemon that asks gNBs often."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket, workers)
        return made | {"gtpu": {"echo_ms": 500, "echo_t3_ms": 100, "echo_n3": 3}}

    return Daemon(network.upf, tmp_path, configuration)


def answer_echo(scene):
    """The gNB answers one Echo Request, as soon as it comes."""
    sender, asked = scene.gnb.receive(gtpu.ECHO_REQUEST)
    assert sender == (topology.N3_UPF, gtpu.PORT) and asked.teid == 0 and asked.payload == b""
    scene.gnb.send(topology.N3_UPF, gtpu.encode(gtpu.ECHO_RESPONSE, 0, gtpu.IE_RECOVERY,
                                                sequence=asked.sequence))


def answer_report(scene):
    """The SMF's next Node Report Request, which it accepts."""
    report = scene.smf.requests.get(timeout=5)
    assert report.message_type == NODE_REPORT_REQUEST
    assert_understood(report)
    scene.smf.answer(report, pfcp.PFCPNodeReportResponse(
        IE_list=[rules.node_id(topology.N4_SMF), pfcp.IE_Cause(cause=ACCEPTED)]))


@pytest.mark.parametrize("mode, workers", [("af_xdp", 1), ("af_packet", 2)])
def test_gnb_falls_silent_and_answers_again(network, mode, workers, tmp_path):
    """Failure and recovery are each reported once; sessions stay and forward."""
    with (own_daemon(network, tmp_path, mode, workers) as daemon,
          Scene(network, daemon, tmp_path) as scene):
        ue = scene.attach("v4")

        def gnb():
            peers = daemon.ctl("show", "peers")["peers"]
            return next(peer for peer in peers if peer["address"] == topology.N3_GNB)

        answer_echo(scene)
        wait_for(lambda: gnb()["path"] == "up", "the path")
        assert gnb()["answered"] >= 1 and scene.smf.requests.empty()
        wait_for(lambda: gnb()["path"] == "down", "path failure")
        answer_report(scene)
        scene.assert_forwards(ue)
        wait_for(lambda: answer_echo(scene) or not scene.smf.requests.empty(), "the second report")
        assert gnb()["path"] == "up"
        answer_report(scene)
        counters = daemon.ctl("show", "pfcp", "counters")["counters"]
        assert counters["node_reports_failed"] == 0
        scene.settle()
        reports = tshark.fields(scene.smf.capture, *REPORTED,
                                where=f"pfcp.msg_type == {NODE_REPORT_REQUEST}")
        told = [[row[flag] in (["1"], ["True"]) for flag in REPORTED[:2]] for row in reports[:2]]
        assert told == [[True, False], [False, True]]
        for row in reports[:2]:  # tshark has one field for the Node ID and the peer
            assert row["pfcp.node_id_ipv4"] == [topology.N4_UPF, topology.N3_GNB]
