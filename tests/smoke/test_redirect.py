"""Traffic that an SMF redirects to another address and port: a portal, by the kernel of the data network.

What becomes of each packet in all cases is tests/chain/test_redirect.c's.
"""

import socket

import pytest
from kit import pfcp, rules, topology
from kit.scene import PAYLOAD, datagram, play, segment
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import TCP, UDP

RULE_FAILURE, REDIRECT_INFORMATION = 73, 38
V4, V6, URL, BOTH, V4_PORT, V6_PORT, BOTH_PORT = 0, 1, 2, 4, 6, 7, 8
NAMED = {4: "198.51.100.80", 6: "2001:db8:fffe::80"}  # where the user sends; nobody is there
PORTAL = {4: topology.N6_DN, 6: topology.N6_DN6}
WEB, PORT = 80, 8080


@pytest.fixture
def scene(network, mode, workers, tmp_path):
    """A daemon whose SMF may redirect."""
    with play(network, mode, workers, tmp_path, services=["redirect"]) as made:
        yield made


def text(value):
    """A length and as many octets."""
    return len(value).to_bytes(2, "big") + value.encode()


def redirect(kind, *addresses, port=None):
    """A Redirect Information, octet by octet: scapy knows no ports."""
    octets = bytes([kind]) + b"".join(map(text, addresses))
    octets += port.to_bytes(2, "big") if port else b""
    return scapy_pfcp.IE_NotImplemented(ietype=REDIRECT_INFORMATION, data=octets)


def update(ue, *members):
    """The answer to an update of the way up with these in its parameters."""
    return ue.session.modify(scapy_pfcp.IE_UpdateFAR(IE_list=[
        scapy_pfcp.IE_FAR_Id(id=2),
        scapy_pfcp.IE_UpdateForwardingParameters(
            IE_list=[rules.towards(rules.CORE), *members])]))


@pytest.mark.parametrize("version", (4, 6))
def test_tcp(scene, version):
    """A connection to nobody is the portal's, in both directions; the user sees whom it named."""
    ue = scene.attach()
    pfcp.assert_accepted(update(ue, redirect(BOTH_PORT, PORTAL[4], PORTAL[6], port=PORT)))
    with scene.core_socket(socket.SOCK_STREAM, version, PORT) as listener:
        listener.listen()
        scene.up(ue, segment(ue, NAMED[version], 40000, WEB, "S", seq=1000))
        offered = scene.down(ue, lambda packet: TCP in packet)[1]
        assert (offered.src, offered[TCP].sport) == (NAMED[version], WEB)
        assert offered[TCP].flags == "SA"
        numbers = {"seq": 1001, "ack": offered[TCP].seq + 1}
        scene.up(ue, segment(ue, NAMED[version], 40000, WEB, "PA", **numbers) / PAYLOAD)
        taken, peer = listener.accept()
        with taken:
            taken.settimeout(3)
            assert peer[:2] == (ue.v4 if version == 4 else ue.v6, 40000)
            assert taken.recv(2048) == PAYLOAD
            taken.sendall(b"pay here")
            answer = scene.down(ue, lambda packet: TCP in packet and packet[TCP].payload)[1]
            assert (answer.src, answer[TCP].sport) == (NAMED[version], WEB)
            assert bytes(answer[TCP].payload) == b"pay here"
    rows = scene.daemon.ctl("show", "flows", "ue", ue.v4)["flows"]
    assert len(rows) == 1 and rows[0]["chain"] == ["l4_lifecycle", "redirect_back", "redirect"]
    shown = scene.daemon.ctl("show", "session", hex(ue.session.up_seid))["fars"][1]
    assert shown["redirect"] == f"{PORTAL[4]} {PORTAL[6]} port {PORT}"


@pytest.mark.parametrize("version", (4, 6))
def test_ends(scene, version):
    """An update takes the redirection away: from then on packets go where they are sent."""
    ue = scene.attach()
    pfcp.assert_accepted(update(ue, redirect(version // 5, PORTAL[version])))
    with scene.core_socket(version=version, port=WEB) as portal, \
            scene.core_socket(version=version, port=9) as direct:
        scene.up(ue, datagram(ue, NAMED[version], 1000, WEB))
        data, peer = portal.recvfrom(2048)
        portal.sendto(data, peer)
        back = scene.down(ue, lambda packet: UDP in packet)[1]
        assert (back.src, back[UDP].sport, bytes(back[UDP].payload)) == (
            NAMED[version], WEB, PAYLOAD)
        pfcp.assert_accepted(update(ue, scapy_pfcp.IE_NotImplemented(ietype=REDIRECT_INFORMATION)))
        scene.up(ue, datagram(ue, PORTAL[version], 1000, 9))
        assert direct.recvfrom(2048)[0] == PAYLOAD
    far = scene.daemon.ctl("show", "session", hex(ue.session.up_seid))["fars"][1]
    assert far["redirect"] is None
    scene.assert_forwards(ue)


def test_refused(scene):
    """A URL is no address; the session goes on as it was, and the feature is told."""
    ue = scene.attach()
    answer = update(ue, redirect(URL, "http://portal.example/"))
    assert pfcp.cause(answer) == RULE_FAILURE
    assert pfcp.ie(answer, scapy_pfcp.IE_OffendingIE).type == REDIRECT_INFORMATION
    scene.assert_forwards(ue)
    assert {"TREU", "RATP"} <= set(scene.daemon.ctl("show", "associations")["up_features"])
