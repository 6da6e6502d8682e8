"""Waiting, with an end to it: for a condition, or for something to read.

The only file of the tests that may sleep, and only between two looks at what offers no event.
"""

import select
import time


class Deadline:
    """A moment in the future, and how long it is until then."""

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def left(self):
        """Seconds that are left; 0 when there are none."""
        return max(0.0, self._end - time.monotonic())

    def passed(self):
        """Is it over?"""
        return self.left() == 0.0


def wait_for(condition, what, timeout=5.0, every=0.02):
    """Call condition until it gives something true, and return that; else raise TimeoutError."""
    deadline = Deadline(timeout)
    while True:
        last = deadline.passed()
        value = condition()
        if value:
            return value
        if last:
            raise TimeoutError(f"{what}: not within {timeout} s")
        time.sleep(min(every, deadline.left()))


def readable(files, timeout):
    """Those of the files that can be read, waiting for the first one so long."""
    return select.select(files, [], [], timeout)[0]
