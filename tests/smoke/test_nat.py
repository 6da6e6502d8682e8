"""NAT44 through the daemon, between kernels: a UE's device on one side, a host that knows only outside addresses.

What becomes of each packet in all cases is tests/chain/test_nat.c's.
"""

import calendar
import contextlib
import ipaddress
import json
import re
import socket
import time

import pytest
from kit import topology, tshark
from kit.daemon import Daemon
from kit.link import Link
from kit.scene import BAD_SUMS, JUDGED
from kit.wait import wait_for
from test_traffic import RATE_BPS, UE, Sim, iperf_server, ping, rate_bps

POOL = "198.51.100.0/30"
BEHIND, NARROW = "203.0.113.0/24", 1200  # a network behind the host, and its MTU
GNB2 = "10.10.3.3"
FILTERS = {"endpoint_independent": (True, True), "address_dependent": (True, False),
           "address_and_port_dependent": (False, False)}


@contextlib.contextmanager
def natted(network, mode, workers, folder, **keys):
    """A daemon behind which UEs are hidden: the host has a route to the pool, and none to UEs."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket, workers)
        made["network_instances"][0].update(
            {"services": ["nat"], "nat_pool": POOL, "nat_block_ports": 64, **keys})
        return made

    network.ran.address("n3", f"{GNB2}/24")
    network.dn.inside("route", "del", topology.UE_POOL)
    network.dn.route(POOL, topology.N6_UPF)
    with Daemon(network.upf, folder, configuration) as daemon:
        yield daemon


def ue_socket(laid, kind=socket.SOCK_DGRAM, port=0):
    """A socket of the UE's."""
    made = laid.ran.socket(socket.AF_INET, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"ue0")
    made.bind((UE, port))
    made.settimeout(3)
    return made


def core_socket(laid, port=0, kind=socket.SOCK_DGRAM, address=topology.N6_DN):
    """A socket of the host's."""
    made = laid.dn.socket(socket.AF_INET, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((address, port))
    made.settimeout(3)
    return made


def is_outside(address):
    """Is it an address of the pool?"""
    return ipaddress.ip_address(address) in ipaddress.ip_network(POOL)


def narrow_network(laid):
    """Behind the host is a network that takes shorter packets than N6 does."""
    laid.dn.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    laid.dn.inside("link", "add", "narrow", "type", "veth", "peer", "name", "nowhere")
    laid.dn.inside("link", "set", "nowhere", "up")
    laid.dn.inside("link", "set", "narrow", "mtu", str(NARROW), "up")
    laid.dn.inside("route", "add", BEHIND, "dev", "narrow")
    laid.ran.inside("route", "replace", BEHIND, "dev", "ue0")


def learnt(laid):
    """What the UE's kernel takes for the MTU of the path into the narrow network."""
    shown = laid.ran.run("ip", "-json", "-d", "route", "get", "203.0.113.9", "from", UE, "oif",
                         "ue0").stdout
    return json.loads(shown)[0].get("metrics", [{}])[0].get("mtu")


def check_errors(laid):
    """A closed port, a path that is too narrow, a hop too many: the UE's kernel is told of its own packets."""
    with ue_socket(laid) as ue:
        ue.connect((topology.N6_DN, 9))
        ue.send(b"nobody")
        with pytest.raises(ConnectionRefusedError):
            ue.recv(100)
    narrow_network(laid)
    with ue_socket(laid) as ue:
        ue.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: forbid cutting
        ue.sendto(bytes(1300), ("203.0.113.9", 9))
        wait_for(lambda: learnt(laid) == NARROW, "the UE's kernel to know the path's MTU")
    done = laid.ran.run("ping", "-n", "-c1", "-W2", "-t1", "-Iue0", topology.N6_DN, check=False)
    assert f"From {topology.N6_UPF}" in done.stdout and "exceeded" in done.stdout, done.stdout


def block_lines(daemon, word, outside):
    """The log's lines of the UE's blocks with this address and port outside, as words and values."""
    pattern = re.compile(
        rf"info: NAT: block {word}: UE {UE} of (?P<ni>\S+), SEID (?P<seid>0x[0-9a-f]+), "
        rf"outside {outside[0]} ports (?P<first>\d+)-(?P<last>\d+), worker (?P<worker>\d+), "
        r"from (?P<since>\S+Z)(?: to (?P<until>\S+Z))?$", re.MULTILINE)
    found = [match.groupdict() for match in pattern.finditer(daemon.log(lines=None))]
    return [row for row in found if int(row["first"]) <= outside[1] <= int(row["last"])]


def check_logged(daemon, held, outside):
    """The block's beginning and end are in the log, each a line, with the same session and times in order.

    When it began is reckoned anew for the second one: the host's clock may have been set right meanwhile.
    """
    [begun] = block_lines(daemon, "allocated", outside)
    [ended] = block_lines(daemon, "released", outside)
    assert begun["ni"] == "internet" and begun["until"] is None
    assert (int(begun["first"]), int(begun["last"]), int(begun["worker"]),
            int(begun["seid"], 16)) == \
        (held["first_port"], held["last_port"], held["worker"], int(held["seid"], 16))
    assert {**ended, "until": None, "since": begun["since"]} == begun
    times = [calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
             for text in (begun["since"], ended["since"], ended["until"])]
    assert abs(times[1] - times[0]) <= 1 and times[1] <= times[2] <= time.time()


def check_judged(laid, frames):
    """What the daemon sent on N6 is sound, and tells of no UE's address, in quotes neither."""
    sums = [word for name in JUDGED for word in ("-o", name)]
    mac = laid.upf.mac("n6")
    bad = tshark.tshark(frames, *sums, *tshark.PAYLOAD_UNREAD, "-Y",
                        f"eth.src == {mac} and ({BAD_SUMS} or _ws.malformed)")
    assert not bad, bad
    assert tshark.count(frames, f"eth.src == {mac} and ip.src == {POOL}") > 10
    assert tshark.count(frames, f"ip.addr == {topology.UE_POOL}") == 0


def test_traffic(network, mode, workers, tmp_path):
    """Pings, TCP both ways, fragments, errors; what is shown; nothing stays of a UE that has left."""
    frames = tmp_path / "n6.pcap"
    with natted(network, mode, workers, tmp_path) as daemon:
        with Sim(network, tmp_path, "attach"):
            with Link(network.dn, "n6", frames) as link:
                assert ping(network.ran, topology.N6_DN, "-Iue0")
                assert ping(network.ran, topology.N6_DN, "-Iue0", "-s1600")  # in pieces both ways
                check_errors(network)
                with core_socket(network, 4000) as core, ue_socket(network, port=5000) as ue:
                    ue.sendto(b"hello", (topology.N6_DN, 4000))
                    said, (address, port) = core.recvfrom(100)
                    assert said == b"hello" and is_outside(address) and port >= 1024
                    core.sendto(b"you", (address, port))
                    assert ue.recvfrom(100) == (b"you", (topology.N6_DN, 4000))
                    rows = daemon.ctl("show", "flows", "ue", UE)["flows"]
                    mine = [row for row in rows if row["ue"] == f"{UE}:5000"]
                    assert [row["outside"] for row in mine] == [f"{address}:{port}"]
                    blocks = daemon.ctl("show", "nat")["blocks"]
                    assert {(row["ue"], row["outside"]) for row in blocks} == {(UE, address)}
                    held = [row for row in blocks if row["first_port"] <= port <= row["last_port"]]
                    assert len(held) == 1 and held[0]["udp"] >= 1
                link.drain()
            check_judged(network, frames)
            with iperf_server(network):
                for way in ((), ("-R",)):
                    rate = rate_bps(network, *way)
                    assert rate > RATE_BPS, f"{way}: {rate / 1e6:.1f} Mb/s, {daemon.drops()}"
        shown = daemon.ctl("show", "nat")
        assert (shown["blocks"], shown["next"], shown["unlogged"]) == ([], None, 0)
        assert shown["logged"] == len(re.findall("NAT: block", daemon.log(lines=None)))
        check_logged(daemon, held[0], (address, port))
        assert not ping(network.dn, address)


@pytest.mark.parametrize("workers", [2], ids=["2w"])
@pytest.mark.parametrize("filtering", FILTERS)
def test_filtering(network, mode, workers, tmp_path, filtering):
    """Who may send to a port that a UE has opened."""
    network.dn.address("n6", "10.10.6.9/24")
    with natted(network, mode, workers, tmp_path, nat_filtering=filtering,
                nat_log_blocks=False) as daemon:
        with Sim(network, tmp_path, "attach"), core_socket(network, 4000) as core, \
                ue_socket(network) as ue:
            ue.sendto(b"hello", (topology.N6_DN, 4000))
            outside = core.recvfrom(100)[1]
            before = daemon.drops().get("nat_filtered", 0)
            with core_socket(network, 4001) as port, \
                    core_socket(network, 4000, address="10.10.6.9") as other:
                for number, (end, passes) in enumerate(zip((port, other), FILTERS[filtering])):
                    end.sendto(b"%d" % number, outside)
                    if passes:
                        assert ue.recv(100) == b"%d" % number
                    else:
                        before += 1
                        wait_for(lambda: daemon.drops().get("nat_filtered", 0) == before,  # pylint: disable=cell-var-from-loop
                                 "the drop")
            core.sendto(b"you", outside)
            assert ue.recv(100) == b"you"
            assert daemon.ctl("show", "nat")["logged"] == 0 and "NAT: block" not in daemon.log(None)
