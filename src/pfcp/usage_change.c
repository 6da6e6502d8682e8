// What a change of a session's rules does to its usage (usage.h): URRs begin and end, quotas are given anew, and what
// the SMF asks for, or what is measured no longer, is reported in the answer (TS 29.244 5.2.2.3, 7.5.4, 7.5.5.2).
//
// Control thread only.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "pfcp/apply.h"
#include "pfcp/decode.h"
#include "pfcp/report.h"
#include "pfcp/usage_state.h"
#include "session/policy_rules.h"

static void place_mark(uint8_t *places, unsigned place)
{
	places[place / 8] |= (uint8_t)(1u << place % 8);
}

static bool place_marked(const uint8_t *places, unsigned place)
{
	return places[place / 8] >> place % 8 & 1;
}

// --- what is asked for -----------------------------------------------------------------------------------

static int query_one(struct n4_change *change, const struct pfcp_ie *group,
		     struct pfcp_fault *fault)
{
	const struct rules *old = change->session->rules;
	const struct urr_rule *urr;
	struct pfcp_ie ie;
	uint64_t id;

	if (pfcp_ie_find(pfcp_ie_members(group), PFCP_IE_URR_ID, &ie) < 0)
		return fault_ie(fault, PFCP_CAUSE_MANDATORY_MISSING, PFCP_IE_URR_ID,
				"Query URR without a URR ID");
	if (pfcp_uint_decode(&ie, &id, fault) < 0)
		return -EINVAL;
	urr = rules_urr_lookup(old, (uint32_t)id);
	if (!urr)
		return fault_rule(fault, PFCP_CAUSE_RULE_FAILURE, RULE_URR, (uint32_t)id,
				  PFCP_IE_URR_ID, "usage of a URR that does not exist");
	place_mark(change->usage.asked, urr->place);
	return 0;
}

int usage_query_decode(struct n4_change *change, const struct pfcp_msg *msg,
		       struct pfcp_fault *fault)
{
	struct usage_change *uc = &change->usage;
	struct pfcp_cursor ies = msg->ies;
	struct pfcp_ie ie;
	uint64_t reference;

	uc->all = pfcp_uint_find(msg->ies, PFCP_IE_PFCPSMREQ_FLAGS) & PFCP_PFCPSMREQ_FLAGS_QAURR;
	while (decode_next(&ies, PFCP_IE_QUERY_URR, &ie))
		if (query_one(change, &ie, fault) < 0)
			return -EINVAL;
	if (pfcp_ie_find(msg->ies, PFCP_IE_QUERY_URR_REFERENCE, &ie) < 0)
		return 0;
	if (pfcp_uint_decode(&ie, &reference, fault) < 0)
		return -EINVAL;
	uc->has_reference = true;
	uc->reference = (uint32_t)reference;
	return 0;
}

// --- before ----------------------------------------------------------------------------------------------

static bool is_named(const struct rules *rules, uint32_t urr)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		for (unsigned k = 0; k < rules->pdrs[i].n_urrs; k++)
			if (rules->pdrs[i].urrs[k] == urr)
				return true;
	return false;
}

// The rule that one of the old rules goes on as, or NULL.
static const struct urr_rule *goes_on(const struct rules *rules, const struct urr_rule *old)
{
	const struct urr_rule *now = rules ? rules_urr_lookup(rules, old->id) : NULL;

	return now && now->serial == old->serial ? now : NULL;
}

// Whether the counts of this one, which goes on, are to be taken; marks those that the last PDR has left.
static bool is_taken(struct n4_change *change, const struct urr_rule *old)
{
	struct usage_change *uc = &change->usage;

	if (is_named(change->session->rules, old->id) && !is_named(change->rules, old->id))
		place_mark(uc->left, old->place);
	return uc->all || place_marked(uc->asked, old->place) || place_marked(uc->left, old->place);
}

static unsigned fresh_count(const struct rules *rules)
{
	unsigned n = 0;

	for (unsigned i = 0; i < rules->n_urrs; i++)
		n += rules->urrs[i].fresh;
	return n;
}

// Room for those that the change makes, so that nothing can fail when the owner has been told.
static int reserve(struct n4_change *change)
{
	struct n4_usage *s = change->session->usage;
	unsigned fresh = fresh_count(change->rules);

	if (fresh == 0)
		return 0;
	if (!s)
		s = usage_new(change->session);
	return s && usage_reserve(s, fresh) ? 0 : -ENOMEM;
}

int usage_change_prepare(struct n4_change *change, struct mail *mail)
{
	const struct rules *old = change->session->rules, *now = change->rules;
	uint8_t takes[RULES_MAX_PLACES / 8 + 1] = {0};
	bool any = false;

	for (unsigned i = 0; old && i < old->n_urrs; i++)
		if (goes_on(now, &old->urrs[i]) && is_taken(change, &old->urrs[i])) {
			place_mark(takes, old->urrs[i].place);
			any = true;
		}
	if (old && !any && policy_serves(old, now))
		return 0;
	mail->session.policy_new = true;
	if (reserve(change) < 0 || policy_of_rules(now, &mail->session.policy) < 0)
		return -ENOMEM;
	for (unsigned i = 0; any && i < mail->session.policy->form.n_usages; i++)
		if (place_marked(takes, i + 1))
			policy_usage(mail->session.policy, i)->flags |= USAGE_F_TAKE;
	return 0;
}

// --- when the owner is told ------------------------------------------------------------------------------

static void urr_begin(struct urr_state *u, const struct urr_rule *rule, struct rules *rules)
{
	uint64_t now = clock_now_ns();

	*u = (struct urr_state){
		.id = rule->id,
		.serial = rule->serial,
		.since_ns = now,
		.runs_ns = rule->measurement_info & MEASURE_START && !urr_is_paused(rule) ? now : 0,
		.quota_ns = now,
		.period_ns = now + rule->period_s * NS_PER_SEC,
		.active_ns = now,
	};
	usage_split_await(u, rules);
}

void usage_change_begun(struct n4_change *change)
{
	struct n4_usage *s = change->session->usage;

	for (unsigned i = 0; i < change->rules->n_urrs; i++)
		if (change->rules->urrs[i].fresh)
			urr_begin(&s->urrs[s->n++], &change->rules->urrs[i], change->rules);
}

// --- when it has switched --------------------------------------------------------------------------------

static void to_answer(void *ctx, const struct pfcp_usage_report *report)
{
	struct usage_change *uc = ctx;
	struct pfcp_usage_report *more = realloc(uc->reports, (uc->n + 1) * sizeof(*more));

	if (!more) {
		log_error_limited("N4: out of memory: a usage report is lost");
		return;
	}
	uc->reports = more;
	uc->reports[uc->n++] = *report;
}

// What this change reports of a URR that the session had, 0: nothing.
static uint32_t triggers_of(const struct n4_change *change, const struct urr_rule *old,
			    const struct urr_rule *now)
{
	const struct usage_change *uc = &change->usage;

	if (!now || place_marked(uc->left, old->place))
		return PFCP_USAGE_REPORT_TRIGGER_TERMR;
	return uc->all || place_marked(uc->asked, old->place) ? PFCP_USAGE_REPORT_TRIGGER_IMMER : 0;
}

// Measuring is paused, or goes on: time from now on, or from the next packet.
static void pause_change(struct urr_state *u, const struct urr_rule *now)
{
	uint64_t now_ns = clock_now_ns();

	if (urr_is_paused(now)) {
		usage_time_pause(u, now_ns);
		return;
	}
	u->active_ns = now_ns;
	if (now->measurement_info & MEASURE_START)
		usage_time_run(u, now_ns);
	else
		u->again |= urr_awaits(now);
}

static uint32_t next_at(const struct rules *rules, uint32_t urr)
{
	const struct urr_next *next = rules_next_first(rules, urr);

	return next ? next->at : 0;
}

static void urr_go_on(const struct n4_change *change, struct urr_state *u,
		      const struct urr_rule *old, const struct urr_rule *now)
{
	if (now->resumed)
		usage_quota_given(u);
	if (urr_is_paused(now) != urr_is_paused(old))
		pause_change(u, now);
	if (now->period_s != old->period_s)
		u->period_ns = clock_now_ns() + now->period_s * NS_PER_SEC;
	if (next_at(change->rules, u->id) != next_at(change->session->rules, u->id))
		usage_split_await(u, change->rules);
}

// False: the URR has ended.
static bool urr_change(struct n4_change *change, struct urr_state *u, const struct urr_rule *old,
		       const struct usage_sink *sink)
{
	const struct urr_rule *now = goes_on(change->rules, old);
	const struct policy *policy = change->policy;
	uint32_t triggers = triggers_of(change, old, now);
	struct usage_counts counts;

	if (triggers && policy && old->place <= policy->form.n_usages) {
		if (change->rules && change->rq) // in the order of their UR-SEQNs
			n4_reports_take(change->n4, change->session, old->id, sink->put, sink->ctx);
		counts = usage_counts_of(policy_usage(policy, old->place - 1u));
		usage_report(change->session->usage, u, old, &counts, triggers, sink);
	}
	if (now)
		urr_go_on(change, u, old, now);
	return now != NULL;
}

void usage_change_done(struct n4_change *change)
{
	struct n4_session *session = change->session;
	struct n4_usage *s = session->usage;
	struct usage_change *uc = &change->usage;
	struct usage_sink sink = {
		.put = change->rq ? to_answer : usage_to_smf,
		.ctx = change->rq ? (void *)uc : s,
		.reference = uc->has_reference ? &uc->reference : NULL,
	};
	unsigned kept = 0;

	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++) {
		const struct urr_rule *old =
			session->rules ? rules_urr_lookup(session->rules, s->urrs[i].id) : NULL;

		// Those that the change makes have no old rule of theirs.
		if (!old || old->serial != s->urrs[i].serial ||
		    urr_change(change, &s->urrs[i], old, &sink))
			s->urrs[kept++] = s->urrs[i];
		else
			urr_state_fini(&s->urrs[i]);
	}
	s->n = kept;
}

void usage_end(struct n4_session *session)
{
	struct n4_usage *s = session->usage;

	session->usage = NULL;
	if (!s)
		return;
	timers_clear(&s->timer);
	s->session = NULL;
	if (s->asked)
		return; // until its owner has answered
	usage_free(s);
}
