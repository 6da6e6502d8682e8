// Create and Update QER, URR (TS 29.244 7.5.2.4, 7.5.2.5, 7.5.4.4, 7.5.4.5), see decode.h.
// Control thread. Read and kept; what they ask for is done by the policy services.

#include <errno.h>
#include <string.h>

#include "pfcp/decode.h"

// --- QER -------------------------------------------------------------------------------------------------

static int take_gate(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct qer_rule *qer = rule;
	struct pfcp_gate_status value;

	if (pfcp_gate_status_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	qer->gate_up = value.up != 0;
	qer->gate_down = value.down != 0;
	return 0;
}

static int take_mbr(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct qer_rule *qer = rule;
	struct pfcp_bit_rates value = {0};

	if (ie->len > 0 && pfcp_bit_rates_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	qer->has_mbr = ie->len > 0;
	qer->mbr_up_bps = value.up_bps;
	qer->mbr_down_bps = value.down_bps;
	return 0;
}

static int take_gbr(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct qer_rule *qer = rule;
	struct pfcp_bit_rates value = {0};

	if (ie->len > 0 && pfcp_bit_rates_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	qer->has_gbr = ie->len > 0;
	qer->gbr_up_bps = value.up_bps;
	qer->gbr_down_bps = value.down_bps;
	return 0;
}

// Uplink and Downlink Time Unit (TS 29.244 8.2.64).
static bool packet_unit_seconds(uint8_t unit, uint32_t *ret_seconds)
{
	static const uint32_t seconds[] = {60, 360, 3600, 86400, 604800};

	if (unit >= sizeof(seconds) / sizeof(seconds[0]))
		return false;
	*ret_seconds = seconds[unit];
	return true;
}

static int take_packet_rate(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct qer_rule *qer = rule;
	struct pfcp_packet_rate value = {0};

	if (ie->len > 0 && pfcp_packet_rate_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	if (!packet_unit_seconds(value.up_unit, &qer->packet_unit_up_s) ||
	    !packet_unit_seconds(value.down_unit, &qer->packet_unit_down_s))
		return decode_fault(d, PFCP_CAUSE_MANDATORY_INCORRECT, ie->type,
				    "unknown time unit of a packet rate");
	qer->packet_rate_up = value.up;
	qer->packet_rate_down = value.down;
	return 0;
}

static int take_qfi(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct qer_rule *qer = rule;

	qer->has_qfi = ie->len > 0;
	qer->qfi = 0;
	return ie->len > 0 ? decode_u8(d, ie, &qer->qfi) : 0;
}

static int take_rqi(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct qer_rule *qer = rule;
	uint8_t value = 0;

	if (ie->len > 0 && decode_u8(d, ie, &value) < 0)
		return -EINVAL;
	qer->rqi = value & PFCP_RQI_RQI;
	return 0;
}

static int take_ppi(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct qer_rule *qer = rule;

	qer->ppi = RULES_PPI_NONE;
	return ie->len > 0 ? decode_u8(d, ie, &qer->ppi) : 0;
}

static int take_correlation_id(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct qer_rule *qer = rule;

	qer->correlation_id = 0;
	return ie->len > 0 ? decode_u32(d, ie, &qer->correlation_id) : 0;
}

static int take_averaging_window(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct qer_rule *qer = rule;

	qer->averaging_window_ms = 0;
	return ie->len > 0 ? decode_u32(d, ie, &qer->averaging_window_ms) : 0;
}

// Reports of what a packet rate has left (QER Control Indications) are refused, as are all without a row.
static const struct decode_row qer_rows[] = {
	{PFCP_IE_QER_CORRELATION_ID, false, take_correlation_id},
	{PFCP_IE_GATE_STATUS, true, take_gate},
	{PFCP_IE_MBR, false, take_mbr},
	{PFCP_IE_GBR, false, take_gbr},
	{PFCP_IE_PACKET_RATE, false, take_packet_rate},
	{PFCP_IE_QFI, false, take_qfi},
	{PFCP_IE_RQI, false, take_rqi},
	{PFCP_IE_PAGING_POLICY_INDICATOR, false, take_ppi},
	{PFCP_IE_AVERAGING_WINDOW, false, take_averaging_window},
};

int decode_qer(struct decode *d, struct qer_rule *qer, const struct pfcp_ie *group)
{
	if (!d->update)
		qer->ppi = RULES_PPI_NONE;
	return decode_group(d, qer, group, qer_rows, DECODE_ROWS(qer_rows));
}

// --- URR -------------------------------------------------------------------------------------------------

static int take_method(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct urr_rule *urr = rule;

	return decode_u8(d, ie, &urr->method);
}

static int take_triggers(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct urr_rule *urr = rule;

	return decode_u32(d, ie, &urr->triggers);
}

static int read_volume(struct decode *d, const struct pfcp_ie *ie, struct urr_volumes *ret)
{
	struct pfcp_volume value = {0};

	if (ie->len > 0 && pfcp_volume_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	*ret = (struct urr_volumes){
		.flags = value.flags & (PFCP_VOLUME_THRESHOLD_TOVOL | PFCP_VOLUME_THRESHOLD_ULVOL |
					PFCP_VOLUME_THRESHOLD_DLVOL),
		.total = value.total,
		.up = value.up,
		.down = value.down,
	};
	return 0;
}

static int take_volume_threshold(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct urr_rule *urr = rule;

	return read_volume(d, ie, &urr->threshold);
}

static int take_volume_quota(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct urr_rule *urr = rule;

	urr->quota_given = urr->resumed = true;
	return read_volume(d, ie, &urr->quota);
}

static int take_linked(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct urr_rule *urr = rule;

	return decode_ids(d, ie->type, urr->linked, RULES_MAX_PDR_REFS, &urr->n_linked);
}

static int take_quota_far(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct urr_rule *urr = rule;

	urr->has_quota_far = ie->len > 0;
	return ie->len > 0 ? decode_u32(d, ie, &urr->quota_far) : 0;
}

static int take_information(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct urr_rule *urr = rule;

	urr->measurement_info = 0;
	return ie->len > 0 ? decode_u8(d, ie, &urr->measurement_info) : 0;
}

// Plain numbers of 32 bits, 0 when taken away.
#define TAKE_NUMBER(field)                                                                         \
	static int take_##field(struct decode *d, void *rule, const struct pfcp_ie *ie)            \
	{                                                                                          \
		struct urr_rule *urr = rule;                                                       \
                                                                                                   \
		urr->field = 0;                                                                    \
		return ie->len > 0 ? decode_u32(d, ie, &urr->field) : 0;                           \
	}

TAKE_NUMBER(period_s)
TAKE_NUMBER(time_threshold_s)
TAKE_NUMBER(time_quota_s)
TAKE_NUMBER(quota_holding_s)
TAKE_NUMBER(quota_validity_s)
TAKE_NUMBER(inactivity_s)
TAKE_NUMBER(event_threshold)
TAKE_NUMBER(event_quota)

// A quota that is given anew: what it has stopped goes on.
#define TAKE_QUOTA(field)                                                                          \
	static int give_##field(struct decode *d, void *rule, const struct pfcp_ie *ie)            \
	{                                                                                          \
		((struct urr_rule *)rule)->resumed = true;                                         \
		return take_##field(d, rule, ie);                                                  \
	}

TAKE_QUOTA(time_quota_s)
TAKE_QUOTA(quota_holding_s)
TAKE_QUOTA(quota_validity_s)
TAKE_QUOTA(event_quota)

static int take_drops(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct urr_rule *urr = rule;
	struct pfcp_dropped_threshold value = {0};

	if (ie->len > 0 && pfcp_dropped_threshold_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	urr->drops = (struct urr_drops){
		.flags = value.flags & (PFCP_DROPPED_DL_TRAFFIC_THRESHOLD_DLPA |
					PFCP_DROPPED_DL_TRAFFIC_THRESHOLD_DLBY),
		.packets = value.packets,
		.bytes = value.bytes,
	};
	return 0;
}

// --- what holds from a monitoring time on ----------------------------------------------------------------

static int next_number(struct decode *d, uint32_t *field, const struct pfcp_ie *ie)
{
	*field = 0;
	return ie->len > 0 ? decode_u32(d, ie, field) : 0;
}

// One reader for a member of Additional Monitoring Time, and one for its like in the URR itself.
#define TAKE_NEXT(name, read)                                                                      \
	static int next_##name(struct decode *d, void *rule, const struct pfcp_ie *ie)             \
	{                                                                                          \
		struct urr_next *next = rule;                                                      \
                                                                                                   \
		return read;                                                                       \
	}                                                                                          \
                                                                                                   \
	static int own_##name(struct decode *d, void *rule, const struct pfcp_ie *ie)              \
	{                                                                                          \
		struct urr_next *next = own_next(d, ((struct urr_rule *)rule)->id);                \
                                                                                                   \
		if (!next && ie->len == 0)                                                         \
			return 0;                                                                  \
		if (!next)                                                                         \
			next = rules_next_add(d->rules, ((struct urr_rule *)rule)->id);            \
		return next ? next_##name(d, next, ie) : next_fault(d, ie);                        \
	}

static int next_fault(const struct decode *d, const struct pfcp_ie *ie)
{
	return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, ie->type,
			    "more monitoring times than a URR may have");
}

// That of the URR's own IEs, or NULL.
static struct urr_next *own_next(struct decode *d, uint32_t urr)
{
	for (unsigned i = 0; i < d->rules->n_nexts; i++)
		if (d->rules->nexts[i].urr == urr && !d->rules->nexts[i].additional)
			return &d->rules->nexts[i];
	return NULL;
}

TAKE_NEXT(at, next_number(d, &next->at, ie))
TAKE_NEXT(threshold, read_volume(d, ie, &next->threshold))
TAKE_NEXT(quota, read_volume(d, ie, &next->quota))
TAKE_NEXT(time_threshold, next_number(d, &next->time_threshold_s, ie))
TAKE_NEXT(time_quota, next_number(d, &next->time_quota_s, ie))
TAKE_NEXT(event_threshold, next_number(d, &next->event_threshold, ie))
TAKE_NEXT(event_quota, next_number(d, &next->event_quota, ie))

static const struct decode_row next_rows[] = {
	{PFCP_IE_MONITORING_TIME, true, next_at},
	{PFCP_IE_SUBSEQUENT_VOLUME_THRESHOLD, false, next_threshold},
	{PFCP_IE_SUBSEQUENT_TIME_THRESHOLD, false, next_time_threshold},
	{PFCP_IE_SUBSEQUENT_VOLUME_QUOTA, false, next_quota},
	{PFCP_IE_SUBSEQUENT_TIME_QUOTA, false, next_time_quota},
	{PFCP_IE_EVENT_THRESHOLD, false, next_event_threshold},
	{PFCP_IE_EVENT_QUOTA, false, next_event_quota},
};

// Those given take the place of all that there were; one empty IE alone: none.
static int take_additional(struct decode *d, void *rule, const struct pfcp_ie *first)
{
	const struct urr_rule *urr = rule;
	struct pfcp_cursor ies = d->ies;
	struct pfcp_ie group;

	for (unsigned i = d->rules->n_nexts; i-- > 0;)
		if (d->rules->nexts[i].urr == urr->id && d->rules->nexts[i].additional)
			rules_next_del(d->rules, &d->rules->nexts[i]);
	while (decode_next(&ies, first->type, &group)) {
		struct urr_next *next;

		if (group.len == 0 && d->update)
			continue;
		next = rules_next_add(d->rules, urr->id);
		if (!next)
			return next_fault(d, first);
		next->additional = true;
		if (decode_group(d, next, &group, next_rows, DECODE_ROWS(next_rows)) < 0)
			return -EINVAL;
		if (!next->at)
			return decode_fault(d, PFCP_CAUSE_MANDATORY_MISSING,
					    PFCP_IE_MONITORING_TIME,
					    "an additional monitoring time that says no time");
	}
	return 0;
}

// A monitoring time that is taken away takes with it what would have followed.
static int take_monitoring_time(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct urr_next *next = own_next(d, d->id);

	if (ie->len > 0)
		return own_at(d, rule, ie);
	if (next)
		rules_next_del(d->rules, next);
	return 0;
}

static const struct decode_row urr_rows[] = {
	{PFCP_IE_MEASUREMENT_METHOD, true, take_method},
	{PFCP_IE_REPORTING_TRIGGERS, true, take_triggers},
	{PFCP_IE_MEASUREMENT_PERIOD, false, take_period_s},
	{PFCP_IE_VOLUME_THRESHOLD, false, take_volume_threshold},
	{PFCP_IE_VOLUME_QUOTA, false, take_volume_quota},
	{PFCP_IE_TIME_THRESHOLD, false, take_time_threshold_s},
	{PFCP_IE_TIME_QUOTA, false, give_time_quota_s},
	{PFCP_IE_QUOTA_HOLDING_TIME, false, give_quota_holding_s},
	{PFCP_IE_QUOTA_VALIDITY_TIME, false, give_quota_validity_s},
	{PFCP_IE_DROPPED_DL_TRAFFIC_THRESHOLD, false, take_drops},
	{PFCP_IE_INACTIVITY_DETECTION_TIME, false, take_inactivity_s},
	{PFCP_IE_MONITORING_TIME, false, take_monitoring_time},
	{PFCP_IE_SUBSEQUENT_VOLUME_THRESHOLD, false, own_threshold},
	{PFCP_IE_SUBSEQUENT_TIME_THRESHOLD, false, own_time_threshold},
	{PFCP_IE_SUBSEQUENT_VOLUME_QUOTA, false, own_quota},
	{PFCP_IE_SUBSEQUENT_TIME_QUOTA, false, own_time_quota},
	{PFCP_IE_SUBSEQUENT_EVENT_THRESHOLD, false, own_event_threshold},
	{PFCP_IE_SUBSEQUENT_EVENT_QUOTA, false, own_event_quota},
	{PFCP_IE_ADDITIONAL_MONITORING_TIME, false, take_additional},
	{PFCP_IE_EVENT_THRESHOLD, false, take_event_threshold},
	{PFCP_IE_EVENT_QUOTA, false, give_event_quota},
	{PFCP_IE_LINKED_URR_ID, false, take_linked},
	{PFCP_IE_FAR_ID, false, take_quota_far},
	{PFCP_IE_MEASUREMENT_INFORMATION, false, take_information},
};

int decode_urr(struct decode *d, struct urr_rule *urr, const struct pfcp_ie *group)
{
	return decode_group(d, urr, group, urr_rows, DECODE_ROWS(urr_rows));
}
