"""Mode native and its measuring, on NICs that qemu emulates (guest.py): DPDK's own drivers carry the packets.

How fast anything is says nothing here and is not judged: emulation is a hundred times slower than a NIC.
"""

import json
import re

import guest
import pytest

PYTHON = "/usr/bin/python3 -B"
UES, PPS, LOSS = 32, 1000, 50  # percent that a busy machine may lose
CARRY = (f"{PYTHON} tests/native/carry.py --ues {UES} --pps {PPS} --seconds 1 --periods 1 --loss {LOSS} --churn 20 "
         "--sizes 64,1518")
COMPARE = (f"{PYTHON} tools/perf/run.py --compare --modes native --native $NICS --folder /tmp/report --no-figures "
           f"--no-imix --sizes 64 --turns 1 --seconds 0.5 --loss {LOSS} --precision 50 --ues {UES} --periods 1 "
           "--churn 5")
ROW = re.compile(r"^native +64 +(?P<rate>[\d,]+) +[\d,]+ +[\d.]+ +[\d,]+ +(?P<testpmd>[\d,]+) +[\d.]+ ", re.MULTILINE)


def in_guest(command, *words):
    """What a command printed, which must end well."""
    status, text = guest.run(command, *words)
    assert status == 0, text
    return text


@pytest.mark.parametrize("nic, driver, workers, queues", [
    ("e1000e", "uio_pci_generic", 1, 1),
    ("vmxnet3", "vfio-pci", 2, 1),
    ("virtio-net-pci", "vfio-pci", 1, 1),
    ("virtio-net-pci", "uio_pci_generic", 2, 2),
])
def test_carries(nic, driver, workers, queues):
    """Both ways, right, and counted alike by NIC and worker; beside a daemon that is refused, and after a crash."""
    found = json.loads(in_guest(f"{CARRY} --workers {workers}", "--nic", nic, "--driver", driver,
                                "--queues", str(queues), "--cpus", str(1 + workers)))
    for traffic in found["traffic"]:
        assert traffic["wrong"] == traffic["sessions_failed"] == 0
        assert traffic["sent"] > 200
    assert "another sluiced uses this device" in found["second"] and found["held"] == {}
    rows = [row["counters"] for row in found["shown"]["counters"]["workers"]]
    assert len(rows) == workers and all(row["up"] > 50 and row["down"] > 50 for row in rows)
    assert workers == 1 or sum(row["handoff_in"] for row in rows) > 50
    assert queues == 1 or all(row["rx"] > 50 for row in rows)
    interfaces = found["shown"]["interfaces"]["interfaces"]
    assert all((row["mode"], row["carrier"]) == ("native", "up") for row in interfaces)
    assert sum(row["rx_packets"] for row in interfaces) == sum(row["rx"] for row in rows)


@pytest.mark.parametrize("nic, driver, words, longer", [
    ("e1000e", "uio_pci_generic", "--mtu 8166", "net_e1000_em would take frames of MTU 8167 in pieces"),
    ("vmxnet3", "vfio-pci", "--mtu 9000", "MTU 9001 is outside what the driver net_vmxnet3 can do"),
    ("virtio-net-pci", "uio_pci_generic", "--mtu 9600", "9601 is not in 576..9600"),
    ("virtio-net-pci", "vfio-pci", "--mtu 1600 --shared", "ready"),
], ids=["e1000e", "vmxnet3", "virtio", "shared"])
def test_hosts(nic, driver, words, longer):
    """What NICs filter and pad comes through: multicast, tags, the shortest and the longest frames."""
    found = json.loads(in_guest(f"{PYTHON} tests/native/hosts.py {words}", "--nic", nic, "--driver", driver,
                                "--far", "virtio-net-pci"))
    assert set(found["pings"].values()) == {3}, found["pings"]
    assert longer in found["longer"]


def test_refuses():
    """The last word is the reason, with its cure, and no more than a few lines come before."""
    found = json.loads(in_guest(f"{PYTHON} tests/native/refuse.py", "--nic", "virtio-net-pci", "--driver", "vfio-pci"))
    for what, said in (("workers", "has 1 rx and 1 tx queues for 2 workers"), ("unbound", "no driver is bound"),
                       ("small pages", "with uio drivers DPDK needs huge pages")):
        lines = found[what].strip().splitlines()
        assert said in lines[-1] and len(lines) < 6, found[what]


def test_compares(tmp_path):
    """The table has mode native beside testpmd on the same NICs, with what was measured."""
    text = in_guest(COMPARE, "--report", str(tmp_path))
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["modes"]["native"]
    rates = [found[who]["rows"][0]["pps"] for who in ("ndr", "io")]
    row = ROW.search(text)
    assert row and "packets that were wrong: 0" in text, text
    assert list(row.groups()) == [f"{rate:,.0f}" for rate in rates] and min(rates) > 0
    assert f">{rates[0]:,.0f}<" in (tmp_path / "index.html").read_text(encoding="utf-8")
