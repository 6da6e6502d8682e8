"""sluice-perf's traffic against the daemon in each mode, shortly: that it finds a rate and judges packets.

How fast anything is depends on the machine and is not judged here: the rates asked for are small.
"""

import contextlib
import json
import subprocess

import pytest
from kit import bench
from kit.daemon import Daemon, held
from kit.wait import wait_for

SHORT = ("--ues", "50", "--flows", "3", "--seconds", "0.5", "--most-pps", "4000",
         "--loss", "20", "--precision", "40", "--loads", "50,100")


@pytest.fixture
def gen_upf(net, workers):
    """The two namespaces, with a queue for each worker."""
    return bench.lay(net, queues=workers)


@pytest.fixture
def bench_daemon(gen_upf, mode, workers, tmp_path):
    """The daemon between the ports of the traffic side; leaves its CPU to others when idle."""
    with Daemon(gen_upf[1], tmp_path,
                lambda path: bench.configuration(mode, path, workers, idle="sleep")) as running:
        yield running


def times_are_sound(times, seconds):
    """Percentiles are in order, and none is longer than a trial with what follows it."""
    return (0 < times["min"] <= times["p50"] <= times["p99"] <= times["p99.9"] <= times["max"]
            < (seconds + 2) * 1e6 and times["min"] <= times["mean"] <= times["max"])


def row_is_sound(row):
    """What was found is what trials came to."""
    best = [trial for trial in row["trials"] if trial["passed"]]
    assert best and row["pps"] == max(trial["offered_pps"] for trial in best)
    for trial in row["trials"]:
        assert trial["start_s"] < trial["end_s"] and trial["received_pps"] <= trial["offered_pps"]
        assert trial["offered_pps"] < trial["asked_pps"] * 1.05
    assert [load["load_percent"] for load in row["latency_us"]] == [50, 100]
    for load in row["latency_us"]:
        assert load["all"]["n"] == load["up"]["n"] + load["down"]["n"]
        assert all(times_are_sound(load[way], 0.5) for way in ("all", "up", "down"))


def test_ndr(gen_upf, bench_daemon, mode, workers):
    """Each packet that comes back is the right one, whatever the size; nothing is left of the sessions."""
    words = bench.traffic_words("ndr", mode, *SHORT, "--sizes", "64,1518", "--imix", "--mode", mode,
                                "--workers", str(workers), "--io-forward-pps", "5000", "--json",
                                queues=workers)
    found = json.loads(gen_upf[0].run(*words, timeout=60).stdout)
    assert [row["frame"] for row in found["rows"]] == [64, 1518, "imix"]
    for row in found["rows"]:
        row_is_sound(row)
        assert (row["mode"], row["workers"], row["io_forward_pps"]) == (mode, workers, 5000)
    wrong = {name: n for name, n in found["faults"].items()
             if n and name not in ("foreign", "reordered")}
    assert not wrong
    forwarded = bench_daemon.ctl("show", "counters")["workers"]
    for way in ("up", "down"):
        assert sum(row["counters"][way] for row in forwarded) > 1000
    assert held(bench_daemon) == {}


@pytest.mark.parametrize("workers", [1])
def test_ndr_of_testpmd(gen_upf, mode, tmp_path):
    """What forwards frames as they are is measured alike, on the same ports."""
    with bench.testpmd(gen_upf[1], mode, tmp_path):
        words = bench.traffic_words("ndr", mode, *SHORT, "--forwarder", "io")
        done = gen_upf[0].run(*words, "--json", timeout=60)
        text = gen_upf[0].run(*words, "--direction", "up", timeout=60).stdout
    found = json.loads(done.stdout)
    row_is_sound(found["rows"][0])
    assert found["rows"][0]["io_forward_pps"] is None
    assert "frames of 64, up:" in text and " down us:" not in text


@pytest.mark.parametrize("workers", [1])
@pytest.mark.parametrize("mode", ["af_packet"])
def test_no_upf(gen_upf, mode):
    """Without a daemon there is a reason and a status."""
    done = gen_upf[0].run(*bench.traffic_words("ndr", mode), check=False)
    assert done.returncode == 1 and "no association" in done.stderr
    done = gen_upf[0].run(*bench.traffic_words("ndr", mode, "--forwarder", "io"), check=False)
    assert done.returncode == 1 and "lost even when there are few" in done.stderr


@pytest.mark.parametrize("workers", [1])
def test_soak(gen_upf, bench_daemon, mode):
    """Period by period, while other sessions come and go; all is accounted for in the end."""
    words = bench.traffic_words("soak", mode, "--ues", "20", "--pps", "2000", "--seconds", "0.4",
                                "--periods", "3", "--churn", "100", "--loss", "20",
                                "--sizes", "64,300")
    found = json.loads(gen_upf[0].run(*words, "--json", timeout=60).stdout)
    assert len(found["periods"]) == 3 and found["wrong"] == 0 and found["sessions_failed"] == 0
    assert found["lost"] == sum(period["lost"] for period in found["periods"])
    assert 10 < found["sessions"] < 500
    assert times_are_sound(found["latency_us"], 0.4)
    lines = gen_upf[0].run(*words, "--churn", "0", "--csv", timeout=60).stdout.splitlines()
    assert lines[0].startswith("period,offered_pps") and len(lines) == 4
    assert held(bench_daemon) == {}


@pytest.mark.parametrize("workers", [1])
@pytest.mark.parametrize("mode", ["af_xdp"])
def test_busy_queue(gen_upf, bench_daemon, mode):
    """One that the traffic side's predecessor still has is waited for."""
    gen, words = gen_upf[0], ("--ues", "20", "--pps", "2000", "--seconds", "0.4", "--periods", "1", "--loss", "20")
    with contextlib.ExitStack() as stack:
        def start(*more):
            process = gen.start(*bench.traffic_words("soak", mode, *words, *more), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
            stack.callback(process.communicate)
            stack.callback(process.kill)
            return process

        first = start("--forwarder", "io")  # nobody forwards, so it goes on for 5 s
        wait_for(lambda: all("xdp" in gen.inside("link", "show", "dev", name).stdout for name in ("g3", "g6")),
                 "the first to have its sockets")
        second = start("--json")
        assert "waiting for queue 0" in second.stderr.readline()
        first.kill()
        found, said = second.communicate(timeout=30)
        assert second.returncode == 0, (found, said)
        assert json.loads(found)["wrong"] == 0


@pytest.mark.parametrize("workers", [1])
@pytest.mark.parametrize("mode", ["af_packet"])
def test_soak_at_a_share(gen_upf, bench_daemon, mode):
    """The rate is a share of what passes, which is found first; sessions come and go at theirs all the while."""
    words = bench.traffic_words("soak", mode, "--ues", "20", "--pps", "3000", "--share", "40",
                                "--trial-seconds", "0.4", "--trial-loss", "20", "--precision", "40",
                                "--seconds", "1.5", "--periods", "2", "--churn", "100", "--loss", "20")
    found = json.loads(gen_upf[0].run(*words, "--json", timeout=60).stdout)
    best = max(trial["offered_pps"] for trial in found["search"]["trials"] if trial["passed"])
    assert found["search"]["ndr_pps"] == pytest.approx(best)
    assert found["asked_pps"] == pytest.approx(0.4 * best)
    assert all(period["offered_pps"] < found["asked_pps"] * 1.05 for period in found["periods"])
    assert 50 < found["sessions_per_s"] < 105 and found["sessions_failed"] == 0
    text = gen_upf[0].run(*words, timeout=60).stdout
    assert "no-drop rate" in text and "sessions" in text.splitlines()[-1]
    assert held(bench_daemon) == {}


@pytest.mark.parametrize("workers", [1])
@pytest.mark.parametrize("mode", ["af_packet"])
def test_ndr_beside_churn(gen_upf, bench_daemon, mode):
    """A rate is found while sessions come and go, too."""
    words = bench.traffic_words("ndr", mode, *SHORT, "--churn", "100", "--json")
    found = json.loads(gen_upf[0].run(*words, timeout=60).stdout)
    row_is_sound(found["rows"][0])
    seconds = found["rows"][0]["trials"][-1]["end_s"] - found["rows"][0]["trials"][0]["start_s"]
    assert found["sessions"] > 50 * seconds and found["sessions_failed"] == 0
    assert held(bench_daemon) == {}
