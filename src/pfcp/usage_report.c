// From counts to Usage Reports (TS 29.244 7.5.8.3), see usage.h.
// Control thread only.

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/n4_session.h"
#include "pfcp/report.h"
#include "pfcp/usage_state.h"

#define BYTES_ALL                                                                                  \
	(PFCP_VOLUME_MEASUREMENT_TOVOL | PFCP_VOLUME_MEASUREMENT_ULVOL |                           \
	 PFCP_VOLUME_MEASUREMENT_DLVOL)
#define PACKETS_ALL                                                                                \
	(PFCP_VOLUME_MEASUREMENT_TONOP | PFCP_VOLUME_MEASUREMENT_ULNOP |                           \
	 PFCP_VOLUME_MEASUREMENT_DLNOP)

static uint32_t ntp_of(uint64_t at_ns)
{
	return clock_ntp_s() - (uint32_t)(clock_now_ns() / NS_PER_SEC - at_ns / NS_PER_SEC);
}

static void volume_fill(struct pfcp_volume_measurement *volume, const struct urr_rule *rule,
			const struct usage_counts *counts)
{
	volume->flags = BYTES_ALL;
	volume->up = counts->bytes[SIDE_UP];
	volume->down = counts->bytes[SIDE_DOWN];
	volume->total = volume->up + volume->down;
	if (!(rule->measurement_info & MEASURE_PACKETS))
		return;
	volume->flags |= PACKETS_ALL;
	volume->up_packets = counts->packets[SIDE_UP];
	volume->down_packets = counts->packets[SIDE_DOWN];
	volume->total_packets = volume->up_packets + volume->down_packets;
}

// The stretch of time since the last report or stretch, and what was counted in it. Whole seconds between the same two
// moments are the same however they are cut, so no second is in two reports or in none.
static void stretch_put(struct urr_state *u, const struct urr_rule *rule, uint32_t triggers,
			const struct usage_stretch *stretch, uint8_t information,
			const struct usage_sink *sink)
{
	const struct usage_counts *counts = &stretch->counts;
	struct pfcp_usage_report report = {
		.urr_id = u->id,
		.seqn = u->sequence++,
		.trigger = triggers,
		.start = ntp_of(u->since_ns),
		.end = ntp_of(stretch->to_ns),
		.usage_information = information,
	};

	if (rule->method & METHOD_VOLUM)
		volume_fill(&report.volume, rule, counts);
	report.has_duration = (rule->method & METHOD_DURAT) != 0;
	if (report.has_duration)
		report.duration_s = (uint32_t)(stretch->to_timed_ns / NS_PER_SEC -
					       u->since_timed_ns / NS_PER_SEC);
	if (counts->first_s) {
		report.first_packet = ntp_of(counts->first_s * NS_PER_SEC);
		report.last_packet = ntp_of(counts->last_s * NS_PER_SEC);
	}
	for (unsigned i = u->since_event;
	     u->events && i < stretch->to_event && report.n_events < RULES_MAX_EVENTS; i++)
		report.events[report.n_events++] = ntp_of(u->events[i]);
	u->since_event = stretch->to_event;
	u->since_ns = stretch->to_ns;
	u->since_timed_ns = stretch->to_timed_ns;
	if (rule->measurement_info & MEASURE_BEFORE)
		report.usage_information |= PFCP_USAGE_INFORMATION_UBE;
	if (sink->reference) {
		report.has_query_reference = true;
		report.query_reference = *sink->reference;
	}
	sink->put(sink->ctx, &report);
}

// --- time that is measured ---------------------------------------------------------------------------------

uint64_t usage_timed(const struct urr_state *u, uint64_t at_ns)
{
	return u->timed_ns + (u->runs_ns && at_ns > u->runs_ns ? at_ns - u->runs_ns : 0);
}

void usage_time_run(struct urr_state *u, uint64_t at_ns)
{
	if (!u->runs_ns)
		u->runs_ns = at_ns;
}

// What something has begun from is not taken back, though the silence began before.
void usage_time_pause(struct urr_state *u, uint64_t at_ns)
{
	const uint64_t begun[] = {
		u->since_timed_ns,
		u->n_stretches ? u->stretches[u->n_stretches - 1].to_timed_ns : 0,
		u->threshold_timed_ns,
		u->quota_timed_ns,
	};

	u->timed_ns = usage_timed(u, at_ns);
	u->runs_ns = 0;
	for (unsigned i = 0; i < sizeof(begun) / sizeof(begun[0]); i++)
		if (u->timed_ns < begun[i])
			u->timed_ns = begun[i];
}

void usage_quota_given(struct urr_state *u)
{
	u->quota_ns = clock_now_ns();
	u->quota_timed_ns = usage_timed(u, u->quota_ns);
	u->active_ns = u->quota_ns;
	u->quota_over = false;
	u->events_used = 0;
}

// --- monitoring times --------------------------------------------------------------------------------------

static bool next_gives(const struct urr_next *next)
{
	return next->threshold.flags || next->quota.flags || next->time_threshold_s ||
	       next->time_quota_s || next->event_threshold || next->event_quota;
}

void usage_split_await(struct urr_state *u, struct rules *rules)
{
	struct urr_next *next;
	time_t left_s = 0;

	while ((next = rules_next_first(rules, u->id))) {
		left_s = clock_wall_from_ntp(next->at) - clock_wall_s();
		if (left_s > 0 || next_gives(next))
			break;
		rules_next_del(rules, next);
	}
	u->split_due_ns = 0;
	if (next && !u->stretches)
		u->stretches = calloc(RULES_MAX_NEXTS, sizeof(*u->stretches));
	if (next && !u->stretches)
		log_error_limited("N4: out of memory: a monitoring time is left out");
	else if (next)
		u->split_due_ns = clock_now_ns() + (left_s > 0 ? (uint64_t)left_s * NS_PER_SEC : 0);
}

static void counts_add(struct usage_counts *to, const struct usage_counts *more)
{
	for (unsigned side = 0; side < SIDES; side++) {
		to->bytes[side] += more->bytes[side];
		to->packets[side] += more->packets[side];
	}
	to->first_s = to->first_s ? to->first_s : more->first_s;
	to->last_s = more->last_s ? more->last_s : to->last_s;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// Of these counts, those of after the last stretch. When the first packet of them came nobody knows. A URR that
// counted nothing but bytes meanwhile has no packets of before.
static struct usage_counts counts_after(const struct urr_state *u, const struct usage_counts *all)
{
	const struct usage_counts *in = &u->in_stretches;
	struct usage_counts after = *all;
	bool has_before = false;

	for (unsigned side = 0; side < SIDES; side++) {
		after.bytes[side] -= in->bytes[side];
		after.packets[side] -= least(in->packets[side], after.packets[side]);
		has_before |= in->bytes[side] != 0;
	}
	if (has_before)
		after.first_s = 0;
	return after;
}

void usage_split(struct urr_state *u, const struct usage_counts *counts, bool anew)
{
	struct usage_counts after = counts_after(u, counts);
	struct usage_stretch *stretch;

	if (u->n_stretches < RULES_MAX_NEXTS)
		u->n_stretches++;
	stretch = &u->stretches[u->n_stretches - 1]; // beyond, the last becomes longer
	stretch->to_ns = clock_now_ns();
	stretch->to_timed_ns = usage_timed(u, stretch->to_ns);
	stretch->to_event = u->n_events;
	counts_add(&stretch->counts, &after);
	u->in_stretches = anew ? (struct usage_counts){0} : *counts;
}

// Those that want to be reported together with this one (LIUSA).
static void linked_due(struct n4_usage *s, uint32_t id)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct urr_rule *rule = rules_urr_lookup(s->session->rules, s->urrs[i].id);

		if (!rule || !(rule->triggers & TRIGGER_LIUSA))
			continue;
		for (unsigned k = 0; k < rule->n_linked; k++)
			if (rule->linked[k] == id)
				s->urrs[i].due |= PFCP_USAGE_REPORT_TRIGGER_LIUSA;
	}
}

void usage_report(struct n4_usage *s, struct urr_state *u, const struct urr_rule *rule,
		  const struct usage_counts *counts, uint32_t triggers,
		  const struct usage_sink *sink)
{
	struct usage_stretch last = {.to_ns = clock_now_ns(),
				     .to_event = u->n_events,
				     .counts = counts_after(u, counts)};
	uint8_t information = 0;

	last.to_timed_ns = usage_timed(u, last.to_ns);
	for (unsigned i = 0; i < u->n_stretches; i++) {
		stretch_put(u, rule, triggers | PFCP_USAGE_REPORT_TRIGGER_MONIT, &u->stretches[i],
			    information | PFCP_USAGE_INFORMATION_BEF, sink);
		information = PFCP_USAGE_INFORMATION_AFT;
	}
	stretch_put(u, rule, triggers, &last, information, sink);
	if (u->n_stretches)
		memset(u->stretches, 0, RULES_MAX_NEXTS * sizeof(*u->stretches));
	u->n_stretches = 0;
	u->in_stretches = (struct usage_counts){0};
	u->threshold_timed_ns = last.to_timed_ns;
	u->n_events = u->since_event = u->events_from = 0;
	u->due &= ~triggers;
	if (triggers & (USAGE_STOPS | PFCP_USAGE_REPORT_TRIGGER_VOLQU))
		u->quota_over = true;
	if (triggers != PFCP_USAGE_REPORT_TRIGGER_LIUSA && s->session->rules)
		linked_due(s, u->id);
}

void usage_report_start(struct n4_usage *s, struct urr_state *u)
{
	struct pfcp_usage_report report = {
		.urr_id = u->id,
		.seqn = u->sequence++,
		.trigger = PFCP_USAGE_REPORT_TRIGGER_START,
		.first_packet = ntp_of(u->active_ns),
	};

	usage_to_smf(s, &report);
}

void usage_to_smf(void *usage, const struct pfcp_usage_report *report)
{
	const struct n4_usage *s = usage;
	struct report r = {.kind = REPORT_USAGE, .usage = *report};

	n4_report(s->n4, s->session, &r);
}
