"""Tunnels over IPv6 and over IPv4, and what their far end is told, through the real daemon.

The gNB's kernel checks the UDP checksum of what it is sent over IPv6: a socket takes none without.
"""

import ipaddress
import struct

import pytest
from kit import gtpu, pfcp, rules, topology
from kit.daemon import Daemon
from kit.scene import Scene, datagram, is_reply, user_packet
from kit.wait import wait_for
from scapy.layers.inet import ICMP
from scapy.layers.inet6 import ICMPv6EchoRequest
from scapy.packet import Raw

UPF = {4: topology.N3_UPF, 6: topology.N3_UPF6}
GNB = {4: topology.N3_GNB, 6: topology.N3_GNB6}
CORE = {4: topology.N6_DN, 6: topology.N6_DN6}
DATA = bytes(range(40))
UP_PDR = 2


def move(ue, version):
    """The way down leads to the gNB's address of that version from now on."""
    pfcp.assert_accepted(ue.session.modify(rules.gnb_known(GNB[version], ue.down_teid)))


def ping(gnb, ue, outer, inner, sequence, data=DATA):
    """The UE pings through tunnels of version `outer`; the GTP-U message with the answer, or None."""
    dst = CORE[inner]
    echo = (ICMPv6EchoRequest(id=ue.down_teid & 0xFFFF, seq=sequence, data=data) if inner == 6
            else ICMP(id=ue.down_teid & 0xFFFF, seq=sequence) / Raw(data))
    gnb.uplink(UPF[outer], ue.up_teid, ue.ip(dst) / echo)
    return gnb.receive(lambda message: message.kind == gtpu.GPDU and message.teid == ue.down_teid
                       and is_reply(user_packet(message.payload), ue, sequence, data))


def test_both_families(scene):
    """An F-TEID for V4 and V6 has both addresses, and one TEID that packets of both may use."""
    ue = scene.attach()
    assert ue.session.tunnels[UP_PDR][1:] == (UPF[4], UPF[6])
    for outer in (6, 4, 6):
        move(ue, outer)
        with scene.gnb_over(outer) as gnb:
            for inner in (4, 6):
                for sequence, size in ((1, 0), (2, 1300)):
                    found = ping(gnb, ue, outer, inner, sequence, bytes(size))
                    assert found, f"{inner} in {outer}, {size}: {scene.daemon.drops()}"
                    assert found[0][0] == UPF[outer] and found[1].qfi == 1


def test_end_marker(scene):
    """A path switch from IPv6 to IPv4 ends the tunnel over IPv6 by an End Marker."""
    ue = scene.attach()
    move(ue, 6)
    with scene.gnb_over(6) as old:
        assert ping(old, ue, 6, 4, 1)
        far = rules.pfcp.IE_UpdateFAR(IE_list=[
            rules.pfcp.IE_FAR_Id(id=1), rules.action(FORW=1),
            rules.pfcp.IE_UpdateForwardingParameters(IE_list=[
                rules.towards(rules.ACCESS), rules.outer_header(GNB[4], ue.down_teid),
                rules.pfcp.IE_PFCPSMReqFlags(SNDEM=1)])])
        pfcp.assert_accepted(ue.session.modify(far))
        sender, message = old.receive(gtpu.END_MARKER)
        assert (sender[0], message.teid) == (UPF[6], ue.down_teid)
    assert ping(scene.gnb, ue, 4, 4, 2)


@pytest.mark.parametrize("version", (4, 6))
def test_echo(scene, version):
    """Echo Requests at each of the daemon's N3 addresses."""
    with scene.gnb_over(version) as gnb:
        for sequence in (0, 1, 65535):
            answer = gnb.echo(UPF[version], sequence)
            assert (answer.sequence, answer.payload) == (sequence, gtpu.IE_RECOVERY)


@pytest.mark.parametrize("version", (4, 6))
def test_error_indication(scene, version):
    """A packet for nobody's tunnel: its sender is told which, and at which address."""
    ue = scene.attach()
    teid = ue.up_teid
    ue.session.delete()
    with scene.gnb_over(version) as gnb:
        gnb.uplink(UPF[version], teid, datagram(ue, CORE[4], 1, 2))
        sender, message = gnb.receive(gtpu.ERROR_INDICATION)
        address = ipaddress.ip_address(UPF[version]).packed
        assert (sender[0], message.teid, message.sequence) == (UPF[version], 0, 0)
        assert message.payload == (struct.pack("!BI", 16, teid) +
                                   struct.pack("!BH", 133, len(address)) + address)
        assert message.extension(gtpu.EXT_UDP_PORT) == struct.pack("!H", gtpu.PORT)
        gnb.send(UPF[version], gtpu.encode(gtpu.GPDU, teid, extensions=[(0xC1, b"\0\0")]))
        assert gnb.receive(gtpu.EXTENSIONS_NOTIFICATION)[1].payload[:2] == b"\x8d\x07"


def test_own_addresses(scene):
    """UEs do not reach the daemon, nor tunnels from within their tunnel."""
    ue = scene.attach()
    before = scene.daemon.drops().get("own_address", 0)
    targets = (*UPF.values(), topology.N4_UPF, topology.N6_UPF, topology.N6_UPF6)
    for target in targets:
        scene.up(ue, datagram(ue, target, 5, gtpu.PORT,
                              gtpu.gpdu(ue.up_teid, datagram(ue, CORE[4], 1, 2))))
    wait_for(lambda: scene.daemon.drops().get("own_address", 0) == before + len(targets), "drops")
    scene.assert_forwards(ue)


def test_n3_of_ipv6_only(network, mode, workers, tmp_path):
    """An N3 interface without an IPv4 address: what is asked for in both families is given in one."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket, workers)
        made["interfaces"][0]["addresses"] = [f"{UPF[6]}/64"]
        del made["interfaces"][0]["gateway"]
        return made

    with Daemon(network.upf, tmp_path, configuration) as daemon:
        with Scene(network, daemon, tmp_path) as scene, scene.gnb_over(6) as gnb:
            scene.smf.associate()
            ends = scene.addresses("v4v6")
            session = scene.smf.establish(*rules.open5gs_session(topology.N4_SMF, **ends))
            assert session.tunnels[UP_PDR][1:] == (None, UPF[6])
            ue = scene.ue(session, **ends)
            move(ue, 6)
            for inner in (4, 6):
                assert ping(gnb, ue, 6, inner, 1), daemon.drops()
            session.delete()
