// The messages of a session with the rules of W (n4.h, TS 29.244 7.5.2 to 7.5.4).
//
// Two PDRs a direction, the first with a filter; two QERs, the flow's rate with its QFI and the session's; a URR with
// a volume threshold; FAR 1 to the gNB, FAR 2 to the data network. Pure.

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>

#include "n4.h"
#include "pfcp/codec.h"
#include "pfcp/writer.h"

enum { // 8.2.2, 8.2.24
	TO_ACCESS = 0,
	TO_CORE = 1,
};

enum { PDN_IPV4 = 1, PDN_IPV4V6 = 3 }; // 8.2.79

#define REMOVE_GTPU_UDP_IP 6 // Outer Header Removal, 8.2.64
#define CHOOSE_ID 1          // the PDRs of the way up get the same tunnel, or that and the next
#define FILTER "permit out 17 from any 5000 to assigned"

void n4_node_id_put(const struct n4_conf *conf, struct pfcp_writer *w)
{
	pfcp_node_id_encode(w, &(struct pfcp_node_id){.type = PFCP_NODE_ID_IPV4,
						      .v4.s_addr = conf->smf.v4});
}

static void apply_action_put(struct pfcp_writer *w, uint8_t actions)
{
	const uint8_t octets[] = {actions, 0};

	pfcp_octets_encode(w, PFCP_IE_APPLY_ACTION, octets, sizeof(octets));
}

static struct pfcp_ue_ip_address ue_of(const struct n4_conf *conf, uint32_t session)
{
	struct pfcp_ue_ip_address ue = {
		.flags = PFCP_UE_IP_ADDRESS_SD | PFCP_UE_IP_ADDRESS_V4,
		.v4.s_addr = rte_cpu_to_be_32(rte_be_to_cpu_32(conf->ue_base.v4) + session),
	};
	rte_be64_t net;

	if (conf->ue6_base.family != ADDR_V6)
		return ue;
	memcpy(&net, conf->ue6_base.v6, sizeof(net));
	net = rte_cpu_to_be_64(rte_be_to_cpu_64(net) + session);
	memcpy(&ue.v6, &net, sizeof(net));
	ue.flags |= PFCP_UE_IP_ADDRESS_V6;
	return ue;
}

static void pdi_put(const struct n4_conf *conf, struct pfcp_writer *w, uint32_t session, bool up,
		    bool filtered)
{
	static const uint8_t choose = PFCP_F_TEID_CH | PFCP_F_TEID_CHID | PFCP_F_TEID_V4;
	const struct pfcp_ue_ip_address ue = ue_of(conf, session);
	uint8_t tunnel = conf->ue6_base.family && !filtered ? CHOOSE_ID + 1 : CHOOSE_ID;
	const struct pfcp_sdf_filter filter = {
		.flags = PFCP_SDF_FILTER_FD,
		.description = {(const uint8_t *)FILTER, sizeof(FILTER) - 1},
	};
	size_t pdi = pfcp_group_begin(w, PFCP_IE_PDI);

	pfcp_uint_encode(w, PFCP_IE_SOURCE_INTERFACE, up ? TO_ACCESS : TO_CORE);
	if (up)
		pfcp_f_teid_encode(w, &(struct pfcp_f_teid){.flags = choose, .choose_id = tunnel});
	pfcp_name_encode(w, PFCP_IE_NETWORK_INSTANCE, conf->dnn);
	if (!up)
		pfcp_ue_ip_address_encode(w, &ue);
	if (filtered)
		pfcp_sdf_filter_encode(w, &filter);
	pfcp_group_end(w, pdi);
}

static void pdr_put(const struct n4_conf *conf, struct pfcp_writer *w, uint32_t session,
		    uint16_t id)
{
	bool up = id > 2, filtered = id % 2;
	size_t pdr = pfcp_group_begin(w, PFCP_IE_CREATE_PDR);

	pfcp_uint_encode(w, PFCP_IE_PDR_ID, id);
	pfcp_uint_encode(w, PFCP_IE_PRECEDENCE, filtered ? 100 : 200);
	pdi_put(conf, w, session, up, filtered);
	if (up)
		pfcp_outer_header_removal_encode(
			w, &(struct pfcp_outer_header_removal){.description = REMOVE_GTPU_UDP_IP});
	pfcp_uint_encode(w, PFCP_IE_FAR_ID, up ? 2 : 1);
	pfcp_uint_encode(w, PFCP_IE_URR_ID, 1);
	pfcp_uint_encode(w, PFCP_IE_QER_ID, 1);
	pfcp_uint_encode(w, PFCP_IE_QER_ID, 2);
	pfcp_group_end(w, pdr);
}

// Forwarding Parameters, or the same of an update.
static void parameters_put(const struct n4_conf *conf, struct pfcp_writer *w, uint16_t type,
			   uint32_t session, bool down)
{
	const struct pfcp_outer_header_creation header = {
		.description = PFCP_OUTER_HEADER_CREATION_GTPU_UDP_IPV4,
		.teid = N4_GNB_TEID + session,
		.v4.s_addr = conf->gnb.v4,
	};
	size_t parameters = pfcp_group_begin(w, type);

	pfcp_uint_encode(w, PFCP_IE_DESTINATION_INTERFACE, down ? TO_ACCESS : TO_CORE);
	pfcp_name_encode(w, PFCP_IE_NETWORK_INSTANCE, conf->dnn);
	if (down)
		pfcp_outer_header_creation_encode(w, &header);
	pfcp_group_end(w, parameters);
}

static void fars_put(const struct n4_conf *conf, struct pfcp_writer *w, uint32_t session)
{
	for (uint32_t id = 1; id <= 2; id++) {
		size_t far = pfcp_group_begin(w, PFCP_IE_CREATE_FAR);
		bool down = id == 1;

		pfcp_uint_encode(w, PFCP_IE_FAR_ID, id);
		apply_action_put(w, down && !conf->open
					    ? PFCP_APPLY_ACTION_BUFF | PFCP_APPLY_ACTION_NOCP
					    : PFCP_APPLY_ACTION_FORW);
		if (!down || conf->open)
			parameters_put(conf, w, PFCP_IE_FORWARDING_PARAMETERS, session, down);
		pfcp_group_end(w, far);
	}
}

static void qers_put(const struct n4_conf *conf, struct pfcp_writer *w)
{
	for (uint32_t id = 1; id <= 2; id++) {
		const struct pfcp_bit_rates mbr = {.up_bps = id * conf->rate_bps,
						   .down_bps = id * conf->rate_bps};
		size_t qer = pfcp_group_begin(w, PFCP_IE_CREATE_QER);

		pfcp_uint_encode(w, PFCP_IE_QER_ID, id);
		pfcp_gate_status_encode(w, &(struct pfcp_gate_status){0}); // open
		pfcp_bit_rates_encode(w, PFCP_IE_MBR, &mbr);
		if (id == 1)
			pfcp_uint_encode(w, PFCP_IE_QFI, N4_QFI);
		pfcp_group_end(w, qer);
	}
}

static void urr_put(const struct n4_conf *conf, struct pfcp_writer *w)
{
	const uint8_t triggers[] = {PFCP_REPORTING_TRIGGERS_VOLTH, 0, 0};
	const struct pfcp_volume threshold = {.flags = PFCP_VOLUME_THRESHOLD_TOVOL,
					      .total = conf->threshold_bytes};
	size_t urr = pfcp_group_begin(w, PFCP_IE_CREATE_URR);

	pfcp_uint_encode(w, PFCP_IE_URR_ID, 1);
	pfcp_uint_encode(w, PFCP_IE_MEASUREMENT_METHOD, PFCP_MEASUREMENT_METHOD_VOLUM);
	pfcp_octets_encode(w, PFCP_IE_REPORTING_TRIGGERS, triggers, sizeof(triggers));
	pfcp_volume_encode(w, PFCP_IE_VOLUME_THRESHOLD, &threshold);
	pfcp_group_end(w, urr);
}

void n4_establish_put(const struct n4_conf *conf, uint32_t session, uint64_t seid,
		      struct pfcp_writer *w)
{
	n4_node_id_put(conf, w);
	pfcp_f_seid_encode(w, &(struct pfcp_f_seid){.flags = PFCP_F_SEID_V4,
						    .seid = seid,
						    .v4.s_addr = conf->smf.v4});
	for (uint16_t id = 1; id <= 4; id++)
		pdr_put(conf, w, session, id);
	fars_put(conf, w, session);
	urr_put(conf, w);
	qers_put(conf, w);
	pfcp_uint_encode(w, PFCP_IE_PDN_TYPE, conf->ue6_base.family ? PDN_IPV4V6 : PDN_IPV4);
	pfcp_name_encode(w, PFCP_IE_APN_DNN, conf->dnn);
}

void n4_modify_put(const struct n4_conf *conf, uint32_t session, struct pfcp_writer *w)
{
	size_t far = pfcp_group_begin(w, PFCP_IE_UPDATE_FAR);

	pfcp_uint_encode(w, PFCP_IE_FAR_ID, 1);
	apply_action_put(w, PFCP_APPLY_ACTION_FORW);
	parameters_put(conf, w, PFCP_IE_UPDATE_FORWARDING_PARAMETERS, session, true);
	pfcp_group_end(w, far);
}

// The tunnels of the Created PDRs of the way up, 3 and 4; one that PDR 4 shares is told with PDR 3. False: there is none.
static bool f_teids_find(struct pfcp_cursor ies, uint32_t ret_teids[N4_TUNNELS])
{
	struct pfcp_fault fault = {0};
	struct pfcp_f_teid f_teid;
	struct pfcp_ie created, ie;
	unsigned n = 0;

	while (n < N4_TUNNELS && pfcp_ie_next(&ies, &created) == 1) {
		if (created.type != PFCP_IE_CREATED_PDR ||
		    pfcp_ie_find(pfcp_ie_members(&created), PFCP_IE_F_TEID, &ie) != 0 ||
		    pfcp_f_teid_decode(&ie, &f_teid, &fault) != 0)
			continue;
		ret_teids[n++] = f_teid.teid;
	}
	if (n == 1)
		ret_teids[1] = ret_teids[0];
	return n > 0;
}

bool n4_established_take(const struct pfcp_msg *answer, struct n4_session *ret)
{
	struct pfcp_fault fault = {0};
	struct pfcp_f_seid f_seid;
	struct pfcp_ie ie;

	if (pfcp_ie_find(answer->ies, PFCP_IE_F_SEID, &ie) != 0 ||
	    pfcp_f_seid_decode(&ie, &f_seid, &fault) != 0 || !f_teids_find(answer->ies, ret->teids))
		return false;
	ret->up_seid = f_seid.seid;
	return true;
}
