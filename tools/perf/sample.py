"""What the daemon used while packets passed: CPU time, and cycles from its own counters.

A thread asks every quarter of a second or so; afterwards the samples around a trial say what it cost.
The daemon's counters come over its control socket, which costs its control thread little.
"""

import json
import os
import socket
import threading
import time
from dataclasses import dataclass

EVERY_S = 0.25
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Sample:
    """All grow with time: seconds, and counts."""

    at: float
    user: float
    system: float
    softirq: float  # of the whole machine
    busy_cycles: int
    idle_cycles: int
    packets: int
    turns: int
    drops: dict  # packets that the workers dropped, by name


def _process_times(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) / TICKS, int(fields[12]) / TICKS


def _softirq_time():
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[7]) / TICKS


def drops_of(workers, interfaces):
    """What was dropped, by name: of the rows of `show counters` and, before workers got it, of `show interfaces`.

    What a kernel's device dropped may be what its AF_XDP socket missed, and counts once then.
    """
    drops = {}
    for row in interfaces:
        for name in ("rx_missed", "rx_no_mbuf"):
            drops[f"{name} of {row['name']}"] = row[name]
        drops[f"netdev_rx_dropped of {row['name']}"] = max(0, row["netdev_rx_dropped"] - row["rx_missed"])
    for row in workers:
        for name, number in row["drops"].items():
            drops[name] = drops.get(name, 0) + number
    return {name: number for name, number in drops.items() if number}


class _Control:
    """The daemon's control socket, kept open."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(5)
        self._socket.connect(path)
        self._file = self._socket.makefile("rb")

    def ask(self, command):
        """A command's JSON."""
        self._socket.sendall(f"json {command}\n".encode())
        status, size = self._file.readline().split()
        answer = self._file.read(int(size))
        if int(status) != 0:
            raise RuntimeError(f"{command}: {answer.decode()}")
        return json.loads(answer)

    def close(self):
        """Nothing is asked any more."""
        self._file.close()
        self._socket.close()


class Sampler:
    """Samples a kit.daemon.Daemon while the context lasts."""

    def __init__(self, daemon, every_s=EVERY_S):
        self._daemon, self._every_s, self.samples = daemon, every_s, []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._control = None

    def __enter__(self):
        self._control = _Control(self._daemon.socket)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        self._control.close()

    def _run(self):
        while not self._end.wait(self._every_s):
            try:
                self.samples.append(self._take())
            except OSError:
                return

    def _take(self):
        workers = self._control.ask("show counters")["workers"]

        def total(name):
            return sum(row["counters"][name] for row in workers)

        user, system = _process_times(self._daemon.process.pid)
        return Sample(time.monotonic(), user, system, _softirq_time(), total("busy_cycles"),
                      total("idle_cycles"), total("rx"), total("turns") - total("idle_turns"),
                      drops_of(workers, self._control.ask("show interfaces")["interfaces"]))

    def dropped_before(self, moment):
        """What had been dropped by then, by name."""
        return next((sample.drops for sample in reversed(self.samples) if sample.at <= moment), {})

    def used(self, start, end):
        """What was used between two moments, or None: shares of one CPU in percent, means."""
        inside = [sample for sample in self.samples if start <= sample.at <= end]
        if len(inside) < 2:
            return None
        first, last = inside[0], inside[-1]

        def grown(name):
            return getattr(last, name) - getattr(first, name)

        seconds, packets = grown("at"), grown("packets")
        cycles = grown("busy_cycles") + grown("idle_cycles")
        return {
            "user_percent": 100 * grown("user") / seconds,
            "system_percent": 100 * grown("system") / seconds,
            "softirq_percent": 100 * grown("softirq") / seconds,
            "idle_percent": 100 * grown("idle_cycles") / cycles if cycles else 0,
            "cycles_per_packet": grown("busy_cycles") / packets if packets else 0,
            "turn_packets": packets / grown("turns") if grown("turns") else 0,
        }
