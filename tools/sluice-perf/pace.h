// How many of something are due now that shall happen at a rate: packets, sessions.
//
// Pure; time is in any unit that grows. Whoever was kept from it catches up, but by no more than `behind_most` at once:
// what was missed beyond that is left out, so that a pause is not followed by a rate that nobody asked for.

#pragma once

#include <stdint.h>

struct pace {
	double per_unit;    // of time
	double behind_most; // that may be due at once
	double left_out;
	uint64_t start;
};

// How many are due at `now`, when `done` have been done since the start; below 1: none.
double pace_due(struct pace *pace, uint64_t now, uint64_t done);
