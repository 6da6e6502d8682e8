#!/usr/bin/python3
"""What a packet or an N4 request costs in proportion to loops of the same run; fails where that has risen by 15 %.

For CI, where machines differ and are shared: times there vary by a factor of two from minute to minute, however
medians are taken. So nothing is timed. valgrind's callgrind counts the instructions of pipeline_batch(), and the
cache lines that it misses in a simulated cache of fixed size, for packets of sessions in random order; both are
the same on each run to a fraction of a percent. They are divided by those of loops that have nothing to do with
Sluice: a lookup in an rte_hash, and a copy of 128 bytes between buffers that are not in the cache. What that cannot
see is how well instructions overlap and what prefetching hides: `sluice-perf cost` shows it, on a quiet machine.

Of N4 the instructions of a request count, the mean of a session's establishment, modification and deletion, as
tests/perf/bench_n4.c sends them: all but the system's.

The ratios that hold stand in tests/perf/ratios.json; --write puts those of this run there, for a change that is
worth its cost and says so.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "../..")
BASELINE = os.path.join(TOP, "tests/perf/ratios.json")
DIRECTIONS = ("up", "down", "mixed")
N4 = "n4"
RISE = 0.15
AT_ONCE = 2
BATCH = 64   # packets of a call of pipeline_batch()
BULK = 32    # keys of a call of rte_hash_lookup_bulk()
COPIES = 16383  # of a call of copy_window()
CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
SIZES = ("--sessions", "16384", "--mbufs", "16384", "--packets", "16384", "--windows", "1",
         "--pages", "small", "--work", "W")
COUNTED = {("bed_window", "pipeline_batch"): BATCH,
           ("hash_window", "rte_hash_lookup_bulk"): BULK,
           ("copy_measure", "copy_window"): COPIES}
N4_COUNTED = {("request_send", "n4_request"): 1,
              ("hash_window", "rte_hash_lookup_bulk"): BULK}
NAMES = re.compile(r"(c?fn)=\((\d+)\)(?: (.*))?$")


def edges(text):
    """{(caller, callee): (calls, {event: inclusive cost})} of a callgrind profile."""
    events, names, found = [], {}, {}
    caller = callee = calls = None
    for line in text.splitlines():
        name = NAMES.match(line)
        if line.startswith("events:"):
            events = line.split()[1:]
        elif name:
            kind, number, said = name.groups()
            if said:
                names[number] = said.split("'")[0]
            if kind == "fn":
                caller = names[number]
            else:
                callee = names[number]
        elif line.startswith("calls="):
            calls = int(line[6:].split()[0])
        elif calls is not None:
            costs = list(map(int, line.split()[1:]))
            costs += [0] * (len(events) - len(costs))
            before = found.get((caller, callee), (0, dict.fromkeys(events, 0)))
            found[caller, callee] = (before[0] + calls, {
                event: before[1][event] + cost for event, cost in zip(events, costs)})
            calls = None
    return found


def _callers(profile, callee):
    """Calls and costs of a function, whoever calls it in what is inlined into the caller."""
    return [value for (_, called), value in profile.items() if called == callee]


def each(profile, caller, callee, times):
    """(instructions, lines missed) of one packet, lookup or copy."""
    if (caller, callee) in profile:
        calls, costs = profile[caller, callee]
    else:
        (calls, costs), = _callers(profile, callee)
    lines = sum(costs[event] for event in ("DLmr", "DLmw"))
    return costs["Ir"] / calls / times, lines / calls / times


def ratios(text):
    """{"instructions": of a lookup's, "lines": of a copy's} for a packet."""
    profile = edges(text)
    packet, lookup, copy = (each(profile, *edge, times) for edge, times in COUNTED.items())
    return {"instructions": packet[0] / lookup[0], "lines": packet[1] / copy[1]}


def n4_ratios(text):
    """{"instructions": of a lookup's} for a request, the mean of a session's three."""
    profile = edges(text)
    request, lookup = (each(profile, *edge, times) for edge, times in N4_COUNTED.items())
    return {"instructions": request[0] / lookup[0]}


def count(words, counted):
    """Runs a program under callgrind; its profile."""
    toggles = [f"--toggle-collect={callee}" for _, callee in counted]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "profile")
        words = ["valgrind", "--tool=callgrind", "--quiet", "--cache-sim=yes", *CACHES, *toggles,
                 f"--callgrind-out-file={path}", *words]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=1200)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr[-800:]}")
        with open(path, encoding="utf-8") as file:
            return file.read()


def judge(found, held):
    """[(text, passed)] for every ratio."""
    rows = []
    for direction, measured in found.items():
        for name, value in measured.items():
            before = held[direction][name]
            rise = value / before - 1
            rows.append((f"{direction}: {name} {value:.3f}, held {before:.3f} ({100 * rise:+.1f} %)",
                         rise <= RISE))
    return rows


def measure(options, way):
    """The ratios of a direction, or of N4."""
    if way == N4:
        return n4_ratios(count([options.n4_program], N4_COUNTED))
    return ratios(count([options.program, "cost", *SIZES, "--direction", way], COUNTED))


def main(words):
    """Measure and judge, or measure and write. 1 when a ratio has risen."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", default=os.path.join(TOP, "build-perf/tools/sluice-perf/sluice-perf"))
    parser.add_argument("--n4-program", default=os.path.join(TOP, "build-perf/tests/perf/bench_n4"))
    parser.add_argument("--write", action="store_true", help="let these ratios hold from now on")
    options = parser.parse_args(words)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ways = (*DIRECTIONS, N4)
        found = dict(zip(ways, pool.map(lambda way: measure(options, way), ways)))
    if options.write:
        rounded = {way: {name: round(value, 3) for name, value in row.items()}
                   for way, row in found.items()}
        with open(BASELINE, "w", encoding="utf-8") as file:
            json.dump(rounded, file, indent=1)
            file.write("\n")
    with open(BASELINE, encoding="utf-8") as file:
        rows = judge(found, json.load(file))
    for text, passed in rows:
        print(f"{'passed' if passed else 'FAILED'}  {text}")
    failed = sum(not passed for _, passed in rows)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
