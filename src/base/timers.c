// Timers of the control plane, see timers.h.
// One thread.

#include "base/timers.h"

static struct timer_list *list_at(struct timers *timers, uint64_t step)
{
	return &timers->steps[step % TIMERS_STEPS];
}

void timers_init(struct timers *timers)
{
	for (unsigned i = 0; i < TIMERS_STEPS; i++)
		LIST_INIT(&timers->steps[i]);
	timers->step = clock_now_ns() / TIMERS_STEP_NS;
}

void timers_clear(struct timer *timer)
{
	if (timer->is_set)
		LIST_REMOVE(timer, of_step);
	timer->is_set = false;
}

void timers_set(struct timers *timers, struct timer *timer, uint64_t due_ns)
{
	uint64_t step = due_ns / TIMERS_STEP_NS;

	timers_clear(timer);
	timer->is_set = true;
	timer->due_ns = due_ns;
	// What should have come before goes where the next look begins.
	LIST_INSERT_HEAD(list_at(timers, step > timers->step ? step : timers->step), timer,
			 of_step);
}

// Moves all of one list to an empty one.
static void list_move(struct timer_list *from, struct timer_list *to)
{
	*to = *from;
	if (to->lh_first)
		to->lh_first->of_step.le_prev = &to->lh_first;
	LIST_INIT(from);
}

// Looks at what stands in a list now, not at what `fn` adds. What is left of `most`.
static unsigned list_run(struct timer_list *list, unsigned most, void (*fn)(void *owner))
{
	uint64_t now = clock_now_ns();
	struct timer_list old;
	struct timer *timer;

	list_move(list, &old);
	while ((timer = LIST_FIRST(&old)) != NULL) {
		LIST_REMOVE(timer, of_step);
		if (most == 0 ||
		    timer->due_ns > now) { // for another time, of this round or a later one
			LIST_INSERT_HEAD(list, timer, of_step);
			continue;
		}
		timer->is_set = false;
		most--;
		fn(timer->owner);
	}
	return most;
}

void timers_run(struct timers *timers, unsigned most, void (*fn)(void *owner))
{
	uint64_t now = clock_now_ns() / TIMERS_STEP_NS;

	// After a long pause one round sees all there are.
	if (now > timers->step + TIMERS_STEPS)
		timers->step = now - TIMERS_STEPS;
	for (;; timers->step++) {
		most = list_run(list_at(timers, timers->step), most, fn);
		if (most == 0 || timers->step >= now)
			return; // the rest of this step may become due before it ends
	}
}
