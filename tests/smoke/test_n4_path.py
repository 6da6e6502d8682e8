"""Heartbeats of the daemon's own, and what becomes of sessions when they go unanswered.

A request is sent N1 times, T1 apart (TS 29.244 6.4); here both are short.
"""

import pytest
from kit import topology
from kit.daemon import Daemon
from kit.scene import Scene
from kit.wait import wait_for


def own_daemon(network, tmp_path, mode, **n4):
    """A daemon whose N4 is in a hurry."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket)
        made["n4"] |= {"t1_ms": 100, "n1": 3, "heartbeat_ms": 1000} | n4
        return made

    return Daemon(network.upf, tmp_path, configuration)


@pytest.mark.parametrize("workers", [1], ids=["1w"])
@pytest.mark.parametrize("mode, on_failure, left", [("af_xdp", "keep", 1), ("af_packet", "drop", 0)])
def test_heartbeats_unanswered(network, mode, tmp_path, on_failure, left):
    """Sent N1 times, T1 apart; then the path is down, and sessions are kept or end as configured."""
    with (own_daemon(network, tmp_path, mode, on_path_failure=on_failure) as daemon,
          Scene(network, daemon, tmp_path) as scene):
        ue = scene.attach()

        def state():
            rows = daemon.ctl("show", "associations")["associations"]
            return rows[0]["state"] if rows else None

        wait_for(lambda: scene.smf.heartbeats >= 1, "a heartbeat")
        assert state() == "up"
        scene.smf.answer_heartbeats = False
        before = scene.smf.heartbeats
        wait_for(lambda: state() in ("lost", None), "path failure")
        assert 3 <= scene.smf.heartbeats - before <= 4
        assert daemon.ctl("show", "pfcp", "counters")["counters"]["path_failures"] == 1
        wait_for(lambda: scene.sessions() == left, "what becomes of the sessions")
        scene.smf.answer_heartbeats = True
        if left:
            scene.assert_forwards(ue)
            wait_for(lambda: state() == "up", "the path again")
        else:
            scene.smf.sessions.clear()
            scene.smf.associate()
            scene.assert_forwards(scene.attach(v4=ue.v4))
