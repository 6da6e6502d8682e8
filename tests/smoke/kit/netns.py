"""Network namespaces and veth pairs that are gone when the test is, however it ends.

A namespace is named `sluice-<pid>-<number>-<label>` after the process that made it, so whoever
comes next can remove what a killed process left. Run as a program, it does just that.
"""

import contextlib
import ctypes
import itertools
import json
import os
import re
import signal
import socket
import subprocess

RUN_NETNS = "/run/netns"
NAME = re.compile(r"sluice-(\d+)-\d+-\w+$")
CLONE_NEWNET = 0x40000000
_numbers = itertools.count()
_libc = ctypes.CDLL(None, use_errno=True)


def run(*words, check=True, timeout=30, **options):
    """Run a command to its end; what it printed is in the answer, and in the error."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False,
                          **options)
    if check and done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise RuntimeError(f"{' '.join(words)}: exit status {done.returncode}: {said}")
    return done


def interruptible():
    """Make a polite end (SIGTERM, SIGHUP) an exception, so that everything is cleaned up."""
    def interrupt(_number, _frame):
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def sweep():
    """Remove the namespaces of processes that are gone, and end what runs in them."""
    names = os.listdir(RUN_NETNS) if os.path.isdir(RUN_NETNS) else []
    for name in names:
        found = NAME.match(name)
        if found and not os.path.exists(f"/proc/{found[1]}"):
            _remove(name)


def _remove(name):
    pids = run("ip", "netns", "pids", name, check=False).stdout.split()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    run("ip", "netns", "delete", name, check=False)


@contextlib.contextmanager
def _signals_held():
    """Cleaning up is not interrupted; what comes meanwhile is delivered after."""
    held = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Netns:
    """One namespace. Made by Net.namespace()."""

    def __init__(self, label, log):
        self.label = label
        self.name = f"sluice-{os.getpid()}-{next(_numbers)}-{label}"
        self._log = log
        self.ip("netns", "add", self.name)
        self.run("sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
        self.inside("link", "set", "lo", "up")

    def ip(self, *words):
        """Run ip(8) outside of any namespace, and tell the log."""
        self._log("ip", *words)
        return run("ip", *words)

    def inside(self, *words):
        """Run ip(8) for this namespace, and tell the log."""
        return self.ip("-n", self.name, *words)

    def _exec(self, words):
        return ["ip", "netns", "exec", self.name, *words]

    def run(self, *words, **options):
        """Run a command in the namespace to its end."""
        return run(*self._exec(words), **options)

    def start(self, *words, **options):
        """Start a command in the namespace: a Popen whose pid is the command's own."""
        return subprocess.Popen(self._exec(words), **options)

    @contextlib.contextmanager
    def entered(self):
        """Put the calling thread into the namespace for a while (network only)."""
        with open("/proc/thread-self/ns/net", "rb") as home:
            with open(f"{RUN_NETNS}/{self.name}", "rb") as there:
                _setns(there)
            try:
                yield
            finally:
                _setns(home)

    def socket(self, family, kind, protocol=0):
        """A socket that lives in the namespace, for use from anywhere."""
        with self.entered():
            return socket.socket(family, kind, protocol)

    def mac(self, device):
        """A device's hardware address."""
        return json.loads(self.inside("-j", "link", "show", "dev", device).stdout)[0]["address"]

    def address(self, device, *addresses):
        """Give addresses (with prefix length) to a device; IPv6 ones are usable at once."""
        for address in addresses:
            more = ["nodad"] if ":" in address else []
            self.inside("address", "add", address, "dev", device, *more)

    def route(self, prefix, via):
        """Add a route."""
        self.inside("-6" if ":" in via else "-4", "route", "add", prefix, "via", via)

    def neighbour(self, device, address, mac):
        """Add a permanent neighbour entry."""
        self.inside("neigh", "replace", address, "lladdr", mac, "dev", device)


def _setns(file):
    if _libc.setns(file.fileno(), CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


class Net:
    """The namespaces of a test; a context manager that removes them, and ends what runs in them.

    `log` is called with the words of every command that lays the network, for those who want to
    show them.
    """

    def __init__(self, log=None):
        self._log = log or (lambda *words: None)
        self.namespaces = []

    def __enter__(self):
        sweep()
        return self

    def __exit__(self, *_):
        with _signals_held():
            for namespace in reversed(self.namespaces):
                _remove(namespace.name)
            self.namespaces.clear()

    def namespace(self, label):
        """A new namespace with its loopback up."""
        made = Netns(label, self._log)
        self.namespaces.append(made)
        return made

    def veth(self, one, other, queues=1, mtu=1500, kernel_addresses=True):
        """A pair of devices, each given as (namespace, name), both up.

        Kernel senders hand over packets whose checksum is not made yet unless transmit offload
        is off, so it is turned off on both sides. Where the daemon takes a device over, the
        kernel should give it no link-local address (kernel_addresses=False) and so keep quiet.
        """
        count = ["numrxqueues", str(queues), "numtxqueues", str(queues)]
        (here, device), (there, peer) = one, other
        here.inside("link", "add", "name", device, *count, "mtu", str(mtu), "type", "veth",
                    "peer", "name", peer, *count, "mtu", str(mtu), "netns", there.name)
        for namespace, name in (one, other):
            if not kernel_addresses:
                namespace.inside("link", "set", "dev", name, "addrgenmode", "none")
            self._log("ip", "netns", "exec", namespace.name, "ethtool", "-K", name, "tx", "off")
            namespace.run("ethtool", "-K", name, "tx", "off")
            namespace.inside("link", "set", "dev", name, "up")


if __name__ == "__main__":
    sweep()
