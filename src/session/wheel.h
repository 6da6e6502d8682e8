// A worker's timer wheel: numbers that become due in the order of time, each in the slot of its tick. (The control
// thread's timers are those of base/timers.h.)
//
// Owner worker. The wheel keeps no deadline of its own: whoever uses it has each number's deadline in a place
// that is written anyway, and *extends* it there by one store. When the slot comes in which the number stands, it
// is given out; if its deadline has moved on meanwhile, it is armed anew. A deadline that comes nearer must be
// armed. What lies beyond one turn of the wheel stands in the slot that comes last, and is looked at once a turn.
//
// Ticks are numbers modulo 2^32, compared by their difference: a deadline is less than 2^31 ticks away.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/links.h"

#define WHEEL_SLOTS 16384u

struct wheel {
	uint32_t n;         // numbers from 0
	uint32_t tick;      // slots of ticks before it are empty
	struct link *links; // [n + WHEEL_SLOTS]: the numbers', then the heads of the slots
	uint64_t *marks;    // a bit for each slot: clear where it is empty
};

static inline size_t wheel_bytes(uint32_t n)
{
	return ((size_t)n + WHEEL_SLOTS) * sizeof(struct link) + WHEEL_SLOTS / 8;
}

// All numbers below `n`, none of them armed. 0 or -ENOMEM. Start-up.
int wheel_init(struct wheel *wheel, uint32_t n, uint32_t tick, int socket);
void wheel_fini(struct wheel *wheel);

// To be given out at `tick`, or with the next look if that has passed, whatever was said before.
void wheel_arm(struct wheel *wheel, uint32_t i, uint32_t tick);

static inline void wheel_disarm(struct wheel *wheel, uint32_t i)
{
	link_leave(wheel->links, i);
}

// Takes up to `n` numbers out whose slots have come by tick `now`, in the order of their slots; what is more than
// that comes with the next look. Gives how many.
unsigned wheel_due(struct wheel *wheel, uint32_t now, uint32_t *ret, unsigned n);

// The first number of the earliest slot, which stays there, and the slot's tick; false when none is armed.
bool wheel_first(struct wheel *wheel, uint32_t *ret, uint32_t *ret_tick);

// Whether `tick` is still to come.
static inline bool tick_is_after(uint32_t tick, uint32_t now)
{
	return (int32_t)(tick - now) > 0;
}
