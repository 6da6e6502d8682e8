"""sluicectl against the daemon with sessions up: each command, for people and as JSON.

What is wrong is refused with an exit status and a reason; no client stands in others' way.
"""

import contextlib
import json
import os
import socket
import subprocess

import pytest
from kit import gtpu, topology
from kit.daemon import binary
from kit.netns import run
from kit.scene import N4_STAGES, datagram
from kit.wait import readable

STAGES = N4_STAGES

COMMANDS = {  # and a word that the answer has
    "help": "show", "show version": "dpdk", "show interfaces": "access",
    "show interface access": "n3", "show workers": "worker", "show cycles": "parse", "show sessions": "seid",
    "show drops": "bad_user_packet", "show counters": "rx", "show neighbours": topology.N6_DN,
    "show peers": topology.N3_GNB, "show pools": topology.DNN, "show predefined-rules": "drop",
    "show pfcp resources": "sessions", "show associations": topology.N4_SMF, "show applications": topology.APPLICATION,
    "show pfcp counters": "rx_bytes", "show services": "gtpu_decap", "show config": "interfaces",
    "show flows": "next", "clear flows": "cleared", "show nat": "next", "show keys": "outside",
}


def asked(scene, *words):
    """What sluicectl did."""
    return run(*scene.daemon.ctl_command(*words), check=False)


@pytest.fixture
def ue(scene):
    """A UE that has sent and received, and a packet that was dropped."""
    made = scene.attach()
    scene.assert_forwards(made)
    scene.gnb.send(topology.N3_UPF, gtpu.gpdu(made.up_teid, b"no packet", 1))
    scene.assert_forwards(made, sequence=2)
    return made


@pytest.mark.parametrize("command, word", COMMANDS.items())
def test_command(scene, ue, command, word):
    """Status 0, text for people, and one line of JSON that says the same."""
    del ue
    text = asked(scene, *command.split())
    assert (text.returncode, text.stderr) == (0, "") and word.lower() in text.stdout.lower()
    done = asked(scene, "--json", *command.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1 and json.loads(done.stdout)


def test_every_command_is_tried(scene):
    """Those that help lists are those above, and the ones about a session and a flow."""
    listed = {" ".join(word for word in row["command"].split()
                       if word.replace("-", "").isalpha() and word.islower())
              for row in scene.daemon.ctl("help")["commands"]}
    tried = {command.removesuffix(" access") for command in COMMANDS}
    assert listed == tried | {"show session", "clear flow"}


def test_session(scene, ue):
    """What an SMF gave is what is shown; packets and bytes are those that went."""
    seid = hex(ue.session.up_seid)
    assert ue.v4 in asked(scene, "show", "session", seid).stdout
    shown = scene.daemon.ctl("show", "session", seid)
    assert int(shown["seid"], 16) == ue.session.up_seid
    assert int(shown["cp_seid"], 16) == ue.session.seid
    assert (shown["node_id"], shown["state"]) == (topology.N4_SMF, "up")
    text = json.dumps(shown)
    for word in (ue.v4, "2001:db8:cafe:", topology.N3_GNB, topology.DNN, "ff02::2"):
        assert word in text
    page = scene.daemon.ctl("show", "sessions", "ue", ue.v4)
    assert [int(row["seid"], 16) for row in page["sessions"]] == [ue.session.up_seid]
    for words in (("limit", "1"), ("from", seid)):
        assert scene.daemon.ctl("show", "sessions", *words)["total"] == 1


@pytest.mark.parametrize("words, status, told", [
    (("show", "sesions"), 2, 'did you mean "show sessions"?'),
    (("shwo",), 2, 'did you mean "show"?'),
    (("show",), 2, "incomplete"),
    (("show", "session"), 2, "usage: show session SEID"),
    (("show", "session", "nonsense"), 2, "usage: show session SEID"),
    (("show", "session", "0x1"), 1, "no session with SEID 0x0000000000000001"),
    (("show", "interface", "nosuch"), 1, "nosuch"),
    (("show", "version", "more"), 2, "more"),
    (("show", "sessions", "limit", "0"), 2, "a number of 1..1000"),
])
def test_refusals(scene, ue, words, status, told):
    """Exit status, and the reason to stderr; as JSON an object with the error."""
    del ue
    done = asked(scene, *words)
    assert (done.returncode, done.stdout) == (status, "") and told in done.stderr
    done = asked(scene, "--json", *words)
    said = done.stdout or done.stderr
    assert done.returncode == status and told.replace('"', '\\"') in said
    assert "error" in json.loads(said)


def test_no_daemon(scene, tmp_path):
    """Status 2 and one line that says so, where there is none or another thing."""
    del scene
    for path in (tmp_path / "none.sock", tmp_path):
        done = run(binary("sluicectl"), "--socket", str(path), "show", "version", check=False)
        assert done.returncode == 2 and str(path) in done.stderr
        assert done.stderr.count("\n") == 1 and not done.stdout


def test_client_that_misbehaves(scene, ue):
    """Neither too much, nor nonsense, nor silence stands in others' way; packets go on."""
    idle = [socket.socket(socket.AF_UNIX) for _ in range(8)]
    for one in idle:
        one.connect(scene.daemon.socket)
    for octets in (b"text " + b"show " * 2000 + b"\n", b"\0\xff\n" * 10, b"json\n", b"\n" * 100):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(scene.daemon.socket)
            with contextlib.suppress(ConnectionError):  # closed by the daemon is fine
                client.sendall(octets)
                client.shutdown(socket.SHUT_WR)
                while readable([client], 3) and client.recv(65536):
                    pass
    assert asked(scene, "show", "version").returncode == 0
    for one in idle:
        one.close()
    scene.assert_forwards(ue, sequence=3)


def test_interactive(scene):
    """At a terminal: one command after the other; a wrong one does not end it."""
    ours, theirs = os.openpty()
    shell = subprocess.Popen([binary("sluicectl"), "--socket", scene.daemon.socket], stdin=theirs,
                             stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"},
                             start_new_session=True)
    os.close(theirs)
    said = b""
    try:
        for line, wanted in (("show version", b"uptime_s"), ("show nonsense", b"unknown command"),
                             ("show workers", b"IDLE_PERCENT"), ("exit", None)):
            os.write(ours, line.encode() + b"\n")
            while wanted and wanted not in said:
                assert readable([ours], 5), said.decode()
                said += os.read(ours, 65536)
        assert shell.wait(5) == 0
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)


def test_counters_of_a_packet(scene, ue):
    """One datagram up and its answer down: up, down and their bytes, to the byte."""
    def total():
        rows = scene.daemon.ctl("show", "counters")["workers"]
        return [sum(row["counters"].get(name, 0) for row in rows)
                for name in ("up", "up_bytes", "down", "down_bytes")]

    before = total()
    with scene.core_socket() as core:
        scene.up(ue, datagram(ue, topology.N6_DN, 1000, 7, b"x" * 100))
        _, sender = core.recvfrom(2048)
        core.sendto(b"y" * 10, sender)
        assert scene.down(ue)
    assert [now - then for now, then in zip(total(), before)] == [1, 128, 1, 38]
