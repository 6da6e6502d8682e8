// The rules that hold now, see expand.h.
// Control thread. Works on a copy; sessions without times and predefined rules need none.

#include "rules/expand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREDEFINED_ID 0x80000000u // ids that the CP function does not give (TS 29.244 8.2.74)
#define DSCP_NONE 0xff

int predefined_lookup(const struct predefined_rule *list, unsigned n, const void *name, size_t len)
{
	for (unsigned i = 0; i < n; i++)
		if (strlen(list[i].name) == len && memcmp(list[i].name, name, len) == 0)
			return (int)i;
	return -1;
}

bool pdr_is_due(const struct pdr_rule *pdr, time_t now_s)
{
	return !(pdr->has_from && now_s < pdr->from_s) &&
	       !(pdr->has_until && now_s >= pdr->until_s);
}

bool rules_next_edge(const struct rules *rules, time_t now_s, time_t *ret_s)
{
	bool found = false;

	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pdr_rule *pdr = &rules->pdrs[i];
		const struct {
			bool has;
			time_t at_s;
		} edges[] = {{pdr->has_from, pdr->from_s}, {pdr->has_until, pdr->until_s}};

		for (unsigned k = 0; k < 2; k++) {
			if (!edges[k].has || edges[k].at_s <= now_s ||
			    (found && edges[k].at_s >= *ret_s))
				continue;
			found = true;
			*ret_s = edges[k].at_s;
		}
	}
	return found;
}

static bool is_special(const struct pdr_rule *pdr)
{
	return pdr->has_from || pdr->has_until || pdr->by_predefined;
}

struct expand {
	const struct predefined_rule *list;
	struct rules *rules; // what it becomes
	struct pfcp_fault *fault;
	bool has_far[PREDEFINED_MAX_RULES]; // a FAR of its own has been made for the rule
	uint32_t fars[PREDEFINED_MAX_RULES];
};

static int no_memory(struct expand *e)
{
	return fault_cause(e->fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
}

// The FAR that the predefined rule itself is.
static int far_of_rule(struct expand *e, unsigned place, uint32_t *ret_id)
{
	const struct predefined_rule *rule = &e->list[place];
	uint32_t id = PREDEFINED_ID;
	struct far_rule *far;

	if (!e->has_far[place]) {
		while (rules_far_lookup(e->rules, id))
			id++;
		far = rules_far_add(e->rules, id);
		if (!far)
			return no_memory(e);
		far->action = rule->action == PREDEFINED_DROP ? APPLY_DROP : APPLY_FORW;
		far->has_parameters = rule->action == PREDEFINED_FORWARD;
		far->destination = IF_CORE;
		far->ni = rule->ni;
		far->dscp = DSCP_NONE;
		e->has_far[place] = true;
		e->fars[place] = id;
	}
	*ret_id = e->fars[place];
	return 0;
}

// What happens to the packets of `pdr` that the rule describes.
static int take_action(struct expand *e, struct pdr_rule *pdr, unsigned place)
{
	enum predefined_action action = e->list[place].action;

	if (action == PREDEFINED_FAR || (action == PREDEFINED_FORWARD && pdr->has_far)) {
		if (pdr->has_far)
			return 0;
		return fault_rule(e->fault, PFCP_CAUSE_CONDITIONAL_MISSING, RULE_PDR, pdr->id,
				  RULE_IE_FAR_ID,
				  "PDR without FAR ID, and a predefined rule without an action");
	}
	if (action == PREDEFINED_FORWARD && pdr->pdi.source != IF_ACCESS)
		return fault_rule(
			e->fault, PFCP_CAUSE_CONDITIONAL_MISSING, RULE_PDR, pdr->id, RULE_IE_FAR_ID,
			"only from the access side does a predefined rule forward itself");
	pdr->has_far = true;
	return far_of_rule(e, place, &pdr->far);
}

// Adds a PDR like this one, with these filters. `place` -1: it acts as the PDR says.
static int derive(struct expand *e, const struct pdr_rule *from, const struct sdf *filters,
		  unsigned n_filters, int place)
{
	struct pdr_rule pdr = *from, *added;

	pdr.pdi.filters = NULL;
	pdr.pdi.n_filters = 0;
	pdr.pdi.more = pdr.pdi.framed = NULL;
	pdr.pdi.n_more = pdr.pdi.n_framed = 0;
	if (place >= 0 && take_action(e, &pdr, (unsigned)place) != 0)
		return -EINVAL;
	if (!pdr.has_far)
		return fault_rule(e->fault, PFCP_CAUSE_CONDITIONAL_MISSING, RULE_PDR, pdr.id,
				  RULE_IE_FAR_ID, "PDR with SDF filters of its own without FAR ID");
	if (e->rules->n_pdrs >= RULES_MAX_PDRS)
		return fault_rule(e->fault, PFCP_CAUSE_NO_RESOURCES, RULE_PDR, pdr.id,
				  RULE_IE_ACTIVATE_PREDEFINED_RULES,
				  "too many predefined rules in a session");
	added = rules_pdr_add(e->rules, pdr.id);
	if (!added)
		return no_memory(e);
	*added = pdr;
	if (rules_pdr_filters_set(added, filters, n_filters) != 0 ||
	    rules_pdr_prefixes_copy(added, from) != 0)
		return no_memory(e);
	return 0;
}

// The PDR's rules in the order in which they are tried.
static void order(const struct expand *e, const struct pdr_rule *pdr,
		  uint8_t ret[RULES_MAX_PREDEFINED])
{
	for (unsigned i = 0; i < pdr->n_predefined; i++) {
		uint8_t place = pdr->predefined[i];
		unsigned at = i;

		for (; at > 0; at--) {
			const struct predefined_rule *before = &e->list[ret[at - 1]];

			if (before->precedence < e->list[place].precedence ||
			    (before->precedence == e->list[place].precedence &&
			     ret[at - 1] < place))
				break;
			ret[at] = ret[at - 1];
		}
		ret[at] = place;
	}
}

static int pdr_expand(struct expand *e, const struct pdr_rule *pdr)
{
	uint8_t places[RULES_MAX_PREDEFINED];

	if (pdr->pdi.n_filters > 0 && derive(e, pdr, pdr->pdi.filters, pdr->pdi.n_filters, -1) != 0)
		return -EINVAL;
	order(e, pdr, places);
	for (unsigned i = 0; i < pdr->n_predefined; i++) {
		const struct predefined_rule *rule = &e->list[places[i]];

		if (derive(e, pdr, rule->filters, rule->n_filters, places[i]) != 0)
			return -EINVAL;
	}
	return 0;
}

// PDRs that stand for others stay too, asleep: the UE's addresses that they name are the session's.
static int expand(struct expand *e, const struct rules *rules, time_t now_s)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pdr_rule *pdr = &rules->pdrs[i];

		e->rules->pdrs[i].asleep = pdr->by_predefined || !pdr_is_due(pdr, now_s);
		if (pdr->by_predefined && pdr_is_due(pdr, now_s) && pdr_expand(e, pdr) != 0)
			return -EINVAL;
	}
	return 0;
}

int rules_expand(const struct rules *rules, const struct predefined_rule *list, time_t now_s,
		 struct rules **ret, struct pfcp_fault *fault)
{
	struct expand e = {.list = list, .fault = fault};
	bool special = false;

	for (unsigned i = 0; i < rules->n_pdrs; i++)
		special |= is_special(&rules->pdrs[i]);
	*ret = NULL;
	if (!special)
		return 0;
	e.rules = rules_clone(rules);
	if (!e.rules)
		return no_memory(&e);
	if (expand(&e, rules, now_s) != 0) {
		rules_free(e.rules);
		return -EINVAL;
	}
	*ret = e.rules;
	return 0;
}
