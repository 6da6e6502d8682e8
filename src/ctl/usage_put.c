// The table of usage (usage_put.h). Control thread.
//
// Bytes are those since the last report; what is left of a threshold is until the next report, of a quota until packets
// stop. None is shown where the SMF gave none, and where the owner could not be asked.

#include "ctl/usage_put.h"

#include "base/clock.h"
#include "ctl/reply.h"
#include "pfcp/n4_session.h"
#include "pfcp/usage.h"

static void left_put(struct reply *r, bool given, int64_t left)
{
	if (given)
		reply_uint(r, NULL, left > 0 ? (uint64_t)left : 0);
	else
		reply_null(r, NULL);
}

static void counts_put(struct reply *r, const struct usage *usage)
{
	uint64_t counted[USAGE_VOLUMES];

	if (!usage) {
		for (unsigned i = 0; i < 2 + 2 * USAGE_VOLUMES + 1; i++)
			reply_null(r, NULL);
		return;
	}
	counted[USAGE_UP] = usage->counts.bytes[SIDE_UP];
	counted[USAGE_DOWN] = usage->counts.bytes[SIDE_DOWN];
	counted[USAGE_TOTAL] = counted[USAGE_UP] + counted[USAGE_DOWN];
	reply_uint(r, NULL, counted[USAGE_UP]);
	reply_uint(r, NULL, counted[USAGE_DOWN]);
	for (unsigned i = 0; i < USAGE_VOLUMES; i++)
		left_put(r, usage->threshold[i] != USAGE_NONE,
			 usage->threshold[i] - (int64_t)counted[i]);
	for (unsigned i = 0; i < USAGE_VOLUMES; i++)
		left_put(r, usage->quota[i] != USAGE_NONE, usage->quota[i]);
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
				? &policy->usages[urr->place - 1]
				: NULL);
	}
	reply_table_close(r);
}
