// Flows for people: pages of them, and the end of one, of a session's, or of all, by command.
//
// Worker; the control thread makes a look and reads it when it is back (worker/mailbox.h). One look is bounded in
// rows and in flows looked at, and the next one goes on from there; ends are bounded by the turn (flows.h), and go on
// in the next turns.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/flow.h"

struct worker;

#define FLOWS_ALL_SLOTS UINT32_MAX

struct flow_row {
	uint64_t id;
	uint64_t chain;
	struct flow_key key;
	struct flow_key outside; // what its UE's side is outside, if has_outside
	uint32_t age_ms, left_ms;
	const char
		*word; // what its first service that tells anything says, for good; NULL: none does
	uint8_t class; // enum flow_class (flows.h)
	bool v6, up;   // up: it began on the access side
	bool has_outside;
};

struct flows_look {
	uint32_t slot, version; // whose flows; FLOWS_ALL_SLOTS: all there are
	uint32_t
		next; // the flow to begin with, 0: the first; then the one to go on with, 0: that were all
	uint32_t most, n;
	struct flow_row *rows; // [most]: n of them are filled
	uint64_t id;           // of a flow to end, where it is about one
	uint32_t ended;        // flows ended so far
};

// -ENOENT: the session has gone.
int flows_look(struct worker *w, struct flows_look *look);
// Ends the flow. -ENOENT: it has gone.
int flows_clear_one(struct worker *w, struct flows_look *look);
// Ends the flows that the look is of, as far as this turn may; true when none is left. None is to be ended of a
// session that has gone.
bool flows_clear(struct worker *w, struct flows_look *look);
