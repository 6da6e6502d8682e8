// The turn and the loop of turns (pipeline.h).
//
// Nothing here waits, except an idle worker that was told to sleep. Between packets the worker carries out
// commands and passes a quiescent point.

#include <time.h>

#include <rte_pause.h>
#include <rte_rcu_qsbr.h>

#include "base/clock.h"
#include "pipeline/2_parse.h"
#include "pipeline/pipeline.h"
#include "worker/again.h"
#include "worker/mailbox.h"
#include "worker/profile.h"

#define IDLE_SPIN_TURNS 1000   // idle turns before a worker that may sleep does, shortly
#define IDLE_QUIET_TURNS 10000 // idle turns before it sleeps longer: after half a second
#define IDLE_SLEEP_NS 50000
#define IDLE_LONG_NS 500000

static void flow_lane_reset(struct flow_lane *fl)
{
	fl->n_asked = fl->n_fetched = fl->n_found = fl->n_before = 0;
}

void turn_reset(struct turn *t)
{
	t->n = 0;
	t->n_rx = 0;
	t->up.n_ready = t->up.worked = t->up.n_keyed = t->up.located = 0;
	t->down.n_ready = t->down.worked = t->down.n_keyed = t->down.located = 0;
	flow_lane_reset(&t->up.flows);
	flow_lane_reset(&t->down.flows);
}

static __rte_always_inline void stamp(struct worker *w, bool sampled, enum stage stage)
{
	if (sampled)
		profile_stamp(w, &w->stats.stage_cycles[stage]);
}

// Group g is parsed while the lines of group g-1 and the locators' words of the downlink packets of g-1 come
// in; those words are read, and their lines asked for, before the packets of g-1 are worked on. `sampled` is
// known when compiled, so that an ordinary turn has nothing of it.
static __rte_always_inline void batch(struct worker *w, struct turn *t, bool sampled)
{
	unsigned up = 0; // ready before this group was parsed
	unsigned down = 0;

	for (unsigned i = 0; i < GROUP && i < t->n_rx; i++)
		parse_fetch(w, t, i);
	for (unsigned g = 0; g < t->n_rx; g += GROUP) {
		unsigned keyed = t->down.n_keyed;

		parse_group(w, t, g, RTE_MIN(g + GROUP, t->n_rx));
		stamp(w, sampled, STAGE_parse);
		dispatch_up(w, &t->up, up);
		dispatch_down(w, &t->down, down);
		stamp(w, sampled, STAGE_dispatch);
		up = t->up.n_ready;
		locate_down(w, &t->down, keyed);
		stamp(w, sampled, STAGE_locate);
		down = t->down.n_ready;
	}
	dispatch_down(w, &t->down, down);
	stamp(w, sampled, STAGE_dispatch);
	locate_down(w, &t->down, t->down.n_keyed);
	stamp(w, sampled, STAGE_locate);
	dispatch_up(w, &t->up, t->up.n_ready);
	dispatch_down(w, &t->down, t->down.n_ready);
	dispatch_flows(w, t);
	if (unlikely(again_waits(w)))
		dispatch_again(w, t);
	stamp(w, sampled, STAGE_dispatch);
}

void pipeline_batch(struct worker *w, struct turn *t)
{
	if (unlikely(w->sampling))
		batch(w, t, true);
	else
		batch(w, t, false);
}

unsigned pipeline_turn(struct worker *w)
{
	struct turn t;

	turn_reset(&t);
	w->now = clock_now_ns() * METER_UNITS_PER_NS;
	mailbox_run(w, WORKER_MAILS);
	if (w->flows.table.n)
		flows_turn(w);
	dispatch_held(w);
	gather_sweep(w, &w->inner);
	gather_sweep(w, &w->outer);
	handoff_gather(w, &t);
	rx_gather(w, &t);
	if (t.n || again_waits(w)) {
		profile_begin(w);
		pipeline_batch(w, &t);
		handoff_flush(w);
	}
	inject_gather(w);
	tx_flush(w);
	if (w->qsbr)
		rte_rcu_qsbr_quiescent(w->qsbr, w->id);
	profile_end(w, t.n);
	return t.n;
}

static void back_off(struct worker *w, unsigned idle)
{
	const struct timespec nap = {.tv_nsec = idle > IDLE_QUIET_TURNS ? IDLE_LONG_NS
									: IDLE_SLEEP_NS};

	rte_pause();
	if (!w->sleep || idle <= IDLE_SPIN_TURNS)
		return;
	nanosleep(&nap, NULL); // lint: idle
	profile_slept(w);
}

int pipeline_loop(void *worker)
{
	struct worker *w = worker;
	unsigned idle = 0;

	if (w->qsbr)
		rte_rcu_qsbr_thread_online(w->qsbr, w->id);
	w->turn_start = rte_rdtsc(); // what came before is no turn
	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		uint64_t mails = w->stats.counter[COUNTER_mails];

		idle = pipeline_turn(w) ? 0 : idle + 1;
		if (w->stats.counter[COUNTER_mails] != mails) // N4 waits for more: no long sleep
			idle = RTE_MIN(idle, (unsigned)IDLE_SPIN_TURNS);
		if (idle)
			back_off(w, idle);
	}
	if (w->qsbr)
		rte_rcu_qsbr_thread_offline(w->qsbr, w->id);
	return 0;
}
