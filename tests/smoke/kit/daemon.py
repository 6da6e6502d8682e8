"""sluiced in a namespace: started from a configuration, asked through sluicectl, and ended.

Ready is what the daemon says (sd_notify), or a control socket that answers. A daemon that ends by
itself, ends badly, or leaves a sanitizer's report fails the test with the end of its log.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess

import yaml

from kit.netns import run
from kit.wait import Deadline, readable, wait_for

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
PLACES = ("src/app", "src", "tools", "tools/sluicectl", "tools/sluice-sim", "tools/sluice-perf")
SANITIZERS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:")
LOG_LINES = 40
IN = ("rx", "handoff_in", "injected", "made")
OUT = ("tx", "handoff_out", "punted", "consumed", "held")
CONTROL_IN = ("made",)
CONTROL_OUT = ("injected", "consumed", "held")


def binary(name):
    """The path of a program in the build folder ($SLUICE_BUILD, or build/)."""
    build = os.environ.get("SLUICE_BUILD", os.path.join(TOP, "build"))
    for place in PLACES:
        path = os.path.join(build, place, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(f"{name} is not in {build}: run tools/dev build")


class Daemon:
    """One run of the daemon. A context manager: leaving it checks the accounts and stops it."""

    def __init__(self, namespace, folder, configuration):
        self.namespace = namespace
        self.folder = os.fspath(folder)
        self.socket = os.path.join(self.folder, "ctl.sock")
        self.log_path = os.path.join(self.folder, "sluiced.log")
        self.config_path = os.path.join(self.folder, "sluice.yaml")
        with open(self.config_path, "w", encoding="utf-8") as file:
            yaml.safe_dump(configuration(self.socket), file, sort_keys=False,
                           default_flow_style=None)
        self.process = None
        self.program = None  # a copy of the daemon to run, for users who cannot reach the build folder

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self._end(signal.SIGKILL)
            print(self.log())
            return
        try:
            if self.process:
                self.check_accounting()
        finally:
            self.stop()

    # ---- its life ----

    def command(self):
        """The words that start the daemon."""
        return [self.program or binary("sluiced"), "--config", self.config_path]

    def start(self, timeout=20.0):
        """Start, and wait until it is ready."""
        notify_path = os.path.join(self.folder, "notify.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(notify_path)
            notify.bind(notify_path)
            with open(self.log_path, "ab") as log:
                self.process = self.namespace.start(
                    *self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    env={**os.environ, "NOTIFY_SOCKET": notify_path})
            try:
                self._wait_ready(notify, timeout)
            except BaseException:
                self._end(signal.SIGKILL)
                raise

    def _wait_ready(self, notify, timeout):
        deadline = Deadline(timeout)
        ended = os.pidfd_open(self.process.pid)
        try:
            while not deadline.passed():
                events = readable([notify, ended], min(0.2, deadline.left()))
                if ended in events:
                    raise RuntimeError(f"sluiced ended with {self.process.wait()}:\n{self.log()}")
                if notify in events and b"READY=1" in notify.recv(4096):
                    return
                if os.path.exists(self.socket) and self._ctl("show", "version").returncode == 0:
                    return
        finally:
            os.close(ended)
        raise TimeoutError(f"sluiced was not ready within {timeout} s:\n{self.log()}")

    def _end(self, number, timeout=20.0):
        if not self.process:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process = None

    def stop(self):
        """Ask it to end; it must do so, with status 0 and no sanitizer's report."""
        status = self._end(signal.SIGTERM)
        assert status in (0, None), f"sluiced ended with {status}:\n{self.log()}"
        faults = [word for word in SANITIZERS if word in self.log(lines=None)]
        assert not faults, f"{faults}:\n{self.log(lines=200)}"

    def kill(self):
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def alive(self):
        """Does it run?"""
        return self.process is not None and self.process.poll() is None

    def log(self, lines=LOG_LINES):
        """The end of its log."""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            rows = file.readlines()
        return "".join(rows if lines is None else rows[-lines:])

    # ---- asking it ----

    def ctl_command(self, *words):
        """The words that ask the daemon."""
        return [binary("sluicectl"), "--socket", self.socket, *words]

    def _ctl(self, *words):
        return run(*self.ctl_command(*words), check=False)

    def ctl(self, *words):
        """Run a command; its JSON, taken apart. A refusal raises RuntimeError."""
        done = self._ctl("--json", *words)
        if done.returncode != 0:
            raise RuntimeError(f"sluicectl {' '.join(words)}: {done.stderr or done.stdout}")
        return json.loads(done.stdout)

    def drops(self):
        """{reason: packets}, over all threads, without those that are 0."""
        return {name: number for name, number in self.ctl("show", "drops").items() if number}

    def check_accounting(self, timeout=3.0):
        """Every packet is accounted for; waits for a moment between two packets."""
        faults = []

        def balanced():
            faults[:] = accounting_faults(self.ctl("show", "counters"))
            return not faults

        try:
            wait_for(balanced, "balanced accounts", timeout)
        except TimeoutError as late:
            raise AssertionError("; ".join(faults)) from late


def resident_kb(daemon):
    """The daemon's memory that is there."""
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmRSS:")).split()[1])


def held(daemon):
    """What peers make the daemon keep, without what is 0 and what only time takes away."""
    shown = daemon.ctl("show", "pfcp", "resources")
    passing = ("answers_kept", "answer_peers", "transaction_bytes", "requests_of_ours")
    return {name: number for name, number in shown.items() if number and name not in passing}


def accounting_faults(shown):
    """What does not add up in `show counters --json`.

    That is {"workers": [{"worker": 0, "counters": {...}, "drops": {...}}, ...], "control":
    {"counters": {...}, "drops": {...}}}. The identity stands in src/stats/stats.h.
    """
    faults = []
    for row in shown["workers"]:
        came = _sum(row["counters"], IN)
        went = _sum(row["counters"], OUT) + sum(row["drops"].values())
        if came != went:
            faults.append(f"worker {row['worker']}: in {came}, out {went}: {row}")
    punted = sum(row["counters"].get("punted", 0) for row in shown["workers"])
    control = shown["control"]
    came = punted + _sum(control["counters"], CONTROL_IN)
    ended = _sum(control["counters"], CONTROL_OUT) + sum(control["drops"].values())
    if came != ended:
        faults.append(f"control: {punted} punted, in {came}, out {ended}: {control}")
    if not shown["workers"]:
        faults.append("no worker")
    return faults


def _sum(counters, names):
    return sum(counters.get(name, 0) for name in names)
