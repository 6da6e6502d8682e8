"""An SMF over UDP: associations, heartbeats, sessions, and raw datagrams; PFCP by scapy.

One thread per SMF receives: it answers heartbeats and session reports (as long as it is told to),
hands answers to whoever asked, and keeps what the UPF asks. Everything is captured for tshark.
"""

import contextlib
import itertools
import queue
import socket
import threading
import time

from scapy.contrib import pfcp
from scapy.packet import Raw

from kit import rules
from kit.pcap import Pcap
from kit.wait import Deadline, readable

PORT = 8805
ACCEPTED = 1
NTP_EPOCH = 2208988800  # seconds from 1900, where PFCP counts from, to 1970
HEARTBEAT_REQUEST, ASSOCIATION_SETUP_REQUEST, SESSION_REPORT_REQUEST = 1, 5, 56
REQUESTS = {1, 3, 5, 7, 9, 12, 14, 50, 52, 54, 56}


def ies(message, kind):
    """The IEs of a class (pfcp.IE_…), directly in a message or in a grouped IE."""
    inside = message.payload if isinstance(message, pfcp.PFCP) else message
    return [ie for ie in inside.IE_list or [] if isinstance(ie, kind)]


def ie(message, kind):
    """The first such IE, or None."""
    return next(iter(ies(message, kind)), None)


def cause(message):
    """The Cause of an answer, or None."""
    found = ie(message, pfcp.IE_Cause)
    return found and found.cause


def assert_accepted(message):
    """The answer's cause is 1."""
    assert cause(message) == ACCEPTED, f"cause {cause(message)}: {message.show(dump=True)}"
    return message


def created_tunnels(message):
    """{PDR ID: (TEID, IPv4 address or None, IPv6 address or None)} of an answer."""
    tunnels = {}
    for created in ies(message, pfcp.IE_CreatedPDR):
        tunnel = ie(created, pfcp.IE_FTEID)
        if tunnel:
            tunnels[ie(created, pfcp.IE_PDR_Id).id] = (
                tunnel.TEID, tunnel.ipv4 if tunnel.V4 else None, tunnel.ipv6 if tunnel.V6 else None)
    return tunnels


class Session:
    """A PFCP session that the UPF has accepted."""

    def __init__(self, smf, seid, answer):
        self.smf, self.seid, self.answer = smf, seid, answer
        self.up_seid = ie(answer, pfcp.IE_FSEID).seid
        self.tunnels = created_tunnels(answer)

    def modify(self, *changes):
        """Send changes; the answer, whatever its cause."""
        body = pfcp.PFCPSessionModificationRequest(IE_list=list(changes))
        return self.smf.request(body, self.up_seid)

    def delete(self):
        """Delete the session; the answer, whatever its cause."""
        answer = self.smf.request(pfcp.PFCPSessionDeletionRequest(), self.up_seid)
        self.smf.sessions.pop(self.seid, None)
        return answer


class Smf:
    """One SMF: an address in a namespace, speaking to one UPF. A context manager.

    `capture` is the path of its capture, or another SMF whose capture it shares.
    """

    def __init__(self, namespace, address, upf, capture, port=PORT):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.address, self.upf = address, upf
        self.answer_heartbeats = True
        self.answer_reports = True
        self.recovery = int(time.time()) + NTP_EPOCH
        self.associated = False
        self.sessions = {}  # by our SEID
        self.reports = queue.Queue()  # Session Report Requests, in order
        self.requests = queue.Queue()  # what else the UPF asked, but heartbeats
        self.heartbeats = 0  # that the UPF asked
        self._sequences, self._seids = itertools.count(1), itertools.count(0x5D6)
        self._waiting = {}  # sequence number → queue of (octets, message)
        self._strays = None  # a queue of answers that nobody waits for
        self._lock = threading.Lock()
        self._shares = isinstance(capture, Smf)
        self._pcap = capture._pcap if self._shares else Pcap(capture)
        self._socket = namespace.socket(family, socket.SOCK_DGRAM)
        self._socket.bind((address, port))
        self._here = (address, port)
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._listen, name=f"smf {address}", daemon=True)
        self._thread.start()

    @property
    def capture(self):
        """The path of the capture."""
        return self._pcap.path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._wake.close()
        self._thread.join()
        self._socket.close()
        self._woken.close()
        if not self._shares:
            self._pcap.close()

    # ---- asking ----

    def send(self, octets):
        """Send a datagram as it is."""
        self._pcap.udp(self._here, (self.upf, PORT), octets)
        self._socket.sendto(octets, (self.upf, PORT))

    def exchange(self, octets, sequence, timeout=3.0):
        """Send a datagram as it is; the octets that answer this sequence number, or None."""
        answers = queue.Queue()
        with self._lock:
            self._waiting[sequence] = answers
        try:
            self.send(octets)
            return answers.get(timeout=timeout)[0]
        except queue.Empty:
            return None
        finally:
            with self._lock:
                del self._waiting[sequence]

    def discarded(self, octets):
        """Is a datagram left without an answer? The UPF answers in order: a heartbeat tells."""
        answers = queue.Queue()
        with self._lock:
            before, self._strays = self._strays, answers
        try:
            self.send(octets)
            self.heartbeat()
            return answers.empty()
        finally:
            with self._lock:
                self._strays = before

    def message(self, body, seid=None, sequence=None):
        """The octets of a request, and its sequence number."""
        sequence = next(self._sequences) if sequence is None else sequence
        head = pfcp.PFCP(S=0 if seid is None else 1, seid=seid or 0, seq=sequence)
        return bytes(head / body), sequence

    def request(self, body, seid=None, timeout=3.0):
        """Send a request (a pfcp.PFCP…Request); its answer, or TimeoutError."""
        octets, sequence = self.message(body, seid)
        answer = self.exchange(octets, sequence, timeout)
        if answer is None:
            raise TimeoutError(f"no answer to {body.name} {sequence} within {timeout} s")
        return pfcp.PFCP(answer)

    def associate(self, timeout=3.0):
        """Set the association up; the answer."""
        body = pfcp.PFCPAssociationSetupRequest(IE_list=[
            rules.node_id(self.address), pfcp.IE_RecoveryTimeStamp(timestamp=self.recovery),
            pfcp.IE_CPFunctionFeatures()])
        answer = assert_accepted(self.request(body, timeout=timeout))
        self.associated = True
        return answer

    def heartbeat(self, timeout=3.0):
        """Ask for a heartbeat; the answer."""
        body = pfcp.PFCPHeartbeatRequest(
            IE_list=[pfcp.IE_RecoveryTimeStamp(timestamp=self.recovery)])
        return self.request(body, timeout=timeout)

    def establishment(self, *created):
        """An establishment request with Node ID and F-SEID before the IEs given; our SEID."""
        seid = next(self._seids)
        own = [rules.node_id(self.address), rules.f_seid(seid, self.address)]
        return pfcp.PFCPSessionEstablishmentRequest(IE_list=own + list(created)), seid

    def establish(self, *created):
        """Establish a session that must be accepted: a Session."""
        body, seid = self.establishment(*created)
        answer = assert_accepted(self.request(body, seid=0))
        self.sessions[seid] = Session(self, seid, answer)
        return self.sessions[seid]

    # ---- being asked ----

    def answer(self, request, body, seid=None):
        """Answer a request of the UPF's."""
        self.send(self.message(body, seid, request.seq)[0])

    def asked(self, kind, timeout=3.0):
        """The next request of this type, other than heartbeats and reports, or None; drops others."""
        deadline = Deadline(timeout)
        with contextlib.suppress(queue.Empty):
            while not deadline.passed():
                message = self.requests.get(timeout=deadline.left())
                if message.message_type == kind:
                    return message
        return None

    def answer_setup(self, request, result=ACCEPTED):
        """Answer an Association Setup Request of the UPF's."""
        self.associated = result == ACCEPTED
        self.answer(request, pfcp.PFCPAssociationSetupResponse(IE_list=[
            rules.node_id(self.address), pfcp.IE_Cause(cause=result),
            pfcp.IE_RecoveryTimeStamp(timestamp=self.recovery), pfcp.IE_CPFunctionFeatures()]))

    def _listen(self):
        while True:
            ready = readable([self._socket, self._woken], None)
            if self._woken in ready:
                return
            with contextlib.suppress(ConnectionError):  # an ICMP error: the UPF is not there
                octets, sender = self._socket.recvfrom(65536)
                self._pcap.udp(sender[:2], self._here, octets)
                self._take(octets, pfcp.PFCP(octets))

    def _take(self, octets, message):
        if message.message_type not in REQUESTS:
            with self._lock:
                waiting = self._waiting.get(message.seq) or self._strays
            if waiting:
                waiting.put((octets, message))
        elif message.message_type == HEARTBEAT_REQUEST:
            self.heartbeats += 1
            if self.answer_heartbeats:
                self.answer(message, pfcp.PFCPHeartbeatResponse(
                    IE_list=[pfcp.IE_RecoveryTimeStamp(timestamp=self.recovery)]))
        elif message.message_type == SESSION_REPORT_REQUEST:
            session = self.sessions.get(message.seid)
            self.reports.put(message)
            if self.answer_reports and session:
                self.answer(message, pfcp.PFCPSessionReportResponse(
                    IE_list=[pfcp.IE_Cause(cause=ACCEPTED)]), session.up_seid)
        else:
            self.requests.put(message)

    def report(self, timeout=3.0):
        """The next Session Report Request, or None."""
        with contextlib.suppress(queue.Empty):
            return self.reports.get(timeout=timeout)
        return None


def assert_understood(message):
    """Scapy knows every octet of the message."""
    assert not message.haslayer(Raw), message.show(dump=True)
