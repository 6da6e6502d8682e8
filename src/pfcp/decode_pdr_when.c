// When a PDR takes packets, and by which predefined rules (TS 29.244 5.19, 7.5.2.2), see decode.h.
//
// Control thread. Rows of decode_pdr.c's table.

#include <errno.h>

#include "base/clock.h"
#include "pfcp/decode.h"
#include "rules/expand.h"

static int take_time(struct decode *d, const struct pfcp_ie *ie, bool *ret_has, time_t *ret_s)
{
	uint32_t ntp_s = 0;

	*ret_has = ie->len > 0;
	if (ie->len > 0 && decode_u32(d, ie, &ntp_s) < 0)
		return -EINVAL;
	*ret_s = clock_wall_from_ntp(ntp_s);
	return 0;
}

int decode_activation(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;

	return take_time(d, ie, &pdr->has_from, &pdr->from_s);
}

int decode_deactivation(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;

	return take_time(d, ie, &pdr->has_until, &pdr->until_s);
}

// Where the predefined rule stands among the PDR's, its number of rules if it does not.
static unsigned predefined_at(const struct pdr_rule *pdr, int place)
{
	unsigned i = 0;

	while (i < pdr->n_predefined && pdr->predefined[i] != place)
		i++;
	return i;
}

static int predefined_change(struct decode *d, struct pdr_rule *pdr, const struct pfcp_ie *ie)
{
	int place = predefined_lookup(d->env->predefined, d->env->n_predefined, ie->data, ie->len);
	unsigned at;

	if (place < 0)
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type,
				    "predefined rule that is not configured");
	at = predefined_at(pdr, place);
	if (ie->type == PFCP_IE_DEACTIVATE_PREDEFINED_RULES) {
		if (at == pdr->n_predefined)
			return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type,
					    "predefined rule that the PDR has not activated");
		pdr->predefined[at] = pdr->predefined[--pdr->n_predefined];
		return 0;
	}
	pdr->by_predefined = true;
	if (at < pdr->n_predefined)
		return 0;
	if (at == RULES_MAX_PREDEFINED)
		return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, ie->type,
				    "too many predefined rules in a PDR");
	pdr->predefined[pdr->n_predefined++] = (uint8_t)place;
	return 0;
}

// Both for activation and deactivation; an IE names one rule.
int decode_predefined(struct decode *d, void *rule, const struct pfcp_ie *first)
{
	struct pfcp_cursor ies = d->ies;
	struct pfcp_ie ie;

	while (decode_next(&ies, first->type, &ie))
		if (predefined_change(d, rule, &ie) < 0)
			return -EINVAL;
	return 0;
}
