// Blocks of meters and usage made of rules, see policy_rules.h.
// Control thread. What a rule limits is read here; what it has counted is carried over by the owner.

#include "session/policy_rules.h"

#include <errno.h>
#include <string.h>

#define VOLUME_TOTAL 0x1 // of struct urr_volumes' flags
#define VOLUME_UP 0x2
#define VOLUME_DOWN 0x4
#define DROPS_PACKETS 0x1 // of struct urr_drops'
#define DROPS_BYTES 0x2

bool policy_serves(const struct rules *old, const struct rules *rules)
{
	// A rule that was just made is fresh, one that the owner has is not.
	return old->n_qers == rules->n_qers && old->n_urrs == rules->n_urrs &&
	       (old->n_qers == 0 ||
		memcmp(old->qers, rules->qers, old->n_qers * sizeof(*old->qers)) == 0) &&
	       (old->n_urrs == 0 ||
		memcmp(old->urrs, rules->urrs, old->n_urrs * sizeof(*old->urrs)) == 0);
}

// So many packets in each stretch of so many seconds (TS 29.244 8.2.64): all of them may come at once.
static void packet_rate_fill(struct packet_meter *meter, uint32_t packets, uint32_t seconds)
{
	if (!packets)
		return;
	meter->units = seconds * METER_UNITS_PER_SEC / packets;
	meter->burst = seconds * METER_UNITS_PER_SEC - meter->units;
}

static void meters_fill(struct policy *policy, const struct qer_rule *qer)
{
	unsigned i = qer->place - 1u;

	for (unsigned side = 0; side < SIDES; side++) {
		struct meter *meter = policy_meter(policy, i, side);
		bool up = side == SIDE_UP;

		meter->fresh = qer->fresh;
		if (qer->has_mbr)
			meter->cost = meter_cost_of(up ? qer->mbr_up_bps : qer->mbr_down_bps);
		if (policy->form.packets)
			packet_rate_fill(policy_packets(policy, i, side),
					 up ? qer->packet_rate_up : qer->packet_rate_down,
					 up ? qer->packet_unit_up_s : qer->packet_unit_down_s);
	}
}

static int64_t volume_of(const struct urr_volumes *volumes, uint8_t flag, uint64_t value)
{
	if (!(volumes->flags & flag))
		return USAGE_NONE;
	return value < INT64_MAX / 2 ? (int64_t)value : INT64_MAX / 2;
}

// What limits a URR's volumes, in their order (session/policy.h).
static void limits_of(const struct urr_rule *urr, int64_t ret[USAGE_LIMITS])
{
	static const struct urr_volumes none;
	const struct urr_volumes *both[] = {urr->triggers & TRIGGER_VOLTH ? &urr->threshold : &none,
					    &urr->quota};

	for (unsigned i = 0; i < 2; i++, ret += USAGE_VOLUMES) {
		ret[USAGE_TOTAL] = volume_of(both[i], VOLUME_TOTAL, both[i]->total);
		ret[USAGE_UP] = volume_of(both[i], VOLUME_UP, both[i]->up);
		ret[USAGE_DOWN] = volume_of(both[i], VOLUME_DOWN, both[i]->down);
	}
}

static unsigned limits_count(const struct urr_rule *urr)
{
	int64_t limits[USAGE_LIMITS];
	unsigned n = 0;

	limits_of(urr, limits);
	for (unsigned i = 0; i < USAGE_LIMITS; i++)
		n += limits[i] != USAGE_NONE;
	return n;
}

static void limits_fill(struct usage *usage, const struct urr_rule *urr)
{
	int64_t limits[USAGE_LIMITS];
	unsigned n = 0;

	limits_of(urr, limits);
	for (unsigned i = 0; i < USAGE_LIMITS; i++) {
		if (limits[i] == USAGE_NONE)
			continue;
		usage->flags |= (uint16_t)(1u << (USAGE_LIMIT_SHIFT + i));
		usage->limits[n++] = limits[i];
	}
}

static void usage_fill(struct usage *usage, const struct urr_rule *urr)
{
	limits_fill(usage, urr);
	usage->serial = urr->serial;
	if (urr->fresh)
		usage->flags |= USAGE_F_FRESH;
	if (urr->fresh && urr_awaits(urr))
		usage->flags |= USAGE_F_AWAITS;
	if (urr->quota_given)
		usage->flags |= USAGE_F_QUOTA;
	if (urr->resumed)
		usage->flags |= USAGE_F_RESUME;
	if (urr->measurement_info & MEASURE_BEFORE)
		usage->flags |= USAGE_F_BEFORE;
	if (urr->has_quota_far)
		usage->flags |= USAGE_F_FAR;
	if (urr->place == 1 && urr_is_plain(urr))
		usage->flags |= USAGE_F_LINE;
}

static struct usage_drops drops_of(const struct urr_rule *urr)
{
	return (struct usage_drops){
		.number = (uint16_t)(urr->place - 1),
		.packets_threshold = urr->drops.flags & DROPS_PACKETS ? urr->drops.packets
								      : USAGE_NONE,
		.bytes_threshold = urr->drops.flags & DROPS_BYTES ? urr->drops.bytes : USAGE_NONE,
	};
}

bool policy_form_of(const struct rules *rules, struct policy_form *ret_form)
{
	*ret_form = (struct policy_form){
		.n_meters = (uint8_t)rules_meter_places(rules),
		.n_usages = (uint8_t)rules_usage_places(rules),
	};
	for (unsigned i = 0; i < rules->n_qers; i++)
		if (rules->qers[i].place && qer_has_packet_rate(&rules->qers[i]))
			ret_form->packets = true;
	ret_form->hot = ret_form->packets || ret_form->n_meters > POLICY_LINE_METERS ||
			ret_form->n_usages > 1;
	for (unsigned i = 0; i < rules->n_urrs; i++) {
		ret_form->n_drops =
			(uint8_t)(ret_form->n_drops + urr_counts_drops(&rules->urrs[i]));
		ret_form->hot |= !urr_is_plain(&rules->urrs[i]);
	}
	if (ret_form->n_usages && !ret_form->hot)
		ret_form->n_limits = (uint8_t)limits_count(&rules->urrs[0]);
	return ret_form->n_meters + ret_form->n_usages > 0;
}

int policy_of_rules(const struct rules *rules, struct policy **ret_policy)
{
	struct policy_form form;
	struct policy *policy;
	unsigned n_drops = 0;

	*ret_policy = NULL;
	if (!policy_form_of(rules, &form))
		return 0;
	policy = policy_new(&form);
	if (!policy)
		return -ENOMEM;
	for (unsigned i = 0; i < form.n_usages; i++) // of places without a rule
		policy_usage(policy, i)->flags = USAGE_F_FRESH;
	for (unsigned i = 0; i < rules->n_qers; i++)
		if (rules->qers[i].place)
			meters_fill(policy, &rules->qers[i]);
	for (unsigned i = 0; i < rules->n_urrs; i++) {
		struct usage *usage = policy_usage(policy, rules->urrs[i].place - 1u);

		usage->flags = 0;
		usage_fill(usage, &rules->urrs[i]);
		if (urr_counts_drops(&rules->urrs[i]))
			*policy_drops(policy, n_drops++) = drops_of(&rules->urrs[i]);
	}
	*ret_policy = policy;
	return 0;
}
