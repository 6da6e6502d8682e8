// QERs and URRs of a PDR: which state its packets have, by the places that the rules gave it (TS 29.244
// 5.2.1, 7.5.2.4, 7.5.2.5).
//
// Control thread. A rate itself is not compiled: it stands beside the state, so that sessions with other
// rates still share the block. Several QERs are all enforced; the first that has a QFI marks.

#include "rules/compile_policy.h"

#include <string.h>

#include "rules/compile.h"

// Adds a meter or usage to the PDR's: by its bit where it stands in the line, else to the list.
static void place_add(struct pdr *pdr, unsigned number, uint8_t line_bit, uint8_t list_bit,
		      uint8_t list[RULES_MAX_PDR_REFS])
{
	unsigned n = 0;

	if (line_bit) {
		pdr->policy |= line_bit;
		return;
	}
	while (list[n] != PDR_NO_PLACE)
		n++;
	list[n] = (uint8_t)number;
	pdr->policy |= list_bit;
}

static void qer_add(struct pdr *pdr, const struct qer_rule *qer)
{
	static const uint8_t line_bits[] = {PDR_POLICY_METER_0, PDR_POLICY_METER_1};

	if (qer->has_qfi && pdr->qfi == PKT_QFI_NONE)
		pdr->qfi = qer->qfi;
	// A rate of 0 lets nothing pass, like a closed gate.
	if (qer->gate_up != 0 || (qer->has_mbr && qer->mbr_up_bps == 0))
		pdr->flags |= PDR_F_GATE_UP;
	if (qer->gate_down != 0 || (qer->has_mbr && qer->mbr_down_bps == 0))
		pdr->flags |= PDR_F_GATE_DOWN;
	if (qer->rqi)
		pdr->flags |= PDR_F_RQI;
	if (qer->place)
		place_add(pdr, qer->place - 1u,
			  qer->place <= sizeof(line_bits) && !qer_has_packet_rate(qer)
				  ? line_bits[qer->place - 1]
				  : 0,
			  PDR_POLICY_METERS, pdr->meters);
}

unsigned compile_policy(const struct rules *rules, const struct pdr_rule *rule, struct pdr *pdr)
{
	unsigned needs = 0;

	memset(pdr->meters, PDR_NO_PLACE, sizeof(pdr->meters));
	memset(pdr->usages, PDR_NO_PLACE, sizeof(pdr->usages));
	pdr->qfi = PKT_QFI_NONE;
	for (unsigned i = 0; i < rule->n_qers; i++)
		qer_add(pdr, rules_qer_lookup(rules, rule->qers[i]));
	for (unsigned i = 0; i < rule->n_urrs; i++) {
		const struct urr_rule *urr = rules_urr_lookup(rules, rule->urrs[i]);

		if (urr_is_paused(urr))
			continue;
		if (urr_counts_drops(urr))
			pdr->flags |= PDR_F_DROPS;
		place_add(pdr, urr->place - 1u,
			  urr->place == 1 && urr_is_plain(urr) ? PDR_POLICY_USAGE_LINE : 0,
			  PDR_POLICY_USAGES, pdr->usages);
		if (urr_has_quota(urr) || urr->measurement_info & MEASURE_BEFORE)
			needs |= NEEDS_QUOTA;
	}
	if (pdr->flags & (PDR_F_GATE_UP | PDR_F_GATE_DOWN))
		needs |= NEEDS_GATE;
	if (pdr->policy & (PDR_POLICY_METER_0 | PDR_POLICY_METER_1 | PDR_POLICY_METERS))
		needs |= NEEDS_METER;
	if (pdr->policy & (PDR_POLICY_USAGE_LINE | PDR_POLICY_USAGES))
		needs |= NEEDS_USAGE;
	return needs;
}

uint8_t compile_families(const struct pdr_rule *rule)
{
	const struct ue_ip *ue = &rule->pdi.ue_ip;
	uint8_t families = 0;

	if (!rule->pdi.has_ue_ip)
		return PDR_V4 | PDR_V6;
	for (unsigned i = 0; i < rule->pdi.n_more; i++)
		families |= rule->pdi.more[i].addr.family == ADDR_V4 ? PDR_V4 : PDR_V6;
	for (unsigned i = 0; i < rule->pdi.n_framed; i++)
		families |= rule->pdi.framed[i].addr.family == ADDR_V4 ? PDR_V4 : PDR_V6;
	return (uint8_t)(families | (ue->has_v4 ? PDR_V4 : 0) | (ue->has_v6 ? PDR_V6 : 0));
}

unsigned compile_far_needs(const struct far *far)
{
	unsigned besides = (far->flags & FAR_F_COPY ? NEEDS_COPIES : 0u) |
			   (far->flags & FAR_F_REDIRECT ? NEEDS_REDIRECT : 0u);

	if (far->action & APPLY_BUFF)
		return NEEDS_BUFFER | besides;
	if (far->to == FAR_TO_ROUTE || far->to == FAR_TO_STEERED)
		return NEEDS_ROUTE | besides;
	return (far->to == FAR_TO_NOWHERE ? 0 : NEEDS_ENCAP) | besides;
}

bool compile_relays(const struct pdr_rule *rule, const struct far_rule *far)
{
	return rule->pdi.source == IF_ACCESS && !rule->pdi.has_ue_ip && far->has_parameters &&
	       (far->destination == IF_CP_FUNCTION || far->destination == IF_ACCESS);
}

// The delay of reports is the control thread's (pfcp/downlink.c).
void compile_buffering(const struct rules *rules, const struct far_rule *rule, struct far *far)
{
	const struct bar_rule *bar;

	if (!(rule->action & APPLY_BUFF) || !rule->has_bar)
		return;
	bar = rules_bar_lookup(rules, rule->bar);
	if (bar->has_suggested) {
		far->flags |= FAR_F_BUFFER_PACKETS;
		far->buffer_packets = bar->suggested_packets;
	}
	if (bar->has_duration) {
		far->flags |= FAR_F_BUFFER_TIME;
		far->buffer_s = bar->duration_s;
	}
}
