"""sluice-sim and the daemon, as a newcomer runs them: a UE with a device, real pings, real TCP.

The kernels on both sides judge each packet; what the scenario does is what a 5G core would.
"""

import contextlib
import json
import signal
import subprocess

import pytest
from kit import topology
from kit.daemon import binary
from kit.wait import wait_for

GNB2 = "10.10.3.3"
UE, UE6 = "10.45.0.2", "2001:db8:cafe:1::2"
RATE_BPS = 20e6  # modest: the machine that tests may be loaded
SECONDS = "2"


class Sim:
    """sluice-sim with one UE; a context manager that detaches and leaves."""

    def __init__(self, laid, folder, *words):
        self.laid, self.log_path = laid, folder / "sim.log"
        with open(self.log_path, "wb") as log:
            self.process = laid.ran.start(
                binary("sluice-sim"), "--smf-address", topology.N4_SMF, "--n4", topology.N4_UPF,
                "--gnb", topology.N3_GNB, "--gnb", GNB2, "--ue-pool", topology.UE_POOL,
                "--ue-pool6", topology.UE_POOL6, *words,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __enter__(self):
        self.said("ready")
        self.laid.ran.inside("route", "replace", topology.N6_NET, "dev", "ue0")
        self.laid.ran.inside("-6", "route", "replace", "fd00:6::/64", "dev", "ue0")
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(15)
        finally:
            self.process.kill()
            self.process.wait()
        if kind is None:
            assert status == 0, self.log()

    def log(self):
        """All that it said."""
        return self.log_path.read_text()

    def said(self, text):
        """Wait until it has said so."""
        def seen():
            assert self.process.poll() is None or text in self.log(), self.log()
            return text in self.log()

        wait_for(seen, f"{text!r}", 15)


@pytest.fixture
def running(network, daemon):
    """The network and the daemon, with a second gNB address."""
    network.ran.address("n3", f"{GNB2}/24")
    return network, daemon


def ping(namespace, destination, *more):
    """Five pings; do all come back?"""
    done = namespace.run("ping", "-n", "-c5", "-i0.05", "-W2", *more, destination, check=False)
    return " 5 received" in done.stdout


def assert_pings(laid):
    """Up and down, by IPv4 and IPv6."""
    assert ping(laid.ran, topology.N6_DN, "-Iue0")
    assert ping(laid.ran, topology.N6_DN6, "-6", "-Iue0")
    assert ping(laid.dn, UE) and ping(laid.dn, UE6, "-6")


@contextlib.contextmanager
def iperf_server(laid):
    """iperf3's server in the data network."""
    server = laid.dn.start("iperf3", "-s", "-B", topology.N6_DN,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: ":5201" in laid.dn.run("ss", "-Hltn").stdout, "iperf3's server")
        yield
    finally:
        server.kill()
        server.wait()


def rate_bps(laid, *more, seconds=SECONDS):
    """What the receiver of a TCP connection got."""
    done = laid.ran.run("iperf3", "-c", topology.N6_DN, "-B", UE, "--bind-dev", "ue0", "-t", seconds,
                        "-J", *more, timeout=60)
    return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]


def test_ping_and_tcp(running, tmp_path):
    """A UE's device: pings both ways, TCP both ways at a modest rate at least."""
    laid, daemon = running
    with Sim(laid, tmp_path, "attach"):
        assert_pings(laid)
        with iperf_server(laid):
            for way in ((), ("-R",)):
                rate = rate_bps(laid, *way)
                assert rate > RATE_BPS, f"{way}: {rate / 1e6:.1f} Mb/s, {daemon.drops()}"
    assert daemon.ctl("show", "sessions")["total"] == 0


@pytest.mark.parametrize("workers", [2], ids=["2w"])
def test_handover_and_idle(running, tmp_path):
    """The path moves to another gNB; an idle UE that sends is awake again; detached, all is gone."""
    laid, daemon = running
    with Sim(laid, tmp_path, "attach", "handover", "idle", "wake", "handover") as sim:
        assert_pings(laid)
        assert "end marker" in sim.log()
        rows = daemon.ctl("show", "counters")["workers"]
        assert sum(row["counters"].get("end_marker_sent", 0) for row in rows) == 2
    assert daemon.ctl("show", "sessions")["total"] == 0


@pytest.mark.parametrize("workers", [2], ids=["2w"])
def test_many_ues(running, tmp_path):
    """200 UEs attach, go idle, wake and leave, twice; the last ones ping."""
    laid, daemon = running
    steps = ["attach", "idle", "wake", "detach", "loop", "2", "attach"]
    with Sim(laid, tmp_path, "--ues", "200", *steps):
        shown = daemon.ctl("show", "workers")["workers"]
        assert [row["sessions"] for row in shown] == [100, 100]
        assert ping(laid.ran, topology.N6_DN, "-I10.45.0.201")
        assert ping(laid.dn, "10.45.0.100")
    assert daemon.ctl("show", "sessions")["total"] == 0
