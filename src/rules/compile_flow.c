// The network instance whose flows a session's are, see compile_flow.h.
// Control thread.

#include "rules/compile_flow.h"

// Plain packets to or from a data network.
static bool is_plain(const struct rules *rules, const struct pdr_rule *rule, uint16_t *ret_ni)
{
	const struct far_rule *far = rules_far_lookup(rules, rule->far);

	if (rule->pdi.source != IF_ACCESS) {
		*ret_ni = rule->pdi.ni;
		return !rule->pdi.has_fteid;
	}
	*ret_ni = far->ni;
	return (far->action & APPLY_FORW) && far->ohc == 0;
}

// The first downlink PDR decides, or where there is none the first uplink PDR.
static bool flows_ni(const struct rules *rules, const struct pdr_rule *const order[],
		     unsigned n_pdrs, uint16_t *ret_ni)
{
	for (unsigned up = 0; up < 2; up++)
		for (unsigned i = 0; i < n_pdrs; i++) {
			bool is_up = order[i]->pdi.source == IF_ACCESS;

			if (is_up == up && is_plain(rules, order[i], ret_ni))
				return true;
		}
	return false;
}

uint8_t compile_flow(const struct rules *rules, const struct compile_conf *conf,
		     const struct pdr_rule *const order[], unsigned n_pdrs, bool redirects,
		     uint64_t *ret_services)
{
	uint16_t ni;

	*ret_services = 0;
	if (!flows_ni(rules, order, n_pdrs, &ni))
		return 0;
	if (ni == RULES_NI_NONE)
		ni = conf->default_ni;
	if (ni >= conf->n_nis)
		return 0;
	*ret_services = conf->nis[ni].services;
	return *ret_services || redirects ? (uint8_t)ni : 0;
}
