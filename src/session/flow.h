// The flow table of one worker: conversations of its sessions, each with the services that it still has to visit.
//
// Owner worker. A flow has a number, from 1, for as long as it lives, and a version, which is another whenever its
// number is given again: whoever remembers a flow remembers both. What a packet needs of it stands in one cache
// line, the key included. Packets of both directions lead to the same flow; so does a *second* key, if it has one
// (what the network sees of a translated flow). The table knows nothing of time and of limits (worker/flows.h).

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/flow_index.h"
#include "session/flow_key.h"

#define FLOW_NUMBER_BITS 24 // of a flow's id
#define FLOW_PDR_NONE 0xff

// Flags of struct flow.
#define FLOW_F_USED 0x01
#define FLOW_F_V6 0x02
#define FLOW_F_UP 0x04     // its first packet came from the access side
#define FLOW_F_SECOND 0x08 // it has a second key
#define FLOW_F_NAT 0x10    // that has an address outside in place of the UE's (worker/nat.h)

struct flow {
	struct flow_key key;
	uint64_t chain; // of the services that are for flows: those which its packets visit
	uint32_t version;
	uint32_t deadline; // tick (session/wheel.h)
	uint32_t rules;    // serial of the ruleset that `pdrs` are of (rules/ruleset.h)
	uint8_t timer;     // what sets the deadline (worker/flows.h)
	uint8_t flags;
	uint8_t pdrs[2]; // up, down: index in that ruleset, FLOW_PDR_NONE: not known
};
static_assert(sizeof(struct flow) == 64, "one cache line a packet");

// What is needed when a flow begins and ends, when its rules are replaced, and by its second key.
struct flow_cold {
	struct flow_key second;
	uint64_t given; // services for flows that its session's rules have
	uint64_t met;   // all that its chain has had: they are told of its end
	uint32_t made;  // tick
	uint32_t iface; // that its packets are translated at (FLOW_F_NAT)
};
static_assert(sizeof(struct flow_cold) == 64, "one cache line");

struct flow_table {
	uint32_t n, used;
	struct flow *flows;         // [n + 1]
	struct flow_cold *cold;     // [n + 1]
	uint32_t *free;             // [n]: the numbers that no flow has, used last to be used first
	uint64_t seed[6];           // of the hash, another at each start
	struct flow_index index[2]; // IPv4, IPv6
};

// What comes of making a flow; from FLOW_SESSION_FULL on, what its worker does not allow (worker/flows.h).
enum flow_made {
	FLOW_MADE,
	FLOW_KEY_TAKEN,
	FLOW_POOL_FULL,
	FLOW_SESSION_FULL,
	FLOW_PROFILE_FULL,
	FLOW_TOO_FAST,
};

// What the table of n flows takes.
static inline size_t flow_table_bytes(uint32_t n)
{
	return ((size_t)n + 1) *
		       (sizeof(struct flow) + sizeof(struct flow_cold) + sizeof(uint32_t)) +
	       2 * flow_index_bytes(2 * n);
}

// Room for n flows, each with a second key. 0 or -ENOMEM. Start-up.
int flow_table_init(struct flow_table *table, uint32_t n, int socket);
void flow_table_fini(struct flow_table *table);

// A flow of this key: its line is zeroed, but for key, version and flags. FLOW_KEY_TAKEN: *ret is the flow that
// the key leads to.
enum flow_made flow_add(struct flow_table *table, const struct flow_key *key, bool v6,
			uint64_t hash, uint32_t *ret);
// Its number may be another's from now on, with another version.
void flow_del(struct flow_table *table, uint32_t number);

// Lets a second key, of the flow's family, lead to the flow, which has none yet; MADE or KEY_TAKEN.
enum flow_made flow_second_add(struct flow_table *table, uint32_t number,
			       const struct flow_key *key);
void flow_second_del(struct flow_table *table, uint32_t number);

// A flow's id tells it from all others of all workers, for as long as versions last.
uint64_t flow_id(const struct flow_table *table, unsigned worker, uint32_t number);
unsigned flow_id_worker(uint64_t id);
uint32_t flow_id_number(uint64_t id);
// An id of no version, for a place among a worker's flows.
uint64_t flow_id_at(unsigned worker, uint32_t number);
// The number of the flow with this id at its worker; 0: it has gone.
uint32_t flow_id_lookup(const struct flow_table *table, uint64_t id);

// Two 64-bit words to one, by the high and the low half of their product. Which keys collide depends on the seed:
// the words of a key are xored with it first. The product alone would let runs of like keys fall into few buckets with
// some seeds, so the bits of all are mixed once more.
static inline uint64_t flow_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t flow_hash(const struct flow_table *table, const struct flow_key *key)
{
	const uint64_t *seed = table->seed;
	const uint64_t *words = key->words;

	uint64_t hash = flow_mix(words[0] ^ seed[0], words[1] ^ seed[1]) ^
			flow_mix(words[2] ^ seed[2], words[3] ^ seed[3]) ^
			flow_mix(words[4] ^ seed[4], seed[5]);

	hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ull;
	return hash ^ hash >> 32;
}

// Entries of the index: a flow's number, with this bit where it stands under its second key.
#define FLOW_ENTRY_SECOND 0x80000000u

static inline uint32_t flow_entry_number(uint32_t entry)
{
	return entry & ~FLOW_ENTRY_SECOND;
}

static inline const struct flow_key *flow_entry_key(const struct flow_table *table, uint32_t entry)
{
	return entry & FLOW_ENTRY_SECOND ? &table->cold[flow_entry_number(entry)].second
					 : &table->flows[entry].key;
}

// A look in steps, for many packets at once: the bucket is asked for, then the line of the flow that it is most
// likely to be (0: none), then the look itself.
static inline void flow_prefetch(const struct flow_table *table, bool v6, uint64_t hash)
{
	flow_index_prefetch(&table->index[v6], hash);
}

static inline uint32_t flow_prefetch_likely(const struct flow_table *table, bool v6, uint64_t hash)
{
	uint32_t entry = flow_index_likely(&table->index[v6], hash);

	if (likely(entry != 0))
		rte_prefetch0(flow_entry_key(table, entry));
	if (entry & FLOW_ENTRY_SECOND)
		rte_prefetch0(&table->flows[flow_entry_number(entry)]);
	return entry;
}

struct flow_look {
	const struct flow_table *table;
	const struct flow_key *key;
};

static inline bool flow_look_is(const void *ctx, uint32_t entry)
{
	const struct flow_look *look = ctx;

	return flow_key_eq(flow_entry_key(look->table, entry), look->key);
}

// The entry of the flow that the key leads to; 0: none.
static inline uint32_t flow_lookup(const struct flow_table *table, const struct flow_key *key,
				   bool v6, uint64_t hash)
{
	const struct flow_look look = {table, key};

	return flow_index_lookup(&table->index[v6], hash, flow_look_is, &look);
}
