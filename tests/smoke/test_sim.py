"""sluice-sim against a UPF played by scapy: what it says is judged by tshark and by scapy.

The sessions that it makes are compared, IE for IE, with what an Open5GS SMF sends.
"""

import contextlib
import queue
import signal
import subprocess

import pytest
from kit import gtpu, pfcp, rules, topology, tshark
from kit import upf as upf_kit
from kit.daemon import SANITIZERS, binary
from kit.netns import run
from kit.pfcp import ie
from kit.upf import ASSOCIATE, DELETE, ESTABLISH, HEARTBEAT, MODIFY, RELEASE, REPORT, Upf
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import ICMP, IP

GNB2 = "10.10.3.3"
UE, UE6 = "10.45.0.2", "2001:db8:cafe:1::2"
BASE = ["--smf-address", topology.N4_SMF, "--n4", topology.N4_UPF, "--gnb", topology.N3_GNB]
POOLS = ["--ue-pool", topology.UE_POOL, "--ue-pool6", topology.UE_POOL6]


class Sim:
    """A run of sluice-sim in the radio network's namespace."""

    def __init__(self, laid, folder, words, base=None):
        self.laid, self.log_path = laid, folder / "sim.log"
        with open(self.log_path, "wb") as log:
            self.process = laid.ran.start(
                binary("sluice-sim"), *(BASE + POOLS if base is None else base), *words,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        print(self.log())
        assert not [word for word in SANITIZERS if word in self.log()]

    def log(self):
        """All that it said."""
        return self.log_path.read_text()

    def said(self, text, times=1, timeout=10):
        """Wait until it has said so, so many times."""
        def seen():
            assert self.process.poll() is None or self.log().count(text) >= times, self.log()
            return self.log().count(text) >= times

        wait_for(seen, f"{times} x {text!r}", timeout)

    def ended(self, number=None, timeout=20):
        """Its exit status, after a signal if one is given."""
        if number:
            self.process.send_signal(number)
        return self.process.wait(timeout)

    def device_is_there(self):
        """Is the UEs' device there?"""
        return self.laid.ran.run("ip", "link", "show", "ue0", check=False).returncode == 0

    def ping(self, destination, *more):
        """Three pings from the UE; do all come back?"""
        done = self.laid.ran.run("ping", "-n", "-c3", "-i0.05", "-W2", "-Iue0", *more, destination,
                                 check=False)
        return " 3 received" in done.stdout


@pytest.fixture(name="laid")
def laid_network(net):
    """The network, its UPF's N3 addresses with the kernel, and a second gNB."""
    laid = topology.lay(net)
    laid.upf.address("n3", f"{topology.N3_UPF}/24", f"{topology.N3_UPF6}/64")
    laid.ran.address("n3", f"{GNB2}/24")
    return laid


@pytest.fixture(name="upf")
def played_upf(laid, tmp_path):
    """The UPF; at the end tshark looks at all that was said."""
    with Upf(laid.upf, topology.N4_UPF, topology.N3_UPF, tmp_path) as playing:
        yield playing
    tshark.assert_clean(playing.n4_pcap.path, "pfcp", at_least=2)


def route(laid):
    """What goes to the data network goes through the UE's device."""
    laid.ran.inside("route", "replace", topology.N6_NET, "dev", "ue0")
    laid.ran.inside("-6", "route", "replace", "fd00:6::/64", "dev", "ue0")


def without(message, kind):
    """The octets of a message's IEs, but those of one class."""
    return [bytes(part) for part in message.payload.IE_list if not isinstance(part, kind)]


def test_attach_ping_and_leave(laid, upf, tmp_path):
    """The way of a session: established as by Open5GS, used both ways, and gone at the end."""
    with Sim(laid, tmp_path, ["attach"]) as sim:
        sim.said("ready")
        assert f"associated with {topology.N4_UPF}" in sim.log()
        assert f"ue 1: {UE} {UE6} TEID up 0xa0000b1a down 0x100001 attached" in sim.log()
        route(laid)
        assert sim.ping(topology.N6_DN)
        assert sim.ping(topology.N6_DN6, "-6")
        assert upf.heartbeat().message_type == HEARTBEAT + 1
        assert sim.ended(signal.SIGTERM) == 0
        assert not sim.device_is_there()
        assert "up packets 6" in sim.log() and "down packets 6" in sim.log()
    assert not upf.sessions and len(upf.of_type(RELEASE)) == 1
    asked = scapy_pfcp.PFCP(upf.of_type(ESTABLISH)[0])
    same = scapy_pfcp.PFCPSessionEstablishmentRequest(IE_list=rules.open5gs_session(
        topology.N4_SMF, UE, UE6, rate_kbps=(10000000, 10000000)))
    assert without(asked, scapy_pfcp.IE_UserId)[2:] == [
        bytes(part) for part in same.IE_list if not isinstance(part, scapy_pfcp.IE_UserId)]
    opened = scapy_pfcp.PFCP(upf.of_type(MODIFY)[0])
    assert bytes(opened.payload.IE_list[0]) == bytes(rules.gnb_known(topology.N3_GNB, 0x100001))
    for octets in upf.of_type(ESTABLISH) + upf.of_type(MODIFY) + upf.of_type(ASSOCIATE):
        pfcp.assert_understood(scapy_pfcp.PFCP(octets))
    tshark.assert_clean(upf.n3_pcap.path, "gtp", at_least=12)
    up = tshark.fields(upf.n3_pcap.path, "gtp.teid", "gtp.ext_hdr.pdu_ses_con.pdu_type",
                       "gtp.ext_hdr.pdu_ses_con.qos_flow_id", where=f"ip.dst == {topology.N3_UPF}")
    assert up == [{"gtp.teid": ["0xa0000b1a"], "gtp.ext_hdr.pdu_ses_con.pdu_type": ["1"],
                   "gtp.ext_hdr.pdu_ses_con.qos_flow_id": ["1"]}] * 6


def test_ipv6_radio_network(laid, tmp_path):
    """A gNB and a UPF that speak IPv6."""
    base = BASE[:-1] + [topology.N3_GNB6, "--ue-pool", topology.UE_POOL]
    with Upf(laid.upf, topology.N4_UPF, topology.N3_UPF6, tmp_path) as upf:
        with Sim(laid, tmp_path, ["attach"], base) as sim:
            sim.said("ready")
            route(laid)
            assert sim.ping(topology.N6_DN)
            assert sim.ended(signal.SIGINT) == 0
    tshark.assert_clean(upf.n4_pcap.path, "pfcp")
    tshark.assert_clean(upf.n3_pcap.path, "gtp", at_least=6)


def downlink_data():
    """What a UPF reports when data came for an idle UE."""
    return [scapy_pfcp.IE_ReportType(DLDR=1),
            scapy_pfcp.IE_DownlinkDataReport(IE_list=[scapy_pfcp.IE_PDR_Id(id=1)])]


def test_idle_and_paging(laid, upf, tmp_path):
    """An idle UE has no tunnel; a report wakes it; so does something to send."""
    with Sim(laid, tmp_path, ["attach", "idle"]) as sim:
        sim.said("ready")
        closed = scapy_pfcp.PFCP(upf.of_type(MODIFY)[1])
        assert bytes(closed.payload.IE_list[0]) == bytes(rules.idle())
        session = upf.session()
        assert session.gnb is None
        assert pfcp.cause(upf.report(session, *downlink_data())) == pfcp.ACCEPTED
        sim.said("ue 1: awake: gNB 1, TEID down 0x200001")
        assert "ue 1: data waits at the UPF (PDR 1): paging" in sim.log()
        assert session.gnb == (topology.N3_GNB, 0x200001)
        lost = [scapy_pfcp.IE_ReportType(ERIR=1)]
        assert pfcp.cause(upf.report(session, *lost)) == pfcp.ACCEPTED
        sim.said("ue 1: idle", times=2)
        route(laid)
        assert not session.gnb
        sim.ping(topology.N6_DN)
        sim.said("ue 1: awake: gNB 1, TEID down 0x300001")
        assert sim.ping(topology.N6_DN)
        assert sim.ended(signal.SIGTERM) == 0
    assert len(tshark.fields(upf.n4_pcap.path, "pfcp.seqno", where=f"pfcp.msg_type == {REPORT}")) == 2


def test_report_for_nobody(laid, upf, tmp_path):
    """A session that the SMF does not have is not found."""
    with Sim(laid, tmp_path, ["attach"]) as sim:
        sim.said("ready")
        session = upf.session()
        other = upf_kit.Session(session.seid + 1, 1, 1)
        assert pfcp.cause(upf.report(other, *downlink_data())) == upf_kit.NO_SESSION
        assert sim.ended(signal.SIGTERM) == 0


def test_handover(laid, upf, tmp_path):
    """The path is switched to the other gNB; the old tunnel is heard until its end marker."""
    with Sim(laid, tmp_path, ["--gnb", GNB2, "attach", "handover"], BASE + POOLS) as sim:
        sim.said("ready")
        sim.said("ue 1: end marker in TEID 0x100001")
        session = upf.session()
        assert session.gnb == (GNB2, 0x200001)
        switched = scapy_pfcp.PFCP(upf.of_type(MODIFY)[1])
        parameters = ie(ie(switched, scapy_pfcp.IE_UpdateFAR),
                        scapy_pfcp.IE_UpdateForwardingParameters)
        assert ie(parameters, scapy_pfcp.IE_PFCPSMReqFlags).SNDEM == 1
        route(laid)
        assert sim.ping(topology.N6_DN)
        assert sim.ended(signal.SIGTERM) == 0
    up = tshark.fields(upf.n3_pcap.path, "gtp.teid",
                       where=f"ip.src == {GNB2} and ip.dst == {topology.N3_UPF}")
    assert len(up) == 3


def test_path_messages_of_a_gnb(laid, upf, tmp_path):
    """Echo is answered; a packet for nobody gets an Error Indication; nonsense is counted."""
    ping = IP(src=topology.N6_DN, dst="10.45.0.3") / ICMP()
    with Sim(laid, tmp_path, ["--ues", "2", "attach"]) as sim:
        sim.said("ready")
        upf.send_n3(topology.N3_GNB, gtpu.encode(gtpu.ECHO_REQUEST, 0, sequence=7))
        _, answer = upf.gtpu.get(timeout=3)
        assert (answer.kind, answer.sequence, answer.payload) == (
            gtpu.ECHO_RESPONSE, 7, gtpu.IE_RECOVERY)
        upf.send_n3(topology.N3_GNB, gtpu.gpdu(0xDEAD, ping, 1, gtpu.DOWNLINK))
        _, answer = upf.gtpu.get(timeout=3)
        assert answer.kind == gtpu.ERROR_INDICATION and b"\x00\x00\xde\xad" in answer.payload
        upf.send_n3(topology.N3_GNB, gtpu.gpdu(0x100001, ping, 1, gtpu.DOWNLINK))
        upf.send_n3(topology.N3_GNB, gtpu.gpdu(0x100001, b"\x30nothing", 1, gtpu.DOWNLINK))
        upf.send_n3(topology.N3_GNB, b"\x30\xff\x00\x09\x00\x10\x00\x01short")
        upf.send_n3(topology.N3_GNB, gtpu.encode(gtpu.ECHO_REQUEST, 0, sequence=8))
        assert upf.gtpu.get(timeout=3)[1].sequence == 8
        sim.process.send_signal(signal.SIGUSR1)
        sim.said("counted:")
        for text in ("malformed GTP-U 1", "down, unknown TEID 1", "down, in another UE's tunnel 1",
                     "down, not taken by the device 1", "echo requests 2"):
            assert text in sim.log()
        assert sim.ended(signal.SIGTERM) == 0


@pytest.mark.parametrize("kind", [ASSOCIATE, ESTABLISH, MODIFY, DELETE])
def test_request_is_sent_again(laid, upf, tmp_path, kind):
    """What gets no answer comes again, octet for octet."""
    upf.deaf = {kind: 1}
    with Sim(laid, tmp_path, ["--t1", "300", "--exit", "attach", "detach"]) as sim:
        assert sim.ended() == 0
        assert "PFCP retransmissions 1" in sim.log()
    first, second = upf.of_type(kind)
    assert first == second


def test_upf_that_is_not_there(laid, upf, tmp_path):
    """Three sends, then it is told, and nothing is left."""
    upf.close_n4()
    with Sim(laid, tmp_path, ["--t1", "100", "attach"]) as sim:
        assert sim.ended() == 1
        assert f"no association with {topology.N4_UPF}:8805: no answer" in sim.log()
    assert len(upf.of_type(ASSOCIATE)) == 3


def test_upf_that_restarts(laid, upf, tmp_path):
    """Another recovery time stamp: its sessions are gone."""
    with Sim(laid, tmp_path, ["attach"]) as sim:
        sim.said("ready")
        upf.recovery += 1
        upf.heartbeat()
        assert sim.ended() == 1
        assert "the UPF has restarted" in sim.log()


def refusal(*more):
    """A Cause and what comes with it."""
    return [scapy_pfcp.IE_Cause(cause=73), *more]


@pytest.mark.parametrize("kind, more, told, sessions", [
    (ESTABLISH, [scapy_pfcp.IE_OffendingIE(type=1), scapy_pfcp.IE_FailedRuleId(type=0, pdr_id=2)],
     "ue 1: attach failed: Rule creation/modification Failure (cause 73), offending IE Create PDR, "
     "rule PDR 2", 0),
    (MODIFY, [], "ue 1: attach failed: Rule creation/modification Failure (cause 73)", 0),
    (DELETE, [], "ue 1: detach failed: Rule creation/modification Failure (cause 73)", 1),
    (ASSOCIATE, [], f"no association with {topology.N4_UPF}:8805: Rule creation/", 0),
    (RELEASE, [], "the association was not released: Rule creation/", 0),
])
def test_refusals_are_told(laid, upf, tmp_path, kind, more, told, sessions):
    """In words; the exit status says that something failed; what can be cleared up is."""
    upf.refusals = {kind: refusal(*more)}
    with Sim(laid, tmp_path, ["--exit", "attach"]) as sim:
        assert sim.ended() == 1
        assert told in sim.log()
    assert len(upf.sessions) == sessions


def test_many_ues_by_a_file(laid, upf, tmp_path):
    """A scenario with a loop; each UE has a session and an address of its own."""
    path = tmp_path / "scenario.yaml"
    path.write_text(f"""
smf-address: {topology.N4_SMF}
n4: {topology.N4_UPF}
gnb: [{topology.N3_GNB}, {GNB2}]
ue-pool: {topology.UE_POOL}
ues: 25
window: 4
ambr-up: 1.5M
steps: [attach, wait 0.01, idle, wake, detach, {{loop: 2}}, attach]
""")
    with Sim(laid, tmp_path, ["--scenario", str(path)], []) as sim:
        sim.said("ready", timeout=30)
        assert sim.log().count("attach: 25 of 25 UEs") == 3
        assert "ue 1:" not in sim.log()
        assert len(upf.sessions) == 25
        assert len({session.gnb for session in upf.sessions.values()}) == 25
        addresses = laid.ran.run("ip", "-4", "-o", "address", "show", "dev", "ue0").stdout
        there = [f"10.45.0.{i}/32" in addresses for i in range(1, 28)]
        assert there == [False] + [True] * 25 + [False]
        route(laid)
        assert sim.ping(topology.N6_DN, "-I10.45.0.26")
        assert sim.ended(signal.SIGTERM) == 0
    assert not upf.sessions
    rate = ie(ie(scapy_pfcp.PFCP(upf.of_type(ESTABLISH)[0]), scapy_pfcp.IE_CreateQER),
              scapy_pfcp.IE_MBR)
    assert (rate.ul, rate.dl) == (1500, 10000000)


def test_ended_in_the_middle(laid, upf, tmp_path):
    """What has begun is finished, then all is taken back."""
    with Sim(laid, tmp_path, ["--ues", "200", "--window", "4", "attach"]) as sim:
        wait_for(lambda: len(upf.sessions) > 5, "some sessions")
        assert sim.ended(signal.SIGTERM) == 0
    assert not upf.sessions
    assert len(set(upf.of_type(ESTABLISH))) < 200


ALL = BASE + POOLS


@pytest.mark.parametrize("words, told", [
    (["--gmb", "10.0.0.1"], "did you mean --gnb?"),
    (ALL + ["atach"], 'unknown step "atach"; did you mean "attach"?'),
    (ALL + ["wait", "long"], '"wait" takes a number (SECONDS)'),
    (ALL + ["loop", "0"], '"loop" takes a number (N)'),
    (ALL + ["handover"], "a handover needs a second gnb"),
    (ALL + ["--ues", "70000", "attach"], "ue-pool has room for 65533 UEs, not for 70000"),
    (ALL + ["--ues", "0"], "is not a number from 1 to"),
    (ALL + ["--qfi", "64"], "is not a number from 1 to 63"),
    (ALL + ["--ambr-up", "1X"], "is not a rate such as 50M"),
    (ALL + ["--ambr-up", "0.5k"], "is not between 1k and 1000G"),
    (ALL + ["--dnn", "a..b"], "is not a domain name"),
    (ALL + ["--n4"], "--n4: needs a value"),
    (ALL + ["--n4", "fd00::1"], "smf-address and n4 are of different families"),
    (ALL + ["--gnb", "fd00::1"], "gnbs are of different families"),
    (BASE, "UEs need an address"),
    (BASE[2:] + POOLS, "smf-address is missing"),
    (ALL + ["--ue-pool", "10.45.0.1/16"], "has bits beyond its length"),
    (ALL + ["--scenario", "/nowhere.yaml"], "/nowhere.yaml: No such file"),
])
def test_wrong_words_are_told(words, told):
    """Before anything is done; with the nearest word where there is one."""
    done = run(binary("sluice-sim"), *words, check=False)
    assert done.returncode == 2 and told in done.stderr, done.stderr


@pytest.mark.parametrize("text, told", [
    ("use: 3", ":1:1: use: unknown key; did you mean \"ues\"?"),
    ("ues: 1\nstebs: []", ":2:1: stebs: unknown key; did you mean \"steps\"?"),
    ("ues: many", ":1:6: ues: \"many\" is not a number"),
    ("ues: [1]", ":1:6: ues: expected a single value"),
    ("steps: [atach]", ":1:9: steps: unknown step \"atach\"; did you mean"),
    ("steps: [wait]", ":1:9: steps: \"wait\" takes a number"),
    ("steps: [{wait: 1, loop: 2}]", ":1:9: steps: expected one step"),
    ("steps: [attach 3]", ":1:9: steps: this step takes no number"),
    ("scenario: other.yaml", ":1:1: scenario: a scenario cannot name another"),
    ("- attach", ":1:1: expected keys with values"),
    ("a: [", "not YAML"),
])
def test_wrong_files_are_told(tmp_path, text, told):
    """With file, line, column and key."""
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    done = run(binary("sluice-sim"), "--scenario", str(path), *ALL, check=False)
    assert done.returncode == 2 and f"{path}" in done.stderr and told in done.stderr, done.stderr


def test_help_names_every_option():
    """On stdout, with status 0."""
    done = run(binary("sluice-sim"), "--help")
    for word in ("--smf-address", "--ue-pool6", "--scenario", "handover", "loop N"):
        assert word in done.stdout


def test_device_that_is_taken(laid, upf, tmp_path):
    """Two cannot have the same device: the second says so."""
    with Sim(laid, tmp_path, ["attach"]) as sim:
        sim.said("ready")
        other = laid.ran.run(binary("sluice-sim"), "--smf-address", topology.N3_GNB, "--n4",
                             topology.N3_UPF, "--gnb", GNB2, *POOLS, "attach", check=False)
        assert other.returncode == 1
        assert "cannot make the TUN device ue0: Device or resource busy" in other.stderr
        with pytest.raises(queue.Empty):
            upf.gtpu.get_nowait()
        assert sim.ended(signal.SIGTERM) == 0
