"""The daemon as a newcomer meets it: words, files, devices and rights that are wrong, and the ways
that work. Each refusal is one clear line and exit status 1; nothing half-started is left.
"""

import contextlib
import os
import re
import shutil
import tempfile
import time

import pytest
import yaml
from kit import topology
from kit.daemon import Daemon, binary
from kit.netns import Net, run
from kit.scene import Scene
from kit.wait import wait_for

USER = 65534
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
CAPS = {"af_xdp": "+net_raw,+net_admin,+bpf,+ipc_lock", "af_packet": "+net_raw,+net_admin"}
WORDS = ["--config", "--check", "--sample", "--version", "--help"]


def sluiced(*words):
    """Run the daemon to its end."""
    return run(binary("sluiced"), *words, check=False)


# ---- without a network ----


def test_help_and_version():
    """To stdout, with status 0; every option of the help exists."""
    done = sluiced("--help")
    assert done.returncode == 0 and not done.stderr
    assert [word for word in WORDS if word not in done.stdout] == []
    done = sluiced("--version")
    assert done.returncode == 0 and re.fullmatch(r"sluiced \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize("words", [["--bogus"], ["word"], ["--check"], ["--config"]])
def test_wrong_words(words):
    """Status 2, and the usage."""
    done = sluiced(*words)
    assert done.returncode == 2 and not done.stdout
    assert "usage: sluiced" in done.stderr and words[0].lstrip("-") in done.stderr.split("\n")[0]


def test_sample_is_right(tmp_path):
    """What --sample prints passes --check, where the host has its CPUs; it is the file in config/."""
    sample = sluiced("--sample").stdout
    path = tmp_path / "sluice.yaml"
    path.write_text(sample.replace("cpus: [1]", "cpus: [0]"))
    done = sluiced("--check", str(path))
    assert done.returncode == 0, done.stderr
    shown = yaml.safe_load(done.stdout)
    assert shown["workers"]["cpus"] == [0] and shown["mode"] == yaml.safe_load(sample)["mode"]
    again = tmp_path / "again.yaml"
    again.write_text(done.stdout)
    assert sluiced("--check", str(again)).stdout.split("#")[0] == done.stdout.split("#")[0]


@pytest.mark.parametrize("text, told", [
    (None, "cannot be read: No such file or directory"),
    ("node: {id: 192.0.2.1}\nmode: af_xpd\n", '2:7: mode: "af_xpd"'),
    ("sessions:\n  maxx: 5\n", '2:3: sessions: unknown key "maxx"; did you mean "max"?'),
    ("sessions:\n  max: many\n", "2:8: sessions.max:"),
    ("node: [\n", "not YAML"),
    ("", "mode: is missing"),
])
@pytest.mark.parametrize("word", ["--check", "--config"])
def test_wrong_file(tmp_path, word, text, told):
    """File, line, column, key, and the nearest one; the same for --check and for a start."""
    path = tmp_path / "sluice.yaml"
    if text is not None:
        path.write_text(text)
    done = sluiced(word, str(path))
    assert done.returncode == 1 and not done.stdout
    lines = [line for line in done.stderr.splitlines() if told in line]
    assert len(lines) == 1 and lines[0].startswith(str(path)), done.stderr


# ---- with one ----


@pytest.fixture(scope="module")
def laid():
    """A network for all that does not start."""
    with Net() as net:
        yield topology.lay(net)


def put(value, *keys):
    """A change of a configuration."""
    def change(made):
        for key in keys[:-1]:
            made = made[key]
        made[keys[-1]] = value
    return change


# name: (change, what the error says)
REFUSED = {
    "device": (put("eth77", "interfaces", 0, "device"), "eth77: no such network device"),
    "mtu": (put(9000, "interfaces", 0, "mtu"), "'ip link set dev n3 mtu 9000'"),
    "cpu": (put([1000], "workers", "cpus"), "there is no CPU 1000"),
    "hugepages": (lambda made: made["eal"].update(hugepages="on", memory_mb=900000),
                  "vm.nr_hugepages"),
    "n4 address": (put("10.99.99.99", "n4", "address"), "cannot listen on 10.99.99.99:8805"),
    "memory": (put(4000000, "sessions", "max"), "eal.memory_mb"),
    "folder of the socket": (put("/nonexistent/ctl.sock", "cli", "socket"), "/nonexistent/ctl.sock"),
    "group of the socket": (put("nosuchgroup", "cli", "group"), 'no group "nosuchgroup"'),
    "node id": (put("no domain name!", "node", "id"), "node.id"),
    "one device twice": (put("n3", "interfaces", 1, "device"),
                         'interface "access" has this device'),
}


def refused(laid, folder, mode, change, *before, program=None):
    """Start what does not start: the lines that say why."""
    def configuration(control_socket):
        made = topology.configuration(mode, control_socket)
        change(made)
        return made

    daemon = Daemon(laid.upf, folder, configuration)
    daemon.program = program
    done = laid.upf.run(*before, *daemon.command(), check=False)
    assert done.returncode == 1, done.stderr
    assert not os.path.exists(daemon.socket)
    assert "xdp" not in laid.upf.inside("link", "show").stdout
    return [line for line in done.stderr.splitlines()
            if " error: " in line or line.startswith(daemon.config_path)]


@pytest.mark.parametrize("mode", topology.MODES)
@pytest.mark.parametrize("change, told", REFUSED.values(), ids=REFUSED)
def test_refused(laid, tmp_path, mode, change, told):
    """One line that names what is wrong."""
    lines = refused(laid, tmp_path, mode, change)
    assert len(lines) == 1 and told in lines[0], lines


@contextlib.contextmanager
def users_folder():
    """A folder of the user's, with a copy of the daemon: the build folder may be root's alone."""
    folder = tempfile.mkdtemp(prefix="sluice-user-")
    try:
        os.chown(folder, USER, USER)
        shutil.copy(binary("sluiced"), folder)
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("mode", topology.MODES)
def test_user_without_rights(laid, mode):
    """The capabilities that the mode needs are named."""
    with users_folder() as folder:
        lines = refused(laid, folder, mode, lambda made: None, *AS_USER, "env",
                        f"XDG_RUNTIME_DIR={folder}", program=os.path.join(folder, "sluiced"))
    assert len(lines) == 1
    assert all(f"CAP_{name.upper()}" in lines[0] for name in re.findall(r"\+(\w+)", CAPS[mode]))


class UsersDaemon(Daemon):
    """The daemon as a user with capabilities, and none beyond them."""

    caps = ""

    def command(self):
        return [*AS_USER, f"--inh-caps={self.caps}", f"--ambient-caps={self.caps}",
                f"--bounding-set=-all,{self.caps}", "env", f"XDG_RUNTIME_DIR={self.folder}",
                *super().command()]


@pytest.mark.parametrize("mode", topology.MODES)
def test_user_with_rights(net, tmp_path, mode):
    """As the service runs: it starts, forwards and leaves nothing."""
    laid = topology.lay(net, queues=2)
    with users_folder() as folder:
        daemon = UsersDaemon(laid.upf, folder,
                             lambda control_socket: topology.configuration(mode, control_socket, 2))
        daemon.caps = CAPS[mode]
        daemon.program = os.path.join(folder, "sluiced")
        with daemon, Scene(laid, daemon, tmp_path) as scene:
            status = run("cat", f"/proc/{daemon.process.pid}/status").stdout
            assert f"Uid:\t{USER}" in status
            scene.assert_forwards(*[scene.attach() for _ in range(2)])
            scene.settle()
        assert "error" not in daemon.log(lines=None)
        assert not os.path.exists(daemon.socket)
        assert "xdp" not in laid.upf.inside("link", "show").stdout


@pytest.mark.parametrize("mode", topology.MODES)
def test_hugepages(net, tmp_path, mode):
    """With hugepages where there are any, on ordinary pages where not: auto starts and forwards."""
    laid = topology.lay(net)

    def configuration(control_socket):
        made = topology.configuration(mode, control_socket)
        made["eal"]["hugepages"] = "auto"
        return made

    with Daemon(laid.upf, tmp_path, configuration) as daemon, Scene(laid, daemon, tmp_path) as scene:
        scene.assert_forwards(scene.attach())
        scene.settle()


def test_quiet_control_thread(daemon):
    """While workers have nothing to say, it looks at their rings less than every other millisecond."""
    def looks():
        with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
            sleeps = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.MULTILINE)[1]
        return time.monotonic(), int(sleeps)

    seen = [looks()]

    def seldom():
        seen.append(looks())
        (start, first), (end, last) = seen[-2:]
        return end - start > 0.2 and (last - first) / (end - start) < 500

    wait_for(seldom, "fewer looks", every=0.5)
