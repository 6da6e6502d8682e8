"""A UPF played by scapy, for trying what drives one: N4 answered, users' pings answered on N3.

One thread serves both. It keeps what it was asked, in order, and captures everything for tshark.
"""

import itertools
import queue
import socket
import threading
from dataclasses import dataclass, field

from scapy.contrib import pfcp
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6

from kit import gtpu, rules
from kit.pcap import Pcap
from kit.pfcp import ACCEPTED, PORT, ie, ies
from kit.wait import readable, wait_for

RECOVERY = 0xEEB81E59
HEARTBEAT, ASSOCIATE, RELEASE, ESTABLISH, MODIFY, DELETE, REPORT = 1, 5, 9, 50, 52, 54, 56
NO_SESSION = 65
CORE_PDR, ACCESS_PDR = 1, 2
ANSWERS = {
    HEARTBEAT: pfcp.PFCPHeartbeatResponse,
    ASSOCIATE: pfcp.PFCPAssociationSetupResponse,
    RELEASE: pfcp.PFCPAssociationReleaseResponse,
    ESTABLISH: pfcp.PFCPSessionEstablishmentResponse,
    MODIFY: pfcp.PFCPSessionModificationResponse,
    DELETE: pfcp.PFCPSessionDeletionResponse,
}


@dataclass
class Session:
    """What the UPF knows of a UE."""

    seid: int  # the SMF's
    up_seid: int
    teid: int  # ours, for the way up
    gnb: tuple | None = None  # (address, TEID) of the way down; None while idle
    old_gnbs: list = field(default_factory=list)


class Upf:
    """The UPF of one SMF. A context manager."""

    def __init__(self, namespace, n4, n3, folder):
        self.n4, self.n3 = n4, n3
        self.sessions = {}  # by our SEID
        self.requests = []  # (type, octets), each one that came
        self.answers = queue.Queue()  # to our own requests
        self.gtpu = queue.Queue()  # (sender, Message): what is no user's packet
        self.refusals = {}  # type: IEs to answer with instead
        self.deaf = {}  # type: how many still to leave unanswered
        self.recovery = RECOVERY
        self._seids, self._sequences = itertools.count(0xB1A), itertools.count(1)
        self.n4_pcap, self.n3_pcap = Pcap(folder / "n4.pcap"), Pcap(folder / "n3.pcap")
        self._n4 = namespace.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._n4.bind((n4, PORT))
        family = socket.AF_INET6 if ":" in n3 else socket.AF_INET
        self._n3 = namespace.socket(family, socket.SOCK_DGRAM)
        self._n3.bind((n3, gtpu.PORT))
        self._wake, self._woken = socket.socketpair()
        self._peer = None
        self._answered = {}  # request: its answer, for when it comes again
        self._thread = threading.Thread(target=self._serve, name="upf", daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._wake.close()
        self._thread.join()
        for held in (self._n4, self._n3, self._woken, self.n4_pcap, self.n3_pcap):
            held.close()

    # ---- for tests ----

    def of_type(self, kind):
        """The octets of the requests of a type, those sent again included."""
        return [octets for seen, octets in list(self.requests) if seen == kind]

    def session(self, ready=lambda session: True):
        """The session, once there is one and it is as wanted."""
        return wait_for(lambda: next((one for one in list(self.sessions.values()) if ready(one)),
                                     None), "a session")

    def report(self, session, *reports, timeout=3.0):
        """Send a Session Report Request; its answer."""
        body = pfcp.PFCPSessionReportRequest(IE_list=list(reports))
        self._send_n4(pfcp.PFCP(S=1, seid=session.seid, seq=next(self._sequences)) / body)
        return self.answers.get(timeout=timeout)

    def heartbeat(self, timeout=3.0):
        """Ask for a heartbeat; its answer."""
        body = pfcp.PFCPHeartbeatRequest(
            IE_list=[pfcp.IE_RecoveryTimeStamp(timestamp=self.recovery)])
        self._send_n4(pfcp.PFCP(S=0, seq=next(self._sequences)) / body)
        return self.answers.get(timeout=timeout)

    def send_n3(self, gnb, octets):
        """Send a datagram to a gNB."""
        self.n3_pcap.udp((self.n3, gtpu.PORT), (gnb, gtpu.PORT), octets)
        self._n3.sendto(octets, (gnb, gtpu.PORT))

    def close_n4(self):
        """Answer no request any more."""
        self.deaf = {kind: 1 << 30 for kind in ANSWERS}

    # ---- serving ----

    def _serve(self):
        while True:
            ready = readable([self._n4, self._n3, self._woken], None)
            if self._woken in ready:
                return
            if self._n4 in ready:
                self._take_n4(*self._n4.recvfrom(65536))
            if self._n3 in ready:
                self._take_n3(*self._n3.recvfrom(65536))

    def _take_n4(self, octets, sender):
        self._peer = sender
        self.n4_pcap.udp(sender, (self.n4, PORT), octets)
        message = pfcp.PFCP(octets)
        kind = message.message_type
        if kind not in ANSWERS:
            self.answers.put(message)
            return
        self.requests.append((kind, octets))
        if self.deaf.get(kind, 0) > 0:
            self.deaf[kind] -= 1
            return
        if octets not in self._answered:
            seid, body = self._answer(kind, message)
            head = pfcp.PFCP(S=0 if seid is None else 1, seid=seid or 0, seq=message.seq)
            self._answered[octets] = head / ANSWERS[kind](IE_list=body)
        self._send_n4(self._answered[octets])

    def _send_n4(self, message):
        octets = bytes(message)
        self.n4_pcap.udp((self.n4, PORT), self._peer, octets)
        self._n4.sendto(octets, self._peer)

    def _answer(self, kind, message):
        recovery = pfcp.IE_RecoveryTimeStamp(timestamp=self.recovery)
        node, accepted = rules.node_id(self.n4), pfcp.IE_Cause(cause=ACCEPTED)
        if kind == HEARTBEAT:
            return None, [recovery]
        if kind in (ASSOCIATE, RELEASE):
            more = [recovery, pfcp.IE_UPFunctionFeatures(FTUP=1)] if kind == ASSOCIATE else []
            return None, [node, *self.refusals.get(kind, [accepted]), *more]
        if kind == ESTABLISH:
            seid = ie(message, pfcp.IE_FSEID).seid
            if kind in self.refusals:
                return seid, [node, *self.refusals[kind]]
            return seid, [node, accepted, *self._establish(seid, message)]
        session = self.sessions.get(message.seid)
        if not session:
            return 0, [pfcp.IE_Cause(cause=NO_SESSION)]
        if kind in self.refusals:
            return session.seid, self.refusals[kind]
        if kind == MODIFY:
            self._modify(session, message)
        else:
            del self.sessions[session.up_seid]
        return session.seid, [accepted]

    def _establish(self, seid, message):
        up_seid = next(self._seids)
        self.sessions[up_seid] = Session(seid, up_seid, 0xA0000000 | up_seid)
        tunnel = {"ipv6": self.n3, "V6": 1} if ":" in self.n3 else {"ipv4": self.n3, "V4": 1}
        created = []
        for pdr in ies(message, pfcp.IE_CreatePDR):
            asked = ie(ie(pdr, pfcp.IE_PDI), pfcp.IE_FTEID)
            if not asked:
                continue
            teid = (0xA0000000 if asked.CHID else 0xB0000000) | up_seid
            created.append(pfcp.IE_CreatedPDR(IE_list=[
                pfcp.IE_PDR_Id(id=ie(pdr, pfcp.IE_PDR_Id).id),
                pfcp.IE_FTEID(TEID=teid, **tunnel)]))
        return [rules.f_seid(up_seid, self.n4), *created]

    def _modify(self, session, message):
        parameters = ie(ie(message, pfcp.IE_UpdateFAR), pfcp.IE_UpdateForwardingParameters)
        outer = parameters and ie(parameters, pfcp.IE_OuterHeaderCreation)
        old, session.gnb = session.gnb, None
        if outer:
            session.gnb = (outer.ipv6 if outer.GTPUUDPIPV6 else outer.ipv4, outer.TEID)
        flags = parameters and ie(parameters, pfcp.IE_PFCPSMReqFlags)
        if flags and flags.SNDEM:
            session.old_gnbs.append(old)
            self.send_n3(old[0], gtpu.encode(gtpu.END_MARKER, old[1]))

    def _take_n3(self, octets, sender):
        self.n3_pcap.udp(sender[:2], (self.n3, gtpu.PORT), octets)
        message = gtpu.decode(octets)
        session = next((one for one in self.sessions.values() if one.teid == message.teid), None)
        reply = message.kind == gtpu.GPDU and echo_reply(message.payload)
        if reply and session:
            self.down(session, reply)
        else:
            self.gtpu.put((sender[:2], message))

    def down(self, session, packet):
        """Send a packet to the UE, where its gNB is known."""
        if session.gnb:
            self.send_n3(session.gnb[0],
                         gtpu.gpdu(session.gnb[1], packet, qfi=1, kind=gtpu.DOWNLINK))


def echo_reply(octets):
    """The answer to an ICMP or ICMPv6 echo request, or None."""
    if octets[0] >> 4 == 6:
        asked = IPv6(octets)
        if ICMPv6EchoRequest not in asked:
            return None
        echo = asked[ICMPv6EchoRequest]
        return IPv6(src=asked.dst, dst=asked.src) / ICMPv6EchoReply(
            id=echo.id, seq=echo.seq, data=echo.data)
    asked = IP(octets)
    if ICMP not in asked or asked[ICMP].type != 8:
        return None
    echo = asked[ICMP]
    return IP(src=asked.dst, dst=asked.src) / ICMP(type=0, id=echo.id, seq=echo.seq) / echo.payload
