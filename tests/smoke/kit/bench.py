"""The network that traffic is measured in: the daemon, or testpmd, between the two ports of sluice-perf.

    gen ══g3──n3══ upf        and g4──n4, which is the kernel's
        ══g6──n6══

`gen` is gNB, data network and SMF in one. Who forwards is started for a measurement and ended after
it, so that testpmd has the very devices that the daemon had.
"""

import contextlib
import os
import subprocess

from kit import topology
from kit.daemon import binary
from kit.wait import wait_for

TESTPMD = "dpdk-testpmd"
MTU = 1600  # a user's 1,518 bytes in a tunnel
UE_BASE, UE_POOL = "10.128.0.1", "10.128.0.0/9"
DRIVERS = {"af_xdp": "net_af_xdp", "af_packet": "net_af_packet"}
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


def configuration(mode, control_socket, workers=1, sessions=65536, memory_mb=512, idle="poll"):
    """The daemon's configuration there."""
    made = topology.configuration(mode, control_socket, workers)
    made["eal"]["memory_mb"] = memory_mb
    made["workers"]["idle"] = idle
    made["sessions"] = {"max": sessions, "tunnels": 0}
    made["interfaces"][0]["mtu"] = MTU
    made["network_instances"][0]["pools"] = [UE_POOL]
    return made


def _ports(mode, device, first, queues):
    """Device arguments for sluice-perf: AF_XDP has a device for each queue."""
    if mode != "af_xdp":
        return f"{DRIVERS[mode]}{first},iface={device}"
    return ";".join(f"{DRIVERS[mode]}{first + queue},iface={device},start_queue={queue}"
                    for queue in range(queues))


def traffic_words(engine, mode, *more, queues=1):
    """The words that run an engine of sluice-perf with traffic on g3 and g6, in this mode."""
    return [binary("sluice-perf"), engine, "--n3-port", _ports(mode, "g3", 0, queues),
            "--n6-port", _ports(mode, "g6", queues, queues), "--ue-base", UE_BASE,
            "--cpu", str(TRAFFIC_CPU), *more]


def testpmd_words(mode, worker):
    """The words that run testpmd's io-forward on n3 and n6 with one forwarding core.

    Into a file it would write its lines late, but for stdbuf.
    """
    driver = DRIVERS[mode]
    return ["stdbuf", "-oL", TESTPMD, "-l", f"{TRAFFIC_CPU},{worker}", "--no-pci", "--no-huge", "-m", "512",
            "--no-telemetry", f"--file-prefix=testpmd{os.getpid()}",
            "--vdev", f"{driver}0,iface=n3", "--vdev", f"{driver}1,iface=n6", "--",
            "--forward-mode=io", "--auto-start", "--total-num-mbufs=16384", "--rxd=1024",
            "--txd=1024", "--nb-cores=1"]


@contextlib.contextmanager
def testpmd(upf, mode, folder):
    """testpmd in the daemon's place."""
    path = os.path.join(folder, "testpmd.log")
    words = testpmd_words(mode, topology.worker_cpus(1)[0])
    with open(path, "w+b") as log:
        process = upf.start(*words, stdin=subprocess.PIPE, stdout=log, stderr=log)

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
