// Create and Update PDR (TS 29.244 7.5.2.2, 7.5.4.2), see decode.h.
//
// A PDI in an update says what changes in it: real SMFs send only the source interface and the new list of
// SDF filters, and expect F-TEID, Network Instance, UE IP Address and QFIs to stay.

#include <errno.h>
#include <string.h>

#include "pfcp/decode.h"
#include "pfcp/decode_ue.h"
#include "pfcp/pfd.h"
#include "rules/sdf.h"

#define IF_TYPE_N9 15 // 3GPP Interface Type (TS 29.244 8.2.118)
#define IF_TYPE_N9_ROAMING 21
#define IF_TYPE_N9_FORWARDING 23

// --- PDI -------------------------------------------------------------------------------------------------

static int take_source(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;
	uint8_t value;

	if (decode_u8(d, ie, &value) < 0)
		return -EINVAL;
	// Here 4 is "5G VN Internal", which Destination Interface has at 5: the model has one numbering.
	value &= 0x0f;
	if (value > IF_CP_FUNCTION)
		return decode_fault(d, PFCP_CAUSE_MANDATORY_INCORRECT, ie->type,
				    "source interface that is not served");
	pdr->pdi.source = value;
	return 0;
}

static int take_if_type(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	uint8_t value;

	if (ie->len == 0)
		return 0;
	if (decode_u8(d, ie, &value) < 0)
		return -EINVAL;
	d->if_type = value & 0x3f;
	return 0;
}

static int take_ni(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;

	return decode_network_instance(d, ie, &pdr->pdi.ni);
}

// The interface that a TEID is picked on. Network instances do not tell N3 from N6, so the source interface
// does, and the 3GPP interface type where there are both N3 and N9.
// Of several the one with most of the families that are asked for.
static const struct n4_iface *choose_iface(const struct decode *d, const struct pdi *pdi, bool v4,
					   bool v6)
{
	bool n9 = pdi->source == IF_CORE || pdi->source == IF_SGI_LAN || d->if_type == IF_TYPE_N9 ||
		  d->if_type == IF_TYPE_N9_ROAMING || d->if_type == IF_TYPE_N9_FORWARDING;
	uint8_t roles[] = {n9 ? N4_ROLE_N9 : N4_ROLE_N3, N4_ROLE_N3 | N4_ROLE_N9};
	const struct n4_iface *best = NULL;
	unsigned most = 0;

	for (unsigned r = 0; r < 2 && !best; r++)
		for (unsigned i = 0; i < d->env->n_ifaces; i++) {
			const struct n4_iface *iface = &d->env->ifaces[i];
			unsigned served = (v4 && iface->has_v4 ? 2u : 0u) +
					  (v6 && iface->has_v6 ? 1u : 0u);

			if ((iface->roles & roles[r]) && served > most) {
				best = iface;
				most = served;
			}
		}
	return best;
}

static bool is_local(const struct n4_env *env, const struct fteid *fteid)
{
	for (unsigned i = 0; i < env->n_ifaces; i++) {
		const struct n4_iface *iface = &env->ifaces[i];

		if ((iface->roles & (N4_ROLE_N3 | N4_ROLE_N9)) && n4_iface_is_local(iface, fteid))
			return true;
	}
	return false;
}

// Whether both name the same addresses.
static bool is_same_addrs(const struct fteid *a, const struct fteid *b)
{
	return a->has_v4 == b->has_v4 && a->has_v6 == b->has_v6 && a->v4.s_addr == b->v4.s_addr &&
	       memcmp(&a->v6, &b->v6, sizeof(a->v6)) == 0;
}

static int choose_fteid(struct decode *d, struct pdr_rule *pdr, const struct pfcp_f_teid *value)
{
	bool v4 = value->flags & PFCP_F_TEID_V4;
	bool v6 = value->flags & PFCP_F_TEID_V6;
	const struct n4_iface *iface = choose_iface(d, &pdr->pdi, v4, v6);
	struct fteid *old = &pdr->pdi.fteid;
	struct fteid chosen = {
		.choose = true,
		.has_choose_id = value->flags & PFCP_F_TEID_CHID,
		.choose_id = value->choose_id,
	};

	if (!iface)
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, PFCP_IE_F_TEID,
				    "no interface has an address of the family that is asked for");
	// Where both are asked for and the interface has one, an F-TEID with that one serves.
	chosen.has_v4 = v4 && iface->has_v4;
	chosen.has_v6 = v6 && iface->has_v6;
	if (chosen.has_v4)
		chosen.v4 = iface->v4;
	if (chosen.has_v6)
		chosen.v6 = iface->v6;
	if (pdr->tunnel && old->choose && old->has_choose_id == chosen.has_choose_id &&
	    old->choose_id == chosen.choose_id && is_same_addrs(old, &chosen))
		return 0; // asked for again: the TEID stays
	pdr->pdi.has_fteid = true;
	pdr->pdi.fteid = chosen;
	pdr->tunnel = 0;
	return 0;
}

static int take_fteid(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;
	struct fteid *old = &pdr->pdi.fteid;
	struct pfcp_f_teid value;
	struct fteid given;

	if (ie->len == 0) {
		pdr->pdi.has_fteid = false;
		pdr->pdi.fteid = (struct fteid){0};
		pdr->tunnel = 0;
		return 0;
	}
	if (pfcp_f_teid_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	if (value.flags & PFCP_F_TEID_CH)
		return choose_fteid(d, pdr, &value);
	given = (struct fteid){
		.has_v4 = value.flags & PFCP_F_TEID_V4,
		.has_v6 = value.flags & PFCP_F_TEID_V6,
		.teid = value.teid,
		.v4 = value.v4,
		.v6 = value.v6,
	};
	if (!is_local(d->env, &given))
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type,
				    "F-TEID with an address that is no N3 or N9 address here");
	if (value.teid == 0)
		return decode_fault(d, PFCP_CAUSE_MANDATORY_INCORRECT, ie->type,
				    "F-TEID with TEID 0");
	if (pdr->tunnel && old->teid == given.teid && is_same_addrs(old, &given))
		return 0; // what it has, also if it was us who picked it
	pdr->pdi.has_fteid = true;
	*old = given;
	pdr->tunnel = 0;
	return 0;
}

static int read_filter(struct decode *d, const struct pfcp_ie *ie, struct sdf *ret)
{
	struct pfcp_sdf_filter value;
	const char *why;

	if (pfcp_sdf_filter_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	*ret = (struct sdf){
		.has_flow = value.flags & PFCP_SDF_FILTER_FD,
		.has_tos = value.flags & PFCP_SDF_FILTER_TTC,
		.has_spi = value.flags & PFCP_SDF_FILTER_SPI,
		.has_flow_label = value.flags & PFCP_SDF_FILTER_FL,
		.has_bid = value.flags & PFCP_SDF_FILTER_BID,
		.tos = (uint8_t)(value.tos >> 8),
		.tos_mask = (uint8_t)value.tos,
		.spi = value.spi,
		.flow_label = value.flow_label,
		.bid = value.id,
	};
	if (ret->has_flow &&
	    sdf_parse((const char *)value.description.data, value.description.len, ret, &why) < 0)
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type, why);
	return 0;
}

// The list replaces the PDR's.
static int take_filters(struct decode *d, void *rule, const struct pfcp_ie *first)
{
	struct pdr_rule *pdr = rule;
	struct pfcp_cursor ies = d->ies;
	struct sdf filters[RULES_MAX_FILTERS];
	struct pfcp_ie ie;
	unsigned n = 0;

	while (decode_next(&ies, first->type, &ie)) {
		if (ie.len == 0 && d->update)
			continue;
		if (n == RULES_MAX_FILTERS)
			return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, ie.type,
					    "too many SDF filters in a PDR");
		if (read_filter(d, &ie, &filters[n]) < 0)
			return -EINVAL;
		n++;
	}
	if (rules_pdr_filters_set(pdr, filters, n) < 0)
		return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, first->type, "out of memory");
	return 0;
}

// An application that nothing detects whole would match less than the SMF thinks, so it is refused.
static int take_app(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	const struct pfd_table *pfds = d->env->pfds;
	struct pdr_rule *pdr = rule;
	uint16_t app = RULES_APP_NONE;

	if (ie->len > 0) {
		app = pfd_app_lookup(pfds, ie->data, ie->len);
		if (app == RULES_APP_NONE)
			return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type,
					    "no application with PFDs has this Application ID");
		if (!pfd_app_set(pfd_app_get(pfds, app))->detectable)
			return decode_fault(
				d, PFCP_CAUSE_RULE_FAILURE, ie->type,
				"the application is detected by more than flow descriptions");
	}
	pdr->pdi.app = app;
	return 0;
}

static int take_qfis(struct decode *d, void *rule, const struct pfcp_ie *first)
{
	struct pdr_rule *pdr = rule;
	struct pfcp_cursor ies = d->ies;
	struct pfcp_ie ie;
	uint64_t qfis = 0;
	uint8_t qfi;

	while (decode_next(&ies, first->type, &ie)) {
		if (ie.len == 0 && d->update)
			continue;
		if (decode_u8(d, &ie, &qfi) < 0)
			return -EINVAL;
		qfis |= 1ull << (qfi & 0x3f);
	}
	pdr->pdi.qfis = qfis;
	pdr->pdi.endpoint_qfis = false;
	return 0;
}

// What a traffic endpoint may give goes: first, what the PDR had of its own, later what another one gave.
static void endpoint_parts_clear(struct pdr_rule *pdr)
{
	pdr->tunnel = 0;
	pdr->pdi.has_fteid = false;
	pdr->pdi.fteid = (struct fteid){0};
	pdr->pdi.ni = RULES_NI_NONE;
	pdr->pdi.has_ue_ip = false;
	pdr->pdi.ue_ip = (struct ue_ip){0};
	rules_pdr_more_set(pdr, NULL, 0); // none: cannot fail
	if (pdr->pdi.endpoint_qfis)
		pdr->pdi.qfis = 0;
	pdr->pdi.endpoint_qfis = false;
}

static int take_endpoint(struct decode *d, void *rule, const struct pfcp_ie *first)
{
	struct pdr_rule *pdr = rule;
	struct pfcp_cursor ies = d->ies;
	struct pfcp_ie ie;
	unsigned n = 0;

	while (decode_next(&ies, first->type, &ie))
		n++;
	if (n > 1)
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, first->type,
				    "several traffic endpoints in one PDI");
	if (first->len > 0 || pdr->pdi.has_endpoint)
		endpoint_parts_clear(pdr);
	pdr->pdi.has_endpoint = first->len > 0;
	return first->len > 0 ? decode_u8(d, first, &pdr->pdi.endpoint) : 0;
}

// The source interface and its type go first: the F-TEID's interface follows from them. What would narrow
// the PDR and has no row is refused.
static const struct decode_row pdi_rows[] = {
	{PFCP_IE_SOURCE_INTERFACE, true, take_source},
	{PFCP_IE_3GPP_INTERFACE_TYPE, false, take_if_type},
	{PFCP_IE_TRAFFIC_ENDPOINT_ID, false, take_endpoint},
	{PFCP_IE_NETWORK_INSTANCE, false, take_ni},
	{PFCP_IE_F_TEID, false, take_fteid},
	{PFCP_IE_UE_IP_ADDRESS, false, decode_ue_ip},
	{PFCP_IE_FRAMED_ROUTE, false, decode_framed},
	{PFCP_IE_FRAMED_IPV6_ROUTE, false, decode_framed},
	{PFCP_IE_FRAMED_ROUTING, false, decode_framed_routing},
	{PFCP_IE_SDF_FILTER, false, take_filters},
	{PFCP_IE_APPLICATION_ID, false, take_app},
	{PFCP_IE_QFI, false, take_qfis},
};

// What may not stand beside a Traffic Endpoint ID (7.5.2.2), since the endpoint says it.
static const uint16_t endpoint_types[] = {
	PFCP_IE_F_TEID,
	PFCP_IE_NETWORK_INSTANCE,
	PFCP_IE_UE_IP_ADDRESS,
};

static int check_endpoint(struct decode *d, const struct pfcp_ie *pdi)
{
	struct pfcp_ie ie;

	for (size_t i = 0; i < DECODE_ROWS(endpoint_types); i++)
		if (pfcp_ie_find(pfcp_ie_members(pdi), endpoint_types[i], &ie) == 0 && ie.len > 0)
			return decode_fault(d, PFCP_CAUSE_MANDATORY_INCORRECT, ie.type,
					    "a PDI says what its traffic endpoint says");
	return 0;
}

static int take_pdi(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;

	d->if_type = -1;
	if (decode_group(d, rule, ie, pdi_rows, DECODE_ROWS(pdi_rows)) < 0)
		return -EINVAL;
	return pdr->pdi.has_endpoint ? check_endpoint(d, ie) : 0;
}

// A session has one RAT; it is for reports of usage by RAT, which are not offered.
static const struct decode_row endpoint_rows[] = {
	{PFCP_IE_3GPP_INTERFACE_TYPE, false, take_if_type},
	{PFCP_IE_NETWORK_INSTANCE, false, take_ni},
	{PFCP_IE_F_TEID, false, take_fteid},
	{PFCP_IE_UE_IP_ADDRESS, false, decode_ue_ip},
	{PFCP_IE_QFI, false, take_qfis},
	{PFCP_IE_RAT_TYPE, false, decode_nothing},
};

int decode_endpoint_pdi(struct decode *d, struct pdr_rule *pdr, const struct pfcp_ie *group)
{
	d->if_type = -1;
	return decode_group(d, pdr, group, endpoint_rows, DECODE_ROWS(endpoint_rows));
}

// --- PDR -------------------------------------------------------------------------------------------------

static int take_precedence(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;

	return decode_u32(d, ie, &pdr->precedence);
}

static int take_outer_header_removal(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;
	struct pfcp_outer_header_removal value;

	if (ie->len == 0) {
		pdr->outer_header_removal = -1;
		return 0;
	}
	if (pfcp_outer_header_removal_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	pdr->outer_header_removal = value.description;
	return 0;
}

static int take_far_id(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;

	pdr->has_far = ie->len > 0;
	return ie->len > 0 ? decode_u32(d, ie, &pdr->far) : 0;
}

static int take_qer_ids(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;

	return decode_ids(d, ie->type, pdr->qers, RULES_MAX_PDR_REFS, &pdr->n_qers);
}

static int take_urr_ids(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;

	return decode_ids(d, ie->type, pdr->urrs, RULES_MAX_PDR_REFS, &pdr->n_urrs);
}

static const struct decode_row pdr_rows[] = {
	{PFCP_IE_PRECEDENCE, true, take_precedence},
	{PFCP_IE_PDI, true, take_pdi},
	{PFCP_IE_UE_IP_ADDRESS_POOL_IDENTITY, false, decode_ue_pool},
	{PFCP_IE_OUTER_HEADER_REMOVAL, false, take_outer_header_removal},
	{PFCP_IE_FAR_ID, false, take_far_id},
	{PFCP_IE_QER_ID, false, take_qer_ids},
	{PFCP_IE_URR_ID, false, take_urr_ids},
	{PFCP_IE_DEACTIVATE_PREDEFINED_RULES, true, decode_predefined},
	{PFCP_IE_ACTIVATE_PREDEFINED_RULES, true, decode_predefined},
	{PFCP_IE_ACTIVATION_TIME, false, decode_activation},
	{PFCP_IE_DEACTIVATION_TIME, false, decode_deactivation},
	{PFCP_IE_RAT_TYPE, false,
	 decode_nothing}, // for reports of usage by RAT, which are not offered
};

int decode_pdr(struct decode *d, struct pdr_rule *pdr, const struct pfcp_ie *group)
{
	if (!d->update) {
		pdr->outer_header_removal = -1;
		pdr->pdi.ni = RULES_NI_NONE;
		pdr->pdi.ue_ip.pool = RULES_NI_NONE;
	}
	return decode_group(d, pdr, group, pdr_rows, DECODE_ROWS(pdr_rows));
}
