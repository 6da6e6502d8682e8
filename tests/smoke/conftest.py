"""Fixtures of the smoke tests: a network of namespaces, and the daemon in it in each I/O mode.

The tests need root; without it they fail at once, rather than being skipped and looking fine.
"""

import os

import pytest
from kit import topology
from kit.daemon import Daemon
from kit.netns import Net, interruptible, sweep
from kit.scene import ALL_STAGES, Stage, stage_name


def pytest_sessionstart(session):
    """Be root; end politely when asked to; remove what an earlier, killed run left."""
    if os.geteuid() != 0:
        pytest.exit("the smoke tests make network namespaces: run them as root", returncode=1)
    interruptible()
    sweep()


@pytest.fixture
def net():
    """An empty network; its namespaces go with the test."""
    with Net() as made:
        yield made


@pytest.fixture(params=topology.MODES)
def mode(request):
    """Every I/O mode."""
    return request.param


@pytest.fixture(params=[1, 2], ids=["1w", "2w"])
def workers(request):
    """One worker, and two."""
    return request.param


@pytest.fixture
def network(net, workers):
    """ran, upf and dn, with a queue for each worker."""
    return topology.lay(net, queues=workers)


@pytest.fixture
def daemon(network, mode, workers, tmp_path):
    """The daemon, ready; its accounts are checked when the test is over."""
    def configuration(control_socket):
        return topology.configuration(mode, control_socket, workers)

    with Daemon(network.upf, tmp_path, configuration) as running:
        yield running


def pytest_generate_tests(metafunc):
    """The stages of a module: all, or those that it names as STAGES."""
    if "stage" in metafunc.fixturenames:
        stages = getattr(metafunc.module, "STAGES", ALL_STAGES)
        metafunc.parametrize("stage", stages, indirect=True, scope="module", ids=stage_name)


@pytest.fixture(scope="module")
def stage(request, tmp_path_factory):
    """Where the tests of a module play, one after the other."""
    with Stage(*request.param, lambda: tmp_path_factory.mktemp("scene")) as made:
        yield made


@pytest.fixture
def scene(stage):
    """A daemon with its surroundings; after the test no session is left, and all is accounted for."""
    yield stage.scene()
    stage.settle()
