// Usage: what a URR has counted, and how much may pass until something is to be done (TS 29.244 5.2.2).
//
// Owner worker. Each direction is granted bytes and counts them down; only when a grant is used up do
// thresholds and quotas have to be looked at. What is left of a total volume is split between the directions,
// and what one of them has not used is split anew when the other has used up its part: the packet that
// reaches a threshold is always one that uses up a grant, so marks are exact to the packet.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/policy.h"
#include "session/session.h"

// Marks that were reached.
#define USAGE_HIT_THRESHOLD 0x01
#define USAGE_HIT_QUOTA 0x02
#define USAGE_HIT_START 0x04   // traffic has begun
#define USAGE_HIT_DROPPED 0x08 // downlink packets were dropped
#define USAGE_HIT_SPLIT 0x10   // a monitoring time has come: the counts are those until then
#define USAGE_HIT_ANEW 0x20    // and count no more
// With these the counts go into a report.
#define USAGE_HIT_TAKES (USAGE_HIT_THRESHOLD | USAGE_HIT_QUOTA | USAGE_HIT_DROPPED)

// The usage of a place 0 may stand in the lines; any other, and NULL lines, in its record alone.
struct usage_at {
	struct usage *usage;
	struct session_line *line[SIDES]; // NULL: counted in the record
};

struct usage_at usage_find(const struct session_table *table, uint32_t slot, unsigned place);

// Puts what was counted since the grant into bytes and quotas. Nothing is granted afterwards.
void usage_settle(const struct usage_at *at);
// The marks that a settled usage has reached; a used up quota stops it, and traffic that has begun is awaited no
// longer.
unsigned usage_hits(const struct usage_at *at);
// Nobody can be told of these marks now: the next packet reaches them again.
void usage_hits_undo(const struct usage_at *at, unsigned hits);
// Begins to count anew for the next report. Settled; quotas go on.
void usage_restart(const struct usage_at *at);
// Grants bytes until the next mark. Settled. A quota of nothing stops the usage.
void usage_grant(const struct usage_at *at);

// Counts a packet. True when its grant is used up: settle, look at the hits, grant.
static inline bool usage_count_line(struct session_line *line, uint32_t bytes)
{
	line->left -= bytes;
	return line->left <= 0;
}

static inline bool usage_count(struct usage *usage, enum side side, uint32_t bytes, uint32_t now_s)
{
	struct usage_record *record = usage_record(usage);

	record->packets[side]++;
	record->left[side] -= bytes;
	record->last_s = now_s;
	if (record->first_s == 0)
		record->first_s = now_s;
	return record->left[side] <= 0;
}
