"""From UE to UE through the daemon: directly where that is allowed, by the rules of both sessions.

tshark judges the checksums of what was delivered.
"""

import pytest
from kit import topology
from kit.daemon import Daemon
from kit.scene import PAYLOAD, Scene, datagram
from kit.wait import wait_for
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6


def counted(scene, ue):
    """Packets and bytes of the session, up and down."""
    shown = scene.daemon.ctl("show", "session", f"{ue.session.up_seid:#x}")
    return [shown[name] for name in ("up_packets", "up_bytes", "down_packets", "down_bytes")]


def total(scene, name):
    """A counter over all workers."""
    rows = scene.daemon.ctl("show", "counters")["workers"]
    return sum(row["counters"].get(name, 0) for row in rows)


def own(ue, version):
    """The UE's address."""
    return ue.v4 if version == 4 else ue.v6


@pytest.mark.parametrize("version", (4, 6))
def test_direct(scene, version):
    """Each of four UEs, spread over the workers, speaks to each other: one hop, counted on both sides."""
    ues = [scene.attach() for _ in range(4)]
    before = total(scene, "hairpin")
    for sport, sender in enumerate(ues, 1):
        for receiver in ues:
            if receiver is sender:
                continue
            scene.up(sender, datagram(sender, own(receiver, version), sport, 7))
            found = scene.down(receiver)
            assert found, scene.daemon.drops()
            message, packet = found
            assert (message.qfi, packet.src, packet.dst) == (
                1, own(sender, version), own(receiver, version))
            assert (packet.hlim if IPv6 in packet else packet.ttl) == 63
            assert (packet[UDP].sport, bytes(packet[UDP].payload)) == (sport, PAYLOAD)
    size = len(PAYLOAD) + 8 + (20 if version == 4 else 40)
    for ue in ues:
        wait_for(lambda ue=ue: counted(scene, ue) == [3, 3 * size, 3, 3 * size], "the counts")
    assert total(scene, "hairpin") == before + 12
    scene.assert_forwards(*ues)


def test_to_itself(scene):
    """What a UE sends to its own address does not come back."""
    ue = scene.attach()
    before = scene.daemon.drops().get("ue_to_itself", 0)
    for version in (4, 6):
        scene.up(ue, datagram(ue, own(ue, version), 1, 7))
    wait_for(lambda: scene.daemon.drops().get("ue_to_itself", 0) == before + 2, "the drops")
    scene.assert_forwards(ue)


@pytest.mark.parametrize("way", ("route", "drop"))
def test_not_direct(network, mode, workers, tmp_path, way):
    """By the data network, which here sends it back; or not at all."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket, workers)
        made["network_instances"][0]["ue_to_ue"] = way
        return made

    network.dn.run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
                   "net.ipv4.conf.all.send_redirects=0", "net.ipv4.conf.n6.send_redirects=0")
    with Daemon(network.upf, tmp_path, configuration) as daemon:
        with Scene(network, daemon, tmp_path) as scene:
            one, other = scene.attach(), scene.attach()
            for version in (4, 6):
                scene.up(one, datagram(one, own(other, version), 1, 7))
                if way == "drop":
                    continue
                found = scene.down(other)
                assert found, daemon.drops()
                assert (found[1].hlim if version == 6 else found[1].ttl) == 61
            if way == "drop":
                wait_for(lambda: daemon.drops().get("ue_to_ue", 0) == 2, "the drops")
            assert total(scene, "hairpin") == 0
            scene.assert_forwards(one, other)
            for ue in (one, other):
                ue.session.delete()
