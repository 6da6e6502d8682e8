#!/usr/bin/python3
"""Writes frames.txt: frames made by scapy, and what a parser should see in them.

Scapy is the independent judge of src/packet: offsets, lengths and ports are taken from the layers as
scapy builds or dissects them. Of a broken frame only the drop reason is stated, by hand.

A row: name, interface (the table in test_parse.c), kind, then for PKT_BAD the drop's name, otherwise
teid qfi user l4 user_bytes sport dport family proto flags (decimal; flags as letters), and the frame.
Run:  /usr/bin/python3 make_frames.py > frames.txt
"""

import struct

from scapy.all import (ARP, Dot1AD, Dot1Q, Ether, ICMP, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS,
                       ICMPv6ND_RA, ICMPv6ND_RS, ICMPv6NDOptSrcLLAddr, IP, IPOption, IPv6,
                       IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting,
                       PadN, Raw, SCTP, TCP, UDP, AH)
from scapy.contrib.gtp import GTP_U_Header, GTPHeader, GTPPDUSessionContainer

GNB, N3, N6, UE, SERVER = "10.0.0.9", "10.0.0.1", "10.6.0.1", "10.45.0.2", "192.0.2.7"
GNB6, N3_6, N6_6 = "2001:db8:0:3::9", "2001:db8:0:3::1", "2001:db8:0:6::1"
UE6, SERVER6 = "2001:db8:45::2", "2001:db8:ff::7"
MAC = dict(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
TEID = 0x12345678
rows = []
over6 = False  # tunnels are over IPv6 while this is set, and their rows' names say so


def eth(vlan=None, **mac):
    frame = Ether(**{**MAC, **mac})
    return frame / Dot1Q(vlan=vlan, prio=3) if vlan is not None else frame


def row(name, iface, kind, frame, expected):
    name = name + "_over6" if over6 else name
    rows.append(" ".join([name, iface, kind, *map(str, expected), bytes(frame).hex()]))


def bad(name, iface, drop, frame):
    row(name, iface, "bad", frame, [drop])


def l4_of(ip, at):
    """l4 sport dport proto and letters of an IP packet that scapy dissects, which starts at `at`."""
    if ip.version == 4:
        header, proto, letters = ip.ihl * 4, ip.proto, ""
        if ip.flags.MF or ip.frag:
            letters = "f"
        later = ip.frag != 0
        layer = ip.payload
    else:
        header, proto, letters, later = 40, ip.nh, "", False
        layer = ip.payload
        while isinstance(layer, (IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, IPv6ExtHdrDestOpt,
                                 IPv6ExtHdrFragment, AH)):
            # A header's length is what its dissection consumed.
            header += len(layer.original) - len(layer.payload.original)
            proto = layer.nh
            if isinstance(layer, IPv6ExtHdrFragment):
                later = layer.offset != 0
                letters = "f" if layer.m or later else letters
            layer = layer.payload
            if later:
                break
    sport = dport = 0
    rest = bytes(ip)[header:]
    if later:
        letters += "n"
    elif proto in (6, 17, 132, 136) and len(rest) >= 4:
        known = {6: TCP, 17: UDP, 132: SCTP, 136: UDP}[proto](rest)
        sport, dport = known.sport, known.dport
    elif proto == 1 and ip.version == 4 and len(rest) >= 4:
        dport = ICMP(rest).type << 8 | ICMP(rest).code
    elif proto == 58 and ip.version == 6 and len(rest) >= 4:
        dport = rest[0] << 8 | rest[1]
    else:
        letters += "n"
    return at + header, sport, dport, proto, letters


def user_of(raw):
    """The IP packet that `raw` starts with, without what is behind its end, dissected by scapy."""
    if raw[0] >> 4 == 4:
        return IP(raw[:struct.unpack("!H", raw[2:4])[0]])
    return IPv6(raw[:40 + struct.unpack("!H", raw[4:6])[0]])


def plain(name, iface, frame, kind="plain"):
    raw = bytes(frame)
    layer = Ether(raw).payload
    layer = layer.payload if isinstance(layer, Dot1Q) else layer
    at = len(raw) - len(layer.original)
    ip = user_of(raw[at:])
    l4, sport, dport, proto, letters = l4_of(ip, at)
    row(name, iface, kind, frame, [0, 255, at, l4, len(bytes(ip)), sport, dport, ip.version, proto,
                                   letters or "-"])


def ext(kind, content):
    """An extension header of any type: (its type, its bytes without the next type)."""
    length = (len(content) + 2 + 3) // 4
    return kind, bytes([length]) + content.ljust(length * 4 - 2, b"\0")


def psc(qfi, kind=0, **more):
    """A PDU Session Container as scapy writes it, without its next type."""
    raw = bytes(GTPPDUSessionContainer(type=kind, QFI=qfi, **more))
    return 0x85, raw[:raw[0] * 4 - 1]


def gtpu(payload, exts=(), gtp_type=255, teid=TEID, seq=None, npdu=None, delta=0, **fields):
    types = [kind for kind, _ in exts] + [0]
    tail = b"".join(raw + bytes([types[i + 1]]) for i, (_, raw) in enumerate(exts))
    if exts or seq is not None or npdu is not None:
        fields.update(seq=seq or 0, npdu=npdu or 0, next_ex=types[0], E=int(bool(exts)),
                      S=int(seq is not None), PN=int(npdu is not None))
    head = GTPHeader(gtp_type=gtp_type, teid=teid, **fields)
    body = tail + bytes(payload)
    if delta:
        head.length = len(bytes(head)) - 8 + len(body) + delta
    return bytes(head / Raw(body))


def outer(message, vlan=None, dst=N3, sport=2152, dport=2152, udp=None, ip=None, pad=b"", between=()):
    """A tunnel's frame; `between` are IPv6 extension headers."""
    udp = {"chksum": 0, **(udp or {})}
    head = IPv6(src=GNB6, dst=N3_6) if over6 else IP(src=GNB, dst=dst, **(ip or {}))
    for extension in between:
        head = head / extension
    return bytes(eth(vlan) / head / UDP(sport=sport, dport=dport, **udp) / Raw(message)) + pad


def gpdu(name, inner, iface="n3", vlan=None, qfi=255, trailing=b"", frame=None, pad=b"", ip=None,
         udp=None, teid=TEID, between=(), **how):
    if over6 and ip:
        return  # of IPv4 only
    message = gtpu(bytes(inner) + trailing, teid=teid, **how)
    frame = outer(message, vlan=vlan, pad=pad, ip=ip, udp=udp, between=between)
    at = len(frame) - len(pad) - len(trailing) - len(bytes(inner))
    user = user_of(bytes(inner))
    l4, sport, dport, proto, letters = l4_of(user, at)
    letters += "t" + ("u" if iface.startswith("n3") else "") + ("p" if qfi != 255 else "")
    row(name, iface, "gpdu", frame, [teid, qfi, at, l4, len(bytes(user)), sport, dport, user.version,
                                     proto, letters])


def signal(name, kind, payload=b"", sport=2152, vlan=None, iface="n3", ip=None, between=(), **how):
    if over6 and ip:
        return
    frame = outer(gtpu(payload, **how), sport=sport, vlan=vlan, ip=ip, between=between)
    at = len(frame) - len(payload)
    l4 = len(frame) - len(bytes(Ether(frame)[UDP].original))
    row(name, iface, kind, frame, [how.get("teid", TEID), 255, at, l4, len(payload), sport, 2152,
                                   6 if over6 else 4, 17, "-"])


def bad_gpdu(name, drop, message, iface="n3", **how):
    bad(name, iface, drop, outer(message, **how))


def users():
    """The user packets that both ways, in a tunnel and plain, must read alike: (name, packet)."""
    v4, v6 = IP(src=UE, dst=SERVER), IPv6(src=UE6, dst=SERVER6)
    pad = PadN(optdata=b"\0" * 4)
    for version, ip in (("4", v4), ("6", v6)):
        yield "tcp" + version, ip / TCP(sport=40000, dport=443, flags="S") / b"hello"
        yield "tcpopt" + version, ip / TCP(sport=1, dport=65535, options=[("MSS", 1400)])
        yield "udp" + version, ip / UDP(sport=5353, dport=53) / b"question"
        yield "udp_empty" + version, ip / UDP(sport=5353, dport=53)
        yield "sctp" + version, ip / SCTP(sport=38412, dport=38412) / b"chnk"
        yield "udplite" + version, (ip.__class__(**ip.fields, **{"proto" if version == "4" else "nh": 136}) /
                                    Raw(struct.pack("!HHHH", 7000, 7001, 8, 0) + b"x"))
        yield "esp" + version, (ip.__class__(**ip.fields, **{"proto" if version == "4" else "nh": 50}) /
                                Raw(b"\0\0\1\0\0\0\0\1secret"))
    yield "icmp4", v4 / ICMP(type=8) / b"ping"
    yield "icmp_error4", v4 / ICMP(type=3, code=4) / bytes(v4 / UDP())[:28]
    yield "icmp6", v6 / ICMPv6EchoRequest(data=b"ping")
    yield "icmp6_in_4", IP(src=UE, dst=SERVER, proto=58) / Raw(b"\x80\0\0\0\0\0\0\0")
    yield "bare4", IP(src=UE, dst=SERVER, proto=253)
    yield "options4", IP(src=UE, dst=SERVER, options=[IPOption(b"\x94\x04\0\0")]) / UDP(sport=9, dport=10)
    yield "first4", IP(src=UE, dst=SERVER, flags="MF") / UDP(sport=11, dport=12) / (b"a" * 16)
    yield "first_short4", IP(src=UE, dst=SERVER, flags="MF", proto=6) / Raw(b"\0\x0b\0\x0c\0\0\0\0")
    yield "first_tiny4", IP(src=UE, dst=SERVER, flags="MF", proto=6) / Raw(b"\0\x0b")
    yield "middle4", IP(src=UE, dst=SERVER, flags="MF", frag=2, proto=17) / Raw(b"b" * 16)
    yield "last4", IP(src=UE, dst=SERVER, frag=4, proto=17) / Raw(b"c")
    yield "hop6", v6 / IPv6ExtHdrHopByHop(options=[pad]) / UDP(sport=13, dport=14)
    yield "dest6", v6 / IPv6ExtHdrDestOpt(options=[pad, pad]) / TCP(sport=15, dport=16)
    yield "route6", v6 / IPv6ExtHdrRouting(addresses=[SERVER6]) / UDP(sport=17, dport=18)
    yield "ah6", v6 / AH(nh=17, payloadlen=4, spi=1, seq=1, icv=b"\0" * 12) / UDP(sport=19, dport=20)
    yield "all6", (v6 / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() /
                   IPv6ExtHdrRouting(addresses=[SERVER6]) / IPv6ExtHdrDestOpt() / UDP(sport=21, dport=22))
    chain = v6
    for _ in range(8):
        chain = chain / IPv6ExtHdrDestOpt()
    yield "eight6", chain / UDP(sport=23, dport=24)
    yield "first6", v6 / IPv6ExtHdrFragment(m=1) / UDP(sport=25, dport=26, len=64) / (b"d" * 8)
    yield "later6", v6 / IPv6ExtHdrFragment(offset=2, nh=17) / Raw(b"e" * 9)
    yield "atomic6", v6 / IPv6ExtHdrFragment() / UDP(sport=27, dport=28)
    yield "first_tiny6", v6 / IPv6ExtHdrFragment(m=1, nh=17) / Raw(b"\0")
    yield "none6", IPv6(src=UE6, dst=SERVER6, nh=59)


def broken_users():
    """(name, drop as plain, bytes): inside a tunnel the header's faults are bad_user_packet (case 9)."""
    udp4 = IP(src=UE, dst=SERVER) / UDP(sport=1, dport=2) / b"data"
    udp6 = IPv6(src=UE6, dst=SERVER6) / UDP(sport=1, dport=2) / b"data"
    header, user = "bad_ip_header", "bad_user_packet"

    def changed4(**fields):
        ip = IP(bytes(udp4))
        del ip.chksum
        for name, value in fields.items():
            setattr(ip, name, value)
        return bytes(ip)

    yield "ihl4", header, changed4(ihl=4)
    yield "ihl0", header, changed4(ihl=0)
    yield "ihl15", header, changed4(ihl=15)
    yield "total_beyond", header, changed4(len=len(udp4) + 1)
    yield "total_short", header, changed4(len=19)
    yield "total_0", header, changed4(len=0)
    for version in (0, 5, 6, 15):
        yield "version%d" % version, header, changed4(version=version)
    yield "cksum", "bad_ip_checksum", changed4(chksum=0x1234)
    yield "cksum0", "bad_ip_checksum", changed4(chksum=0)
    options = bytearray(bytes(IP(src=UE, dst=SERVER, options=[IPOption(b"\x94\x04\0\0")]) / UDP()))
    options[21] ^= 1
    yield "cksum_options", "bad_ip_checksum", bytes(options)
    yield "tcp_short4", user, bytes(IP(src=UE, dst=SERVER, proto=6) / Raw(b"x" * 19))
    yield "udp_short4", user, bytes(IP(src=UE, dst=SERVER, proto=17) / Raw(b"x" * 7))
    yield "udp_none4", user, bytes(IP(src=UE, dst=SERVER, proto=17))
    yield "sctp_short4", user, bytes(IP(src=UE, dst=SERVER, proto=132) / Raw(b"x" * 11))
    yield "icmp_short4", user, bytes(IP(src=UE, dst=SERVER, proto=1) / Raw(b"x" * 7))
    raw = bytes(udp6)
    yield "payload_beyond6", header, raw[:4] + struct.pack("!H", len(raw) - 40 + 1) + raw[6:]
    yield "payload_0_udp6", header, raw[:4] + b"\0\0" + raw[6:]
    yield "jumbo6", header, raw[:4] + b"\0\0\0" + raw[7:]
    yield "version15_6", header, b"\xf0" + raw[1:]
    yield "tcp_short6", user, bytes(IPv6(src=UE6, dst=SERVER6, nh=6) / Raw(b"x" * 19))
    yield "icmp_short6", user, bytes(IPv6(src=UE6, dst=SERVER6, nh=58) / Raw(b"x" * 7))
    for count in (9, 50):
        chain = IPv6(src=UE6, dst=SERVER6)
        for _ in range(count):
            chain = chain / IPv6ExtHdrDestOpt()
        yield "chain%d_6" % count, "bad_ip_extension", bytes(chain / UDP())
    yield "ext_cut6", "bad_ip_extension", bytes(IPv6(src=UE6, dst=SERVER6, nh=60) / Raw(b"\x11\1" + b"\0" * 8))
    yield "ext_runt6", "bad_ip_extension", bytes(IPv6(src=UE6, dst=SERVER6, nh=0) / Raw(b"\x11\0\0\0\0\0\0"))
    yield "ah_short6", "bad_ip_extension", bytes(IPv6(src=UE6, dst=SERVER6, nh=51) /
                                                 Raw(b"\x11\xff" + b"\0" * 30))


def tunnel_rows():
    inner = IP(src=UE, dst=SERVER) / UDP(sport=1000, dport=2000) / b"data"
    for name, user in users():
        gpdu("psc_" + name, user, exts=[psc(9, 1)], qfi=9)
        gpdu("bare_" + name, user)
    for name, vlan, iface in (("untagged", None, "n3"), ("vlan", 100, "n3v"), ("prio", 0, "n3")):
        for options in range(8):
            exts = [psc(5, 1)] if options & 4 else []
            gpdu("flags%d_%s" % (options, name), inner, iface=iface, vlan=vlan, exts=exts,
                 seq=0xbeef if options & 2 else None, npdu=7 if options & 1 else None,
                 qfi=5 if exts else 255)
    gpdu("next_without_e", inner, seq=1, next_ex=0x85)
    gpdu("psc_dl", inner, exts=[psc(63, 0)], qfi=63)
    gpdu("psc_dl_rqi", inner, exts=[psc(1, 0, RQI=1)], qfi=1)
    gpdu("psc_dl_ppi", inner, exts=[psc(2, 0, PPP=1, PPI=3)], qfi=2)
    gpdu("psc_dl_qmp", inner, exts=[psc(3, 0, QMP=1, dlSendTime=1)], qfi=3)
    gpdu("psc_ul_qmp", inner, exts=[psc(4, 1, QMP=1, dlDelayInd=1, ulDelayInd=1)], qfi=4)
    gpdu("psc_ul_snp", inner, exts=[psc(6, 1, SNP=1, UlQFISeqNum=77)], qfi=6)
    gpdu("psc_type2", inner, exts=[(0x85, b"\1\x20\7")])
    gpdu("psc_second", inner, exts=[ext(0x40, b"\x08\x68"), psc(8, 1)], qfi=8)
    gpdu("chain2", inner, exts=[psc(10, 1), ext(0x84, b"nrran")], qfi=10)
    gpdu("chain3", inner, exts=[ext(0xc0, b"\0\1"), psc(11, 1), ext(0x84, b"nrran")], qfi=11)
    gpdu("chain8", inner, exts=[psc(12, 1)] + [ext(0x84, b"n")] * 7, qfi=12)
    gpdu("longest_ext", inner, exts=[ext(0x01, b"x" * 1018), psc(13, 1)], qfi=13)
    for kind in (0x01, 0x03, 0x20, 0x40, 0x3f, 0x7f, 0x81, 0x82, 0x83, 0x84, 0xc0):
        gpdu("skip_%02x" % kind, inner, exts=[ext(kind, b"\0\0")])
    for kind in (0x80, 0x86, 0xbf, 0xc1, 0xc2, 0xff):
        bad_gpdu("required_%02x" % kind, "gtpu_extension_required", gtpu(inner, [ext(kind, b"\0\0")]))
        bad_gpdu("required_after_psc_%02x" % kind, "gtpu_extension_required",
                 gtpu(inner, [psc(1, 1), ext(kind, b"\0\0")]))
    extension = "bad_gtpu_extension"
    bad_gpdu("chain9", extension, gtpu(inner, [psc(1, 1)] + [ext(0x84, b"n")] * 8))
    bad_gpdu("chain20", extension, gtpu(inner, [ext(0x84, b"n")] * 20))
    bad_gpdu("ext_0", extension, gtpu(inner, [(0x84, b"\0\0\0")]))
    bad_gpdu("psc_0", extension, gtpu(inner, [(0x85, b"\0\0\0")]))
    bad_gpdu("ext_beyond", extension, gtpu(b"", [(0x84, b"\2\0\0")]))
    # Case 1: cut off after the type of the next one, and with its length of 0; lengths made to agree.
    bad_gpdu("case1_cut", extension, bytes.fromhex("36ff000400000001000000ff"))
    bad_gpdu("case1_zero", extension, bytes.fromhex("36ff000500000001000000ff00"))
    bad_gpdu("case1_lies", "bad_gtpu_length", bytes.fromhex("36ff003400000001000000ff"))
    bad_gpdu("case1_lies_zero", "bad_gtpu_length", bytes.fromhex("36ff003400000001000000ff00"))
    bad_gpdu("option_cut", extension, bytes.fromhex("32ff0003000000010000ff"))
    for delta in (-1, 1, 4, 1000):
        bad_gpdu("length%+d" % delta, "bad_gtpu_length", gtpu(inner, delta=delta))
    bad_gpdu("no_header", "bad_gtpu_length", b"\x30\xff\0\0\0\0\0")
    bad_gpdu("empty_datagram", "bad_gtpu_length", b"")
    for version, pt in ((0, 1), (2, 1), (7, 1), (1, 0)):
        bad_gpdu("version%d_pt%d" % (version, pt), "bad_gtpu_version", gtpu(inner, version=version, PT=pt))
    gpdu("spare_bit", inner, reserved=1)
    gpdu("teid_0", inner, teid=0)
    gpdu("teid_max", inner, teid=0xffffffff)
    gpdu("inner_trailing", inner, exts=[psc(9, 1)], qfi=9, trailing=b"junk")
    gpdu("eth_padding", inner, exts=[psc(9, 1)], qfi=9, pad=b"\0" * 6)
    gpdu("outer_options", inner, exts=[psc(9, 1)], qfi=9, ip={"options": [IPOption(b"\x94\x04\0\0")]})
    gpdu("udp_cksum", inner, exts=[psc(9, 1)], qfi=9, udp={"chksum": None})
    bad_gpdu("udp_cksum_wrong", "bad_udp_checksum", gtpu(inner), udp={"chksum": 0x1234})
    bad_gpdu("no_inner", "bad_user_packet", gtpu(b""))
    bad_gpdu("no_inner_psc", "bad_user_packet", gtpu(b"", [psc(9, 1)]))
    bad_gpdu("inner_19", "bad_user_packet", gtpu(bytes(inner)[:19]))
    bad_gpdu("inner_39", "bad_user_packet", gtpu(bytes(IPv6() / Raw(b""))[:39]))
    for name, drop, raw in broken_users():
        drop = drop if drop == "bad_ip_extension" else "bad_user_packet"
        bad_gpdu("inner_" + name, drop, gtpu(raw, [psc(9, 1)]))
    # GTP in GTP is a user packet like any other; rules judge it (case 18).
    gpdu("gtp_in_gtp", IP(src=UE, dst=N3) / UDP(sport=2152, dport=2152) / Raw(gtpu(inner)))


def signal_rows():
    for seq in (None, 0, 0x1234):
        for sport in (2152, 50000):
            signal("echo_request_%s_%d" % (seq, sport), "echo_request", gtp_type=1, teid=0, seq=seq, sport=sport)
    signal("echo_request_vlan", "echo_request", gtp_type=1, teid=0, seq=9, vlan=100, iface="n3v")
    signal("echo_request_private", "echo_request", payload=b"\xff\0\3\0\1x", gtp_type=1, teid=0, seq=9)
    signal("echo_request_ext", "echo_request", gtp_type=1, teid=0, seq=9, exts=[ext(0x20, b"\0\0")])
    signal("echo_request_ip_options", "echo_request", gtp_type=1, teid=0, seq=9,
           ip={"options": [IPOption(b"\x94\x04\0\0")]})
    signal("echo_response", "echo_response", payload=b"\x0e\0", gtp_type=2, teid=0, seq=3)
    error = b"\x10" + struct.pack("!I", 77) + b"\x85\0\4" + bytes([10, 0, 0, 9])
    signal("error_indication", "error_indication", payload=error, gtp_type=26, teid=0, seq=0)
    signal("error_indication_port", "error_indication", payload=error, gtp_type=26, teid=0, seq=0,
           exts=[ext(0x40, b"\x08\x68")])
    signal("end_marker", "end_marker", gtp_type=254)
    signal("end_marker_psc", "end_marker", gtp_type=254, exts=[psc(9, 0)])
    for kind in (0, 3, 6, 31, 32, 253):
        bad_gpdu("type%d" % kind, "gtpu_unknown_type", gtpu(b"", gtp_type=kind))
    bad_gpdu("echo_required", "gtpu_extension_required", gtpu(b"", [ext(0xff, b"\0\0")], gtp_type=1))


def over6_rows():
    """What only tunnels over IPv6 can have."""
    inner = IP(src=UE, dst=SERVER) / UDP(sport=1000, dport=2000) / b"data"
    pad = PadN(optdata=b"\0" * 4)
    options, routing = IPv6ExtHdrDestOpt(options=[pad]), IPv6ExtHdrRouting()
    hop_by_hop = IPv6ExtHdrHopByHop(options=[pad])
    for name, between in (("dest", [options]), ("hop", [hop_by_hop]), ("routing", [routing]),
                          ("three", [hop_by_hop, routing, options]), ("eight", [options] * 8),
                          ("atomic", [IPv6ExtHdrFragment()])):
        gpdu("ext_" + name, inner, exts=[psc(9, 1)], qfi=9, between=between)
        signal("echo_ext_" + name, "echo_request", gtp_type=1, teid=0, seq=1, between=between)
    message = gtpu(inner)
    bad_gpdu("ext_nine", "bad_ip_extension", message, between=[options] * 9)
    bad_gpdu("fragment_first", "outer_fragment", message, between=[IPv6ExtHdrFragment(m=1)])
    bad_gpdu("fragment_later", "outer_fragment", message, between=[IPv6ExtHdrFragment(offset=9)])
    for name, between in (("", []), ("_ext", [options])):
        bad_gpdu("udp_len_7" + name, "bad_udp", message, udp={"len": 7}, between=between)
        bad_gpdu("udp_len_beyond" + name, "bad_udp", message, udp={"len": len(message) + 9}, between=between)
        bad_gpdu("udp_len_short" + name, "bad_gtpu_length", message, udp={"len": len(message) + 7},
                 between=between)
        bad_gpdu("other_port" + name, "not_for_us", message, dport=2153, between=between)
        bad_gpdu("cksum_wrong" + name, "bad_udp_checksum", message, udp={"chksum": 0x1234}, between=between)
        gpdu("cksum" + name, inner, udp={"chksum": None}, between=between)
    bad("no_udp", "n3", "bad_udp", eth() / IPv6(src=GNB6, dst=N3_6, nh=17) / Raw(b"1234567"))
    bad("no_udp_ext", "n3", "bad_udp", eth() / IPv6(src=GNB6, dst=N3_6) / IPv6ExtHdrDestOpt(nh=17) /
        Raw(b"1234567"))


def outer_rows():
    message = gtpu(IP(src=UE, dst=SERVER) / UDP() / b"data")
    bad_gpdu("outer_fragment_first", "outer_fragment", message, ip={"flags": "MF"})
    bad_gpdu("outer_fragment_later", "outer_fragment", message, ip={"frag": 8})
    bad_gpdu("udp_len_7", "bad_udp", message, udp={"len": 7})
    bad_gpdu("udp_len_0", "bad_udp", message, udp={"len": 0})
    bad_gpdu("udp_len_beyond", "bad_udp", message, udp={"len": len(message) + 9})
    bad_gpdu("udp_len_short", "bad_gtpu_length", message, udp={"len": len(message) + 7})
    bad_gpdu("other_port", "not_for_us", message, dport=2153)
    bad_gpdu("outer_cksum", "bad_ip_checksum", message, ip={"chksum": 1})
    bad("no_udp", "n3", "bad_udp", eth() / IP(src=GNB, dst=N3, proto=17) / Raw(b"1234567"))
    bad("gtpu_to_n6", "n6", "not_for_us", outer(message, dst=N6))
    bad("gtpu_v6_n6", "n6", "not_for_us", eth() / IPv6(src=GNB6, dst=N6_6) / UDP(dport=2152) / message)
    bad("udp_v6_len", "n3", "bad_udp",
        eth() / IPv6(src=GNB6, dst=N3_6) / UDP(sport=1, dport=2152, len=7) / message)
    bad("fragment_v6", "n3", "outer_fragment",
        eth() / IPv6(src=GNB6, dst=N3_6) / IPv6ExtHdrFragment(m=1, nh=17) / Raw(b"x" * 16))
    bad("tcp_to_us", "n6", "not_for_us", eth() / IP(src=SERVER, dst=N6) / TCP(dport=22))
    bad("tcp_to_n3", "n3", "not_for_us", eth() / IP(src=GNB, dst=N3) / TCP(dport=2152))
    bad("tcp_to_us6", "n6", "not_for_us", eth() / IPv6(src=SERVER6, dst=N6_6) / TCP(dport=22))
    # Case 12: to a UE the port means nothing.
    plain("gtpu_port_to_ue", "n6", outer(message, dst=UE))
    plain("plain_on_n3", "n3", outer(message, dst=UE))
    for iface, mine, mine6, vlan in (("n3", N3, N3_6, None), ("n6", N6, N6_6, None), ("n6v", N6, N6_6, 200)):
        plain("ping4_" + iface, iface, eth(vlan) / IP(src=SERVER, dst=mine) / ICMP(type=8) / b"x", "icmp_echo")
        plain("ping6_" + iface, iface,
              eth(vlan) / IPv6(src=SERVER6, dst=mine6) / ICMPv6EchoRequest(data=b"x"), "icmp_echo")
        bad("pong4_" + iface, iface, "not_for_us", eth(vlan) / IP(src=SERVER, dst=mine) / ICMP(type=0))
        bad("unreachable4_" + iface, iface, "not_for_us", eth(vlan) / IP(src=SERVER, dst=mine) / ICMP(type=3))
    bad("ping4_fragment", "n6", "outer_fragment", eth() / IP(src=SERVER, dst=N6, flags="MF") / ICMP(type=8))
    for name, user in users():
        plain("plain_" + name, "n6", eth() / user)
        plain("plain_vlan_" + name, "n6v", eth(200) / user)
    plain("plain_padding", "n6", bytes(eth() / IP(src=SERVER, dst=UE) / UDP(sport=5, dport=6)) + b"\0" * 18)
    for name, drop, raw in broken_users():
        kind = 0x86dd if name.endswith("6") and name != "version6" else 0x0800
        bad("plain_" + name, "n6", drop, bytes(Ether(type=kind, **MAC)) + raw)
    for dst in ("0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"):
        bad("to_" + dst, "n6", "not_for_us", eth() / IP(src=SERVER, dst=dst) / UDP())
    for dst in ("::", "::1", "::ffff:1.2.3.4", "ff02::1", "ff02::2", "ff05::2", "ff0e::101", "fe80::99"):
        bad("to_" + dst, "n6", "not_for_us", eth() / IPv6(src=SERVER6, dst=dst) / UDP())
    plain("to_1.0.0.1", "n6", eth() / IP(src=SERVER, dst="1.0.0.1") / UDP(sport=1, dport=2))
    plain("to_223.255.255.254", "n6", eth() / IP(src=SERVER, dst="223.255.255.254") / UDP(sport=1, dport=2))


def link_rows():
    group, option = "ff02::1:ff00:1", ICMPv6NDOptSrcLLAddr(lladdr=MAC["src"])
    ns, na = ICMPv6ND_NS(tgt=N6_6), ICMPv6ND_NA(tgt=SERVER6, S=1)
    for name, dst, what in (("ns_group", group, ns / option), ("ns_unicast", N6_6, ns), ("na", N6_6, na),
                            ("na_all", "ff02::1", na), ("na_link_local", "fe80::1", na)):
        plain(name, "n6", eth() / IPv6(src="fe80::9", dst=dst, hlim=255) / what, "nd")
        plain(name + "_vlan", "n6v", eth(200) / IPv6(src="fe80::9", dst=dst, hlim=255) / what, "nd")
        bad(name + "_far", "n6", "not_for_us", eth() / IPv6(src="fe80::9", dst=dst, hlim=254) / what)
    bad("ns_other_group", "n6", "not_for_us", eth() / IPv6(dst="ff02::1:ff00:77", hlim=255) / ns)
    bad("na_all_routers", "n6", "not_for_us", eth() / IPv6(dst="ff02::2", hlim=255) / na)
    bad("rs", "n6", "not_for_us", eth() / IPv6(dst="ff02::2", hlim=255) / ICMPv6ND_RS())
    bad("ra", "n6", "not_for_us", eth() / IPv6(dst="ff02::1", hlim=255) / ICMPv6ND_RA())
    # A neighbour solicitation to a UE is user traffic.
    plain("ns_to_ue", "n6", eth() / IPv6(src=SERVER6, dst=UE6, hlim=255) / ns)
    for name, op, vlan, iface in (("arp_request", 1, None, "n3"), ("arp_reply", 2, None, "n6"),
                                  ("arp_vlan", 1, 100, "n3v"), ("arp_prio", 1, 0, "n3")):
        frame = eth(vlan) / ARP(op=op, psrc=GNB, pdst=N3)
        at = len(bytes(frame)) - 28
        row(name, iface, "arp", frame, [0, 255, at, at, 28, 0, 0, 0, 0, "-"])
    for name, fields in (("hwtype", {"hwtype": 6}), ("ptype", {"ptype": 0x86dd}), ("hwlen", {"hwlen": 8}),
                         ("plen", {"plen": 16}), ("op0", {"op": 0}), ("op3", {"op": 3})):
        raw = bytearray(bytes(eth() / ARP(psrc=GNB, pdst=N3)))
        place = {"hwtype": 15, "ptype": 17, "hwlen": 18, "plen": 19, "op": 21}
        raw[place[name.rstrip("03")]] = list(fields.values())[0] & 0xff
        bad("arp_" + name, "n3", "bad_arp", bytes(raw))
    user = IP(src=SERVER, dst=UE) / UDP()
    bad("vlan_on_untagged", "n6", "vlan_unknown", eth(200) / user)
    bad("vlan_other", "n6v", "vlan_unknown", eth(201) / user)
    bad("untagged_on_vlan", "n6v", "vlan_unknown", eth() / user)
    bad("prio_on_vlan", "n6v", "vlan_unknown", eth(0) / user)
    bad("qinq_8100", "n6v", "not_ip", eth(200) / Dot1Q(vlan=5) / user)
    bad("qinq_88a8", "n6", "not_ip", Ether(**MAC) / Dot1AD(vlan=200) / Dot1Q(vlan=5) / user)
    bad("lldp", "n6", "not_ip", bytes(Ether(type=0x88cc, **MAC)) + b"\2\7\4" + b"x" * 20)
    bad("llc", "n6", "not_ip", bytes(Ether(type=38, **MAC)) + b"\x42\x42\3" + b"x" * 35)
    for name, raw in (("empty", b"\0"), ("runt13", bytes(eth() / user)[:13]), ("runt_tag", bytes(eth(200))[:17]),
                      ("runt_ip4", bytes(eth() / user)[:33]), ("runt_arp", bytes(eth() / ARP())[:41]),
                      ("runt_ip6", bytes(eth() / IPv6() / UDP())[:53])):
        bad(name, "n6v" if name == "runt_tag" else "n6", "runt", raw)


def main():
    global over6
    for over6 in (True, False):
        tunnel_rows()
        signal_rows()
        if over6:
            over6_rows()
    outer_rows()
    link_rows()
    names = [r.split()[0] for r in rows]
    assert len(names) == len(set(names)), sorted({n for n in names if names.count(n) > 1})
    print("# Made by make_frames.py; see there.")
    print("\n".join(rows))


main()
