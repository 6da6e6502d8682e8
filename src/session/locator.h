// Locators: from a packet's key to the session that it belongs to.
//
// One writer, the control thread; every worker reads without locks. Freed table memory is reused only
// after each worker has passed a quiescent point (worker/quiesce.h). An entry is one 64-bit word, so a
// reader sees the old or the new reference; a stale one is found out by the owner, which checks it.
//
// UE addresses are looked up per interface (network instances that share an N6 interface share its address
// space): a dense array over each configured pool, a hash for all others (IPv6 by its /64). What is neither an
// IPv4 address nor a /64 (framed routes, other prefixes of UEs) is a route: in one hash by prefix and length,
// asked by each length in use, the longest first, for packets whose address has no entry of its own. TEIDs
// that the SMF chose are in a hash of (TEID, local address); TEIDs of our own need no table (rules/teid.h).

#pragma once

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_hash.h>

#include "base/addr.h"
#include "packet/pkt.h"

struct rte_rcu_qsbr;

#define LOCATOR_IFACES 16
#define LOCATOR_POOLS 8 // for each interface and family
#define LOCATOR_PLACES 512

// Addresses base .. base + n - 1 (IPv4), or /64s base .. base + n - 1 (upper half of the address).
struct locator_pool {
	uint64_t base; // host order
	uint64_t n;
	struct session_ref *refs; // [n]
};

// Lengths of routes in use are bits: written by control, read by workers. Aligned so that an IPv4 packet finds
// its first pool in the line that it begins with.
struct locator_iface {
	uint32_t n_v4, n_v6;
	uint64_t longer_v6; // bit 0: /65 … bit 63: /128. They go before the /64 that they lie in
	uint64_t shorter_v6, shorter_v4; // bit by length: /1 … /63, /1 … /31
	struct locator_pool v4[LOCATOR_POOLS], v6[LOCATOR_POOLS];
	// Where UE addresses and routes may be: a bit for the /16s (IPv4) or /48s with one hash. Written by control,
	// read by workers, to tell most other destinations from UEs by one load (locator_may_be_ue).
	uint64_t places_v4[LOCATOR_PLACES / 64] __rte_cache_aligned;
	uint64_t places_v6[LOCATOR_PLACES / 64];
} __rte_cache_aligned;

struct locator {
	struct locator_iface iface[LOCATOR_IFACES];
	struct rte_hash *ue_v4; // struct locator_v4_key -> session_ref in the data word
	struct rte_hash *ue_v6; // struct locator_v6_key
	struct rte_hash *teids; // struct locator_teid_key
	uint32_t n_ue_v4, n_ue_v6,
		n_teids;         // entries of the hashes: written by control, read by workers
	struct rte_hash *routes; // struct locator_route_key

	// Control thread alone.
	uint32_t n_routes, max_routes;
	uint32_t n_lengths_v4[LOCATOR_IFACES][32 + 1], n_lengths_v6[LOCATOR_IFACES][128 + 1];
	uint32_t n_places_v4[LOCATOR_IFACES][LOCATOR_PLACES]; // entries by their bit
	uint32_t n_places_v6[LOCATOR_IFACES][LOCATOR_PLACES];
	// UEs' own IPv6 prefixes: those that are no /64 of a dense pool; of those that are, how many there are in each
	// stretch of a pool; and which of a pool's /64s are framed routes.
	struct claims *claims, *framed;
	uint16_t *n_claimed[LOCATOR_IFACES][LOCATOR_POOLS];
};

struct locator_v4_key {
	rte_be32_t addr;
	uint32_t iface;
};

struct locator_v6_key {
	uint64_t prefix; // the upper half, network order
	uint32_t iface;
	uint32_t zero;
};

struct locator_teid_key {
	uint32_t teid; // host order
	uint32_t family;
	uint8_t local[16]; // IPv4 in the first four, the rest 0
};

static inline struct locator_teid_key locator_teid_key(uint32_t teid, unsigned family,
						       const uint8_t *local)
{
	struct locator_teid_key key = {.teid = teid, .family = family};

	memcpy(key.local, local, family == 4 ? 4 : 16);
	return key;
}

struct locator_route_key {
	uint64_t addr
		[2]; // network order, zero beyond the length; an IPv4 address in the first four octets
	uint16_t iface;
	uint8_t family, len;
	uint32_t zero;
};

// `max_hashed` sizes the hashes of each family and of TEIDs, `max_routes` that of routes. NULL without memory. Start-up.
struct locator *locator_new(uint32_t max_hashed, uint32_t max_routes, struct rte_rcu_qsbr *qsbr);
void locator_free(struct locator *loc);
// Makes `pool` of interface `iface` dense. -EINVAL: too long a prefix, or larger than 2^24 entries (then the
// hash serves it). Start-up.
int locator_pool_add(struct locator *loc, unsigned iface, const struct prefix *pool);

// Says that packets to a prefix may be for UEs (locator_may_be_ue): those outside of NAT. Start-up.
void locator_outside_add(struct locator *loc, unsigned iface, const struct prefix *prefix);

// Control thread. -EEXIST: another session has the key, nothing is changed. -ENOSPC: table full.
int locator_ue_add(struct locator *loc, unsigned iface, const struct addr *ue,
		   struct session_ref ref);
int locator_teid_add(struct locator *loc, uint32_t teid, const struct addr *local,
		     struct session_ref ref);
// -ENOENT when the key is not there.
int locator_ue_del(struct locator *loc, unsigned iface, const struct addr *ue);
int locator_teid_del(struct locator *loc, uint32_t teid, const struct addr *local);
// The reference, or {0, 0}. Control thread (packets use the inline forms of locator_lookup.h).
struct session_ref locator_ue_get(const struct locator *loc, unsigned iface, const struct addr *ue);
// The session that a packet to `dst` (network order, of `family`) is for by all of these and the routes; {0, 0}: none.
// Any thread; workers locate what comes in by themselves (pipeline/3_locate.h).
struct session_ref locator_find(const struct locator *loc, unsigned iface, unsigned family,
				const uint8_t *dst);

// A prefix of any length but 0. Framed ones may lie around or within others; one of a UE itself must not be
// anywhere in what another session's UE has. Control thread. -EEXIST: another has it, or (of a UE) a part of it,
// or what it is a part of; also when the same session has it. -ENOSPC: no room for a further route. -ENOMEM.
int locator_prefix_add(struct locator *loc, unsigned iface, const struct prefix *prefix,
		       bool framed, struct session_ref ref);
// -ENOENT when it is not there.
int locator_prefix_del(struct locator *loc, unsigned iface, const struct prefix *prefix);
// Whether a session has just this prefix, or a UE has a part of it or what it is a part of.
bool locator_prefix_held(const struct locator *loc, unsigned iface, const struct prefix *prefix);
