"""Many sessions at once and several SMFs for one: FQ-CSIDs, SMF sets, load control; scapy speaks, tshark reads.

What scapy has no class for is written out in octets.
"""

import socket
import struct

import pytest
from kit import pfcp, rules, topology, tshark
from kit.daemon import Daemon
from kit.scene import Scene
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp
from scapy.packet import Raw

OTHER_SMF, STRANGER = "10.10.4.3", "10.10.4.9"
ALTERNATIVE_SMF, SMF_SET_ID, CP_FEATURES, FQ_CSID = 178, 180, 89, 65
LOAD_OVRL_SSET = 0x0B
NO_SESSION, CONGESTION = 65, 74
PLACES = pytest.mark.parametrize("mode, workers", [("af_xdp", 1), ("af_packet", 2)])


def raw_ie(kind, value):
    """An IE written out."""
    return struct.pack("!HH", kind, len(value)) + value


def csid(number):
    """An FQ-CSID of the SMF: one set."""
    return raw_ie(FQ_CSID, b"\x01" + socket.inet_aton(topology.N4_SMF) + struct.pack("!HB", number, 2))


def associate(smf):
    """An SMF of a set, which wants to know about load and overload."""
    alternative = raw_ie(ALTERNATIVE_SMF, b"\x02" + socket.inet_aton(OTHER_SMF))
    set_id = raw_ie(SMF_SET_ID, b"\0\4set1\6smfset")
    body = scapy_pfcp.PFCPAssociationSetupRequest(IE_list=[
        rules.node_id(smf.address), scapy_pfcp.IE_RecoveryTimeStamp(timestamp=smf.recovery)])
    pfcp.assert_accepted(smf.request(
        body / Raw(raw_ie(CP_FEATURES, bytes([LOAD_OVRL_SSET])) + alternative + set_id)))
    smf.associated = True


def establish(scene, number):
    """A session of the set with this number: its UP SEID, and the answer."""
    ends = scene.addresses("v4")
    body, _ = scene.smf.establishment(*rules.open5gs_session(topology.N4_SMF, **ends))
    answer = scene.smf.request(body / Raw(csid(number)), seid=0)
    return pfcp.cause(answer) == pfcp.ACCEPTED and pfcp.ie(answer, scapy_pfcp.IE_FSEID).seid, answer


def seids(scene):
    """The sessions that the daemon has."""
    return {int(row["seid"], 16) for row in scene.daemon.ctl("show", "sessions")["sessions"]}


@PLACES
def test_session_set_ends(network, mode, workers, tmp_path, daemon_of):
    """Its sessions go, all others stay and forward."""
    with daemon_of(network, tmp_path, mode, workers) as daemon, Scene(network, daemon, tmp_path) as scene:
        associate(scene.smf)
        ue = scene.attach()
        first, second = ({establish(scene, number)[0] for _ in range(3)} for number in (1, 2))
        request = scapy_pfcp.PFCPSessionSetDeletionRequest(IE_list=[rules.node_id(topology.N4_SMF)])
        pfcp.assert_accepted(scene.smf.request(request / Raw(csid(1))))
        assert seids(scene) == second | {ue.session.up_seid}
        assert pfcp.cause(scene.smf.request(scapy_pfcp.PFCPSessionDeletionRequest(),
                                            next(iter(first)))) == NO_SESSION
        scene.assert_forwards(ue)
        for seid in second:
            pfcp.assert_accepted(scene.smf.request(scapy_pfcp.PFCPSessionDeletionRequest(), seid))
        scene.settle()
        own = tshark.fields(scene.smf.capture, "pfcp.q_csid_node_id.ipv4",
                            where=f"pfcp.msg_type == 51 and ip.src == {topology.N4_UPF} "
                                  "and pfcp.fq_csid_node_id_type")
        assert [row["pfcp.q_csid_node_id.ipv4"] for row in own] == [[topology.N4_UPF]] * 6


@PLACES
def test_another_smf_of_the_set(network, mode, workers, tmp_path, daemon_of):
    """It may change a session and take it over; an SMF of no set is told that there is none."""
    network.ran.address("n4", f"{OTHER_SMF}/24", f"{STRANGER}/24")
    with (daemon_of(network, tmp_path, mode, workers) as daemon,
          Scene(network, daemon, tmp_path) as scene,
          pfcp.Smf(network.ran, OTHER_SMF, topology.N4_UPF, scene.smf) as other,
          pfcp.Smf(network.ran, STRANGER, topology.N4_UPF, scene.smf) as stranger):
        associate(scene.smf)
        ue = scene.attach()
        change = rules.gnb_known(topology.N3_GNB, ue.down_teid)
        stranger.associate()
        for request in (scapy_pfcp.PFCPSessionModificationRequest(IE_list=[change]),
                        scapy_pfcp.PFCPSessionDeletionRequest()):
            assert pfcp.cause(stranger.request(request, ue.session.up_seid)) == NO_SESSION
        scene.assert_forwards(ue)
        answer = other.request(scapy_pfcp.PFCPSessionModificationRequest(
            IE_list=[rules.f_seid(0x77, OTHER_SMF), change]), ue.session.up_seid)
        pfcp.assert_accepted(answer)
        assert answer.seid == 0x77
        shown = daemon.ctl("show", "session", hex(ue.session.up_seid))
        assert shown["cp_address"] == OTHER_SMF and int(shown["cp_seid"], 16) == 0x77
        scene.assert_forwards(ue, sequence=2)
        scene.settle()


@PLACES
def test_load_and_overload(network, mode, workers, tmp_path, daemon_of):
    """Answers tell the share of sessions in use; beyond the limit a part of new ones is refused."""
    with (daemon_of(network, tmp_path, mode, workers, overload_percent=50) as daemon,
          Scene(network, daemon, tmp_path) as scene):
        associate(scene.smf)

        for _ in range(40):  # of 64
            assert establish(scene, 1)[0]

        def refused_one():
            seid, answer = establish(scene, 1)
            if seid:
                pfcp.assert_accepted(scene.smf.request(
                    scapy_pfcp.PFCPSessionDeletionRequest(), seid))
            return pfcp.cause(answer) == CONGESTION

        wait_for(refused_one, "overload")
        for seid in seids(scene):
            pfcp.assert_accepted(scene.smf.request(scapy_pfcp.PFCPSessionDeletionRequest(), seid))
        scene.settle()
        refused = tshark.fields(scene.smf.capture, "pfcp.metric", "pfcp.oci_flags.aoci",
                                where=f"pfcp.cause == {CONGESTION} and pfcp.msg_type == 51")
        assert refused
        for row in refused:
            load, reduction = (int(value) for value in row["pfcp.metric"])
            assert 50 <= load <= 100 and 0 < reduction <= 100
            assert row["pfcp.oci_flags.aoci"] in (["1"], ["True"])


@pytest.fixture
def daemon_of():
    """Makes a daemon of 64 sessions."""
    def make(network, tmp_path, mode, workers, **n4):
        def configuration(control_socket):
            made = topology.configuration(mode, control_socket, workers)
            made["n4"] |= n4
            made["sessions"] |= {"max": 64}
            return made

        return Daemon(network.upf, tmp_path, configuration)

    return make
