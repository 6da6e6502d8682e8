// Claims of IPv6 prefixes, see claims.h.
//
// Order: by interface, address, then length, so that a prefix stands right before all that lie within it.
// Prefixes around one are looked for by each length that is in use at all.

#include "session/claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "base/slab.h"

#define LEVELS 16 // enough for 4^16 claims
#define LENGTHS 129

struct claim {
	struct prefix prefix;
	uint16_t iface, levels;
	struct session_ref ref;
	struct claim *next[]; // by level
};

struct claims {
	uint32_t of_length[LENGTHS]; // how many there are
	uint64_t random;             // bits of it pick levels
	struct claim *first[LEVELS];
};

static size_t claim_bytes(unsigned levels)
{
	return sizeof(struct claim) + levels * sizeof(struct claim *);
}

static void claim_free(struct claim *claim)
{
	slab_give(claim, claim_bytes(claim->levels));
}

struct claims *claims_new(void)
{
	struct claims *claims = calloc(1, sizeof(*claims));

	if (claims)
		claims->random = rand_u64() | 1;
	return claims;
}

void claims_free(struct claims *claims)
{
	struct claim *claim;

	if (!claims)
		return;
	while ((claim = claims->first[0]) != NULL) {
		claims->first[0] = claim->next[0];
		claim_free(claim);
	}
	free(claims);
}

static int order(const struct claim *claim, unsigned iface, const struct prefix *prefix)
{
	int by_addr;

	if (claim->iface != iface)
		return claim->iface < iface ? -1 : 1;
	by_addr = addr_cmp(&claim->prefix.addr, &prefix->addr);
	return by_addr ? by_addr : (int)claim->prefix.len - (int)prefix->len;
}

// The first claim that does not stand before the prefix, or NULL; the pointers that lead to it at each level.
static struct claim *lower_bound(const struct claims *claims, unsigned iface,
				 const struct prefix *prefix, struct claim **ret_at[LEVELS])
{
	struct claim *const *at = claims->first;

	for (unsigned level = LEVELS; level-- > 0;) {
		while (at[level] && order(at[level], iface, prefix) < 0)
			at = at[level]->next;
		if (ret_at)
			ret_at[level] = (struct claim **)(uintptr_t)&at[level];
	}
	return at[0];
}

static struct prefix network(const struct prefix *prefix, uint8_t len)
{
	return (struct prefix){.addr = addr_mask(&prefix->addr, len), .len = len};
}

static const struct claim *lookup(const struct claims *claims, unsigned iface,
				  const struct prefix *prefix)
{
	const struct claim *claim = lower_bound(claims, iface, prefix, NULL);

	return claim && order(claim, iface, prefix) == 0 ? claim : NULL;
}

// The first claim around or within the prefix that is not this session's; check 0: of any session.
static const struct claim *overlap(const struct claims *claims, unsigned iface,
				   const struct prefix *prefix, struct session_ref but)
{
	const struct claim *claim;

	for (uint8_t len = 0; len < prefix->len; len++) {
		struct prefix around;

		if (claims->of_length[len] == 0)
			continue;
		around = network(prefix, len);
		claim = lookup(claims, iface, &around);
		if (claim && memcmp(&claim->ref, &but, sizeof(but)) != 0)
			return claim;
	}
	// Of one session there are few.
	for (claim = lower_bound(claims, iface, prefix, NULL);
	     claim && claim->iface == iface && prefix_contains(prefix, &claim->prefix.addr);
	     claim = claim->next[0])
		if (memcmp(&claim->ref, &but, sizeof(but)) != 0)
			return claim;
	return NULL;
}

// One level in four goes on to the next.
static unsigned levels_pick(struct claims *claims)
{
	unsigned n = 1;

	claims->random ^= claims->random << 13;
	claims->random ^= claims->random >> 7;
	claims->random ^= claims->random << 17;
	for (uint64_t bits = claims->random >> 8; n < LEVELS && (bits & 3) == 0; bits >>= 2)
		n++;
	return n;
}

int claims_add(struct claims *claims, unsigned iface, const struct prefix *prefix,
	       struct session_ref ref)
{
	struct prefix net = network(prefix, prefix->len);
	struct claim **at[LEVELS], *claim = lower_bound(claims, iface, &net, at);
	unsigned levels = levels_pick(claims);

	if ((claim && order(claim, iface, &net) == 0) || overlap(claims, iface, &net, ref))
		return -EEXIST;
	claim = slab_take(claim_bytes(levels));
	if (!claim)
		return -ENOMEM;
	claim->prefix = net;
	claim->iface = (uint16_t)iface;
	claim->ref = ref;
	claim->levels = (uint16_t)levels;
	for (unsigned i = 0; i < levels; i++) {
		claim->next[i] = *at[i];
		*at[i] = claim;
	}
	claims->of_length[net.len]++;
	return 0;
}

int claims_del(struct claims *claims, unsigned iface, const struct prefix *prefix)
{
	struct prefix net = network(prefix, prefix->len);
	struct claim **at[LEVELS], *claim = lower_bound(claims, iface, &net, at);

	if (!claim || order(claim, iface, &net) != 0)
		return -ENOENT;
	for (unsigned i = 0; i < LEVELS && *at[i] == claim; i++)
		*at[i] = claim->next[i];
	claims->of_length[net.len]--;
	claim_free(claim);
	return 0;
}

bool claims_overlap_others(const struct claims *claims, unsigned iface, const struct prefix *prefix,
			   struct session_ref but)
{
	struct prefix net = network(prefix, prefix->len);

	return overlap(claims, iface, &net, but) != NULL;
}

bool claims_overlap(const struct claims *claims, unsigned iface, const struct prefix *prefix)
{
	return claims_overlap_others(claims, iface, prefix, (struct session_ref){0, 0});
}
