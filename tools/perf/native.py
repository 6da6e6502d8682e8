"""NICs for mode native: what --native names, and whether DPDK can have it.

Two ports are the daemon's, N3 and N6, and two the traffic side's, each with a cable to one of those. All are
bound to a driver that gives them to user space; nothing is bound or unbound here.
"""

import fcntl
import os
import re

NAMES = ("n3", "n6", "g3", "g6")  # as bench.py has them
USER_DRIVERS = ("vfio-pci", "uio_pci_generic", "igb_uio", "mlx5_core", "mlx4_core", "mana")
SYSFS = "/sys/bus/pci/devices"
ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def _claimed(path):
    """Does a running sluiced have the device? It holds this lock (src/port/backend_native.h)."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(folder)
    return False


def _fault(address, sysfs):
    """What is wrong with a device, or None."""
    if not ADDRESS.fullmatch(address):
        return f"'{address}' is not a PCI address like 0000:01:00.0: 'lspci -D' lists them"
    path = os.path.join(sysfs, address)
    if not os.path.exists(path):
        return f"{address}: no such PCI device: 'lspci -D' lists them"
    cure = f"'dpdk-devbind.py -b vfio-pci {address}' binds it (the host loses it)"
    try:
        driver = os.path.basename(os.readlink(os.path.join(path, "driver")))
    except OSError:
        return f"{address}: no driver is bound to this device: {cure}"
    if driver not in USER_DRIVERS:
        return f"{address}: the kernel's driver {driver} has this device: {cure}"
    if _claimed(path):
        return f"{address}: a running sluiced uses this device"
    return None


def nics(text, sysfs=SYSFS):
    """{name: PCI address} of what --native was given. ValueError: what is wrong, with the cure."""
    addresses = text.split(",")
    if len(addresses) != len(NAMES):
        raise ValueError("--native takes four ports, N3,N6,G3,G6: the daemon's two, and the traffic side's, "
                         "which have cables to those")
    for number, address in enumerate(addresses):
        fault = _fault(address, sysfs)
        if fault:
            raise ValueError(fault)
        if address in addresses[:number]:
            raise ValueError(f"{address} is named twice")
    return dict(zip(NAMES, addresses))
