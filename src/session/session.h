// The session table of one worker: what packets need of a PFCP session.
//
// Every array here belongs to its worker, which alone reads and writes it while packets flow. The control
// thread picks slots and versions (session/slots.h) and says what to write by mailbox (worker/mailbox.h).
// What an ordinary packet needs stands in one cache line per direction; the rest is in the cold record.

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "packet/pkt.h"
#include "session/policy.h"

#define SESSION_PLACES 6 // tunnel destinations of a session besides the one in its down line

// One direction of a session. The same block of rules serves all sessions whose rules are alike; what
// differs between them stands here.
struct session_line {
	uint32_t
		check; // up: the TEID of tunnel 1; down: the slot's version; 0: no session, or closed
	uint32_t rules; // the ruleset's place in the arena (rules/arena.h)
	union {
		struct {
			uint64_t ue_v6;                   // the UE's /64, network order; 0: none
			rte_be32_t ue_v4;                 // the UE's address; 0: none
		} __attribute__((packed, aligned(4))) up; // 12 bytes: the counters follow
		struct {
			rte_be32_t
				teid; // of the tunnel towards the access side; valid if peer is not 0
			uint16_t peer; // gNB or UPF (session/peer.h); 0: none yet
			uint16_t spare;
			uint32_t spare2;
		} down;
	};
	uint32_t packets; // user packets that went this way
	uint64_t bytes;   // and their bytes, IP header included
	int64_t left;     // of the usage of place 0: bytes until its next mark (session/usage.h)
	uint64_t tat[POLICY_LINE_METERS]; // of the meters of the first places (rules/meter.h)
	meter_cost cost[POLICY_LINE_METERS];
};
static_assert(sizeof(struct session_line) == 64, "one cache line a direction");
static_assert(offsetof(struct session_line, left) == 32,
	      "usage and meters stand aligned in the second half");

// Where a FAR of place n sends to.
struct session_place {
	rte_be32_t teid;
	uint16_t peer; // 0: none
	uint16_t spare;
};

// What only some packets need.
struct session_cold {
	struct policy *policy; // NULL: no QER has a rate, and there is no URR
	uint32_t version;      // of the slot; the down line's check while that is open
	uint32_t buffer;       // number of its record of held packets (worker/buffer.h), 0: none
	struct session_place places[SESSION_PLACES];
};
static_assert(sizeof(struct session_cold) == 64, "one cache line a session");

// A local F-TEID beyond the session's first, or one that the SMF chose.
struct tunnel {
	uint32_t check;   // its TEID, 0: free
	uint32_t slot;    // of its session
	uint32_t version; // of that slot
	uint8_t number;   // the session's tunnel number (rules/model.h)
	bool up;          // packets from it take the up line, otherwise the down line
	uint16_t spare;
};
static_assert(sizeof(struct tunnel) == 16, "four tunnels a cache line");

struct session_table {
	uint32_t n_slots;               // sessions
	uint32_t n_tunnels;             // tunnel records
	struct session_line *up, *down; // [n_slots]
	struct session_cold *cold;      // [n_slots]
	struct tunnel *tunnels;         // [n_tunnels]
	uint32_t used;                  // sessions now: written by the owner
};

// What the owner writes to install or replace a session: made by the control thread, taken over whole.
// Counters of a living session are kept.
struct session_image {
	uint32_t slot, version;
	uint32_t teid; // of tunnel 1; 0: the session has none (its up line stays closed)
	uint32_t rules;
	rte_be32_t ue_v4;
	uint64_t ue_v6;
	struct session_place line_out; // what stands in the down line
	struct session_place places[SESSION_PLACES];
};

struct session_counts {
	uint64_t up_packets, up_bytes, down_packets, down_bytes;
};

// Memory of `socket` for the tables, zeroed. 0, or -ENOMEM with nothing kept. Start-up.
int session_table_init(struct session_table *table, uint32_t n_slots, uint32_t n_tunnels,
		       int socket);
void session_table_fini(struct session_table *table);

// Owner only, outside of a group of packets. A slot with another version is taken over with counters at 0.
void session_set(struct session_table *table, const struct session_image *image);
// Closes the slot: packets that still refer to it are stale. `ret` gets the final counts, `ret_policy` the block
// of meters and usage, settled. -ENOENT when the version is not the slot's.
int session_clear(struct session_table *table, uint32_t slot, uint32_t version,
		  struct session_counts *ret, struct policy **ret_policy);
// Puts a new block of meters and usage in the place of the session's, which may be NULL as well: what goes on
// is copied, and the old one is given back, settled, for the control thread to free. Meters whose rate changes
// hold as many bytes as before: `now` and `burst` are the meters' (rules/meter.h), and unused without a block.
struct policy *session_policy_set(struct session_table *table, uint32_t slot, struct policy *policy,
				  uint64_t now, uint64_t burst);
// Copies the session's block, settled, into a copy of the same form, arrival times of all meters included. -ENOENT: it
// has another form, or none.
int session_policy_look(struct session_table *table, uint32_t slot, struct policy *ret);
void session_counts_get(const struct session_table *table, uint32_t slot,
			struct session_counts *ret);

void tunnel_set(struct session_table *table, uint32_t record, const struct tunnel *tunnel);
