"""Flows through the daemon: made by traffic of real hosts, shown, ended in time, by command and with their session.

What becomes of each in all cases is tests/chain/test_flows.c's.
"""

import pytest
from kit import topology
from kit.scene import datagram, play
from kit.wait import wait_for

EMBRYONIC_MS = 400


@pytest.fixture
def flows_scene(network, mode, workers, tmp_path):
    """A daemon whose sessions have flows."""
    with play(network, mode, workers, tmp_path, services=["l4_lifecycle"],
              embryonic_ms=EMBRYONIC_MS) as scene:
        yield scene


def shown(scene, *words):
    """The flows that there are, all pages."""
    rows, more = [], []
    while True:
        page = scene.daemon.ctl("show", "flows", "limit", "2", *more, *words)
        rows += page["flows"]
        if not page["next"]:
            return rows
        more = ["from", page["next"]]


def used(scene):
    """How many the workers say that there are."""
    return sum(row["flows"] for row in scene.daemon.ctl("show", "workers")["workers"])


def test_life(flows_scene):
    """Pings of both families of three UEs; a datagram that nobody takes; commands; the end of a session."""
    scene = flows_scene
    ues = [scene.attach() for _ in range(3)]
    scene.assert_forwards(*ues)
    rows = shown(scene)
    assert len(rows) == used(scene) == 6
    assert {row["class"] for row in rows} == {"established"}
    assert {row["kind"] for row in rows} == {"echo"}
    assert sorted(row["protocol"] for row in rows) == 3 * ["icmp"] + 3 * ["icmpv6"]
    assert all(row["chain"] == ["l4_lifecycle"] for row in rows)
    mine = shown(scene, "ue", ues[1].v4)
    assert {row["seid"] for row in mine} == {f"{ues[1].session.up_seid:#018x}"}
    assert {row["ue"].split()[0] for row in mine} == {ues[1].v4, ues[1].v6}

    scene.up(ues[0], datagram(ues[0], topology.N6_DN, 1000, 9))
    wait_for(lambda: used(scene) == 7, "its flow, of which the error that answers it is a part")
    wait_for(lambda: used(scene) == 6, "their ends")

    assert scene.daemon.ctl("clear", "flow", mine[0]["id"]) == {"cleared": 1}
    assert used(scene) == 5
    assert scene.daemon.ctl("clear", "flows", "ue", ues[1].v6) == {"cleared": 1}
    assert shown(scene, "ue", ues[1].v4) == []
    scene.assert_forwards(ues[1], sequence=2)
    assert used(scene) == 6
    ues[0].session.delete()
    assert used(scene) == 4
    assert scene.daemon.ctl("clear", "flows") == {"cleared": 4}
    scene.assert_forwards(*ues[1:], sequence=3)
    for ue in ues[1:]:
        ue.session.delete()
    assert used(scene) == 0


def test_acl(network, mode, workers, tmp_path):
    """Pings pass and datagrams do not, of either family; what passes is out of the list's way."""
    rows = ["deny udp from any to assigned", "allow icmp from any to assigned",
            "allow icmpv6 from any to assigned"]
    with play(network, mode, workers, tmp_path, services=["acl", "l4_lifecycle"], acl=rows) as scene:
        ue = scene.attach()
        scene.assert_forwards(ue)
        for dst in (topology.N6_DN, topology.N6_DN6):
            scene.up(ue, datagram(ue, dst, 1000, 9))
        wait_for(lambda: scene.daemon.drops().get("acl_denied", 0) == 2, "the drops")
        chains = sorted((row["protocol"], row["chain"]) for row in shown(scene))
        assert chains == [("icmp", ["l4_lifecycle"]), ("icmpv6", ["l4_lifecycle"]),
                          ("udp", ["acl", "l4_lifecycle"]), ("udp", ["acl", "l4_lifecycle"])]
        ue.session.delete()
