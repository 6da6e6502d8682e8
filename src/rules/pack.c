// Packed rules, see pack.h.
//
// First the head with the numbers of all kinds, then the arrays. Each item is packed by what it differs in from the
// one before; what PDRs and FARs have on the heap comes behind the array of their kind.

#include "rules/pack.h"

#include <stdlib.h>

// Without what points elsewhere.
static struct rules head_of(const struct rules *rules)
{
	struct rules head = *rules;

	head.pdrs = NULL;
	head.fars = NULL;
	head.qers = NULL;
	head.urrs = NULL;
	head.bars = NULL;
	head.endpoints = NULL;
	head.tunnels = NULL;
	head.picked = NULL;
	return head;
}

static struct pdr_rule pdr_of(const struct pdr_rule *pdr)
{
	struct pdr_rule plain = *pdr;

	plain.pdi.filters = NULL;
	plain.pdi.more = plain.pdi.framed = NULL;
	return plain;
}

static struct far_rule far_of(const struct far_rule *far)
{
	struct far_rule plain = *far;

	plain.copies = NULL;
	return plain;
}

// --- packing ---------------------------------------------------------------------------------------------

static void array_pack(struct packer *p, const void *items, unsigned n, size_t size)
{
	const uint8_t *at = items, *before = NULL;

	for (unsigned i = 0; i < n; i++, before = at, at += size)
		pack_put(p, at, before, size);
}

static void pdrs_pack(struct packer *p, const struct rules *rules)
{
	struct pdr_rule pdr, before = {0};

	for (unsigned i = 0; i < rules->n_pdrs; i++, before = pdr) {
		pdr = pdr_of(&rules->pdrs[i]);
		pack_put(p, &pdr, &before, sizeof(pdr));
	}
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pdi *pdi = &rules->pdrs[i].pdi;

		array_pack(p, pdi->filters, pdi->n_filters, sizeof(*pdi->filters));
		array_pack(p, pdi->more, pdi->n_more, sizeof(*pdi->more));
		array_pack(p, pdi->framed, pdi->n_framed, sizeof(*pdi->framed));
	}
}

static void fars_pack(struct packer *p, const struct rules *rules)
{
	struct far_rule far, before = {0};

	for (unsigned i = 0; i < rules->n_fars; i++, before = far) {
		far = far_of(&rules->fars[i]);
		pack_put(p, &far, &before, sizeof(far));
	}
	for (unsigned i = 0; i < rules->n_fars; i++)
		array_pack(p, rules->fars[i].copies, rules->fars[i].n_copies,
			   sizeof(*rules->fars[i].copies));
}

void rules_pack(struct packer *p, const struct rules *rules)
{
	struct rules head = head_of(rules);

	pack_put(p, &head, NULL, sizeof(head));
	pdrs_pack(p, rules);
	fars_pack(p, rules);
	array_pack(p, rules->qers, rules->n_qers, sizeof(*rules->qers));
	array_pack(p, rules->urrs, rules->n_urrs, sizeof(*rules->urrs));
	array_pack(p, rules->bars, rules->n_bars, sizeof(*rules->bars));
	array_pack(p, rules->endpoints, rules->n_endpoints, sizeof(*rules->endpoints));
	array_pack(p, rules->tunnels, rules->n_tunnels, sizeof(*rules->tunnels));
	array_pack(p, rules->picked, rules->n_picked, sizeof(*rules->picked));
}

// --- unpacking -------------------------------------------------------------------------------------------

// NULL for none too.
static void *array_unpack(struct unpacker *u, unsigned n, size_t size, bool *failed)
{
	uint8_t *items, *before = NULL;

	if (n == 0 || *failed)
		return NULL;
	items = malloc(n * size);
	*failed = items == NULL;
	for (unsigned i = 0; items && i < n; i++) {
		uint8_t *at = items + i * size;

		unpack_get(u, at, before, size);
		before = at;
	}
	return items;
}

static void pdrs_unpack(struct unpacker *u, struct rules *rules, bool *failed)
{
	rules->pdrs = array_unpack(u, rules->n_pdrs, sizeof(*rules->pdrs), failed);
	if (!rules->pdrs)
		rules->n_pdrs = 0;
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct pdi *pdi = &rules->pdrs[i].pdi;

		pdi->filters = array_unpack(u, pdi->n_filters, sizeof(*pdi->filters), failed);
		pdi->more = array_unpack(u, pdi->n_more, sizeof(*pdi->more), failed);
		pdi->framed = array_unpack(u, pdi->n_framed, sizeof(*pdi->framed), failed);
	}
}

static void fars_unpack(struct unpacker *u, struct rules *rules, bool *failed)
{
	rules->fars = array_unpack(u, rules->n_fars, sizeof(*rules->fars), failed);
	if (!rules->fars)
		rules->n_fars = 0;
	for (unsigned i = 0; i < rules->n_fars; i++)
		rules->fars[i].copies = array_unpack(u, rules->fars[i].n_copies,
						     sizeof(*rules->fars[i].copies), failed);
}

struct rules *rules_unpack(struct unpacker *u)
{
	struct rules *rules = malloc(sizeof(*rules));
	bool failed = false;

	if (!rules)
		return NULL;
	unpack_get(u, rules, NULL, sizeof(*rules));
	pdrs_unpack(u, rules, &failed);
	fars_unpack(u, rules, &failed);
	rules->qers = array_unpack(u, rules->n_qers, sizeof(*rules->qers), &failed);
	rules->urrs = array_unpack(u, rules->n_urrs, sizeof(*rules->urrs), &failed);
	rules->bars = array_unpack(u, rules->n_bars, sizeof(*rules->bars), &failed);
	rules->endpoints = array_unpack(u, rules->n_endpoints, sizeof(*rules->endpoints), &failed);
	rules->tunnels = array_unpack(u, rules->n_tunnels, sizeof(*rules->tunnels), &failed);
	rules->picked = array_unpack(u, rules->n_picked, sizeof(*rules->picked), &failed);
	if (!failed)
		return rules;
	rules_free(rules);
	return NULL;
}
