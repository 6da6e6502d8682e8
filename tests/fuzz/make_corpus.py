#!/usr/bin/python3
"""Writes the seeds in corpus/ from ../golden: frames for `parse`, captures of PFCP for `pfcp` and `n4`.

Long frames and all but one of each kind, drop reason and flags are left out, and of messages all
but one of each type with the same IEs: the fuzzer finds the rest.
"""

import pathlib
import struct

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE / "../golden"
IFACES = ["n3", "n3v", "n6", "n6v"]
PFCP_PORT = 8805
SMF = bytes((127, 0, 0, 4))
STAMPED = 0x02 | 0x04  # a living session's SEID, a new sequence number: see fuzz_n4.c
HELD = 0x08
HEARTBEAT, SETUP, SESSIONS = 1, 5, 50


def frames():
    """One seed a frame, the interface's number before it."""
    seen = set()
    for line in (GOLDEN / "frames.txt").read_text().splitlines():
        fields = line.split()
        if line.startswith("#"):
            continue
        name, iface, kind, data = fields[0], fields[1], fields[2], bytes.fromhex(fields[-1])
        key = (kind, fields[3]) if kind == "bad" else (kind, *fields[10:13])
        if len(data) > 200 or key in seen:
            continue
        seen.add(key)
        write("parse", name, bytes([IFACES.index(iface)]) + data)


def said(path):
    """The PFCP messages of a capture (Ethernet, IPv4 without options): [(is the SMF's, octets)]."""
    octets, at = path.read_bytes(), 24
    while at + 16 <= len(octets):
        size = struct.unpack_from("<I", octets, at + 8)[0]
        frame = octets[at + 16:at + 16 + size]
        at += 16 + size
        if frame[12:15] == b"\x08\0\x45" and frame[23] == 17:
            source, target, length = struct.unpack_from("!HHH", frame, 34)
            if PFCP_PORT in (source, target):
                yield frame[26:30] == SMF, frame[42:34 + length]


def types(octets):
    """The types of a message's IEs, in order."""
    at = 16 if octets[0] & 1 else 8
    while at + 4 <= len(octets):
        kind, size = struct.unpack_from("!HH", octets, at)
        yield kind
        at += 4 + size


def messages():
    """One seed a message, of those that differ in what is in them."""
    seen = set()
    for path in sorted(GOLDEN.glob("*.pcap")):
        for number, (_, octets) in enumerate(said(path)):
            key = (octets[1], *types(octets))
            if key not in seen:
                seen.add(key)
                write("pfcp", f"{path.stem}-{number}", b"\0" + octets)


def conversations():
    """One seed a capture: what the SMF said, some of it while the workers wait."""
    for path in sorted(GOLDEN.glob("*.pcap")):
        records, beats = b"", 0
        for by_smf, octets in said(path):
            beats += octets[1] <= HEARTBEAT + 1
            if not by_smf or (octets[1] <= HEARTBEAT + 1 and beats > 2):
                continue
            control = STAMPED if octets[1] > SESSIONS else 0 if octets[1] == SETUP else 0x04
            if octets[1] == SESSIONS + 2:
                control |= HELD
            records += struct.pack("!BH", control, len(octets)) + octets
        write("n4", path.stem, records)


def write(target, name, octets):
    """Write a seed."""
    folder = HERE / "corpus" / target
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(octets)


if __name__ == "__main__":
    frames()
    messages()
    conversations()
