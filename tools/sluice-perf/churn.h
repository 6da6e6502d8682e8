// Sessions that come and go at a rate while traffic passes over others: each is established, modified and deleted.
//
// One thread, the traffic's: churn_idle() is called between its bursts, and looks at N4 now and then. With a rate of 0
// it does that alone.

#pragma once

#include "n4.h"
#include "pace.h"

#define CHURN_PLACES 1024u // sessions that may be under way

struct churn {
	struct n4 *n4; // NULL: nothing is done
	struct pace pace;
	uint64_t look_tsc;  // when N4 is next looked at
	uint64_t begun;     // sessions
	uint64_t completed; // that went through all three
	unsigned n_free;
	uint32_t free[CHURN_PLACES];
};

// From now on, with sessions `first` and those behind it, CHURN_PLACES of them. The counts of n4 begin anew.
void churn_start(struct churn *churn, struct n4 *n4, uint32_t first, uint64_t per_s);
// ctx: struct churn
void churn_idle(void *ctx);
// Waits until those under way have ended, and begins no more.
void churn_end(struct churn *churn);
// Procedures that were refused, or had no answer.
uint64_t churn_failed(const struct churn *churn);
