// What the QERs of a session let pass, as a table of a reply, for `show session SEID`.
//
// Control thread.

#pragma once

#include <stdint.h>

struct policy;
struct reply;
struct rules;

// The table of meters, into the object that is open: a row for each QER and direction. `policy` is the owner's
// block, or NULL where it was not to be had; `now` and `burst` are its worker's (rules/meter.h).
void meters_put(struct reply *r, const struct rules *rules, const struct policy *policy,
		uint64_t now, uint64_t burst);
