// Packed rules, see pack.h.
//
// First the head with the numbers of all kinds, then the arrays. Each item is packed by what it differs in from the
// pattern's in its place or, beyond those, from the one before; what PDRs and FARs have on the heap comes behind the
// array of their kind. The TEIDs of PDRs are those of tunnels, so PDRs have them as what they differ in from these.

#include "rules/pack.h"

#include <stdlib.h>
#include <string.h>

// Copies are made by memcpy: assignment may leave padding as it is, which is packed, too.

// Without what points elsewhere.
static void head_copy(struct rules *head, const struct rules *rules)
{
	memcpy(head, rules, sizeof(*head));
	head->pdrs = NULL;
	head->fars = NULL;
	head->qers = NULL;
	head->urrs = NULL;
	head->nexts = NULL;
	head->bars = NULL;
	head->endpoints = NULL;
	head->tunnels = NULL;
	head->picked = NULL;
}

// Of the PDR's tunnel; 0 where it has none.
static uint32_t pdr_teid(const struct rules *rules, const struct pdr_rule *pdr)
{
	for (unsigned i = 0; pdr->tunnel && i < rules->n_tunnels; i++)
		if (rules->tunnels[i].number == pdr->tunnel)
			return rules->tunnels[i].teid;
	return 0;
}

static void pdr_copy(struct pdr_rule *plain, const struct rules *rules, unsigned i)
{
	memcpy(plain, &rules->pdrs[i], sizeof(*plain));
	plain->pdi.filters = NULL;
	plain->pdi.more = plain->pdi.framed = NULL;
	plain->pdi.fteid.teid ^= pdr_teid(rules, plain);
}

static void far_copy(struct far_rule *plain, const struct far_rule *far)
{
	memcpy(plain, far, sizeof(*plain));
	plain->copies = NULL;
}

// What item i of an array is packed against: `before` is the one before it.
static const void *like_of(const void *like, unsigned n_like, unsigned i, size_t size,
			   const void *before)
{
	return i < n_like ? (const uint8_t *)like + i * size : before;
}

static const struct rules no_rules;

// Of a PDR that the pattern does not have.
static const struct pdr_rule no_pdr;
static const struct far_rule no_far;

static const struct pdr_rule *pdr_like(const struct rules *like, unsigned i)
{
	return i < like->n_pdrs ? &like->pdrs[i] : &no_pdr;
}

static const struct far_rule *far_like(const struct rules *like, unsigned i)
{
	return i < like->n_fars ? &like->fars[i] : &no_far;
}

// --- packing ---------------------------------------------------------------------------------------------

static void array_pack(struct packer *p, const void *items, unsigned n, size_t size,
		       const void *like, unsigned n_like)
{
	const uint8_t *at = items, *before = NULL;

	for (unsigned i = 0; i < n; i++, before = at, at += size)
		pack_put(p, at, like_of(like, n_like, i, size, before), size);
}

static void pdrs_pack(struct packer *p, const struct rules *rules, const struct rules *like)
{
	struct pdr_rule pdr, like_pdr;

	memset(&like_pdr, 0, sizeof(like_pdr));
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		pdr_copy(&pdr, rules, i);
		if (i < like->n_pdrs)
			pdr_copy(&like_pdr, like, i);
		pack_put(p, &pdr, &like_pdr, sizeof(pdr));
		memcpy(&like_pdr, &pdr, sizeof(pdr)); // of the next, where there is no other
	}
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pdi *pdi = &rules->pdrs[i].pdi, *as = &pdr_like(like, i)->pdi;

		array_pack(p, pdi->filters, pdi->n_filters, sizeof(*pdi->filters), as->filters,
			   as->n_filters);
		array_pack(p, pdi->more, pdi->n_more, sizeof(*pdi->more), as->more, as->n_more);
		array_pack(p, pdi->framed, pdi->n_framed, sizeof(*pdi->framed), as->framed,
			   as->n_framed);
	}
}

static void fars_pack(struct packer *p, const struct rules *rules, const struct rules *like)
{
	struct far_rule far, like_far;

	memset(&like_far, 0, sizeof(like_far));
	for (unsigned i = 0; i < rules->n_fars; i++) {
		far_copy(&far, &rules->fars[i]);
		if (i < like->n_fars)
			far_copy(&like_far, &like->fars[i]);
		pack_put(p, &far, &like_far, sizeof(far));
		memcpy(&like_far, &far, sizeof(far)); // of the next, where there is no other
	}
	for (unsigned i = 0; i < rules->n_fars; i++) {
		const struct far_rule *as = far_like(like, i);

		array_pack(p, rules->fars[i].copies, rules->fars[i].n_copies, sizeof(*as->copies),
			   as->copies, as->n_copies);
	}
}

#define ARRAY_PACK(kind)                                                                           \
	array_pack(p, rules->kind, rules->n_##kind, sizeof(*rules->kind), like->kind,              \
		   like->n_##kind)

void rules_pack(struct packer *p, const struct rules *rules, const struct rules *like)
{
	struct rules head, like_head;

	like = like ? like : &no_rules;
	head_copy(&head, rules);
	head_copy(&like_head, like);
	pack_put(p, &head, &like_head, sizeof(head));
	pdrs_pack(p, rules, like);
	fars_pack(p, rules, like);
	ARRAY_PACK(qers);
	ARRAY_PACK(urrs);
	ARRAY_PACK(nexts);
	ARRAY_PACK(bars);
	ARRAY_PACK(endpoints);
	ARRAY_PACK(tunnels);
	ARRAY_PACK(picked);
}

// --- unpacking -------------------------------------------------------------------------------------------

// NULL for none too.
static void *array_unpack(struct unpacker *u, unsigned n, size_t size, const void *like,
			  unsigned n_like, bool *failed)
{
	uint8_t *items, *before = NULL;

	if (n == 0 || *failed)
		return NULL;
	items = malloc(n * size);
	*failed = items == NULL;
	for (unsigned i = 0; items && i < n; i++) {
		uint8_t *at = items + i * size;

		unpack_get(u, at, like_of(like, n_like, i, size, before), size);
		before = at;
	}
	return items;
}

static void pdrs_unpack(struct unpacker *u, struct rules *rules, const struct rules *like,
			bool *failed)
{
	struct pdr_rule *pdrs = malloc((rules->n_pdrs + 1u) * sizeof(*pdrs)), like_pdr;

	*failed |= pdrs == NULL;
	rules->pdrs = pdrs;
	memset(&like_pdr, 0, sizeof(like_pdr));
	for (unsigned i = 0; pdrs && i < rules->n_pdrs; i++) {
		if (i < like->n_pdrs)
			pdr_copy(&like_pdr, like, i);
		unpack_get(u, &pdrs[i], &like_pdr, sizeof(pdrs[i]));
		memcpy(&like_pdr, &pdrs[i], sizeof(like_pdr));
	}
	if (!pdrs)
		rules->n_pdrs = 0;
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pdi *as = &pdr_like(like, i)->pdi;
		struct pdi *pdi = &pdrs[i].pdi;

		pdi->filters = array_unpack(u, pdi->n_filters, sizeof(*pdi->filters), as->filters,
					    as->n_filters, failed);
		pdi->more = array_unpack(u, pdi->n_more, sizeof(*pdi->more), as->more, as->n_more,
					 failed);
		pdi->framed = array_unpack(u, pdi->n_framed, sizeof(*pdi->framed), as->framed,
					   as->n_framed, failed);
	}
}

static void fars_unpack(struct unpacker *u, struct rules *rules, const struct rules *like,
			bool *failed)
{
	struct far_rule *fars = malloc((rules->n_fars + 1u) * sizeof(*fars)), like_far;

	*failed |= fars == NULL;
	rules->fars = fars;
	if (*failed)
		rules->n_fars = 0;
	memset(&like_far, 0, sizeof(like_far));
	for (unsigned i = 0; i < rules->n_fars; i++) {
		if (i < like->n_fars)
			far_copy(&like_far, &like->fars[i]);
		unpack_get(u, &fars[i], &like_far, sizeof(fars[i]));
		memcpy(&like_far, &fars[i], sizeof(like_far));
	}
	for (unsigned i = 0; i < rules->n_fars; i++) {
		const struct far_rule *as = far_like(like, i);

		fars[i].copies = array_unpack(u, fars[i].n_copies, sizeof(*fars[i].copies),
					      as->copies, as->n_copies, failed);
	}
}

#define ARRAY_UNPACK(kind)                                                                         \
	rules->kind = array_unpack(u, rules->n_##kind, sizeof(*rules->kind), like->kind,           \
				   like->n_##kind, &failed)

struct rules *rules_unpack(struct unpacker *u, const struct rules *like)
{
	struct rules *rules = malloc(sizeof(*rules)), like_head;
	bool failed = false;

	if (!rules)
		return NULL;
	like = like ? like : &no_rules;
	head_copy(&like_head, like);
	unpack_get(u, rules, &like_head, sizeof(*rules));
	pdrs_unpack(u, rules, like, &failed);
	fars_unpack(u, rules, like, &failed);
	ARRAY_UNPACK(qers);
	ARRAY_UNPACK(urrs);
	ARRAY_UNPACK(nexts);
	ARRAY_UNPACK(bars);
	ARRAY_UNPACK(endpoints);
	ARRAY_UNPACK(tunnels);
	ARRAY_UNPACK(picked);
	for (unsigned i = 0; !failed && i < rules->n_pdrs; i++)
		rules->pdrs[i].pdi.fteid.teid ^= pdr_teid(rules, &rules->pdrs[i]);
	if (!failed)
		return rules;
	rules_free(rules);
	return NULL;
}

// --- patterns --------------------------------------------------------------------------------------------

#define SUITS_BYTES 20  // of packed form for each rule: what is longer is not alike
#define MISSES_MOST 200 // in a row, then there is another pattern

static unsigned rules_count(const struct rules *rules)
{
	return 0u + rules->n_pdrs + rules->n_fars + rules->n_qers + rules->n_urrs + rules->n_bars +
	       rules->n_endpoints;
}

static unsigned pattern_place(const struct rules *rules)
{
	return (rules->n_pdrs * 7u + rules->n_fars * 5u + rules->n_qers * 3u + rules->n_urrs) %
	       RULES_PATTERNS;
}

void rules_pattern_give(struct rules_pattern *pattern)
{
	if (!pattern || --pattern->users > 0)
		return;
	rules_free(pattern->rules);
	free(pattern);
}

void rules_patterns_fini(struct rules_patterns *patterns)
{
	for (unsigned i = 0; i < RULES_PATTERNS; i++)
		rules_pattern_give(patterns->latest[i]);
	*patterns = (struct rules_patterns){0};
}

// Makes a copy of the rules the pattern of their place. NULL without memory.
static struct rules_pattern *pattern_make(struct rules_pattern **place, const struct rules *rules)
{
	struct rules_pattern *pattern = malloc(sizeof(*pattern));
	struct rules *copy = pattern ? rules_clone(rules) : NULL;

	if (!copy) {
		free(pattern);
		return NULL;
	}
	*pattern = (struct rules_pattern){.rules = copy, .users = 1};
	rules_pattern_give(*place);
	*place = pattern;
	return pattern;
}

struct rules_pattern *rules_pattern_pack(struct rules_patterns *patterns, struct packer *p,
					 const struct rules *rules)
{
	unsigned at = pattern_place(rules);
	struct rules_pattern *pattern = patterns->latest[at];
	size_t before = p->n;

	if (!pattern || patterns->misses[at] == MISSES_MOST) {
		pattern = pattern_make(&patterns->latest[at], rules);
		patterns->misses[at] = 0;
	}
	rules_pack(p, rules, rules_pattern_rules(pattern));
	if (!pattern || p->n - before <= SUITS_BYTES * rules_count(rules)) {
		patterns->misses[at] = 0;
		if (pattern)
			pattern->users++;
		return pattern;
	}
	patterns->misses[at]++;
	p->n = before;
	rules_pack(p, rules, NULL);
	return NULL;
}
