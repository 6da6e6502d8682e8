#!/usr/bin/python3
"""The demonstration: a UPF between a radio network and a data network, all on this machine.

Three namespaces over veth: `ran` with sluice-sim (SMF, gNB and a UE whose packets come from the
TUN device ue0), `upf` with sluiced, `dn` with an ordinary host. For each I/O mode it pings and
runs iperf3 both ways, prints what went through, and at last how to do the same by hand. Run it by
`tools/dev demo`, which builds first.
"""

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/smoke"))

from kit import topology  # noqa: E402  (the smoke tests' kit lays the network)
from kit.daemon import TOP, Daemon, binary  # noqa: E402
from kit.netns import Net, interruptible  # noqa: E402
from kit.wait import wait_for  # noqa: E402

UE_DEVICE = "ue0"
PINGS = 5
IPERF_SECONDS = 3


def sim_command():
    """One UE attached by an SMF and a gNB; it keeps running, and detaches when it is ended."""
    return [binary("sluice-sim"), "--smf-address", topology.N4_SMF, "--n4", topology.N4_UPF,
            "--gnb", topology.N3_GNB, "--dnn", topology.DNN, "--ue-pool", topology.UE_POOL,
            "--ues", "1", "--tun", UE_DEVICE, "attach"]


def route_words():
    """What the UE has to say to the data network goes through its own device."""
    return ["route", "replace", topology.N6_NET, "dev", UE_DEVICE]


def ping_command(destination, *more):
    """A few pings, fast."""
    return ["ping", "-n", "-q", "-c", str(PINGS), "-i", "0.2", "-W", "2", *more, destination]


def iperf_command(ue, *more):
    """TCP from the UE's address to the data network; with -R the other way."""
    return ["iperf3", "-c", topology.N6_DN, "-B", ue, "--bind-dev", UE_DEVICE,
            "-t", str(IPERF_SECONDS), "-J", *more]


class Script:
    """The commands that laid the network, kept to be shown; namespaces by their short names."""

    def __init__(self):
        self._rows = []

    def __call__(self, *words):
        self._rows.append(shlex.join(words))

    def rows(self, namespaces):
        """The commands in order."""
        text = "\n".join(self._rows)
        for namespace in namespaces:
            text = text.replace(namespace.name, namespace.label)
        return text.split("\n")


@contextlib.contextmanager
def simulator(namespace, folder):
    """sluice-sim, attached: gives the UE's address, which is that of its device."""
    log_path = os.path.join(folder, "sluice-sim.log")
    with open(log_path, "wb") as log:
        sim = namespace.start(*sim_command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def address():
        if sim.poll() is not None:
            with open(log_path, encoding="utf-8", errors="replace") as file:
                raise RuntimeError(f"sluice-sim ended with {sim.returncode}:\n{file.read()}")
        shown = namespace.run("ip", "-j", "-4", "address", "show", "dev", UE_DEVICE, check=False)
        rows = json.loads(shown.stdout) if shown.returncode == 0 else []
        return next((info["local"] for row in rows for info in row.get("addr_info", [])), None)

    try:
        yield wait_for(address, "the UE's address", timeout=15)
    finally:
        sim.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            sim.wait(10)
        sim.kill()
        sim.wait()


def ping(namespace, destination, *more):
    """What came back, in words."""
    done = namespace.run(*ping_command(destination, *more), check=False)
    lines = done.stdout.strip().split("\n")
    received = next((line for line in lines if "received" in line), done.stderr.strip())
    times = [line for line in lines if line.startswith("rtt")]
    average = f", {times[0].split('/')[4]} ms" if times else ""
    return ", ".join(received.split(", ")[:2]) + average, done.returncode == 0


def iperf(laid, ue, *more):
    """The receiver's rate, in words."""
    server = laid.dn.start("iperf3", "-s", "-1", "-B", topology.N6_DN,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: ":5201" in laid.dn.run("ss", "-Hltn").stdout, "iperf3's server")
        done = laid.ran.run(*iperf_command(ue, *more), check=False, timeout=60)
    finally:
        server.kill()
        server.wait()
    try:
        total = json.loads(done.stdout)["end"]["sum_received"]
    except (ValueError, KeyError):
        return (done.stdout + done.stderr).strip()[:70], False
    return f"{total['bits_per_second'] / 1e6:.0f} Mbit/s", total["bytes"] > 0


def show(mode, laid, folder):
    """Run one mode; rows of (what, result, whether it worked)."""
    def configuration(control_socket):
        return topology.configuration(mode, control_socket)

    with Daemon(laid.upf, folder, configuration) as daemon:
        print(f"{mode}: sluiced is ready; attaching a UE ...", flush=True)
        with simulator(laid.ran, folder) as ue:
            laid.ran.inside(*route_words())
            print(f"{mode}: the UE is {ue}; sending traffic ...", flush=True)
            return [
                ("ping up", *ping(laid.ran, topology.N6_DN, "-I", UE_DEVICE)),
                ("ping down", *ping(laid.dn, ue)),
                ("TCP up", *iperf(laid, ue)),
                ("TCP down", *iperf(laid, ue, "-R")),
            ], by_hand(daemon, ue)


def by_hand(daemon, ue):
    """The command lines of the run, without those that lay the network."""
    with open(daemon.config_path, encoding="utf-8") as file:
        text = file.read().replace(daemon.socket, "/tmp/sluice.sock").rstrip()
    names = {daemon.config_path: "sluice.yaml", daemon.socket: "/tmp/sluice.sock"}

    def line(namespace, words):
        words = [names.get(word, os.path.relpath(word, TOP) if word.startswith(TOP) else word)
                 for word in words]
        return shlex.join((["ip", "netns", "exec", namespace] if namespace else []) + words)

    return [
        "cat >sluice.yaml <<'END'", *text.split("\n"), "END",
        line("upf", daemon.command()) + " &",
        line("ran", sim_command()) + " &",
        shlex.join(["ip", "-n", "ran", *route_words()]),
        line("ran", ping_command(topology.N6_DN, "-I", UE_DEVICE)),
        line("dn", ping_command(ue)),
        line("dn", ["iperf3", "-s"]) + " &",
        line("ran", [word for word in iperf_command(ue) if word != "-J"]),
        line("ran", [word for word in iperf_command(ue, "-R") if word != "-J"]),
        *(line("", daemon.ctl_command(*words)) for words in
          (["show", "sessions"], ["show", "counters"], ["show", "drops"])),
        "kill $(jobs -p); for name in ran upf dn; do ip netns delete $name; done",
    ]


def print_table(results):
    """A row for each thing tried, a column for each mode."""
    modes = list(results)
    width = 2 + max(len(text) for rows in results.values() for _, text, _ in rows)
    rows = [("", modes)]
    rows += [(row[0][0], [text for _, text, _ in row]) for row in zip(*results.values())]
    print()
    for what, texts in rows:
        print((f"{what:<12}" + "".join(f"{text:<{width}}" for text in texts)).rstrip())


def main():
    """The command line: the modes, both when none is named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("modes", nargs="*", metavar="MODE", help=", ".join(topology.MODES))
    modes = parser.parse_args().modes or list(topology.MODES)
    if set(modes) - set(topology.MODES):
        parser.error(f"the modes are {', '.join(topology.MODES)}")
    interruptible()
    results, network, commands, start = {}, [], [], time.monotonic()
    for mode in modes:
        script = Script()
        with Net(log=script) as net, tempfile.TemporaryDirectory(prefix="sluice-demo-") as folder:
            laid = topology.lay(net)
            network = script.rows(net.namespaces)
            results[mode], commands = show(mode, laid, folder)
    print(f"\nBy hand, as root, from the top of the tree (mode {modes[-1]}):\n")
    print("\n".join("    " + row for row in network + commands))
    print_table(results)
    good = all(worked for rows in results.values() for _, _, worked in rows)
    print(f"\n{'All went through' if good else 'Not all went through'}; "
          f"{time.monotonic() - start:.0f} s. Nothing of it is left on this machine.")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("demo: interrupted; everything it made is removed")
    except (RuntimeError, OSError, AssertionError) as fault:
        sys.exit(f"demo: {fault}")
