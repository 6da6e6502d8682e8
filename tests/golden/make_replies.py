#!/usr/bin/python3
"""Writes replies.txt: frames that Sluice builds itself, as scapy builds them.

A row: what, interface (the table in tests/unit/pkt_check.h), the frame that is answered (or -), the frame
that must come out. The tests compare byte by byte, so scapy judges lengths, checksums and layout.
Run:  /usr/bin/python3 make_replies.py > replies.txt
"""

import struct

from scapy.all import (ARP, Dot1Q, Ether, ICMP, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA,
                       ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, ICMPv6PacketTooBig,
                       IP, IPOption, IPv6, IPv6ExtHdrDestOpt, PadN, Raw, UDP)
from scapy.contrib.gtp import GTPHeader

GNB, N3, N6, UE, SERVER = "10.0.0.9", "10.0.0.1", "10.6.0.1", "10.45.0.2", "192.0.2.7"
GNB6, N3_6 = "2001:db8:0:3::9", "2001:db8:0:3::1"
N6_6, UE6, SERVER6 = "2001:db8:0:6::1", "2001:db8:45::2", "2001:db8:ff::7"
US, PEER, ALL = "02:00:00:00:00:01", "02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff"
UNDERSTOOD = bytes([0x40, 0x81, 0x82, 0x83, 0x84, 0x85, 0xc0])


def eth(src, dst, vlan=None):
    frame = Ether(src=src, dst=dst)
    return frame / Dot1Q(vlan=vlan) if vlan is not None else frame


def row(what, iface, request, reply):
    print(what, iface, bytes(request).hex() if request else "-", bytes(reply).hex() or "-")


def message(gtp_type, payload=b"", teid=0, **fields):
    return GTPHeader(gtp_type=gtp_type, teid=teid, **fields) / Raw(payload)


def asked(payload, sport=2152, vlan=None, src=GNB, mac=US, pad=b"", **ip):
    return bytes(eth(PEER, mac, vlan) / IP(src=src, dst=N3, **ip) / UDP(sport=sport, dport=2152, chksum=0) /
                 payload) + pad


def answer(payload, dport=2152, vlan=None):
    return (eth(US, PEER, vlan) / IP(src=N3, dst=GNB, ttl=64, id=0, flags="DF") /
            UDP(sport=2152, dport=dport) / payload)


def asked6(payload, sport=2152, vlan=None, src=GNB6, mac=US, between=(), **udp):
    head = IPv6(src=src, dst=N3_6, tc=0xB8, fl=77)
    for extension in between:
        head = head / extension
    return bytes(eth(PEER, mac, vlan) / head / UDP(sport=sport, dport=2152, **{"chksum": 0, **udp}) / payload)


def answer6(payload, dport=2152, vlan=None):
    return eth(US, PEER, vlan) / IPv6(src=N3_6, dst=GNB6, hlim=64) / UDP(sport=2152, dport=dport) / payload


def over6():
    """The same over IPv6: with a UDP checksum, and without the extension headers that were asked with."""
    inner = bytes(IP(src=UE, dst=SERVER) / UDP(sport=1, dport=2))
    options = IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])
    recovery = b"\x0e\0"
    local = bytes.fromhex("20010db8000000030000000000000001")
    for vlan, iface in ((None, "n3"), (100, "n3v")):
        for between in ([], [options], [options] * 3):
            for seq in (None, 0x1234):
                options_of = {} if seq is None else {"S": 1, "seq": seq}
                row("gtpu_echo", iface, asked6(message(1, **options_of), 40000, vlan, between=between),
                    answer6(message(2, recovery, S=1, seq=seq or 0), 40000, vlan))
            told = (b"\x01" + struct.pack("!H", 40000) + b"\0" + b"\x10" + struct.pack("!I", 7) +
                    b"\x85\0\x10" + local)
            row("gtpu_error", iface, asked6(message(255, inner, 7), 40000, vlan, between=between),
                answer6(message(26, told, E=1, S=1, next_ex=0x40), 2152, vlan))
            row("gtpu_supported", iface,
                asked6(message(255, b"\1\0\0\0" + inner, 7, E=1, next_ex=0xff), 40000, vlan, between=between),
                answer6(message(31, b"\x8d" + bytes([len(UNDERSTOOD)]) + UNDERSTOOD, S=1), 2152, vlan))
    row("gtpu_echo", "n3", asked6(message(1, S=1, seq=5), chksum=None), answer6(message(2, recovery, S=1, seq=5)))
    # Who is not one host gets no answer.
    for src, mac in (("ff02::5", US), ("::", US), ("::1", US), (GNB6, ALL)):
        row("gtpu_echo", "n3", asked6(message(1, S=1, seq=5), src=src, mac=mac), b"")


def echo():
    recovery = b"\x0e\0"
    for seq in (None, 0, 0x1234, 0xffff):
        options = {} if seq is None else {"S": 1, "seq": seq}
        for vlan, iface in ((None, "n3"), (100, "n3v")):
            for sport in (2152, 40000):
                row("gtpu_echo", iface, asked(message(1, **options), sport, vlan),
                    answer(message(2, recovery, S=1, seq=seq or 0), sport, vlan))
    for ip in ({"options": [IPOption(b"\x94\x04\0\0")]}, {"tos": 0xb8}):
        row("gtpu_echo", "n3", asked(message(1, S=1, seq=5), **ip), answer(message(2, recovery, S=1, seq=5)))
    row("gtpu_echo", "n3", asked(message(1, b"\xff\0\3\0\1x", S=1, seq=5), pad=b"\0" * 9),
        answer(message(2, recovery, S=1, seq=5)))
    # Who is not one host gets no answer.
    for src, mac in (("224.0.0.5", US), ("0.0.0.0", US), ("255.255.255.255", US), (GNB, ALL)):
        row("gtpu_echo", "n3", asked(message(1, S=1, seq=5), src=src, mac=mac), b"")


def error_indication():
    inner = bytes(IP(src=UE, dst=SERVER) / UDP(sport=1, dport=2))
    for teid in (0, 1, 0xdeadbeef):
        told = (b"\x01" + struct.pack("!H", 40000) + b"\0" + b"\x10" + struct.pack("!I", teid) +
                b"\x85\0\4" + bytes([10, 0, 0, 1]))
        for vlan, iface in ((None, "n3"), (100, "n3v")):
            row("gtpu_error", iface, asked(message(255, inner, teid), 40000, vlan),
                answer(message(26, told, E=1, S=1, next_ex=0x40), 2152, vlan))


def supported():
    inner = bytes(IP(src=UE, dst=SERVER) / UDP(sport=1, dport=2))
    row("gtpu_supported", "n3", asked(message(255, b"\1\0\0\0" + inner, 7, E=1, next_ex=0xff), 40000),
        answer(message(31, b"\x8d" + bytes([len(UNDERSTOOD)]) + UNDERSTOOD, S=1)))


def ping():
    for vlan, iface in ((None, "n6"), (200, "n6v")):
        for data in (b"", b"x", b"ping" * 300):
            for pad in (b"", b"\0" * 7):
                row("ping", iface, bytes(eth(PEER, US, vlan) / IP(src=SERVER, dst=N6, ttl=9, id=77) /
                                         ICMP(type=8, id=3, seq=4) / data) + pad,
                    eth(US, PEER, vlan) / IP(src=N6, dst=SERVER, ttl=64, id=77) / ICMP(type=0, id=3, seq=4) / data)
                row("ping", iface, bytes(eth(PEER, US, vlan) / IPv6(src=SERVER6, dst=N6_6, hlim=9) /
                                         ICMPv6EchoRequest(id=3, seq=4, data=data)) + pad,
                    eth(US, PEER, vlan) / IPv6(src=N6_6, dst=SERVER6, hlim=64) /
                    ICMPv6EchoReply(id=3, seq=4, data=data))
    row("ping", "n6", eth(PEER, US) / IP(src="224.0.0.1", dst=N6) / ICMP(type=8), b"")
    row("ping", "n6", eth(PEER, ALL) / IP(src=SERVER, dst=N6) / ICMP(type=8), b"")
    row("ping", "n6", eth(PEER, US) / IPv6(src="::", dst=N6_6) / ICMPv6EchoRequest(), b"")


def too_big():
    """Errors about a user packet, as IP packets: what was in the frame is quoted."""
    for size in (0, 500, 1400):
        user = IP(src=SERVER, dst=UE, flags="DF") / UDP(sport=1, dport=2, chksum=7) / (b"z" * size)
        row("too_big", "n6", eth(PEER, US) / user,
            IP(src=N6, dst=SERVER, id=0, flags="DF", ttl=64) / ICMP(type=3, code=4, nexthopmtu=1464) /
            bytes(user)[:548])
        user = IPv6(src=SERVER6, dst=UE6) / UDP(sport=1, dport=2) / (b"z" * size)
        row("too_big", "n6", eth(PEER, US) / user,
            IPv6(src=N6_6, dst=SERVER6, hlim=64) / ICMPv6PacketTooBig(mtu=1464) / bytes(user)[:1232])


def neighbours():
    for vlan, iface in ((None, "n6"), (200, "n6v")):
        row("arp_request", iface, None, eth(US, ALL, vlan) / ARP(op=1, hwsrc=US, psrc=N6, pdst=SERVER))
        row("arp_reply", iface, None,
            eth(US, PEER, vlan) / ARP(op=2, hwsrc=US, psrc=N6, hwdst=PEER, pdst=SERVER))
        group, mac = "ff02::1:ff00:7", "33:33:ff:00:00:07"
        ask = ICMPv6ND_NS(tgt=SERVER6)
        ours = ICMPv6NDOptSrcLLAddr(lladdr=US)
        row("nd_solicit", iface, None, eth(US, mac, vlan) / IPv6(src=N6_6, dst=group, hlim=255) / ask / ours)
        row("nd_probe", iface, None, eth(US, PEER, vlan) / IPv6(src=N6_6, dst=SERVER6, hlim=255) / ask / ours)
        row("nd_dad", iface, None, eth(US, mac, vlan) / IPv6(src="::", dst=group, hlim=255) / ask)
        told = ICMPv6NDOptDstLLAddr(lladdr=US)
        row("nd_advert", iface, None, eth(US, PEER, vlan) / IPv6(src=N6_6, dst=SERVER6, hlim=255) /
            ICMPv6ND_NA(tgt=N6_6, R=1, S=1, O=1) / told)
        row("nd_advert_all", iface, None, eth(US, "33:33:00:00:00:01", vlan) /
            IPv6(src=N6_6, dst="ff02::1", hlim=255) / ICMPv6ND_NA(tgt=N6_6, R=1, S=0, O=1) / told)


print("# Made by make_replies.py; see there.")
echo()
error_indication()
supported()
over6()
ping()
too_big()
neighbours()
