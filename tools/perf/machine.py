"""Facts about the machine that a figure was measured on, and about the program.

Each is read where the system says it; what it does not say is left out.
"""

import os
import platform
import re
import subprocess


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _said(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cpu(name):
    found = re.search(rf"^{name}\s*:\s*(.*)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return found[1] if found else ""


def _cache(index):
    folder = f"/sys/devices/system/cpu/cpu0/cache/index{index}"
    kind, size = _read(f"{folder}/type").strip(), _read(f"{folder}/size").strip()
    return f"L{_read(folder + '/level').strip()} {kind.lower()} {size}" if size else ""


def _memory(name):
    found = re.search(rf"^{name}:\s*(\d+)", _read("/proc/meminfo"), re.MULTILINE)
    return int(found[1]) // 1024 if found else 0


def facts(top, nics):
    """[(name, value)]: of the machine, its system, the tree at `top`, and NICs ({name: PCI address})."""
    rows = [
        ("processor", _cpu("model name")),
        ("CPUs that we may use", str(len(os.sched_getaffinity(0)))),
        ("hypervisor", _said("systemd-detect-virt") if os.path.exists(
            "/usr/bin/systemd-detect-virt") else ""),
        ("caches", ", ".join(filter(None, map(_cache, range(4))))),
        ("memory", f"{_memory('MemTotal')} MB, {_memory('MemAvailable')} free"),
        ("huge pages of 2 MB", _read(
            "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages").strip()),
        ("load before the run", " ".join(_read("/proc/loadavg").split()[:3])),
        ("kernel", platform.release()),
        ("system", next(iter(re.findall(r'PRETTY_NAME="(.*)"', _read("/etc/os-release"))), "")),
        ("compiler", _said("cc", "--version").split("\n")[0]),
        ("DPDK", _said("pkg-config", "--modversion", "libdpdk")),
        ("commit", _said("git", "-C", top, "describe", "--always", "--dirty")),
    ]
    rows += [(f"NIC {name}", _said("lspci", "-D", "-s", address) or address) for name, address in nics.items()]
    return [(name, value) for name, value in rows if value]
