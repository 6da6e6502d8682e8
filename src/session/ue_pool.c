// Pools of UE addresses, see ue_pool.h.
//
// For each length of prefix that a pool gives out there is a counter, which passes each place of the pool once,
// and a queue of what it has passed and can be given again. A place that a session holds by its own claim when
// its turn comes goes to the end of the queue, so none is ever lost.

#include "session/ue_pool.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rest.h"
#include "session/locator.h"

#define LOOKS_MAX (1u << 17) // places looked at for one address: bounds the work on a request

// What a pool gives out of one length.
struct giver {
	uint8_t len;
	bool down;          // counts from the end
	uint64_t n, start;  // places, and the first
	uint64_t passed;    // places that had their turn
	uint64_t used;      // given out and not back
	struct rest *queue; // places by number
};

struct pool {
	struct pool *next;
	unsigned ni, iface;
	struct prefix prefix;
	uint64_t start;
	struct giver *givers[65]; // by length, made at their first use
};

struct exception {
	unsigned iface;
	struct addr addr;
};

struct ue_pools {
	struct ue_pools_conf conf;
	struct pool *pools, **end; // in the order of the configuration
	unsigned n_exceptions;
	struct exception *exceptions;
};

// The longest prefix that is one UE's: what pools are counted in.
static uint8_t unit_len(uint8_t family)
{
	return family == ADDR_V4 ? 32 : 64;
}

struct ue_pools *ue_pools_new(const struct ue_pools_conf *conf)
{
	struct ue_pools *pools = calloc(1, sizeof(*pools));

	if (!pools)
		return NULL;
	pools->conf = *conf;
	pools->end = &pools->pools;
	return pools;
}

void ue_pools_free(struct ue_pools *pools)
{
	struct pool *pool;

	if (!pools)
		return;
	while ((pool = pools->pools) != NULL) {
		pools->pools = pool->next;
		for (unsigned i = 0; i < sizeof(pool->givers) / sizeof(pool->givers[0]); i++) {
			if (pool->givers[i])
				rest_free(pool->givers[i]->queue);
			free(pool->givers[i]);
		}
		free(pool);
	}
	free(pools->exceptions);
	free(pools);
}

int ue_pools_add(struct ue_pools *pools, unsigned ni, unsigned iface, const struct prefix *prefix,
		 uint64_t start)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	pool->ni = ni;
	pool->iface = iface;
	pool->prefix = *prefix;
	pool->start = start;
	*pools->end = pool;
	pools->end = &pool->next;
	return 0;
}

int ue_pools_except(struct ue_pools *pools, unsigned iface, const struct addr *addr)
{
	struct exception *grown = reallocarray(pools->exceptions, pools->n_exceptions + 1,
					       sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	grown[pools->n_exceptions++] = (struct exception){iface, *addr};
	pools->exceptions = grown;
	return 0;
}

// --- places ----------------------------------------------------------------------------------------------

static uint64_t be64_get(const uint8_t *at)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8; i++)
		value = value << 8 | at[i];
	return value;
}

static void be64_put(uint8_t *at, uint64_t value)
{
	for (unsigned i = 8; i-- > 0; value >>= 8)
		at[i] = (uint8_t)value;
}

// The prefix at a place of the pool.
static struct prefix prefix_at(const struct pool *pool, const struct giver *giver, uint64_t place)
{
	struct prefix prefix = {.addr = pool->prefix.addr, .len = giver->len};

	if (prefix.addr.family == ADDR_V4)
		prefix.addr.v4 = rte_cpu_to_be_32(rte_be_to_cpu_32(prefix.addr.v4) |
						  (uint32_t)place);
	else
		be64_put(prefix.addr.v6, be64_get(prefix.addr.v6) | place << (64 - giver->len));
	return prefix;
}

static uint64_t place_of(const struct giver *giver, const struct prefix *prefix)
{
	if (prefix->addr.family == ADDR_V4)
		return rte_be_to_cpu_32(prefix->addr.v4) & (giver->n - 1);
	return be64_get(prefix->addr.v6) >> (64 - giver->len) & (giver->n - 1);
}

// The first and the last address of an IPv4 pool look like those of a subnet, and hosts may take them for it.
static bool is_edge(const struct pool *pool, const struct giver *giver, uint64_t place)
{
	return pool->prefix.addr.family == ADDR_V4 && pool->prefix.len < 31 &&
	       (place == 0 || place == giver->n - 1);
}

static bool is_excepted(const struct ue_pools *pools, const struct pool *pool,
			const struct prefix *prefix)
{
	for (unsigned i = 0; i < pools->n_exceptions; i++)
		if (pools->exceptions[i].iface == pool->iface &&
		    prefix_contains(prefix, &pools->exceptions[i].addr))
			return true;
	return false;
}

// --- giving ----------------------------------------------------------------------------------------------

static bool pool_has(const struct pool *pool, unsigned ni, uint8_t family, uint8_t len)
{
	return pool->ni == ni && pool->prefix.addr.family == family && pool->prefix.len <= len &&
	       len <= unit_len(family) && (family == ADDR_V6 || len == 32);
}

bool ue_pools_have(const struct ue_pools *pools, unsigned ni, uint8_t family, uint8_t len)
{
	for (const struct pool *pool = pools->pools; pool; pool = pool->next)
		if (pool_has(pool, ni, family, len))
			return true;
	return false;
}

// NULL without memory.
static struct giver *giver_get(struct pool *pool, uint8_t len)
{
	struct giver *giver = pool->givers[len];

	if (giver)
		return giver;
	giver = calloc(1, sizeof(*giver));
	if (!giver)
		return NULL;
	giver->len = len;
	giver->down = len != unit_len(pool->prefix.addr.family);
	giver->n = 1ull << (len - pool->prefix.len);
	giver->start = pool->start & (giver->n - 1);
	giver->queue = rest_new(0);
	if (!giver->queue) {
		free(giver);
		return NULL;
	}
	pool->givers[len] = giver;
	return giver;
}

// One taking: from which pool, and how many places it has looked at.
struct taking {
	struct ue_pools *pools;
	const struct locator *loc;
	struct pool *pool;
	struct giver *giver;
	uint64_t now_ns;
	unsigned looks;
};

// Whether the place can be given now; if a session holds it, it goes to the end of the queue.
static bool place_try(struct taking *t, uint64_t place, struct prefix *ret)
{
	struct prefix prefix = prefix_at(t->pool, t->giver, place);

	t->looks++;
	if (is_edge(t->pool, t->giver, place) || is_excepted(t->pools, t->pool, &prefix))
		return false;
	if (locator_prefix_held(t->loc, t->pool->iface, &prefix)) {
		rest_add(t->giver->queue, place, t->now_ns);
		return false;
	}
	*ret = prefix;
	return true;
}

// A place that had no turn yet, as long as fewer than `most` had.
static bool take_fresh(struct taking *t, uint64_t most, struct prefix *ret)
{
	struct giver *g = t->giver;

	while (g->passed < most && g->passed < g->n && t->looks < LOOKS_MAX) {
		uint64_t turn = g->passed++;
		uint64_t place = g->down ? g->n - 1 - turn : (g->start + turn) & (g->n - 1);

		if (place_try(t, place, ret))
			return true;
	}
	return false;
}

// The place that has rested longest, if for long enough.
static bool take_rested(struct taking *t, struct prefix *ret)
{
	uint64_t rest_ns = t->pools->conf.rest_ns;
	uint64_t until = t->now_ns > rest_ns ? t->now_ns - rest_ns : 0, place;

	for (uint32_t i = rest_count(t->giver->queue); i > 0 && t->looks < LOOKS_MAX; i--) {
		if (rest_take(t->giver->queue, until, &place) < 0)
			return false;
		if (place_try(t, place, ret))
			return true;
	}
	return false;
}

int ue_pools_take(struct ue_pools *pools, const struct locator *loc, unsigned ni, uint8_t family,
		  uint8_t len, uint64_t now_ns, struct prefix *ret_prefix)
{
	struct taking t = {.pools = pools, .loc = loc, .now_ns = now_ns};

	for (t.pool = pools->pools; t.pool; t.pool = t.pool->next) {
		if (!pool_has(t.pool, ni, family, len))
			continue;
		t.giver = giver_get(t.pool, len);
		if (!t.giver)
			return -ENOSPC;
		if (take_fresh(&t, pools->conf.fresh_first, ret_prefix) ||
		    take_rested(&t, ret_prefix) || take_fresh(&t, UINT64_MAX, ret_prefix)) {
			t.giver->used++;
			return 0;
		}
	}
	return -ENOSPC;
}

void ue_pools_give(struct ue_pools *pools, unsigned ni, const struct prefix *prefix,
		   uint64_t now_ns)
{
	struct pool *pool = pools->pools;
	struct giver *giver;

	while (pool && !(pool_has(pool, ni, prefix->addr.family, prefix->len) &&
			 prefix_contains(&pool->prefix, &prefix->addr)))
		pool = pool->next;
	giver = pool ? pool->givers[prefix->len] : NULL;
	if (!giver)
		return;
	giver->used--;
	rest_add(giver->queue, place_of(giver, prefix), now_ns);
}

void ue_pools_rest(struct ue_pools *pools, unsigned iface, const struct prefix *prefix,
		   uint64_t now_ns)
{
	for (struct pool *pool = pools->pools; pool; pool = pool->next) {
		const struct giver *giver;

		if (pool->iface != iface ||
		    !pool_has(pool, pool->ni, prefix->addr.family, prefix->len) ||
		    !prefix_contains(&pool->prefix, &prefix->addr))
			continue;
		giver = pool->givers[prefix->len];
		if (giver && rest_has(giver->queue, place_of(giver, prefix)))
			rest_add(giver->queue, place_of(giver, prefix), now_ns);
		return;
	}
}

void ue_pools_each(const struct ue_pools *pools,
		   void (*fn)(void *ctx, const struct ue_pool_view *pool), void *ctx)
{
	for (const struct pool *pool = pools->pools; pool; pool = pool->next) {
		uint8_t unit = unit_len(pool->prefix.addr.family);
		struct ue_pool_view view = {
			.ni = pool->ni,
			.iface = pool->iface,
			.prefix = pool->prefix,
			.size = 1ull << (unit - pool->prefix.len),
		};

		for (uint8_t len = pool->prefix.len; len <= unit; len++) {
			const struct giver *giver = pool->givers[len];

			if (!giver)
				continue;
			view.used += giver->used << (unit - len);
			view.prefixes += len < unit ? (uint32_t)giver->used : 0;
			view.resting += rest_count(giver->queue);
		}
		fn(ctx, &view);
	}
}
