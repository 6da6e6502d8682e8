"""GTP-U written out in bytes (TS 29.281, TS 38.415), and a gNB that speaks it over UDP.

Kept to what a gNB says, plus raw bytes for what it should not say. Not shared with the daemon's
code, so that neither is its own judge.
"""

import socket
import struct
from dataclasses import dataclass, field

from kit.pcap import Pcap
from kit.wait import Deadline, readable

PORT = 2152
ECHO_REQUEST, ECHO_RESPONSE, ERROR_INDICATION = 1, 2, 26
EXTENSIONS_NOTIFICATION, END_MARKER, GPDU = 31, 254, 255
EXT_UDP_PORT, EXT_PDU_SESSION = 0x40, 0x85
DOWNLINK, UPLINK = 0, 1
IE_RECOVERY = b"\x0e\x00"


def pdu_session(qfi, kind=UPLINK, rqi=False):
    """The content of a PDU Session Container: one extension's two octets."""
    return bytes([kind << 4, (0x40 if rqi else 0) | qfi])


def encode(kind, teid, payload=b"", sequence=None, extensions=()):
    """A GTP-U message; extensions are (type, content), the content 4 n - 2 octets long."""
    flags = 0x30 | (0x02 if sequence is not None else 0) | (0x04 if extensions else 0)
    optional = b""
    if sequence is not None or extensions:
        types = [kind_of for kind_of, _ in extensions] + [0]
        optional = struct.pack("!HBB", sequence or 0, 0, types[0])
        for (_, content), following in zip(extensions, types[1:]):
            if (len(content) + 2) % 4:
                raise ValueError(f"an extension of {len(content)} octets does not fill words")
            optional += bytes([(len(content) + 2) // 4]) + content + bytes([following])
    body = optional + payload
    return struct.pack("!BBHI", flags, kind, len(body), teid) + body


def gpdu(teid, inner, qfi=None, kind=UPLINK):
    """A user packet in its tunnel; with a QFI, in a PDU Session Container."""
    extensions = [] if qfi is None else [(EXT_PDU_SESSION, pdu_session(qfi, kind))]
    return encode(GPDU, teid, bytes(inner), extensions=extensions)


@dataclass
class Message:
    """A GTP-U message taken apart."""

    kind: int
    teid: int
    sequence: int | None
    payload: bytes
    extensions: list = field(default_factory=list)

    def extension(self, kind):
        """The content of the first extension of that type, or None."""
        return next((content for of, content in self.extensions if of == kind), None)

    @property
    def qfi(self):
        """The QFI of the PDU Session Container, or None."""
        content = self.extension(EXT_PDU_SESSION)
        return None if content is None else content[1] & 0x3F

    @property
    def rqi(self):
        """Does a downlink PDU Session Container say reflective QoS?"""
        content = self.extension(EXT_PDU_SESSION)
        return content is not None and bool(content[1] & 0x40)


def decode(octets):
    """Take a message apart; ValueError says what is wrong with it."""
    if len(octets) < 8:
        raise ValueError(f"{len(octets)} octets are no GTP-U header")
    flags, kind, length, teid = struct.unpack_from("!BBHI", octets)
    if flags >> 4 != 3:
        raise ValueError(f"flags {flags:#x}: not GTP-U version 1")
    if length != len(octets) - 8:
        raise ValueError(f"length {length} in a message with {len(octets) - 8} octets after it")
    if not flags & 0x07:
        return Message(kind, teid, None, octets[8:])
    if length < 4:
        raise ValueError("no room for the optional fields")
    sequence, _, following = struct.unpack_from("!HBB", octets, 8)
    at, extensions = 12, []
    while flags & 0x04 and following:
        size = octets[at] * 4 if at < len(octets) else 0
        if size == 0 or at + size > len(octets):
            raise ValueError(f"extension {following:#x} of {size} octets at {at}")
        extensions.append((following, octets[at + 1:at + size - 1]))
        following = octets[at + size - 1]
        at += size
    return Message(kind, teid, sequence if flags & 0x02 else None, octets[at:], extensions)


class Gnb:
    """The N3 end of a radio network: a UDP socket at port 2152 of an address in a namespace."""

    def __init__(self, namespace, address, pcap=None):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.address = address
        self._socket = namespace.socket(family, socket.SOCK_DGRAM)
        self._socket.bind((address, PORT))
        self._pcap = Pcap(pcap) if pcap else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
        if self._pcap:
            self._pcap.close()

    def send(self, upf, octets):
        """Send a datagram, well formed or not, to the UPF's port 2152."""
        if self._pcap:
            self._pcap.udp((self.address, PORT), (upf, PORT), octets)
        self._socket.sendto(octets, (upf, PORT))

    def uplink(self, upf, teid, inner, qfi=1):
        """Send a user packet up."""
        self.send(upf, gpdu(teid, inner, qfi))

    def receive(self, kind=None, timeout=3.0):
        """The next message as (sender, Message); None when none comes in time.

        `kind` picks: a message type, or what is true for the Message wanted.
        """
        wanted = kind if callable(kind) else lambda message: kind in (None, message.kind)
        deadline = Deadline(timeout)
        while readable([self._socket], deadline.left()):
            octets, sender = self._socket.recvfrom(65536)
            if self._pcap:
                self._pcap.udp(sender[:2], (self.address, PORT), octets)
            message = decode(octets)
            if wanted(message):
                return sender[:2], message
        return None

    def echo(self, upf, sequence=1, timeout=3.0):
        """Ask for an Echo Response; the Message, or None."""
        self.send(upf, encode(ECHO_REQUEST, 0, sequence=sequence))
        answer = self.receive(ECHO_RESPONSE, timeout)
        return answer and answer[1]
