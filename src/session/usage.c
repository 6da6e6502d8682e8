// Grants, marks and counts of usage, see usage.h.
// Owner worker. In the order of a mark: settle, look, restart, grant.

#include "session/usage.h"

#include <stddef.h>

#define GRANT_MAX (INT64_MAX / 4) // no end in sight, and no overflow

struct usage_at usage_find(const struct session_table *table, uint32_t slot, unsigned place)
{
	struct usage_at at = {.usage = policy_usage(table->cold[slot].policy, place)};

	if (place == 0 && at.usage->flags & USAGE_F_LINE) {
		at.line[SIDE_UP] = &table->up[slot];
		at.line[SIDE_DOWN] = &table->down[slot];
	}
	return at;
}

// What of a grant is left, wherever it is counted.
static int64_t *left_of(const struct usage_at *at, unsigned side)
{
	return at->line[side] ? &at->line[side]->left : &usage_record(at->usage)->left[side];
}

static void quota_use(struct usage *u, enum usage_volume volume, int64_t bytes)
{
	int64_t *quota = usage_limit(u, USAGE_VOLUMES + volume);

	if (quota)
		*quota -= bytes;
}

void usage_settle(const struct usage_at *at)
{
	struct usage *u = at->usage;

	for (unsigned side = 0; side < SIDES; side++) {
		int64_t *left = left_of(at, side);
		int64_t used = u->granted[side] - *left;

		u->bytes[side] += (uint64_t)used;
		quota_use(u, USAGE_TOTAL, used);
		quota_use(u, side == SIDE_UP ? USAGE_UP : USAGE_DOWN, used);
		u->granted[side] = 0;
		*left = 0;
	}
}

// Bytes since the last report that a threshold of this kind is about.
static int64_t counted(const struct usage *u, enum usage_volume volume)
{
	switch (volume) {
	case USAGE_UP:
		return (int64_t)u->bytes[SIDE_UP];
	case USAGE_DOWN:
		return (int64_t)u->bytes[SIDE_DOWN];
	default:
		return (int64_t)(u->bytes[SIDE_UP] + u->bytes[SIDE_DOWN]);
	}
}

unsigned usage_hits(const struct usage_at *at)
{
	struct usage *u = at->usage;
	unsigned hits = 0;

	for (unsigned volume = 0; volume < USAGE_VOLUMES; volume++) {
		if (counted(u, volume) >= usage_threshold(u, volume))
			hits |= USAGE_HIT_THRESHOLD;
		if (usage_quota(u, volume) <= 0)
			hits |= USAGE_HIT_QUOTA;
	}
	if (u->flags & USAGE_F_STOPPED)
		hits &= ~(unsigned)USAGE_HIT_QUOTA; // known already
	if (hits & USAGE_HIT_QUOTA)
		u->flags |= USAGE_F_STOPPED;
	if (u->flags & USAGE_F_AWAITS)
		hits |= USAGE_HIT_START;
	u->flags &= (uint16_t)~USAGE_F_AWAITS;
	return hits;
}

void usage_hits_undo(const struct usage_at *at, unsigned hits)
{
	if (hits & USAGE_HIT_QUOTA)
		at->usage->flags &= (uint16_t)~USAGE_F_STOPPED;
	if (hits & USAGE_HIT_START)
		at->usage->flags |= USAGE_F_AWAITS;
}

void usage_restart(const struct usage_at *at)
{
	struct usage *u = at->usage;
	struct usage_record *record;

	u->bytes[SIDE_UP] = u->bytes[SIDE_DOWN] = 0;
	if (at->line[SIDE_UP])
		return;
	record = usage_record(u);
	record->packets[SIDE_UP] = record->packets[SIDE_DOWN] = 0;
	record->first_s = 0;
}

// Bytes until the next mark of this kind; a mark that was passed and not yet reported is due at once.
static int64_t until(const struct usage *u, enum usage_volume volume)
{
	int64_t bytes = GRANT_MAX;

	if (usage_threshold(u, volume) != USAGE_NONE)
		bytes = usage_threshold(u, volume) - counted(u, volume);
	if (usage_quota(u, volume) < bytes && !(u->flags & USAGE_F_STOPPED))
		bytes = usage_quota(u, volume);
	return bytes < 0 ? 0 : bytes;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool threshold_passed(const struct usage *u)
{
	for (unsigned volume = 0; volume < USAGE_VOLUMES; volume++)
		if (counted(u, volume) >= usage_threshold(u, volume))
			return true;
	return false;
}

void usage_grant(const struct usage_at *at)
{
	struct usage *u = at->usage;
	int64_t total, up, down;

	if (usage_quota(u, USAGE_TOTAL) <= 0 || usage_quota(u, USAGE_UP) <= 0 ||
	    usage_quota(u, USAGE_DOWN) <= 0)
		u->flags |= USAGE_F_STOPPED;
	total = until(u, USAGE_TOTAL);
	up = least(total / 2, until(u, USAGE_UP));
	down = least(total - total / 2, until(u, USAGE_DOWN));
	// A threshold that was set below what is counted already is told by the next packet, either way; so is
	// one that is awaited.
	if (threshold_passed(u) || u->flags & USAGE_F_AWAITS)
		total = up = down = 0;
	// No total to split.
	if (total == GRANT_MAX) {
		up = until(u, USAGE_UP);
		down = until(u, USAGE_DOWN);
	}
	u->granted[SIDE_UP] = up;
	u->granted[SIDE_DOWN] = down;
	*left_of(at, SIDE_UP) = up;
	*left_of(at, SIDE_DOWN) = down;
}
