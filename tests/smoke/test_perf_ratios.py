"""The check of ratios (tools/perf/ratios.py): how a profile is read, and what is let pass.

The profile is written here, after callgrind's manual; the stage `perf` of `tools/dev check` runs the real one.
"""

import os
import sys

import pytest
from kit.daemon import TOP

sys.path.insert(0, os.path.join(TOP, "tools/perf"))

import ratios  # noqa: E402

PROFILE = """# callgrind format
events: Ir Dr DLmr DLmw
fn=(1) bed_window
0 5 1
cfn=(2) pipeline_batch
calls=10 0
0 64000 100 640 640
fn=(3) bed_services
cfn=(2)
calls=4 0
0 99999 9 9 9
fn=(4) hash_window'2
cfn=(5) rte_hash_lookup_bulk
calls=5 0
0 16000
cfn=(5)
calls=5 0
0 16000 1
fn=(2)
0 7 7 7 7
fn=(6) cost_references
cfn=(7) copy_window
calls=2 0
0 1000 0 32766 32766
totals: 1 1 1 1
"""
HELD = {"up": {"instructions": 1.0, "lines": 1.0}}


def test_profile():
    """Costs are those of the calls that are meant, however often they stand there."""
    found = ratios.edges(PROFILE)
    assert found["bed_window", "pipeline_batch"] == (
        10, {"Ir": 64000, "Dr": 100, "DLmr": 640, "DLmw": 640})
    assert found["hash_window", "rte_hash_lookup_bulk"][0] == 10
    # 100 instructions a packet to 100 a lookup; 2 lines a packet to 2 a copy.
    assert ratios.ratios(PROFILE) == {"instructions": 1.0, "lines": 1.0}


def test_profile_of_requests():
    """A request's instructions are those of all three kinds in the mean."""
    profile = PROFILE.replace("bed_window", "request_send").replace("pipeline_batch", "n4_request")
    assert ratios.n4_ratios(profile) == {"instructions": 64.0}  # 6,400 to 100


def test_profile_without_the_work():
    """Where a function was not called there is no ratio."""
    with pytest.raises(ValueError):
        ratios.ratios(PROFILE.replace("pipeline_batch", "other"))


@pytest.mark.parametrize("instructions, lines, passed", [
    (1.0, 1.0, [True, True]),
    (1.149, 0.5, [True, True]),
    (1.16, 1.0, [False, True]),
    (1.0, 1.2, [True, False]),
])
def test_judge(instructions, lines, passed):
    """15 % more is let pass, and any less."""
    rows = ratios.judge({"up": {"instructions": instructions, "lines": lines}}, HELD)
    assert [good for _, good in rows] == passed and all("up: " in text for text, _ in rows)


def test_baseline():
    """Every direction has ratios to hold, and so have requests."""
    with open(ratios.BASELINE, encoding="utf-8") as file:
        held = ratios.json.load(file)
    requests = held.pop(ratios.N4)
    assert set(held) == set(ratios.DIRECTIONS)
    assert all(0 < row[name] < 100 for row in held.values() for name in ("instructions", "lines"))
    assert set(requests) == {"instructions"} and requests["instructions"] > 100
