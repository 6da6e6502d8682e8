#!/usr/bin/python3
"""Run the lints over the tree: `run.py [--top FOLDER] [LINT...]`, all lints when none is named.

Prints `file:line: message` for each finding and closes with `N passed, M failed`, counted in
lints. The exit status is 1 when one failed, 2 when a name is unknown.
"""

import argparse
import os
import sys

import features
import layout
import order
import sizes
import words
from tree import Tree

LINTS = {
    "includes": order.includes,
    "services-apart": order.services_apart,
    "listing": order.listing,
    "maps": order.maps,
    "sizes": sizes.sizes,
    "openings": words.openings,
    "leftovers": words.leftovers,
    "sleeps": words.sleeps,
    "slow-calls": words.slow_calls,
    "outside": words.outside,
    "blanks": words.blanks,
    "top-level": layout.top_level,
    "links": layout.links,
    "formatted": layout.formatted,
    "compiles": layout.compiles,
    "features": features.features,
}


def run(tree, names):
    """Print what the named lints find; return how many of them failed."""
    failed = 0
    for name in names:
        findings = list(LINTS[name](tree))
        for finding in findings:
            print(f"{finding} [{name}]")
        failed += any(not finding.only_warns for finding in findings)
    return failed


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--top", default=os.path.join(os.path.dirname(__file__), "../.."))
    parser.add_argument("lints", nargs="*", metavar="LINT", help=", ".join(LINTS))
    asked = parser.parse_args()
    unknown = [name for name in asked.lints if name not in LINTS]
    if unknown:
        parser.error(f"no lint {', '.join(unknown)}; there are: {', '.join(LINTS)}")
    names = asked.lints or list(LINTS)
    failed = run(Tree(asked.top), names)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
