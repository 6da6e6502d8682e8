"""The kit itself, as far as it goes without the daemon: an instrument is checked before use.

Namespaces and veth pairs come and go; GTP-U and PFCP that we make are what tshark and the
captures in tests/golden say they should be.
"""

import os
import signal
import socket
import subprocess
import sys
import threading

import pytest
from kit import gtpu, netns, pcap, pfcp, rules, topology, tshark
from kit.daemon import TOP, Daemon, accounting_faults
from kit.link import Link
from kit.wait import readable, wait_for
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import ICMP, IP, UDP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap

GOLDEN = os.path.join(TOP, "tests/golden/open5gs-ipv4v6.pcap")


# ---- namespaces ----


def test_topology_is_laid_and_removed(net):
    """Both ends see each other by IPv4 and IPv6; the names are gone afterwards."""
    laid = topology.lay(net, queues=2)
    laid.upf.address("n3", f"{topology.N3_UPF}/24", f"{topology.N3_UPF6}/64")
    for address in (topology.N3_UPF, topology.N3_UPF6):
        laid.ran.run("ping", "-c1", "-W2", address)
    queues = laid.upf.run("ls", "/sys/class/net/n3/queues").stdout.split()
    assert queues == ["rx-0", "rx-1", "tx-0", "tx-1"]
    assert "tx-checksumming: off" in laid.dn.run("ethtool", "-k", "n6").stdout
    names = [namespace.name for namespace in net.namespaces]
    assert set(names) <= set(os.listdir(netns.RUN_NETNS))
    net.__exit__()
    assert not set(names) & set(os.listdir(netns.RUN_NETNS))


def test_namespace_goes_with_what_runs_in_it(net):
    """A process left in a namespace is ended with it."""
    namespace = net.namespace("left")
    left = namespace.start("tail", "-f", "/dev/null")
    here = os.stat(os.path.join(netns.RUN_NETNS, namespace.name)).st_ino
    wait_for(lambda: os.stat(f"/proc/{left.pid}/ns/net").st_ino == here, "it has gone there")
    net.__exit__()
    assert left.wait(5) == -signal.SIGKILL


HOLD = """
import sys
from kit.netns import Net, interruptible
interruptible()
with Net() as net:
    print(net.namespace("held").name, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_namespace_goes_with_its_process(number):
    """At once when the process is asked to end; by the next one's sweep when it is killed."""
    with subprocess.Popen([sys.executable, "-B", "-c", HOLD], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          cwd=os.path.dirname(__file__)) as holder:
        name = holder.stdout.readline().strip()
        assert name in os.listdir(netns.RUN_NETNS)
        holder.send_signal(number)
        holder.wait(10)
    assert (name in os.listdir(netns.RUN_NETNS)) == (number == signal.SIGKILL)
    netns.sweep()
    assert name not in os.listdir(netns.RUN_NETNS)


def test_sweep_leaves_the_living_alone(net):
    """Our own namespaces stay."""
    name = net.namespace("mine").name
    netns.sweep()
    assert name in os.listdir(netns.RUN_NETNS)


def test_a_failed_command_says_so(net):
    """The error carries the command and what it printed."""
    with pytest.raises(RuntimeError, match="no-such-device"):
        net.namespace("x").inside("link", "set", "no-such-device", "up")


def test_wait_for_gives_up():
    """It says what it waited for."""
    with pytest.raises(TimeoutError, match="never"):
        wait_for(lambda: False, "never", timeout=0.05)


# ---- GTP-U ----

INNER = {
    "udp": IP(src="10.45.0.2", dst="10.10.6.2") / UDP(sport=1000, dport=2000) / b"up",
    "tcp6": IPv6(src="2001:db8:cafe:1::2", dst="fd00:6::2") / TCP(sport=1, dport=80, flags="S"),
    "icmp": IP(src="10.45.0.2", dst="10.10.6.2") / ICMP() / b"ping",
}


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
@pytest.mark.parametrize("qfi", [None, 1, 63])
def test_gtpu_means_to_tshark_what_it_means_to_us(tmp_path, inner, qfi):
    """TEID, QFI and the inner packet, by tshark and by our own decoder."""
    octets = gtpu.gpdu(0xA0000001, inner, qfi)
    capture = pcap.Pcap(tmp_path / "gtpu.pcap")
    capture.udp((topology.N3_GNB, 2152), (topology.N3_UPF, 2152), octets)
    capture.udp((topology.N3_GNB6, 2152), (topology.N3_UPF6, 2152), octets)
    capture.close()
    tshark.assert_clean(capture.path, "gtp", at_least=2, severity=tshark.WARNING)
    wanted = {"gtp.teid": ["0xa0000001"], "gtp.ext_hdr.pdu_ses_con.qos_flow_id":
              [] if qfi is None else [str(qfi)]}
    assert tshark.fields(capture.path, *wanted) == [wanted, wanted]
    message = gtpu.decode(octets)
    assert (message.kind, message.teid, message.qfi) == (gtpu.GPDU, 0xA0000001, qfi)
    assert message.payload == bytes(inner)


def test_gtpu_between_two_ends(net, tmp_path):
    """A gNB at either end of a veth pair; the frames, sniffed, are clean."""
    one, other = net.namespace("one"), net.namespace("other")
    net.veth((one, "a"), (other, "b"))
    one.address("a", "10.0.0.1/24")
    other.address("b", "10.0.0.2/24")
    with (Link(other, "b", tmp_path / "frames.pcap") as link,
          gtpu.Gnb(one, "10.0.0.1", tmp_path / "one.pcap") as here,
          gtpu.Gnb(other, "10.0.0.2") as there):
        here.uplink("10.0.0.2", 5, INNER["udp"], qfi=9)
        sender, message = there.receive(gtpu.GPDU)
        assert (sender, message.teid, message.qfi) == (("10.0.0.1", 2152), 5, 9)
        there.send("10.0.0.1", gtpu.encode(gtpu.ECHO_RESPONSE, 0, gtpu.IE_RECOVERY, sequence=7))
        assert here.echo("10.0.0.2", sequence=7).sequence == 7
        frame = link.receive(lambda octets: octets[12:14] == b"\x08\x00")
        assert Ether(frame)[UDP].dport == 2152
    tshark.assert_clean(tmp_path / "one.pcap", "gtp", at_least=3, severity=tshark.WARNING)
    assert tshark.count(tmp_path / "frames.pcap", "gtp && udp.checksum.status != 0") >= 1


@pytest.mark.parametrize("octets", [
    "", "30ff0000", "30ff000100000001", "50ff000000000001", "34ff000400000001000000ff",
    "34ff00080000000100000085000000ff", "34ff0008000000010000008502000000",
])
def test_gtpu_that_lies_is_told(octets):
    """Our decoder of what the UPF sends is strict."""
    with pytest.raises(ValueError):
        gtpu.decode(bytes.fromhex(octets))


def test_tshark_finds_fault(tmp_path):
    """The judge does judge: a cut extension header is not clean."""
    capture = pcap.Pcap(tmp_path / "bad.pcap")
    capture.udp(("10.0.0.1", 2152), ("10.0.0.2", 2152), bytes.fromhex("34ff000400000001000000850a"))
    with pytest.raises(AssertionError, match="finds fault"):
        tshark.assert_clean(capture.path, "gtp")


# ---- PFCP ----


def golden(kind):
    """The first message of a kind in the Open5GS capture."""
    return next(frame[scapy_pfcp.PFCP] for frame in rdpcap(GOLDEN) if frame.haslayer(kind))


def test_establishment_is_what_open5gs_sends(net, tmp_path):
    """Octet for octet, but for sequence number and SEID, which we choose."""
    wanted = golden(scapy_pfcp.PFCPSessionEstablishmentRequest)
    created = rules.open5gs_session("127.0.0.4", "10.45.0.2", "2001:db8:cafe:1::2")
    with pfcp.Smf(net.namespace("smf"), "127.0.0.4", "127.0.0.7", tmp_path / "n4.pcap") as smf:
        body, seid = smf.establishment(*created)
        octets, _ = smf.message(body, 0, wanted.seq)
    assert seid == 0x5D6
    assert octets.hex() == bytes(wanted).hex()


def test_modification_is_what_open5gs_sends():
    """The Update FAR that opens the way down."""
    wanted = golden(scapy_pfcp.PFCPSessionModificationRequest)
    assert bytes(rules.gnb_known("127.0.0.50", 0x0A000001)) == bytes(wanted.payload.IE_list[0])


class FakeUpf(threading.Thread):
    """Answers each request with the golden answer of its kind, then asks a heartbeat."""

    def __init__(self, namespace):
        super().__init__(daemon=True)
        self.socket = namespace.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.7", pfcp.PORT))
        self.heartbeats = []

    def run(self):
        """Until nothing comes for a while."""
        answers = {5: scapy_pfcp.PFCPAssociationSetupResponse,
                   50: scapy_pfcp.PFCPSessionEstablishmentResponse,
                   54: scapy_pfcp.PFCPSessionDeletionResponse}
        while readable([self.socket], 2):
            octets, sender = self.socket.recvfrom(65536)
            request = scapy_pfcp.PFCP(octets)
            if request.message_type == 2:
                self.heartbeats.append(request)
                continue
            answer = golden(answers[request.message_type])
            answer.seq = request.seq
            self.socket.sendto(bytes(answer), sender)
            heartbeat = golden(scapy_pfcp.PFCPHeartbeatRequest)
            self.socket.sendto(bytes(heartbeat), sender)


def test_smf_speaks(net, tmp_path):
    """Association, session, TEIDs, heartbeats answered; tshark finds no fault in any of it."""
    both = net.namespace("both")
    upf = FakeUpf(both)
    upf.start()
    with pfcp.Smf(both, "127.0.0.4", "127.0.0.7", tmp_path / "n4.pcap") as smf:
        smf.associate()
        session = smf.establish(*rules.open5gs_session("127.0.0.4", "10.45.0.2"))
        assert (session.seid, session.up_seid) == (0x5D6, 0xB1A)
        assert session.tunnels[2] == (0xF385, "127.0.0.7", None)
        pfcp.assert_accepted(session.delete())
        with pytest.raises(TimeoutError):
            smf.answer_heartbeats = False
            smf.request(scapy_pfcp.PFCPHeartbeatResponse(), timeout=0.1)
        wait_for(lambda: len(upf.heartbeats) >= 3, "answered heartbeats")
    tshark.assert_clean(smf.capture, "pfcp", at_least=9)
    upf.join()
    upf.socket.close()


# ---- the daemon, played by a script ----

FAKE_DAEMON = """#!/bin/sh
[ "$1" = --config ] || exit 2
grep -q "^mode: af_xdp" "$2" || { echo "no mode" >&2; exit 3; }
{after}
"""
READY = ("exec /usr/bin/python3 -c 'import os, signal, socket\n"
         "signal.signal(signal.SIGTERM, lambda *_: os._exit(0))\n"
         "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b\"READY=1\", "
         "os.environ[\"NOTIFY_SOCKET\"])\n"
         "signal.pause()'")


def fake_build(tmp_path, monkeypatch, after, counters='{"workers": [], "control": {}}'):
    """A build folder whose programs are scripts."""
    (tmp_path / "src/app").mkdir(parents=True)
    (tmp_path / "tools/sluicectl").mkdir(parents=True)
    for path, text in (("src/app/sluiced", FAKE_DAEMON.replace("{after}", after)),
                       ("tools/sluicectl/sluicectl", f"#!/bin/sh\necho '{counters}'\n")):
        (tmp_path / path).write_text(text)
        (tmp_path / path).chmod(0o755)
    monkeypatch.setenv("SLUICE_BUILD", str(tmp_path))
    return lambda control_socket: topology.configuration("af_xdp", control_socket)


BALANCED = ('{"workers": [{"worker": 0, "counters": {"rx": 3, "tx": 1, "punted": 1}, '
            '"drops": {"unknown_teid": 1}}], '
            '"control": {"counters": {"made": 2, "injected": 2, "held": 1}, "drops": {}}}')


def test_daemon_starts_and_stops(net, tmp_path, monkeypatch):
    """Ready by sd_notify, accounts balanced, ended by SIGTERM."""
    configuration = fake_build(tmp_path, monkeypatch, READY, BALANCED)
    with Daemon(net.namespace("upf"), tmp_path, configuration) as daemon:
        assert daemon.alive()
    assert not daemon.alive()


def test_daemon_that_does_not_account_is_told(net, tmp_path, monkeypatch):
    """A lost packet fails the test at its end."""
    lost = BALANCED.replace('"tx": 1', '"tx": 0')
    configuration = fake_build(tmp_path, monkeypatch, READY, lost)
    with Daemon(net.namespace("upf"), tmp_path, configuration) as daemon:
        with pytest.raises(AssertionError, match="worker 0: in 3, out 2"):
            daemon.check_accounting(timeout=0.1)
        daemon.kill()


@pytest.mark.parametrize("after, told", [
    ("echo boom >&2; exit 7", "ended with 7:\nboom"), ("kill -9 $$", "ended with -9"),
])
def test_daemon_that_does_not_start_is_told(net, tmp_path, monkeypatch, after, told):
    """At once, with its exit status and its log."""
    configuration = fake_build(tmp_path, monkeypatch, after)
    with pytest.raises(RuntimeError, match=told):
        Daemon(net.namespace("upf"), tmp_path, configuration).start()


def test_accounts_of_nobody_are_a_fault():
    """An empty answer is not a balanced one."""
    assert accounting_faults({"workers": [], "control": {"counters": {}, "drops": {}}})
