"""Frames on a device: sent and received whole, by a packet socket in a namespace.

What the device itself sends is not received, so a test sees only what the other end says.
"""

import socket

from kit.pcap import LINK_ETHERNET, Pcap
from kit.wait import Deadline, readable

ETH_P_ALL = 3
PACKET_OUTGOING = 4
FRAME_MAX = 65536


class Link:
    """One device. With a pcap (a path, or another Link to share that of), all is captured there."""

    def __init__(self, namespace, device, pcap=None):
        self.device = device
        self.mac = namespace.mac(device)
        self._socket = namespace.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        with namespace.entered():
            self._socket.bind((device, ETH_P_ALL))
        self._shares = isinstance(pcap, Link)
        self._pcap = pcap._pcap if self._shares else Pcap(pcap, LINK_ETHERNET) if pcap else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
        if self._pcap and not self._shares:
            self._pcap.close()

    def send(self, frame):
        """Send one frame, given as bytes or as a scapy packet."""
        octets = bytes(frame)
        if self._pcap:
            self._pcap.packet(octets)
        self._socket.send(octets)

    def receive(self, wanted=lambda frame: True, timeout=3.0):
        """The next frame for which wanted(octets) is true; None when none comes in time."""
        deadline = Deadline(timeout)
        while readable([self._socket], deadline.left()):
            octets, (_, _, kind, _, _) = self._socket.recvfrom(FRAME_MAX)
            if kind == PACKET_OUTGOING:
                continue
            if self._pcap:
                self._pcap.packet(octets)
            if wanted(octets):
                return octets
        return None

    def drain(self):
        """Take all that has come so far: into the pcap, if there is one."""
        while self.receive(timeout=0) is not None:
            pass
