// Steps. See scenario.h.
//
// The next step begins in a turn of its own, so that steps with nothing to do need no stack.

#include "scenario.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "sim.h"
#include "smf.h"

struct scenario {
	struct sim *sim;
	struct event *next; // the next step is due
	uint32_t at;        // the step that runs, or options.n_steps
	uint32_t loop_from; // the first step after the last loop that was over
	uint32_t loops;     // rounds that the steps since then have had
	enum verb verb;     // what UEs are doing
	uint32_t left;      // UEs that are still doing it
	uint32_t ok, failed;
	bool starting; // the step is still asking UEs
	bool ending;   // only to detach and leave
	bool final;    // and that is what the step does
	bool asked;    // the end was asked for
	uint64_t started_ns;
};

static void step_finish(struct scenario *s);

static void step_schedule(struct scenario *s, uint32_t ms)
{
	const struct timeval delay = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	event_add(s->next, &delay);
}

// Asks all UEs for a procedure. Those for whom it makes no sense are left out.
static void step_ask(struct scenario *s, enum verb verb)
{
	struct sim *sim = s->sim;

	s->verb = verb;
	s->left = s->ok = s->failed = 0;
	s->started_ns = clock_now_ns();
	s->starting = true;
	for (uint32_t i = 0; i < sim->options.ues; i++) {
		// Counted first: its end may be told before ue_ask() is back.
		s->left++;
		if (!ue_ask(sim, &sim->ues[i], verb, true))
			s->left--;
	}
	s->starting = false;
	if (s->left == 0)
		step_finish(s);
}

// The end of a step about UEs.
static void step_finish(struct scenario *s)
{
	double seconds = (double)(clock_now_ns() - s->started_ns) / (double)NS_PER_SEC;
	uint32_t all = s->sim->options.ues;

	if (s->ok || s->failed || !s->final)
		sim_say("%s: %u of %u UE%s in %.2f s", verb_str(s->verb), s->ok, all,
			all == 1 ? "" : "s", seconds);
	// Those that were only cancelled, because the end came, have not failed.
	if (s->failed && (s->final || !s->ending))
		s->sim->failed = true;
	s->verb = VERB_NONE;
	if (s->final) {
		smf_release(s->sim->smf);
		return;
	}
	if (s->failed && !s->ending) {
		log_error("%s failed for %u UE%s: giving up",
			  verb_str(s->sim->options.steps[s->at].verb), s->failed,
			  s->failed == 1 ? "" : "s");
		s->ending = true;
	}
	s->at++;
	step_schedule(s, 0);
}

void scenario_ue_done(struct sim *sim, struct ue *ue, bool ok)
{
	struct scenario *s = sim->scenario;

	if (ok)
		s->ok++;
	else
		s->failed++;
	s->left--;
	if (s->left == 0 && !s->starting)
		step_finish(s);
}

// Goes back, or on when all rounds are done.
static void step_loop(struct scenario *s, uint32_t rounds)
{
	s->loops++;
	if (s->loops < rounds) {
		s->at = s->loop_from;
	} else {
		s->at++;
		s->loop_from = s->at;
		s->loops = 0;
	}
	step_schedule(s, 0);
}

// The step that runs comes to its end first: what UEs are doing is not interrupted, but those that
// only wait for their turn are not begun any more.
static void end_begin(struct scenario *s)
{
	if (s->ending)
		return;
	s->ending = true;
	if (s->verb == VERB_NONE)
		step_schedule(s, 0);
	else
		ue_cancel_ready(s->sim);
}

static void all_done(struct scenario *s)
{
	if (s->sim->options.exit)
		end_begin(s);
	else
		sim_say("ready; Ctrl-C detaches and leaves");
}

static void step_due(evutil_socket_t fd, short what, void *ctx)
{
	struct scenario *s = ctx;
	const struct options *o = &s->sim->options;
	const struct step *step = &o->steps[s->at];

	if (s->ending) {
		s->final = true;
		step_ask(s, VERB_DETACH);
	} else if (s->at >= o->n_steps) {
		all_done(s);
	} else if (step->verb == VERB_LOOP) {
		step_loop(s, step->number);
	} else if (step->verb == VERB_WAIT) {
		s->at++;
		step_schedule(s, step->number);
	} else {
		step_ask(s, step->verb);
	}
}

void scenario_go(struct sim *sim)
{
	if (!event_pending(sim->scenario->next, EV_TIMEOUT, NULL))
		step_schedule(sim->scenario, 0);
}

void scenario_end(struct sim *sim)
{
	struct scenario *s = sim->scenario;

	if (s->asked)
		sim_stop(sim, true);
	s->asked = true;
	end_begin(s);
}

struct scenario *scenario_new(struct sim *sim)
{
	struct scenario *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sim = sim;
	s->next = evtimer_new(sim->base, step_due, s);
	if (!s->next) {
		free(s);
		return NULL;
	}
	return s;
}

void scenario_free(struct scenario *s)
{
	if (!s)
		return;
	event_free(s->next);
	free(s);
}
