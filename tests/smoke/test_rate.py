"""A session's maximum bit rate under TCP: the kernel's senders get it, and nobody gets more.

The network here has next to no delay, so a sender that lost its last packets waits far longer than
the path takes (200 ms): the default of `rate_burst_us` is what lets it have its rate nevertheless.
"""

import time

import pytest
from test_traffic import Sim, iperf_server, rate_bps, running  # noqa: F401

AMBR_BPS = 50e6
BURST_S = 0.2  # the default of sessions.rate_burst_us
SECONDS = "6"
AT_LEAST, AT_MOST = 0.9, 1.01
ATTEMPTS = 3  # a sender that shares its CPU with other tests may fall short of what it is given


@pytest.mark.parametrize("workers", [1], ids=["1w"])
@pytest.mark.parametrize("way", [(), ("-R",)], ids=["up", "down"])
def test_tcp_gets_its_rate(running, tmp_path, way):  # noqa: F811
    """One TCP connection through an AMBR of 50 Mb/s."""
    laid, daemon = running
    with Sim(laid, tmp_path, "--ambr-up", "50M", "--ambr-down", "50M", "attach"), iperf_server(laid):
        began = time.monotonic()
        rates = []
        while len(rates) < ATTEMPTS and max(rates, default=0) < AT_LEAST * AMBR_BPS:
            rates.append(rate_bps(laid, *way, seconds=SECONDS))
        took = time.monotonic() - began
        seid = daemon.ctl("show", "sessions")["sessions"][0]["seid"]
        shown = daemon.ctl("show", "session", seid)
        said = f"{rates} b/s, {took:.2f} s, {shown}, {daemon.drops()}"
        assert AT_LEAST * AMBR_BPS <= max(rates) <= AT_MOST * AMBR_BPS, said
        passed_bits = 8 * max(shown["up_bytes"], shown["down_bytes"])
        assert passed_bits <= AMBR_BPS * (AT_MOST * took + BURST_S), said
        assert daemon.drops()["rate_exceeded"] > 0  # it was the QER that held it
