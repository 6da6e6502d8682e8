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

// Takes what stands in the lines into the block that the session has.
static void policy_gather(const struct session_table *table, uint32_t slot, struct policy *policy)
{
	for (unsigned i = 0; i < policy->form.n_meters && i < POLICY_LINE_METERS; i++)
		for (unsigned side = 0; side < SIDES; side++)
			policy->meters[i].side[side].tat = line_of(table, slot, side)->tat[i];
	for (unsigned i = 0; i < policy->form.n_usages; i++) {
		struct usage_at at = usage_find(table, slot, i);

		usage_settle(&at);
	}
}

static void meter_carry(const struct meter *from, struct meter *to, uint64_t now, uint64_t burst)
{
	if (to->fresh)
		return;
	to->tat = from->cost == to->cost ? from->tat
					 : meter_adapt(from->tat, now, burst, from->cost, to->cost);
	to->dropped = from->dropped;
	to->dropped_bytes = from->dropped_bytes;
}

static void usage_carry(const struct usage *from, struct usage *to)
{
	unsigned flags = to->flags;

	if (flags & USAGE_F_FRESH)
		return;
	to->dropped = from->dropped;
	to->flags |= from->flags & USAGE_F_AWAITS;
	if (flags & USAGE_F_TAKE)
		to->counts.last_s = from->counts.last_s;
	else
		to->counts = from->counts;
	if (!(flags & USAGE_F_QUOTA))
		memcpy(to->quota, from->quota, sizeof(to->quota));
	if (!(flags & USAGE_F_RESUME))
		to->flags |= from->flags & USAGE_F_STOPPED;
}

// What was dropped is told of apart from what is counted, so it goes on also where the counts are taken.
static void drops_carry(const struct policy *from, const struct policy *to)
{
	for (unsigned i = 0; i < to->form.n_drops; i++) {
		struct usage_drops *drops = &to->drops[i];

		for (unsigned k = 0; k < from->form.n_drops; k++) {
			if (from->drops[k].number != drops->number ||
			    to->usages[drops->number].flags & USAGE_F_FRESH)
				continue;
			drops->packets = from->drops[k].packets;
			drops->bytes = from->drops[k].bytes;
		}
	}
}

static void policy_carry(const struct policy *from, struct policy *to, uint64_t now, uint64_t burst)
{
	for (unsigned i = 0; i < to->form.n_meters && i < from->form.n_meters; i++)
		for (unsigned side = 0; side < SIDES; side++) {
			struct meter *meter = &to->meters[i].side[side];

			meter_carry(&from->meters[i].side[side], meter, now, burst);
			if (to->packets && from->packets && !meter->fresh)
				to->packets[i].side[side].tat = from->packets[i].side[side].tat;
		}
	for (unsigned i = 0; i < to->form.n_usages && i < from->form.n_usages; i++)
		usage_carry(&from->usages[i], &to->usages[i]);
	drops_carry(from, to);
}

// Puts the first places into the lines, and grants.
static void policy_spread(const struct session_table *table, uint32_t slot,
			  const struct policy *policy)
{
	for (unsigned i = 0; i < POLICY_LINE_METERS; i++)
		for (unsigned side = 0; side < SIDES; side++) {
			struct session_line *line = line_of(table, slot, side);
			bool has = i < policy->form.n_meters;

			line->tat[i] = has ? policy->meters[i].side[side].tat : 0;
			line->cost[i] = has ? policy->meters[i].side[side].cost : 0;
		}
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

	if (old)
		policy_gather(table, slot, old);
	if (old && policy)
		policy_carry(old, policy, now, burst);
	cold->policy = policy;
	if (policy)
		policy_spread(table, slot, policy);
	return old;
}

int session_policy_look(struct session_table *table, uint32_t slot, struct policy *ret)
{
	struct policy *policy = table->cold[slot].policy;

	if (!policy || memcmp(&policy->form, &ret->form, sizeof(ret->form)) != 0)
		return -ENOENT;
	policy_gather(table, slot, policy);
	memcpy(ret->meters, policy->meters, policy->form.n_meters * sizeof(policy->meters[0]));
	memcpy(ret->usages, policy->usages, policy->form.n_usages * sizeof(policy->usages[0]));
	memcpy(ret->drops, policy->drops, policy->form.n_drops * sizeof(policy->drops[0]));
	policy_spread(table, slot, policy);
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
