"""Figures by gnuplot, each as SVG and PNG, from the results of a run.

A figure without data is not drawn. Each function gives (title, gnuplot commands, data blocks).
"""

import os
import subprocess

import tables

FORMATS = {"svg": "svg size 760,420 dynamic background rgb 'white' font 'sans,12'",
           "png": "pngcairo size 1140,630 background rgb 'white' font 'sans,14'"}
COLOURS = ("9400d3", "009e73", "56b4e9", "e69f00", "0072b2", "e51e10", "222222", "b8a900", "cc79a7", "7f4f24",
           "99c24d", "888888")  # as many as a figure has lines, so that none is there twice
STYLE = "".join(f"set linetype {i} lc rgb '#{colour}'\n" for i, colour in enumerate(COLOURS, 1)) + \
        "set grid ytics lc rgb '#dddddd'\nset key outside right top\nset border 3\nset tics nomirror\n"


def _quote(text):
    return '"' + str(text).replace("\\", "").replace('"', "'").replace("_", "\\\\_") + '"'


def _block(name, rows):
    return f"${name} << EOD\n" + "\n".join(" ".join(map(str, row)) for row in rows) + "\nEOD\n"


def _lines(series, columns="1:2"):
    """plot commands for {title: rows}, one block each."""
    blocks = "".join(_block(f"d{i}", rows) for i, rows in enumerate(series.values()))
    plots = ", ".join(f"$d{i} using {columns} with linespoints lw 2 pt 7 ps 0.7 title {_quote(title)}"
                      for i, title in enumerate(series))
    return blocks, f"plot {plots}\n"


def _bars(names, table):
    """Clustered bars: {row label: [value, ...]} with a value for each of names."""
    rows = [[_quote(label), *("-" if value is None else value for value in values)]
            for label, values in table.items()]
    plots = ", ".join(f"$d using {i + 2}:xtic(1) title {_quote(name)}" for i, name in enumerate(names))
    return _block("d", rows), ("set style data histogram\nset style fill solid 0.8 border -1\n"
                               "set yrange [0:*]\n"), f"plot {plots}\n"


def throughput(results):
    """Rates by frame size and mode."""
    modes = results.get("modes", {})
    sizes = list(dict.fromkeys(str(row["frame"]) for mode in modes.values()
                               for row in mode["ndr"]["rows"]))
    table = {}
    for size in sizes:
        table[size] = [next((row["pps"] / 1000 for row in mode["ndr"]["rows"]
                             if str(row["frame"]) == size), None) for mode in modes.values()]
    if modes and any("io" in mode for mode in modes.values()):
        table["testpmd 64"] = [mode["io"]["rows"][0]["pps"] / 1000 if "io" in mode else None
                               for mode in modes.values()]
    if not table:
        return None
    data, style, plot = _bars(list(modes), table)
    return ("No-drop rate by frame size and mode",
            f"{style}set ylabel 'thousand packets a second'\n{plot}", data)


def latency(results):
    """Percentiles at each load, of the smallest frames."""
    series = {}
    for name, mode in results.get("modes", {}).items():
        loads = mode["ndr"]["rows"][0]["latency_us"]
        for percentile in ("p50", "p99", "p99.9"):
            rows = [(load["load_percent"], load["all"][percentile]) for load in loads]
            if rows:
                series[f"{name} {percentile}"] = rows
    if not series:
        return None
    data, plot = _lines(series)
    return ("Latency by load, frames of 64 bytes",
            "set logscale y\nset xlabel 'percent of the no-drop rate'\nset ylabel 'microseconds'\n"
            f"set xrange [0:100]\n{plot}", data)


def distribution(results):
    """From the shortest to the longest at half of the rate, of the smallest frames."""
    names = ("min", "p50", "p99", "p99.9", "max")
    series = {}
    for name, mode in results.get("modes", {}).items():
        loads = [load for load in mode["ndr"]["rows"][0]["latency_us"] if load["load_percent"] == 50]
        if loads:
            series[name] = [(i, loads[0]["all"][key]) for i, key in enumerate(names)]
    if not series:
        return None
    data, plot = _lines(series)
    tics = ", ".join(f"{_quote(name)} {i}" for i, name in enumerate(names))
    return ("Latency distribution at 50 % of the no-drop rate, frames of 64 bytes",
            f"set logscale y\nset xtics ({tics})\nset xrange [-0.2:{len(names) - 0.8}]\n"
            f"set ylabel 'microseconds'\n{plot}", data)


def services(results):
    """What each part of a packet's way takes, stacked."""
    rows = [row for row in results.get("cost", {}).get("rows", []) if row["work"] == "W"]
    if not rows:
        return None
    first = [row for row in rows if (row["sessions"], row["mbufs"]) ==
             (rows[0]["sessions"], rows[0]["mbufs"])]
    names = list(dict.fromkeys(name for row in first for name in row["services"]))
    table = {row["direction"]: [row["services"].get(name, 0) for name in names] for row in first}
    data, style, plot = _bars(names, table)
    return (f"Cycles by part of the way, {rows[0]['sessions']:,} sessions, read one by one",
            f"{style}set style histogram rowstacked\nset boxwidth 0.5\n"
            f"set ylabel 'cycles a packet'\n{plot}", data)


def sessions(results):
    """Cycles of the whole way by the number of sessions."""
    series = {}
    for row in results.get("cost", {}).get("rows", []):
        if row["work"] == "W":
            series.setdefault(f"{row['direction']}, {row['mbufs']:,} mbufs", []).append(
                (row["sessions"], row["cycles_median"], row["cycles_min"], row["cycles_max"]))
    if not series:
        return None
    data, plot = _lines(series)
    return ("Cycles of a packet by the number of sessions, in random order",
            f"set logscale x 2\nset format x '%.0f'\nset xlabel 'sessions'\nset yrange [0:*]\n"
            f"set ylabel 'cycles a packet, median'\n{plot}", data)


def _growth(what, title, label):
    """The maker of a figure of cycles by a column of the rows."""
    def make(results):
        series = {}
        for row in results.get("growth", {}).get(what, {}).get("rows", []):
            series.setdefault(row["direction"], []).append((row[what], row["cycles_median"]))
        if not series:
            return None
        data, plot = _lines(series)
        return (title, f"set logscale x 2\nset format x '%.0f'\nset xlabel '{label}'\n"
                f"set yrange [0:*]\nset ylabel 'cycles a packet, median'\n{plot}", data)
    return make


def workers(results):
    """Rates by the number of workers, as the model has them."""
    rows = tables.model_rows(results) if results.get("cost") else []
    if not rows:
        return None
    series = {"packets arriving at any worker": [(row.workers, row.mpps) for row in rows],
              "without handoff": [(row.workers, row.mpps_at_home) for row in rows]}
    for row in tables.measured_workers(results):
        series.setdefault("measured" + (", with handoff" if row["work"] == "workers+handoff" else ""),
                          []).append((row["workers"], row["mpps"]))
    data, plot = _lines(series)
    return ("A model of more workers, not a measurement: ports cost nothing",
            f"set xlabel 'workers'\nset yrange [0:*]\nset ylabel 'million packets a second'\n{plot}",
            data)


def stability(results):
    """What came back over time, by mode."""
    blocks, plots = "", []
    for i, (mode, found) in enumerate(results.get("soak", {}).items()):
        start = found["periods"][0]["start_s"]
        blocks += _block(f"d{i}", [(f"{period['end_s'] - start:.2f}",
                                    100 * period["received_pps"] / found["asked_pps"],
                                    period["latency_us"]["p99"]) for period in found["periods"]])
        plots += [f"$d{i} using 1:2 with lines lw 2 title {_quote(mode)}",
                  f"$d{i} using 1:3 axes x1y2 with lines lw 1 dt 2 title {_quote(f'{mode}, p99')}"]
    if not plots:
        return None
    return ("A steady rate over time",
            "set xlabel 'seconds'\nset ylabel 'received, percent of what was asked for'\nset yrange [0:*]\n"
            "set y2label 'latency p99, microseconds'\nset y2tics\nset logscale y2\n"
            f"plot {', '.join(plots)}\n", blocks)


FIGURES = {"throughput": throughput, "latency": latency, "distribution": distribution, "services": services,
           "sessions": sessions,
           "pdrs": _growth("pdrs", "Cycles of a packet by the number of PDRs",
                           "PDRs of each direction, with a filter each but for the last"),
           "filters": _growth("filters", "Cycles of a packet by the number of filters",
                              "filters of the first of two PDRs"),
           "flows": _growth("flows", "Cycles of a packet by the number of flows, in random order",
                            "flows"),
           "workers": workers, "stability": stability}


def draw(results, folder):
    """Draws what there is data for: {name: (title, path of the SVG)}."""
    drawn = {}
    for name, make in FIGURES.items():
        made = make(results)
        if not made:
            continue
        title, commands, data = made
        for suffix, terminal in FORMATS.items():
            path = os.path.join(folder, f"{name}.{suffix}")
            script = (f"set terminal {terminal}\nset output '{path}'\n{STYLE}"
                      f"set title {_quote(title)}\n{data}{commands}")
            subprocess.run(["gnuplot"], input=script, text=True, check=True, capture_output=True,
                           timeout=60)
        drawn[name] = (title, os.path.join(folder, f"{name}.svg"))
    return drawn
