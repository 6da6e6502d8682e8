#!/usr/bin/python3
"""In the guest: what the daemon says of NICs that it cannot have. Prints {what is wrong: its log} as JSON.

For NICs of one queue that are bound to vfio-pci.
"""

import json

from inside import bench, configuration, refusal, write
from kit.netns import Net

UIO = "uio_pci_generic"


def changed(section, **values):
    """How a configuration with other values comes about."""
    def made(path):
        whole = configuration(path)
        whole[section].update(values)
        return whole

    return made


def main():
    """Ask for what cannot be, print."""
    address = bench.nics["n3"]
    device = f"/sys/bus/pci/devices/{address}"
    with Net() as net:
        _, upf = bench.lay(net)
        found = {"workers": refusal(upf, changed("workers", cpus=[0, 1]))}
        write(f"{device}/driver/unbind", address)
        found["unbound"] = refusal(upf, configuration)
        write(f"{device}/driver_override", UIO)
        write(f"/sys/bus/pci/drivers/{UIO}/bind", address)
        found["small pages"] = refusal(upf, changed("eal", hugepages="off"))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
