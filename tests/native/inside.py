"""What programs in the guest have in common: the kit of the smoke tests, and the daemon's configuration.

The NICs that guest.py names have the names n3, n6, g3 and g6 of the kit's bench.
"""

import os
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path[:0] = [os.path.join(TOP, "tests/smoke"), os.path.join(TOP, "tools/perf")]

from kit import bench  # noqa: E402
from kit.daemon import Daemon  # noqa: E402

import native  # noqa: E402

MEMORY_MB = 300  # so that there are huge pages for a second daemon

bench.nics.update(native.nics(os.environ["NICS"]))


def configuration(path, workers=1):
    """The daemon's, with a control socket at this path."""
    made = bench.configuration(bench.NATIVE, path, workers, memory_mb=MEMORY_MB)
    made["sessions"]["mbufs"] = 8192
    return made


def write(path, text):
    """Into one of the system's files."""
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def refusal(upf, made):
    """The log of a daemon that does not start, or of one that does all the same. `made` configures it."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with Daemon(upf, folder, made) as daemon:
                return daemon.log()
        except RuntimeError as refused:
            return str(refused)
