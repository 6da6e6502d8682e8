"""Tables of a run's results: [(title, heads, rows)], rows of texts. For the page and the terminal.

Every cell is a figure that was measured in the run; what was not measured has no row.
"""

import statistics
from typing import NamedTuple

WORK = {"W": "the whole way", "W+stats": "the whole way, its time told",
        "handoff_rx": "handoff, receiver", "handoff_owner": "handoff, owner above its share",
        "workers": "the whole way, workers at once: {}",
        "workers+handoff": "the same, packets arriving at any: {}"}
MODEL_WORKERS = (1, 2, 4, 8, 16)
GROWTH_HEADS = {"pdrs": "PDRs of each direction", "filters": "filters of the first of two PDRs",
                "flows": "flows"}


def _cycles(row):
    return f"{row['cycles_median']:.0f} ({row['cycles_min']:.0f} to {row['cycles_max']:.0f})"


def cost(results):
    """Cycles a packet."""
    found = results["cost"]
    table = {}
    for row in found["rows"]:
        work = WORK[row["work"]].format(row.get("workers"))
        key = (work, row["mbufs"], row["sessions"])
        table.setdefault(key, {})[row["direction"]] = _cycles(row)
    rows = [[work, f"{sessions:,}", f"{mbufs:,}", *(ways.get(way, "") for way in
                                                         ("up", "down", "mixed"))]
            for (work, mbufs, sessions), ways in sorted(table.items())]
    for name, reference in found["references"].items():
        rows.append([f"reference loop {name}", "", "", _cycles(reference), "", ""])
    return [(f"Cycles a packet, in process: median (smallest to largest) of {found['windows']} windows, "
             f"{found['pages']} pages", ["work", "sessions", "mbufs", "up", "down", "mixed"], rows)]


def _rows_of(results):
    for name, mode in results["modes"].items():
        for row in mode["ndr"]["rows"]:
            yield name, mode, row


def throughput(results):
    """Rates, beside testpmd's."""
    rows = []
    for name, mode, row in _rows_of(results):
        io_pps = row["io_forward_pps"]
        ratio = f"{row['pps'] / io_pps:.2f}" if io_pps and row["frame"] == 64 else ""
        limited = row["generator_limited"] or (row["frame"] == 64 and
                                               mode["io"]["rows"][0]["generator_limited"])
        rows.append([name, str(row["frame"]), f"{row['pps']:,.0f}", f"{row['bps'] / 1e6:,.0f}",
                     f"{100 * row['loss']:.4f}", f"{row['overload_pps']:,.0f}",
                     f"{io_pps:,.0f}" if io_pps and row["frame"] == 64 else "", ratio,
                     "yes" if limited else ""])
    if "native" not in results["modes"]:
        rows.append(["native", "no NIC given (--native)", *[""] * 7])
    first = next(_rows_of(results))[2]
    return [(f"No-drop rate (RFC 2544) with one worker, both directions together, trials of "
             f"{first['trial_seconds']:g} s, {first['loss_tolerance_percent']:g} % loss tolerated",
             ["mode", "frame, bytes", "packets/s", "Mbit/s", "loss, %", "packets/s under overload",
              "testpmd io, 64 bytes", "ratio", "the traffic side was the limit"], rows)]


def _middle(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def turns(results):
    """Rates under overload, testpmd and the daemon in turns."""
    rows = []
    for name, mode in results["modes"].items():
        used = [turn["cpu"] for turn in mode["turns"] if turn["cpu"]]
        if mode["turns"]:
            rows.append([name, str(len(mode["turns"])),
                         *(_middle([turn[key] for turn in mode["turns"]], ",.0f") for key in ("pps", "io_pps")),
                         _middle([turn["pps"] / turn["io_pps"] for turn in mode["turns"]], ".2f"),
                         *(_middle([row[key] for row in used], ",.0f") if used else ""
                           for key in ("idle_percent", "cycles_per_packet"))])
    return [("More than can be sent, frames of 64 bytes, one worker, testpmd's io-forward and the daemon in turns: "
             "median (least to most); a worker that idles was not the limit",
             ["mode", "turns", "packets/s", "testpmd's", "ratio of a turn", "worker idle, %",
              "cycles/packet"], rows)]


def latency(results):
    """Percentiles at shares of the rate."""
    rows = []
    for name, _, row in _rows_of(results):
        for load in row["latency_us"]:
            times = load["all"]
            rows.append([name, str(row["frame"]), f"{load['load_percent']}",
                         *(f"{times[key]:,.1f}" for key in
                           ("min", "mean", "p50", "p99", "p99.9", "max"))])
    return [("Latency, microseconds", ["mode", "frame", "load, %", "min", "mean", "p50", "p99",
                                       "p99.9", "max"], rows)]


def cpu(results):
    """What the daemon used at each load."""
    keys = ("user_percent", "system_percent", "softirq_percent", "idle_percent", "cycles_per_packet",
            "turn_packets")
    rows = [[name, str(row["frame"]), str(load["load_percent"]),
             *(f"{load['cpu'][key]:,.1f}" for key in keys)]
            for name, _, row in _rows_of(results) for load in row["latency_us"] if load["cpu"]]
    return [("CPU use of the daemon: shares of one CPU (softirq: of the machine), the worker's idle "
             "share, its cycles a packet with the port's, packets a turn",
             ["mode", "frame", "load, %", "user, %", "system, %", "softirq, %", "idle, %",
              "cycles/packet", "packets/turn"], rows)]


def pfcp(results):
    """Sessions a second."""
    rows = []
    for found in results["pfcp"].values():
        times = found["latency_us"]
        rows.append([f"{found['standing']:,}", f"{found['standing_s']:.2f}",
                     f"{found['memory_kb'] / 1024:,.0f}", f"{found['sessions_per_s']:,.0f}",
                     *(f"{times[verb]['p50']:,.0f} / {times[verb]['p99']:,.0f}"
                       for verb in ("establish", "modify", "delete")),
                     str(sum(found["failed"].values()))])
    return [("N4: sessions established, modified and deleted a second; microseconds p50 / p99",
             ["standing", "established in, s", "memory grown, MB", "sessions/s", "establish",
              "modify", "delete", "failed"], rows)]


def soak(results):
    """A steady rate in sum, by mode."""
    rows = [[mode, f"{found['sent']:,}", f"{found['lost']:,}",
             ", ".join(f"{name} {number:,}" for name, number in sorted(found["lost_by"].items())),
             f"{found['lost_unexplained']:,}", str(found["wrong"]),
             f"{found['received_pps_min']:,.0f}", f"{found['received_pps']:,.0f}",
             f"{found['received_pps_max']:,.0f}", f"{found['sessions_per_s']:,.0f}",
             str(found["sessions_failed"]), f"{found['latency_us']['p99']:,.1f}"]
            for mode, found in results["soak"].items()]
    periods = len(next(iter(results["soak"].values()))["periods"])
    return [(f"Stability: a steady rate for {periods} s, sessions coming and going",
             ["mode", "packets sent", "lost", "by", "not explained", "wrong", "received/s, min", "median", "max",
              "sessions/s", "failed", "p99, us"], rows)]


def scale(results):
    """Very many sessions in sum; what was lost, by name."""
    found = results["scale"]
    search, period = found["search"], found["periods"][0]
    limit = " (the traffic side was the limit)" if search["generator_limited"] else ""
    rows = [
        ["sessions established in, s", f"{found['established_s']:.1f}"],
        ["memory, MB", f"{found['memory_kb'] / 1000:,.0f}"],
        [f"no-drop rate, packets/s, trials of {search['trial_seconds']:g} s, "
         f"{search['loss_tolerance_percent']:g} % loss tolerated", f"{search['ndr_pps']:,.0f}{limit}"],
        ["packets/s under overload", f"{search['overload_pps']:,.0f}"],
        ["then asked for, packets/s", f"{found['asked_pps']:,.0f} "
         f"({100 * found['asked_pps'] / search['ndr_pps']:.0f} % of the no-drop rate)"],
        ["sent, packets/s", f"{period['offered_pps']:,.0f}"],
        ["packets sent", f"{found['sent']:,}"],
        ["lost", f"{found['lost']:,}"],
        *([f"lost by {name}", f"{number:,}"] for name, number in sorted(found["lost_by"].items())),
        ["lost and not explained", f"{found['lost_unexplained']:,}"],
        ["wrong", f"{found['wrong']:,}"],
        ["established, modified and deleted meanwhile, sessions/s", f"{found['sessions_per_s']:,.0f}"],
        ["procedures that failed", f"{found['sessions_failed']:,}"],
        ["latency p50, us", f"{found['latency_us']['p50']:,.1f}"],
        ["latency p99, us", f"{found['latency_us']['p99']:,.1f}"],
        ["latency max, us", f"{found['latency_us']['max']:,.1f}"],
    ]
    return [(f"{found['ues']:,} sessions, mode {found['mode']}, for "
             f"{period['end_s'] - period['start_s']:.0f} s", ["", ""], rows)]


def _median(results, work, sessions, direction="mixed"):
    return next((row["cycles_median"] for row in results["cost"]["rows"] if row["work"] == work and
                 row["sessions"] == sessions and row["direction"] == direction), None)


class ModelRow(NamedTuple):
    """What so many workers would carry."""

    workers: int
    share: float  # of packets that are handed over
    cycles: float
    mpps: float
    mpps_at_home: float  # if none were


def _model_costs(results):
    """(sessions of each worker, a packet's cycles, what one that is handed over costs above them), or None."""
    counts = [row["sessions"] for row in results["cost"]["rows"] if row["work"] == "handoff_rx"]
    if not counts:
        return None
    sessions = max(counts)
    way, owner = _median(results, "W", sessions), _median(results, "handoff_owner", sessions)
    receiver = _median(results, "handoff_rx", sessions)
    if None in (way, owner, receiver):
        return None
    parts = next(row["services"] for row in results["cost"]["rows"]
                 if row["work"] == "handoff_rx" and row["sessions"] == sessions
                 and row["direction"] == "mixed")
    return sessions, way, receiver - sum(parts.values()) + owner


def model_rows(results):
    """What more workers would carry, from what one packet costs them; the port's cost is not in it."""
    costs, hz = _model_costs(results), results["cost"]["tsc_hz"]
    if not costs:
        return []
    _, way, more = costs
    rows = []
    for workers in MODEL_WORKERS:
        share = (workers - 1) / workers
        cycles = way + share * more
        rows.append(ModelRow(workers, share, cycles, workers * hz / cycles / 1e6,
                             workers * hz / way / 1e6))
    return rows


def measured_workers(results):
    """The rows of runs with one worker and with two at once, of as many sessions as the model has, or none."""
    costs = _model_costs(results)
    return [row for row in results["cost"]["rows"] if "workers" in row and row["direction"] == "mixed"
            and costs and row["sessions"] == costs[0]]


def model_check(results):
    """The model beside those runs."""
    rows = []
    for row in measured_workers(results):
        _, way, more = _model_costs(results)
        cycles = way + row["handed_over"] * more
        mpps = row["workers"] * results["cost"]["tsc_hz"] / cycles / 1e6
        rows.append([str(row["workers"]), f"{100 * row['handed_over']:.1f}", _cycles(row), f"{cycles:.0f}",
                     f"{row['mpps']:.1f}", f"{mpps:.1f}", f"{100 * (row['mpps'] / mpps - 1):+.0f}"])
    return [("The model beside runs in process, each worker a thread on a CPU of its own: sessions and mbufs as "
             "in the model for each", ["workers", "handed over, %", "cycles/packet, measured", "model",
                                       "Mpackets/s, measured", "model", "deviation of the rate, %"], rows)]


def model(results):
    """The same as a table."""
    rows = [[str(row.workers), f"{100 * row.share:.0f}", f"{row.cycles:.0f}", f"{row.mpps:.1f}",
             f"{row.mpps_at_home:.1f}"] for row in model_rows(results)]
    if not rows:
        return []
    sessions, way, more = _model_costs(results)
    return [(f"A model of more workers, not a measurement: {sessions:,} sessions, packets arriving at "
             f"any worker alike; a packet costs {way:.0f} cycles and, where it is handed over, "
             f"{more:.0f} more; ports cost nothing",
             ["workers", "handed over, %", "cycles/packet", "Mpackets/s", "without handoff"], rows)]


def growth(results):
    """Cycles by PDRs, by filters, by flows."""
    made = []
    for what, found in results["growth"].items():
        table = {}
        for row in found["rows"]:
            table.setdefault(row[what], {})[row["direction"]] = _cycles(row)
        rows = [[f"{count:,}", ways.get("up", ""), ways.get("down", "")]
                for count, ways in table.items()]
        made.append((f"Cycles a packet by {what}, {found['rows'][0]['sessions']:,} sessions, "
                     f"{found['pages']} pages", [GROWTH_HEADS[what], "up", "down"], rows))
    return made


PARTS = {"cost": (cost, model, model_check), "growth": (growth,), "modes": (throughput, turns, latency, cpu), "pfcp": (pfcp,),
         "soak": (soak,), "scale": (scale,)}


def of(results):
    """All tables that there are results for, in order."""
    return [table for part, makers in PARTS.items() if results.get(part)
            for make in makers for table in make(results) if table[2]]


def text(table):
    """A table for a terminal."""
    title, heads, rows = table
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = ["  ".join(cell.rjust(width) if i else cell.ljust(width)
                       for i, (cell, width) in enumerate(zip(row, widths)))
             for row in [heads, *rows]]
    return "\n".join([title, *lines])
