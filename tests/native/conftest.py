"""What the tests of mode native need: root, as the smoke tests do, and their kit.

NICs of several queues have devices in a namespace of this machine.
"""

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../smoke")]

from kit.netns import interruptible  # noqa: E402


def pytest_sessionstart(session):
    """Be root; end politely when asked to."""
    if os.geteuid() != 0:
        pytest.exit("these tests make network namespaces: run them as root", returncode=1)
    interruptible()
