"""The report of `tools/dev perf`: made of what was measured, and in need of nothing else.

One short run, whose figures are held against its results; how good they are is not judged.
"""

import fcntl
import json
import os
import re
import subprocess
import sys

import pytest
from kit.daemon import TOP
from kit.netns import run

TOOLS = os.path.join(TOP, "tools/perf")
sys.path.insert(0, TOOLS)

import measure  # noqa: E402
import native  # noqa: E402
import sample  # noqa: E402

SHORT = ("--modes", "af_packet,virtio_user", "--sizes", "64", "--turns", "1", "--seconds", "0.6", "--loss", "30",
         "--precision", "50", "--windows", "1", "--sessions", "64,128", "--ues", "20",
         "--flows", "16384,32768", "--standing", "200", "--periods", "2", "--churn", "50", "--no-imix")
SCALE = ("--scale", "2000", "--scale-churn", "200", "--scale-pps", "20000", "--scale-trial", "0.5",
         "--scale-share", "50", "--scale-seconds", "3", "--loss", "20", "--precision", "50")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A short run: (folder, what was printed)."""
    folder = tmp_path_factory.mktemp("report")
    done = run(sys.executable, "-B", os.path.join(TOOLS, "run.py"), *SHORT,
               "--folder", str(folder), timeout=200)
    return folder, done.stdout


def test_page(report):
    """Tables, figures, facts and commands are on one page that loads nothing."""
    text = (report[0] / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)=['\"](?!#)|url\((?!#)|@import", text)
    assert text.count("<svg") == 10 and text.count("</svg>") == 10
    drawn = {path.stem: path.stat().st_size for path in report[0].glob("*.png")}
    assert len(drawn) == 10 and min(drawn.values()) > 3000 and set(drawn) == {
        path.stem for path in report[0].glob("*.svg")}
    for word in ("processor", "kernel", "Cycles a packet", "No-drop rate", "Latency", "CPU use",
                 "A steady rate", "sluice-perf cost", "dpdk-testpmd", "ip -n gen link add name g3"):
        assert word in text, word
    assert {path.suffix for path in report[0].iterdir()} == {".html", ".json", ".svg", ".png"}


def test_figures_are_the_measured_ones(report):
    """What the page says stands in the results, and testpmd's rate beside each mode's own."""
    results = json.loads((report[0] / "results.json").read_text(encoding="utf-8"))
    text = (report[0] / "index.html").read_text(encoding="utf-8")
    assert set(results["modes"]) == {"af_packet", "virtio_user"}
    for mode in results["modes"].values():
        row, forward = mode["ndr"]["rows"][0], mode["io"]["rows"][0]
        assert row["pps"] > 0 and f"{row['pps']:,.0f}" in text
        assert row["io_forward_pps"] == round(forward["pps"])
        for load in row["latency_us"]:
            assert load["cpu"] is None or load["cpu"]["cycles_per_packet"] > 0
        assert mode["ndr"]["memory_kb"] > 1000
        turn, = mode["turns"]
        assert turn["pps"] > 0 and turn["wrong"] == 0 and 0 <= turn["cpu"]["idle_percent"] < 100
        for value in (f"{turn['pps']:,.0f}", f"{turn['io_pps']:,.0f}", f"{turn['pps'] / turn['io_pps']:.2f}"):
            assert f">{value} ({value} to {value})<" in text
    for row in results["cost"]["rows"]:
        assert f"{row['cycles_median']:.0f} (" in text
    for what, least, most in (("pdrs", 2, 120), ("filters", 1, 16), ("flows", 16384, 32768)):
        rows = results["growth"][what]["rows"]
        assert (rows[0][what], rows[-1][what]) == (least, most)
        assert all(f"{row['cycles_median']:.0f} (" in text for row in rows)
    for row in results["cost"]["rows"]:
        if row.get("workers") == 2 and row["direction"] == "mixed" and row["sessions"] == 128:
            assert f">{row['mpps']:.1f}<" in text and f">{100 * row['handed_over']:.1f}<" in text
    assert "deviation of the rate" in text and "no NIC given (--native)" in text
    assert results["soak"].keys() == results["modes"].keys()
    for found in results["soak"].values():
        assert found["wrong"] == 0 and len(found["periods"]) == 2 and f">{found['sent']:,}<" in text
    assert "packets that were wrong: 0" in report[1] and "No-drop rate" in report[1]


def test_ids_do_not_meet(report):
    """Each name inside the figures is there once, and what is referred to is there."""
    text = (report[0] / "index.html").read_text(encoding="utf-8")
    names = re.findall(r"\bid=['\"]([^'\"]+)['\"]", text)
    assert names and len(names) == len(set(names))
    assert set(re.findall(r"href=['\"]#([^'\"]+)", text)) <= set(names)


@pytest.mark.parametrize("lost, drops, before, lost_by, unexplained", [
    (0, {}, {}, {}, 0),
    (7, {"tx_full": 107}, {"tx_full": 100}, {"tx_full": 7}, 0),
    (9, {"tx_full": 107, "no_pdr": 1, "not_ip": 3}, {"tx_full": 100, "not_ip": 3},
     {"tx_full": 7, "no_pdr": 1}, 1),
    (2, {"tx_full": 2, "not_ip": 3}, {}, {"tx_full": 2, "not_ip": 3}, 0),
    (5, {"tx_full": 100}, {"tx_full": 100}, {}, 5),
])
def test_loss_is_explained(lost, drops, before, lost_by, unexplained):
    """What the daemon dropped earlier explains nothing, and a packet that nobody dropped is told."""
    found = {"lost": lost, "drops": drops}
    measure.explain_loss(found, before)
    assert (found["lost_by"], found["lost_unexplained"]) == (lost_by, unexplained)


def test_drops_have_names():
    """Those of all workers together, and what no worker got beside them, once each."""
    workers = [{"drops": {"tx_full": 2, "no_pdr": 0}}, {"drops": {"tx_full": 1, "not_ip": 4}}]
    interfaces = [{"name": "n3", "rx_missed": 5, "rx_no_mbuf": 0, "netdev_rx_dropped": 6},
                  {"name": "n6", "rx_missed": 0, "rx_no_mbuf": 7, "netdev_rx_dropped": 0},
                  {"name": "n9", "rx_missed": 2, "rx_no_mbuf": 0, "netdev_rx_dropped": 1}]
    assert sample.drops_of(workers, interfaces) == {
        "tx_full": 3, "not_ip": 4, "rx_missed of n3": 5, "rx_no_mbuf of n6": 7, "netdev_rx_dropped of n3": 1,
        "rx_missed of n9": 2}


def test_scale(tmp_path):
    """Many sessions, small: what is carried without loss is found, and at a share of it all is accounted for."""
    done = run(sys.executable, "-B", os.path.join(TOOLS, "run.py"), *SCALE, "--folder", str(tmp_path),
               timeout=100)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["scale"]
    search = found["search"]
    assert found["ues"] == 2000 and found["wrong"] == found["sessions_failed"] == 0
    assert 0 < search["ndr_pps"] <= 20000 * 1.05 and search["loss_tolerance_percent"] == 20
    assert any(trial["passed"] for trial in search["trials"])
    assert found["asked_pps"] == pytest.approx(0.5 * search["ndr_pps"])
    assert found["lost_unexplained"] == 0 and found["lost"] <= sum(found["lost_by"].values())
    assert 0 < found["sent"] <= 3 * found["asked_pps"] * 1.05
    assert 20 < found["sessions_per_s"] <= 210
    for row in ("no-drop rate", "lost and not explained", "procedures that failed", "memory, MB"):
        assert row in done.stdout
    assert "(50 % of the no-drop rate)" in (tmp_path / "index.html").read_text(encoding="utf-8")


ADDRESSES = tuple(f"0000:01:00.{function}" for function in range(4))


@pytest.fixture
def sysfs(tmp_path):
    """Four devices, of which the last is the kernel's and has a driver."""
    for address, driver in zip(ADDRESSES, ("vfio-pci", "uio_pci_generic", "mlx5_core", "i40e")):
        os.makedirs(tmp_path / address)
        os.symlink(f"../../drivers/{driver}", tmp_path / address / "driver")
    return tmp_path


@pytest.mark.parametrize("devices, said", [
    (ADDRESSES[:2], "four ports, N3,N6,G3,G6"),
    (("0000:01:00.0", "0000:01:00.1", "0000:01:00.2", "eth0"), "'eth0' is not a PCI address"),
    ((*ADDRESSES[:3], "0000:09:00.0"), "0000:09:00.0: no such PCI device"),
    (ADDRESSES, "the kernel's driver i40e has this device: 'dpdk-devbind.py -b vfio-pci 0000:01:00.3'"),
    ((*ADDRESSES[:3], ADDRESSES[0]), "0000:01:00.0 is named twice"),
])
def test_nics_that_are_no_use(sysfs, devices, said):
    """What is wrong with what --native names is said, with the cure."""
    with pytest.raises(ValueError) as error:
        native.nics(",".join(devices), str(sysfs))
    assert said in str(error.value)


def test_nics(sysfs):
    """Four devices that DPDK can have; one that lost its driver is none."""
    (sysfs / ADDRESSES[3] / "driver").unlink()
    with pytest.raises(ValueError, match="no driver is bound"):
        native.nics(",".join(ADDRESSES), str(sysfs))
    os.symlink("../../drivers/vfio-pci", sysfs / ADDRESSES[3] / "driver")
    assert native.nics(",".join(ADDRESSES), str(sysfs)) == dict(zip(("n3", "n6", "g3", "g6"), ADDRESSES))


def test_nics_in_use(sysfs):
    """One that a daemon has claimed is none, until it is free again."""
    driver = sysfs / ADDRESSES[3] / "driver"
    driver.unlink()
    os.symlink("../../drivers/vfio-pci", driver)
    folder = os.open(sysfs / ADDRESSES[1], os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with pytest.raises(ValueError, match=f"{ADDRESSES[1]}: a running sluiced uses this device"):
        native.nics(",".join(ADDRESSES), str(sysfs))
    os.close(folder)
    assert len(native.nics(",".join(ADDRESSES), str(sysfs))) == 4


@pytest.mark.parametrize("words, said", [
    (("--native", "0000:ff:1f.4,0000:ff:1f.5,0000:ff:1f.6,0000:ff:1f.7"), "0000:ff:1f.4: no such PCI device"),
    (("--modes", "native"), "mode native needs --native"),
    (("--modes", "af_xpd"), "no mode af_xpd"),
])
def test_wrong_options(words, said):
    """What cannot be measured is refused before anything runs."""
    done = subprocess.run([sys.executable, "-B", os.path.join(TOOLS, "run.py"), *words],
                          capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2 and said in done.stderr
