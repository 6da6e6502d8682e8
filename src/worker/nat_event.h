// Word of blocks of outside ports: which session got one, or has given it back, for the operator's log (RFC 6888 4).
//
// One ring for each worker, for pools that ask for it (log_blocks); the control thread consumes. With the ring full a
// block is not told of: that is counted (nat_blocks_unlogged), and nothing waits for it.

#pragma once

#include "worker/worker.h"

struct nat_event {
	uint64_t since, now;  // when it was got, and told: as worker.now
	uint32_t slot;        // of the session
	rte_be32_t ue;        // its IPv4 address
	rte_be32_t outside;   // the address
	uint16_t first, last; // ports
	uint8_t profile;      // whose pool it is of
	bool got;             // or given back
	uint16_t spare;
};

// Worker: the session in this slot has just got the block, or is about to give it back.
void nat_event_post(struct worker *w, uint32_t slot, uint32_t block, bool got);

// Control thread: up to n events of this worker.
unsigned nat_events_take(struct worker *w, struct nat_event *ret, unsigned n);
