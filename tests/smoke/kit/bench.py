"""The network that traffic is measured in: the daemon, or testpmd, between the two ports of sluice-perf.

    gen ══g3──n3══ upf        and g4──n4, which is the kernel's
        ══g6──n6══

`gen` is gNB, data network and SMF in one. Who forwards is started for a measurement and ended after
it, so that testpmd has the very devices that the daemon had. In mode virtio_user the two ports are
shared memory instead of devices: the traffic side listens, and who forwards connects. In mode native
they are NICs with cables between them, which no namespace has.
"""

import contextlib
import json
import os
import subprocess

from kit import topology
from kit.daemon import binary
from kit.wait import wait_for

TESTPMD = "dpdk-testpmd"
MTU = 1600  # a user's 1,518 bytes in a tunnel
UE_BASE, UE_POOL = "10.128.0.1", "10.128.0.0/9"
UE6_BASE, UE6_POOL = "2001:db8:8000::", "2001:db8:8000::/42"
MODES = (*topology.MODES, "virtio_user")
NATIVE = "native"
nics = {}  # for mode native: PCI addresses by the names n3, n6, g3 and g6; it is not among MODES
TRAFFIC_CPU = 0


def lay(net, queues=1):
    """Make the two namespaces in a kit.netns.Net: (gen, upf)."""
    gen, upf = net.namespace("gen"), net.namespace("upf")
    for number in (3, 6):
        net.veth((gen, f"g{number}"), (upf, f"n{number}"), queues, MTU, kernel_addresses=False)
    net.veth((gen, "g4"), (upf, "n4"))
    gen.address("g4", f"{topology.N4_SMF}/24")
    upf.address("n4", f"{topology.N4_UPF}/24")
    return gen, upf


def _socket(folder, number):
    return os.path.join(folder, f"n{number}.sock")


def sockets(folder):
    """What the traffic side listens on in mode virtio_user."""
    return [_socket(folder, number) for number in (3, 6)]


def _device(mode, name, number, first, folder, queue=0, ring=0):
    """DPDK device arguments: `name` is n3 as who forwards has it, or g3 as the traffic side does.

    In mode virtio_user who forwards has the rings, of `ring` packets (0: as the driver has it).
    """
    if mode == NATIVE:
        return nics[name]
    if mode == "virtio_user":
        driver, key = ("net_virtio_user", "path") if name[0] == "n" else ("net_vhost", "iface")
        size = f",queue_size={ring}" if ring and name[0] == "n" else ""
        return f"{driver}{first},{key}={_socket(folder, number)},queues=1{size}"
    more = f",start_queue={queue}" if mode == "af_xdp" else ""
    return f"net_{mode}{first},iface={name}{more}"


def configuration(mode, control_socket, workers=1, sessions=65536, memory_mb=512, idle="poll",
                  tunnels=0, hashed=None, ring=0):
    """The daemon's configuration there; with rings of `ring` packets, where that is not 0."""
    made = topology.configuration("vdev" if mode == "virtio_user" else mode, control_socket, workers)
    made["eal"]["memory_mb"] = memory_mb
    made["workers"]["idle"] = idle
    made["sessions"] = {"max": sessions, "tunnels": tunnels}
    if hashed:
        made["sessions"]["hashed"] = hashed
    made["interfaces"][0]["mtu"] = MTU
    for interface in made["interfaces"] if ring else ():
        interface["rx_descriptors"] = interface["tx_descriptors"] = ring
    made["network_instances"][0]["pools"] = [UE_POOL, UE6_POOL]
    if mode == NATIVE:
        made["eal"]["hugepages"] = "on"
        for index, number in enumerate((3, 6)):
            made["interfaces"][index]["device"] = nics[f"n{number}"]
    if mode == "virtio_user":
        folder = os.path.dirname(control_socket)
        for index, number in enumerate((3, 6)):
            made["interfaces"][index]["device"] = _device(mode, f"n{number}", number, index, folder,
                                                           ring=ring)
    return made


def traffic_words(engine, mode, *more, queues=1, folder=None):
    """The words that run an engine of sluice-perf with traffic in this mode.

    AF_XDP has a device for each queue; AF_PACKET's socket hears all of them.
    """
    words = [binary("sluice-perf"), engine]
    queues = queues if mode == "af_xdp" else 1
    for index, number in enumerate((3, 6)):
        devices = (_device(mode, f"g{number}", number, index * queues + queue, folder, queue)
                   for queue in range(queues))
        words += [f"--n{number}-port", ";".join(devices)]
    huge = ["--huge"] if mode == NATIVE else []
    return [*words, "--ue-base", UE_BASE, "--cpu", str(TRAFFIC_CPU), *huge, *more]


def testpmd_words(mode, folder):
    """The words that run testpmd's io-forward on n3 and n6 with one forwarding core.

    Into a file it would write its lines late, but for stdbuf.
    """
    devices = [("-a" if mode == NATIVE else "--vdev", _device(mode, f"n{number}", number, index, folder))
               for index, number in enumerate((3, 6))]
    memory = ["--in-memory"] if mode == NATIVE else ["--no-pci", "--no-huge"]
    return ["stdbuf", "-oL", TESTPMD, "-l", f"{TRAFFIC_CPU},{topology.worker_cpus(1)[0]}",
            *memory, "-m", "512", "--no-telemetry",
            f"--file-prefix=testpmd{os.getpid()}", *(word for pair in devices for word in pair),
            "--", "--forward-mode=io", "--auto-start", "--total-num-mbufs=16384", "--rxd=1024",
            "--txd=1024", "--nb-cores=1"]


def side_drops(gen, mode):
    """What the traffic side's devices dropped of what came back, by name, where the kernel has them."""
    if mode not in topology.MODES:
        return {}
    rows = (json.loads(gen.inside("-j", "-s", "link", "show", "dev", name).stdout)[0] for name in ("g3", "g6"))
    return {f"the traffic side's {row['ifname']}": row["stats64"]["rx"]["dropped"] for row in rows}


@contextlib.contextmanager
def testpmd(upf, mode, folder):
    """testpmd in the daemon's place."""
    path = os.path.join(folder, "testpmd.log")
    with open(path, "w+b") as log:
        process = upf.start(*testpmd_words(mode, folder), stdin=subprocess.PIPE, stdout=log,
                            stderr=log)

    def said():
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if process.poll() is not None:
            raise RuntimeError(f"testpmd ended with {process.returncode}:\n{text}")
        return "Press enter to exit" in text

    try:
        wait_for(said, "testpmd to start", timeout=20)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def traffic(gen, words, mode, folder):
    """The traffic side, started: in mode virtio_user, until it listens. Ended on leaving."""
    process = gen.start(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True)
    try:
        if mode == "virtio_user":
            wait_for(lambda: all(map(os.path.exists, sockets(folder))) or process.poll() is not None,
                     "the traffic side to listen", timeout=20)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
