#!/usr/bin/python3
"""Measure Sluice on this machine and write report/index.html: the short set, in about ten minutes.

Run it by `tools/dev perf`, which builds first. What is measured is said as it begins; results are kept
in report/results.json, figures beside it as SVG and PNG. With --compare only the I/O modes are measured,
beside testpmd on the same ports, and the tables are printed.
"""

import argparse
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../tests/smoke"))

from kit import bench  # noqa: E402  (the smoke tests' kit lays the network)
from kit.daemon import TOP  # noqa: E402
from kit.netns import interruptible  # noqa: E402

import figures  # noqa: E402
import machine  # noqa: E402
import native  # noqa: E402
import page  # noqa: E402
import tables  # noqa: E402
from measure import Measure  # noqa: E402

SOAK_SHARE = 0.8


def arguments(words):
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="tools/dev perf", description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--compare", action="store_true", help="only the I/O modes, beside testpmd")
    add("--modes", default=",".join(bench.MODES), help=f"of {', '.join(bench.MODES)}")
    add("--native", metavar="N3,N6,G3,G6", help="also mode native, on these NICs: PCI addresses of the "
        "daemon's two ports, and of the traffic side's, with cables to them")
    add("--sizes", default="64,512,1518", help="bytes of users' frames")
    add("--imix", action=argparse.BooleanOptionalAction, default=True, help="also a mix of sizes")
    add("--turns", type=int, default=5, help="of testpmd and the daemon under overload, in each mode")
    add("--seconds", type=float, default=1.5, help="of a trial")
    add("--loss", type=float, default=0.0, help="percent that a trial may lose")
    add("--precision", type=float, default=5, help="percent, of the search")
    add("--ues", type=int, default=1024, help="UEs with traffic")
    add("--windows", type=int, default=7, help="of the cost in process")
    add("--sessions", default="", help="of the cost in process: N,...")
    add("--flows", default="16384,65536,262144,1048576", help="of the cost by flows: N,...")
    add("--standing", type=int, default=100000, help="sessions beside which others come and go")
    add("--periods", type=int, default=15, help="seconds of a steady rate, in each mode")
    add("--churn", type=int, default=1000, help="sessions a second meanwhile")
    add("--scale", type=int, nargs="?", const=1000000, default=0,
        help="only this: so many sessions, each with two tunnels, an IPv4 and an IPv6 address, and "
             "traffic over all of them while others come and go")
    add("--scale-churn", type=int, default=10000, help="sessions a second meanwhile")
    add("--scale-share", type=float, default=100 * SOAK_SHARE,
        help="percent of the no-drop rate, which is found under the same conditions")
    add("--scale-pps", type=int, default=4000000, help="packets a second that the search begins with")
    add("--scale-trial", type=float, default=5, help="seconds of its trials")
    add("--scale-seconds", type=float, default=30, help="at that share")
    add("--scale-ring", type=int, default=4096, help="packets that the ports' rings hold")
    add("--figures", action=argparse.BooleanOptionalAction, default=True, help="draw them, by gnuplot")
    add("--folder", default=os.path.join(TOP, "report"), help="where the report goes")
    options = parser.parse_args(words)
    options.modes = options.modes.split(",")
    if options.native:
        try:
            bench.nics.update(native.nics(options.native))
        except ValueError as error:
            parser.error(str(error))
        if bench.NATIVE not in options.modes:
            options.modes.append(bench.NATIVE)
    elif bench.NATIVE in options.modes:
        parser.error("mode native needs --native N3,N6,G3,G6")
    unknown = [mode for mode in options.modes if mode not in (*bench.MODES, bench.NATIVE)]
    if unknown:
        parser.error(f"no mode {unknown[0]}; there are {', '.join(bench.MODES)}")
    return options


def say(text):
    """What begins now."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def measure_modes(measure):
    """Each mode with testpmd first, on ports of the same kind."""
    found = {}
    for mode in measure.options.modes:
        say(f"{mode}: testpmd's io-forward")
        forward = measure.io_forward(mode)
        io_pps = forward["rows"][0]["pps"]
        say(f"{mode}: {io_pps:,.0f} packets a second; now the daemon")
        found[mode] = {"io": forward, "ndr": measure.ndr(mode, io_pps), "turns": []}
        for row in found[mode]["ndr"]["rows"]:
            say(f"{mode}: frames of {row['frame']}: {row['pps']:,.0f} packets a second")
        if measure.options.turns:
            say(f"{mode}: testpmd and the daemon in turns, under overload")
            found[mode]["turns"] = measure.in_turns(mode)
    return found


def measure_scale(measure, results):
    """Very many sessions."""
    options = measure.options
    mode = options.modes[0] if len(options.modes) == 1 else "virtio_user"
    say(f"{mode}: {options.scale} sessions, then the no-drop rate and {options.scale_seconds:g} s at "
        f"{options.scale_share:g} % of it, {options.scale_churn} sessions a second")
    results["scale"] = {"mode": mode, **measure.scale(mode)}


def measure_all(measure, results):
    """Everything that was asked for, into results."""
    options = measure.options
    if options.scale:
        measure_scale(measure, results)
        return
    if not options.compare:
        say("cost of a packet, in process")
        results["cost"] = measure.cost()
        say("how it grows with rules and flows")
        results["growth"] = measure.growth()
        say("sessions over N4")
        results["pfcp"] = measure.pfcp()
    results["modes"] = measure_modes(measure)
    results["soak"] = {}
    for mode, found in results["modes"].items():
        say(f"{mode}: a steady rate for {options.periods} s, {options.churn} sessions a second")
        results["soak"][mode] = measure.soak(mode, SOAK_SHARE * found["ndr"]["rows"][0]["pps"])


def wrong_of(results):
    """Packets that came back and were not as they must be."""
    if "scale" in results:
        return results["scale"]["wrong"]
    modes = results["modes"].values()
    faults = [found["faults"] for mode in modes for found in (mode["ndr"], mode["io"])]
    others = [turn["wrong"] for mode in modes for turn in mode["turns"]]
    others += [found["wrong"] for found in results["soak"].values()]
    return sum(others) + sum(n for row in faults for name, n in row.items()
                             if name not in ("foreign", "reordered"))


def main(words):
    """Measure, write, print where. 1 when a packet was wrong, or is missing in a run of --scale and nobody dropped it."""
    options = arguments(words)
    interruptible()
    os.makedirs(options.folder, exist_ok=True)
    start = time.monotonic()
    results = {"when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}
    facts = machine.facts(TOP, bench.nics)
    measure = Measure(options, say)
    measure.commands.append(f"sudo tools/dev perf {' '.join(words)}".strip())
    measure_all(measure, results)
    results["seconds"] = time.monotonic() - start
    with open(os.path.join(options.folder, "results.json"), "w", encoding="utf-8") as file:
        json.dump({"facts": facts, "commands": measure.commands, **results}, file, indent=1)
    drawn = figures.draw(results, options.folder) if options.figures else {}
    path = os.path.join(options.folder, "index.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page.make(results, facts, measure.commands, drawn))
    for table in tables.of(results):
        print("\n" + tables.text(table))
    wrong = wrong_of(results)
    print(f"\n{path} is written ({results['seconds']:.0f} s); packets that were wrong: {wrong}")
    return 1 if wrong or results.get("scale", {}).get("lost_unexplained") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
