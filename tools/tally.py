#!/usr/bin/python3
"""Count the tests in result files: `tally.py FILE...` prints `passed failed skipped`.

Reads meson's testlog (.json: CUnit's own count of a program's tests where it prints one, else one
a program), JUnit (.xml, as pytest writes it), and the last line `N passed, M failed` of others.
A file that is not there counts as nothing.
"""

import json
import os
import re
import sys
import xml.etree.ElementTree

CUNIT = re.compile(r"^\s*tests\s+\d+\s+\d+\s+(\d+)\s+(\d+)\s+\d+\s*$", re.MULTILINE)
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


def of_program(run):
    """One test program of meson's: it has failed when it says so or when a test of its did."""
    if run["result"] == "SKIP":
        return 0, 0, 1
    good = run["result"] in ("OK", "EXPECTEDFAIL")
    said = CUNIT.findall(run.get("stdout") or "")
    if not said:
        return int(good), int(not good), 0
    passed, failed = (sum(map(int, column)) for column in zip(*said))
    return passed, failed if good else max(failed, 1), 0


def of_meson(text):
    """A JSON object a line."""
    rows = [of_program(json.loads(line)) for line in text.splitlines() if line.strip()]
    return tuple(map(sum, zip(*rows))) if rows else (0, 0, 0)


def of_junit(text):
    """An attribute a kind; a test in error has failed."""
    passed = failed = skipped = 0
    for suite in xml.etree.ElementTree.fromstring(text).iter("testsuite"):
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        left = int(suite.get("skipped", 0))
        passed += int(suite.get("tests", 0)) - bad - left
        failed += bad
        skipped += left
    return passed, failed, skipped


def of_closing_line(text):
    """The last line of its kind."""
    said = CLOSING.findall(text)
    return (*map(int, said[-1]), 0) if said else (0, 0, 0)


def of_file(path):
    """Any of the above, by the file's name."""
    if not os.path.exists(path):
        return 0, 0, 0
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    readers = {".json": of_meson, ".xml": of_junit}
    return readers.get(os.path.splitext(path)[1], of_closing_line)(text)


if __name__ == "__main__":
    print(*(sum(column) for column in zip(*map(of_file, sys.argv[1:]))))
