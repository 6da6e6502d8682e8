"""Ports over real devices: what goes up and what stays, restart after a kill, and the refusals.

port_probe (tests/chain/port_probe.c) opens ports as the daemon does and prints what it receives.
"""

import itertools
import os
import signal
import subprocess
import sys

import pytest
from kit.daemon import TOP
from kit.link import Link
from kit.wait import Deadline, readable, wait_for
from scapy.layers.inet import ICMP, IP, UDP, fragment
from scapy.layers.inet6 import (ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS,
                                ICMPv6NDOptDstLLAddr, IPv6, IPv6ExtHdrFragment)
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

OURS, OURS6 = "192.0.2.1", "2001:db8::1"  # Sluice's alone
SHARED, SHARED6 = "192.0.2.9", "2001:db8::9"  # the host's too
PEER, PEER6 = "192.0.2.2", "2001:db8::2"
UE, UE6 = "10.45.0.7", "2001:db8:45::7"
OTHER, OTHER6 = "198.51.100.1", "2001:db8:99::1"
ADDRS = f"addr={OURS},addr={OURS6},addr={SHARED},addr={SHARED6}"
MANY = "".join(f"addr=203.0.113.{number}," for number in range(1, 9))
USER = 65534
CAPS = {"af_xdp": "+net_raw,+net_admin,+bpf,+ipc_lock", "af_packet": "+net_raw,+net_admin"}
MODES = ("af_xdp", "af_packet")


class Probe:
    """port_probe in a namespace; a context manager. `words` are its arguments."""

    def __init__(self, namespace, *words, caps=None):
        build = os.environ.get("SLUICE_BUILD", os.path.join(TOP, "build"))
        command = [os.path.join(build, "tests/chain/port_probe"), "-H", "off", *words]
        if caps is not None:
            command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
                       f"--inh-caps={caps}", f"--ambient-caps={caps}",
                       f"--bounding-set=-all,{caps}", *command]
        # The driver's AF_XDP library forgets a little memory of each socket when it closes it.
        options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
        self.process = namespace.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT,
                                       env=os.environ | {"ASAN_OPTIONS": options})
        self.said = []
        self._rest = b""

    def __enter__(self):
        self.expect("ready", timeout=20)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.process.stdin.close()
        self.process.stdout.close()
        print("\n".join(self.said))

    def _lines(self, deadline):
        """Lines as they come, until the deadline or the end."""
        while True:
            while b"\n" in self._rest:
                line, self._rest = self._rest.split(b"\n", 1)
                self.said.append(line.decode(errors="replace"))
                yield self.said[-1]
            if not readable([self.process.stdout], deadline.left()):
                return
            octets = os.read(self.process.stdout.fileno(), 65536)
            if not octets:
                return
            self._rest += octets

    def expect(self, start, timeout=5.0):
        """The next line that starts so."""
        for line in self._lines(Deadline(timeout)):
            if line.startswith(start):
                return line
        raise AssertionError("\n".join([f"no line '{start}…' of:", *self.said]))

    def hear(self, part):
        """Wait for a line with this in it."""
        assert any(part in line for line in self._lines(Deadline(10.0))), "\n".join(self.said)

    def ask(self, command, answer=None):
        """Give a command; its answer starts with the command's first word."""
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        return self.expect(answer or command.split()[0])

    def mark(self, link, frame):
        """What came up before this frame, which certainly comes up: [(interface, worker, bytes)]."""
        link.send(frame)
        seen = []
        for line in self._lines(Deadline(5.0)):
            kind, *words = line.split()
            if kind == "copy":
                seen.append(("copy", None, bytes.fromhex(words[0])))
            if kind != "rx":
                continue
            octets = bytes.fromhex(words[2])
            if octets[:len(frame)] == bytes(frame)[:len(octets)]:
                return seen
            seen.append((words[0], int(words[1]), octets))
        raise AssertionError("\n".join(["the mark did not come up:", *self.said]))

    def refusal(self):
        """The text with which it does not start; its exit status is 1."""
        text = self.expect("refused: ", timeout=20)
        assert self.process.wait(10) == 1
        return text


class Bed:
    """A veth pair between the host with the probe (device p0) and a peer (q0)."""

    def __init__(self, net, queues=1, mtu=1600):
        self.host, self.peer = net.namespace("host"), net.namespace("peer")
        net.veth((self.host, "p0"), (self.peer, "q0"), queues=queues, mtu=mtu,
                 kernel_addresses=False)
        self.link = Link(self.peer, "q0")
        self.mac = self.host.mac("p0")
        self._numbers = itertools.count()

    def eth(self, dst=None, **more):
        """An Ethernet header to the host's device."""
        return Ether(src=self.link.mac, dst=dst or self.mac, **more)

    def sentinel(self, vlan=None):
        """A frame that every program lets up, unlike any before."""
        tag = Dot1Q(vlan=vlan) if vlan else b""
        head = self.eth() / tag if vlan else self.eth()
        return head / IP(src=PEER, dst=OURS) / UDP(sport=9, dport=9) / \
            f"mark {next(self._numbers)}".encode()

    def probe(self, words, mode="af_xdp", workers=1, **options):
        """The probe on p0."""
        return Probe(self.host, "-w", str(workers), f"mode={mode},{words},device=p0", **options)


@pytest.fixture
def bed(net):
    """One queue, and addresses that the host shares."""
    made = Bed(net)
    made.host.address("p0", f"{SHARED}/24", f"{SHARED6}/64")
    return made


def gtpu(bed, dst, version=4):
    """A G-PDU to an address."""
    ip = IP(src=PEER, dst=dst) if version == 4 else IPv6(src=PEER6, dst=dst)
    return bed.eth() / ip / UDP(sport=2152, dport=2152) / Raw(b"\x30\xff\x00\x04\0\0\0\1data")


def cases(bed):
    """Frames, each with where it goes: up, stay or copy (stays, and a copy comes up)."""
    eth = bed.eth
    big = IP(src=PEER, dst=SHARED, id=7) / UDP(sport=2152, dport=2152) / Raw(b"x" * 1400)
    last = fragment(big, fragsize=1000)[-1]
    return [
        ("gtpu", gtpu(bed, OURS), "up"),
        ("gtpu6", gtpu(bed, OURS6, 6), "up"),
        ("icmp", eth() / IP(src=PEER, dst=OURS) / ICMP(), "up"),
        ("icmp6", eth() / IPv6(src=PEER6, dst=OURS6) / ICMPv6EchoRequest(), "up"),
        ("arp request", eth("ff:ff:ff:ff:ff:ff") / ARP(psrc=PEER, pdst=OURS), "up"),
        ("arp answer", eth() / ARP(op=2, psrc=PEER, pdst=OURS, hwdst=bed.mac), "up"),
        ("nd", eth("33:33:ff:00:00:01") / IPv6(src=PEER6, dst="ff02::1:ff00:1") /
         ICMPv6ND_NS(tgt=OURS6), "up"),
        ("nd answer", eth() / IPv6(src=PEER6, dst=OURS6) / ICMPv6ND_NA(tgt=PEER6), "up"),
        ("fragment", eth() / IP(src=PEER, dst=OURS, frag=100, proto=17) / Raw(b"x" * 64), "up"),
        ("fragment6", eth() / IPv6(src=PEER6, dst=OURS6) /
         IPv6ExtHdrFragment(nh=17, offset=100) / Raw(b"x" * 64), "up"),
        ("ue", eth() / IP(src=OTHER, dst=UE) / UDP(dport=53), "up"),
        ("ue6", eth() / IPv6(src=OTHER6, dst=UE6) / UDP(dport=53), "up"),
        ("arp for a ue", eth("ff:ff:ff:ff:ff:ff") / ARP(psrc=PEER, pdst=UE), "up"),
        ("shared gtpu", gtpu(bed, SHARED), "up"),
        ("shared gtpu6", gtpu(bed, SHARED6, 6), "up"),
        ("shared gtpu with options", eth() / IP(src=PEER, dst=SHARED, options=b"\1\1\1\0") /
         UDP(sport=2152, dport=2152), "up"),
        ("shared fragment", eth() / last, "up"),
        ("shared fragment6", eth() / IPv6(src=PEER6, dst=SHARED6) /
         IPv6ExtHdrFragment(nh=17, offset=100) / Raw(b"x" * 64), "up"),
        ("shared udp", eth() / IP(src=PEER, dst=SHARED) / UDP(dport=53), "stay"),
        ("shared icmp", eth() / IP(src=PEER, dst=SHARED) / ICMP(), "stay"),
        ("shared arp", eth("ff:ff:ff:ff:ff:ff") / ARP(psrc=PEER, pdst=SHARED), "stay"),
        ("shared arp answer", eth() / ARP(op=2, psrc=PEER, pdst=SHARED, hwdst=bed.mac), "copy"),
        ("gratuitous arp", eth("ff:ff:ff:ff:ff:ff") / ARP(psrc=PEER, pdst=PEER), "copy"),
        ("shared nd", eth("33:33:ff:00:00:09") / IPv6(src=PEER6, dst="ff02::1:ff00:9") /
         ICMPv6ND_NS(tgt=SHARED6), "stay"),
        ("shared nd answer", eth() / IPv6(src=PEER6, dst=SHARED6) /
         ICMPv6ND_NA(tgt=PEER6) / ICMPv6NDOptDstLLAddr(lladdr=bed.link.mac), "copy"),
        ("shared nd answer, bare", eth() / IPv6(src=PEER6, dst=SHARED6) /
         ICMPv6ND_NA(tgt=PEER6), "copy"),
        ("other", eth() / IP(src=PEER, dst=OTHER) / UDP(dport=2152), "stay"),
        ("other6", eth() / IPv6(src=PEER6, dst=OTHER6) / UDP(dport=2152), "stay"),
        ("other mac", eth("02:00:00:00:00:77") / IP(src=PEER, dst=OURS) / UDP(), "stay"),
        ("other vlan", eth() / Dot1Q(vlan=9) / IP(src=PEER, dst=OURS) / UDP(), "stay"),
        ("arp, short", eth("ff:ff:ff:ff:ff:ff", type=0x0806) / Raw(b"\0\1\10\0\6"), "stay"),
        ("ip, short", eth(type=0x0800) / Raw(b"\x45\0\0\4"), "stay"),
        ("ip6, short", eth(type=0x86dd) / Raw(b"\x60\0\0\0"), "stay"),
        ("tag, short", eth(type=0x8100) / Raw(b"\0"), "stay"),
    ]


@pytest.mark.parametrize("before", ["", MANY], ids=["few", "many"])
@pytest.mark.parametrize("caps", [None, CAPS["af_xdp"]], ids=["root", "user"])
@pytest.mark.parametrize("xdp", ["native", "generic"])
def test_steering(bed, xdp, caps, before):
    """Sluice's packets go up and only those; the host keeps the rest, and answers its pings.

    Whether few addresses are in use, which the XDP program compares at once, or more than it can.
    """
    with bed.probe(f"n3,n6,{before}{ADDRS},xdp={xdp}", caps=caps) as probe:
        assert f"{xdp} XDP" in probe.ask("describe 0", "n3:")
        assert probe.ask("ue 0 10.45.0.0/16") == "ue 0"
        assert probe.ask("ue 0 2001:db8:45::/48") == "ue 0"
        wrong = {}
        for name, frame, want in cases(bed):
            bed.link.send(frame)
            seen = probe.mark(bed.link, bed.sentinel())
            got = [kind for kind, _, octets in seen if octets[:54] == bytes(frame)[:len(octets)][:54]]
            if got != {"up": ["n3"], "copy": ["copy"], "stay": []}[want]:
                wrong[name] = (want, got)
        assert not wrong
        bed.peer.address("q0", f"{PEER}/24", f"{PEER6}/64")
        for address in (SHARED, SHARED6):
            bed.peer.run("ping", "-c1", "-W2", address)


def test_steering_changes_while_it_runs(bed):
    """UE prefixes and local addresses come and go; the longest prefix is the one that is asked."""
    frame = bed.eth() / IP(src=OTHER, dst=UE) / UDP(dport=53)
    with bed.probe(f"n6,addr={OURS}") as probe:
        def up():
            bed.link.send(frame)
            return [kind for kind, *_ in probe.mark(bed.link, bed.sentinel())] == ["n3"]

        steps = [("", False), ("ue 0 10.45.0.0/16", True), ("ue 0 10.45.0.0/24", True),
                 ("unue 0 10.45.0.0/16", True), ("unue 0 10.45.0.0/24", False),
                 (f"addr 0 {UE}", True), (f"unaddr 0 {UE}", False)]
        for command, want in steps:
            if command:
                assert probe.ask(command) == f"{command.split()[0]} 0"
            assert up() == want, command


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("caps", [False, True], ids=["root", "user"])
def test_queues(net, mode, caps):
    """Two workers: each gets packets, each sends; frames are what they were."""
    bed = Bed(net, queues=2)
    with bed.probe(f"n3,addr={OURS}", mode, 2, caps=CAPS[mode] if caps else None) as probe:
        for port in range(64):
            bed.link.send(bed.eth() / IP(src=PEER, dst=OURS) / UDP(sport=port + 1, dport=2152) /
                          f"flow {port:02}".encode())
        seen = []
        for _ in range(2):  # twice: the queues are not in step, and a mark comes on one of them
            seen += probe.mark(bed.link, bed.sentinel())
        workers = {worker for _, worker, _ in seen}
        if mode == "af_packet":  # veth's own choice of queue is by the sender's CPU
            assert workers == {0, 1}
        assert workers <= {0, 1}
        assert sorted(octets[-7:] for *_, octets in seen if b"flow" in octets) == \
            sorted(f"flow {port:02}".encode() for port in range(64))
        for worker in (0, 1):
            frame = Ether(src=bed.mac, dst=bed.link.mac, type=0x88b5) / (b"from %d" % worker)
            assert probe.ask(f"tx 0 {bytes(frame).hex()} {worker}", "sent") == "sent 1"
            assert bed.link.receive(lambda got, want=bytes(frame): got == want)
        assert probe.ask("counters 0").split()[1:3] == [str(len(seen) + 2), "2"]


def test_each_queue_has_its_worker(net):
    """AF_XDP: what comes in on queue i goes to worker i."""
    bed = Bed(net, queues=2)
    every_cpu = f"{(1 << os.cpu_count()) - 1:x}"
    with bed.probe(f"n3,addr={OURS}", workers=2) as probe:
        for queue in (0, 1):
            for number, cpus in ((1 - queue, "0"), (queue, every_cpu)):  # the peer's tx queue
                path = f"/sys/class/net/q0/queues/tx-{number}/xps_cpus"
                bed.peer.run("sh", "-c", f"echo {cpus} > {path}")
            bed.link.send(gtpu(bed, OURS))
            assert [worker for _, worker, _ in probe.mark(bed.link, bed.sentinel())] == [queue]


@pytest.mark.parametrize("mode", MODES)
def test_vlans_share_a_device(net, mode):
    """Two interfaces of one device: steering and addresses are each VLAN's own."""
    bed = Bed(net)
    bed.peer.run("ethtool", "-K", "q0", "txvlan", "off")
    with Probe(bed.host, f"mode={mode},name=n3,n3,addr={OURS},vlan=7,device=p0",
               f"mode={mode},name=n6,n6,addr={OURS},device=p0") as probe:
        tagged = bed.eth() / Dot1Q(vlan=7, prio=5) / IP(src=PEER, dst=OURS) / UDP(dport=2152)
        bed.link.send(tagged)
        assert bytes(tagged) in [octets for *_, octets in probe.mark(bed.link, bed.sentinel(7))]
        probe.ask("ue 1 10.45.0.0/16")
        for head in (bed.eth(), bed.eth() / Dot1Q(vlan=7)):
            bed.link.send(head / IP(src=OTHER, dst=UE) / UDP(dport=53))
        seen = probe.mark(bed.link, bed.sentinel())
        assert len(seen) == (1 if mode == "af_xdp" else 2)


@pytest.mark.parametrize("caps", [None, CAPS["af_xdp"]], ids=["root", "user"])
def test_restart_after_kill(net, caps):
    """A killed daemon leaves nothing in the way of the next, and nothing that steers."""
    bed = Bed(net, queues=2)
    for _ in range(3):
        with bed.probe(f"n3,addr={OURS}", workers=2, caps=caps) as probe:
            bed.link.send(gtpu(bed, OURS))
            assert probe.mark(bed.link, bed.sentinel())
            probe.process.send_signal(signal.SIGKILL)
            assert probe.process.wait(10) == -signal.SIGKILL
    assert "xdp" not in bed.host.inside("link", "show", "dev", "p0").stdout


def test_stop_takes_the_program_off(bed):
    """An orderly end."""
    with bed.probe(f"n3,addr={OURS}") as probe:
        assert "xdp" in bed.host.inside("link", "show", "dev", "p0").stdout
        probe.ask("quit", "bye")
        assert probe.process.wait(10) == 0
        assert "xdp" not in bed.host.inside("link", "show", "dev", "p0").stdout


def test_left_program_is_replaced(bed):
    """A program of ours that an older or a dying daemon left attached by netlink."""
    build = os.environ.get("SLUICE_BUILD", os.path.join(TOP, "build"))
    bed.host.run("bpftool", "net")  # is there
    program = os.path.join(build, "src/port/idle.bpf.o")
    bed.host.inside("link", "set", "dev", "p0", "xdp", "obj", program, "sec", "xdp")
    with bed.probe(f"n3,addr={OURS}") as probe:
        bed.link.send(gtpu(bed, OURS))
        assert probe.mark(bed.link, bed.sentinel())


def test_carrier(bed):
    """From the kernel; the driver says up always."""
    with bed.probe(f"n3,addr={OURS}") as probe:
        assert probe.ask("carrier 0") == "carrier 1"
        bed.peer.inside("link", "set", "dev", "q0", "down")
        assert probe.ask("carrier 0") == "carrier 0"


HOLDER = """
import ctypes, mmap, socket, struct, sys

SOL_XDP, RX_RING, UMEM_REG, FILL_RING, COMPLETION_RING, COPY = 283, 2, 4, 5, 6, 2
memory = mmap.mmap(-1, 4096)
held = socket.socket(44, socket.SOCK_RAW)
held.setsockopt(SOL_XDP, UMEM_REG, struct.pack("QQII", ctypes.addressof(ctypes.c_char.from_buffer(memory)), 4096, 4096, 0))
for ring in (FILL_RING, COMPLETION_RING, RX_RING):
    held.setsockopt(SOL_XDP, ring, 64)
at = struct.pack("HHIII", 44, COPY, socket.if_nametoindex(sys.argv[1]), 0, 0)
assert ctypes.CDLL(None).bind(held.fileno(), at, len(at)) == 0
print("held", flush=True)
sys.stdin.read()
"""


def test_queue_of_a_dying_socket(bed):
    """It is waited for, and then each packet has a buffer of its own."""
    holder = bed.host.start(sys.executable, "-c", HOLDER, "p0", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    probe = bed.probe(f"n3,addr={OURS}")
    probe.hear("waiting for queue 0")
    holder.communicate(timeout=5)
    assert holder.returncode == 0
    with probe:
        for first in range(0, 3000, 500):  # more than a ring has
            sent = [b"number %04d" % number for number in range(first, first + 500)]
            for name in sent:
                bed.link.send(bed.eth() / IP(src=PEER, dst=OURS) / UDP(dport=2152) / name)
            assert [octets[-11:] for *_, octets in probe.mark(bed.link, bed.sentinel())] == sent


@pytest.mark.parametrize("mode", MODES)
def test_ring_overflow_is_counted(bed, mode):
    """AF_XDP's driver says what its ring lost, AF_PACKET's does not; we do, so that no packet is missing."""
    sent = 3000
    with bed.probe(f"n3,addr={OURS}", mode) as probe:
        def counted():
            received, _, missed = map(int, probe.ask("counters 0").split()[1:])
            return (received, missed) if received + missed >= sent else None

        probe.process.send_signal(signal.SIGSTOP)
        for _ in range(sent):
            bed.link.send(gtpu(bed, OURS))
        probe.process.send_signal(signal.SIGCONT)
        received, missed = wait_for(counted, "all packets to be received or missed")
        assert received >= 2048 // 2 and 0 < missed < sent
        if mode == "af_xdp":  # only what is Sluice's comes up
            assert received + missed == sent


def test_host_traffic_is_not_received(bed):
    """AF_PACKET: neither what the host sends nor what is for another MAC."""
    with bed.probe(f"n3,addr={OURS}", "af_packet") as probe:
        bed.host.run("ping", "-c1", "-W1", PEER, check=False)
        bed.link.send(bed.eth("02:00:00:00:00:77") / IP(src=PEER, dst=OURS) / UDP())
        macs = {octets[6:12].hex(":") for *_, octets in probe.mark(bed.link, bed.sentinel())}
        assert macs <= {bed.link.mac}


REFUSALS = [
    ("no device", "mode=af_xdp,device=nix0", "nix0: no such network device", None),
    ("no device", "mode=af_packet,device=nix0", "nix0: no such network device", None),
    ("pci", "mode=af_packet,device=0000:01:00.0", "needs mode: native", None),
    ("mtu", "mode=af_xdp,mtu=9000,device=p0", "'ip link set dev p0 mtu 9000'", None),
    ("tunnel", "mode=af_packet,n3,mtu=600,device=p0", "too small for a tunnel", None),
    ("zero-copy", "mode=af_xdp,zc=on,device=p0", "set zero_copy: auto", None),
    ("caps", "mode=af_xdp,device=p0", "CAP_BPF", "+net_raw,+net_admin"),
    ("caps", "mode=af_packet,device=p0", "CAP_NET_RAW", "+net_admin"),
    ("memlock", "mode=af_xdp,device=p0", "LimitMEMLOCK", "+net_raw,+net_admin,+bpf"),
    ("native", "mode=native,device=p0", "'lspci -D'", None),
    ("native", "mode=native,device=0000:ff:1f.7", "no such PCI device", None),
    ("vdev", "mode=vdev,device=net_nix0", "no such virtual device", None),
]


@pytest.mark.parametrize("what, words, text, caps", REFUSALS,
                         ids=[f"{row[0]}-{row[1].split(',')[0][5:]}" for row in REFUSALS])
def test_refusal(bed, what, words, text, caps):
    """What cannot work is refused with its cure, and leaves nothing attached."""
    del what
    with Refused(bed.host, words, caps=caps) as probe:
        assert text in probe.refusal()
    assert "xdp" not in bed.host.inside("link", "show", "dev", "p0").stdout


class Refused(Probe):
    """A probe that is not expected to come up."""

    def __enter__(self):
        return self


@pytest.mark.parametrize("words, text", [
    (["-w", "2", "mode=af_xdp,device=p0"], "numrxqueues 2"),
    (["-w", "2", "mode=vdev,device=net_pcap0,iface=lo"], "1 rx"),
    (["-H", "on", "-m", "999999", "mode=af_xdp,device=p0"], "vm.nr_hugepages"),
    (["mode=af_xdp,name=a,device=p0", "mode=af_xdp,name=b,device=p0"], "same VLAN"),
    (["mode=af_xdp,name=a,device=p0", "mode=af_packet,name=b,vlan=2,device=p0"], "different modes"),
    (["-m", "16", "mode=af_xdp,device=p0"], "memory_mb"),
])
def test_refusal_of_a_set(bed, words, text):
    """What cannot work together, or with this machine."""
    with Refused(bed.host, *words) as probe:
        assert text in probe.refusal()


def test_refusal_of_a_busy_device(bed):
    """A second daemon on the device, and somebody else's program."""
    with bed.probe(f"n3,addr={OURS}") as first:
        with Refused(bed.host, "mode=af_xdp,device=p0") as second:
            assert "another sluiced uses this device" in second.refusal()
        bed.link.send(gtpu(bed, OURS))
        assert first.mark(bed.link, bed.sentinel())


def test_refusal_of_a_foreign_program(bed):
    """Somebody else's program is not taken off."""
    build = os.environ.get("SLUICE_BUILD", os.path.join(TOP, "build"))
    program = os.path.join(build, "tests/chain/foreign.bpf.o")
    bed.host.inside("link", "set", "dev", "p0", "xdp", "obj", program, "sec", "xdp")
    with Refused(bed.host, "mode=af_xdp,device=p0") as probe:
        assert "'ip link set dev p0 xdp off'" in probe.refusal()
    assert "xdp" in bed.host.inside("link", "show", "dev", "p0").stdout


def test_advice_on_checksums(net):
    """A veth peer in the same namespace that leaves checksums unfinished."""
    host = net.namespace("host")
    host.inside("link", "add", "p0", "type", "veth", "peer", "q0")
    for device in ("p0", "q0"):
        host.inside("link", "set", "dev", device, "up")
    with Probe(host, "mode=af_xdp,device=p0") as probe:
        probe.ask("quit", "bye")
        assert any("'ethtool -K q0 tx off'" in line for line in probe.said)
    host.run("ethtool", "-K", "q0", "tx", "off")
    with Probe(host, "mode=af_xdp,device=p0") as probe:
        probe.ask("quit", "bye")
        assert not any("tx off" in line for line in probe.said)
