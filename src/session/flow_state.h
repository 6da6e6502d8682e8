// What one service keeps of each flow: an array of records of its own form, by the flow's number.
//
// Owner worker. A record begins with the version of the flow that it was written for, so nothing has to be done when a
// flow ends: whoever gets the number next finds another's version and begins anew.

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

struct flow_state {
	uint32_t bytes;   // of a record; 0: there are none
	uint8_t *records; // [n + 1] of them
};

static inline size_t flow_state_bytes(uint32_t n, uint32_t bytes)
{
	return ((size_t)n + 1) * bytes;
}

// Room for flows numbered 1 to n, each with `bytes`, of which the first four are the version. 0 or -ENOMEM. Start-up.
int flow_state_init(struct flow_state *state, uint32_t n, uint32_t bytes, int socket);
void flow_state_fini(struct flow_state *state);

// The record of the flow that has this number and version, zeros behind the version if none has been asked for since
// the flow began. `bytes` is what it was made with, known when compiled.
static inline void *flow_state_get(const struct flow_state *state, uint32_t number,
				   uint32_t version, size_t bytes)
{
	uint8_t *record = state->records + number * bytes;
	uint32_t of;

	memcpy(&of, record, sizeof(of));
	if (unlikely(of != version)) {
		memset(record, 0, bytes);
		memcpy(record, &version, sizeof(version));
	}
	return record;
}

static inline void flow_state_prefetch(const struct flow_state *state, uint32_t number)
{
	rte_prefetch0(state->records + (size_t)number * state->bytes);
}
