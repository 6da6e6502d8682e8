// NAT44 at one worker: the outside ports of its sessions' flows (RFC 3022, RFC 4787, RFC 5382, RFC 5508).
//
// Worker. A *mapping* is what a UE's address and port (or echo identifier) is outside: an address and a port of a block
// that its session has (session/nat_ports.h). All flows of the UE's address, port and protocol share it, or, where the
// pool maps by remote, those to one remote address; it ends with the last of them. A translated flow has a second key
// (session/flow.h): the same with what the network outside sees in place of the UE's side. So a packet from outside
// meets its flow as any other does, and this file is only needed when flows begin and end.

#pragma once

#include <assert.h>

#include "session/nat_ports.h"
#include "stats/stats.h"
#include "worker/flows.h"

// By profile of flows: the network instance. Shared by all workers, for as long as they live.
struct nat_pools {
	uint32_t n; // profiles that may have one; 0: nothing is translated
	struct nat_pool pools[FLOW_PROFILES];
};

struct nat_mapping {
	rte_be32_t ue, remote; // remote 0: any
	rte_be32_t outside;
	uint32_t slot;  // of the session
	uint32_t block; // that the port is of
	uint32_t flows; // that have it
	uint16_t ue_port, port;
	uint8_t proto, profile;
	uint16_t spare;
};
static_assert(sizeof(struct nat_mapping) == 32, "two a cache line");

struct nat {
	const struct nat_pools *pools;         // NULL: nothing is translated
	struct nat_ports ports[FLOW_PROFILES]; // of those that have a pool
	struct nat_session *sessions;          // [slots]
	uint32_t n, used;                      // mappings: no more than there are flows
	struct nat_mapping *mappings;          // [n + 1]
	uint32_t *free;                        // [n]
	uint32_t *of_flow;                     // [n + 1]: each flow's mapping, 0: none
	struct flow_index inside;              // mappings by the UE's side
	struct flow_index outside;             // and by address and port outside
	struct flow_index
		remotes; // flows by mapping and remote address, where the pool's filter asks
};

// What these take, but for pools and their ports.
static inline size_t nat_bytes(uint32_t n_flows, uint32_t n_slots)
{
	return ((size_t)n_flows + 1) * (sizeof(struct nat_mapping) + 2 * sizeof(uint32_t)) +
	       3 * flow_index_bytes(n_flows) + n_slots * sizeof(struct nat_session);
}

// Room for the mappings of n_flows flows; pools NULL: nothing. 0 or -ENOMEM. Start-up.
int nat_init(struct nat *nat, const struct nat_pools *pools, unsigned worker, unsigned n_workers,
	     uint32_t n_flows, uint32_t n_slots, int socket);
void nat_fini(struct nat *nat);

// Whether flows of the protocol can be translated.
bool nat_serves(uint8_t proto);

// Gives a flow that has none a mapping, an old or a new one, and the second key that follows, as nat_join(). DROP_NONE,
// or why not.
enum drop nat_bind(struct worker *w, uint32_t number, const struct flow_key *remote);
// A packet from outside is of no flow; `from` is its key, with an address and port outside at the UE's side. Writes the
// key that its flow is to have, and the mapping that leads to it; or why there is to be none.
enum drop nat_admit(const struct worker *w, uint32_t slot, uint8_t profile,
		    const struct flow_key *from, struct flow_key *ret_key, uint32_t *ret_mapping);
// Makes a flow one of the mapping's: one that has just been made for such a packet, or that has just been bound. Its
// second key has the remote end of `remote`, its own or that which it is redirected to.
enum drop nat_join(struct worker *w, uint32_t number, uint32_t mapping,
		   const struct flow_key *remote);
// The flow's packets go to another remote end: so its second key has that.
enum drop nat_move(struct worker *w, uint32_t number, const struct flow_key *remote);
// The flow ends (flow_fn).
void nat_leave(struct worker *w, uint32_t number);
