"""An SMF gone mad: more than 200,000 damaged messages, as fast as the daemon takes them.

What it says is what an SMF said in the captures of tests/golden, damaged by tests/hostile/mutate.c.
Meanwhile a session that has nothing to do with it forwards, and its SMF's heartbeats are answered.
Afterwards nothing of the mad one's sessions is left, and memory is what it was. `tools/dev check
asan` runs this with the sanitizers. SLUICE_STORM_SEED repeats a run, SLUICE_STORM_MESSAGES says
how many.
"""

import glob
import json
import os
import random
import subprocess
import time

import pytest
from kit import pfcp, topology
from kit.daemon import TOP, Daemon, held, resident_kb
from kit.scene import Scene

SEED = int(os.environ.get("SLUICE_STORM_SEED", "0")) or random.SystemRandom().getrandbits(32)
MESSAGES = int(os.environ.get("SLUICE_STORM_MESSAGES", "201000"))
WARM_UP = 0.4  # of them: what memory there is then is enough for the rest
GROWTH_KB = 16 << 10
STORM = "10.10.4.9"
HEARTBEAT_S = 3.0  # T1: later, and an SMF asks again
PAUSE_S = 0.02
CAPTURES = sorted(glob.glob(os.path.join(TOP, "tests/golden/*.pcap")))
# Freed memory is not to be kept for long, or it looks like growth.
ASAN_OPTIONS = "detect_leaks=1:abort_on_error=1:halt_on_error=1:quarantine_size_mb=8"


def storm_program():
    """The sender, beside the daemon."""
    build = os.environ.get("SLUICE_BUILD", os.path.join(TOP, "build"))
    return os.path.join(build, "tests/hostile/n4_storm")


class Witness:
    """The session that is not touched: used again and again, and what came of it."""

    def __init__(self, scene):
        self.scene = scene
        self.ue = scene.attach(v4="10.45.200.1", v6="2001:db8:cafe:c8::2")
        self.pings, self.slowest = 0, 0.0

    def look(self):
        """Packets up and down, and a heartbeat."""
        for dst in (topology.N6_DN, topology.N6_DN6):
            self.pings += 1
            found = self.scene.ping(self.ue, dst, self.pings & 0x7FFF)
            assert found, f"ping {self.pings} to {dst} was lost: {self.scene.daemon.drops()}"
        began = time.monotonic()
        self.scene.smf.heartbeat(timeout=HEARTBEAT_S)
        self.slowest = max(self.slowest, time.monotonic() - began)


def rage(scene, witness, messages, seed):
    """Let the storm send so many, under the eyes of the witness; what it tells afterwards."""
    mad = scene.network.ran.start(storm_program(), STORM, topology.N4_UPF, str(messages), str(seed),
                                  *CAPTURES, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        while True:
            witness.look()
            assert scene.daemon.alive(), scene.daemon.log(lines=200)
            try:
                told, faults = mad.communicate(timeout=PAUSE_S)
                break
            except subprocess.TimeoutExpired:
                continue
    finally:
        mad.kill()
    assert mad.returncode == 0, f"{faults}\n{scene.daemon.log(lines=200)}"
    return json.loads(told)


def test_storm(net, tmp_path, monkeypatch):
    """Nobody but the mad one notices."""
    print(f"SLUICE_STORM_SEED={SEED}")
    monkeypatch.setenv("ASAN_OPTIONS", ASAN_OPTIONS)
    monkeypatch.setenv("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    laid = topology.lay(net, queues=2)
    laid.ran.address("n4", f"{STORM}/24")

    def configuration(control_socket):
        made = topology.configuration("af_packet", control_socket, 2)
        made["n4"]["heartbeat_ms"] = 1000
        return made

    with Daemon(laid.upf, tmp_path, configuration) as daemon, Scene(laid, daemon, tmp_path) as scene:
        witness = Witness(scene)
        first = rage(scene, witness, int(MESSAGES * WARM_UP), SEED)
        before = resident_kb(daemon)
        second = rage(scene, witness, MESSAGES - first["sent"], SEED + 1)
        after = resident_kb(daemon)
        counters = daemon.ctl("show", "pfcp", "counters")
        print(first, second, f"{before} kB, {after} kB, {witness.pings} pings, slowest heartbeat "
              f"{witness.slowest:.3f} s", counters["counters"], counters["causes"])
        assert first["sent"] + second["sent"] >= MESSAGES
        # It was not all refused at the door.
        assert first["causes"]["1"] > first["sent"] / 20
        assert len(second["causes"]) >= 6
        assert counters["counters"]["rx"] >= MESSAGES
        assert after - before < GROWTH_KB, f"{before} kB became {after} kB"
        only_the_witness(scene, witness)


def only_the_witness(scene, witness):
    """What the mad one made could be ended; the witness has what it had."""
    daemon = scene.daemon
    assert scene.sessions() == 1
    rows = daemon.ctl("show", "associations")["associations"]
    assert [(row["node_id"], row["state"], row["path_failures"]) for row in rows] == [
        (topology.N4_SMF, "up", 0)]
    assert sum(row["sessions"] for row in daemon.ctl("show", "workers")["workers"]) == 1
    assert scene.smf.heartbeats > 0
    scene.assert_forwards(witness.ue, sequence=0x7FFF)
    pfcp.assert_accepted(witness.ue.session.delete())
    assert scene.sessions() == 0
    assert not any(row["tunnels"] for row in daemon.ctl("show", "neighbours")["neighbours"])
    assert held(daemon) == {"associations": 1}
