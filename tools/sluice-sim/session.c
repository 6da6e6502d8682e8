// A PDU session's rules in PFCP. See session.h.
//
// PDR 1 is the way down, 2 the way up; 3 and 4 carry router advertisements and solicitations between
// the SMF and the UE, and come in every session, as the capture of an Open5GS SMF has it.

#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "gnb.h"
#include "packet/gtpu.h"
#include "sim.h"
#include "smf.h"

enum { // 8.2.2, 8.2.24
	TO_ACCESS = 0,
	TO_CORE = 1,
	TO_CP_FUNCTION = 3,
};

#define TYPE_N3 11 // 3GPP Interface Type, 8.2.118
#define TYPE_N6 17
#define REMOVE_GTPU_UDP_IP 6 // Outer Header Removal, 8.2.64
#define CHOOSE_ID 5          // PDRs 2 and 4 get the same tunnel
#define NO_SD 0xffffff       // S-NSSAI without Slice Differentiator
#define REPORT_BYTES (100ull << 20)
#define ROUTER_SOLICITATIONS "permit out 58 from ff02::2/128 to assigned"
#define IMSI_PREFIX "99970"

// Two octets, though the actions of Release 16 and later are not used.
static void apply_action_put(struct pfcp_writer *w, uint8_t actions)
{
	const uint8_t octets[] = {actions, 0};

	pfcp_octets_encode(w, PFCP_IE_APPLY_ACTION, octets, sizeof(octets));
}

static void f_teid_put(struct pfcp_writer *w, bool with_id)
{
	uint8_t flags = PFCP_F_TEID_CH | PFCP_F_TEID_V4 | PFCP_F_TEID_V6;
	struct pfcp_f_teid f_teid = {.flags = flags};

	if (with_id) {
		f_teid.flags = flags | PFCP_F_TEID_CHID;
		f_teid.choose_id = CHOOSE_ID;
	}
	pfcp_f_teid_encode(w, &f_teid);
}

static void ue_address_put(struct pfcp_writer *w, const struct ue *ue)
{
	struct pfcp_ue_ip_address address = {.flags = PFCP_UE_IP_ADDRESS_SD};

	if (ue->v4.family) {
		address.flags |= PFCP_UE_IP_ADDRESS_V4;
		address.v4.s_addr = ue->v4.v4;
	}
	if (ue->v6.family) {
		address.flags |= PFCP_UE_IP_ADDRESS_V6;
		memcpy(&address.v6, ue->v6.v6, sizeof(address.v6));
	}
	pfcp_ue_ip_address_encode(w, &address);
}

static void outer_header_put(struct pfcp_writer *w, const struct addr *addr, uint32_t teid)
{
	struct pfcp_outer_header_creation header = {.teid = teid};

	if (addr->family == ADDR_V4) {
		header.description = PFCP_OUTER_HEADER_CREATION_GTPU_UDP_IPV4;
		header.v4.s_addr = addr->v4;
	} else {
		header.description = PFCP_OUTER_HEADER_CREATION_GTPU_UDP_IPV6;
		memcpy(&header.v6, addr->v6, sizeof(header.v6));
	}
	pfcp_outer_header_creation_encode(w, &header);
}

static size_t pdr_begin(struct pfcp_writer *w, uint16_t id, uint32_t precedence)
{
	size_t pdr = pfcp_group_begin(w, PFCP_IE_CREATE_PDR);

	pfcp_uint_encode(w, PFCP_IE_PDR_ID, id);
	pfcp_uint_encode(w, PFCP_IE_PRECEDENCE, precedence);
	return pdr;
}

static void pdr_down_put(const struct sim *sim, const struct ue *ue, struct pfcp_writer *w)
{
	size_t pdr = pdr_begin(w, 1, 65535);
	size_t pdi = pfcp_group_begin(w, PFCP_IE_PDI);

	pfcp_uint_encode(w, PFCP_IE_SOURCE_INTERFACE, TO_CORE);
	pfcp_name_encode(w, PFCP_IE_NETWORK_INSTANCE, sim->options.dnn);
	ue_address_put(w, ue);
	pfcp_uint_encode(w, PFCP_IE_3GPP_INTERFACE_TYPE, TYPE_N6);
	pfcp_group_end(w, pdi);
	pfcp_uint_encode(w, PFCP_IE_FAR_ID, 1);
	pfcp_uint_encode(w, PFCP_IE_URR_ID, 1);
	pfcp_uint_encode(w, PFCP_IE_QER_ID, 1);
	pfcp_group_end(w, pdr);
}

static void pdr_up_put(const struct sim *sim, struct pfcp_writer *w)
{
	size_t pdr = pdr_begin(w, 2, 65535);
	size_t pdi = pfcp_group_begin(w, PFCP_IE_PDI);

	pfcp_uint_encode(w, PFCP_IE_SOURCE_INTERFACE, TO_ACCESS);
	f_teid_put(w, true);
	pfcp_name_encode(w, PFCP_IE_NETWORK_INSTANCE, sim->options.dnn);
	pfcp_uint_encode(w, PFCP_IE_QFI, sim->options.qfi);
	pfcp_uint_encode(w, PFCP_IE_3GPP_INTERFACE_TYPE, TYPE_N3);
	pfcp_group_end(w, pdi);
	pfcp_outer_header_removal_encode(
		w, &(struct pfcp_outer_header_removal){.description = REMOVE_GTPU_UDP_IP});
	pfcp_uint_encode(w, PFCP_IE_FAR_ID, 2);
	pfcp_uint_encode(w, PFCP_IE_QER_ID, 1);
	pfcp_group_end(w, pdr);
}

static void pdr_advertisements_put(struct pfcp_writer *w)
{
	size_t pdr = pdr_begin(w, 3, 255);
	size_t pdi = pfcp_group_begin(w, PFCP_IE_PDI);

	pfcp_uint_encode(w, PFCP_IE_SOURCE_INTERFACE, TO_CP_FUNCTION);
	f_teid_put(w, false);
	pfcp_group_end(w, pdi);
	pfcp_outer_header_removal_encode(
		w, &(struct pfcp_outer_header_removal){.description = REMOVE_GTPU_UDP_IP});
	pfcp_uint_encode(w, PFCP_IE_FAR_ID, 1);
	pfcp_group_end(w, pdr);
}

static void pdr_solicitations_put(const struct sim *sim, struct pfcp_writer *w)
{
	const struct pfcp_sdf_filter filter = {
		.flags = PFCP_SDF_FILTER_FD,
		.description = {(const uint8_t *)ROUTER_SOLICITATIONS,
				sizeof(ROUTER_SOLICITATIONS) - 1},
	};
	size_t pdr = pdr_begin(w, 4, 255);
	size_t pdi = pfcp_group_begin(w, PFCP_IE_PDI);

	pfcp_uint_encode(w, PFCP_IE_SOURCE_INTERFACE, TO_ACCESS);
	f_teid_put(w, true);
	pfcp_name_encode(w, PFCP_IE_NETWORK_INSTANCE, sim->options.dnn);
	pfcp_sdf_filter_encode(w, &filter);
	pfcp_uint_encode(w, PFCP_IE_3GPP_INTERFACE_TYPE, TYPE_N3);
	pfcp_group_end(w, pdi);
	pfcp_outer_header_removal_encode(
		w, &(struct pfcp_outer_header_removal){.description = REMOVE_GTPU_UDP_IP});
	pfcp_uint_encode(w, PFCP_IE_FAR_ID, 3);
	pfcp_group_end(w, pdr);
}

static size_t far_begin(struct pfcp_writer *w, uint32_t id, uint8_t actions)
{
	size_t far = pfcp_group_begin(w, PFCP_IE_CREATE_FAR);

	pfcp_uint_encode(w, PFCP_IE_FAR_ID, id);
	apply_action_put(w, actions);
	return far;
}

static void fars_put(const struct sim *sim, const struct ue *ue, struct pfcp_writer *w)
{
	size_t far, parameters;

	far = far_begin(w, 1, PFCP_APPLY_ACTION_BUFF | PFCP_APPLY_ACTION_NOCP);
	pfcp_uint_encode(w, PFCP_IE_BAR_ID, 1);
	pfcp_group_end(w, far);

	far = far_begin(w, 2, PFCP_APPLY_ACTION_FORW);
	parameters = pfcp_group_begin(w, PFCP_IE_FORWARDING_PARAMETERS);
	pfcp_uint_encode(w, PFCP_IE_DESTINATION_INTERFACE, TO_CORE);
	pfcp_name_encode(w, PFCP_IE_NETWORK_INSTANCE, sim->options.dnn);
	pfcp_uint_encode(w, PFCP_IE_3GPP_INTERFACE_TYPE, TYPE_N6);
	pfcp_group_end(w, parameters);
	pfcp_group_end(w, far);

	far = far_begin(w, 3, PFCP_APPLY_ACTION_FORW);
	parameters = pfcp_group_begin(w, PFCP_IE_FORWARDING_PARAMETERS);
	pfcp_uint_encode(w, PFCP_IE_DESTINATION_INTERFACE, TO_CP_FUNCTION);
	outer_header_put(w, &sim->options.smf, ue->index + 1);
	pfcp_group_end(w, parameters);
	pfcp_group_end(w, far);
}

static void urr_put(struct pfcp_writer *w)
{
	const uint8_t triggers[] = {PFCP_REPORTING_TRIGGERS_VOLTH, 0, 0};
	const struct pfcp_volume threshold = {.flags = PFCP_VOLUME_THRESHOLD_TOVOL,
					      .total = REPORT_BYTES};
	size_t urr = pfcp_group_begin(w, PFCP_IE_CREATE_URR);

	pfcp_uint_encode(w, PFCP_IE_URR_ID, 1);
	pfcp_uint_encode(w, PFCP_IE_MEASUREMENT_METHOD, PFCP_MEASUREMENT_METHOD_VOLUM);
	pfcp_octets_encode(w, PFCP_IE_REPORTING_TRIGGERS, triggers, sizeof(triggers));
	pfcp_volume_encode(w, PFCP_IE_VOLUME_THRESHOLD, &threshold);
	pfcp_group_end(w, urr);
}

static void qer_put(const struct sim *sim, struct pfcp_writer *w)
{
	const struct pfcp_bit_rates ambr = {.up_bps = sim->options.ambr_up_bps,
					    .down_bps = sim->options.ambr_down_bps};
	size_t qer = pfcp_group_begin(w, PFCP_IE_CREATE_QER);

	pfcp_uint_encode(w, PFCP_IE_QER_ID, 1);
	pfcp_gate_status_encode(w, &(struct pfcp_gate_status){0}); // open
	pfcp_bit_rates_encode(w, PFCP_IE_MBR, &ambr);
	pfcp_uint_encode(w, PFCP_IE_QFI, sim->options.qfi);
	pfcp_group_end(w, qer);
}

// The UE's IMSI, its digits two an octet, low nibble first, filled up with ones.
static void user_id_put(struct pfcp_writer *w, const struct ue *ue)
{
	char digits[32];
	uint8_t imsi[8];
	struct pfcp_user_id id = {.flags = PFCP_USER_ID_IMSIF, .imsi = {imsi, sizeof(imsi)}};

	snprintf(digits, sizeof(digits), IMSI_PREFIX "%010u", ue->index + 1);
	for (unsigned i = 0; i < sizeof(imsi); i++) {
		unsigned low = (unsigned)digits[2 * i] - '0';
		unsigned high = digits[2 * i + 1] ? (unsigned)digits[2 * i + 1] - '0' : 0xf;

		imsi[i] = (uint8_t)(high << 4 | low);
	}
	pfcp_user_id_encode(w, &id);
}

void session_establishment_put(const struct sim *sim, const struct ue *ue, struct pfcp_writer *w)
{
	size_t bar;

	smf_node_id_put(sim, w);
	smf_f_seid_put(sim, w, ue->seid);
	pdr_down_put(sim, ue, w);
	pdr_up_put(sim, w);
	pdr_advertisements_put(w);
	pdr_solicitations_put(sim, w);
	fars_put(sim, ue, w);
	urr_put(w);
	qer_put(sim, w);
	bar = pfcp_group_begin(w, PFCP_IE_CREATE_BAR);
	pfcp_uint_encode(w, PFCP_IE_BAR_ID, 1);
	pfcp_group_end(w, bar);
	pfcp_uint_encode(w, PFCP_IE_PDN_TYPE,
			 (ue->v4.family ? 1u : 0u) | (ue->v6.family ? 2u : 0u));
	user_id_put(w, ue);
	pfcp_name_encode(w, PFCP_IE_APN_DNN, sim->options.dnn);
	pfcp_s_nssai_encode(w, &(struct pfcp_s_nssai){.sst = 1, .sd = NO_SD});
}

static size_t update_far_begin(struct pfcp_writer *w, uint8_t actions)
{
	size_t far = pfcp_group_begin(w, PFCP_IE_UPDATE_FAR);

	pfcp_uint_encode(w, PFCP_IE_FAR_ID, 1);
	apply_action_put(w, actions);
	return far;
}

void session_forward_put(const struct sim *sim, const struct tunnel *to, bool path_switch,
			 struct pfcp_writer *w)
{
	size_t far = update_far_begin(w, PFCP_APPLY_ACTION_FORW);
	size_t parameters = pfcp_group_begin(w, PFCP_IE_UPDATE_FORWARDING_PARAMETERS);

	pfcp_uint_encode(w, PFCP_IE_DESTINATION_INTERFACE, TO_ACCESS);
	pfcp_name_encode(w, PFCP_IE_NETWORK_INSTANCE, sim->options.dnn);
	outer_header_put(w, &to->gnb->addr, to->teid);
	if (path_switch)
		pfcp_uint_encode(w, PFCP_IE_PFCPSMREQ_FLAGS, PFCP_PFCPSMREQ_FLAGS_SNDEM);
	pfcp_uint_encode(w, PFCP_IE_3GPP_INTERFACE_TYPE, TYPE_N3);
	pfcp_group_end(w, parameters);
	pfcp_group_end(w, far);
}

void session_buffer_put(struct pfcp_writer *w)
{
	size_t far = update_far_begin(w, PFCP_APPLY_ACTION_BUFF | PFCP_APPLY_ACTION_NOCP);

	pfcp_uint_encode(w, PFCP_IE_BAR_ID, 1);
	pfcp_group_end(w, far);
}

// ---- the establishment's answer ----

// The F-TEID of the Created PDR for PDR 2.
static int f_teid_find(const struct pfcp_msg *answer, struct pfcp_f_teid *ret_f_teid)
{
	struct pfcp_cursor ies = answer->ies;
	struct pfcp_fault fault = {0};
	struct pfcp_ie created, ie;
	uint64_t id;

	while (pfcp_ie_next(&ies, &created) == 1) {
		struct pfcp_cursor members = pfcp_ie_members(&created);

		if (created.type != PFCP_IE_CREATED_PDR)
			continue;
		if (pfcp_ie_find(members, PFCP_IE_PDR_ID, &ie) == 0 &&
		    pfcp_uint_decode(&ie, &id, &fault) == 0 && id == 2 &&
		    pfcp_ie_find(members, PFCP_IE_F_TEID, &ie) == 0)
			return pfcp_f_teid_decode(&ie, ret_f_teid, &fault);
	}
	return -ENOENT;
}

int session_established_take(const struct pfcp_msg *answer, bool v6, struct ue *ue, char *text,
			     size_t size)
{
	struct endpoint n3 = {.port = GTPU_PORT};
	struct pfcp_f_teid f_teid = {0};
	struct pfcp_f_seid f_seid = {0};
	struct pfcp_fault fault = {0};
	struct pfcp_ie ie;

	if (pfcp_ie_find(answer->ies, PFCP_IE_F_SEID, &ie) != 0 ||
	    pfcp_f_seid_decode(&ie, &f_seid, &fault) < 0) {
		snprintf(text, size, "the answer has no UP F-SEID");
		return -EBADMSG;
	}
	ue->up_seid = f_seid.seid;
	if (f_teid_find(answer, &f_teid) < 0) {
		snprintf(text, size, "the answer has no F-TEID for PDR 2");
		return -EBADMSG;
	}
	if (!(f_teid.flags & (v6 ? PFCP_F_TEID_V6 : PFCP_F_TEID_V4))) {
		snprintf(text, size, "the UPF gave no %s address for N3", v6 ? "IPv6" : "IPv4");
		return -EBADMSG;
	}
	n3.addr = v6 ? addr_v6(f_teid.v6.s6_addr) : addr_v4(f_teid.v4.s_addr);
	ue->n3_len = endpoint_to_sockaddr(&n3, &ue->n3);
	ue->teid_up = f_teid.teid;
	return 0;
}
