#!/usr/bin/python3
"""In the guest: what the daemon says of NICs that it cannot have. Prints {what is wrong: its log} as JSON.

For NICs of one queue that are bound to vfio-pci.
"""

import json
import tempfile

from inside import bench, configuration
from kit.daemon import Daemon
from kit.netns import Net

UIO = "uio_pci_generic"


def refusal(upf, **change):
    """The log of a daemon that does not start."""
    def changed(path):
        made = configuration(path)
        for section, values in change.items():
            made[section].update(values)
        return made

    with tempfile.TemporaryDirectory() as folder:
        try:
            with Daemon(upf, folder, changed) as daemon:
                return daemon.log()
        except RuntimeError as refused:
            return str(refused)


def write(path, text):
    """Into one of the system's files."""
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def main():
    """Ask for what cannot be, print."""
    address = bench.nics["n3"]
    device = f"/sys/bus/pci/devices/{address}"
    with Net() as net:
        _, upf = bench.lay(net)
        found = {"workers": refusal(upf, workers={"cpus": [0, 1]})}
        write(f"{device}/driver/unbind", address)
        found["unbound"] = refusal(upf)
        write(f"{device}/driver_override", UIO)
        write(f"/sys/bus/pci/drivers/{UIO}/bind", address)
        found["small pages"] = refusal(upf, eal={"hugepages": "off"})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
