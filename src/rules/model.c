// The rules of a session: their arrays, copies and lookups, see model.h.
// Control thread. Arrays are reallocated at each addition: they are short, and additions are rare.

#include "rules/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rules *rules_new(void)
{
	return calloc(1, sizeof(struct rules));
}

static void pdr_fini(struct pdr_rule *pdr)
{
	free(pdr->pdi.filters);
	free(pdr->pdi.more);
	free(pdr->pdi.framed);
}

void rules_free(struct rules *rules)
{
	if (rules == NULL)
		return;
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		pdr_fini(&rules->pdrs[i]);
	for (unsigned i = 0; i < rules->n_fars; i++)
		free(rules->fars[i].copies);
	free(rules->pdrs);
	free(rules->fars);
	free(rules->qers);
	free(rules->urrs);
	free(rules->nexts);
	free(rules->bars);
	free(rules->endpoints);
	free(rules->tunnels);
	free(rules->picked);
	free(rules);
}

// A copy of n items in *ret_copy, NULL for none. False without memory.
static bool array_copy(const void *items, size_t n, size_t size, void *ret_copy)
{
	void *copy = NULL;

	if (n > 0) {
		copy = malloc(n * size);
		if (copy == NULL)
			return false;
		memcpy(copy, items, n * size);
	}
	memcpy(ret_copy, &copy, sizeof(copy));
	return true;
}

// The PDRs with filters and routes of their own. n_pdrs follows what was copied, so that a copy that failed half way
// can be freed.
static bool pdrs_copy(const struct rules *rules, struct rules *copy)
{
	if (!array_copy(rules->pdrs, rules->n_pdrs, sizeof(*rules->pdrs), &copy->pdrs))
		return false;
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pdi *pdi = &rules->pdrs[i].pdi;

		struct pdi *to = &copy->pdrs[i].pdi;

		to->filters = NULL;
		to->more = to->framed = NULL;
		copy->n_pdrs++;
		if (!array_copy(pdi->filters, pdi->n_filters, sizeof(*pdi->filters),
				&to->filters) ||
		    !array_copy(pdi->more, pdi->n_more, sizeof(*pdi->more), &to->more) ||
		    !array_copy(pdi->framed, pdi->n_framed, sizeof(*pdi->framed), &to->framed))
			return false;
	}
	return true;
}

// The same of FARs with their duplicating destinations.
static bool fars_copy(const struct rules *rules, struct rules *copy)
{
	if (!array_copy(rules->fars, rules->n_fars, sizeof(*rules->fars), &copy->fars))
		return false;
	for (unsigned i = 0; i < rules->n_fars; i++) {
		const struct far_rule *far = &rules->fars[i];

		copy->fars[i].copies = NULL;
		copy->n_fars++;
		if (!array_copy(far->copies, far->n_copies, sizeof(*far->copies),
				&copy->fars[i].copies))
			return false;
	}
	return true;
}

struct rules *rules_clone(const struct rules *rules)
{
	struct rules *copy = rules_new();

	if (copy == NULL)
		return NULL;
	if (!pdrs_copy(rules, copy) || !fars_copy(rules, copy) ||
	    !array_copy(rules->qers, rules->n_qers, sizeof(*rules->qers), &copy->qers) ||
	    !array_copy(rules->urrs, rules->n_urrs, sizeof(*rules->urrs), &copy->urrs) ||
	    !array_copy(rules->nexts, rules->n_nexts, sizeof(*rules->nexts), &copy->nexts) ||
	    !array_copy(rules->bars, rules->n_bars, sizeof(*rules->bars), &copy->bars) ||
	    !array_copy(rules->endpoints, rules->n_endpoints, sizeof(*rules->endpoints),
			&copy->endpoints) ||
	    !array_copy(rules->tunnels, rules->n_tunnels, sizeof(*rules->tunnels),
			&copy->tunnels) ||
	    !array_copy(rules->picked, rules->n_picked, sizeof(*rules->picked), &copy->picked)) {
		rules_free(copy);
		return NULL;
	}
	copy->n_qers = rules->n_qers;
	copy->n_urrs = rules->n_urrs;
	copy->n_nexts = rules->n_nexts;
	copy->last_serial = rules->last_serial;
	copy->n_bars = rules->n_bars;
	copy->n_endpoints = rules->n_endpoints;
	copy->n_tunnels = rules->n_tunnels;
	copy->n_picked = rules->n_picked;
	copy->inactivity_s = rules->inactivity_s;
	return copy;
}

// The kinds of rules differ in nothing but their struct and the width of their id:
// rules_<kind>_lookup(), rules_<kind>_add() and the taking out of one item.
#define RULES_OF_KIND(kind, id_type)                                                               \
	struct kind##_rule *rules_##kind##_lookup(const struct rules *rules, id_type id)           \
	{                                                                                          \
		for (unsigned i = 0; i < rules->n_##kind##s; i++) {                                \
			if (rules->kind##s[i].id == id)                                            \
				return &rules->kind##s[i];                                         \
		}                                                                                  \
		return NULL;                                                                       \
	}                                                                                          \
                                                                                                   \
	struct kind##_rule *rules_##kind##_add(struct rules *rules, id_type id)                    \
	{                                                                                          \
		unsigned n = rules->n_##kind##s;                                                   \
		struct kind##_rule *grown;                                                         \
                                                                                                   \
		if (n == UINT16_MAX)                                                               \
			return NULL;                                                               \
		grown = reallocarray(rules->kind##s, n + 1, sizeof(*grown));                       \
		if (grown == NULL)                                                                 \
			return NULL;                                                               \
		rules->kind##s = grown;                                                            \
		rules->n_##kind##s = (uint16_t)(n + 1);                                            \
		memset(&grown[n], 0, sizeof(grown[n]));                                            \
		grown[n].id = id;                                                                  \
		return &grown[n];                                                                  \
	}                                                                                          \
                                                                                                   \
	static int kind##_take_out(struct rules *rules, struct kind##_rule *rule)                  \
	{                                                                                          \
		struct kind##_rule *end = rules->kind##s + rules->n_##kind##s;                     \
                                                                                                   \
		if (rule == NULL)                                                                  \
			return -ENOENT;                                                            \
		memmove(rule, rule + 1, (size_t)(end - (rule + 1)) * sizeof(*rule));               \
		rules->n_##kind##s--;                                                              \
		return 0;                                                                          \
	}

RULES_OF_KIND(pdr, uint16_t)
RULES_OF_KIND(far, uint32_t)
RULES_OF_KIND(qer, uint32_t)
RULES_OF_KIND(urr, uint32_t)
RULES_OF_KIND(bar, uint8_t)
RULES_OF_KIND(endpoint, uint8_t)

int rules_pdr_del(struct rules *rules, uint16_t id)
{
	struct pdr_rule *pdr = rules_pdr_lookup(rules, id);

	if (pdr != NULL)
		pdr_fini(pdr);
	return pdr_take_out(rules, pdr);
}

int rules_far_del(struct rules *rules, uint32_t id)
{
	struct far_rule *far = rules_far_lookup(rules, id);

	if (far != NULL)
		free(far->copies);
	return far_take_out(rules, far);
}

bool far_redirects(const struct far_rule *far)
{
	static const struct in6_addr none;
	const struct redirect_rule *to = &far->redirect;

	return to->v4.s_addr || to->port || memcmp(&to->v6, &none, sizeof(none)) != 0;
}

struct far_rule *rules_far_copy_add(struct far_rule *far)
{
	struct far_rule *grown;

	if (far->n_copies == RULES_MAX_COPIES)
		return NULL;
	grown = reallocarray(far->copies, far->n_copies + 1u, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	far->copies = grown;
	grown[far->n_copies] = (struct far_rule){.id = far->id, .action = APPLY_FORW};
	return &grown[far->n_copies++];
}

void rules_far_copy_del(struct far_rule *far, unsigned i)
{
	memmove(&far->copies[i], &far->copies[i + 1], (far->n_copies - i - 1) * sizeof(*far));
	far->n_copies--;
}

int rules_qer_del(struct rules *rules, uint32_t id)
{
	return qer_take_out(rules, rules_qer_lookup(rules, id));
}

struct urr_next *rules_next_add(struct rules *rules, uint32_t urr)
{
	unsigned n = 0;
	struct urr_next *grown;

	for (unsigned i = 0; i < rules->n_nexts; i++)
		n += rules->nexts[i].urr == urr;
	if (n == RULES_MAX_NEXTS)
		return NULL;
	grown = reallocarray(rules->nexts, rules->n_nexts + 1u, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	rules->nexts = grown;
	grown[rules->n_nexts] = (struct urr_next){.urr = urr};
	return &grown[rules->n_nexts++];
}

void rules_next_del(struct rules *rules, struct urr_next *next)
{
	struct urr_next *end = rules->nexts + rules->n_nexts;

	memmove(next, next + 1, (size_t)(end - (next + 1)) * sizeof(*next));
	rules->n_nexts--;
}

struct urr_next *rules_next_first(const struct rules *rules, uint32_t urr)
{
	struct urr_next *first = NULL;

	for (unsigned i = 0; i < rules->n_nexts; i++) {
		struct urr_next *next = &rules->nexts[i];

		if (next->urr == urr && (first == NULL || next->at < first->at))
			first = next;
	}
	return first;
}

int rules_urr_del(struct rules *rules, uint32_t id)
{
	for (unsigned i = rules->n_nexts; i-- > 0;) {
		if (rules->nexts[i].urr == id)
			rules_next_del(rules, &rules->nexts[i]);
	}
	return urr_take_out(rules, rules_urr_lookup(rules, id));
}

int rules_bar_del(struct rules *rules, uint8_t id)
{
	return bar_take_out(rules, rules_bar_lookup(rules, id));
}

int rules_endpoint_del(struct rules *rules, uint8_t id)
{
	return endpoint_take_out(rules, rules_endpoint_lookup(rules, id));
}

struct tunnel_rule *rules_tunnel_add(struct rules *rules)
{
	unsigned n = rules->n_tunnels;
	struct tunnel_rule *grown;

	if (n == RULES_MAX_TUNNELS)
		return NULL;
	grown = reallocarray(rules->tunnels, n + 1, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	rules->tunnels = grown;
	rules->n_tunnels = (uint16_t)(n + 1);
	memset(&grown[n], 0, sizeof(grown[n]));
	return &grown[n];
}

struct picked_ue *rules_picked_add(struct rules *rules)
{
	unsigned n = rules->n_picked;
	struct picked_ue *grown;

	if (n == RULES_MAX_UES)
		return NULL;
	grown = reallocarray(rules->picked, n + 1, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	rules->picked = grown;
	rules->n_picked = (uint16_t)(n + 1);
	memset(&grown[n], 0, sizeof(grown[n]));
	return &grown[n];
}

int rules_pdr_more_set(struct pdr_rule *pdr, const struct prefix *more, unsigned n)
{
	struct prefix *copy;

	if (n > RULES_MAX_UES)
		return -E2BIG;
	if (!array_copy(more, n, sizeof(*more), &copy))
		return -ENOMEM;
	free(pdr->pdi.more);
	pdr->pdi.more = copy;
	pdr->pdi.n_more = (uint8_t)n;
	return 0;
}

int rules_pdr_framed_set(struct pdr_rule *pdr, uint8_t family, const struct prefix *framed,
			 unsigned n)
{
	struct prefix all[RULES_MAX_FRAMED], *copy;
	unsigned kept = 0;

	for (unsigned i = 0; i < pdr->pdi.n_framed; i++)
		if (pdr->pdi.framed[i].addr.family != family)
			all[kept++] = pdr->pdi.framed[i];
	if (n > RULES_MAX_FRAMED - kept)
		return -E2BIG;
	if (n)
		memcpy(&all[kept], framed, n * sizeof(*framed));
	if (!array_copy(all, kept + n, sizeof(*all), &copy))
		return -ENOMEM;
	free(pdr->pdi.framed);
	pdr->pdi.framed = copy;
	pdr->pdi.n_framed = (uint8_t)(kept + n);
	return 0;
}

int rules_pdr_filters_set(struct pdr_rule *pdr, const struct sdf *filters, unsigned n)
{
	struct sdf *copy;

	if (n > RULES_MAX_FILTERS)
		return -E2BIG;
	if (!array_copy(filters, n, sizeof(*filters), &copy))
		return -ENOMEM;
	free(pdr->pdi.filters);
	pdr->pdi.filters = copy;
	pdr->pdi.n_filters = (uint8_t)n;
	return 0;
}

int rules_pdr_prefixes_copy(struct pdr_rule *pdr, const struct pdr_rule *from)
{
	struct prefix *more, *framed;

	if (!array_copy(from->pdi.more, from->pdi.n_more, sizeof(*more), &more))
		return -ENOMEM;
	if (!array_copy(from->pdi.framed, from->pdi.n_framed, sizeof(*framed), &framed)) {
		free(more);
		return -ENOMEM;
	}
	free(pdr->pdi.more);
	free(pdr->pdi.framed);
	pdr->pdi.more = more;
	pdr->pdi.n_more = from->pdi.n_more;
	pdr->pdi.framed = framed;
	pdr->pdi.n_framed = from->pdi.n_framed;
	return 0;
}

unsigned rules_pdr_ues(const struct pdr_rule *pdr, struct prefix ret[RULES_MAX_PDR_UES])
{
	const struct ue_ip *ue = &pdr->pdi.ue_ip;
	unsigned n = 0;

	if (!pdr->pdi.has_ue_ip)
		return 0;
	if (ue->has_v4)
		ret[n++] = (struct prefix){.addr = addr_v4(ue->v4.s_addr), .len = 32};
	if (ue->has_v6)
		ret[n++] = (struct prefix){.addr = addr_v6(ue->v6.s6_addr), .len = ue->v6_prefix};
	for (unsigned i = 0; i < pdr->pdi.n_more; i++)
		ret[n++] = pdr->pdi.more[i];
	for (unsigned i = 0; i < n; i++)
		ret[i].addr = addr_mask(&ret[i].addr, ret[i].len);
	return n;
}

// The PDR's filter that defines this BID.
static const struct sdf *pdr_filter_by_bid(const struct pdr_rule *pdr, uint32_t bid)
{
	for (unsigned i = 0; i < pdr->pdi.n_filters; i++) {
		const struct sdf *sdf = &pdr->pdi.filters[i];

		if (sdf->has_bid && sdf->has_flow && sdf->bid == bid)
			return sdf;
	}
	return NULL;
}

const struct sdf *rules_filter_resolve(const struct rules *rules, const struct sdf *sdf)
{
	const struct sdf *found = NULL;

	if (!sdf_is_reference(sdf))
		return sdf;
	for (unsigned i = 0; i < rules->n_pdrs && found == NULL; i++)
		found = pdr_filter_by_bid(&rules->pdrs[i], sdf->bid);
	return found;
}
