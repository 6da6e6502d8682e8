"""What src/pfcp/README.md says of TS 29.244, held against the code.

The tables' rows are `| what | yes, part or no | ... | code | tests |`. Whatever is done names files
that there are and tests that there are; a UP Function Feature is done where features.c offers it.
"""

import re

from tree import Finding

README = "src/pfcp/README.md"
FLAGS, OFFERED = "src/pfcp/flag.def", "src/pfcp/features.c"
ROW = re.compile(r"^\|\s*([^|]+?)\s*\|\s*(yes|part|no)\s*\|(.*)\|\s*$")
NAMED = re.compile(r"`([^`]+)`")


def _feature_flags(tree):
    return re.findall(r"FLAG\(UP_FUNCTION_FEATURES, \d+, \d+, (\w+)\)", tree.text(FLAGS))


def _offered(tree):
    return {name: works != "never"
            for name, works in re.findall(r"FEATURE\((\w+), (\w+),", tree.text(OFFERED))}


def _has_test(tree, named):
    file, _, test = named.partition(":")
    return tree.exists(file) and re.search(rf"\b(def|void) {test}\(", tree.text(file)) is not None


def _cells(tree, line, done, rest):
    """Wrong names in the last two cells of a row."""
    code, tests = [NAMED.findall(cell) for cell in rest.split("|")[-2:]]
    for file in code:
        if not tree.exists(file if "/" in file else f"src/pfcp/{file}"):
            yield Finding(README, line, f"no {file}")
    for test in tests:
        if not _has_test(tree, test):
            yield Finding(README, line, f"no test {test}")
    if done == "yes" and not (code and tests):
        yield Finding(README, line, "done, and names no code or no test")


def features(tree):
    """The map of TS 29.244 tells what is offered, and by which tests it is shown."""
    if not all(tree.exists(path) for path in (README, FLAGS, OFFERED)):
        return
    offered, seen = _offered(tree), set()
    for line, text in tree.lines(README):
        row = ROW.match(text)
        if not row:
            continue
        what, done, rest = row.groups()
        yield from _cells(tree, line, done, rest)
        name = what.strip("`")
        if name in _feature_flags(tree):
            seen.add(name)
            if (done == "yes") != offered.get(name, False):
                yield Finding(README, line, f"{name}: features.c says otherwise")
    for name in _feature_flags(tree):
        if name not in seen:
            yield Finding(README, 1, f"says nothing of the feature {name}")
