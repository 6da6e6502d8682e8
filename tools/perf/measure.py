"""The measurements that a report is made of: what runs where, and what it said.

Each gives what `sluice-perf --json` printed, with the daemon's CPU use beside the loads. All commands
are kept, as they were run, for the report.
"""

import contextlib
import json
import os
import re
import shlex
import subprocess
import tempfile

from kit import bench, topology
from kit.daemon import Daemon, binary, resident_kb
from kit.netns import Net
from sample import EVERY_S, Sampler, drops_of

IDLE_CLASS = ("chrt", "--idle", "0")  # runs when nothing else wants the CPU
TRAFFIC_WAIT_S = 30  # in mode virtio_user the daemon starts after the traffic side
IO_SIZES = "64"
GROWTH_SESSIONS = "65536"
GROWTH = {"pdrs": ("--work", "W", "--pdrs", "2,4,8,16,32,64,120"),
          "filters": ("--work", "W", "--filters", "1,2,4,8,16"),
          "flows": ("--work", "W+flow")}
OVERLOAD_PPS = 20000000  # more than the traffic side can send in any mode
OVERLOAD_PERIODS = 3  # of a second
TURN_SAMPLE_S = 0.9  # seldom, since the traffic side shares the CPU with who is asked
MORE_SESSIONS = 4096  # that come and go beside those that stand
NAMESPACE = re.compile(r"sluice-\d+-\d+-(\w+)")  # shown by its label alone


def explain_loss(found, before):
    """Which drops account for what a steady rate lost; `before` were those until it began."""
    found["lost_by"] = {name: number - before.get(name, 0) for name, number in found["drops"].items()
                        if number > before.get(name, 0)}
    found["lost_unexplained"] = max(0, found["lost"] - sum(found["lost_by"].values()))


class Measure:
    """Runs measurements. `say` is told what begins; `commands` are all that was run."""

    def __init__(self, options, say):
        self.options, self.say = options, say
        self.commands = []

    def _note(self, words, where=None):
        text = NAMESPACE.sub(r"\1", shlex.join(os.fspath(word) for word in words))
        self.commands.append(f"ip netns exec {where} {text}" if where else text)

    def _run(self, words, timeout):
        self._note(words)
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{shlex.join(words)}: {done.stderr.strip()[-500:]}")
        return json.loads(done.stdout)

    # ---- in process ----

    def cost(self):
        """Cycles a packet."""
        words = [binary("sluice-perf"), "cost", "--json", "--windows", str(self.options.windows),
                 "--work", "W,W+stats,handoff,workers"]
        if self.options.sessions:
            words += ["--sessions", self.options.sessions]
        return self._run(words, timeout=600)

    def growth(self):
        """How a packet's cost grows with PDRs, with filters and with flows: {what: what it said}."""
        sessions = (self.options.sessions or GROWTH_SESSIONS).split(",")[-1]
        common = [binary("sluice-perf"), "cost", "--json", "--windows", str(self.options.windows),
                  "--sessions", sessions, "--mbufs", "16384", "--direction", "up,down",
                  "--flows", self.options.flows]
        return {what: self._run([*common, *words], timeout=600)
                for what, words in GROWTH.items()}

    # ---- with traffic ----

    def _search_words(self):
        o = self.options
        return ["--json", "--seconds", str(o.seconds), "--loss", str(o.loss), "--precision",
                str(o.precision), "--ues", str(o.ues), "--wait", str(TRAFFIC_WAIT_S)]

    @contextlib.contextmanager
    def _daemon(self, upf, mode, folder, sample_s=EVERY_S, **more):
        def configured(control_socket):
            return bench.configuration(mode, control_socket, **more)

        daemon = Daemon(upf, folder, configured)
        self._note(daemon.command(), "upf")
        with daemon, Sampler(daemon, sample_s) as sampler:
            yield daemon, sampler

    @contextlib.contextmanager
    def _testpmd(self, upf, mode, folder):
        self._note(bench.testpmd_words(mode, folder), "upf")
        with bench.testpmd(upf, mode, folder):
            yield None, None

    def _traffic(self, mode, forwarder, engine, words, under=(), **more):
        """Runs an engine with traffic against who forwards: (what it said, daemon's memory, sampler).

        `under` are the words of a program that the traffic side is started by. What was dropped in all, by
        name, by the daemon and on the way to it and back, is with what it said; leaving it checks the daemon's
        accounts.
        """
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            gen, upf = bench.lay(stack.enter_context(Net(lambda *said: self._note(said))))
            words = [*under, *bench.traffic_words(engine, mode, *words, folder=folder)]
            self._note(words, "gen")
            first = mode == "virtio_user"
            if first:
                process = stack.enter_context(bench.traffic(gen, words, mode, folder))
            daemon, sampler = stack.enter_context(forwarder(upf, mode, folder, **more))
            if not first:
                process = stack.enter_context(bench.traffic(gen, words, mode, folder))
            out, err = process.communicate(timeout=900)
            if process.returncode not in (0, 1) or not out:
                raise RuntimeError(f"{shlex.join(words)}: {err.strip()[-500:]}")
            found = json.loads(out)
            if daemon:
                found["drops"] = {**drops_of(daemon.ctl("show", "counters")["workers"],
                                             daemon.ctl("show", "interfaces")["interfaces"]),
                                  **bench.side_drops(gen, mode)}
            return found, resident_kb(daemon) if daemon else None, sampler

    def io_forward(self, mode):
        """What testpmd carries on the ports of this mode."""
        words = [*self._search_words(), "--forwarder", "io", "--sizes", IO_SIZES, "--mode", mode]
        return self._traffic(mode, self._testpmd, "ndr", words)[0]

    def ndr(self, mode, io_pps):
        """The daemon's rates and latency, with the CPU it used at each load."""
        words = [*self._search_words(), "--sizes", self.options.sizes, "--mode", mode,
                 "--io-forward-pps", str(round(io_pps))]
        if self.options.imix:
            words.append("--imix")
        found, memory, sampler = self._traffic(mode, self._daemon, "ndr", words)
        for row in found["rows"]:
            for load in row["latency_us"]:
                trial = load["trials"][0]
                load["cpu"] = sampler.used(trial["start_s"], trial["end_s"])
        found["memory_kb"] = memory
        return found

    def _soak_words(self, pps, periods):
        return ["--json", "--pps", str(pps), "--periods", str(periods), "--ues", str(self.options.ues),
                "--wait", str(TRAFFIC_WAIT_S), "--loss", "100"]

    def in_turns(self, mode):
        """What testpmd and the daemon carry of more than can be sent, in turns: a row for each turn.

        One run has rates that another does not have, by where its memory came to lie and what else the host
        did; of several, each beside the other's, the middle is of use.
        """
        words = self._soak_words(OVERLOAD_PPS, OVERLOAD_PERIODS)
        rows = []
        for _ in range(self.options.turns):
            forward = self._traffic(mode, self._testpmd, "soak", [*words, "--forwarder", "io"])[0]
            found, _, sampler = self._traffic(mode, self._daemon, "soak", words, sample_s=TURN_SAMPLE_S)
            used = sampler.used(found["periods"][0]["start_s"], found["periods"][-1]["end_s"])
            rows.append({"io_pps": forward["received_pps"], "pps": found["received_pps"], "cpu": used,
                         "wrong": forward["wrong"] + found["wrong"]})
        return rows

    def soak(self, mode, pps):
        """A steady rate for a while, with sessions that come and go."""
        words = [*self._soak_words(max(round(pps), 1), self.options.periods), "--churn", str(self.options.churn)]
        found, _, sampler = self._traffic(mode, self._daemon, "soak", words)
        explain_loss(found, sampler.dropped_before(found["periods"][0]["start_s"]))
        return found

    def scale(self, mode):
        """Traffic over very many sessions while others come and go, at a share of what is carried so.

        The no-drop rate is looked for under the same conditions first. The traffic side, which is the SMF,
        too, shares a CPU with the daemon's N4 and gives way to it. Rings hold what comes meanwhile, and the
        traffic side makes up for what it did not send.
        """
        o = self.options
        words = ["--json", "--pps", str(o.scale_pps), "--share", str(o.scale_share), "--trial-seconds",
                 str(o.scale_trial), "--trial-loss", str(o.loss), "--precision", str(o.precision),
                 "--seconds", str(o.scale_seconds), "--periods", "1", "--churn", str(o.scale_churn),
                 "--ues", str(o.scale), "--ue6-base", bench.UE6_BASE,
                 "--wait", str(TRAFFIC_WAIT_S), "--loss", "100", "--catch-up", "1000"]
        most = o.scale + MORE_SESSIONS
        more = {"idle": "sleep", "sessions": most, "tunnels": most, "hashed": MORE_SESSIONS,
                "memory_mb": 512 + o.scale // 400, "ring": o.scale_ring}
        found, memory, sampler = self._traffic(mode, self._daemon, "soak", words, IDLE_CLASS, **more)
        explain_loss(found, sampler.dropped_before(found["periods"][0]["start_s"]))
        return {**found, "memory_kb": memory}

    # ---- N4 ----

    def pfcp(self):
        """Sessions a second, alone and beside others that stand."""
        found = {}
        for standing in (0, self.options.standing):
            with contextlib.ExitStack() as stack:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                gen, upf = bench.lay(stack.enter_context(Net(lambda *said: self._note(said))))
                more = {"sessions": standing + MORE_SESSIONS, "idle": "sleep",
                        "memory_mb": 512 + standing // 400}
                daemon, _ = stack.enter_context(self._daemon(upf, "af_packet", folder, **more))
                before = resident_kb(daemon)
                words = [binary("sluice-perf"), "pfcp", "--json", "--smf", topology.N4_SMF,
                         "--n4", topology.N4_UPF, "--ue-base", bench.UE_BASE,
                         "--standing", str(standing), "--seconds", "5",
                         "--cpu", str(topology.worker_cpus(1)[0])]
                self._note(words, "gen")
                done = gen.run(*words, timeout=300)
                found[standing] = json.loads(done.stdout)
                found[standing]["memory_kb"] = resident_kb(daemon) - before
        return found
