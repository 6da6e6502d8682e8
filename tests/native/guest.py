#!/usr/bin/python3
"""A machine without hardware: qemu emulates it, with four NICs that are cabled in pairs, and runs a command in it.

    first ══ third        second ══ fourth

Its kernel is Debian's, which `tools/dev` takes apart into a folder. Its file system is in memory and holds what
measuring needs of this machine, at the same paths. The NICs are bound to a driver that gives them to user space, so
that DPDK's own drivers can have them. The command, a line of shell, finds their PCI addresses in $NICS, in the order
of above and with commas between; what it leaves in /tmp/report can be had. The processor has no AVX-512: programs are
built with -Dmarch=x86-64-v3.

As a program: guest.py [OPTION...] COMMAND
"""

import argparse
import contextlib
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../.."))
sys.path[:0] = [HERE, os.path.join(TOP, "tests/smoke")]

from archive import Archive  # noqa: E402
from kit.daemon import binary  # noqa: E402
from kit.netns import Net  # noqa: E402
from kit.wait import wait_for  # noqa: E402

KERNEL = os.environ.get("SLUICE_KERNEL", os.path.join(TOP, "build-kernel"))  # a package, taken apart
MODELS = {"e1000e": "", "vmxnet3": "", "virtio-net-pci": ",disable-legacy=on,disable-modern=off"}
USER_DRIVERS = {"uio_pci_generic": ("pc", ()),
                "vfio-pci": ("q35", ("-device", "intel-iommu,intremap=on,caching-mode=on"))}
MODULES = ("uio_pci_generic", "vfio_iommu_type1", "vfio_pci", "virtio_pci", "virtio_net", "veth", "tun", "8021q")
CABLES = (0, 1, 0, 1)  # which one each NIC is plugged into
MTU = 1600
MEMORY_MB, HUGEPAGES = 2304, 460
LEFT = "/tmp/report"  # a folder that --report brings
FOLDERS = ("/proc", "/sys", "/tmp", "/run", "/var/run", "/root")
BINARIES = ("sluiced", "sluicectl", "sluice-perf", "sluice-sim")
PROGRAMS = ("/usr/bin/python3", "/usr/bin/dpdk-testpmd", "/usr/bin/stdbuf", "/usr/bin/chrt", "/usr/sbin/ip",
            "/usr/sbin/sysctl", "/usr/sbin/ethtool", "/usr/bin/ping", "/usr/libexec/coreutils/libstdbuf.so")
DRIVERS = "/usr/lib/x86_64-linux-gnu/dpdk/pmds-*/librte_{}.so*"
DRIVER_NAMES = ("bus_pci", "bus_vdev", "mempool_ring", "net_e1000", "net_virtio", "net_vmxnet3")
PYTHON_WITHOUT = ("test", "idlelib", "lib2to3", "tkinter", "ensurepip", "pydoc_data", "distutils", "turtledemo")
YAML = "/usr/lib/python3/dist-packages/yaml"
TREE = ("tools/perf", "tests/smoke/kit", "tests/native")
NEEDED = re.compile(rb"\0depends=([^\0]*)\0")
UP = "guest: up\r\n"
ENDED = re.compile(r"^guest: status (\d+)\s*$", re.MULTILINE)
BOOT_S, BOOTS = 60, 3  # a kernel is up within 10 s or so; one of about sixty never was, before any of this ran

INIT = """#!/bin/busybox sh
B=/bin/busybox
$B mount -t proc proc /proc
$B mount -t sysfs sysfs /sys
$B mount -t devtmpfs dev /dev
$B mkdir /dev/shm
$B mount -t tmpfs shm /dev/shm
for module in {modules}; do $B insmod /modules/$module.ko; done
for path in /sys/bus/pci/devices/*; do
	[ "$($B cat $path/class)" = 0x020000 ] || continue
	nic=${{path##*/}}
	echo {driver} > $path/driver_override
	[ ! -e $path/driver ] || echo $nic > $path/driver/unbind
	echo $nic > /sys/bus/pci/drivers/{driver}/bind
	NICS=$NICS${{NICS:+,}}$nic
done
$B ip link set lo up
export NICS HOME=/root PATH=/usr/sbin:/usr/bin:/bin LD_LIBRARY_PATH={libraries} SLUICE_BUILD={build}
cd {top}
echo "guest: up" >/dev/ttyS1
({command}) </dev/null >/dev/ttyS1 2>&1
echo "guest: status $?" >/dev/ttyS1
$B stty raw -F /dev/ttyS2
[ ! -d {left} ] || $B tar c -C {left} . >/dev/ttyS2
$B poweroff -f
"""


def kernel():
    """(image, folder of modules) of the kernel in KERNEL."""
    images = glob.glob(os.path.join(KERNEL, "boot/vmlinuz-*"))
    folders = glob.glob(os.path.join(KERNEL, "lib/modules/*"))
    if len(images) != 1 or len(folders) != 1:
        raise FileNotFoundError(f"no kernel is in {KERNEL}: 'tools/dev check native' puts one there")
    return images[0], folders[0]


def modules(folder):
    """{name: path} of MODULES and what they need, in the order to load them."""
    there = {os.path.basename(path)[:-3].replace("-", "_"): path
             for path in glob.glob(os.path.join(folder, "kernel/**/*.ko"), recursive=True)}
    found = {}

    def add(name):
        with open(there[name], "rb") as file:
            needed = NEEDED.search(file.read())[1].decode()
        for other in filter(None, needed.split(",")):
            if other not in found:
                add(other.replace("-", "_"))
        found[name] = there[name]

    for name in MODULES:
        add(name)
    return found


def fill(archive, command, driver):
    """All that the guest's file system holds."""
    loaded = modules(kernel()[1])
    drivers = [path for name in DRIVER_NAMES for path in glob.glob(DRIVERS.format(name))]
    programs = list(map(binary, BINARIES))
    library = f"/usr/lib/{os.path.basename(os.path.realpath(PROGRAMS[0]))}"
    for path in FOLDERS:
        archive.folder(path)
    archive.console()
    for path in ("/bin/busybox", "/bin/sh"):
        archive.file("/bin/busybox", path)
    for name, path in loaded.items():
        archive.file(path, f"/modules/{name}.ko")
    archive.program(*programs, *PROGRAMS, *drivers, *glob.glob(f"{library}/lib-dynload/*.so"),
                    *glob.glob(f"{YAML}/*.so"))
    for path in (library, YAML, *(os.path.join(TOP, folder) for folder in TREE)):
        archive.tree(path, PYTHON_WITHOUT)
    archive.text("/init", INIT.format(
        left=LEFT, modules=" ".join(loaded), driver=driver, libraries=os.path.dirname(drivers[0]), top=shlex.quote(TOP),
        build=shlex.quote(os.path.abspath(os.environ.get("SLUICE_BUILD", os.path.join(TOP, "build")))),
        command=command), 0o755)


def machine(files, options):
    """The words that start qemu."""
    kind, more = USER_DRIVERS[options.driver]
    words = ["qemu-system-x86_64", "-machine", kind, *more, "-accel", "tcg,thread=multi", "-cpu", "max",
             "-smp", str(options.cpus), "-m", str(MEMORY_MB), "-nodefaults", "-nographic", "-no-reboot",
             "-kernel", kernel()[0], "-initrd", files["root"],
             "-append", f"console=ttyS0 panic=-1 mitigations=off intel_iommu=on hugepages={HUGEPAGES}",
             *(word for name in ("console", "output", "left") for word in ("-serial", f"file:{files[name]}"))]
    for number, cable in enumerate(CABLES):
        model = options.far if options.far and number > 1 else options.nic
        more = MODELS[model]
        if options.queues > 1:
            more += f",mq=on,rss=on,vectors={2 * options.queues + 2}"
        if kind == "q35" and model == "virtio-net-pci":
            more += ",iommu_platform=on"
        words += ["-netdev", f"tap,id=n{number},ifname=t{number},queues={options.queues},script=no,downscript=no"
                  if options.queues > 1 else f"hubport,id=n{number},hubid={cable}",
                  "-device", f"{model},netdev=n{number},romfile=,mac=52:54:00:00:00:{number:02x}{more}"]
    return words


def cables(net):
    """A namespace with a device for each NIC, bridged in pairs: only they have several queues."""
    made = net.namespace("cables")
    made.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
    for cable in sorted(set(CABLES)):
        made.inside("link", "add", f"b{cable}", "mtu", str(MTU), "type", "bridge", "mcast_snooping", "0")
        made.inside("link", "set", f"b{cable}", "up")
    for number, cable in enumerate(CABLES):
        made.inside("tuntap", "add", f"t{number}", "mode", "tap", "multi_queue")
        made.inside("link", "set", f"t{number}", "mtu", str(MTU), "master", f"b{cable}", "up")
    return made


def _boot(words, files, stack):
    """Starts qemu until a kernel is up, which not every one comes to: the process."""
    for _ in range(BOOTS):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True)
        stack.callback(process.wait)
        stack.callback(process.kill)
        with contextlib.suppress(TimeoutError):
            wait_for(lambda: UP in _read(files["output"]) or process.poll() is not None, "the guest", BOOT_S, 0.2)
            return process
        process.kill()
        process.wait()
    raise TimeoutError(f"the guest was not up within {BOOT_S} s, {BOOTS} times:\n{_last(files)}")


def run(command, *words):
    """Runs a command in a guest: (its exit status, what it printed). `words`: options, as the program takes them.

    TimeoutError, RuntimeError: the guest did not come to the command's end; with the last that it said.
    """
    options = arguments([*words, command])
    with contextlib.ExitStack() as stack:
        folder, net = stack.enter_context(tempfile.TemporaryDirectory()), stack.enter_context(Net())
        files = {name: os.path.join(folder, name) for name in ("root", "console", "output", "left")}
        with open(files["root"], "wb") as file:
            archive = Archive(file)
            fill(archive, command, options.driver)
            archive.close()
        started = machine(files, options)
        if options.queues > 1:
            started = ["ip", "netns", "exec", cables(net).name, *started]
        process = _boot(started, files, stack)
        try:
            said, _ = process.communicate(timeout=options.timeout)
        except subprocess.TimeoutExpired as late:
            raise TimeoutError(f"the command did not end within {options.timeout:g} s:\n{_last(files)}") from late
        text = _read(files["output"])
        ended = ENDED.search(text)
        if process.returncode or not ended:
            raise RuntimeError(f"the guest broke down (qemu: {process.returncode} {said}):\n{_last(files)}")
        if options.report and os.path.getsize(files["left"]):
            os.makedirs(options.report, exist_ok=True)
            subprocess.run(["tar", "xf", files["left"], "-C", options.report, "--no-same-owner"], check=True,
                           timeout=60)
        return int(ended[1]), text[text.index(UP) + len(UP):ended.start()].replace("\r\n", "\n")


def _read(path):
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8", errors="replace", newline="") as file:
        return file.read()
    return ""


def _last(files):
    return "\n".join(f"{name}:\n{_read(files[name])[-3000:]}" for name in ("console", "output"))


def arguments(words):
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--nic", choices=MODELS, default="e1000e", help="what is emulated")
    add("--far", choices=MODELS, help="the same of the third and the fourth")
    add("--driver", choices=USER_DRIVERS, default="uio_pci_generic", help="which the NICs are bound to")
    add("--queues", type=int, default=1, help="of each NIC; only virtio-net-pci can have several")
    add("--cpus", type=int, default=2)
    add("--timeout", type=float, default=240, help="seconds")
    add("--report", metavar="FOLDER", help=f"where that goes which the command leaves in {LEFT}")
    add("command", help="a line of shell")
    options = parser.parse_args(words)
    if options.queues > 1 and options.nic != "virtio-net-pci":
        parser.error(f"{options.nic} has one queue here")
    return options


if __name__ == "__main__":
    asked = sys.argv[1:]
    STATUS, OUTPUT = run(arguments(asked).command, *asked[:-1])
    print(OUTPUT, end="")
    sys.exit(STATUS)
