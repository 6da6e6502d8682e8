"""Rules as SMFs give them, made of scapy's IEs.

open5gs_session() is, octet for octet, the establishment of an Open5GS SMF for a UE with both
families (test_kit.py compares it with the capture in tests/golden); tests change copies of it.
"""

from scapy.contrib import pfcp

ACCESS, CORE, _N6_LAN, CP_FUNCTION = range(4)
IF_TYPE_N3, IF_TYPE_N6 = 11, 17
REMOVE_GTPU_UDP_IP = 6
S_NSSAI = 257
USER = {"IMSIF": 1, "IMEIF": 1, "MSISDNF": 1, "imsi": bytes.fromhex("99790000000000f3"),
        "imei": bytes.fromhex("3407181652181615"), "msisdn": bytes.fromhex("9000000000")}
ROUTER_SOLICITATIONS = "permit out 58 from ff02::2/128 to assigned"


def node_id(address):
    """A Node ID that is an address."""
    if ":" in address:
        return pfcp.IE_NodeId(id_type=1, ipv6=address)
    return pfcp.IE_NodeId(id_type=0, ipv4=address)


def f_seid(seid, address):
    """An F-SEID with one address."""
    if ":" in address:
        return pfcp.IE_FSEID(v6=1, seid=seid, ipv6=address)
    return pfcp.IE_FSEID(v4=1, seid=seid, ipv4=address)


def choose(choose_id=None, v6=True):
    """An F-TEID for the UPF to choose; those with the same id get the same TEID."""
    if choose_id is None:
        return pfcp.IE_FTEID(CH=1, V4=1, V6=int(v6))
    return pfcp.IE_FTEID(CHID=1, CH=1, V4=1, V6=int(v6), choose_id=choose_id)


def ue_address(v4=None, v6=None, destination=True):
    """A UE IP Address for a PDI."""
    addresses = {key: value for key, value in (("ipv4", v4), ("ipv6", v6)) if value}
    return pfcp.IE_UE_IP_Address(SD=int(destination), V4=int(bool(v4)), V6=int(bool(v6)),
                                 **addresses)


def sdf(text=None, filter_id=None):
    """An SDF Filter: a flow description, an id, or both."""
    parts = {}
    if text is not None:
        parts |= {"FD": 1, "flow_description": text.encode()}
    if filter_id is not None:
        parts |= {"BID": 1, "sdf_filter_id": filter_id}
    return pfcp.IE_SDF_Filter(**parts)


def outer_header(address, teid):
    """An Outer Header Creation for GTP-U over either family."""
    if ":" in address:
        return pfcp.IE_OuterHeaderCreation(GTPUUDPIPV6=1, TEID=teid, ipv6=address)
    return pfcp.IE_OuterHeaderCreation(GTPUUDPIPV4=1, TEID=teid, ipv4=address)


def action(**bits):
    """An Apply Action of two octets, e.g. action(BUFF=1, NOCP=1)."""
    return pfcp.IE_ApplyAction(**bits, extra_data=b"\0")


def pdr(number, precedence, pdi, far, *, removal=None, urr=None, qer=None):
    """A Create PDR."""
    more = [] if removal is None else [pfcp.IE_OuterHeaderRemoval(header=removal)]
    more += [pfcp.IE_FAR_Id(id=far)]
    more += [] if urr is None else [pfcp.IE_URR_Id(id=urr)]
    more += [] if qer is None else [pfcp.IE_QER_Id(id=qer)]
    return pfcp.IE_CreatePDR(IE_list=[
        pfcp.IE_PDR_Id(id=number), pfcp.IE_Precedence(precedence=precedence),
        pfcp.IE_PDI(IE_list=pdi), *more])


def far(number, apply_action, parameters=None, bar=None):
    """A Create FAR."""
    more = [] if parameters is None else [pfcp.IE_ForwardingParameters(IE_list=parameters)]
    more += [] if bar is None else [pfcp.IE_BAR_Id(id=bar)]
    return pfcp.IE_CreateFAR(IE_list=[pfcp.IE_FAR_Id(id=number), apply_action, *more])


def urr_volume(number, total):
    """A Create URR that reports every `total` bytes."""
    return pfcp.IE_CreateURR(IE_list=[
        pfcp.IE_URR_Id(id=number), pfcp.IE_MeasurementMethod(VOLUM=1),
        pfcp.IE_ReportingTriggers(volume_threshold=1, extra_data=b"\0"),
        pfcp.IE_VolumeThreshold(TOVOL=1, total=total)])


def qer_rate(number, up_kbps, down_kbps, qfi=1):
    """A Create QER with open gates and a maximum bit rate."""
    return pfcp.IE_CreateQER(IE_list=[
        pfcp.IE_QER_Id(id=number), pfcp.IE_GateStatus(ul=0, dl=0),
        pfcp.IE_MBR(ul=up_kbps, dl=down_kbps), pfcp.IE_QFI(QFI=qfi)])


def interface(number):
    """A Source Interface."""
    return pfcp.IE_SourceInterface(interface=number)


def towards(number):
    """A Destination Interface."""
    return pfcp.IE_DestinationInterface(interface=number)


def network(name):
    """A Network Instance, label-encoded."""
    return pfcp.IE_NetworkInstance(instance=name)


def interface_type(number):
    """A 3GPP Interface Type."""
    return pfcp.IE_3GPP_InterfaceType(interface_type=number)


def open5gs_session(smf, v4=None, v6=None, dnn="internet", rate_kbps=(50000, 100000)):
    """The rules of one PDU session as Open5GS creates it, down to the odd ones (PDR 3 and 4)."""
    tunnel = [interface(ACCESS), choose(5), network(dnn)]
    n3, n6 = interface_type(IF_TYPE_N3), interface_type(IF_TYPE_N6)
    return [
        pdr(1, 65535, [interface(CORE), network(dnn), ue_address(v4, v6), n6], 1, urr=1, qer=1),
        pdr(2, 65535, [*tunnel, pfcp.IE_QFI(QFI=1), n3], 2, removal=REMOVE_GTPU_UDP_IP, qer=1),
        pdr(3, 255, [interface(CP_FUNCTION), choose()], 1, removal=REMOVE_GTPU_UDP_IP),
        pdr(4, 255, [*tunnel, sdf(ROUTER_SOLICITATIONS), n3], 3, removal=REMOVE_GTPU_UDP_IP),
        far(1, action(BUFF=1, NOCP=1), bar=1),
        far(2, action(FORW=1), [towards(CORE), network(dnn), n6]),
        far(3, action(FORW=1), [towards(CP_FUNCTION), outer_header(smf, 1)]),
        urr_volume(1, 100 << 20),
        qer_rate(1, *rate_kbps),
        pfcp.IE_Create_BAR(IE_list=[pfcp.IE_BAR_Id(id=1)]),
        pfcp.IE_PDNType(pdn_type=(1 if v4 else 0) | (2 if v6 else 0)),
        pfcp.IE_UserId(**USER),
        pfcp.IE_APN_DNN(apn_dnn=dnn),
        pfcp.IE_NotImplemented(ietype=S_NSSAI, data=b"\x01\xff\xff\xff"),
    ]


def gnb_known(gnb, teid, number=1, dnn="internet"):
    """The Update FAR that opens the way down to a gNB."""
    parameters = [towards(ACCESS), network(dnn), outer_header(gnb, teid),
                  interface_type(IF_TYPE_N3)]
    return pfcp.IE_UpdateFAR(IE_list=[
        pfcp.IE_FAR_Id(id=number), action(FORW=1),
        pfcp.IE_UpdateForwardingParameters(IE_list=parameters)])


def idle(number=1, bar=1):
    """The Update FAR of a UE that has gone idle: buffer, and tell."""
    return pfcp.IE_UpdateFAR(IE_list=[
        pfcp.IE_FAR_Id(id=number), action(BUFF=1, NOCP=1), pfcp.IE_BAR_Id(id=bar)])


def application(name):
    """An Application ID for a PDI."""
    return pfcp.IE_ApplicationId(id=name.encode())


def pfds(name, *contents):
    """What PFD Management says of an application: a PFD for each of these pfcp.IE_PFDContents."""
    contexts = [pfcp.IE_PFDContext(IE_list=[one]) for one in contents]
    return pfcp.IE_ApplicationID_PFDs(IE_list=[application(name), *contexts])


def flow(text, *more):
    """PFD Contents with a flow description, or several."""
    if not more:
        return pfcp.IE_PFDContents(FD=1, flow=text.encode())
    run = b"".join(len(one).to_bytes(2, "big") + one.encode() for one in more)
    return pfcp.IE_PFDContents(FD=1, flow=text.encode(), AFD=1, additional_flow=run)
