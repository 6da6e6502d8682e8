#!/usr/bin/python3
"""Writes corpus/parse from ../golden/frames.txt: one seed a frame, the interface's number before it.

Long frames and all but one of each kind, drop reason and flags are left out: the fuzzer finds the rest.
"""

import pathlib

HERE = pathlib.Path(__file__).parent
IFACES = ["n3", "n3v", "n6", "n6v"]
seen = set()

for line in (HERE / "../golden/frames.txt").read_text().splitlines():
    fields = line.split()
    if line.startswith("#"):
        continue
    name, iface, kind, data = fields[0], fields[1], fields[2], bytes.fromhex(fields[-1])
    key = (kind, fields[3]) if kind == "bad" else (kind, *fields[10:13])
    if len(data) > 200 or key in seen:
        continue
    seen.add(key)
    (HERE / "corpus/parse" / name).write_bytes(bytes([IFACES.index(iface)]) + data)
