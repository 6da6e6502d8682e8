// Addresses that are kept once, see kept.h.
// Control thread. Chains in buckets, doubled as addresses become more, by a random key, since peers choose them.

#include "base/kept.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "base/slab.h"

#define BUCKETS_MIN 64

struct kept {
	struct addr addr; // what users point to
	uint32_t users;
	struct kept *next; // in its bucket
};

static struct kept *first_buckets[BUCKETS_MIN];
static struct kept **buckets = first_buckets;
static uint32_t mask = BUCKETS_MIN - 1; // number of buckets less one
static uint32_t n;
static uint64_t keys[2];

static struct kept **bucket_of(struct kept *const *of, uint32_t of_mask, const struct addr *addr)
{
	uint64_t parts[2] = {0};

	if (addr->family == ADDR_V6)
		memcpy(parts, addr->v6, sizeof(parts));
	else
		parts[0] = (uint64_t)addr->v4 << 8 | addr->family;
	while (keys[0] == 0) {
		keys[0] = rand_u64();
		keys[1] = rand_u64() | 1;
	}
	parts[0] = (parts[0] ^ keys[0]) * keys[1];
	parts[0] ^= parts[0] >> 32;
	parts[0] = (parts[0] ^ parts[1]) * keys[1];
	return (struct kept **)(uintptr_t)&of[parts[0] >> 32 & of_mask];
}

// Where the pointer to this address stands, or would stand.
static struct kept **place_of(const struct addr *addr)
{
	struct kept **at = bucket_of(buckets, mask, addr);

	while (*at && !addr_eq(&(*at)->addr, addr))
		at = &(*at)->next;
	return at;
}

// Twice as many buckets; without memory the chains just become longer.
static void grow(void)
{
	uint32_t more = 2 * mask + 1;
	struct kept **grown = calloc((size_t)more + 1, sizeof(struct kept *)), *kept;

	if (!grown)
		return;
	for (uint32_t i = 0; i <= mask; i++)
		while ((kept = buckets[i]) != NULL) {
			struct kept **at = bucket_of(grown, more, &kept->addr);

			buckets[i] = kept->next;
			kept->next = *at;
			*at = kept;
		}
	if (buckets != first_buckets)
		free(buckets);
	buckets = grown;
	mask = more;
}

const struct addr *kept_lookup(const struct addr *addr)
{
	const struct kept *kept = *place_of(addr);

	return kept ? &kept->addr : NULL;
}

const struct addr *kept_take(const struct addr *addr)
{
	struct kept **at = place_of(addr), *kept = *at;

	if (!kept) {
		kept = slab_take(sizeof(*kept));
		if (!kept)
			return NULL;
		*kept = (struct kept){.addr = *addr};
		*at = kept;
		if (++n > mask && mask < UINT32_MAX / 2)
			grow();
	}
	kept->users++;
	return &kept->addr;
}

static_assert(offsetof(struct kept, addr) == 0, "an address is where its record is");

void kept_give(const struct addr *addr)
{
	struct kept **at, *kept;

	if (!addr)
		return;
	at = place_of(addr);
	kept = *at;
	if (--kept->users > 0)
		return;
	*at = kept->next;
	slab_give(kept, sizeof(*kept));
	if (--n > 0 || buckets == first_buckets)
		return;
	free(buckets); // all have gone
	buckets = first_buckets;
	mask = BUCKETS_MIN - 1;
}
