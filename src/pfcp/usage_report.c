// From counts to Usage Reports (TS 29.244 7.5.8.3), see usage.h.
// Control thread only.

#include "base/clock.h"
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

// One stretch of time and what was counted in it. Whole seconds between the same two moments are the same however
// they are cut, so no second is in two reports or in none.
static void stretch_put(struct urr_state *u, const struct urr_rule *rule, uint32_t triggers,
			uint64_t from_ns, uint64_t to_ns, const struct usage_counts *counts,
			uint8_t information, const struct usage_sink *sink)
{
	struct pfcp_usage_report report = {
		.urr_id = u->id,
		.seqn = u->sequence++,
		.trigger = triggers,
		.start = ntp_of(from_ns),
		.end = ntp_of(to_ns),
		.usage_information = information,
	};
	uint64_t timed_ns = u->started_ns > from_ns ? u->started_ns : from_ns;

	if (rule->method & METHOD_VOLUM)
		volume_fill(&report.volume, rule, counts);
	report.has_duration = (rule->method & METHOD_DURAT) != 0;
	if (report.has_duration && u->started_ns && timed_ns < to_ns)
		report.duration_s = (uint32_t)(to_ns / NS_PER_SEC - timed_ns / NS_PER_SEC);
	if (counts->first_s) {
		report.first_packet = ntp_of(counts->first_s * NS_PER_SEC);
		report.last_packet = ntp_of(counts->last_s * NS_PER_SEC);
	}
	for (unsigned i = 0; u->events && i < u->n_events; i++)
		if (u->events[i] >= from_ns && u->events[i] <= to_ns)
			report.events[report.n_events++] = ntp_of(u->events[i]);
	if (rule->measurement_info & MEASURE_BEFORE)
		report.usage_information |= PFCP_USAGE_INFORMATION_UBE;
	if (sink->reference) {
		report.has_query_reference = true;
		report.query_reference = *sink->reference;
	}
	sink->put(sink->ctx, &report);
}

// What was counted after the monitoring time: all, less what was counted before.
static struct usage_counts counts_after(const struct usage_counts *all,
					const struct usage_counts *before)
{
	struct usage_counts after = {.last_s = all->last_s};

	for (unsigned side = 0; side < SIDES; side++) {
		after.bytes[side] = all->bytes[side] - before->bytes[side];
		after.packets[side] = all->packets[side] - before->packets[side];
	}
	return after;
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
	uint64_t now = clock_now_ns();

	if (u->split_ns) {
		struct usage_counts after = counts_after(counts, &u->before);

		stretch_put(u, rule, triggers | PFCP_USAGE_REPORT_TRIGGER_MONIT, u->since_ns,
			    u->split_ns, &u->before, PFCP_USAGE_INFORMATION_BEF, sink);
		stretch_put(u, rule, triggers, u->split_ns, now, &after, PFCP_USAGE_INFORMATION_AFT,
			    sink);
	} else {
		stretch_put(u, rule, triggers, u->since_ns, now, counts, 0, sink);
	}
	u->since_ns = now;
	u->split_ns = 0;
	u->n_events = 0;
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
