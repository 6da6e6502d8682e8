// The writer's side of the locators (locator.h).
//
// Control thread, but for locator_find().

#include "session/locator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_hash_crc.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "base/rand.h"
#include "session/claims.h"
#include "session/locator_lookup.h"

static_assert(sizeof(struct session_ref) == sizeof(void *), "a reference is a hash's data word");

static struct rte_hash *hash_new(const char *name, uint32_t entries, uint32_t key_bytes,
				 struct rte_rcu_qsbr *qsbr)
{
	struct rte_hash_parameters params = {
		.name = name,
		.entries = entries < 1024 ? 1024 : entries,
		.key_len = key_bytes,
		.hash_func = rte_hash_crc,
		.hash_func_init_val = (uint32_t)rand_u64(), // keys chosen to collide need the seed
		.socket_id = SOCKET_ID_ANY,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF |
			      RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};
	struct rte_hash_rcu_config rcu = {.v = qsbr, .mode = RTE_HASH_QSBR_MODE_DQ};
	struct rte_hash *hash = rte_hash_create(&params);

	if (hash && qsbr && rte_hash_rcu_qsbr_add(hash, &rcu) != 0) {
		rte_hash_free(hash);
		return NULL;
	}
	return hash;
}

struct locator *locator_new(uint32_t max_hashed, uint32_t max_routes, struct rte_rcu_qsbr *qsbr)
{
	struct locator *loc = rte_zmalloc("locator", sizeof(*loc), RTE_CACHE_LINE_SIZE);

	if (!loc)
		return NULL;
	loc->ue_v4 = hash_new("ue_v4", max_hashed, sizeof(struct locator_v4_key), qsbr);
	loc->ue_v6 = hash_new("ue_v6", max_hashed, sizeof(struct locator_v6_key), qsbr);
	loc->teids = hash_new("teids", max_hashed, sizeof(struct locator_teid_key), qsbr);
	loc->routes = hash_new("routes", max_routes, sizeof(struct locator_route_key), qsbr);
	loc->max_routes = max_routes;
	loc->claims = claims_new();
	loc->framed = claims_new();
	if (!loc->ue_v4 || !loc->ue_v6 || !loc->teids || !loc->routes || !loc->claims ||
	    !loc->framed) {
		locator_free(loc);
		return NULL;
	}
	return loc;
}

void locator_free(struct locator *loc)
{
	if (!loc)
		return;
	rte_hash_free(loc->ue_v4);
	rte_hash_free(loc->ue_v6);
	rte_hash_free(loc->teids);
	rte_hash_free(loc->routes);
	claims_free(loc->claims);
	claims_free(loc->framed);
	for (unsigned i = 0; i < LOCATOR_IFACES; i++)
		for (unsigned k = 0; k < LOCATOR_POOLS; k++) {
			rte_free(loc->iface[i].v4[k].refs);
			rte_free(loc->iface[i].v6[k].refs);
			free(loc->n_claimed[i][k]);
		}
	rte_free(loc);
}

static_assert(LOCATOR_PLACES == 1 << 9, "as locator_place() hashes");

static void place_count(struct locator *loc, unsigned iface, unsigned family, unsigned place,
			int more)
{
	struct locator_iface *li = &loc->iface[iface];
	bool v4 = family == ADDR_V4;
	uint64_t *word = (v4 ? li->places_v4 : li->places_v6) + place / 64;
	uint32_t *n = (v4 ? loc->n_places_v4 : loc->n_places_v6)[iface] + place;
	uint64_t bit = 1ull << place % 64;

	*n += (uint32_t)more;
	__atomic_store_n(word, *n ? *word | bit : *word & ~bit, __ATOMIC_RELEASE);
}

// One more, or one less, entry in each place of a prefix. A very short one is everywhere.
static void places_count(struct locator *loc, unsigned iface, const struct prefix *prefix, int more)
{
	unsigned family = prefix->addr.family;
	unsigned whole = family == ADDR_V4 ? 16 : 48; // the length of what has one bit
	unsigned n = prefix->len >= whole ? 0 : whole - prefix->len;
	bool everywhere = n >= 9;
	uint64_t first = locator_dense_key(&prefix->addr) >> 16;
	uint8_t addr[8];

	if (n)
		first = first >> n << n;
	for (unsigned i = 0; i < (everywhere ? LOCATOR_PLACES : 1u << n); i++) {
		if (family == ADDR_V4)
			be16_put(addr, (uint16_t)(first + i));
		else
			word64_put(addr, rte_cpu_to_be_64((first + i) << 16));
		place_count(loc, iface, family, everywhere ? i : locator_place(family, addr), more);
	}
}

static void places_count_ue(struct locator *loc, unsigned iface, const struct addr *ue, int more)
{
	const struct prefix prefix = {.addr = *ue, .len = ue->family == ADDR_V4 ? 32 : 64};

	places_count(loc, iface, &prefix, more);
}

#define STRETCH 4096u // /64s of a pool whose claims are counted together

int locator_pool_add(struct locator *loc, unsigned iface, const struct prefix *pool)
{
	struct locator_iface *li = &loc->iface[iface];
	bool v4 = pool->addr.family == 4;
	unsigned bits = (v4 ? 32u : 64u) - pool->len; // of the index into the pool
	uint32_t *n = v4 ? &li->n_v4 : &li->n_v6;
	struct locator_pool *lp = v4 ? &li->v4[*n] : &li->v6[*n];

	if ((v4 ? 32u : 64u) < pool->len || bits > 24)
		return -EINVAL;
	if (*n == LOCATOR_POOLS)
		return -ENOSPC;
	lp->n = 1ull << bits;
	lp->base = locator_dense_key(&pool->addr) & ~(lp->n - 1);
	lp->refs = rte_zmalloc("ue_pool", lp->n * sizeof(struct session_ref), RTE_CACHE_LINE_SIZE);
	if (!v4)
		loc->n_claimed[iface][*n] = calloc(lp->n / STRETCH + 1, sizeof(uint16_t));
	if (!lp->refs || (!v4 && !loc->n_claimed[iface][*n])) {
		rte_free(lp->refs);
		return -ENOMEM;
	}
	++*n;
	places_count(loc, iface, pool, 1);
	return 0;
}

void locator_outside_add(struct locator *loc, unsigned iface, const struct prefix *prefix)
{
	places_count(loc, iface, prefix, 1);
}

// --- UE addresses ----------------------------------------------------------------------------------------

// The word of a pool that `ue` lies in, or NULL.
static struct session_ref *dense_word(const struct locator *loc, unsigned iface,
				      const struct addr *ue)
{
	const struct locator_iface *li = &loc->iface[iface];

	return ue->family == 4 ? locator_dense(li->v4, li->n_v4, locator_dense_key(ue))
			       : locator_dense(li->v6, li->n_v6, locator_dense_key(ue));
}

static void word_store(struct session_ref *word, struct session_ref ref)
{
	uint64_t bits;

	memcpy(&bits, &ref, sizeof(bits));
	__atomic_store_n((uint64_t *)(void *)word, bits, __ATOMIC_RELEASE);
}

union ue_key {
	struct locator_v4_key v4;
	struct locator_v6_key v6;
};

static const struct rte_hash *ue_hash(const struct locator *loc, unsigned iface,
				      const struct addr *ue, union ue_key *ret_key)
{
	if (ue->family == 4) {
		ret_key->v4 = (struct locator_v4_key){ue->v4, iface};
		return loc->ue_v4;
	}
	ret_key->v6 = (struct locator_v6_key){.iface = iface};
	memcpy(&ret_key->v6.prefix, ue->v6, sizeof(ret_key->v6.prefix));
	return loc->ue_v6;
}

static int hash_add(const struct rte_hash *hash, const void *key, struct session_ref ref,
		    uint32_t *n)
{
	void *data;

	if (rte_hash_lookup_data(hash, key, &data) >= 0)
		return -EEXIST;
	memcpy(&data, &ref, sizeof(data));
	if (rte_hash_add_key_data(hash, key, data) != 0)
		return -ENOSPC;
	__atomic_store_n(n, *n + 1, __ATOMIC_RELEASE);
	return 0;
}

static int hash_del(const struct rte_hash *hash, const void *key, uint32_t *n)
{
	if (rte_hash_del_key(hash, key) < 0)
		return -ENOENT;
	__atomic_store_n(n, *n - 1, __ATOMIC_RELEASE);
	return 0;
}

int locator_ue_add(struct locator *loc, unsigned iface, const struct addr *ue,
		   struct session_ref ref)
{
	struct session_ref *word = dense_word(loc, iface, ue);
	union ue_key key;
	int rc;

	if (word) {
		if (word->check)
			return -EEXIST;
		word_store(word, ref);
		return 0;
	}
	rc = hash_add(ue_hash(loc, iface, ue, &key), &key, ref,
		      ue->family == 4 ? &loc->n_ue_v4 : &loc->n_ue_v6);
	if (rc == 0)
		places_count_ue(loc, iface, ue, 1);
	return rc;
}

int locator_ue_del(struct locator *loc, unsigned iface, const struct addr *ue)
{
	struct session_ref *word = dense_word(loc, iface, ue);
	union ue_key key;
	int rc;

	if (word) {
		if (!word->check)
			return -ENOENT;
		word_store(word, (struct session_ref){0, 0});
		return 0;
	}
	rc = hash_del(ue_hash(loc, iface, ue, &key), &key,
		      ue->family == 4 ? &loc->n_ue_v4 : &loc->n_ue_v6);
	if (rc == 0)
		places_count_ue(loc, iface, ue, -1);
	return rc;
}

struct session_ref locator_ue_get(const struct locator *loc, unsigned iface, const struct addr *ue)
{
	struct session_ref ref = {0, 0};
	struct session_ref *word = dense_word(loc, iface, ue);
	union ue_key key;
	void *data;

	if (word)
		return *word;
	if (rte_hash_lookup_data(ue_hash(loc, iface, ue, &key), &key, &data) >= 0)
		memcpy(&ref, &data, sizeof(ref));
	return ref;
}

static struct addr addr_at(unsigned family, const uint8_t *bytes)
{
	struct addr addr = {.family = (uint8_t)family};

	memcpy(family == ADDR_V4 ? (void *)&addr.v4 : addr.v6, bytes, family == ADDR_V4 ? 4 : 16);
	return addr;
}

struct session_ref locator_find(const struct locator *loc, unsigned iface, unsigned family,
				const uint8_t *dst)
{
	struct addr addr = addr_at(family, dst);
	const struct session_ref *word = dense_word(loc, iface, &addr);
	struct session_ref ref = {0, 0};
	union ue_key key;

	if (family == ADDR_V6)
		ref = locator_longer(loc, iface, dst);
	if (!ref.check && word)
		ref = locator_word(word);
	else if (!ref.check)
		ref = locator_hashed(ue_hash(loc, iface, &addr, &key), &key);
	return ref.check ? ref : locator_shorter(loc, iface, (uint8_t)family, dst);
}

// --- prefixes --------------------------------------------------------------------------------------------

static_assert(sizeof(struct locator_route_key) == 24, "a hash key without hidden padding");

static bool has_own_entry(const struct prefix *prefix)
{
	return prefix->len == (prefix->addr.family == ADDR_V4 ? 32 : 64);
}

// Says to workers whether there is any route of this length.
static void length_count(struct locator *loc, unsigned iface, const struct prefix *prefix, int more)
{
	struct locator_iface *li = &loc->iface[iface];
	bool v4 = prefix->addr.family == ADDR_V4, longer = prefix->len > 64;
	uint32_t *n = v4 ? &loc->n_lengths_v4[iface][prefix->len]
			 : &loc->n_lengths_v6[iface][prefix->len];
	uint64_t *lengths = v4 ? &li->shorter_v4 : longer ? &li->longer_v6 : &li->shorter_v6;
	uint64_t bit = 1ull << (longer ? prefix->len - LOCATOR_LONGER_FROM : prefix->len);

	*n += (uint32_t)more;
	__atomic_store_n(lengths, *n ? *lengths | bit : *lengths & ~bit, __ATOMIC_RELEASE);
}

static void route_key(struct locator_route_key *key, unsigned iface, const struct prefix *prefix)
{
	const void *addr = prefix->addr.family == ADDR_V4 ? (const void *)&prefix->addr.v4
							  : prefix->addr.v6;

	locator_route_key_make(key, iface, prefix->addr.family, addr, prefix->len);
}

static int route_add(struct locator *loc, unsigned iface, const struct prefix *prefix,
		     struct session_ref ref)
{
	struct locator_route_key key;
	int rc;

	route_key(&key, iface, prefix);
	if (loc->n_routes == loc->max_routes)
		return rte_hash_lookup(loc->routes, &key) >= 0 ? -EEXIST : -ENOSPC;
	rc = hash_add(loc->routes, &key, ref, &loc->n_routes);
	if (rc != 0)
		return rc;
	length_count(loc, iface, prefix, 1);
	places_count(loc, iface, prefix, 1);
	return 0;
}

static int route_del(struct locator *loc, unsigned iface, const struct prefix *prefix)
{
	struct locator_route_key key;
	int rc;

	route_key(&key, iface, prefix);
	rc = hash_del(loc->routes, &key, &loc->n_routes);
	if (rc != 0)
		return rc;
	length_count(loc, iface, prefix, -1);
	places_count(loc, iface, prefix, -1);
	return 0;
}

// --- UEs' own IPv6 prefixes ------------------------------------------------------------------------------

static bool is_dense(const struct locator *loc, unsigned iface, const struct prefix *prefix)
{
	return has_own_entry(prefix) && dense_word(loc, iface, &prefix->addr);
}

// One more, or one less, claim of a /64 of a dense pool.
static void dense_claim_count(const struct locator *loc, unsigned iface,
			      const struct prefix *prefix, int more)
{
	const struct locator_iface *li = &loc->iface[iface];
	uint64_t key = locator_dense_key(&prefix->addr);
	unsigned i = 0;

	while (key - li->v6[i].base >= li->v6[i].n)
		i++;
	loc->n_claimed[iface][i][(key - li->v6[i].base) / STRETCH] += (uint16_t)more;
}

// Whether a session but this one has claimed the /64 at this place of a pool.
static bool is_claimed(const struct locator *loc, unsigned iface, const struct locator_pool *pool,
		       uint64_t at, struct session_ref but)
{
	struct prefix prefix = {.addr.family = ADDR_V6, .len = 64};

	if (!pool->refs[at].check || memcmp(&pool->refs[at], &but, sizeof(but)) == 0)
		return false;
	word64_put(prefix.addr.v6, rte_cpu_to_be_64(pool->base + at));
	return !claims_overlap(loc->framed, iface, &prefix);
}

// Whether one has claimed a /64 of pool i within or around the prefix. Looks at all places of few stretches alone: a
// session has few prefixes, and a stretch with another's ends it.
static bool pool_overlaps(const struct locator *loc, unsigned iface, unsigned i,
			  const struct prefix *prefix, struct session_ref but)
{
	const struct locator_pool *pool = &loc->iface[iface].v6[i];
	uint64_t size = prefix->len < 64 ? 1ull << (64 - prefix->len) : 1;
	uint64_t first = locator_dense_key(&prefix->addr) & ~(size - 1), last = first + (size - 1);
	uint64_t pool_last = pool->base + (pool->n - 1);

	if (last < pool->base || first > pool_last)
		return false;
	first = first < pool->base ? 0 : first - pool->base;
	last = (last < pool_last ? last : pool_last) - pool->base;
	for (uint64_t at = first; at <= last; at++) {
		if (loc->n_claimed[iface][i][at / STRETCH] == 0)
			at |= STRETCH - 1; // on to the next one
		else if (is_claimed(loc, iface, pool, at, but))
			return true;
	}
	return false;
}

static bool dense_overlaps(const struct locator *loc, unsigned iface, const struct prefix *prefix,
			   struct session_ref but)
{
	for (unsigned i = 0; i < loc->iface[iface].n_v6; i++)
		if (pool_overlaps(loc, iface, i, prefix, but))
			return true;
	return false;
}

static int claim(struct locator *loc, unsigned iface, const struct prefix *prefix, bool framed,
		 struct session_ref ref)
{
	bool dense = is_dense(loc, iface, prefix);

	if (dense && dense_word(loc, iface, &prefix->addr)->check)
		return -EEXIST;
	if (dense && framed)
		return claims_add(loc->framed, iface, prefix, ref);
	if (framed)
		return 0;
	if (dense_overlaps(loc, iface, prefix, ref))
		return -EEXIST;
	if (!dense)
		return claims_add(loc->claims, iface, prefix, ref);
	if (claims_overlap_others(loc->claims, iface, prefix, ref))
		return -EEXIST;
	dense_claim_count(loc, iface, prefix, 1);
	return 0;
}

static void claim_end(struct locator *loc, unsigned iface, const struct prefix *prefix)
{
	if (!is_dense(loc, iface, prefix))
		claims_del(loc->claims, iface, prefix); // a framed route has none
	else if (claims_del(loc->framed, iface, prefix) != 0)
		dense_claim_count(loc, iface, prefix, -1);
}

int locator_prefix_add(struct locator *loc, unsigned iface, const struct prefix *prefix,
		       bool framed, struct session_ref ref)
{
	bool v6 = prefix->addr.family == ADDR_V6;
	int rc = v6 ? claim(loc, iface, prefix, framed, ref) : 0;

	if (rc != 0)
		return rc;
	rc = has_own_entry(prefix) ? locator_ue_add(loc, iface, &prefix->addr, ref)
				   : route_add(loc, iface, prefix, ref);
	if (rc != 0 && v6 && !framed) // a framed one that is refused has none
		claim_end(loc, iface, prefix);
	return rc;
}

int locator_prefix_del(struct locator *loc, unsigned iface, const struct prefix *prefix)
{
	int rc = has_own_entry(prefix) ? locator_ue_del(loc, iface, &prefix->addr)
				       : route_del(loc, iface, prefix);

	if (rc == 0 && prefix->addr.family == ADDR_V6)
		claim_end(loc, iface, prefix);
	return rc;
}

bool locator_prefix_held(const struct locator *loc, unsigned iface, const struct prefix *prefix)
{
	const struct session_ref none = {0, 0};
	struct locator_route_key key;

	if (prefix->addr.family == ADDR_V6 && (claims_overlap(loc->claims, iface, prefix) ||
					       dense_overlaps(loc, iface, prefix, none)))
		return true;
	if (has_own_entry(prefix))
		return locator_ue_get(loc, iface, &prefix->addr).check != 0;
	route_key(&key, iface, prefix);
	return rte_hash_lookup(loc->routes, &key) >= 0;
}

// --- TEIDs that SMFs chose -------------------------------------------------------------------------------

static struct locator_teid_key teid_key(uint32_t teid, const struct addr *local)
{
	return locator_teid_key(teid, local->family,
				local->family == ADDR_V4 ? (const uint8_t *)&local->v4 : local->v6);
}

int locator_teid_add(struct locator *loc, uint32_t teid, const struct addr *local,
		     struct session_ref ref)
{
	struct locator_teid_key key = teid_key(teid, local);

	return hash_add(loc->teids, &key, ref, &loc->n_teids);
}

int locator_teid_del(struct locator *loc, uint32_t teid, const struct addr *local)
{
	struct locator_teid_key key = teid_key(teid, local);

	return hash_del(loc->teids, &key, &loc->n_teids);
}
