"""What programs in the guest have in common: the kit of the smoke tests, and the daemon's configuration.

The NICs that guest.py names have the names n3, n6, g3 and g6 of the kit's bench.
"""

import os
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path[:0] = [os.path.join(TOP, "tests/smoke"), os.path.join(TOP, "tools/perf")]

from kit import bench  # noqa: E402

import native  # noqa: E402

MEMORY_MB = 300  # so that there are huge pages for a second daemon

bench.nics.update(native.nics(os.environ["NICS"]))


def configuration(path, workers=1):
    """The daemon's, with a control socket at this path."""
    made = bench.configuration(bench.NATIVE, path, workers, memory_mb=MEMORY_MB)
    made["sessions"]["mbufs"] = 8192
    return made
