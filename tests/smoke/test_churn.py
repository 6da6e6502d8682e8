"""Sessions come, change and go all the time under traffic both ways and garbage from everywhere.

At the end every packet is accounted for, nothing of a session is left, memory is what it was, and
nobody ever got a packet of somebody else. SLUICE_SOAK_SECONDS makes it as long as is wanted, and
SLUICE_SOAK_SEED repeats a run's choices.
"""

import contextlib
import os
import random
import socket
import struct
import threading
import time

import pytest
from kit import gtpu, pfcp, rules, topology
from kit.daemon import Daemon, resident_kb
from kit.link import Link
from kit.scene import Scene
from kit.wait import Deadline, readable, wait_for
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

SECONDS = float(os.environ.get("SLUICE_SOAK_SECONDS", "15"))
SEED = int(os.environ.get("SLUICE_SOAK_SEED", "0")) or random.SystemRandom().getrandbits(32)
WARM_UP = 0.4  # of the time: buffers are touched, tables filled, the allocator settled
GROWTH_KB = 4096
IN_RINGS = 4096  # buffers that ports may hold more of at one time than at another
SESSIONS = 24  # at most at a time, on fewer addresses than ever were sessions
BURST, PAUSE_S = 24, 0.004
ECHO_PORT = 7


class Player(threading.Thread):
    """Does one thing again and again until it is stopped; what goes wrong is kept and told."""

    def __init__(self, play, stopped, pause=PAUSE_S):
        super().__init__(daemon=True)
        self._play, self._stopped, self._pause = play, stopped, pause
        self.fault = None

    def run(self):
        try:
            while not self._stopped.wait(self._pause):
                self._play()
        except Exception as fault:  # told by the test, whatever it is
            self.fault = fault


class Churn:
    """The players. All share the list of UEs that are attached now."""

    def __init__(self, scene, seed):
        self.scene, self.chance = scene, random.Random(seed)
        self.ues = []
        self.gone = []  # the last ones that were
        self.owners = {}  # down TEID: the UE's addresses
        self.tunnelled = set()  # (down TEID, address) of what came down
        self.seen = {"up": 0, "down": 0}
        self.counts = {"attach": 0, "change": 0, "detach": 0}
        self.links = {"n3": Link(scene.network.ran, "n3"), "n6": Link(scene.network.dn, "n6")}
        self.core = scene.network.dn.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.core.bind((topology.N6_DN, ECHO_PORT))
        self.core6 = scene.network.dn.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.core6.bind((topology.N6_DN6, ECHO_PORT))
        self.n4 = scene.network.ran.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.n4.bind((topology.N4_SMF, 0))
        self.garbage = garbage_frames(scene)
        self._numbers = list(range(40))

    def close(self):
        """No more sockets."""
        for one in (self.core, self.core6, self.n4):
            one.close()
        for link in self.links.values():
            link.__exit__()

    # ---- the SMF ----

    def churn(self):
        """One of: attach, open, close, add and remove rules, detach."""
        if len(self.ues) < SESSIONS and (not self.ues or self.chance.random() < 0.4):
            self.attach()
            return
        ue = self.chance.choice(self.ues)
        if self.chance.random() < 0.4:
            self.ues.remove(ue)
            pfcp.assert_accepted(ue.session.delete())
            self.gone = [*self.gone[-3:], ue]
            self._numbers.append(ue.number)
            self.counts["detach"] += 1
            return
        change = self.chance.choice([
            [rules.idle()], [rules.gnb_known(topology.N3_GNB, ue.down_teid)],
            [rules.pdr(9, 9, [rules.interface(rules.CORE), rules.ue_address(ue.v4),
                              rules.sdf("permit out 17 from any to assigned")], 1)],
            [scapy_pfcp.IE_RemovePDR(IE_list=[scapy_pfcp.IE_PDR_Id(id=9)])],
            [rules.pdr(9, 9, [rules.interface(rules.CORE), rules.sdf("nonsense")], 1)]])
        assert pfcp.cause(ue.session.modify(*change)) in (pfcp.ACCEPTED, 73)
        self.counts["change"] += 1

    def attach(self):
        """On an address that another session may just have had."""
        number = self._numbers.pop(self.chance.randrange(len(self._numbers)))
        ue = self.scene.attach(v4=f"10.45.77.{number + 1}", v6=f"2001:db8:cafe:77{number:02x}::2")
        ue.number = number
        ue.says = [bytes(ue.ip(dst) / UDP(sport=1, dport=ECHO_PORT) / Raw(data))
                   for dst, data in ((topology.N6_DN, ue.v4.encode()),
                                     (topology.N6_DN6, ue.v6.encode()), (topology.N6_DN, b"gone"))]
        self.owners[ue.down_teid] = (ue.v4, ue.v6)
        self.ues.append(ue)
        self.counts["attach"] += 1

    # ---- traffic ----

    def up(self):
        """The gNB sends packets that say who they are from; some with a TEID that is gone."""
        sent = [(ue, packet) for ue in list(self.ues) for packet in ue.says[:2]]
        for ue, packet in sent + [(ue, ue.says[2]) for ue in self.gone]:
            self.scene.gnb.uplink(topology.N3_UPF, ue.up_teid, packet)

    def answer(self):
        """The data network checks who it is from, and answers."""
        for one in readable([self.core, self.core6], 0):
            for _ in range(BURST):
                with contextlib.suppress(BlockingIOError):
                    data, sender = one.recvfrom(4096, socket.MSG_DONTWAIT)
                    assert data == sender[0].encode(), f"{sender} sent what {data} should have"
                    one.sendto(data, sender)
                    self.seen["up"] += 1

    def down(self):
        """The gNB takes what comes, and notes in which tunnel it was."""
        while True:
            found = self.scene.gnb.receive(gtpu.GPDU, timeout=0)
            if not found:
                return
            message = found[1]
            six = message.payload[0] >> 4 == 6
            dst = (socket.inet_ntop(socket.AF_INET6, message.payload[24:40]) if six
                   else socket.inet_ntoa(message.payload[16:20]))
            self.tunnelled.add((message.teid, dst))
            self.seen["down"] += 1

    def astray(self):
        """What came down in the tunnel of a UE that it was not for."""
        return {(hex(teid), dst) for teid, dst in self.tunnelled
                if dst not in self.owners.get(teid, ())}

    def frames(self):
        """Garbage on N3 and N6: what is wrong, and what is right with a few octets changed."""
        for _ in range(BURST):
            device, frame = self.chance.choice(self.garbage)
            frame = bytearray(frame)
            for _ in range(self.chance.randrange(4)):
                frame[self.chance.randrange(12, len(frame))] = self.chance.randrange(256)
            if self.chance.random() < 0.2:
                del frame[self.chance.randrange(14, len(frame)):]
            with contextlib.suppress(OSError):
                self.links[device].send(bytes(frame))

    def datagrams(self):
        """Garbage on N4."""
        body, _ = self.scene.smf.message(scapy_pfcp.PFCPSessionModificationRequest(
            IE_list=[rules.idle()]), self.chance.getrandbits(64), self.chance.getrandbits(24))
        for _ in range(4):
            octets = bytearray(body)
            for _ in range(self.chance.randrange(1, 6)):
                octets[self.chance.randrange(len(octets))] = self.chance.randrange(256)
            self.n4.sendto(bytes(octets[:self.chance.randrange(1, len(octets) + 1)]),
                           (topology.N4_UPF, pfcp.PORT))


def garbage_frames(scene):
    """Frames of every kind, to be sent as they are or damaged: [(device, octets)]."""
    n3 = Ether(src=scene.n3.mac, dst=scene.network.upf.mac("n3"))
    n6 = Ether(src=scene.n6.mac, dst=scene.network.upf.mac("n6"))
    outer = IP(src=topology.N3_GNB, dst=topology.N3_UPF) / UDP(sport=2152, dport=2152)
    outer6 = IPv6(src=topology.N3_GNB6, dst=topology.N3_UPF6) / UDP(sport=2152, dport=2152)
    inner = IP(src="10.45.77.1", dst=topology.N6_DN) / UDP(dport=9) / Raw(b"x" * 64)
    inner6 = IPv6(src="2001:db8:cafe:7700::2", dst=topology.N6_DN6) / UDP(dport=9) / Raw(b"x")
    teids = [0, 1, 0xFFFFFFFF] + [random.getrandbits(32) for _ in range(8)]
    tunnelled = [gtpu.gpdu(teid, packet, 1) for teid in teids for packet in (inner, inner6)]
    tunnelled += [gtpu.encode(kind, 1, b"\x0e\0", sequence=1) for kind in (1, 2, 26, 31, 254, 99)]
    tunnelled += [struct.pack("!BBHI", 0x34, 255, 4 + 4 * n, 1) + b"\0\0\0\x85" + b"\1\x10\1\x85" * n
                  for n in (1, 3, 20)]
    tunnelled += [bytes.fromhex("36ff003400000001000000ff00"), b"\x30", b"", b"\x50\xff\0\0\0\0\0\1"]
    big = IP(src="192.0.2.1", dst="10.45.77.2") / UDP(dport=9) / Raw(b"f" * 1400)
    frames = [("n3", n3 / head / Raw(octets)) for head in (outer, outer6) for octets in tunnelled]
    frames += [("n3", n3 / Dot1Q(vlan=7) / outer / Raw(tunnelled[0])),
               ("n3", n3 / ARP(psrc=topology.N3_GNB, pdst=topology.N3_UPF, hwsrc=scene.n3.mac)),
               ("n6", n6 / inner6), ("n6", n6 / IP(src="192.0.2.1", dst="10.45.77.9", ttl=1) / UDP()),
               ("n6", n6 / IP(src="192.0.2.1", dst="10.45.250.1") / UDP()),
               ("n6", n6 / IP(src="192.0.2.1", dst=topology.N6_UPF) / UDP(dport=2152))]
    frames += [("n6", n6 / piece) for piece in fragment(big, fragsize=600)]
    return [(device, bytes(frame)) for device, frame in frames]


def buffers_free(daemon):
    """The packet buffers that nobody holds, of all workers."""
    return sum(row["mbufs_free"] for row in daemon.ctl("show", "workers")["workers"])


def played(churn, seconds, daemon):
    """Play so long; (memory after the warm-up, memory at the end)."""
    stopped = threading.Event()
    players = [Player(play, stopped) for play in (churn.up, churn.answer, churn.down, churn.frames,
                                                  churn.datagrams)]
    for player in players:
        player.start()
    deadline, warm, memory = Deadline(seconds), Deadline(seconds * WARM_UP), None
    try:
        while not deadline.passed():
            churn.churn()
            assert daemon.alive(), daemon.log()
            assert not [player.fault for player in players if player.fault]
            if memory is None and warm.passed():
                memory = resident_kb(daemon)
        return memory, resident_kb(daemon)
    finally:
        stopped.set()
        for player in players:
            player.join()


@pytest.mark.parametrize("mode", topology.MODES)
def test_churn(net, mode, tmp_path):
    """Everything at once, on two workers."""
    print(f"SLUICE_SOAK_SEED={SEED}")
    laid = topology.lay(net, queues=2)
    began = time.monotonic()
    with Daemon(laid.upf, tmp_path, lambda control_socket: topology.configuration(
            mode, control_socket, 2)) as daemon, Scene(laid, daemon, tmp_path) as scene:
        scene.judges_frames = False
        witness = scene.attach()
        scene.assert_forwards(witness)
        churn, free = Churn(scene, SEED), buffers_free(daemon)
        churn.owners[witness.down_teid] = (witness.v4, witness.v6)
        with contextlib.closing(churn):
            before, after = played(churn, SECONDS, daemon)
        for ue in churn.ues:
            pfcp.assert_accepted(ue.session.delete())
        assert scene.sessions() == 1 and not churn.astray()
        wait_for(lambda: scene.forwards(witness, sequence=2), "the way of who was not touched")
        workers = daemon.ctl("show", "workers")["workers"]
        assert sum(row["sessions"] for row in workers) == 1
        assert after - before < GROWTH_KB, f"{before} kB became {after} kB"
        assert free - buffers_free(daemon) < IN_RINGS, f"of {free} buffers {buffers_free(daemon)} left"
        print(f"{time.monotonic() - began:.0f} s: {churn.counts} {churn.seen} {before} kB, "
              f"{after} kB, {daemon.drops()}, {workers}")
        assert min(churn.counts.values()) > SECONDS and min(churn.seen.values()) > SECONDS * 10
        for row in daemon.ctl("show", "interfaces")["interfaces"]:
            assert row["rx_no_mbuf"] == 0
        scene.settle()
        gnb = [row for row in daemon.ctl("show", "neighbours")["neighbours"]
               if row["address"] == topology.N3_GNB]
        assert not any(row["tunnels"] for row in gnb)
