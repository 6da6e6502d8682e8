// The tables of usage (usage_put.h). Control thread.
//
// Bytes are those since the last report; what is left of a threshold is until the next report, of a quota until packets
// stop. None is shown where the SMF gave none, and where the owner could not be asked. Time, events and dropped downlink
// packets have tables of their own, since few URRs are about them, and so have monitoring times that are to come.

#include "ctl/usage_put.h"

#include "base/clock.h"
#include "ctl/reply.h"
#include "ctl/rules_put.h"
#include "pfcp/n4_session.h"
#include "pfcp/usage.h"

static void left_put(struct reply *r, bool given, int64_t left)
{
	reply_uint_if(r, NULL, given, left > 0 ? (uint64_t)left : 0);
}

static void counts_put(struct reply *r, const struct usage *usage)
{
	uint64_t counted[USAGE_VOLUMES];

	if (!usage) {
		for (unsigned i = 0; i < 2 + 2 * USAGE_VOLUMES + 1; i++)
			reply_null(r, NULL);
		return;
	}
	counted[USAGE_UP] = usage->bytes[SIDE_UP];
	counted[USAGE_DOWN] = usage->bytes[SIDE_DOWN];
	counted[USAGE_TOTAL] = counted[USAGE_UP] + counted[USAGE_DOWN];
	reply_uint(r, NULL, counted[USAGE_UP]);
	reply_uint(r, NULL, counted[USAGE_DOWN]);
	for (unsigned i = 0; i < USAGE_VOLUMES; i++)
		left_put(r, usage_threshold(usage, i) != USAGE_NONE,
			 usage_threshold(usage, i) - (int64_t)counted[i]);
	for (unsigned i = 0; i < USAGE_VOLUMES; i++)
		left_put(r, usage_quota(usage, i) != USAGE_NONE, usage_quota(usage, i));
	reply_uint(r, NULL, usage->dropped);
}

static void row_put(struct reply *r, const struct n4_session *session, const struct urr_rule *urr,
		    const struct usage *usage)
{
	struct usage_view view;

	reply_row(r);
	reply_uint(r, NULL, urr->id);
	if (n4_usage_view(session, urr->id, &view)) {
		reply_uint(r, NULL, (clock_now_ns() - view.since_ns) / NS_PER_SEC);
		reply_uint(r, NULL, view.reports);
		reply_str(r, NULL, view.quota_over ? "used up" : "open");
	} else {
		for (unsigned i = 0; i < 3; i++)
			reply_null(r, NULL);
	}
	counts_put(r, usage);
}

static void time_row_put(struct reply *r, const struct urr_rule *urr, const struct usage_view *view)
{
	reply_row(r);
	reply_uint(r, NULL, urr->id);
	reply_str(r, NULL, view->runs ? "runs" : "stands");
	reply_uint(r, NULL, view->timed_s);
	left_put(r, urr->time_threshold_s != 0, (int64_t)view->to_threshold_s);
	left_put(r, urr->time_quota_s != 0, (int64_t)view->to_quota_s);
	left_put(r, urr->method & METHOD_EVENT, view->events);
	left_put(r, urr->event_threshold != 0, (int64_t)urr->event_threshold - view->events);
	left_put(r, urr->event_quota != 0, (int64_t)urr->event_quota - view->events_used);
}

static void times_put(struct reply *r, const struct n4_session *session)
{
	static const char *const columns[] = {
		"urr",          "time",   "measured_s",  "threshold_left_s",
		"quota_left_s", "events", "events_left", "quota_events_left",
		NULL,
	};
	const struct rules *rules = session->rules;

	reply_table_open(r, "usage_time", columns);
	for (unsigned i = 0; i < rules->n_urrs; i++) {
		const struct urr_rule *urr = &rules->urrs[i];
		struct usage_view view;

		if ((urr_measures_time(urr) || urr->method & METHOD_EVENT) &&
		    n4_usage_view(session, urr->id, &view))
			time_row_put(r, urr, &view);
	}
	reply_table_close(r);
}

static void drops_put(struct reply *r, const struct rules *rules, const struct policy *policy)
{
	static const char *const columns[] = {
		"urr", "dropped_packets", "dropped_bytes", "packets_left", "bytes_left", NULL,
	};

	reply_table_open(r, "usage_dropped_downlink", columns);
	for (unsigned i = 0; policy && i < rules->n_urrs; i++)
		for (unsigned k = 0; k < policy->form.n_drops; k++) {
			const struct usage_drops *drops = policy_drops(policy, k);

			if (drops->number + 1u != rules->urrs[i].place)
				continue;
			reply_row(r);
			reply_uint(r, NULL, rules->urrs[i].id);
			reply_uint(r, NULL, drops->packets);
			reply_uint(r, NULL, drops->bytes);
			left_put(r, drops->packets_threshold != USAGE_NONE,
				 (int64_t)(drops->packets_threshold - drops->packets));
			left_put(r, drops->bytes_threshold != USAGE_NONE,
				 (int64_t)(drops->bytes_threshold - drops->bytes));
		}
	reply_table_close(r);
}

static void nexts_put(struct reply *r, const struct rules *rules)
{
	static const char *const columns[] = {
		"urr",
		"in_s",
		"threshold_bytes",
		"threshold_up_bytes",
		"threshold_down_bytes",
		"quota_bytes",
		"quota_up_bytes",
		"quota_down_bytes",
		"threshold_s",
		"quota_s",
		"threshold_events",
		"quota_events",
		NULL,
	};

	reply_table_open(r, "monitoring_times", columns);
	for (unsigned i = 0; i < rules->n_nexts; i++) {
		const struct urr_next *next = &rules->nexts[i];
		time_t in_s = clock_wall_from_ntp(next->at) - clock_wall_s();

		reply_row(r);
		reply_uint(r, NULL, next->urr);
		reply_uint(r, NULL, in_s > 0 ? (uint64_t)in_s : 0);
		rules_put_volumes(r, &next->threshold);
		rules_put_volumes(r, &next->quota);
		reply_uint_if(r, NULL, next->time_threshold_s != 0, next->time_threshold_s);
		reply_uint_if(r, NULL, next->time_quota_s != 0, next->time_quota_s);
		reply_uint_if(r, NULL, next->event_threshold != 0, next->event_threshold);
		reply_uint_if(r, NULL, next->event_quota != 0, next->event_quota);
	}
	reply_table_close(r);
}

void usage_put(struct reply *r, const struct n4_session *session, const struct policy *policy)
{
	static const char *const columns[] = {
		"urr",
		"since_s",
		"reports",
		"state",
		"up_bytes",
		"down_bytes",
		"threshold_left",
		"threshold_up_left",
		"threshold_down_left",
		"quota_left",
		"quota_up_left",
		"quota_down_left",
		"dropped_packets",
		NULL,
	};
	const struct rules *rules = session->rules;

	reply_table_open(r, "usage", columns);
	for (unsigned i = 0; i < rules->n_urrs; i++) {
		const struct urr_rule *urr = &rules->urrs[i];

		row_put(r, session, urr,
			policy && urr->place && urr->place <= policy->form.n_usages
				? policy_usage(policy, urr->place - 1u)
				: NULL);
	}
	reply_table_close(r);
	times_put(r, session);
	drops_put(r, rules, policy);
	nexts_put(r, rules);
}
