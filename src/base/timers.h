// Timers of the control plane, as many as there are sessions: a wheel of lists, one for each step of time.
//
// One thread, which asks for what is due from time to time. Setting and clearing one costs the same whatever their
// number; what is due in more than a round is looked at once each round. None comes early; how late one comes is
// the asker's doing.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/clock.h"

#define TIMERS_STEP_NS (250 * NS_PER_MS)
#define TIMERS_STEPS 1024 // of a round

struct timer {
	LIST_ENTRY(timer) of_step;
	void *owner; // what it is for; set by its user
	bool is_set;
	uint64_t due_ns; // clock_now_ns()
};
LIST_HEAD(timer_list, timer);

struct timers {
	struct timer_list steps[TIMERS_STEPS];
	uint64_t step; // that is looked at next
};

void timers_init(struct timers *timers);

// Sets a timer, zeroed before its first use, or gives one that is set another time.
void timers_set(struct timers *timers, struct timer *timer, uint64_t due_ns);
void timers_clear(struct timer *timer);

// Clears each timer that is due and calls `fn` with its owner, for at most `most` of them: the others come with the
// next call. `fn` may set and clear any.
void timers_run(struct timers *timers, unsigned most, void (*fn)(void *owner));
