// How often a worker does what strangers make it do: so many at once, so many a second.
//
// A meter (rules/meter.h) in the units of its caller's clock, a packet being one interval.
//
// Worker. Times are of the turn (worker.now), so that no packet reads a clock.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rules/meter.h"

struct limit {
	uint64_t next;      // when the next one is due, were they all evenly spaced
	uint64_t interval;  // between two in the long run
	uint64_t tolerance; // how far ahead of being due one may be: what a burst uses up
};

// `rate` a second, as many at once; none before `from`, and none at all for a rate of 0.
static inline struct limit limit_make(uint32_t rate, uint64_t hz, uint64_t from)
{
	if (rate == 0)
		return (struct limit){.next = UINT64_MAX};
	uint64_t interval = hz / rate;
	uint64_t tolerance = hz - interval;

	return (struct limit){
		.next = from + tolerance, .interval = interval, .tolerance = tolerance};
}

static inline bool limit_pass(struct limit *limit, uint64_t now)
{
	if (!meter_passes(limit->next, now, limit->tolerance))
		return false;
	limit->next = meter_charge(limit->next, now, limit->interval);
	return true;
}
