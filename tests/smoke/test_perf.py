"""sluice-perf, shortly: what it prints has the form that programs read, and its figures are possible.

How fast anything is depends on the machine and is not judged here.
"""

import csv
import io
import json
import os
import subprocess

import pytest
from kit import topology
from kit.daemon import binary, held
from kit.netns import run
from kit.wait import wait_for

PARTS = {"parse", "dispatch", "pdr", "qer", "far", "output"}
STANDING = 400
SESSION_BYTES_LEAST, SESSION_BYTES_MOST = 300, 510  # tests/perf/README.md
SMALL = ("--sessions", "64,128", "--mbufs", "2048", "--windows", "3", "--pages", "small")


def perf(*words, **options):
    """Run sluice-perf."""
    return run(binary("sluice-perf"), *words, **options)


def test_cost_json():
    """One object with a row for each size, direction and work; the parts are there."""
    found = json.loads(perf("cost", *SMALL, "--json").stdout)
    assert found["tsc_hz"] > 10 ** 8
    sizes = {(row["work"], row["direction"], row["sessions"]) for row in found["rows"]}
    assert sizes == {(work, way, sessions) for work in ("W", "handoff_rx", "handoff_owner")
                     for way in ("up", "down", "mixed") for sessions in (64, 128)}
    for row in found["rows"]:
        assert row["order"] == "random" and row["mbufs"] == 2048
        assert row["cycles_min"] <= row["cycles_median"] <= row["cycles_max"]
        if row["work"] == "W":
            assert row["cycles_min"] > 10 and PARTS <= row["services"].keys()
            assert all(cycles > 0 for cycles in row["services"].values())
    assert {"memcpy", "rte_hash"} == found["references"].keys()


def test_cost_by_rules():
    """With more PDRs and filters, of which the program itself sees that packets still match."""
    rows = json.loads(perf("cost", *SMALL, "--work", "W", "--direction", "up,down", "--pdrs", "2,40",
                           "--filters", "1,16", "--json").stdout)["rows"]
    assert {(row["pdrs"], row["filters"]) for row in rows} == {(2, 1), (2, 16), (40, 1), (40, 16)}
    assert len(rows) == 2 * 2 * 4


def test_cost_bare():
    """W beside itself without rates and usage, which the program itself sees not to be there."""
    rows = json.loads(perf("cost", *SMALL, "--work", "W,bare", "--direction", "up", "--json").stdout)["rows"]
    assert [(row["work"], row["sessions"]) for row in rows] == [
        ("W", 64), ("bare", 64), ("W", 128), ("bare", 128)]


def test_cost_stats():
    """With a turn's own account of its time, of which the program sees that it is kept as the daemon keeps it."""
    words = ("cost", *SMALL, "--packets", "65536", "--work", "W+stats", "--direction", "mixed", "--json")
    rows = json.loads(perf(*words).stdout)["rows"]
    assert [(row["work"], row["sessions"]) for row in rows] == [("W+stats", 64), ("W+stats", 128)]
    assert all(row["cycles_min"] > 10 for row in rows)


def test_cost_flows():
    """With flows, and with a new one for each packet; the program itself sees that they are there, or new."""
    words = ("cost", *SMALL, "--work", "W+flow,churn,W+tcp", "--flows", "4096", "--direction", "up,mixed")
    rows = json.loads(perf(*words, "--json").stdout)["rows"]
    assert {(row["work"], row["direction"], row["sessions"]) for row in rows} == {
        (work, way, sessions) for work in ("W+flow", "W+tcp", "churn") for way in ("up", "mixed")
        for sessions in (64, 128)}
    for row in rows:
        assert row["flows"] == 4096 and 10 < row["cycles_min"] <= row["cycles_median"]
        assert ("longest_turn_us" in row) == (row["work"] == "churn")


def test_cost_workers():
    """One worker, two at home, and two that hand each other packets: the program sees that each comes through."""
    found = json.loads(perf("cost", *SMALL, "--work", "workers", "--direction", "up,mixed", "--json").stdout)
    rows = found["rows"]
    kinds = [("workers", 1), ("workers", 2), ("workers+handoff", 2)][:3 if os.cpu_count() > 1 else 1]
    assert [(row["work"], row["workers"], row["sessions"], row["direction"]) for row in rows] == [
        (*kind, sessions, way) for sessions in (64, 128) for kind in kinds for way in ("up", "mixed")]
    for row in rows:
        assert 10 < row["cycles_min"] <= row["cycles_median"] <= row["cycles_max"]
        assert row["mpps"] == pytest.approx(
            row["workers"] * found["tsc_hz"] / 1e6 / row["cycles_median"], rel=0.5)
        if row["work"] == "workers":
            assert row["handed_over"] == 0
        else:
            assert 0 < row["handed_over"] < 1


def test_cost_text_and_csv():
    """The same for people, and for spreadsheets."""
    few = (*SMALL, "--work", "W", "--direction", "up")
    text = perf("cost", *few).stdout.splitlines()
    assert "4 KiB pages" in text[0] and [line.split()[0] for line in text[2:]] == [
        "W", "W", "memcpy", "rte_hash"]
    rows = list(csv.DictReader(io.StringIO(perf("cost", *few, "--csv").stdout)))
    assert [(row["work"], row["sessions"]) for row in rows[:2]] == [("W", "64"), ("W", "128")]
    assert all(float(row["cycles_min"]) > 0 for row in rows)


def test_pfcp(network, daemon):
    """Sessions come and go beside those that stand; nothing of them is left."""
    words = ("pfcp", "--smf", topology.N4_SMF, "--n4", topology.N4_UPF, "--gnb", topology.N3_GNB,
             "--seconds", "2", "--window", "8", "--standing", "50")
    done = network.ran.run(binary("sluice-perf"), *words, "--json")
    found = json.loads(done.stdout)
    assert found["sessions"] > 100 and found["standing"] == 50 and found["sent_again"] == 0
    assert found["sessions_per_s_min"] <= found["sessions_per_s"] <= found["sessions_per_s_max"]
    for verb in ("establish", "modify", "delete"):
        times = found["latency_us"][verb]
        assert found["failed"][verb] == 0 and times["n"] >= found["sessions"]
        assert (0 < times["min"] <= times["mean"] <= times["max"] < 1e6
                and times["p50"] <= times["p99"] <= times["p99.9"] <= times["max"])
    assert held(daemon) == {}
    lines = network.ran.run(binary("sluice-perf"), *words).stdout.splitlines()
    assert lines[0].split()[0] == "1" and lines[-1].startswith("delete")


def test_session_bytes(network, daemon):
    """What a session takes of memory, beside the tables: within its bound, and gone with it."""
    words = ("pfcp", "--smf", topology.N4_SMF, "--n4", topology.N4_UPF, "--gnb", topology.N3_GNB,
             "--ue6-base", "2001:db8:cafe::", "--seconds", "2", "--window", "1",
             "--standing", str(STANDING))
    seen = {"sessions": 0, "session_bytes": 0}
    process = network.ran.start(binary("sluice-perf"), *words, stdout=subprocess.DEVNULL)

    def stand():
        seen.update(daemon.ctl("show", "pfcp", "resources"))
        return seen["sessions"] >= STANDING

    try:
        wait_for(stand, "the sessions that stand", timeout=20)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
    each = seen["session_bytes"] / seen["sessions"]
    assert SESSION_BYTES_LEAST < each < SESSION_BYTES_MOST, each
    assert daemon.ctl("show", "pfcp", "resources")["session_bytes"] == 0


def test_pfcp_without_a_daemon():
    """Without an answer there is a reason and a status."""
    words = ("--smf", "127.0.0.2", "--n4", "127.0.0.1")
    done = perf("pfcp", *words, check=False)
    assert done.returncode == 1 and "no association" in done.stderr


@pytest.mark.parametrize("words, said", [
    (("cots",), 'did you mean "cost"?'),
    (("cost", "--session", "64"), "did you mean --sessions?"),
    (("cost", "--sessions", "1"), "64..4194304"),
    (("cost", "--direction", "left"), "up, down, mixed"),
    ((), ""),
])
def test_wrong(words, said):
    """What is wrong is refused, and the nearest that there is is named."""
    done = perf(*words, check=False)
    assert done.returncode == 2 and said in done.stderr
