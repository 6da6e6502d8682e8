"""What a real SMF said, said again to the daemon: each capture of tests/golden, octet for octet.

Only what belongs to the network is changed: addresses, the SEID that our answer gave, the recovery
time stamp. Sequence numbers stay, as those of an SMF that restarts between the captures. What that
SMF needs in an answer must be there (TS 29.244 7.5.3), and packets must flow.
"""

import functools
import glob
import itertools
import os
import socket
import struct

import pytest
from kit import pfcp, topology
from kit.daemon import TOP
from kit.pfcp import ie
from kit.scene import UP_PDR, Ue
from scapy.contrib import pfcp as scapy_pfcp
from scapy.layers.inet import IP
from scapy.utils import rdpcap

GOLDEN = sorted(glob.glob(os.path.join(TOP, "tests/golden/open5gs-*.pcap")))
SMF, UPF, GNB = "127.0.0.4", "127.0.0.7", "127.0.0.50"
OUR_SMF = "10.10.4.3"  # beside the scene's own
HEARTBEAT, ASSOCIATE, ESTABLISH, MODIFY, DELETE = 1, 5, 50, 52, 54
REQUESTS = (HEARTBEAT, ASSOCIATE, ESTABLISH, MODIFY, DELETE)
# What the UPF of open5gs-idle told of a packet for the idle UE: PDR 1, QFI 1.
IDLE_REPORT = bytes.fromhex("0053000c 003800020001 002d00020201")
WAITS = b"for a UE that is idle"
_recoveries = itertools.count(0xEEC00000)


@functools.cache
def requests(path):
    """The SMF's requests, in order."""
    frames = [frame for frame in rdpcap(path) if frame.haslayer(scapy_pfcp.PFCP)]
    said = [frame[scapy_pfcp.PFCP] for frame in frames if frame[IP].src == SMF]
    return [message for message in said if message.message_type in REQUESTS]


def moved(octets):
    """The octets with the addresses of the capture's network replaced by those of ours."""
    for theirs, ours in ((SMF, OUR_SMF), (UPF, topology.N3_UPF), (GNB, topology.N3_GNB)):
        octets = octets.replace(socket.inet_aton(theirs), socket.inet_aton(ours))
    return octets


def choices(message):
    """{PDR ID: CHOOSE ID, None, or "given" when the SMF picked the TEID itself}."""
    found = {}
    for created in pfcp.ies(message, scapy_pfcp.IE_CreatePDR):
        tunnel = ie(ie(created, scapy_pfcp.IE_PDI), scapy_pfcp.IE_FTEID)
        if tunnel:
            number = ie(created, scapy_pfcp.IE_PDR_Id).id
            found[number] = "given" if not tunnel.CH else tunnel.choose_id if tunnel.CHID else None
    return found


class Replay:
    """One capture on its way through the daemon."""

    def __init__(self, scene, smf):
        self.scene, self.smf = scene, smf
        self.recovery = next(_recoveries)
        self.up_seid, self.teids, self.tunnels = None, {}, {}
        self.addresses, self.down_teid, self.waits = {}, None, False

    def ask(self, request):
        """Send one; its answer, which is that of a healthy UPF."""
        octets = bytearray(moved(bytes(request)))
        if request.message_type in (HEARTBEAT, ASSOCIATE):
            theirs = ie(request, scapy_pfcp.IE_RecoveryTimeStamp).timestamp
            stamp = struct.pack("!HHI", 96, 4, theirs)
            octets = octets.replace(stamp, struct.pack("!HHI", 96, 4, self.recovery))
        elif request.message_type != ESTABLISH:
            octets[4:12] = struct.pack("!Q", self.up_seid)
        got = self.smf.exchange(bytes(octets), request.seq)
        assert got, f"no answer to {request.show(dump=True)}"
        answer = scapy_pfcp.PFCP(got)
        assert (answer.message_type, answer.seq) == (request.message_type + 1, request.seq)
        if request.message_type != HEARTBEAT:
            pfcp.assert_accepted(answer)
        return answer

    def heartbeat(self, request):
        """Answered with the daemon's recovery time stamp."""
        assert ie(self.ask(request), scapy_pfcp.IE_RecoveryTimeStamp).timestamp > 0

    def associate(self, request):
        """Node ID, features, and the offer to choose TEIDs."""
        answer = self.ask(request)
        assert ie(answer, scapy_pfcp.IE_NodeId).ipv4 == topology.N4_UPF
        assert ie(answer, scapy_pfcp.IE_UPFunctionFeatures).FTUP
        assert ie(answer, scapy_pfcp.IE_RecoveryTimeStamp).timestamp > 0

    def tunnels_of(self, request, answer):
        """Each PDR whose TEID was ours to choose has one; one for one CHOOSE ID, all through."""
        asked = choices(request)
        created = pfcp.created_tunnels(answer)
        assert set(created) == {number for number, choice in asked.items() if choice != "given"}
        for number, (teid, v4, v6) in created.items():
            assert teid and (v4, v6) == (topology.N3_UPF, topology.N3_UPF6)
            if asked[number] is not None:
                assert self.teids.setdefault(asked[number], teid) == teid
        plain = [created[number][0] for number, choice in asked.items() if choice is None]
        assert len(set(plain) | set(self.teids.values())) == len(plain) + len(self.teids)
        self.tunnels |= {number: teid for number, (teid, _, _) in created.items()}

    def establish(self, request):
        """The session's SEID and tunnels."""
        request = scapy_pfcp.PFCP(moved(bytes(request)))
        answer = self.ask(request)
        assert answer.seid == ie(request, scapy_pfcp.IE_FSEID).seid
        assert ie(answer, scapy_pfcp.IE_NodeId).ipv4 == topology.N4_UPF
        own = ie(answer, scapy_pfcp.IE_FSEID)
        assert own.v4 and own.ipv4 == topology.N4_UPF and own.seid
        self.up_seid = own.seid
        for created in pfcp.ies(request, scapy_pfcp.IE_CreatePDR):
            pdi, number = ie(created, scapy_pfcp.IE_PDI), ie(created, scapy_pfcp.IE_PDR_Id).id
            user, tunnel = ie(pdi, scapy_pfcp.IE_UE_IP_Address), ie(pdi, scapy_pfcp.IE_FTEID)
            if user and not self.addresses:
                self.addresses = {"v4": user.ipv4 if user.V4 else None,
                                  "v6": user.ipv6 if user.V6 else None}
            if tunnel and not tunnel.CH:
                self.tunnels[number] = tunnel.TEID
        self.tunnels_of(request, answer)

    def modify(self, request):
        """Accepted; where that opens or closes the way down, packets show it."""
        answer = self.ask(request)
        self.tunnels_of(request, answer)
        for update in pfcp.ies(request, scapy_pfcp.IE_UpdateFAR):
            if ie(update, scapy_pfcp.IE_FAR_Id).id != 1:
                continue
            parameters = ie(update, scapy_pfcp.IE_UpdateForwardingParameters)
            self.down_teid = parameters and ie(parameters, scapy_pfcp.IE_OuterHeaderCreation).TEID
        if pfcp.ies(request, scapy_pfcp.IE_UpdateFAR) and not self.down_teid:
            self.idle()
        if self.down_teid:
            ue = Ue(None, self.down_teid, **self.addresses, given_teid=self.tunnels[UP_PDR])
            if self.waits:
                assert WAITS in self.scene.down(ue)[0].payload
                self.waits = False
            self.scene.assert_forwards(ue, sequence=request.seq)

    def idle(self):
        """The way down closes: a packet waits, and the report is the one of the capture."""
        address = self.addresses["v4"] or self.addresses["v6"]
        with self.scene.core_socket(version=6 if ":" in address else 4) as core:
            core.sendto(WAITS, (address, 9))
        report = self.smf.report()
        told = ie(report, scapy_pfcp.IE_DownlinkDataReport)
        assert bytes(told) == IDLE_REPORT
        self.smf.answer(report, scapy_pfcp.PFCPSessionReportResponse(
            IE_list=[scapy_pfcp.IE_Cause(cause=pfcp.ACCEPTED)]), self.up_seid)
        self.waits = True

    def delete(self, request):
        """Gone."""
        self.ask(request)


@pytest.mark.parametrize("path", GOLDEN, ids=[os.path.basename(path)[8:-5] for path in GOLDEN])
def test_replay(scene, path):
    """The SMF's side of a capture."""
    done = []
    shown = scene.network.ran.run("ip", "-o", "-4", "address", "show", "dev", "n4").stdout
    if OUR_SMF not in shown:
        scene.network.ran.address("n4", f"{OUR_SMF}/24")
    with pfcp.Smf(scene.network.ran, OUR_SMF, topology.N4_UPF, scene.smf) as smf:
        replay = Replay(scene, smf)
        smf.recovery = replay.recovery
        steps = {HEARTBEAT: replay.heartbeat, ASSOCIATE: replay.associate,
                 ESTABLISH: replay.establish, MODIFY: replay.modify, DELETE: replay.delete}
        for request in requests(path):
            steps[request.message_type](request)
            done.append(request.message_type)
    assert ASSOCIATE in done and (DELETE in done or "assoc" in path)
