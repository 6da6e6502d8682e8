"""A daemon with what a 5G core has around it: an SMF, a gNB, a data network, and UEs by scapy.

The data network's kernel answers by itself (ping, TCP); the gNB is a UDP socket. What the daemon
sends on N3 and N6 is captured whole, and judged by tshark when the scene is left.

A Stage keeps one scene for many tests, since starting and judging take longer than most of them.
"""

import contextlib
import itertools
import socket
from dataclasses import dataclass

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6
from scapy.packet import Raw

from kit import gtpu, pfcp, rules, topology, tshark
from kit.daemon import Daemon
from kit.link import Link
from kit.netns import Net

UP_PDR, CONTROL_PDR = 2, 3  # of rules.open5gs_session
PAYLOAD = bytes(range(48))
ALL_STAGES = tuple((mode, workers) for mode in topology.MODES for workers in (1, 2))
# Each mode and each number of workers once: for what N4 answers, which no packet has a part in.
N4_STAGES = tuple(zip(topology.MODES, (1, 2)))
JUDGED = ("ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "tcp.check_checksum:TRUE")
BAD_SUMS = ("ip.checksum.status == 0 or udp.checksum.status == 0 or tcp.checksum.status == 0 "
            "or icmp.checksum.status == 0 or icmpv6.checksum.status == 0")


@dataclass
class Ue:
    """A UE with its session, its tunnel both ways, and its addresses."""

    session: pfcp.Session | None
    down_teid: int
    v4: str | None
    v6: str | None
    given_teid: int | None = None

    @property
    def up_teid(self):
        """The TEID for the way up: the given one, or that of the daemon's answer."""
        return self.given_teid or self.session.tunnels[UP_PDR][0]

    def ip(self, dst, **more):
        """The IP header of a packet that the UE sends."""
        return IPv6(src=self.v6, dst=dst, **more) if ":" in dst else IP(src=self.v4, dst=dst, **more)


class Scene:
    """The daemon's surroundings. A context manager."""

    def __init__(self, network, daemon, folder):
        self.network, self.daemon, self.folder = network, daemon, folder
        self.judges_frames = True  # not where UEs send what is no good
        self._stack = contextlib.ExitStack()
        self._teids, self._hosts = itertools.count(0x0A000001), itertools.count(2)
        enter = self._stack.enter_context
        self.frames = folder / "frames.pcap"
        self.n3 = enter(Link(network.ran, "n3", self.frames))
        self.n6 = enter(Link(network.dn, "n6", self.n3))
        self.gnb = enter(gtpu.Gnb(network.ran, topology.N3_GNB))
        self.smf = enter(pfcp.Smf(network.ran, topology.N4_SMF, topology.N4_UPF,
                                  folder / "n4.pcap"))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for link in (self.n3, self.n6):
            link.drain()
        self._stack.close()
        if kind is None:
            self.judge()

    def judge(self):
        """tshark finds no fault in what the daemon sent."""
        tshark.assert_clean(self.smf.capture, "pfcp", at_least=0,
                            where=f"ip.src == {topology.N4_UPF}")
        if not self.judges_frames:
            return
        sums = [word for name in JUDGED for word in ("-o", name)]
        sent = " or ".join(f"eth.src == {self.network.upf.mac(device)}" for device in ("n3", "n6"))
        bad = tshark.tshark(self.frames, *sums, *tshark.PAYLOAD_UNREAD, "-Y",
                            f"({sent}) and ({BAD_SUMS} or _ws.malformed)")
        assert not bad, f"{self.frames}: {bad}"

    def settle(self):
        """Delete the sessions that are left: nothing stays of them, and no packet is lost."""
        for link in (self.n3, self.n6):
            link.drain()
        for session in list(self.smf.sessions.values()):
            session.delete()
        assert self.sessions() == 0
        self.daemon.check_accounting()

    # ---- sessions ----

    def sessions(self):
        """How many sessions the daemon has."""
        return self.daemon.ctl("show", "sessions")["total"]

    def addresses(self, family):
        """Unused addresses of UEs: family is v4, v6 or v4v6."""
        number = next(self._hosts)
        return ({"v4": f"10.45.{number >> 8}.{number & 255}"} if "v4" in family else {}) | (
            {"v6": f"2001:db8:cafe:{number:x}::2"} if "v6" in family else {})

    def ue(self, session, **addresses):
        """The UE of a session, with a tunnel of its own for the way down."""
        return Ue(session, next(self._teids), addresses.get("v4"), addresses.get("v6"))

    def attach(self, family="v4v6", **addresses):
        """A UE whose way down is open, as an Open5GS SMF makes it."""
        if not self.smf.associated:
            self.smf.associate()
        ends = addresses or self.addresses(family)
        session = self.smf.establish(*rules.open5gs_session(topology.N4_SMF, **ends))
        ue = self.ue(session, **ends)
        pfcp.assert_accepted(session.modify(rules.gnb_known(topology.N3_GNB, ue.down_teid)))
        return ue

    @contextlib.contextmanager
    def gnb_over(self, version):
        """The gNB's end of the tunnels over that IP version."""
        if version == 4:
            yield self.gnb
            return
        with gtpu.Gnb(self.network.ran, topology.N3_GNB6) as made:
            yield made

    # ---- packets ----

    def up(self, ue, packet, qfi=1):
        """The gNB sends a UE's packet."""
        self.gnb.uplink(topology.N3_UPF, ue.up_teid, packet, qfi)

    def down(self, ue, wanted=lambda packet: True, timeout=3.0):
        """The next packet for the UE that is as wanted: (GTP-U message, scapy packet), or None."""
        def mine(message):
            return (message.kind == gtpu.GPDU and message.teid == ue.down_teid
                    and wanted(user_packet(message.payload)))

        found = self.gnb.receive(mine, timeout)
        return found and (found[1], user_packet(found[1].payload))

    def ping(self, ue, dst, sequence=1, data=PAYLOAD, timeout=3.0):
        """The UE pings; the GTP-U message that brought the answer and its user packet, or None."""
        if ":" in dst:
            asked = ue.ip(dst) / ICMPv6EchoRequest(id=ue.down_teid & 0xFFFF, seq=sequence, data=data)
        else:
            asked = ue.ip(dst) / ICMP(id=ue.down_teid & 0xFFFF, seq=sequence) / Raw(data)
        self.up(ue, asked)
        return self.down(ue, lambda packet: is_reply(packet, ue, sequence, data), timeout)

    def forwards(self, ue, sequence=1):
        """Do pings of all of the UE's families come back?"""
        return all(self.ping(ue, dst, sequence) for dst, own in
                   ((topology.N6_DN, ue.v4), (topology.N6_DN6, ue.v6)) if own)

    def assert_forwards(self, *ues, sequence=1):
        """As forwards(), with what the daemon counted in the failure."""
        for ue in ues:
            assert self.forwards(ue, sequence), f"{ue} lost its ping: {self.daemon.drops()}"

    def downs(self, *ues, number, timeout=3.0):
        """So many packets for these UEs, or fewer when no more come: [(UE, scapy packet)]."""
        by_teid = {ue.down_teid: ue for ue in ues}
        got = []
        while len(got) < number:
            found = self.gnb.receive(lambda message: message.teid in by_teid, timeout)
            if not found:
                break
            got.append((by_teid[found[1].teid], user_packet(found[1].payload)))
        return got

    def core_socket(self, kind=socket.SOCK_DGRAM, version=4, port=7):
        """A bound socket of the data network, to be used in a with statement."""
        family = socket.AF_INET if version == 4 else socket.AF_INET6
        made = self.network.dn.socket(family, kind)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((topology.N6_DN if version == 4 else topology.N6_DN6, port))
        made.settimeout(3)
        return made


def user_packet(octets):
    """A user's packet taken apart by scapy."""
    return IPv6(octets) if octets[:1] and octets[0] >> 4 == 6 else IP(octets)


def is_reply(packet, ue, sequence, data):
    """Is it the answer to the UE's ping?"""
    if ICMPv6EchoReply in packet:
        echo = packet[ICMPv6EchoReply]
        return (echo.id, echo.seq, echo.data) == (ue.down_teid & 0xFFFF, sequence, data)
    if ICMP not in packet or packet[ICMP].type != 0:
        return False
    echo = packet[ICMP]
    return (echo.id, echo.seq, bytes(echo.payload)) == (ue.down_teid & 0xFFFF, sequence, data)


def segment(ue, dst, sport, dport, flags, **numbers):
    """A TCP segment that the UE sends."""
    return ue.ip(dst) / TCP(sport=sport, dport=dport, flags=flags, **numbers)


def datagram(ue, dst, sport, dport, data=PAYLOAD, **head):
    """A UDP datagram that the UE sends."""
    return ue.ip(dst, **head) / UDP(sport=sport, dport=dport) / Raw(data)


def stage_name(stage):
    """What a test's name says of its stage."""
    return f"{stage[0]}-{stage[1]}w"


@contextlib.contextmanager
def play(network, mode, workers, folder, **keys):
    """A scene in which the network instance has these keys."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket, workers)
        made["network_instances"][0].update(keys)
        return made

    with Daemon(network.upf, folder, configuration) as daemon:
        with Scene(network, daemon, folder) as scene:
            yield scene


class Stage:
    """One scene after another, each kept until it is no good. A context manager."""

    def __init__(self, mode, workers, folders):
        self.mode, self.workers = mode, workers
        self._folders = folders  # gives a new folder at each call
        self._stack = self._scene = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def scene(self):
        """The scene."""
        if not self._scene:
            folder = self._folders()
            with contextlib.ExitStack() as stack:
                network = topology.lay(stack.enter_context(Net()), queues=self.workers)
                daemon = stack.enter_context(Daemon(network.upf, folder, lambda control_socket:
                    topology.configuration(self.mode, control_socket, self.workers)))
                self._scene = stack.enter_context(Scene(network, daemon, folder))
                self._stack = stack.pop_all()
        return self._scene

    def settle(self):
        """After a test: nothing is left of it. A scene where that is not so is not used again."""
        if not self._scene:
            return
        try:
            self._scene.settle()
        except BaseException as fault:
            stack, self._stack, self._scene = self._stack, None, None
            stack.__exit__(type(fault), fault, fault.__traceback__)
            raise

    def close(self):
        """End the scene; it is judged."""
        stack, self._stack, self._scene = self._stack, None, None
        if stack:
            stack.close()
