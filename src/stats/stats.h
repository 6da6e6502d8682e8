// A worker's counters: written by that worker only, read by anyone.
//
// Each is a 64-bit word that one thread writes with a plain store, so a reader sees an old or a new
// value, never a torn one. Every packet is accounted for, per worker and at all times between turns:
//
//	rx + handoff_in + injected + made = tx + handoff_out + punted + consumed + held + sum of drops
//
// and for the control thread:
//
//	punted (of all workers) + made = injected + consumed + held + sum of drops
//
// where `injected` counts what it put into a worker's ring, be it a punted packet or one that it made.

#pragma once

#include <stdint.h>

enum drop {
	DROP_NONE,
#define DROP(name, text) DROP_##name,
#include "stats/drop.def"
#undef DROP
	DROP_REASONS
};

enum counter {
#define COUNTER(name, text) COUNTER_##name,
#include "stats/counter.def"
#undef COUNTER
	COUNTERS
};

enum stage {
#define STAGE(name, text) STAGE_##name,
#include "stats/stage.def"
#undef STAGE
	STAGES
};

#define STATS_SERVICES 64 // bits of a chain

struct stats {
	uint64_t counter[COUNTERS];
	uint64_t drop[DROP_REASONS];
	// Of the turns that were samples (worker/profile.h).
	uint64_t sampled_turns, sampled_packets;
	uint64_t stage_cycles[STAGES];
	uint64_t service_cycles[STATS_SERVICES], service_packets[STATS_SERVICES]; // by bit
};

// The name of a drop reason as shown to people and machines, e.g. "unknown_teid".
const char *drop_str(enum drop reason);
// What a drop reason means, in words.
const char *drop_help(enum drop reason);
const char *counter_str(enum counter counter);
const char *counter_help(enum counter counter);
const char *stage_str(enum stage stage);
const char *stage_help(enum stage stage);

// Reads one word that another thread writes.
static inline uint64_t stats_read(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

// Adds counters and drops of `from`, which another thread may be writing, to `to`; of high-water marks the higher
// stays.
void stats_add(struct stats *to, const struct stats *from);

// The two sides of the accounting identity; equal between turns.
uint64_t stats_in(const struct stats *stats);
uint64_t stats_out(const struct stats *stats);
