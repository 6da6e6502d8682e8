#!/usr/bin/python3
"""In the guest: the daemon in mode native, and beyond the cables hosts: a gNB with a UE, and the data network's.

    ran: sluice-sim, kernel's NIC ══ N3, VLAN 100, upf: sluiced, N6 ══ kernel's NIC, dn

With --shared the NIC of N3 is N6's, too, without a tag, and both hosts are on the one at its cable's end.

What they send is what NICs filter and pad: ARP, solicitations to multicast addresses, tagged frames, the shortest and
the longest. Prints how many of three pings came back of each kind, and what the daemon said when frames were to be one
octet longer, as JSON; leaving the daemon checks its accounts.
"""

import argparse
import json
import os
import subprocess
import tempfile

from inside import bench, configuration, refusal, write
from kit import topology
from kit.daemon import Daemon, binary
from kit.netns import Net
from kit.wait import wait_for

VLAN = 100
SYSFS = "/sys/bus/pci"
PINGS = 3


def kernel_nic(address):
    """Gives a NIC of virtio's to the kernel: its name there."""
    device = f"{SYSFS}/devices/{address}"
    write(f"{device}/driver/unbind", address)
    write(f"{device}/driver_override", "virtio-pci")
    write(f"{SYSFS}/drivers/virtio-pci/bind", address)

    def name():
        folders = [path for path, _, _ in os.walk(device) if os.path.basename(path) == "net"]
        return os.listdir(folders[0])[0] if folders else None

    return wait_for(name, "the kernel's NIC")


def plug(namespace, name, label, mtu):
    """Puts a NIC of the kernel's into a namespace."""
    namespace.ip("link", "set", name, "netns", namespace.name)
    namespace.inside("link", "set", name, "name", label, "mtu", str(mtu))
    namespace.run("ethtool", "-K", label, "tx", "off")
    namespace.inside("link", "set", label, "up")


def lay(net, mtu, shared):
    """The three namespaces, as topology.lay() makes them, but with NICs."""
    ran, upf, dn = (net.namespace(label) for label in ("ran", "upf", "dn"))
    net.veth((ran, "n4"), (upf, "n4"))
    plug(dn, kernel_nic(bench.nics["g3" if shared else "g6"]), "n6", mtu)
    trunk = (dn, "n6") if shared else (ran, "nic")
    if not shared:
        plug(ran, kernel_nic(bench.nics["g3"]), "nic", mtu)
    trunk[0].inside("link", "add", "link", trunk[1], "name", "n3", "netns", ran.name, "type", "vlan", "id", str(VLAN))
    ran.inside("link", "set", "n3", "up")
    topology.give_addresses(topology.Topology(ran, upf, dn))
    return ran, upf, dn


def configured(path, mtu, shared):
    """The daemon's configuration: tagged on N3, long frames on both."""
    made = configuration(path)
    made["network_instances"][0]["pools"] = [topology.UE_POOL, topology.UE_POOL6]
    for interface in made["interfaces"]:
        interface["mtu"] = mtu
    made["interfaces"][0]["vlan"] = VLAN
    if shared:
        made["interfaces"][1]["device"] = made["interfaces"][0]["device"]
    made["sessions"]["tunnels"] = 64
    return made


def ping(namespace, destination, *more):
    """How many come back."""
    done = namespace.run("ping", "-n", "-c", str(PINGS), "-i", "0.2", "-W", "3", *more, destination, check=False)
    return next((int(line.split(", ")[1].split()[0]) for line in done.stdout.splitlines() if "received" in line),
                done.stdout + done.stderr)


def ue_words():
    """A UE with an address of each family."""
    return [binary("sluice-sim"), "--smf-address", topology.N4_SMF, "--n4", topology.N4_UPF, "--gnb", topology.N3_GNB,
            "--dnn", topology.DNN, "--ue-pool", topology.UE_POOL, "--ue-pool6", topology.UE_POOL6, "attach"]


def ping_by_ue(ran):
    """From a UE, which is there for so long."""
    sim = ran.start(*ue_words(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: sim.poll() is not None or ran.run("ip", "link", "show", "ue0", check=False).returncode == 0,
                 "the UE", timeout=20)
        ran.inside("route", "replace", topology.N6_NET, "dev", "ue0")
        ran.inside("-6", "route", "replace", "fd00:6::/64", "dev", "ue0")
        return {"UE": ping(ran, topology.N6_DN, "-I", "ue0", "-s", "0"),
                "UE, long": ping(ran, topology.N6_DN, "-I", "ue0", "-s", "1372", "-M", "do"),
                "UE, IPv6": ping(ran, topology.N6_DN6, "-I", "ue0")}
    finally:
        sim.terminate()
        sim.wait(20)


def main():
    """Ping, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mtu", type=int, required=True)
    parser.add_argument("--shared", action="store_true")
    options = parser.parse_args()
    mtu, shared = options.mtu, options.shared
    with Net() as net, tempfile.TemporaryDirectory() as folder:
        ran, upf, dn = lay(net, mtu, shared)
        longer = refusal(upf, lambda path: configured(path, mtu + 1, shared))
        with Daemon(upf, folder, lambda path: configured(path, mtu, shared)):
            pings = {"N3": ping(ran, topology.N3_UPF), "N3, IPv6": ping(ran, topology.N3_UPF6),
                     "N6": ping(dn, topology.N6_UPF, "-s", "0"), "N6, IPv6": ping(dn, topology.N6_UPF6),
                     "N6, long": ping(dn, topology.N6_UPF, "-s", str(mtu - 28), "-M", "do"), **ping_by_ue(ran)}
    print(json.dumps({"pings": pings, "longer": longer}))


if __name__ == "__main__":
    main()
