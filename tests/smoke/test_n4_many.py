"""10,000 sessions established, modified and deleted as fast as the daemon takes them.

The requests are scapy's octets with other numbers written into them, so that sending costs little.
A window of them is under way; one without an answer is sent again after T1, as an SMF would do.
Every answer is judged; another SMF's heartbeats are answered in time throughout; the last user's
packets go up and down; afterwards nothing is left.
"""

import contextlib
import itertools
import socket
import struct
import threading
import time

import pytest
from kit import pfcp, rules, topology
from kit.daemon import Daemon, held, resident_kb
from kit.scene import Scene, Ue
from kit.wait import readable
from scapy.contrib import pfcp as scapy_pfcp

SESSIONS = 10_000
WINDOW = 128
T1_S, N1 = 1.0, 5
HEARTBEAT_S = 1.0
GROWTH_KB = 4096
PACKED_BYTES = 256  # more than the rules of a session at rest
BUSY_SMF = "10.10.4.7"
ESTABLISH, MODIFY, DELETE = 50, 52, 54
CAUSE, F_SEID, CREATED_PDR, F_TEID = 19, 57, 8, 21
FIRST_HOST = 10 << 8  # of the addresses of users
# What the template says where every request says something else.
ANY_SEID, ANY_TEID, ANY_V4 = 0x7E57AB1E00C0FFEE, 0x7E57BEEF, "10.45.254.254"
ANY_V6 = "2001:db8:cafe:fefe::2"


def members(octets, at=0):
    """{type: value of the first IE of it} of a message's or a group's octets from a place on."""
    found = {}
    while at + 4 <= len(octets):
        kind, size = struct.unpack_from("!HH", octets, at)
        found.setdefault(kind, octets[at + 4:at + 4 + size])
        at += 4 + size
    return found


def with_octets(template, **changes):
    """The template with some octets for others, each found once or more."""
    for old, new in changes.values():
        assert old in template
        template = template.replace(old, new)
    return template


class Busy:
    """An SMF with nothing but a socket and templates."""

    def __init__(self, namespace):
        self.socket = namespace.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((BUSY_SMF, pfcp.PORT))
        self.socket.connect((topology.N4_UPF, pfcp.PORT))
        self.socket.setblocking(False)
        self.sequences = itertools.count(1)
        self.again = 0  # requests that were sent again
        self.sessions = {}  # our SEID: [number, its SEID, its TEID]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    # ---- what is said ----

    def associate(self):
        """Set the association up."""
        body = scapy_pfcp.PFCPAssociationSetupRequest(IE_list=[
            rules.node_id(BUSY_SMF), scapy_pfcp.IE_RecoveryTimeStamp(timestamp=0xEEB90000)])
        [answer] = self.ask({0: bytes(scapy_pfcp.PFCP(S=0, seq=0) / body)}).values()
        assert members(answer, 8)[CAUSE] == b"\1"

    def release(self):
        """End it."""
        body = scapy_pfcp.PFCPAssociationReleaseRequest(IE_list=[rules.node_id(BUSY_SMF)])
        [answer] = self.ask({0: bytes(scapy_pfcp.PFCP(S=0, seq=0) / body)}).values()
        assert members(answer, 8)[CAUSE] == b"\1"

    @staticmethod
    def template(body):
        """The octets of a session request."""
        return bytes(scapy_pfcp.PFCP(S=1, seid=ANY_SEID, seq=0) / body)

    def establish(self, first_seid):
        """All sessions."""
        created = rules.open5gs_session(BUSY_SMF, v4=ANY_V4, v6=ANY_V6)
        whole = self.template(scapy_pfcp.PFCPSessionEstablishmentRequest(
            IE_list=[rules.node_id(BUSY_SMF), rules.f_seid(ANY_SEID, BUSY_SMF), *created]))
        template = whole[:4] + bytes(8) + whole[12:]
        answers = self.ask({first_seid + number: with_octets(
            template, seid=(struct.pack("!Q", ANY_SEID), struct.pack("!Q", first_seid + number)),
            v4=(socket.inet_aton(ANY_V4), v4(number)), v6=(v6_of(ANY_V6), v6(number)))
            for number in range(SESSIONS)})
        for seid, answer in answers.items():
            got = accepted(answer, ESTABLISH + 1, seid)
            teid = members(got[CREATED_PDR])[F_TEID]
            self.sessions[seid] = (seid - first_seid, struct.unpack_from("!Q", got[F_SEID], 1)[0],
                                   struct.unpack_from("!I", teid, 1)[0])
        for column in (1, 2):  # nobody has another's
            assert len({row[column] for row in self.sessions.values()}) == SESSIONS

    def modify(self, down_teids):
        """Open the way down of all."""
        template = self.template(scapy_pfcp.PFCPSessionModificationRequest(
            IE_list=[rules.gnb_known(topology.N3_GNB, ANY_TEID)]))
        answers = self.ask({seid: with_octets(
            template, seid=(struct.pack("!Q", ANY_SEID), struct.pack("!Q", up_seid)),
            teid=(struct.pack("!I", ANY_TEID), struct.pack("!I", down_teids + number)))
            for seid, (number, up_seid, _) in self.sessions.items()})
        for seid, answer in answers.items():
            accepted(answer, MODIFY + 1, seid)

    def delete(self):
        """End all."""
        template = self.template(scapy_pfcp.PFCPSessionDeletionRequest())
        answers = self.ask({seid: with_octets(
            template, seid=(struct.pack("!Q", ANY_SEID), struct.pack("!Q", up_seid)))
            for seid, (_, up_seid, _) in self.sessions.items()})
        for seid, answer in answers.items():
            accepted(answer, DELETE + 1, seid)
        self.sessions.clear()

    # ---- how it is said ----

    def ask(self, requests):
        """Send requests by any name, a window of them at a time; the answers by name."""
        left, under_way, answers = iter(requests.items()), {}, {}
        while len(answers) < len(requests):
            while len(under_way) < WINDOW and (asked := next(left, None)):
                name, octets = asked
                sequence = next(self.sequences)
                at = 12 if octets[0] & 1 else 4
                octets = octets[:at] + struct.pack("!I", sequence << 8) + octets[at + 4:]
                under_way[sequence] = [name, octets, 0, 0.0]
                self._send(under_way[sequence])
            if not readable([self.socket], T1_S / 4):
                self._send_again(under_way)
            with contextlib.suppress(BlockingIOError):
                while under_way:
                    self._take(self.socket.recv(65536), under_way, answers)
        return answers

    def _send(self, request):
        request[2] += 1
        request[3] = time.monotonic()
        assert request[2] <= N1, f"no answer to {request[1].hex()}"
        with contextlib.suppress(BlockingIOError):  # it is sent again
            self.socket.send(request[1])

    def _send_again(self, under_way):
        for request in under_way.values():
            if time.monotonic() - request[3] > T1_S:
                self.again += 1
                self._send(request)

    def _take(self, octets, under_way, answers):
        if octets[1] == pfcp.HEARTBEAT_REQUEST:
            self.socket.send(b"\x20\x02\0\x0c" + octets[4:8] + b"\0\x60\0\4\xee\xb9\0\0")
            return
        at = 12 if octets[0] & 1 else 4
        request = under_way.pop(struct.unpack_from("!I", octets, at)[0] >> 8, None)
        if request:
            answers[request[0]] = octets


def accepted(answer, kind, seid):
    """The IEs of a session answer that accepts, of the type and to the SEID that it should be to."""
    got = members(answer, 16)
    assert (answer[1], got[CAUSE], struct.unpack_from("!Q", answer, 4)[0]) == (kind, b"\1", seid)
    return got


def v4(number):
    """A user's address."""
    return bytes((10, 45)) + struct.pack("!H", FIRST_HOST + number)


def v6_of(text):
    """The octets of an IPv6 address."""
    return socket.inet_pton(socket.AF_INET6, text)


def v6(number):
    """A user's other address."""
    return v6_of(f"2001:db8:cafe:{FIRST_HOST + number:x}::2")


class Pulse(threading.Thread):
    """Another SMF's heartbeats, all the time."""

    def __init__(self, smf):
        super().__init__(daemon=True)
        self.smf, self.stopped, self.fault = smf, threading.Event(), None
        self.beats, self.slowest = 0, 0.0

    def run(self):
        try:
            while not self.stopped.wait(0.05):
                began = time.monotonic()
                self.smf.heartbeat(timeout=HEARTBEAT_S)
                self.beats += 1
                self.slowest = max(self.slowest, time.monotonic() - began)
        except TimeoutError as late:
            self.fault = late

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.join()


def forwards(scene, busy, down_teids):
    """The way of the session that was made last, both ways."""
    number, _, teid = list(busy.sessions.values())[-1]
    ue = Ue(None, down_teids + number, socket.inet_ntoa(v4(number)),
            socket.inet_ntop(socket.AF_INET6, v6(number)), given_teid=teid)
    scene.assert_forwards(ue)


def timed(rates, what, call, *arguments):
    """Call, and keep how many sessions a second it was."""
    began = time.monotonic()
    call(*arguments)
    rates[what] = round(SESSIONS / (time.monotonic() - began))


def one_round(scene, busy, first_seid):
    """All sessions come, change and go; sessions a second by what was done with them."""
    rates, down_teids = {}, 0x0B000000
    timed(rates, "established", busy.establish, first_seid)
    assert scene.sessions() == SESSIONS + 1
    timed(rates, "modified", busy.modify, down_teids)
    forwards(scene, busy, down_teids)
    timed(rates, "deleted", busy.delete)
    assert scene.sessions() == 1
    return rates


@pytest.mark.parametrize("mode, workers", [("af_xdp", 2), ("af_packet", 1)])
def test_many_sessions(net, tmp_path, mode, workers):
    """Twice, so that the second time shows whether the first one's memory serves again."""
    laid = topology.lay(net, queues=workers)
    laid.ran.address("n4", f"{BUSY_SMF}/24")

    def configuration(control_socket):
        made = topology.configuration(mode, control_socket, workers)
        made["sessions"]["max"] = SESSIONS + 100
        return made

    with Daemon(laid.upf, tmp_path, configuration) as daemon, Scene(laid, daemon, tmp_path) as scene:
        witness = scene.attach(v4="10.45.200.1", v6="2001:db8:cafe:c8::2")
        before = held(daemon)
        with Busy(laid.ran) as busy, Pulse(scene.smf) as pulse:
            busy.associate()
            first = one_round(scene, busy, 0x100000)
            memory = resident_kb(daemon)
            second = one_round(scene, busy, 0x200000)
            growth = resident_kb(daemon) - memory
            busy.release()
        tunnels = [row["tunnels"] for row in daemon.ctl("show", "neighbours")["neighbours"]]
        print(f"\n{mode}, {workers} workers, a second: {first}, {second}; {busy.again} sent again; "
              f"{pulse.beats} heartbeats, the slowest {pulse.slowest:.3f} s; {memory} kB, "
              f"{growth:+} kB")
        assert not pulse.fault and pulse.beats > 10
        assert growth < GROWTH_KB
        assert sum(tunnels) == 2  # of the witness: its gNB and its SMF
        after = held(daemon)
        resting = after.pop("session_bytes") - before.pop("session_bytes")  # the witness's rules, packed
        assert after == before and busy.sessions == {}
        assert 0 < resting < PACKED_BYTES
        scene.assert_forwards(witness, sequence=2)
        scene.settle()
