"""What may not stand in a file: leftovers, sleeps, slow calls on a packet's way, outside paths.

Also what must: a file opens with a comment that says what it holds. The patterns are written so
that this file does not match them.
"""

import os
import re

from tree import Finding

LEFTOVERS = re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b")
SLEEPS = re.compile(r"\b(?:u|nano|clock_nano|rte_delay_us_)?sleep\s*\(|\brte_delay_[um]s\w*\s*\(")
# The places that may wait without an event, and why.
SLEEPERS = {
    "tests/smoke/kit/wait.py": "polls what offers no event, up to a deadline",
    "src/pipeline/0_loop.c": "an idle worker backs off when the configuration says so",
    "src/port/xsk_busy.c": "at start-up, waits for a queue that a dying daemon still holds",
    "src/port/steer.c": "at start-up, waits for a dying daemon's XDP program to go",
}
START_UP = "lint: start-up"
SLOW_CALLS = re.compile(
    r"\b(?:(?:m|c|re)alloc|free|strn?dup|rte_[mzc]+alloc\w*|rte_realloc\w*|rte_free"
    r"|v?f?printf|puts|perror|log_(?:error|warn|info|debug)\w*"
    r"|pthread_\w+|rte_spinlock_\w+|rte_rwlock_\w+)\s*\(")
OUTSIDE = re.compile(
    r"\.\./share[d]|/wor[k]/|\b(?:deb\.debia[n]\.org|registry\.npmj[s]|pypi\.or[g]"
    r"|pythonhoste[d]\.org|proxy\.golan[g]\.org|crates\.i[o])\b")


def leftovers(tree):
    """No notes to oneself."""
    for path in tree.text_files():
        yield from _grep(tree, path, LEFTOVERS, "leftover `{}`")


def sleeps(tree):
    """Nothing waits by sleeping: time is moved by the test, effects are events."""
    for path in tree.match(".c", ".h", ".py", ".sh"):
        if path.startswith(("src/", "tests/")) and path not in SLEEPERS:
            text = tree.code(path) if path.endswith((".c", ".h")) else tree.text(path)
            yield from _grep(tree, path, SLEEPS, "`{}`: wait for an event", text)


def slow_calls(tree):
    """No heap, lock or log where packets go, but on lines marked as start-up."""
    for path in tree.match(".c", ".h"):
        if not path.startswith(("src/service/", "src/pipeline/")):
            continue
        marked = {line for line, text in tree.lines(path) if START_UP in text}
        for finding in _grep(tree, path, SLOW_CALLS, "`{}` on a packet's way", tree.code(path)):
            if finding.line not in marked:
                yield finding


def outside(tree):
    """Nothing points outside the tree, in words or by a link."""
    for path in tree.paths:
        full = tree.full(path)
        target = os.path.realpath(full)
        if os.path.islink(full) and not target.startswith(os.path.realpath(tree.top) + os.sep):
            yield Finding(path, 1, f"a link out of the tree, to {target}")
    for path in tree.text_files():
        yield from _grep(tree, path, OUTSIDE, "`{}` is outside the tree")


def blanks(tree):
    """No blanks at a line's end; a file ends with one newline."""
    for path in tree.text_files():
        if path.startswith(("tests/golden/", "tests/fuzz/corpus/")) or path == "LICENSE":
            continue
        for line, text in tree.lines(path):
            if text != text.rstrip():
                yield Finding(path, line, "blanks at the end of the line")
        text = tree.text(path)
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            yield Finding(path, text.count("\n"), "the file does not end with one newline")


def openings(tree):
    """C, Python and shell files open with a comment of two lines or more."""
    for path in sorted(set(tree.match(".c", ".h", ".py") + tree.shell_files())):
        if _opening_lines(path, tree.text(path)) < 2:
            yield Finding(path, 1, "does not open with a comment of at least two lines")


def _opening_lines(path, text):
    text = re.sub(r"\A#!.*\n", "", text)
    if path.endswith((".c", ".h")):
        found = re.match(r"(?://.*\n)+|/\*.*?\*/", text, re.DOTALL if text[:2] == "/*" else 0)
    else:
        found = re.match(r'"""(?s:.*?)"""|(?:#.*\n)+', text)
    return len([row for row in found[0].split("\n") if re.search(r"\w", row)]) if found else 0


def _grep(tree, path, pattern, message, text=None):
    for line, row in enumerate((text or tree.text(path)).split("\n"), start=1):
        found = pattern.search(row)
        if found:
            yield Finding(path, line, message.format(found[0].strip()))
