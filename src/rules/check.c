// The checks of a session's rules as a whole, see check.h.
// Control thread. Each fault names the rule that failed and the IE that is missing or wrong in it.

#include "rules/check.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

// What may stand as Source Interface and Destination Interface: 0 or the cause of the refusal. Larger values
// are unknown (TS 29.244 8.2.2, 8.2.24).
struct interface_row {
	uint8_t source_cause, destination_cause;
	bool needs_tunnel; // can be reached only in a tunnel, and packets from it come in one of GTP-U
	bool for_copies; // duplicates go there, though a FAR does not forward there
};

static const struct interface_row interface_rows[] = {
	[IF_ACCESS] = {0, 0, true, false},
	[IF_CORE] = {0, 0, false, false},
	[IF_SGI_LAN] = {0, 0, false, false},
	[IF_CP_FUNCTION] = {0, 0, true, false},
	[IF_LI_FUNCTION] = {PFCP_CAUSE_MANDATORY_INCORRECT, PFCP_CAUSE_NOT_SUPPORTED, true, true},
	[IF_5G_VN_INTERNAL] = {PFCP_CAUSE_NOT_SUPPORTED, PFCP_CAUSE_NOT_SUPPORTED, false, false},
};

static const struct interface_row *interface_row_lookup(uint8_t value)
{
	return value < ROWS(interface_rows) ? &interface_rows[value] : NULL;
}

// What each Apply Action bit goes with (TS 29.244 8.2.26): exactly one that leads, and the others only
// with theirs.
struct action_row {
	uint8_t bit;
	uint8_t with; // 0: it leads
	bool supported;
};

static const struct action_row action_rows[] = {
	{APPLY_DROP, 0, true},
	{APPLY_FORW, 0, true},
	{APPLY_BUFF, 0, true},
	{APPLY_IPMA, 0, false},
	{APPLY_IPMD, 0, false},
	{APPLY_NOCP, APPLY_BUFF, true},
	{APPLY_DUPL, APPLY_DROP | APPLY_FORW | APPLY_BUFF, true},
	{APPLY_DFRT, APPLY_FORW, false},
};

// Outer Header Removal Description values (TS 29.244 8.2.64), and whether user packets in such a header
// can be received: 0 and 1 are GTP-U over IPv4 and IPv6, 6 over either.
#define OHR_GTPU_V4 0
#define OHR_GTPU_V6 1
#define OHR_GTPU_ANY 6
#define OHR_LAST 8

struct check {
	const struct rules *rules;
	const struct rules_limits *limits;
	struct pfcp_fault *fault;
};

static int pdr_fault(const struct check *c, const struct pdr_rule *pdr, enum pfcp_cause cause,
		     enum rule_ie ie, const char *text)
{
	return fault_rule(c->fault, cause, RULE_PDR, pdr->id, (uint16_t)ie, text);
}

static int far_fault(const struct check *c, const struct far_rule *far, enum pfcp_cause cause,
		     enum rule_ie ie, const char *text)
{
	return fault_rule(c->fault, cause, RULE_FAR, far->id, (uint16_t)ie, text);
}

static int urr_fault(const struct check *c, const struct urr_rule *urr, enum pfcp_cause cause,
		     enum rule_ie ie, const char *text)
{
	return fault_rule(c->fault, cause, RULE_URR, urr->id, (uint16_t)ie, text);
}

static int check_counts(const struct check *c)
{
	const struct rules *r = c->rules;
	unsigned limit = c->limits->pdrs < RULES_MAX_PDRS ? c->limits->pdrs : RULES_MAX_PDRS;
	unsigned places = limit < RULES_MAX_PLACES ? limit : RULES_MAX_PLACES;

	if (r->n_pdrs == 0)
		return fault_ie(c->fault, PFCP_CAUSE_MANDATORY_MISSING, RULE_IE_CREATE_PDR,
				"a session without PDRs");
	if (r->n_pdrs > limit) // the first that is beyond stands for all
		return pdr_fault(c, &r->pdrs[limit], PFCP_CAUSE_NO_RESOURCES, RULE_IE_CREATE_PDR,
				 "too many PDRs in a session");
	if (r->n_fars > limit || r->n_bars > limit || r->n_qers > places || r->n_urrs > places ||
	    r->n_endpoints > limit)
		return fault_cause(c->fault, PFCP_CAUSE_NO_RESOURCES,
				   "too many rules in a session");
	return 0;
}

// The PDR's FAR, QERs and URRs exist.
static int check_pdr_references(const struct check *c, const struct pdr_rule *pdr)
{
	// A predefined rule may be its own FAR; whether it is, is seen when it is expanded.
	if (!pdr->has_far && !pdr->by_predefined)
		return pdr_fault(c, pdr, PFCP_CAUSE_CONDITIONAL_MISSING, RULE_IE_FAR_ID,
				 "PDR without FAR ID");
	if (pdr->has_far && rules_far_lookup(c->rules, pdr->far) == NULL)
		return pdr_fault(c, pdr, PFCP_CAUSE_RULE_FAILURE, RULE_IE_FAR_ID,
				 "PDR names a FAR that does not exist");
	for (unsigned i = 0; i < pdr->n_qers; i++) {
		if (rules_qer_lookup(c->rules, pdr->qers[i]) == NULL)
			return pdr_fault(c, pdr, PFCP_CAUSE_RULE_FAILURE, RULE_IE_QER_ID,
					 "PDR names a QER that does not exist");
	}
	for (unsigned i = 0; i < pdr->n_urrs; i++) {
		if (rules_urr_lookup(c->rules, pdr->urrs[i]) == NULL)
			return pdr_fault(c, pdr, PFCP_CAUSE_RULE_FAILURE, RULE_IE_URR_ID,
					 "PDR names a URR that does not exist");
	}
	return 0;
}

static int check_outer_header_removal(const struct check *c, const struct pdr_rule *pdr)
{
	int16_t value = pdr->outer_header_removal;
	const struct far_rule *far = pdr->has_far ? rules_far_lookup(c->rules, pdr->far) : NULL;

	if (value > OHR_LAST)
		return pdr_fault(c, pdr, PFCP_CAUSE_MANDATORY_INCORRECT,
				 RULE_IE_OUTER_HEADER_REMOVAL, "unknown outer header to remove");
	if (value >= 0 && value != OHR_GTPU_V4 && value != OHR_GTPU_V6 && value != OHR_GTPU_ANY)
		return pdr_fault(c, pdr, PFCP_CAUSE_NOT_SUPPORTED, RULE_IE_OUTER_HEADER_REMOVAL,
				 "only GTP-U headers are removed");
	// Without it the tunnel header would have to be forwarded, which nothing behind it understands.
	if (value < 0 && pdr->pdi.has_fteid && !(far && far->action & APPLY_DROP))
		return pdr_fault(c, pdr, PFCP_CAUSE_CONDITIONAL_MISSING,
				 RULE_IE_OUTER_HEADER_REMOVAL,
				 "PDR with F-TEID without Outer Header Removal");
	return 0;
}

// Where the PDR's packets come from.
static int check_pdi(const struct check *c, const struct pdr_rule *pdr)
{
	const struct pdi *pdi = &pdr->pdi;
	const struct interface_row *row = interface_row_lookup(pdi->source);

	if (row == NULL)
		return pdr_fault(c, pdr, PFCP_CAUSE_MANDATORY_INCORRECT, RULE_IE_SOURCE_INTERFACE,
				 "unknown source interface");
	if (row->source_cause != 0)
		return pdr_fault(c, pdr, row->source_cause, RULE_IE_SOURCE_INTERFACE,
				 "source interface that is not served");
	if (row->needs_tunnel && !pdi->has_fteid)
		return pdr_fault(c, pdr, PFCP_CAUSE_CONDITIONAL_MISSING, RULE_IE_FTEID,
				 "PDR from this source interface without F-TEID");
	if (pdi->has_fteid && !pdi->fteid.has_v4 && !pdi->fteid.has_v6)
		return pdr_fault(c, pdr, PFCP_CAUSE_RULE_FAILURE, RULE_IE_FTEID,
				 "F-TEID without an address");
	if (pdi->has_fteid && !pdi->fteid.choose && pdi->fteid.teid == 0)
		return pdr_fault(c, pdr, PFCP_CAUSE_MANDATORY_INCORRECT, RULE_IE_FTEID,
				 "F-TEID with TEID 0");
	return 0;
}

static bool is_host(const struct addr *addr)
{
	return !addr_is_unspecified(addr) && !addr_is_multicast(addr);
}

static int check_ue_ip(const struct check *c, const struct pdr_rule *pdr)
{
	const struct ue_ip *ue = &pdr->pdi.ue_ip;
	struct addr v4 = addr_v4(ue->v4.s_addr);
	struct addr v6 = addr_v6(ue->v6.s6_addr);

	if (!pdr->pdi.has_ue_ip)
		return 0;
	if (!ue->has_v4 && !ue->has_v6)
		return pdr_fault(c, pdr, PFCP_CAUSE_MANDATORY_INCORRECT, RULE_IE_UE_IP_ADDRESS,
				 "UE IP Address without an address");
	if ((ue->has_v4 && !is_host(&v4)) ||
	    (ue->has_v6 && (!is_host(&v6) || addr_is_link_local(&v6) || ue->v6_prefix > 128)))
		return pdr_fault(c, pdr, PFCP_CAUSE_MANDATORY_INCORRECT, RULE_IE_UE_IP_ADDRESS,
				 "UE IP Address that no UE can have");
	if (ue->has_v6 && ue->v6_prefix == 0)
		return pdr_fault(c, pdr, PFCP_CAUSE_MANDATORY_INCORRECT, RULE_IE_UE_IP_ADDRESS,
				 "IPv6 prefix of a UE of no length");
	for (unsigned i = 0; i < pdr->pdi.n_more; i++) {
		const struct prefix *more = &pdr->pdi.more[i];

		if (!is_host(&more->addr) || addr_is_link_local(&more->addr) || more->len == 0)
			return pdr_fault(c, pdr, PFCP_CAUSE_MANDATORY_INCORRECT,
					 RULE_IE_UE_IP_ADDRESS,
					 "UE IP Address that no UE can have");
	}
	return 0;
}

static int check_filters(const struct check *c, const struct pdr_rule *pdr)
{
	if (pdr->pdi.n_filters > c->limits->filters || pdr->pdi.n_filters > RULES_MAX_FILTERS)
		return pdr_fault(c, pdr, PFCP_CAUSE_NO_RESOURCES, RULE_IE_SDF_FILTER,
				 "too many SDF filters in a PDR");
	for (unsigned i = 0; i < pdr->pdi.n_filters; i++) {
		const struct sdf *sdf = &pdr->pdi.filters[i];

		if (!sdf->has_flow && !sdf->has_tos && !sdf->has_spi && !sdf->has_flow_label &&
		    !sdf->has_bid)
			return pdr_fault(c, pdr, PFCP_CAUSE_MANDATORY_INCORRECT, RULE_IE_SDF_FILTER,
					 "SDF filter that says nothing");
		if (rules_filter_resolve(c->rules, sdf) == NULL)
			return pdr_fault(c, pdr, PFCP_CAUSE_RULE_FAILURE, RULE_IE_SDF_FILTER,
					 "SDF filter ID that no filter of the session has");
	}
	return 0;
}

static int check_times(const struct check *c, const struct pdr_rule *pdr)
{
	if (pdr->has_from && pdr->has_until && pdr->until_s <= pdr->from_s)
		return pdr_fault(c, pdr, PFCP_CAUSE_MANDATORY_INCORRECT, RULE_IE_DEACTIVATION_TIME,
				 "PDR that is deactivated before it is activated");
	return 0;
}

static int check_pdr(const struct check *c, const struct pdr_rule *pdr)
{
	if (check_pdi(c, pdr) != 0 || check_pdr_references(c, pdr) != 0 ||
	    check_outer_header_removal(c, pdr) != 0 || check_ue_ip(c, pdr) != 0 ||
	    check_times(c, pdr) != 0)
		return -EINVAL;
	return check_filters(c, pdr);
}

static int check_action(const struct check *c, const struct far_rule *far)
{
	unsigned leading = 0;

	for (unsigned i = 0; i < ROWS(action_rows); i++) {
		const struct action_row *row = &action_rows[i];

		if (far->action & row->bit)
			leading += row->with == 0;
	}
	if (leading != 1)
		return far_fault(c, far, PFCP_CAUSE_MANDATORY_INCORRECT, RULE_IE_APPLY_ACTION,
				 "Apply Action is not exactly one of DROP, FORW, BUFF, IPMA, IPMD");
	for (unsigned i = 0; i < ROWS(action_rows); i++) {
		const struct action_row *row = &action_rows[i];

		if (!(far->action & row->bit))
			continue;
		if (row->with != 0 && !(far->action & row->with))
			return far_fault(c, far, PFCP_CAUSE_MANDATORY_INCORRECT,
					 RULE_IE_APPLY_ACTION,
					 "Apply Action bits that exclude each other");
		if (!row->supported)
			return far_fault(c, far, PFCP_CAUSE_NOT_SUPPORTED, RULE_IE_APPLY_ACTION,
					 "Apply Action that is not supported");
	}
	return 0;
}

static int check_outer_header_creation(const struct check *c, const struct far_rule *far)
{
	const uint8_t gtpu = OHC_GTPU_UDP_V4 | OHC_GTPU_UDP_V6, udp = OHC_UDP_V4 | OHC_UDP_V6;
	const uint8_t in_v4 = OHC_GTPU_UDP_V4 | OHC_UDP_V4, in_v6 = OHC_GTPU_UDP_V6 | OHC_UDP_V6;
	struct addr v4 = addr_v4(far->v4.s_addr);
	struct addr v6 = addr_v6(far->v6.s6_addr);

	if (far->ohc & gtpu && far->ohc & udp)
		return far_fault(c, far, PFCP_CAUSE_MANDATORY_INCORRECT,
				 RULE_IE_OUTER_HEADER_CREATION,
				 "two kinds of outer header at once");
	if (!(far->action & APPLY_FORW)) // it may keep what an SMF without a tunnel writes there
		return 0;
	if ((far->ohc & in_v4 && !is_host(&v4)) || (far->ohc & in_v6 && !is_host(&v6)))
		return far_fault(c, far, PFCP_CAUSE_MANDATORY_INCORRECT,
				 RULE_IE_OUTER_HEADER_CREATION,
				 "tunnel to an address that no host has");
	if (far->ohc & udp && (far->destination == IF_ACCESS || far->destination == IF_CP_FUNCTION))
		return far_fault(
			c, far, PFCP_CAUSE_NOT_SUPPORTED, RULE_IE_OUTER_HEADER_CREATION,
			"outer headers without GTP-U are not created towards this interface");
	if (far->ohc & udp && far->port == 0)
		return far_fault(c, far, PFCP_CAUSE_MANDATORY_INCORRECT,
				 RULE_IE_OUTER_HEADER_CREATION, "UDP tunnel to port 0");
	return 0;
}

static int check_destination(const struct check *c, const struct far_rule *far, bool copy)
{
	const struct interface_row *row = interface_row_lookup(far->destination);

	if (row == NULL)
		return far_fault(c, far, PFCP_CAUSE_MANDATORY_INCORRECT,
				 RULE_IE_DESTINATION_INTERFACE, "unknown destination interface");
	if (row->destination_cause != 0 && !(copy && row->for_copies))
		return far_fault(c, far, row->destination_cause, RULE_IE_DESTINATION_INTERFACE,
				 "destination interface that is not served");
	if (far_redirects(far) && (far->ohc || far->destination == IF_ACCESS))
		return far_fault(c, far, PFCP_CAUSE_RULE_FAILURE, RULE_IE_REDIRECT_INFORMATION,
				 "only plain packets towards a data network are redirected");
	if (far->policy && far->ohc)
		return far_fault(c, far, PFCP_CAUSE_RULE_FAILURE, RULE_IE_FORWARDING_POLICY,
				 "a forwarding policy is for packets without an outer header");
	if ((row->needs_tunnel || (copy && !far->policy)) && (far->action & APPLY_FORW) &&
	    far->ohc == 0)
		return far_fault(c, far, PFCP_CAUSE_CONDITIONAL_MISSING,
				 RULE_IE_OUTER_HEADER_CREATION,
				 "packets cannot go there without Outer Header Creation");
	return check_outer_header_creation(c, far);
}

static int check_parameters(const struct check *c, const struct far_rule *far)
{
	if (far->has_parameters)
		return check_destination(c, far, false);
	if (far->action & APPLY_FORW)
		return far_fault(c, far, PFCP_CAUSE_CONDITIONAL_MISSING,
				 RULE_IE_FORWARDING_PARAMETERS,
				 "FORW without Forwarding Parameters");
	return 0;
}

static int check_copies(const struct check *c, const struct far_rule *far)
{
	if (far->action & APPLY_DUPL && far->n_copies == 0)
		return far_fault(c, far, PFCP_CAUSE_CONDITIONAL_MISSING,
				 RULE_IE_DUPLICATING_PARAMETERS,
				 "DUPL without Duplicating Parameters");
	for (unsigned i = 0; i < far->n_copies; i++) {
		if (check_destination(c, &far->copies[i], true) != 0)
			return -EINVAL;
	}
	return 0;
}

static int check_far(const struct check *c, const struct far_rule *far)
{
	if (check_action(c, far) != 0 || check_parameters(c, far) != 0 || check_copies(c, far) != 0)
		return -EINVAL;
	if (far->has_bar && rules_bar_lookup(c->rules, far->bar) == NULL)
		return far_fault(c, far, PFCP_CAUSE_RULE_FAILURE, RULE_IE_BAR_ID,
				 "FAR names a BAR that does not exist");
	if (far->has_endpoint && rules_endpoint_lookup(c->rules, far->endpoint) == NULL)
		return far_fault(c, far, PFCP_CAUSE_RULE_FAILURE, RULE_IE_TRAFFIC_ENDPOINT_ID,
				 "FAR is linked to a traffic endpoint that does not exist");
	return 0;
}

// Triggers whose companion is missing (TS 29.244 7.5.2.4).
static int check_triggers(const struct check *c, const struct urr_rule *urr)
{
	const struct {
		uint32_t trigger;
		bool given;
		enum rule_ie ie;
	} rows[] = {
		{TRIGGER_PERIO, urr->period_s != 0, RULE_IE_MEASUREMENT_PERIOD},
		{TRIGGER_VOLTH, urr->threshold.flags != 0, RULE_IE_VOLUME_THRESHOLD},
		{TRIGGER_TIMTH, urr->time_threshold_s != 0, RULE_IE_TIME_THRESHOLD},
		{TRIGGER_DROTH, urr->drops.flags != 0, RULE_IE_DROPPED_DL_TRAFFIC_THRESHOLD},
		{TRIGGER_QUHTI, urr->quota_holding_s != 0, RULE_IE_QUOTA_HOLDING_TIME},
		{TRIGGER_LIUSA, urr->n_linked != 0, RULE_IE_LINKED_URR_ID},
		{TRIGGER_EVETH, urr->event_threshold != 0, RULE_IE_EVENT_THRESHOLD},
	};

	for (unsigned i = 0; i < ROWS(rows); i++) {
		if ((urr->triggers & rows[i].trigger) && !rows[i].given)
			return urr_fault(c, urr, PFCP_CAUSE_CONDITIONAL_MISSING, rows[i].ie,
					 "reporting trigger without the value that it needs");
	}
	return 0;
}

// A rate that is guaranteed is within the largest one (TS 23.501 5.7.2.5).
static int check_qer(const struct check *c, const struct qer_rule *qer)
{
	if (qer->has_gbr && qer->has_mbr &&
	    (qer->gbr_up_bps > qer->mbr_up_bps || qer->gbr_down_bps > qer->mbr_down_bps))
		return fault_rule(c->fault, PFCP_CAUSE_RULE_FAILURE, RULE_QER, qer->id, RULE_IE_GBR,
				  "guaranteed bit rate above the maximum");
	return 0;
}

// What no report would ever come of is not promised: envelopes, MAC addresses, IP multicast, Ethernet and MBS. Spare
// bits say nothing.
#define TRIGGERS_NOT_SERVED 0x034c00

// Each event is told with its time, and a report holds so many.
static bool events_fit(uint32_t threshold, uint32_t quota)
{
	return threshold <= RULES_MAX_EVENTS && (quota <= RULES_MAX_EVENTS || threshold);
}

static int check_next(const struct check *c, const struct urr_next *next)
{
	const struct urr_rule *urr = rules_urr_lookup(c->rules, next->urr);

	if (next->at == 0)
		return urr_fault(c, urr, PFCP_CAUSE_CONDITIONAL_MISSING, RULE_IE_MONITORING_TIME,
				 "subsequent threshold or quota without a monitoring time");
	if (!events_fit(next->event_threshold ? next->event_threshold : urr->event_threshold,
			next->event_quota))
		return urr_fault(c, urr, PFCP_CAUSE_NO_RESOURCES, RULE_IE_EVENT_THRESHOLD,
				 "more events than one report tells of");
	return 0;
}

static int check_urr(const struct check *c, const struct urr_rule *urr)
{
	if (urr->triggers & TRIGGERS_NOT_SERVED)
		return urr_fault(c, urr, PFCP_CAUSE_RULE_FAILURE, RULE_IE_REPORTING_TRIGGERS,
				 "reporting trigger that is not served");
	for (unsigned i = 0; i < urr->n_linked; i++) {
		if (rules_urr_lookup(c->rules, urr->linked[i]) == NULL)
			return urr_fault(c, urr, PFCP_CAUSE_RULE_FAILURE, RULE_IE_LINKED_URR_ID,
					 "URR is linked to one that does not exist");
	}
	if (urr->has_quota_far && rules_far_lookup(c->rules, urr->quota_far) == NULL)
		return urr_fault(c, urr, PFCP_CAUSE_RULE_FAILURE, RULE_IE_FAR_ID,
				 "URR names a FAR for quota action that does not exist");
	if (!events_fit(urr->event_threshold, urr->event_quota))
		return urr_fault(c, urr, PFCP_CAUSE_NO_RESOURCES, RULE_IE_EVENT_THRESHOLD,
				 "more events than one report tells of");
	return check_triggers(c, urr);
}

// Every packet that a PDR is for must lead to the session: by a TEID, or by an address of the UE or behind it,
// which may stand in another PDR (added QoS flows have only filters).
static int check_locators(const struct check *c)
{
	const struct pdr_rule *lost = NULL;

	for (unsigned i = 0; i < c->rules->n_pdrs; i++) {
		const struct pdr_rule *pdr = &c->rules->pdrs[i];

		if (pdr->pdi.has_ue_ip || pdr->pdi.n_framed)
			return 0;
		if (!pdr->pdi.has_fteid && lost == NULL)
			lost = pdr;
	}
	if (lost == NULL)
		return 0;
	return pdr_fault(c, lost, PFCP_CAUSE_CONDITIONAL_MISSING, RULE_IE_UE_IP_ADDRESS,
			 "PDR without F-TEID in a session without UE IP Address");
}

int rules_check(const struct rules *rules, const struct rules_limits *limits,
		struct pfcp_fault *fault)
{
	const struct check c = {rules, limits, fault};

	if (check_counts(&c) != 0)
		return -EINVAL;
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		if (check_pdr(&c, &rules->pdrs[i]) != 0)
			return -EINVAL;
	}
	for (unsigned i = 0; i < rules->n_fars; i++) {
		if (check_far(&c, &rules->fars[i]) != 0)
			return -EINVAL;
	}
	for (unsigned i = 0; i < rules->n_qers; i++) {
		if (check_qer(&c, &rules->qers[i]) != 0)
			return -EINVAL;
	}
	for (unsigned i = 0; i < rules->n_urrs; i++) {
		if (check_urr(&c, &rules->urrs[i]) != 0)
			return -EINVAL;
	}
	for (unsigned i = 0; i < rules->n_nexts; i++) {
		if (check_next(&c, &rules->nexts[i]) != 0)
			return -EINVAL;
	}
	return check_locators(&c);
}
