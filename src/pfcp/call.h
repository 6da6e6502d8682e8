// Associations that we set up: a call to each SMF that the configuration names (TS 29.244 6.2.6.3).
//
// Control thread only. As long as the daemon runs, an SMF that has no association gets an Association Setup
// Request, repeated like any other (N1 times, T1 apart) and tried again after a wait that doubles up to
// setup_retry_ms. When both sides set up at the same moment there is one association: whichever request comes
// to be accepted last finds the other's (5.8.1 allows one for a pair of Node IDs).

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "pfcp/n4.h"
#include "pfcp/node_id.h"

enum n4_call_state {
	CALL_ASSOCIATED, // there is an association, whoever set it up
	CALL_ASKING,     // our request has no answer yet
	CALL_WAITING,    // for the next attempt
};

struct n4_call {
	struct endpoint smf;
	enum n4_call_state state;
	bool known;        // it has answered as `id` before
	struct node_id id; // which may be associated from another address
	uint32_t request;  // CALL_ASKING: ours
	uint32_t wait_ms;  // before the next attempt, 0: no wait yet
	uint64_t due_ns;   // CALL_WAITING: the next attempt
	uint64_t since_ns; // of the state
	uint64_t tries, failures;
	uint8_t cause; // of its latest refusal, 0: none
};

// NULL without memory.
struct call_table *call_table_new(const struct n4_conf *conf);
void call_table_free(struct call_table *table);

// Begins what is due, and ends what has become needless.
void call_tick(struct n4 *n4);

// There are no further calls.
void call_stop(struct n4 *n4);

// The calls, in the order of the configuration; NULL behind the last.
const struct n4_call *call_get(const struct n4 *n4, unsigned i);
const char *call_state_str(enum n4_call_state state); // "associated", "asking", "waiting"
