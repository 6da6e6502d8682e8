// The workers' side of the locators (locator.h): inline, without locks.
//
// Any thread.

#pragma once

#include <string.h>

#include <rte_hash.h>

#include "session/locator.h"

// The number that a dense pool counts by: an IPv4 address, or the upper half of an IPv6 one, host order.
static inline uint64_t locator_dense_key_v6(const uint8_t *v6)
{
	uint64_t high;

	memcpy(&high, v6, sizeof(high));
	return rte_be_to_cpu_64(high);
}

static inline uint64_t locator_dense_key(const struct addr *addr)
{
	return addr->family == 4 ? rte_be_to_cpu_32(addr->v4) : locator_dense_key_v6(addr->v6);
}

// The word for `key` in one of the pools, or NULL.
static inline struct session_ref *locator_dense(const struct locator_pool *pools, uint32_t n,
						uint64_t key)
{
	for (uint32_t i = 0; i < n; i++)
		if (key - pools[i].base < pools[i].n)
			return &pools[i].refs[key - pools[i].base];
	return NULL;
}

static inline struct session_ref locator_word(const struct session_ref *word)
{
	uint64_t bits = __atomic_load_n((const uint64_t *)(const void *)word, __ATOMIC_ACQUIRE);
	struct session_ref ref;

	memcpy(&ref, &bits, sizeof(ref));
	return ref;
}

// The reference of a key in one of the hashes; {0, 0} when it has none.
static inline struct session_ref locator_hashed(const struct rte_hash *hash, const void *key)
{
	struct session_ref ref = {0, 0};
	void *data;

	if (rte_hash_lookup_data(hash, key, &data) >= 0)
		memcpy(&ref, &data, sizeof(ref));
	return ref;
}
