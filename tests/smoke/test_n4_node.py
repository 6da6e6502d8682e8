"""What any peer can send on N4 before there is a session: each kind of it, over IPv4 and over IPv6.

The bytes are those of test_n4_inputs; here the peer is a second SMF in either family, while the
first one's session forwards (TS 29.244 6.2, 7.6).
"""

import socket
import struct

import pytest
from kit import pfcp, rules, topology
from kit.daemon import Daemon
from kit.netns import Net
from kit.pfcp import ACCEPTED, cause, ie
from kit.rules import ACCESS, CORE, action, choose, far, interface, network, pdr, towards
from kit.scene import Scene
from scapy.contrib import pfcp as scapy_pfcp
from test_n4_inputs import DISCARDED, HEARTBEAT, NODE_ID, RECOVERY, STAMP, node

MISSING, REJECTED, NOT_FOUND, NO_ASSOCIATION = 66, 64, 65, 72
OTHERS = {"v4": ("10.10.4.7", 24, topology.N4_UPF), "v6": ("fd00:4::7", 64, topology.N4_UPF6)}
CP_FEATURES = 89
BUNDL = 7, 7  # octet and bit of UP Function Features (8.2.25)


@pytest.fixture(scope="module", params=topology.MODES)
def place(request, tmp_path_factory):
    """A daemon that listens in both families, and a session of its first SMF's."""
    folder = tmp_path_factory.mktemp("node")

    def configuration(control_socket):
        made = topology.configuration(request.param, control_socket)
        made["n4"] |= {"other_addresses": [topology.N4_UPF6]}
        return made

    with Net() as net:
        laid = topology.lay(net)
        for address, bits, _ in OTHERS.values():
            laid.ran.address("n4", f"{address}/{bits}")
        with (Daemon(laid.upf, folder, configuration) as daemon,
              Scene(laid, daemon, folder) as scene):
            scene.bystander = scene.attach()
            yield scene
            scene.assert_forwards(scene.bystander, sequence=9)
            scene.settle()


@pytest.fixture(params=OTHERS)
def smf(request, place):
    """A further SMF, in each family; nothing of it is left afterwards but the first one's session."""
    address, _, upf = OTHERS[request.param]
    with pfcp.Smf(place.network.ran, address, upf, place.smf) as made:
        yield made
        made.request(scapy_pfcp.PFCPAssociationReleaseRequest(IE_list=[rules.node_id(address)]))
    assert place.daemon.alive(), place.daemon.log()
    assert place.sessions() == 1
    held = {row["held"]: row["now"] for row in counters(place)["held"]}
    assert held["associations"] == 1 and held["requests_waiting"] == 0
    place.assert_forwards(place.bystander)
    place.daemon.check_accounting()


def counters(scene):
    """What the daemon counts of N4."""
    return scene.daemon.ctl("show", "pfcp", "counters")


def discards(scene):
    """How many datagrams were discarded, for whatever reason."""
    return sum(number for name, number in counters(scene)["counters"].items()
               if name.startswith("discard_"))


def identity(smf):
    """The content of the SMF's Node ID."""
    family = socket.AF_INET6 if ":" in smf.address else socket.AF_INET
    return bytes([family == socket.AF_INET6]) + socket.inet_pton(family, smf.address)


def asked(smf, octets):
    """The answer to a message as bytes, by scapy."""
    answer = smf.exchange(octets, int.from_bytes(octets[4:7], "big"))
    assert answer, "no answer"
    return scapy_pfcp.PFCP(answer)


def session(smf, v4):
    """A session with one rule each way, established by this SMF."""
    return smf.establish(
        pdr(1, 100, [interface(CORE), network(topology.DNN), rules.ue_address(v4)], 1),
        pdr(2, 100, [interface(ACCESS), choose(5), network(topology.DNN)], 2, removal=6),
        far(1, action(FORW=1), [towards(ACCESS), rules.outer_header(topology.N3_GNB, 5)]),
        far(2, action(FORW=1), [towards(CORE), network(topology.DNN)]))


def associations(scene, smf):
    """What is shown of this SMF."""
    rows = scene.daemon.ctl("show", "associations")["associations"]
    return [row for row in rows if row["node_id"] == smf.address]


# ---- rows 1, 2, 3, 6, 7, 16 ----


@pytest.mark.parametrize("with_association", [False, True], ids=["stranger", "associated"])
def test_discarded(place, smf, with_association):
    """No answer, no change; each counted once."""
    if with_association:
        smf.associate()
    for what, octets in DISCARDED.items():
        before = discards(place)
        assert smf.discarded(octets), what
        assert discards(place) == before + 1, what
    for bit in (0x08, 0x10, 0x18):  # spare bits of the header's first octet
        assert smf.discarded(bytes([HEARTBEAT[0] | bit]) + HEARTBEAT[1:])
    assert len(associations(place, smf)) == with_association


@pytest.mark.parametrize("version", [0, 2, 3, 7])
def test_other_version(smf, version):
    """Told so, with the same sequence number, whatever the rest says."""
    for rest in (HEARTBEAT[1:], b"\xff\0\0\0\0\0\0\x77"[:-4] + b"\x77\x77\0\0"):
        octets = bytes([version << 5]) + rest
        answer = smf.exchange(octets, int.from_bytes(octets[4:7], "big"))
        assert answer and answer[:4] == b"\x20\x0b\0\4"


# ---- rows 4, 5, 8 ----


def test_association_that_lacks(place, smf):
    """66 and the IE that is not there."""
    me = (NODE_ID, identity(smf))
    for parts, wanted in (((STAMP,), NODE_ID), ((me,), RECOVERY), ((), NODE_ID)):
        answer = asked(smf, node(5, *parts))
        assert (cause(answer), ie(answer, scapy_pfcp.IE_OffendingIE).type) == (MISSING, wanted)
    assert not associations(place, smf)


@pytest.mark.parametrize("length", [None, 1, 2, 4, 6, 10])
@pytest.mark.parametrize("kind", [43, CP_FEATURES], ids=["UP", "CP"])
def test_features_of_any_length(place, smf, kind, length):
    """Accepted; absent bits are 0."""
    features = () if length is None else ((kind, b"\2" + bytes(length - 1)),)
    answer = asked(smf, node(5, (NODE_ID, identity(smf)), STAMP, *features))
    assert cause(answer) == ACCEPTED
    wanted = ["OVRL"] if length and kind == CP_FEATURES else []
    assert associations(place, smf)[0]["cp_features"] == wanted


@pytest.mark.parametrize("octets, shown", [
    (b"\0\xc0\0\2\x09", "192.0.2.9"), (b"\1" + bytes(15) + b"\x09", "::9"),
    (b"\2\3smf\7example", "smf.example"), (b"\2\3SMF\7eXample", "smf.example"),
], ids=["IPv4", "IPv6", "FQDN", "FQDN in capitals"])
def test_node_ids(place, smf, octets, shown):
    """Every form; our own is the same each time."""
    for _ in range(2):
        answer = asked(smf, node(5, (NODE_ID, octets), STAMP))
        assert cause(answer) == ACCEPTED
        assert ie(answer, scapy_pfcp.IE_NodeId).ipv4 == topology.N4_UPF
    rows = place.daemon.ctl("show", "associations")["associations"]
    assert [row["local"] for row in rows if row["node_id"] == shown] == [smf.upf]
    assert cause(asked(smf, node(9, (NODE_ID, octets)))) == ACCEPTED


# ---- rows 9 to 12, and 14 ----


def test_association_and_session(place, smf):
    """Duplicates, a setup again in the same and in another life, release, and what comes after."""
    smf.associate()
    mine = session(smf, "10.45.77.1")
    given = ie(mine.answer, scapy_pfcp.IE_FSEID)
    assert (given.v4, given.v6) == (1, 1)
    assert (given.ipv4, given.ipv6) == (topology.N4_UPF, topology.N4_UPF6)
    octets, sequence = smf.message(scapy_pfcp.PFCPSessionModificationRequest(
        IE_list=[rules.gnb_known(topology.N3_GNB, 77)]), mine.up_seid)
    first = smf.exchange(octets, sequence)
    assert [smf.exchange(octets, sequence) for _ in range(2)] == [first, first]

    smf.associate()
    assert place.sessions() == 2
    smf.recovery -= 5
    body = scapy_pfcp.PFCPAssociationSetupRequest(IE_list=[
        rules.node_id(smf.address), scapy_pfcp.IE_RecoveryTimeStamp(timestamp=smf.recovery)])
    assert smf.discarded(smf.message(body)[0])
    assert place.sessions() == 2
    smf.recovery += 10
    smf.associate()
    assert place.sessions() == 1
    assert cause(mine.delete()) == NOT_FOUND

    again = session(smf, "10.45.77.1")
    released = smf.request(scapy_pfcp.PFCPAssociationReleaseRequest(
        IE_list=[rules.node_id(smf.address)]))
    assert cause(released) == ACCEPTED
    assert place.sessions() == 1
    assert cause(again.delete()) == NO_ASSOCIATION


def test_session_before_association(smf):
    """72."""
    for body, seid in ((smf.establishment(pdr(1, 1, [interface(CORE)], 1))[0], 0),
                       (scapy_pfcp.PFCPSessionDeletionRequest(), 5)):
        assert cause(smf.request(body, seid)) == NO_ASSOCIATION


def test_large_request(smf):
    """9,000 octets, as IP fragments."""
    smf.associate()
    mine = session(smf, "10.45.77.2")
    filters = [rules.sdf(f"permit out 17 from 192.0.2.{number}/32 {number} to assigned 5060,5061")
               for number in range(10, 14)]
    more = [pdr(number, number, [interface(CORE), network(topology.DNN),
                                 rules.ue_address("10.45.77.2"), *filters], number)
            for number in range(10, 42)]
    more += [far(number, action(FORW=1), [towards(ACCESS), rules.outer_header(topology.N3_GNB, 9)])
             for number in range(10, 42)]
    octets, _ = smf.message(scapy_pfcp.PFCPSessionModificationRequest(IE_list=more), 1)
    assert len(octets) > 8000
    pfcp.assert_accepted(mine.modify(*more))
    pfcp.assert_accepted(mine.delete())


# ---- row 13 ----


def test_flood_of_ports(place, smf):
    """10,000 requests from as many ports: what is kept is bounded, heartbeats are answered within 1 s."""
    smf.associate()
    family = socket.AF_INET6 if ":" in smf.address else socket.AF_INET
    for port in range(20000, 30000):
        with place.network.ran.socket(family, socket.SOCK_DGRAM) as flood:
            flood.bind((smf.address, port))
            flood.sendto(struct.pack("!BBHQI", 0x21, 54, 12, port, port << 8), (smf.upf, pfcp.PORT))
        if port % 1000 == 0:
            assert smf.heartbeat(timeout=1)
    assert smf.heartbeat(timeout=1)
    assert place.smf.heartbeat(timeout=1)
    shown = counters(place)
    held = {row["held"]: row for row in shown["held"]}
    assert all(row["now"] <= row["most"] for row in held.values())
    assert held["requests_and_answers"]["now"] <= 1024 + 512  # requests_per_peer, and the first SMF's
    assert shown["counters"]["answers_evicted"] > 8000


# ---- several messages to a datagram ----


def test_bundle(place, smf):
    """BUNDL is offered: each message of a datagram gets its own answer."""
    value = bytes(ie(smf.associate(), scapy_pfcp.IE_UPFunctionFeatures))[4:]
    assert value[BUNDL[0] - 5] >> (BUNDL[1] - 1) & 1
    mine = [session(smf, f"10.45.77.{host}") for host in (3, 4)]
    parts, sequences = [], []
    for number, one in enumerate(mine):
        octets, sequence = smf.message(scapy_pfcp.PFCPSessionDeletionRequest(), one.up_seid)
        parts.append(bytes([octets[0] | (0x04 if number == 0 else 0)]) + octets[1:])
        sequences.append(sequence)
    first = smf.exchange(b"".join(parts), sequences[0])
    assert cause(scapy_pfcp.PFCP(first)) == ACCEPTED
    second = smf.exchange(parts[1], sequences[1])  # was executed: this is its stored answer
    assert cause(scapy_pfcp.PFCP(second)) == ACCEPTED
    assert place.sessions() == 1
