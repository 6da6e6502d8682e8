"""The end of a daemon, orderly or not, and the next one: nothing is to be cleaned up by hand.

As after the restart of a real UPF, the SMF associates again and restores its sessions: RESTI, the
old SEID in the header, and the TEIDs that the UPF gave before (TS 23.527, TS 29.244 7.5.2).
"""

import os
import signal

import pytest
import yaml
from kit import pfcp, rules, topology
from kit.daemon import Daemon
from kit.netns import run
from kit.rules import ACCESS, CORE, action, far, interface, network, pdr, towards
from kit.scene import Scene
from kit.wait import wait_for
from scapy.contrib import pfcp as scapy_pfcp

PFCPSEREQ_FLAGS, RESTI = 186, b"\1"


@pytest.fixture(params=topology.MODES)
def mode(request):
    """Every I/O mode; two workers in each."""
    return request.param


@pytest.fixture
def network_2(net):
    """The network, with two queues."""
    return topology.lay(net, queues=2)


def configured(mode, **changes):
    """A configuration for Daemon()."""
    def configuration(control_socket):
        return topology.configuration(mode, control_socket, 2) | changes

    return configuration


def xdp_attached(laid):
    """The daemon's devices that have an XDP program."""
    return [device for device in ("n3", "n6")
            if "xdp" in laid.upf.inside("link", "show", "dev", device).stdout]


def restored(ue):
    """The rules of a UE's session, its TEID given by the SMF."""
    tunnel = scapy_pfcp.IE_FTEID(V4=1, TEID=ue.up_teid, ipv4=topology.N3_UPF)
    return [
        pdr(1, 100, [interface(CORE), network(topology.DNN), rules.ue_address(ue.v4, ue.v6)], 1),
        pdr(2, 100, [interface(ACCESS), tunnel, network(topology.DNN)], 2, removal=6),
        far(1, action(FORW=1), [towards(ACCESS), rules.outer_header(topology.N3_GNB, ue.down_teid)]),
        far(2, action(FORW=1), [towards(CORE), network(topology.DNN)]),
        scapy_pfcp.IE_NotImplemented(ietype=PFCPSEREQ_FLAGS, length=1, data=RESTI),
    ]


def test_killed_and_started_again(network_2, mode, tmp_path):
    """Twice: kill -9, start, associate, restore the sessions: the UEs see nothing but a gap."""
    with (Daemon(network_2.upf, tmp_path, configured(mode)) as daemon,
          Scene(network_2, daemon, tmp_path) as scene):
        ues = [scene.attach() for _ in range(4)]
        scene.assert_forwards(*ues)
        stamp = pfcp.ie(scene.smf.heartbeat(), scapy_pfcp.IE_RecoveryTimeStamp).timestamp
        for sequence in (2, 3):
            daemon.kill()
            assert not xdp_attached(network_2)
            assert os.path.exists(daemon.socket)
            daemon.start()
            answer = scene.smf.associate()
            assert pfcp.ie(answer, scapy_pfcp.IE_RecoveryTimeStamp).timestamp > stamp
            stamp = pfcp.ie(answer, scapy_pfcp.IE_RecoveryTimeStamp).timestamp
            for ue in ues:
                body, seid = scene.smf.establishment(*restored(ue))
                answer = pfcp.assert_accepted(scene.smf.request(body, ue.session.up_seid))
                scene.smf.sessions.pop(ue.session.seid)
                ue.given_teid = ue.up_teid
                ue.session = scene.smf.sessions[seid] = pfcp.Session(scene.smf, seid, answer)
            scene.assert_forwards(*ues, sequence=sequence)
        fresh = scene.attach()
        assert fresh.up_teid not in [ue.up_teid for ue in ues]
        scene.assert_forwards(*ues, fresh, sequence=5)
        scene.settle()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ended_politely(network_2, mode, tmp_path, number):
    """With sessions and traffic: status 0, in time, and nothing is left."""
    daemon = Daemon(network_2.upf, tmp_path, configured(mode))
    with Scene(network_2, daemon, tmp_path) as scene:
        daemon.start()
        scene.assert_forwards(scene.attach())
        assert xdp_attached(network_2) == (["n3", "n6"] if mode == "af_xdp" else [])
        daemon.process.send_signal(number)
        assert daemon.process.wait(5) == 0, daemon.log()
    assert not xdp_attached(network_2)
    assert not os.path.exists(daemon.socket)
    assert "error" not in daemon.log(lines=None)
    with open(daemon.config_path, encoding="utf-8") as file:
        prefix = yaml.safe_load(file)["eal"]["file_prefix"]
    assert not os.path.exists(f"/run/dpdk/{prefix}")
    network_2.ran.run("ping", "-n", "-c1", "-W2", topology.N4_UPF)  # the host's own


def test_second_daemon(network_2, mode, tmp_path):
    """On the same devices, or with the same socket: refused with the reason; the first goes on."""
    with (Daemon(network_2.upf, tmp_path, configured(mode)) as daemon,
          Scene(network_2, daemon, tmp_path) as scene):
        ue = scene.attach()
        (tmp_path / "second").mkdir()
        other = configured(mode, eal={"hugepages": "off", "memory_mb": 256, "file_prefix": "second"})
        elsewhere = tmp_path / "second.sock"
        trials = {elsewhere: "another sluiced uses this device"} if mode == "af_xdp" else {
            elsewhere: f"cannot listen on {topology.N4_UPF}:8805", daemon.socket: daemon.socket}
        for socket_path, told in trials.items():
            second = Daemon(network_2.upf, tmp_path / "second", lambda _, at=socket_path: other(at))
            done = network_2.upf.run(*second.command(), check=False)
            errors = [line for line in done.stderr.splitlines() if " error: " in line]
            assert done.returncode == 1 and len(errors) == 1, done.stderr
            assert told in errors[0]
            assert os.path.exists(daemon.socket)
            scene.assert_forwards(ue)
        assert daemon.ctl("show", "sessions")["total"] == 1


def test_workers_that_stand_still(network_2, mode, tmp_path):
    """A daemon that was stopped for a while goes on where it was, and its SMF keeps it."""
    with (Daemon(network_2.upf, tmp_path, configured(mode)) as daemon,
          Scene(network_2, daemon, tmp_path) as scene):
        ue = scene.attach()
        scene.assert_forwards(ue)
        daemon.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: " T " in run("ps", "-o", "stat=", "-p", str(daemon.process.pid)).stdout
                 .replace("T", " T "), "the stop")
        for number in range(2000):
            scene.gnb.uplink(topology.N3_UPF, ue.up_teid, bytes(64 + number % 8))
        daemon.process.send_signal(signal.SIGCONT)
        wait_for(lambda: scene.forwards(ue, sequence=2), "the way", timeout=5)
        scene.settle()
