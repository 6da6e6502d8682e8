// What is reported of usage by itself: marks that workers tell of, and what comes with time (usage.h).
//
// Control thread only. A session with URRs has one timer, set to the first of the moments of all of them. When it comes,
// URRs whose time is up are due; whether traffic has ended is seen by a look at the owner's counts; then the counts of
// what is due are taken. What had been counted at a monitoring time the owner tells in the order of its marks, since
// a later one would count it too. One question at a time is with the owner, and none while a change of the rules is:
// what is asked for is of the rules that the session has when the answer is here.

#include "pfcp/usage.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "pfcp/apply.h"
#include "pfcp/assoc.h"
#include "pfcp/n4_session.h"
#include "pfcp/usage_state.h"
#include "session/policy_rules.h"
#include "session/usage.h"
#include "worker/mailbox.h"
#include "worker/usage_mark.h"

#define VISITS_A_TICK 512
#define AGAIN_NS NS_PER_SEC // without memory

// --- moments ---------------------------------------------------------------------------------------------

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t after_s(uint64_t from_ns, uint32_t seconds)
{
	return from_ns + seconds * NS_PER_SEC;
}

static uint64_t at_period(const struct n4_usage *s, const struct urr_state *u,
			  const struct urr_rule *rule)
{
	return rule->triggers & TRIGGER_PERIO ? u->period_ns : UINT64_MAX;
}

// When so much time will have been measured, if it goes on to be.
static uint64_t at_timed(const struct urr_state *u, uint64_t timed_ns)
{
	if (!u->runs_ns)
		return UINT64_MAX;
	return timed_ns > u->timed_ns ? u->runs_ns + (timed_ns - u->timed_ns) : u->runs_ns;
}

static uint64_t at_time_threshold(const struct n4_usage *s, const struct urr_state *u,
				  const struct urr_rule *rule)
{
	if (!(rule->triggers & TRIGGER_TIMTH))
		return UINT64_MAX;
	return at_timed(u, after_s(u->threshold_timed_ns, rule->time_threshold_s));
}

static uint64_t at_time_quota(const struct n4_usage *s, const struct urr_state *u,
			      const struct urr_rule *rule)
{
	if (!rule->time_quota_s || u->quota_over)
		return UINT64_MAX;
	return at_timed(u, after_s(u->quota_timed_ns, rule->time_quota_s));
}

static uint64_t at_validity(const struct n4_usage *s, const struct urr_state *u,
			    const struct urr_rule *rule)
{
	if (!rule->quota_validity_s || u->quota_over)
		return UINT64_MAX;
	return after_s(u->quota_ns, rule->quota_validity_s);
}

static uint64_t at_holding(const struct n4_usage *s, const struct urr_state *u,
			   const struct urr_rule *rule)
{
	if (!rule->quota_holding_s || u->quota_over || urr_is_paused(rule))
		return UINT64_MAX;
	return after_s(u->active_ns, rule->quota_holding_s);
}

static uint64_t at_stop(const struct n4_usage *s, const struct urr_state *u,
			const struct urr_rule *rule)
{
	if (!u->flowing || urr_is_paused(rule) ||
	    !(rule->triggers & TRIGGER_STOPT || rule->method & METHOD_EVENT))
		return UINT64_MAX;
	return after_s(u->active_ns, s->n4->conf.traffic_stop_s);
}

static uint64_t at_silence(const struct n4_usage *s, const struct urr_state *u,
			   const struct urr_rule *rule)
{
	if (!rule->inactivity_s || !u->runs_ns || !urr_measures_time(rule))
		return UINT64_MAX;
	return after_s(later(u->active_ns, u->runs_ns), rule->inactivity_s);
}

static uint64_t at_monitoring(const struct n4_usage *s, const struct urr_state *u,
			      const struct urr_rule *rule)
{
	return u->split_due_ns ? u->split_due_ns : UINT64_MAX;
}

// When a report is due by itself, or, without a trigger, something else is to be done. `looks`: only the owner's counts
// tell whether it really is.
static const struct moment {
	uint32_t trigger;
	bool looks;
	uint64_t (*at)(const struct n4_usage *s, const struct urr_state *u,
		       const struct urr_rule *rule);
} moments[] = {
	{PFCP_USAGE_REPORT_TRIGGER_PERIO, false, at_period},
	{PFCP_USAGE_REPORT_TRIGGER_TIMTH, false, at_time_threshold},
	{PFCP_USAGE_REPORT_TRIGGER_TIMQU, false, at_time_quota},
	{PFCP_USAGE_REPORT_TRIGGER_QUVTI, false, at_validity},
	{PFCP_USAGE_REPORT_TRIGGER_QUHTI, true, at_holding},
	{PFCP_USAGE_REPORT_TRIGGER_STOPT, true, at_stop},
	{0, true, at_silence},
	{0, false, at_monitoring},
};

#define MOMENTS (sizeof(moments) / sizeof(moments[0]))

// The rule of a URR, in the session's rules or, for one that is being made, in those that come. NULL: in neither.
static const struct urr_rule *rule_of(const struct n4_session *session, const struct urr_state *u)
{
	const struct rules *both[] = {session->rules,
				      session->change ? session->change->rules : NULL};

	for (unsigned i = 0; i < 2; i++) {
		const struct urr_rule *rule = both[i] ? rules_urr_lookup(both[i], u->id) : NULL;

		if (rule && rule->serial == u->serial)
			return rule;
	}
	return NULL;
}

static void arm(struct n4_usage *s)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < s->n; i++) {
		const struct urr_state *u = &s->urrs[i];
		const struct urr_rule *rule = rule_of(s->session, u);

		for (unsigned k = 0; rule && k < MOMENTS; k++) {
			uint64_t at = moments[k].at(s, u, rule);

			next = at < next ? at : next;
		}
		if (u->due || u->again || u->splits)
			next = 0;
	}
	if (next == UINT64_MAX)
		timers_clear(&s->timer);
	else
		timers_set(&s->n4->sessions->usages, &s->timer, next);
}

struct n4_usage *usage_new(struct n4_session *session)
{
	struct n4_usage *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->n4 = session->assoc->n4;
	s->session = session;
	s->timer.owner = s;
	session->usage = s;
	return s;
}

bool usage_reserve(struct n4_usage *s, unsigned more)
{
	struct urr_state *urrs;

	if (s->n + more <= s->room)
		return true;
	urrs = realloc(s->urrs, (s->n + more) * sizeof(*urrs));
	if (!urrs)
		return false;
	s->urrs = urrs;
	s->room = s->n + more;
	return true;
}

void urr_state_fini(struct urr_state *u)
{
	free(u->events);
	free(u->stretches);
}

void usage_free(struct n4_usage *s)
{
	for (unsigned i = 0; i < s->n; i++)
		urr_state_fini(&s->urrs[i]);
	free(s->urrs);
	free(s);
}

// --- asking the owner ------------------------------------------------------------------------------------

static void visit_open(struct n4_usage *s);

// What is asked for stays due, and is asked for again.
static void ask_failed(struct n4_usage *s)
{
	log_error_limited("N4: out of memory: usage is reported later");
	timers_set(&s->n4->sessions->usages, &s->timer, clock_now_ns() + AGAIN_NS);
}

// The session is open until it has answered.
static void post(struct n4_usage *s, struct mail *mail)
{
	const struct slot *slot = &s->session->slot;

	n4_session_open(s->session); // it is open: this cannot fail
	mail->session.image.slot = slot->index;
	mail->session.image.version = slot->version;
	s->asked = true;
	mail_post(s->n4->env.workers[slot->owner], mail);
}

// An answer is here. The session, for the caller to close; NULL: nobody waits for it any more.
static struct n4_session *answered(struct n4_usage *s, const struct mail *mail)
{
	struct n4_session *session = s->session;

	s->asked = false;
	if (!session)
		usage_free(s);
	if (!session || mail->result == 0)
		return session;
	n4_session_close(session);
	return NULL;
}

static const struct usage *usage_in(const struct policy *policy, const struct urr_rule *rule)
{
	return policy && rule->place <= policy->form.n_usages
		       ? policy_usage(policy, rule->place - 1u)
		       : NULL;
}

static void taken(struct mail *mail, void *ctx)
{
	const struct policy *policy = mail->session.policy;
	struct n4_usage *s = ctx;
	struct usage_sink sink = {.put = usage_to_smf, .ctx = s};
	struct n4_session *session = answered(s, mail);

	if (session) {
		for (unsigned i = 0; i < s->n; i++) {
			struct urr_state *u = &s->urrs[i];
			const struct urr_rule *rule = rule_of(s->session, u);
			const struct usage *usage = rule ? usage_in(policy, rule) : NULL;
			uint32_t triggers = u->taking;

			u->taking = 0;
			if (triggers && usage) {
				struct usage_counts counts = usage_counts_of(usage);

				usage_report(s, u, rule, &counts, triggers, &sink);
			}
			if (u->given)
				usage_quota_given(u);
			u->given = false;
		}
		arm(s);
		n4_session_close(session);
	}
	policy_free(mail->session.policy);
	free(mail);
}

static bool split_is_due(const struct urr_state *u, uint64_t now)
{
	return u->split_due_ns && u->split_due_ns <= now;
}

// What a URR has from a monitoring time on takes the place of what it had.
static void next_take(struct rules *rules, struct urr_state *u)
{
	struct urr_rule *rule = rules_urr_lookup(rules, u->id);
	struct urr_next next = *rules_next_first(rules, u->id);
	uint64_t now = clock_now_ns();

	rules_next_del(rules, rules_next_first(rules, u->id));
	usage_split_await(u, rules);
	u->splits = true;
	u->anew |= next.threshold.flags != 0;
	if (next.threshold.flags)
		rule->threshold = next.threshold;
	if (next.time_threshold_s) {
		rule->time_threshold_s = next.time_threshold_s;
		u->threshold_timed_ns = usage_timed(u, now);
	}
	if (next.event_threshold) {
		rule->event_threshold = next.event_threshold;
		u->events_from = u->n_events;
	}
	if (next.quota.flags) {
		rule->quota = next.quota;
		rule->quota_given = true;
	}
	if (next.time_quota_s)
		rule->time_quota_s = next.time_quota_s;
	if (next.event_quota)
		rule->event_quota = next.event_quota;
	if (next.quota.flags || next.time_quota_s || next.event_quota) {
		rule->resumed = true;
		u->given = true;
		u->due &= ~(uint32_t)USAGE_STOPS; // what has been used up just now matters no more
	}
}

// What comes into the new block for a URR.
static void urr_take(struct urr_state *u, struct usage *usage)
{
	u->taking = u->due;
	u->due = 0;
	if (u->taking || u->anew)
		usage->flags |= USAGE_F_TAKE;
	if (u->splits && !u->taking) // a report says all there is
		usage->flags |= USAGE_F_SPLIT;
	if (u->taking & USAGE_STOPS)
		usage->flags |= USAGE_F_STOPPED;
	if (u->again)
		usage->flags |= USAGE_F_AWAITS;
	u->again = u->splits = u->anew = false;
}

// Takes the counts of what is due with a new block, which also stops what has no quota any more.
static void take(struct n4_usage *s)
{
	struct mail *mail = mail_new(MAIL_POLICY_SET, taken, s);
	struct rules *rules = s->session->rules;

	for (unsigned i = 0; mail && i < s->n; i++)
		if (split_is_due(&s->urrs[i], clock_now_ns()))
			next_take(rules, &s->urrs[i]);
	if (!mail || policy_of_rules(rules, &mail->session.policy) < 0) {
		free(mail);
		ask_failed(s);
		return;
	}
	rules_settled(rules);
	mail->session.policy_new = true;
	for (unsigned i = 0; i < s->n; i++) {
		const struct urr_rule *rule = rule_of(s->session, &s->urrs[i]);

		urr_take(&s->urrs[i], policy_usage(mail->session.policy, rule->place - 1u));
	}
	post(s, mail);
}

// What a look tells of one URR. The last packet came within the second that is named.
static void seen(struct n4_usage *s, struct urr_state *u, const struct urr_rule *rule,
		 const struct usage *usage)
{
	uint32_t last_s = usage_counts_of(usage).last_s;
	uint64_t now = clock_now_ns();

	if (last_s)
		u->active_ns = later(u->active_ns, after_s(0, last_s + 1));
	if (at_silence(s, u, rule) <= now) {
		usage_time_pause(u, at_silence(s, u, rule));
		u->again = true;
	}
	if (at_stop(s, u, rule) <= now) {
		u->again = true;
		u->flowing = false;
		u->due |= rule->triggers & TRIGGER_STOPT ? PFCP_USAGE_REPORT_TRIGGER_STOPT : 0;
	}
	if (at_holding(s, u, rule) <= now)
		u->due |= PFCP_USAGE_REPORT_TRIGGER_QUHTI;
}

static void looked(struct mail *mail, void *ctx)
{
	const struct policy *policy = mail->session.policy;
	struct n4_usage *s = ctx;
	struct n4_session *session = answered(s, mail);

	if (session) {
		for (unsigned i = 0; i < s->n; i++) {
			const struct urr_rule *rule = rule_of(s->session, &s->urrs[i]);
			const struct usage *usage = rule ? usage_in(policy, rule) : NULL;

			if (usage)
				seen(s, &s->urrs[i], rule, usage);
		}
		arm(s);
		if (!session->change && !session->ending)
			visit_open(s);
		n4_session_close(session);
	}
	policy_free(mail->session.policy);
	free(mail);
}

static void look(struct n4_usage *s)
{
	struct mail *mail = mail_new(MAIL_SESSION_COUNT, looked, s);
	struct policy_form form;
	struct policy *policy;

	policy_form_of(s->session->rules, &form);
	form.copy = true;
	policy = mail ? policy_new(&form) : NULL;
	if (!policy) {
		free(mail);
		ask_failed(s);
		return;
	}
	mail->session.policy = policy;
	post(s, mail);
}

// Sees what is due of a URR. True: that takes a look.
static bool urr_visit(const struct n4_usage *s, struct urr_state *u, uint64_t now)
{
	const struct urr_rule *rule = rule_of(s->session, u);
	bool looks = false;

	for (unsigned k = 0; k < MOMENTS; k++) {
		if (moments[k].at(s, u, rule) > now || u->due & moments[k].trigger)
			continue;
		if (moments[k].looks)
			looks = true;
		else
			u->due |= moments[k].trigger;
	}
	if (at_period(s, u, rule) <= now) // periods do not drift
		u->period_ns += (1 + (now - u->period_ns) / (rule->period_s * NS_PER_SEC)) *
				(rule->period_s * NS_PER_SEC);
	return looks;
}

// Sees what is due. An answer that is owed, and the end of a change, set the timer anew.
static void visit_open(struct n4_usage *s)
{
	uint64_t now = clock_now_ns();
	bool looks = false, due = false;

	if (s->asked || s->session->change || s->session->ending)
		return;
	for (unsigned i = 0; i < s->n; i++) {
		looks |= urr_visit(s, &s->urrs[i], now);
		due |= s->urrs[i].due != 0 || s->urrs[i].again || s->urrs[i].splits ||
		       split_is_due(&s->urrs[i], now);
	}
	if (looks)
		look(s);
	else if (due)
		take(s);
	else
		arm(s);
}

static void visit(void *usage)
{
	struct n4_usage *s = usage;
	struct n4_session *session = s->session;

	if (!n4_session_open(session)) {
		ask_failed(s);
		return;
	}
	visit_open(s);
	n4_session_close(session);
}

void usage_tick(struct n4 *n4)
{
	timers_run(&n4->sessions->usages, VISITS_A_TICK, visit);
}

// --- what workers tell -----------------------------------------------------------------------------------

static struct urr_state *by_serial(const struct n4_usage *s, uint16_t serial)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->urrs[i].serial == serial)
			return &s->urrs[i];
	return NULL;
}

// Traffic that begins is the event that is counted. What stops by a quota of events has had its last one.
static void event(struct urr_state *u, const struct urr_rule *rule)
{
	if (!u->events)
		u->events = calloc(USAGE_EVENTS, sizeof(*u->events));
	if (u->n_events < USAGE_EVENTS) {
		if (u->events)
			u->events[u->n_events] = clock_now_ns();
		u->n_events++;
	}
	u->events_used++;
	if (rule->triggers & TRIGGER_EVETH &&
	    u->n_events - u->events_from >= (int64_t)rule->event_threshold)
		u->due |= PFCP_USAGE_REPORT_TRIGGER_EVETH;
	if (rule->event_quota && u->events_used >= rule->event_quota)
		u->due |= PFCP_USAGE_REPORT_TRIGGER_EVEQU;
}

static void began(struct n4_usage *s, struct urr_state *u, const struct urr_rule *rule)
{
	u->active_ns = clock_now_ns();
	if (!urr_is_paused(rule))
		usage_time_run(u, u->active_ns);
	if (rule->triggers & TRIGGER_START && !u->flowing)
		usage_report_start(s, u);
	if (rule->method & METHOD_EVENT && !u->flowing)
		event(u, rule);
	u->flowing = true;
}

static void reached(struct n4_usage *s, struct urr_state *u, const struct urr_rule *rule,
		    const struct usage_event *event)
{
	struct usage_sink sink = {.put = usage_to_smf, .ctx = s};
	uint32_t triggers = 0;

	if (event->hits & USAGE_HIT_THRESHOLD)
		triggers |= PFCP_USAGE_REPORT_TRIGGER_VOLTH;
	if (event->hits & USAGE_HIT_QUOTA)
		triggers |= PFCP_USAGE_REPORT_TRIGGER_VOLQU;
	if (event->hits & USAGE_HIT_DROPPED)
		triggers |= PFCP_USAGE_REPORT_TRIGGER_DROTH;
	usage_report(s, u, rule, &event->counts, triggers, &sink);
}

static void event_take(const struct n4_session *session, const struct usage_event *event)
{
	struct n4_usage *s = session->usage;
	struct urr_state *u = s ? by_serial(s, event->serial) : NULL;
	const struct urr_rule *rule = u ? rule_of(session, u) : NULL;

	if (!rule)
		return;
	if (event->hits & USAGE_HIT_SPLIT)
		usage_split(u, &event->counts, event->hits & USAGE_HIT_ANEW);
	if (event->hits & USAGE_HIT_START)
		began(s, u, rule);
	if (event->hits & USAGE_HIT_TAKES)
		reached(s, u, rule, event);
	arm(s);
}

void n4_usage_event(struct n4 *n4, unsigned worker, const struct usage_event *event)
{
	struct n4_session *session = n4_session_at(n4, worker, event->slot);

	if (!session || session->slot.version != event->version)
		return;
	if (!n4_session_open(session)) {
		log_error_limited("N4: out of memory: a usage report is lost");
		return;
	}
	event_take(session, event);
	n4_session_close(session);
}

void usage_go_on(struct n4_session *session)
{
	if (session->usage && session->rules)
		arm(session->usage);
}
