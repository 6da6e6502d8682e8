"""The network that smoke tests and the demo run in, and the configuration that fits it.

    ran ──n3── upf ──n6── dn        and n4, between ran and upf, which is the kernel's

The devices n3 and n6 of `upf` carry no address of the kernel's: Sluice answers for them. All
names and addresses that a test needs are here, and nowhere else.
"""

import itertools
import os
from dataclasses import dataclass

from kit.netns import Netns

N4_SMF, N4_UPF = "10.10.4.2", "10.10.4.1"
N4_SMF6, N4_UPF6 = "fd00:4::2", "fd00:4::1"
N3_GNB, N3_UPF = "10.10.3.2", "10.10.3.1"
N3_GNB6, N3_UPF6 = "fd00:3::2", "fd00:3::1"
N6_DN, N6_UPF, N6_NET = "10.10.6.2", "10.10.6.1", "10.10.6.0/24"
N6_DN6, N6_UPF6 = "fd00:6::2", "fd00:6::1"
PREDEFINED_RULES = [
    {"name": "no-discard", "flows": ["permit out udp from any 9 to assigned"], "action": "drop"},
    {"name": "echo", "flows": ["permit out udp from any 7 to assigned"], "action": "forward"},
]
POLICY = "detour"  # a forwarding policy: all goes to the data network's host
UE_POOL, UE_POOL6 = "10.45.0.0/16", "2001:db8:cafe::/48"
DNN = "internet"
APPLICATION, APPLICATION_PORT = "configured", 18007  # of the data network's host
MODES = ("af_xdp", "af_packet")
_numbers = itertools.count()  # sets the DPDK files of a process's daemons apart


@dataclass
class Topology:
    """The three namespaces."""

    ran: Netns
    upf: Netns
    dn: Netns


def lay(net, queues=1, mtu=1500):
    """Make the namespaces, devices, addresses and routes in a kit.netns.Net."""
    ran, upf, dn = (net.namespace(label) for label in ("ran", "upf", "dn"))
    net.veth((ran, "n3"), (upf, "n3"), queues, mtu, kernel_addresses=False)
    net.veth((dn, "n6"), (upf, "n6"), queues, mtu, kernel_addresses=False)
    net.veth((ran, "n4"), (upf, "n4"))
    laid = Topology(ran, upf, dn)
    give_addresses(laid)
    return laid


def give_addresses(laid):
    """What hosts have on the devices n3, n4 and n6, and the data network's way to UEs."""
    ran, upf, dn = laid.ran, laid.upf, laid.dn
    ran.address("n3", f"{N3_GNB}/24", f"{N3_GNB6}/64")
    ran.address("n4", f"{N4_SMF}/24", f"{N4_SMF6}/64")
    upf.address("n4", f"{N4_UPF}/24", f"{N4_UPF6}/64")
    dn.address("n6", f"{N6_DN}/24", f"{N6_DN6}/64")
    dn.route(UE_POOL, N6_UPF)
    dn.route(UE_POOL6, N6_UPF6)


def worker_cpus(workers):
    """CPUs for so many workers: the last ones, so that the first stays with the control thread."""
    there = sorted(os.sched_getaffinity(0))
    if workers > len(there):
        raise ValueError(f"{workers} workers need as many CPUs; there are {len(there)}")
    return there[-workers:]


def configuration(mode, control_socket, workers=1):
    """The daemon's configuration in this network; the keys are those of config/sluice.yaml."""
    return {
        "node": {"id": N4_UPF},
        "eal": {"hugepages": "off", "memory_mb": 512,
                "file_prefix": f"sluice-{os.getpid()}-{next(_numbers)}"},
        "mode": mode,
        "workers": {"cpus": worker_cpus(workers), "idle": "sleep"},
        "sessions": {"max": 4096},
        "interfaces": [
            {"name": "access", "device": "n3", "roles": ["n3"],
             "addresses": [f"{N3_UPF}/24", f"{N3_UPF6}/64"], "gateway": N3_GNB},
            {"name": "core", "device": "n6", "roles": ["n6"],
             "addresses": [f"{N6_UPF}/24", f"{N6_UPF6}/64"],
             "gateway": N6_DN, "gateway6": N6_DN6},
        ],
        "network_instances": [{"name": DNN, "interface": "core", "pools": [UE_POOL, UE_POOL6]}],
        "applications": [{
            "name": APPLICATION,
            "flow": f"permit out 17 from {N6_DN} {APPLICATION_PORT} to assigned"}],
        "predefined_rules": PREDEFINED_RULES,
        "forwarding_policies": [{"name": POLICY, "next_hop": N6_DN, "next_hop6": N6_DN6}],
        "n4": {"address": N4_UPF},
        "gtpu": {"error_quiet_ms": 0},
        "cli": {"socket": str(control_socket)},
    }
