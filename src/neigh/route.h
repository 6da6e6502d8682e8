// Routes: from a destination to the next hop, for the workers and the control thread.
//
// An interface knows its connected subnets and one gateway a family. On-link neighbours that have been
// resolved are in a hash, written by the control thread and read by workers without locks; the rest is fixed
// at start.

#pragma once

#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_hash.h>

#include "base/addr.h"
#include "session/peer.h"

#define ROUTE_IFACES 16
#define ROUTE_SUBNETS 8 // of one interface, both families

#define ROUTE_POLICIES 32
#define ROUTE_OWNS (ROUTE_IFACES * ROUTE_SUBNETS + 1) // addresses of our own

// What is no peer.
#define ROUTE_ASK 0xffff // on-link, and no peer yet: the control thread resolves it
#define ROUTE_OWN 0xfffe // an address of our own, of whatever interface, or of N4

struct route_iface {
	uint8_t n_subnets;
	uint16_t gateway_v4, gateway_v6;      // peers; PEER_NONE: no gateway
	struct prefix subnets[ROUTE_SUBNETS]; // host bits cleared
	struct {
		rte_be32_t net, mask; // IPv4 subnets once more, ready to compare
	} v4[ROUTE_SUBNETS];
	uint8_t n_v4;
};

// A way out that a FAR may name (Forwarding Policy): peers that all packets of a family go to, or PEER_NONE: as the
// routes say.
struct route_policy {
	uint16_t hop_v4, hop_v6;
};

struct route_key {
	uint8_t addr[16]; // IPv4 in the first four, the rest 0
	uint32_t iface;
	uint32_t family;
};

struct route_table {
	struct route_iface ifaces[ROUTE_IFACES];
	struct route_policy policies[ROUTE_POLICIES];
	struct rte_hash *hops;  // struct route_key -> peer index in the data word
	uint64_t own_octets[4]; // a bit for each last octet that an address of our own has
	unsigned n_own;
	struct addr own[ROUTE_OWNS];
};

// Whether `dst`, whose last octet one of our own has, is that address.
bool route_is_own(const struct route_table *routes, unsigned family, const uint8_t *dst);

// The same for any `dst`: nearly all are told by one bit.
static inline bool route_own(const struct route_table *routes, unsigned family, const uint8_t *dst)
{
	uint8_t last = dst[family == 4 ? 3 : 15];

	return unlikely(routes->own_octets[last >> 6] >> (last & 63) & 1) &&
	       route_is_own(routes, family, dst);
}

static inline struct route_key route_key(unsigned iface, unsigned family, const uint8_t *addr)
{
	struct route_key key = {.iface = iface, .family = family};

	memcpy(key.addr, addr, family == 4 ? 4 : 16);
	return key;
}

// Whether `dst` (network order, of `family`) lies in a subnet of the interface.
bool route_is_onlink(const struct route_iface *ri, unsigned family, const uint8_t *dst);

static inline uint16_t route_hop(const struct route_table *routes, unsigned iface, unsigned family,
				 const uint8_t *dst)
{
	struct route_key key = route_key(iface, family, dst);
	void *data;

	if (rte_hash_lookup_data(routes->hops, &key, &data) < 0)
		return ROUTE_ASK;
	return (uint16_t)(uintptr_t)data;
}

// The peer that a plain packet to `dst` leaves to by this interface: PEER_NONE without a route, ROUTE_ASK
// for an on-link neighbour that must be resolved first, ROUTE_OWN where it should not leave at all.
static inline uint16_t route_lookup(const struct route_table *routes, unsigned iface,
				    unsigned family, const uint8_t *dst)
{
	const struct route_iface *ri = &routes->ifaces[iface];

	if (route_own(routes, family, dst))
		return ROUTE_OWN;
	if (family == 4) {
		rte_be32_t addr;

		memcpy(&addr, dst, sizeof(addr));
		for (unsigned i = 0; i < ri->n_v4; i++)
			if ((addr & ri->v4[i].mask) == ri->v4[i].net)
				return route_hop(routes, iface, family, dst);
		return ri->gateway_v4;
	}
	if (route_is_onlink(ri, family, dst))
		return route_hop(routes, iface, family, dst);
	return ri->gateway_v6;
}
