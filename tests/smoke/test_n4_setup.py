"""What the daemon itself begins on N4: setting associations up, asking for their release, its restarts.

And on a host with several addresses: an answer leaves from the one that was asked.
"""

import signal
import socket

import pytest
from kit import pfcp, rules, topology
from kit.daemon import Daemon
from kit.pfcp import ACCEPTED, cause, ie
from kit.scene import Scene
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp

SETUP, UPDATE = 5, 7
REJECTED, NO_RESOURCES = 64, 75
SECOND_UPF, SECOND_SMF = "10.10.4.9", "10.10.4.8"

pytestmark = pytest.mark.parametrize("workers", [1], ids=["1w"])


def own_daemon(network, tmp_path, mode, **n4):
    """A daemon whose N4 is in a hurry."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket)
        made["n4"] |= {"t1_ms": 200, "n1": 3} | n4
        return made

    return Daemon(network.upf, tmp_path, configuration)


def counter(daemon, name):
    """One of the daemon's counters of N4."""
    return daemon.ctl("show", "pfcp", "counters")["counters"].get(name, 0)


@pytest.mark.parametrize("family", ["v4", "v6"])
def test_setup_by_us(network, mode, tmp_path, family):
    """Nobody is there, then a refusal, then it is accepted; sessions forward; it is kept up."""
    smf_address = topology.N4_SMF if family == "v4" else topology.N4_SMF6
    upf = topology.N4_UPF if family == "v4" else topology.N4_UPF6
    with (own_daemon(network, tmp_path, mode, smfs=[smf_address], setup_retry_ms=1000,
                     other_addresses=[topology.N4_UPF6]) as daemon,
          Scene(network, daemon, tmp_path) as scene):
        def call():
            return daemon.ctl("show", "associations")["smfs"][0]

        smf = scene.smf
        if family == "v6":
            wait_for(lambda: call()["failures"] >= 1, "no answer", timeout=5)
            smf = pfcp.Smf(network.ran, smf_address, upf, scene.smf)
        with smf if family == "v6" else open("/dev/null", "rb"):
            asked = smf.asked(SETUP, timeout=5)
            assert ie(asked, scapy_pfcp.IE_NodeId).ipv4 == topology.N4_UPF
            assert ie(asked, scapy_pfcp.IE_UPFunctionFeatures).FTUP
            stamp = ie(asked, scapy_pfcp.IE_RecoveryTimeStamp).timestamp
            assert ie(smf.heartbeat(), scapy_pfcp.IE_RecoveryTimeStamp).timestamp == stamp
            smf.answer_setup(asked, NO_RESOURCES)
            wait_for(lambda: call()["cause"] == "No resources available", "the refusal")
            smf.answer_setup(smf.asked(SETUP, timeout=5))
            wait_for(lambda: call()["state"] == "associated", "the association")
            row = daemon.ctl("show", "associations")["associations"][0]
            assert (row["node_id"], row["state"], row["set_up_by"]) == (smf_address, "up", "upf")
            assert (row["address"], row["local"]) == (
                f"[{smf_address}]:8805" if family == "v6" else f"{smf_address}:8805", upf)
            if family == "v4":
                scene.assert_forwards(scene.attach())
            released = smf.request(scapy_pfcp.PFCPAssociationReleaseRequest(
                IE_list=[rules.node_id(smf_address)]))
            assert cause(released) == ACCEPTED
            smf.sessions.clear()
            smf.answer_setup(smf.asked(SETUP, timeout=5))  # and is asked again
            wait_for(lambda: call()["state"] == "associated", "the association")
            assert counter(daemon, "setups_failed") >= 1


def test_setup_crossing(network, mode, tmp_path):
    """Both sides at the same moment: one association, and nothing more is asked."""
    with (own_daemon(network, tmp_path, mode, smfs=[topology.N4_SMF], setup_retry_ms=1000) as daemon,
          Scene(network, daemon, tmp_path) as scene):
        asked = scene.smf.asked(SETUP, timeout=5)
        scene.smf.associate()
        scene.smf.answer_setup(asked)
        ue = scene.attach()
        shown = daemon.ctl("show", "associations")
        assert len(shown["associations"]) == 1
        assert shown["associations"][0]["sessions"] == 1
        assert shown["smfs"][0]["state"] == "associated"
        while scene.smf.asked(SETUP, timeout=0.01):  # sent before
            pass
        assert scene.smf.asked(SETUP, timeout=1.5) is None
        scene.assert_forwards(ue)


def release_period(request):
    """Seconds of a Graceful Release Period of up to a minute."""
    period = ie(request, scapy_pfcp.IE_GracefulReleasePeriod)
    assert period.release_timer_unit == 0
    return 2 * period.release_timer_value


def test_asked_to_leave(network, mode, tmp_path):
    """SIGTERM with release_s: the SMF is asked, traffic goes on, new sessions are refused; then the end."""
    daemon = own_daemon(network, tmp_path, mode, release_s=20)
    with Scene(network, daemon, tmp_path) as scene:
        daemon.start()
        smf = scene.smf
        ue = scene.attach()
        daemon.process.send_signal(signal.SIGTERM)
        asked = smf.asked(UPDATE)
        assert ie(asked, scapy_pfcp.IE_PFCPAssociationReleaseRequest).SARR == 1
        assert release_period(asked) == 20
        smf.answer(asked, scapy_pfcp.PFCPAssociationUpdateResponse(IE_list=[
            rules.node_id(smf.address), scapy_pfcp.IE_Cause(cause=ACCEPTED)]))
        wait_for(lambda: daemon.ctl("show", "associations")["associations"][0]["state"] == "releasing",
                 "the release")
        scene.assert_forwards(ue)
        body, _ = smf.establishment(*rules.open5gs_session(smf.address, v4="10.45.9.9"))
        assert cause(smf.request(body, seid=0)) == REJECTED
        pfcp.assert_accepted(ue.session.delete())
        daemon.check_accounting()
        released = smf.request(scapy_pfcp.PFCPAssociationReleaseRequest(
            IE_list=[rules.node_id(smf.address)]))
        assert cause(released) == ACCEPTED
        assert daemon.process.wait(5) == 0, daemon.log()
    assert "error" not in daemon.log(lines=None)


@pytest.mark.parametrize("how", ["refused", "silent", "told twice"])
def test_asked_to_leave_in_vain(network, mode, tmp_path, how):
    """An SMF that refuses or does not answer is not waited for; nor is any at a second signal."""
    daemon = own_daemon(network, tmp_path, mode, release_s=60)
    with Scene(network, daemon, tmp_path) as scene:
        daemon.start()
        scene.attach()
        daemon.process.send_signal(signal.SIGTERM)
        asked = scene.smf.asked(UPDATE)
        if how == "told twice":
            daemon.process.send_signal(signal.SIGTERM)
        elif how == "refused":
            scene.smf.answer(asked, scapy_pfcp.PFCPAssociationUpdateResponse(IE_list=[
                rules.node_id(scene.smf.address), scapy_pfcp.IE_Cause(cause=REJECTED)]))
        assert daemon.process.wait(10) == 0, daemon.log()


def test_released_by_the_smf(network, mode, tmp_path):
    """An Association Update Request with a period: sessions go on until it is over."""
    with (own_daemon(network, tmp_path, mode) as daemon,
          Scene(network, daemon, tmp_path) as scene):
        smf = scene.smf
        ue = scene.attach()
        for value in (5, 1):  # the second shortens the first
            answer = smf.request(scapy_pfcp.PFCPAssociationUpdateRequest(IE_list=[
                rules.node_id(smf.address), scapy_pfcp.IE_CPFunctionFeatures(LOAD=1),
                scapy_pfcp.IE_GracefulReleasePeriod(release_timer_value=value)]))
            assert cause(answer) == ACCEPTED
        row = daemon.ctl("show", "associations")["associations"][0]
        assert row["state"] == "releasing" and row["cp_features"] == ["LOAD"]
        assert row["release_ms"] <= 2000
        scene.assert_forwards(ue)
        wait_for(lambda: not daemon.ctl("show", "associations")["associations"], "the end", timeout=5)
        assert scene.sessions() == 0
        assert counter(daemon, "release_expired") == 1
        smf.sessions.clear()
        smf.associate()
        scene.assert_forwards(scene.attach(v4=ue.v4))


@pytest.mark.parametrize("back", [True, False], ids=["back", "gone"])
def test_drop_after(network, mode, tmp_path, back):
    """drop_after: sessions are kept for a time, and end unless the SMF is back by then."""
    with (own_daemon(network, tmp_path, mode, t1_ms=100, heartbeat_ms=1000,
                     on_path_failure="drop_after", path_failure_ms=2000) as daemon,
          Scene(network, daemon, tmp_path) as scene):
        def state():
            rows = daemon.ctl("show", "associations")["associations"]
            return rows[0]["state"] if rows else None

        ue = scene.attach()
        scene.smf.answer_heartbeats = False
        wait_for(lambda: state() == "lost", "path failure", timeout=5)
        scene.assert_forwards(ue)
        scene.smf.answer_heartbeats = back
        wait_for(lambda: state() == ("up" if back else None), "what becomes of it", timeout=5)
        assert counter(daemon, "path_drops") == (not back)
        if not back:
            scene.smf.answer_heartbeats = True
            scene.smf.sessions.clear()
            scene.smf.associate()
            ue = scene.attach(v4=ue.v4)
        scene.assert_forwards(ue, sequence=2)


def test_stamps_differ(network, mode, tmp_path):
    """However fast one start follows the other: each has a later Recovery Time Stamp."""
    daemon = own_daemon(network, tmp_path, mode)
    with Scene(network, daemon, tmp_path) as scene:
        stamp = 0
        for _ in range(4):
            daemon.start()
            later = ie(scene.smf.heartbeat(), scapy_pfcp.IE_RecoveryTimeStamp).timestamp
            assert later > stamp
            stamp = later
            daemon.kill()


@pytest.mark.parametrize("listen", [["0.0.0.0", "::"], [topology.N4_UPF, SECOND_UPF, topology.N4_UPF6]],
                         ids=["wildcard", "listed"])
def test_answers_from_the_address_asked(network, mode, tmp_path, listen):
    """A socket that is connected hears no other address: answers, repetitions, heartbeats of the daemon."""
    network.upf.address("n4", f"{SECOND_UPF}/24")
    network.ran.address("n4", f"{SECOND_SMF}/24")
    with (own_daemon(network, tmp_path, mode, address=listen[0], other_addresses=listen[1:],
                     heartbeat_ms=1000) as daemon,
          Scene(network, daemon, tmp_path) as scene):
        for local, upf in ((SECOND_SMF, SECOND_UPF), (topology.N4_SMF6, topology.N4_UPF6)):
            family = socket.AF_INET6 if ":" in local else socket.AF_INET
            with network.ran.socket(family, socket.SOCK_DGRAM) as smf:
                smf.bind((local, pfcp.PORT))
                smf.connect((upf, pfcp.PORT))
                smf.settimeout(3)
                octets = bytes(scapy_pfcp.PFCP(S=0, seq=1) / scapy_pfcp.PFCPAssociationSetupRequest(
                    IE_list=[rules.node_id(local), scapy_pfcp.IE_RecoveryTimeStamp(timestamp=9)]))
                answers = []
                for _ in range(2):
                    smf.send(octets)
                    answers.append(smf.recv(4096))
                assert answers[0] == answers[1] and answers[0][1] == SETUP + 1
                assert smf.recv(4096)[1] == pfcp.HEARTBEAT_REQUEST
                body = scapy_pfcp.PFCPSessionEstablishmentRequest(IE_list=[
                    rules.node_id(local), rules.f_seid(5, local),
                    rules.pdr(1, 1, [rules.interface(rules.CORE), rules.ue_address("10.45.3.3")], 1),
                    rules.far(1, rules.action(DROP=1))])
                smf.send(bytes(scapy_pfcp.PFCP(S=1, seid=0, seq=2) / body))
                answer = scapy_pfcp.PFCP(smf.recv(4096))
                while answer.message_type == pfcp.HEARTBEAT_REQUEST:
                    answer = scapy_pfcp.PFCP(smf.recv(4096))
                given = ie(pfcp.assert_accepted(answer), scapy_pfcp.IE_FSEID)
                assert upf in (given.ipv4 if given.v4 else None, given.ipv6 if given.v6 else None)
                smf.send(bytes(scapy_pfcp.PFCP(S=0, seq=3) / scapy_pfcp.PFCPAssociationReleaseRequest(
                    IE_list=[rules.node_id(local)])))
                while smf.recv(4096)[1] != 10:
                    pass
        scene.assert_forwards(scene.attach())
