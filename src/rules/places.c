// Which state of a session is a QER's or URR's: places, see model.h.
//
// Control thread. A place says where meters and usage stand (session/policy.h), so a rule keeps it while others
// come and go; a rule that goes leaves it free for the next.

#include <string.h>

#include "rules/model.h"

#define PLACES 256

static uint8_t place_free(bool used[PLACES])
{
	unsigned place = 1;

	while (used[place])
		place++;
	used[place] = true;
	return (uint8_t)place;
}

bool qer_has_packet_rate(const struct qer_rule *qer)
{
	return qer->packet_rate_up || qer->packet_rate_down;
}

static bool is_metered(const struct qer_rule *qer)
{
	return qer->has_mbr || qer_has_packet_rate(qer);
}

static void qers_assign(struct rules *rules)
{
	bool used[PLACES] = {false};

	for (unsigned i = 0; i < rules->n_qers; i++) {
		struct qer_rule *qer = &rules->qers[i];

		if (!is_metered(qer))
			qer->place = 0;
		used[qer->place] = true;
	}
	for (unsigned i = 0; i < rules->n_qers; i++) {
		struct qer_rule *qer = &rules->qers[i];

		if (!is_metered(qer) || qer->place)
			continue;
		qer->place = place_free(used);
		qer->fresh = true;
	}
}

static bool serial_is_used(const struct rules *rules, uint16_t serial)
{
	for (unsigned i = 0; i < rules->n_urrs; i++)
		if (rules->urrs[i].serial == serial)
			return true;
	return false;
}

// Never 0, which those have that have no place yet.
static uint16_t serial_next(struct rules *rules)
{
	do
		rules->last_serial++;
	while (serial_is_used(rules, rules->last_serial) || rules->last_serial == 0);
	return rules->last_serial;
}

static void urrs_assign(struct rules *rules)
{
	bool used[PLACES] = {false};

	for (unsigned i = 0; i < rules->n_urrs; i++)
		used[rules->urrs[i].place] = true;
	for (unsigned i = 0; i < rules->n_urrs; i++)
		if (!rules->urrs[i].place) {
			rules->urrs[i].place = place_free(used);
			rules->urrs[i].serial = serial_next(rules);
			rules->urrs[i].fresh = true;
		}
}

void rules_places_assign(struct rules *rules)
{
	qers_assign(rules);
	urrs_assign(rules);
}

unsigned rules_meter_places(const struct rules *rules)
{
	unsigned n = 0;

	for (unsigned i = 0; i < rules->n_qers; i++)
		if (rules->qers[i].place > n)
			n = rules->qers[i].place;
	return n;
}

unsigned rules_usage_places(const struct rules *rules)
{
	unsigned n = 0;

	for (unsigned i = 0; i < rules->n_urrs; i++)
		if (rules->urrs[i].place > n)
			n = rules->urrs[i].place;
	return n;
}

bool urr_measures_time(const struct urr_rule *urr)
{
	return urr->method & METHOD_DURAT || urr->time_threshold_s || urr->time_quota_s;
}

bool urr_is_paused(const struct urr_rule *urr)
{
	return urr->measurement_info & MEASURE_NOT;
}

bool urr_counts_drops(const struct urr_rule *urr)
{
	return urr->triggers & TRIGGER_DROTH;
}

bool urr_awaits(const struct urr_rule *urr)
{
	return urr->triggers & (TRIGGER_START | TRIGGER_STOPT) || urr->method & METHOD_EVENT ||
	       (urr_measures_time(urr) && !(urr->measurement_info & MEASURE_START));
}

bool urr_has_quota(const struct urr_rule *urr)
{
	return urr->quota.flags || urr->time_quota_s || urr->quota_holding_s ||
	       urr->quota_validity_s || urr->event_quota;
}

// When packets come matters to all others, or their number.
bool urr_is_plain(const struct urr_rule *urr)
{
	return urr->method == METHOD_VOLUM && !urr_awaits(urr) && !urr->quota_holding_s &&
	       !urr->inactivity_s && !(urr->measurement_info & (MEASURE_BEFORE | MEASURE_PACKETS));
}

void rules_settled(struct rules *rules)
{
	for (unsigned i = 0; i < rules->n_qers; i++)
		rules->qers[i].fresh = false;
	for (unsigned i = 0; i < rules->n_urrs; i++)
		rules->urrs[i].fresh = rules->urrs[i].quota_given = rules->urrs[i].resumed = false;
}
