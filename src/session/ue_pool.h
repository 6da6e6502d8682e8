// Pools of UE addresses: what the UPF gives out where an SMF leaves the choice to it (TS 29.244 5.21.3).
//
// Control thread only. A pool is a prefix of a network instance. Nothing is kept for an address that was never
// given out, so a pool may be as large as it likes; what has been given back waits, first in, first out, and
// is not given again before its time. IPv4 addresses and /64s are counted up from some place in the pool, shorter
// IPv6 prefixes down from its end. Whether a session holds an address by its own claim is the locator's to say.

#pragma once

#include <stdint.h>

#include "base/addr.h"

struct locator;
struct ue_pools;

struct ue_pools_conf {
	uint64_t rest_ns; // no address is given again before
	// So many of each pool are given out before any that has rested is given again. It is the measure of the
	// pools' memory: what rests and is not due stands beside.
	uint32_t fresh_first;
};

// NULL without memory.
struct ue_pools *ue_pools_new(const struct ue_pools_conf *conf);
void ue_pools_free(struct ue_pools *pools);

// A pool of network instance `ni`, whose UEs are behind interface `iface`. `start` is where counting begins, so
// that a restarted UPF does not begin with what its former life gave out last. 0, or -ENOMEM. Start-up.
int ue_pools_add(struct ue_pools *pools, unsigned ni, unsigned iface, const struct prefix *prefix,
		 uint64_t start);
// Keeps an address of the interface's own net (its hosts, gateway, broadcast) out of what is given. -ENOMEM.
int ue_pools_except(struct ue_pools *pools, unsigned iface, const struct addr *addr);

// Whether the instance has a pool for prefixes of this length.
bool ue_pools_have(const struct ue_pools *pools, unsigned ni, uint8_t family, uint8_t len);
// A prefix of this length (IPv4: 32; IPv6: 64 or shorter) that no session holds. -ENOSPC: none is free, or none
// has rested for long enough.
int ue_pools_take(struct ue_pools *pools, const struct locator *loc, unsigned ni, uint8_t family,
		  uint8_t len, uint64_t now_ns, struct prefix *ret_prefix);
// Gives back what was taken.
void ue_pools_give(struct ue_pools *pools, unsigned ni, const struct prefix *prefix,
		   uint64_t now_ns);
// A session has let go of a prefix that it claimed by itself: if that waits to be given, it now waits anew.
void ue_pools_rest(struct ue_pools *pools, unsigned iface, const struct prefix *prefix,
		   uint64_t now_ns);

struct ue_pool_view {
	unsigned ni, iface;
	struct prefix prefix;
	uint64_t size;     // IPv4 addresses, or /64s
	uint64_t used;     // of them, given out by us
	uint32_t prefixes; // shorter ones than /64 among that
	uint32_t resting;  // addresses, and prefixes, that wait to be given again
};

void ue_pools_each(const struct ue_pools *pools,
		   void (*fn)(void *ctx, const struct ue_pool_view *pool), void *ctx);
