// The workers' side of the locators (locator.h): inline, without locks.
//
// Any thread.

#pragma once

#include <string.h>

#include <rte_hash.h>

#include "packet/be.h"
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

// The bit of places_v4 or places_v6 that an address has.
static inline unsigned locator_place(unsigned family, const uint8_t *addr)
{
	if (family == ADDR_V4)
		return (uint32_t)(be16_get(addr) * 0x9e3779b1u) >> 23;
	return (unsigned)((locator_dense_key_v6(addr) >> 16) * 0x9e3779b97f4a7c15ull >> 55);
}

// Whether `dst` may be a UE's or lie in a route: true for all that do, and for a few others.
static inline bool locator_may_be_ue(const struct locator *loc, unsigned iface, unsigned family,
				     const uint8_t *dst)
{
	const struct locator_iface *li = &loc->iface[iface];
	unsigned place = locator_place(family, dst);
	const uint64_t *words = family == ADDR_V4 ? li->places_v4 : li->places_v6;

	return __atomic_load_n(&words[place / 64], __ATOMIC_RELAXED) >> place % 64 & 1;
}

// --- routes ----------------------------------------------------------------------------------------------

static inline uint64_t locator_mask(unsigned len) // of the first `len` bits of 64, network order
{
	return len == 0 ? 0 : rte_cpu_to_be_64(UINT64_MAX << (64 - len));
}

static inline void locator_route_key_make(struct locator_route_key *key, unsigned iface,
					  uint8_t family, const void *addr, unsigned len)
{
	*key = (struct locator_route_key){
		.iface = (uint16_t)iface, .family = family, .len = (uint8_t)len};
	memcpy(key->addr, addr, family == ADDR_V4 ? 4 : 16);
	key->addr[0] &= locator_mask(len < 64 ? len : 64);
	key->addr[1] &= locator_mask(len < 64 ? 0 : len - 64);
}

// The route of the longest of these lengths (bits, of which bit 0 is `from`) that the address lies in.
static inline struct session_ref locator_routed(const struct locator *loc, unsigned iface,
						uint8_t family, const void *addr,
						const uint64_t *lengths, unsigned from)
{
	uint64_t bits = __atomic_load_n(lengths, __ATOMIC_RELAXED);
	struct session_ref ref = {0, 0};

	while (bits && !ref.check) {
		unsigned bit = 63 - (unsigned)__builtin_clzll(bits);
		struct locator_route_key key;

		locator_route_key_make(&key, iface, family, addr, from + bit);
		ref = locator_hashed(loc->routes, &key);
		bits &= ~(1ull << bit);
	}
	return ref;
}

#define LOCATOR_LONGER_FROM 65 // what bit 0 of longer_v6 stands for

// For an IPv6 address, before its /64 is looked up.
static inline struct session_ref locator_longer(const struct locator *loc, unsigned iface,
						const uint8_t *addr)
{
	return locator_routed(loc, iface, ADDR_V6, addr, &loc->iface[iface].longer_v6,
			      LOCATOR_LONGER_FROM);
}

// For an address that has no entry of its own.
static inline struct session_ref locator_shorter(const struct locator *loc, unsigned iface,
						 uint8_t family, const void *addr)
{
	const struct locator_iface *li = &loc->iface[iface];

	return locator_routed(loc, iface, family, addr,
			      family == ADDR_V4 ? &li->shorter_v4 : &li->shorter_v6, 0);
}
