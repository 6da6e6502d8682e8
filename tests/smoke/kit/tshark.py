"""tshark as the judge of what was captured: its fields, and whether it finds fault.

Every function takes the path of a finished or still growing pcap.
"""

import os
import subprocess

# Severities as tshark counts them; a warning may be fair, an error is not.
WARNING, ERROR = 0x600000, 0x800000

# Where ports are drawn, none but that of GTP-U says what the payload is.
PAYLOAD_UNREAD = ("-d", "udp.port==1-2151,data", "-d", "udp.port==2153-65535,data",
                  "-d", "tcp.port==1-65535,data")


def tshark(pcap, *options):
    """What tshark prints about a capture."""
    command = ["tshark", "-n", "-r", os.fspath(pcap), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def fields(pcap, *names, where=""):
    """One dict a packet that matches the display filter `where`: each field's list of values."""
    options = ["-T", "fields", "-E", "separator=/t", "-E", "aggregator=,"]
    options += [word for name in names for word in ("-e", name)]
    printed = tshark(pcap, *options, *(["-Y", where] if where else []))
    rows = (line.split("\t") for line in printed.splitlines())
    return [{name: value.split(",") if value else [] for name, value in zip(names, row)}
            for row in rows]


def count(pcap, where=""):
    """How many packets match the display filter."""
    return len(fields(pcap, "frame.number", where=where))


def assert_clean(pcap, protocol, at_least=1, severity=ERROR, where=""):
    """Every packet is of the protocol, there are enough of them, and none has a fault.

    Only those that match the display filter `where` are judged.
    """
    rows = fields(pcap, "frame.number", "frame.protocols", "_ws.malformed", "_ws.expert.severity",
                  where=where)
    others = [row for row in rows if protocol not in row["frame.protocols"][0].split(":")]
    assert len(rows) >= at_least, f"{pcap}: {len(rows)} packets, {at_least} wanted"
    assert not others, f"{pcap}: packets that are not {protocol}: {others}"
    faulty = [row["frame.number"][0] for row in rows if row["_ws.malformed"]
              or any(int(seen) >= severity for seen in row["_ws.expert.severity"])]
    if faulty:
        shown = tshark(pcap, "-V", "-Y", f"frame.number in {{{','.join(faulty)}}}")
        raise AssertionError(f"{pcap}: tshark finds fault:\n{shown}")
