"""The PFCP codec before judges that are not ours: tshark reads what it writes, it reads scapy's.

tests/unit/pfcp_dump speaks for the codec. What a judge of this version cannot know, or reads
otherwise than TS 29.244, stands in a table with the reason; everything else must agree.
"""

import os
import re
import subprocess

import pytest
from kit import tshark
from kit.daemon import TOP
from kit.pcap import Pcap
from scapy.contrib import pfcp

NODE = ("127.0.0.7", 8805)
PEER = ("127.0.0.4", 8805)

# IEs of which tshark 4.0 says more or less than Release 17 has.
NOT_JUDGED = {
    43: "its feature bits end before Release 17's",
    94: "does not know the additional rates (8.2.63)",
    192: "reads a mask behind two addresses at the wrong place (8.2.138)",
    193: "complains of its own reading of the validity time",
    198: "reads 6 octets of the node; Release 17 has 8 (8.2.143)",
    306: "does not step over the TEID (8.2.207)",
    320: "does not read its value",
    321: "ends at type 320",
}

# Names of IEs that tshark writes otherwise than TS 29.244 table 8.1.2-1, or has from another release.
OTHER_NAMES = {166, 167, 175, 176, 200, 201, 240, 255, 264, 279, 302, 304, 311, 314, 321}

# Flags that tshark spells otherwise or does not know, by type, octet and bit. It shows the flags of a
# C-TAG in the place of those of Outer Header Creation (84), which the captures cover.
OTHER_FLAGS = {(43, 11, 3), (43, 11, 4), (49, 5, 6), (63, 7, 2), (93, 5, 7), (111, 5, 2), (133, 5, 3),
               (142, 5, 1), (162, 5, 1), (305, 5, 1), (319, 5, 1), (321, 5, 1)}

# IEs that scapy makes with fewer octets than 3GPP's least by default: lists without a member.
SCAPY_TOO_SHORT = {"IE_MACAddressesDetected", "IE_MACAddressesRemoved"}


def dump(*words, lines=()):
    """The lines that pfcp_dump prints."""
    build = os.environ.get("SLUICE_BUILD", os.path.join(TOP, "build"))
    command = [os.path.join(build, "tests/unit/pfcp_dump"), *words]
    done = subprocess.run(command, input="".join(f"{line}\n" for line in lines), text=True,
                          capture_output=True, timeout=60, check=True)
    return done.stdout.splitlines()


def decode_all(messages):
    """What our decoder prints of each message, and its verdict without the "= "."""
    answers, lines = [], []
    for line in dump("decode", lines=[octets.hex() for octets in messages]):
        if line.startswith("= "):
            answers.append((lines, line[2:]))
            lines = []
        else:
            lines.append(line)
    assert len(answers) == len(messages) and not lines
    return answers


def decode(octets):
    """The same of one message."""
    return decode_all([octets])[0]


def ours():
    """Number and name of every IE in our table."""
    with open(os.path.join(TOP, "src/pfcp/ie.def"), encoding="utf-8") as table:
        rows = re.findall(r'^IE\((\d+), \w+, "(.*?)", (\w+), (\d+)', table.read(), re.M)
    return {int(number): name for number, name, _, _ in rows}


def plain(name):
    """A name without case, punctuation and the message that it is for."""
    name = re.sub(r"\(.*\)|\bwithin .*|\bie\b", "", name.lower())
    return re.sub(r"[^a-z0-9]", "", name)


def wrap(ie):
    """An IE in a message."""
    head = bytes([0x21, 52]) + (12 + len(ie)).to_bytes(2, "big")
    return head + bytes(7) + b"\x01" + bytes([0, 0, 1, 0]) + ie


def capture(path, messages):
    """A capture of these messages."""
    pcap = Pcap(path)
    for octets in messages:
        pcap.udp(NODE, PEER, octets)
    pcap.close()
    return path


def test_names_and_numbers_are_tsharks():
    """Type numbers and names of the table, against another one."""
    printed = subprocess.run(["tshark", "-G", "values"], capture_output=True, text=True,
                             timeout=60, check=True).stdout
    rows = [line.split("\t") for line in printed.splitlines() if "\tpfcp.ie_type\t" in line]
    theirs = {int(row[2], 0): row[3] for row in rows if row[0] == "V"}
    table = ours()
    compared = set(table) & set(theirs)
    different = {number for number in compared if plain(table[number]) != plain(theirs[number])}
    assert len(compared) > 300
    assert different <= OTHER_NAMES, {n: (table[n], theirs[n]) for n in different - OTHER_NAMES}


@pytest.fixture(name="every_ie", scope="module")
def every_ie_fixture(tmp_path_factory):
    """Every IE of the table with all of its fields: (number, octets) each, and a capture of them."""
    rows = [line.split("\t") for line in dump("ies")]
    messages = [wrap(bytes.fromhex(octets)) for _, octets in rows]
    return rows, capture(tmp_path_factory.mktemp("judge") / "ies.pcap", messages)


@pytest.fixture(name="upf_messages", scope="module")
def upf_messages_fixture(tmp_path_factory):
    """What a UPF sends: (title, octets) each, and a capture of them."""
    rows = [line.split("\t") for line in dump("messages")]
    messages = [bytes.fromhex(octets) for _, octets in rows]
    return rows, capture(tmp_path_factory.mktemp("judge") / "messages.pcap", messages)


def test_tshark_reads_every_ie(every_ie):
    """No octet too many or missing."""
    rows, pcap = every_ie
    read = tshark.fields(pcap, "pfcp.ie_type", "pfcp.ie_len", "_ws.malformed", "_ws.expert.message")
    assert len(read) == len(rows) == 217
    faults = {}
    for (number, octets), row in zip(rows, read):
        assert row["pfcp.ie_type"] == [number]
        assert row["pfcp.ie_len"] == [str(len(octets) // 2 - 4)]
        if row["_ws.malformed"] or row["_ws.expert.message"]:
            faults[int(number)] = row["_ws.expert.message"]
    assert set(faults) <= set(NOT_JUDGED), faults


def flag_table():
    """Our flags: {type: {(octet, bit): name}}."""
    with open(os.path.join(TOP, "src/pfcp/ie.def"), encoding="utf-8") as table:
        numbers = {name: int(number) for number, name
                   in re.findall(r"^IE\((\d+), (\w+),", table.read(), re.M)}
    with open(os.path.join(TOP, "src/pfcp/flag.def"), encoding="utf-8") as table:
        flags = {}
        for ie, octet, bit, name in re.findall(r"FLAG\((\w+), (\d+), (\d), (\w+)\)", table.read()):
            flags.setdefault(numbers[ie], {})[int(octet), int(bit)] = name
    return flags


def shown_flags(text):
    """The flags that tshark -V shows of one IE, bit by bit from the highest of each octet."""
    octet, last, flags = 4, 0, {}
    for bits, name in re.findall(r"^\s+([.01]{4} [.01]{4}) = (.*)$", text, re.M):
        place = re.sub(r"[01]", "x", bits.replace(" ", ""))
        if place.count("x") == 1:
            bit = 8 - place.index("x")
            octet += last == 0 or bit >= last
            last = bit
            flags.setdefault((octet, bit), re.sub(r"[^A-Z0-9]", "", name.upper()))
    return flags


def test_flags_are_tsharks(every_ie):
    """Names and places of flags, against another table."""
    rows, pcap = every_ie
    frames = re.split(r"^Frame \d+:.*$", tshark.tshark(pcap, "-V", "-O", "pfcp"), flags=re.M)[1:]
    table, same, different = flag_table(), 0, {}
    for (number, _), frame in zip(rows, frames):
        theirs = shown_flags(frame[frame.index("IE Type"):])
        for (octet, bit), name in table.get(int(number), {}).items():
            if theirs.get((octet, bit), "").startswith(name.replace("_", "")):
                same += 1
            elif int(number) != 84:
                different[int(number), octet, bit] = name, theirs.get((octet, bit))
    assert same > 300
    assert set(different) <= OTHER_FLAGS, different


def test_tshark_reads_what_a_upf_sends(upf_messages):
    """Answers and reports: clean, and IE for IE what we print of them."""
    rows, pcap = upf_messages
    tshark.assert_clean(pcap, "pfcp", at_least=13, severity=tshark.WARNING)
    read = tshark.fields(pcap, "pfcp.msg_type", "pfcp.ie_type", "pfcp.ie_len")
    for (title, octets), row in zip(rows, read):
        lines, verdict = decode(bytes.fromhex(octets))
        shapes = [re.search(r"\[(\d+)\] len=(\d+)", line).groups() for line in lines[1:]]
        assert lines[0].startswith(f"{title} [{row['pfcp.msg_type'][0]}]")
        assert list(zip(row["pfcp.ie_type"], row["pfcp.ie_len"])) == shapes
        assert verdict == "right unknown=0 vendor=0 unexpected=0 repeated=0"


# Fields of what we write, as tshark has to have them: message type, field, values.
VALUES = [
    (51, "pfcp.cause", ["1"]),
    (51, "pfcp.seid", ["0x00000000000004ea", "0x0123456789abcdef"]),
    (51, "pfcp.pdr_id", ["2"]),
    (51, "pfcp.f_teid.teid", ["0x0000fa17", "0x0000fa17"]),
    (51, "pfcp.f_teid.ipv4_addr", ["127.0.0.7", "127.0.0.7"]),
    (51, "pfcp.f_teid.ipv6_addr", ["2001:db8::7", "2001:db8::7"]),
    (51, "pfcp.ue_ip_addr_ipv4", ["10.45.0.2"]),
    (51, "pfcp.traffic_endpoint_id", ["9"]),
    (51, "pfcp.sequence_number", ["1", "1"]),
    (51, "pfcp.metric", ["50", "20"]),
    (6, "pfcp.node_id_fqdn", ["upf.example"]),
    (6, "pfcp.up_function_features.ftup", ["1"]),
    (6, "pfcp.up_function_features.empu", ["1"]),
    (6, "pfcp.up_function_features.mnop", ["1"]),
    (55, "pfcp.urr_id", ["1"]),
    (55, "pfcp.ur_seqn", ["2"]),
    (55, "pfcp.usage_report_trigger_flags.volth", ["1"]),
    (55, "pfcp.volume_measurement.tovol", ["3000"]),
    (55, "pfcp.volume_measurement.ulvol", ["1000"]),
    (55, "pfcp.volume_measurement.dlvol", ["2000"]),
    (55, "pfcp.volume_measurement.dlnop", ["20"]),
    (55, "pfcp.duration_measurement", ["127"]),
    (56, "pfcp.report_type.dldr", ["1"]),
    (56, "pfcp.report_type.upir", ["0"]),
    (56, "pfcp.pdr_id", ["1", "2"]),
    (56, "pfcp.qfi_value", ["0x09"]),
    (4, "pfcp.offending_ie", ["24"]),
]


def test_tshark_reads_the_values(upf_messages):
    """Not only the shape of what we write, but what it says."""
    _, pcap = upf_messages
    names = sorted({field for _, field, _ in VALUES})
    read = {}
    for row in tshark.fields(pcap, "pfcp.msg_type", *names):
        read.setdefault(int(row["pfcp.msg_type"][0]), row)
    different = [(message, field, values, read[message][field])
                 for message, field, values in VALUES if read[message][field] != values]
    assert not different


def session_establishment():
    """A session as an SMF sets it up, by scapy."""
    return pfcp.PFCP(version=1, S=1, seid=0, seq=3) / pfcp.PFCPSessionEstablishmentRequest(IE_list=[
        pfcp.IE_NodeId(id_type="FQDN", id="smf.example"),
        pfcp.IE_FSEID(v4=1, v6=1, seid=0x4EA, ipv4="127.0.0.4", ipv6="2001:db8::4"),
        pfcp.IE_CreatePDR(IE_list=[
            pfcp.IE_PDR_Id(id=1),
            pfcp.IE_Precedence(precedence=255),
            pfcp.IE_PDI(IE_list=[
                pfcp.IE_SourceInterface(interface="Access"),
                pfcp.IE_FTEID(CH=1, CHID=1, V4=1, choose_id=5),
                pfcp.IE_NetworkInstance(instance="Internet"),
                pfcp.IE_UE_IP_Address(V4=1, SD=1, ipv4="10.45.0.2"),
                pfcp.IE_SDF_Filter(FD=1, flow_description="permit out ip from any to assigned"),
                pfcp.IE_QFI(QFI=9),
            ]),
            pfcp.IE_OuterHeaderRemoval(header="GTP-U/UDP/IPv4"),
            pfcp.IE_FAR_Id(id=0xFFFFFFFF),
            pfcp.IE_URR_Id(id=7),
            pfcp.IE_QER_Id(id=8),
        ]),
        pfcp.IE_CreateFAR(IE_list=[
            pfcp.IE_FAR_Id(id=0xFFFFFFFF),
            pfcp.IE_ApplyAction(FORW=1),
            pfcp.IE_ForwardingParameters(IE_list=[
                pfcp.IE_DestinationInterface(interface="Core"),
                pfcp.IE_OuterHeaderCreation(GTPUUDPIPV4=1, TEID=0x0A000001, ipv4="127.0.0.50"),
            ]),
        ]),
        pfcp.IE_CreateURR(IE_list=[
            pfcp.IE_URR_Id(id=7),
            pfcp.IE_MeasurementMethod(VOLUM=1),
            pfcp.IE_ReportingTriggers(volume_threshold=1, periodic_reporting=1),
            pfcp.IE_MeasurementPeriod(period=10),
            pfcp.IE_VolumeThreshold(TOVOL=1, total=104857600),
            pfcp.IE_TimeThreshold(threshold=60),
        ]),
        pfcp.IE_CreateQER(IE_list=[
            pfcp.IE_QER_Id(id=8),
            pfcp.IE_GateStatus(ul="CLOSED", dl="OPEN"),
            pfcp.IE_MBR(ul=50000, dl=(1 << 40) - 1),
        ]),
        pfcp.IE_PDNType(pdn_type=1),
        pfcp.IE_UserPlaneInactivityTimer(timer=30),
    ])


SESSION_LINES = [
    'Node ID [60] len=13: type=2 (FQDN) fqdn="smf.example"',
    "F-SEID [57] len=29: flags=V6|V4 seid=0x4ea v4=127.0.0.4 v6=2001:db8::4",
    "PDR ID [56] len=2: 1",
    "Precedence [29] len=4: 255",
    "Source Interface [20] len=1: 0 (Access)",
    "F-TEID [21] len=2: flags=V4|CH|CHID choose_id=5",
    'Network Instance [22] len=9: "internet"',
    "UE IP Address [93] len=5: flags=V4|SD v4=10.45.0.2",
    'SDF Filter [23] len=38: flags=FD description="permit out ip from any to assigned"',
    "QFI [124] len=1: qfi=9",
    "Outer Header Removal [95] len=1: description=0 (GTP-U/UDP/IPv4)",
    "FAR ID [108] len=4: 4294967295",
    "Apply Action [44] len=1: FORW",
    "Destination Interface [42] len=1: 1 (Core)",
    "Outer Header Creation [84] len=10: description=GTPU_UDP_IPV4 teid=167772161 v4=127.0.0.50",
    "Measurement Method [62] len=1: VOLUM",
    "Reporting Triggers [37] len=2: PERIO|VOLTH",
    "Measurement Period [64] len=4: 10",
    "Volume Threshold [31] len=9: flags=TOVOL total=104857600",
    "Time Threshold [32] len=4: 60",
    "Gate Status [25] len=1: up=1 (CLOSED) down=0 (OPEN)",
    "MBR [26] len=10: up_bps=50000 kb/s down_bps=1099511627775 kb/s",
    "PDN Type [113] len=1: 1 (IPv4)",
    "User Plane Inactivity Timer [117] len=4: 30",
]


def test_we_read_scapys_session():
    """Each IE of a session that scapy asks for, and what it says."""
    lines, verdict = decode(bytes(session_establishment()))
    assert verdict == "right unknown=0 vendor=0 unexpected=0 repeated=0"
    assert lines[0].startswith("Session Establishment Request [50] seid=0x0 seq=3 len=")
    assert set(SESSION_LINES) <= {line.strip() for line in lines}


def scapy_ies():
    """Every IE class of scapy that fills its fields by itself."""
    classes = [getattr(pfcp, name) for name in sorted(dir(pfcp)) if name.startswith("IE_")]
    return [cls for cls in classes if 0 < (getattr(cls, "ie_type", None) or 0) < 0x8000]


def test_we_read_every_ie_of_scapy():
    """Whatever scapy builds by default: the type is known by the same number, no field is broken."""
    table, broken, read = ours(), {}, 0
    classes = scapy_ies()
    for cls, (lines, _) in zip(classes, decode_all([wrap(bytes(cls())) for cls in classes])):
        assert f"[{cls.ie_type}] len=" in lines[1], lines
        if cls.ie_type in table:
            read += 1
            assert lines[1].strip().startswith(table[cls.ie_type])
        if any("BROKEN" in line for line in lines):
            broken[cls.__name__] = lines[1]
    assert read > 100
    assert set(broken) <= SCAPY_TOO_SHORT, broken


@pytest.mark.parametrize("octets, verdict", [
    ("2001000c0000020000600000e81fe7b4", r"cause 68 ie 96"),
    ("2001000f000000ffffff0000600004e81fdc30", r"discarded|cause 68 "),
    (bytes(pfcp.PFCP(version=1, S=0, seq=1) / pfcp.PFCPHeartbeatRequest(IE_list=[])).hex(),
     r"cause 66 ie 96"),
    (bytes(pfcp.PFCP(version=1, S=0, seq=1) / pfcp.PFCPAssociationSetupRequest(
        IE_list=[pfcp.IE_RecoveryTimeStamp()])).hex(), r"cause 66 ie 60"),
    (bytes(pfcp.PFCP(version=1, S=0, seq=1) / pfcp.PFCPAssociationSetupRequest(
        IE_list=[pfcp.IE_NodeId(id="127.0.0.4")])).hex(), r"cause 66 ie 96"),
    (bytes(pfcp.PFCP(version=1, S=1, seid=1, seq=1) / pfcp.PFCPAssociationSetupRequest(
        IE_list=[pfcp.IE_NodeId(id="127.0.0.4"), pfcp.IE_RecoveryTimeStamp()])).hex(),
     r"discarded"),
    (bytes(pfcp.PFCP(version=2, S=0, seq=1) / pfcp.PFCPHeartbeatRequest(
        IE_list=[pfcp.IE_RecoveryTimeStamp()])).hex(), r"discarded"),
])
def test_what_is_wrong_is_refused(octets, verdict):
    """Messages that have broken other UPFs."""
    assert re.match(verdict, decode(bytes.fromhex(octets))[1])
