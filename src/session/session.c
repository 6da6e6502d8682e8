// The session table of one worker (session.h): set up at start, written by its owner.
//
// Each function says whose thread it is on in the header.

#include "session/session.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "session/usage.h"

static void *array_new(const char *name, size_t n, size_t size, int socket)
{
	// Room for one where there are to be none: rte_malloc gives NULL for 0 bytes too.
	return rte_zmalloc_socket(name, (n ? n : 1) * size, RTE_CACHE_LINE_SIZE, socket);
}

int session_table_init(struct session_table *table, uint32_t n_slots, uint32_t n_tunnels,
		       int socket)
{
	*table = (struct session_table){
		.n_slots = n_slots,
		.n_tunnels = n_tunnels,
		.up = array_new("session_up", n_slots, sizeof(struct session_line), socket),
		.down = array_new("session_down", n_slots, sizeof(struct session_line), socket),
		.cold = array_new("session_cold", n_slots, sizeof(struct session_cold), socket),
		.tunnels = array_new("tunnel", n_tunnels, sizeof(struct tunnel), socket),
	};
	if (!table->up || !table->down || !table->cold || !table->tunnels) {
		session_table_fini(table);
		return -ENOMEM;
	}
	return 0;
}

void session_table_fini(struct session_table *table)
{
	for (uint32_t i = 0; table->cold && i < table->n_slots; i++)
		policy_free(table->cold[i].policy);
	rte_free(table->up);
	rte_free(table->down);
	rte_free(table->cold);
	rte_free(table->tunnels);
	*table = (struct session_table){0};
}

void session_set(struct session_table *table, const struct session_image *image)
{
	struct session_line *up = &table->up[image->slot];
	struct session_line *down = &table->down[image->slot];
	struct session_cold *cold = &table->cold[image->slot];

	if (cold->version != image->version) {
		table->used += cold->version == 0;
		*up = (struct session_line){0};
		*down = (struct session_line){0};
	}
	up->check = image->teid;
	up->rules = image->rules;
	up->up.ue_v4 = image->ue_v4;
	up->up.ue_v6 = image->ue_v6;
	down->check = image->version;
	down->rules = image->rules;
	down->down.teid = image->line_out.teid;
	down->down.peer = image->line_out.peer;
	cold->version = image->version;
	memcpy(cold->places, image->places, sizeof(cold->places));
}

void session_counts_get(const struct session_table *table, uint32_t slot,
			struct session_counts *ret)
{
	*ret = (struct session_counts){
		.up_packets = table->up[slot].packets,
		.up_bytes = table->up[slot].bytes,
		.down_packets = table->down[slot].packets,
		.down_bytes = table->down[slot].bytes,
	};
}

// --- meters and usage ------------------------------------------------------------------------------------

static struct session_line *line_of(const struct session_table *table, uint32_t slot, unsigned side)
{
	return side == SIDE_UP ? &table->up[slot] : &table->down[slot];
}

// Takes what its usage has counted in the lines into the block that the session has.
static void policy_gather(const struct session_table *table, uint32_t slot,
			  const struct policy *policy)
{
	for (unsigned i = 0; i < policy->form.n_usages; i++) {
		struct usage_at at = usage_find(table, slot, i);

		usage_settle(&at);
	}
}

// Where the arrival time of a running meter stands.
static uint64_t *tat_of(const struct session_table *table, uint32_t slot,
			const struct policy *policy, unsigned i, unsigned side)
{
	return i < POLICY_LINE_METERS ? &line_of(table, slot, side)->tat[i]
				      : &policy_meter_full(policy, i, side)->tat;
}

// The arrival time that the new meter goes on with.
static uint64_t meter_carry(const struct meter *from, uint64_t tat, struct meter *to, uint64_t now,
			    uint64_t burst)
{
	to->dropped = from->dropped;
	to->dropped_bytes = from->dropped_bytes;
	return from->cost == to->cost ? tat : meter_adapt(tat, now, burst, from->cost, to->cost);
}

static void record_carry(const struct usage *from, const struct usage *to)
{
	struct usage_counts counts = usage_counts_of(from);
	struct usage_record *record = usage_record(to);

	record->last_s = counts.last_s;
	if (to->flags & USAGE_F_TAKE)
		return;
	record->first_s = counts.first_s;
	memcpy(record->packets, counts.packets, sizeof(record->packets));
}

static void usage_carry(const struct usage *from, struct usage *to)
{
	unsigned flags = to->flags;

	if (flags & USAGE_F_FRESH)
		return;
	to->dropped = from->dropped;
	to->flags |= from->flags & USAGE_F_AWAITS;
	if (!(flags & USAGE_F_TAKE))
		memcpy(to->bytes, from->bytes, sizeof(to->bytes));
	if (!(flags & USAGE_F_LINE))
		record_carry(from, to);
	for (unsigned i = USAGE_VOLUMES; i < USAGE_LIMITS && !(flags & USAGE_F_QUOTA); i++) {
		const int64_t *left = usage_limit(from, i);

		if (left && usage_limit(to, i))
			*usage_limit(to, i) = *left;
	}
	if (!(flags & USAGE_F_RESUME))
		to->flags |= from->flags & USAGE_F_STOPPED;
}

// What was dropped is told of apart from what is counted, so it goes on also where the counts are taken.
static void drops_carry(const struct policy *from, const struct policy *to)
{
	for (unsigned i = 0; i < to->form.n_drops; i++) {
		struct usage_drops *drops = policy_drops(to, i);

		for (unsigned k = 0; k < from->form.n_drops; k++) {
			const struct usage_drops *old = policy_drops(from, k);

			if (old->number != drops->number ||
			    policy_usage(to, drops->number)->flags & USAGE_F_FRESH)
				continue;
			drops->packets = old->packets;
			drops->bytes = old->bytes;
		}
	}
}

// The meter of a place in one direction begins, or goes on from the old block's.
static void meter_start(const struct session_table *table, uint32_t slot, const struct policy *from,
			const struct policy *to, unsigned i, unsigned side, uint64_t now,
			uint64_t burst)
{
	struct meter *meter = policy_meter(to, i, side);
	bool goes_on = from && i < from->form.n_meters && !meter->fresh;
	uint64_t tat = 0;

	if (goes_on)
		tat = meter_carry(policy_meter(from, i, side), *tat_of(table, slot, from, i, side),
				  meter, now, burst);
	if (goes_on && to->form.packets && from->form.packets)
		policy_packets(to, i, side)->tat = policy_packets(from, i, side)->tat;
	*tat_of(table, slot, to, i, side) = tat;
	if (i < POLICY_LINE_METERS)
		line_of(table, slot, side)->cost[i] = meter->cost;
}

static void usages_carry(const struct policy *from, const struct policy *to)
{
	for (unsigned i = 0; i < to->form.n_usages && i < from->form.n_usages; i++)
		usage_carry(policy_usage(from, i), policy_usage(to, i));
	drops_carry(from, to);
}

static void usages_grant(const struct session_table *table, uint32_t slot,
			 const struct policy *policy)
{
	for (unsigned i = 0; i < policy->form.n_usages; i++) {
		struct usage_at at = usage_find(table, slot, i);

		usage_grant(&at);
	}
}

struct policy *session_policy_set(struct session_table *table, uint32_t slot, struct policy *policy,
				  uint64_t now, uint64_t burst)
{
	struct session_cold *cold = &table->cold[slot];
	struct policy *old = cold->policy;
	unsigned n_meters = policy ? policy->form.n_meters : 0;

	if (old)
		policy_gather(table, slot, old);
	if (old && policy)
		usages_carry(old, policy);
	for (unsigned side = 0; side < SIDES; side++) {
		for (unsigned i = 0; i < n_meters; i++)
			meter_start(table, slot, old, policy, i, side, now, burst);
		for (unsigned i = n_meters; i < POLICY_LINE_METERS; i++) {
			line_of(table, slot, side)->tat[i] = 0;
			line_of(table, slot, side)->cost[i] = 0;
		}
	}
	cold->policy = policy;
	if (policy)
		usages_grant(table, slot, policy);
	return old;
}

// Copies so many meters; a copy has all arrival times.
static void meters_look(const struct session_table *table, uint32_t slot,
			const struct policy *policy, const struct policy *ret)
{
	for (unsigned i = 0; i < policy->form.n_meters; i++)
		for (unsigned side = 0; side < SIDES; side++) {
			struct meter_full *meter = policy_meter_full(ret, i, side);

			meter->meter = *policy_meter(policy, i, side);
			meter->tat = *tat_of(table, slot, policy, i, side);
		}
}

// Usages with their records.
static void usages_look(const struct policy *policy, const struct policy *ret)
{
	size_t record = policy->form.hot ? sizeof(struct usage_record) : 0;
	size_t from = 8u * policy->usages_at - record, to = 8u * policy->meters_at;

	memcpy((uint8_t *)policy_usage(ret, 0) - record,
	       (const uint8_t *)policy_usage(policy, 0) - record, to - from);
	for (unsigned i = 0; i < policy->form.n_drops; i++)
		*policy_drops(ret, i) = *policy_drops(policy, i);
}

int session_policy_look(struct session_table *table, uint32_t slot, struct policy *ret)
{
	const struct policy *policy = table->cold[slot].policy;
	struct policy_form form = ret->form;

	form.copy = false;
	if (!policy || !ret->form.copy || memcmp(&policy->form, &form, sizeof(form)) != 0)
		return -ENOENT;
	policy_gather(table, slot, policy);
	meters_look(table, slot, policy, ret);
	usages_look(policy, ret);
	usages_grant(table, slot, policy);
	return 0;
}

// --- its end ---------------------------------------------------------------------------------------------

int session_clear(struct session_table *table, uint32_t slot, uint32_t version,
		  struct session_counts *ret, struct policy **ret_policy)
{
	struct session_cold *cold = &table->cold[slot];

	*ret_policy = NULL;
	if (cold->version != version)
		return -ENOENT;
	session_counts_get(table, slot, ret);
	*ret_policy = session_policy_set(table, slot, NULL, 0, 0);
	table->up[slot] = (struct session_line){0};
	table->down[slot] = (struct session_line){0};
	*cold = (struct session_cold){0};
	table->used--;
	return 0;
}

void tunnel_set(struct session_table *table, uint32_t record, const struct tunnel *tunnel)
{
	table->tunnels[record] = *tunnel;
}
