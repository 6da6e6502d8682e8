"""Captures: UDP payloads seen at a socket, or whole frames, written as pcap for tshark.

A socket sees no headers, so those of IP and UDP are made up again from its two ends.
"""

import ipaddress
import os
import struct
import threading
import time

LINK_ETHERNET = 1
LINK_RAW_IP = 101


class Pcap:
    """A pcap file; may be written by several threads, and read at any time."""

    def __init__(self, path, link=LINK_RAW_IP):
        self.path = os.fspath(path)
        self._lock = threading.Lock()
        self._file = open(self.path, "wb", buffering=0)
        self._file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, link))

    def close(self):
        """No more packets."""
        self._file.close()

    def packet(self, octets):
        """Append one packet, seen now."""
        seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        head = struct.pack("<IIII", seconds, nanoseconds // 1000, len(octets), len(octets))
        with self._lock:
            self._file.write(head + octets)

    def udp(self, source, destination, payload):
        """Append a UDP payload between two (address, port) ends, in a raw IP file."""
        self.packet(udp_packet(source, destination, payload))


def udp_packet(source, destination, payload):
    """An IPv4 or IPv6 packet with UDP and that payload, its checksums right."""
    one, other = (ipaddress.ip_address(end[0].split("%")[0]) for end in (source, destination))
    size = 8 + len(payload)
    pseudo = one.packed + other.packed + struct.pack("!IHH", size, 0, 17)
    udp = struct.pack("!HHHH", source[1], destination[1], size, 0)
    total = checksum(pseudo + udp + payload) or 0xFFFF
    udp = udp[:6] + struct.pack("!H", total)
    if one.version == 6:
        head = struct.pack("!IHBB", 6 << 28, size, 17, 64)
        return head + one.packed + other.packed + udp + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + size, 0, 0, 64, 17, 0) + one.packed + other.packed
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return head + udp + payload


def checksum(octets):
    """The Internet checksum (RFC 1071)."""
    if len(octets) % 2:
        octets += b"\0"
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
