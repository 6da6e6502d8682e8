// The block of compiled rules, see compile_block.h.
// Control thread. Filters of classified PDRs have no place of their own in it: the classifier says all.

#include "rules/compile_block.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules/classify_make.h"

// One direction of the parts.
struct way {
	bool up, classified;
	unsigned first, n; // PDRs among the parts'
	unsigned at;       // of the first in the block
};

static bool never_matches(const struct pdr *pdr)
{
	return pdr->families == 0;
}

// Whether the PDRs of the way are too many to walk, or one has more filters than it can say.
static bool way_is_large(const struct block_parts *parts, const struct way *way)
{
	unsigned n = 0;

	for (unsigned i = way->first; i < way->first + way->n; i++) {
		if (never_matches(&parts->pdrs[i]))
			continue;
		if (parts->spans[i].n > UINT8_MAX)
			return true;
		n += parts->spans[i].n ? parts->spans[i].n : 1;
	}
	return n > parts->walk_max;
}

// Whether packets of one flow and tunnel may match different PDRs of the way.
static bool way_is_rare(const struct block_parts *parts, const struct way *way)
{
	for (unsigned i = way->first; i < way->first + way->n; i++) {
		const struct filter_span *span = &parts->spans[i];

		if (parts->pdrs[i].qfis != UINT64_MAX)
			return true;
		for (unsigned k = 0; k < span->n; k++) {
			if (parts->filters[span->first + k].flags & FILTER_F_RARE)
				return true;
		}
	}
	return false;
}

// Whether fragments wait for each other: some filter asks what only a whole packet says, and none whether a packet is
// a fragment.
static bool parts_gather(const struct block_parts *parts)
{
	unsigned flags = 0;

	for (unsigned i = 0; i < parts->n_up + parts->n_down; i++)
		for (unsigned k = 0; k < parts->spans[i].n; k++)
			flags |= parts->filters[parts->spans[i].first + k].flags;
	return (parts->has_flows || (flags & (FILTER_F_PORTS | FILTER_F_SPI | FILTER_F_ESTABLISHED |
					      FILTER_F_SETUP))) &&
	       !(flags & FILTER_F_FRAG);
}

// Walked PDRs come first.
static void ways_place(const struct block_parts *parts, struct way ways[2])
{
	unsigned at = 0;

	ways[0] = (struct way){.up = true, .n = parts->n_up};
	ways[1] = (struct way){.first = parts->n_up, .n = parts->n_down};
	for (unsigned i = 0; i < 2; i++)
		ways[i].classified = way_is_large(parts, &ways[i]);
	for (unsigned classified = 0; classified < 2; classified++) {
		for (unsigned i = 0; i < 2; i++) {
			if (ways[i].classified != classified)
				continue;
			ways[i].at = at;
			at += ways[i].n;
		}
	}
}

// --- the parts that are walked ---------------------------------------------------------------------------

static unsigned walked_filters(const struct block_parts *parts, const struct way ways[2])
{
	unsigned n = 0;

	for (unsigned w = 0; w < 2; w++) {
		for (unsigned i = 0; i < ways[w].n && !ways[w].classified; i++)
			n += parts->spans[ways[w].first + i].n;
	}
	return n;
}

// The PDRs of the way, with their filters from number `n_filters` on. Returns how many filters there are now.
static unsigned way_put(const struct block_parts *parts, const struct way *way, struct ruleset *rs,
			struct filter *filters, unsigned n_filters)
{
	struct pdr *pdrs = rs->pdrs + way->at;

	memcpy(pdrs, parts->pdrs + way->first, way->n * sizeof(*pdrs));
	for (unsigned i = 0; i < way->n && !way->classified; i++) {
		const struct filter_span *span = &parts->spans[way->first + i];

		if (span->n == 0)
			continue;
		pdrs[i].first_filter = (uint16_t)n_filters;
		pdrs[i].n_filters = (uint8_t)span->n;
		memcpy(filters + n_filters, parts->filters + span->first,
		       span->n * sizeof(*filters));
		n_filters += span->n;
	}
	return n_filters;
}

// Behind so many filters, the last first (ruleset_redirect()). Returns how many filters there are now.
static unsigned redirects_put(const struct block_parts *parts, struct filter *filters,
			      unsigned n_filters)
{
	for (unsigned i = parts->n_redirects; i > 0; i--)
		memcpy(&filters[n_filters++], &parts->redirects[i - 1], sizeof(struct filter));
	return n_filters;
}

// What stands for the PDRs of the way beyond a quota: what that stops is no loss of a UE that cannot be reached.
static void quota_pdrs_put(const struct block_parts *parts, const struct way *way,
			   struct ruleset *rs)
{
	struct pdr *to = rs->pdrs + parts->n_up + parts->n_down + way->at;

	memcpy(to, rs->pdrs + way->at, way->n * sizeof(*to));
	for (unsigned i = 0; i < way->n; i++)
		if (parts->quota_fars[way->first + i]) {
			to[i].far = (uint16_t)(parts->quota_fars[way->first + i] - 1);
			to[i].flags &= (uint8_t)~PDR_F_DROPS;
		}
}

// --- classifiers -----------------------------------------------------------------------------------------

static unsigned way_alternatives(const struct block_parts *parts, const struct way *way,
				 struct alternative *ret)
{
	unsigned n = 0;

	for (unsigned i = 0; i < way->n; i++) {
		const struct pdr *pdr = &parts->pdrs[way->first + i];
		const struct filter_span *span = &parts->spans[way->first + i];
		unsigned each = span->n ? span->n : 1;

		for (unsigned k = 0; k < each && !never_matches(pdr); k++) {
			assert(n < CLASSIFY_MAX_ALTERNATIVES);
			ret[n++] = (struct alternative){
				.pdr = pdr,
				.filter = span->n ? &parts->filters[span->first + k] : NULL,
				.owner = (uint16_t)(way->at + i),
			};
		}
	}
	return n;
}

// Appends the classifiers of the way to the blob, which starts with the table of all.
static int way_classify(const struct block_parts *parts, const struct way *way, struct blob *blob)
{
	struct alternative *alternatives = calloc(CLASSIFY_MAX_ALTERNATIVES, sizeof(*alternatives));
	struct classifiers *all;
	size_t at[2];
	unsigned n;
	int rc;

	if (alternatives == NULL)
		return -ENOMEM;
	n = way_alternatives(parts, way, alternatives);
	rc = classifiers_make(blob, alternatives, n, at);
	if (rc == 0) {
		all = (struct classifiers *)(void *)blob->bytes;
		for (unsigned v6 = 0; v6 < 2; v6++)
			all->at[way->up][v6] = (uint32_t)(at[v6] / RULESET_UNIT);
	}
	free(alternatives);
	return rc;
}

static int ways_classify(const struct block_parts *parts, const struct way ways[2],
			 struct blob *blob)
{
	size_t at;

	if (!ways[0].classified && !ways[1].classified)
		return 0;
	if (blob_grow(blob, sizeof(struct classifiers), RULESET_UNIT, &at) != 0)
		return -ENOMEM;
	for (unsigned i = 0; i < 2; i++) {
		if (ways[i].classified && way_classify(parts, &ways[i], blob) != 0)
			return -ENOMEM;
	}
	return 0;
}

// --- the block -------------------------------------------------------------------------------------------

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static struct ruleset *block_put(const struct block_parts *parts, const struct way ways[2],
				 const struct blob *blob)
{
	unsigned n_filters = walked_filters(parts, ways) + parts->n_redirects + parts->n_sources;
	size_t n_pdrs = (parts->n_up + parts->n_down) * (parts->quota_fars ? 2 : 1);
	size_t fars_at = sizeof(struct ruleset) + n_pdrs * sizeof(struct pdr);
	size_t filters_at = round_up(fars_at + parts->n_fars * sizeof(struct far), RULESET_UNIT);
	size_t blob_at = filters_at + n_filters * sizeof(struct filter);
	size_t bytes = round_up(blob_at + blob->n, RULESET_UNIT);
	unsigned flags = parts->flags | (ways[0].classified ? RULESET_F_CLASSIFY_UP : 0u) |
			 (ways[1].classified ? RULESET_F_CLASSIFY_DOWN : 0u) |
			 (way_is_rare(parts, &ways[0]) ? RULESET_F_RARE_UP : 0u) |
			 (way_is_rare(parts, &ways[1]) ? RULESET_F_RARE_DOWN : 0u) |
			 (parts->quota_fars ? RULESET_F_QUOTA_FARS : 0u);
	struct ruleset *rs = calloc(1, bytes);
	struct filter *filters;

	if (rs == NULL)
		return NULL;
	rs->chain_up = parts->chain_up;
	rs->chain_down = parts->chain_down;
	rs->units = (uint32_t)(bytes / RULESET_UNIT) & 0xfffff;
	rs->flags = flags & 0x3fu;
	rs->n_up = (uint16_t)(ways[0].classified ? 0 : ways[0].n);
	rs->n_down = (uint16_t)(ways[1].classified ? 0 : ways[1].n);
	rs->n_fars = parts->n_fars & 0x3ffu;
	rs->profile = parts->profile & 0x3fu;
	rs->n_filters = n_filters & 0x7fff;
	rs->gathers = parts_gather(parts);
	rs->n_sources = parts->n_sources & 63;
	rs->fars_at = (uint16_t)(fars_at / 16);
	rs->filters_at = (uint16_t)(filters_at / 16);
	memcpy((uint8_t *)rs + fars_at, parts->fars, parts->n_fars * sizeof(struct far));
	filters = (struct filter *)(void *)((uint8_t *)rs + filters_at);
	n_filters = way_put(parts, &ways[0], rs, filters, 0);
	n_filters = way_put(parts, &ways[1], rs, filters, n_filters);
	for (unsigned i = 0; i < 2 && parts->quota_fars; i++)
		quota_pdrs_put(parts, &ways[i], rs);
	n_filters = redirects_put(parts, filters, n_filters);
	if (parts->n_sources)
		memcpy(filters + n_filters, parts->sources,
		       parts->n_sources * sizeof(struct filter));
	if (blob->n != 0)
		memcpy((uint8_t *)rs + blob_at, blob->bytes, blob->n);
	return rs;
}

int block_make(const struct block_parts *parts, struct ruleset **ret_rs)
{
	static struct blob blob; // kept from one block to the next, as the classifiers' workshop is
	struct ruleset *rs = NULL;
	struct way ways[2];

	ways_place(parts, ways);
	if (ways_classify(parts, ways, &blob) == 0)
		rs = block_put(parts, ways, &blob);
	blob_empty(&blob);
	if (rs == NULL)
		return -ENOMEM;
	*ret_rs = rs;
	return 0;
}
