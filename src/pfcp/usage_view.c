// How a URR stands, for people and for what waits for its quota (usage.h).
// Control thread only. The session is open.

#include "base/clock.h"
#include "pfcp/n4_session.h"
#include "pfcp/usage.h"
#include "pfcp/usage_state.h"

static uint64_t left_s(uint64_t timed_ns, uint64_t from_ns, uint32_t seconds)
{
	uint64_t used_s = (timed_ns - from_ns) / NS_PER_SEC;

	return used_s < seconds ? seconds - used_s : 0;
}

static struct usage_view view_of(const struct urr_state *u, const struct urr_rule *rule)
{
	uint64_t timed_ns = usage_timed(u, clock_now_ns());

	return (struct usage_view){
		.since_ns = u->since_ns,
		.quota_over = u->quota_over,
		.reports = u->sequence,
		.runs = u->runs_ns != 0,
		.timed_s = (timed_ns - u->since_timed_ns) / NS_PER_SEC,
		.to_threshold_s = left_s(timed_ns, u->threshold_timed_ns,
					 rule ? rule->time_threshold_s : 0),
		.to_quota_s = left_s(timed_ns, u->quota_timed_ns, rule ? rule->time_quota_s : 0),
		.events = u->n_events,
		.events_used = u->events_used,
	};
}

bool n4_usage_view(const struct n4_session *session, uint32_t urr, struct usage_view *ret)
{
	const struct n4_usage *s = session->usage;

	for (unsigned i = 0; s && i < s->n; i++)
		if (s->urrs[i].id == urr) {
			*ret = view_of(&s->urrs[i], rules_urr_lookup(session->rules, urr));
			return true;
		}
	return false;
}
