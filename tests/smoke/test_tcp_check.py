"""tcp_check under the kernels' TCP: connections open, carry data, close, are reset and refused, and are shown so.

What becomes of each segment is tests/unit/test_tcp_conn.c's and tests/chain/test_tcp_check.c's.
"""

import contextlib
import socket
import struct

import pytest
from kit import topology
from kit.daemon import Daemon
from kit.wait import wait_for
from test_traffic import GNB2, UE, UE6, Sim, iperf_server, rate_bps

CLOSING_MS = 3000
PORT, NOBODY = 8080, 8081
FAMILIES = ((socket.AF_INET, UE, topology.N6_DN), (socket.AF_INET6, UE6, topology.N6_DN6))
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: leave by a RST


@contextlib.contextmanager
def play(network, mode, workers, folder, **keys):
    """A daemon with tcp_check, and a UE with a device."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket, workers)
        made["network_instances"][0].update(services=["tcp_check"], tcp_closing_ms=CLOSING_MS, **keys)
        return made

    network.ran.address("n3", f"{GNB2}/24")
    with Daemon(network.upf, folder, configuration) as daemon:
        with Sim(network, folder, "attach"):
            yield daemon


def tcp_flows(daemon):
    """The TCP flows by the UE's port."""
    return {int(row["ue"].rsplit(":", 1)[1]): row for row in daemon.ctl("show", "flows")["flows"]
            if row["protocol"] == "tcp"}


def refused(daemon):
    """What tcp_check has dropped."""
    return {name: n for name, n in daemon.drops().items() if name.startswith("tcp_")}


def bound(namespace, family, *address):
    """A socket of the namespace at this address, whoever was there before."""
    made = namespace.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.settimeout(10)
    made.bind(address)
    return made


def listener(laid, family, address):
    """A server's socket in the data network."""
    server = bound(laid.dn, family, address, PORT)
    server.listen()
    return server


def client(laid, family, address, port=0):
    """The UE's socket, not yet connected."""
    return bound(laid.ran, family, address, port)


def shows(daemon, port, state, kind):
    """Wait until the flow of the UE's port is shown so."""
    def is_so():
        row = tcp_flows(daemon).get(port)
        return row and (row["state"], row["class"]) == (state, kind)

    wait_for(is_so, f"{state} of port {port}")


def life(laid, daemon, family, ue, dn):
    """One connection: opened, used, closed by the server first."""
    with listener(laid, family, dn) as server, client(laid, family, ue) as mine:
        mine.connect((dn, PORT))
        theirs, _ = server.accept()
        port = mine.getsockname()[1]
        shows(daemon, port, "established", "tcp_established")
        assert tcp_flows(daemon)[port]["chain"] == ["tcp_check"]
        for end, other in ((mine, theirs), (theirs, mine)):
            end.sendall(bytes(100000))
            got = 0
            while got < 100000:
                got += len(other.recv(65536))
        theirs.shutdown(socket.SHUT_WR)
        assert mine.recv(1) == b""
        shows(daemon, port, "other_closed", "tcp_closing")
        mine.sendall(b"half closed")
        assert theirs.recv(100) == b"half closed"
        mine.close()
        assert theirs.recv(1) == b""
        shows(daemon, port, "time_wait", "tcp_closing")
        theirs.close()
        wait_for(lambda: port not in tcp_flows(daemon), "its end", CLOSING_MS / 1000 + 5)


def reset(laid, daemon, family, ue, dn):
    """One that is reset, its port used again at once; and one that nobody takes."""
    with listener(laid, family, dn) as server, client(laid, family, ue) as mine:
        mine.connect((dn, PORT))
        theirs, _ = server.accept()
        port = mine.getsockname()[1]
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        mine.close()
        shows(daemon, port, "reset", "tcp_closing")
        with pytest.raises(ConnectionResetError):
            theirs.recv(1)
        theirs.close()
        with client(laid, family, ue, port) as again:
            again.connect((dn, PORT))
            shows(daemon, port, "established", "tcp_established")
            again.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    with client(laid, family, ue) as mine:
        with pytest.raises(ConnectionRefusedError):
            mine.connect((dn, NOBODY))
        shows(daemon, mine.getsockname()[1], "refused", "embryonic")


def test_connections(network, mode, workers, tmp_path):
    """Of both families; nothing of honest kernels is refused."""
    with play(network, mode, workers, tmp_path, tcp_pick_up=False) as daemon:
        for family in FAMILIES:
            life(network, daemon, *family)
            reset(network, daemon, *family)
        assert refused(daemon) == {}


def test_transfer(network, mode, workers, tmp_path):
    """iperf3 both ways, of two connections each: as fast as the path, and nothing is refused."""
    with play(network, mode, workers, tmp_path) as daemon, iperf_server(network):
        for way in ((), ("-R",)):
            rate = rate_bps(network, "-P2", *way)
            assert rate > 20e6, f"{way}: {rate / 1e6:.1f} Mb/s, {daemon.drops()}"
        assert refused(daemon) == {}


@pytest.mark.parametrize("pick_up", [True, False], ids=["taken", "refused"])
@pytest.mark.parametrize("workers", [1], ids=["1w"])
def test_forgotten(network, mode, workers, tmp_path, pick_up):
    """A connection whose flow is gone goes on, or does not, as the configuration says."""
    with play(network, mode, workers, tmp_path, tcp_pick_up=pick_up) as daemon:
        family, ue, dn = FAMILIES[0]
        with listener(network, family, dn) as server, client(network, family, ue) as mine:
            mine.connect((dn, PORT))
            theirs, _ = server.accept()
            daemon.ctl("clear", "flows")
            mine.sendall(b"are you there")
            if pick_up:
                assert theirs.recv(100) == b"are you there"
                theirs.sendall(b"yes")
                assert mine.recv(100) == b"yes"
                shows(daemon, mine.getsockname()[1], "established", "tcp_established")
                assert refused(daemon) == {}
            else:
                wait_for(lambda: refused(daemon).get("tcp_not_begun", 0) > 0, "the drop")
                assert set(refused(daemon)) == {"tcp_not_begun"}
            theirs.close()
