// What the QERs and URRs of one session have of state: a block of its own, made by the control thread.
//
// Owner worker. The rules say which meters and which usage a packet has by *place* (rules/model.h): a small
// number that stays a QER's or URR's for as long as it lives. The meters of places 0 and 1 and the usage of
// place 0 stand in the session's lines, where an ordinary packet finds them without a further cache line;
// all else, and what only rare events need of those, stands here.
//
// A block is never changed in form. When the session's QERs or URRs change, or when usage is taken for a
// report, the control thread makes a new block and mails it; the owner copies into it what goes on, and the
// old block comes back with all that had been counted up to that moment. So nothing is counted twice or lost,
// and the control thread reads what no worker writes any more.

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules/meter.h"

#define POLICY_LINE_METERS 2 // places 0 and 1

// The directions of an array of two.
enum side { SIDE_UP, SIDE_DOWN, SIDES };

// A QER's meter in one direction. A place in the lines has its cost there as well, while it runs.
struct meter {
	meter_cost cost; // rules/meter.h
	// In a new block: another QER's than the meter at its place in the old one.
	uint64_t fresh : 1;
	// Room for what 10 million packets a second, or 100 Gbit/s, come to in days.
	uint64_t dropped : 43;
	uint64_t dropped_bytes : 52;
} __attribute__((packed));
static_assert(sizeof(struct meter) == 16, "two are half a cache line");

// The same with its arrival time: of places beyond the lines, and in copies.
struct meter_full {
	struct meter meter;
	uint64_t tat;
	uint64_t spare;
};
static_assert(SIDES * sizeof(struct meter_full) == 64, "a QER's are a cache line");

// Its packet rate; one without has no units.
struct packet_meter {
	uint64_t tat, units, burst;
};

struct packet_meters {
	struct packet_meter side[SIDES];
};

// How a new block takes over the state that the session's old one has at the same place.
#define USAGE_F_FRESH 0x01  // not at all: another URR's
#define USAGE_F_QUOTA 0x02  // the quota in the new block is a new grant
#define USAGE_F_RESUME 0x04 // what stopped it has been taken back
#define USAGE_F_TAKE 0x08   // what it has counted is reported, and not counted on
// What a URR is about.
#define USAGE_F_LINE 0x10    // place 0: counted in the session's lines
#define USAGE_F_BEFORE 0x20  // counts what comes in, not what is delivered (MBQE)
#define USAGE_F_AWAITS 0x40  // its next packet is told of: traffic begins
#define USAGE_F_STOPPED 0x80 // its quota is used up: packets do not pass
#define USAGE_F_FAR 0x100    // or go as a FAR for quota action says
// What is asked of the owner with a new block.
#define USAGE_F_SPLIT 0x200 // what it has counted is told at once

// Which limits there are: a bit from here on for each.
#define USAGE_LIMIT_SHIFT 10

#define USAGE_NONE INT64_MAX // no threshold, no quota

// The three things that volumes are measured by.
enum usage_volume { USAGE_TOTAL, USAGE_UP, USAGE_DOWN, USAGE_VOLUMES };

// Thresholds, then quotas, in the order of volumes.
#define USAGE_LIMITS (2 * USAGE_VOLUMES)
static_assert(USAGE_LIMIT_SHIFT + USAGE_LIMITS <= 16, "flags have a bit for each");

// What a URR has counted since its last report. Packets and their times only where it is counted in its record: seconds
// of clock_now_ns(), first_s of none being 0; last_s goes on from report to report.
struct usage_counts {
	uint64_t packets[SIDES];
	uint64_t bytes[SIDES]; // before the grant
	uint32_t first_s, last_s;
};

// What counting touches of a usage that is not counted in the session's lines; it stands right before that.
struct usage_record {
	int64_t left[SIDES]; // bytes are counted down from what was granted until the next mark
	uint64_t packets[SIDES];
	uint32_t first_s, last_s;
};

// A URR's counts, and what is left until something is to be done.
struct usage {
	uint16_t flags;
	uint16_t serial;       // of its URR (rules/model.h): a place may be another's soon
	uint32_t dropped;      // packets that a used up quota stopped
	uint64_t bytes[SIDES]; // counted since the last report, before the grant
	int64_t granted[SIDES];
	// Thresholds: bytes since the last report at which one is due; quotas: bytes left, as of the grant.
	int64_t limits[]; // those that there are
};
// From one to the next where there may be several: each with its record and room for all limits.
#define USAGE_STRIDE                                                                               \
	(sizeof(struct usage_record) + sizeof(struct usage) + USAGE_LIMITS * sizeof(int64_t))
static_assert(USAGE_STRIDE == 128, "two cache lines");
static_assert(sizeof(struct usage_record) + sizeof(uint16_t) <= 64,
	      "what counting touches, flags included, is the first of them");

// Downlink packets of a URR's PDRs that were dropped because their UE could not be reached, since it was last told.
struct usage_drops {
	uint64_t packets, bytes;
	uint64_t packets_threshold, bytes_threshold; // USAGE_NONE: none
	uint16_t number;                             // of the usage
	uint16_t spare[3];
};

// What there is of each.
struct policy_form {
	uint8_t n_meters, n_usages; // places
	uint8_t n_drops;            // usages that count these
	uint8_t n_limits;           // of the usage of one that is not hot
	bool packets;               // all meters have packet rates
	bool hot;  // ordinary packets touch it: parts begin with cache lines, usages have records
	bool copy; // what a look gets
	bool spare;
};

// A block: its parts follow, each where there is any, so many times 8 bytes from its beginning.
struct policy {
	struct policy_form form;
	uint16_t usages_at, meters_at, packets_at, drops_at;
};
static_assert(sizeof(struct policy) == 16, "the least that a session with rates or usage has");

// Control thread. A zeroed block, NULL without memory.
struct policy *policy_new(const struct policy_form *form);
void policy_free(struct policy *policy);

// Its parts, by their place from 0; which there are says the form.

static inline void *policy_at(const struct policy *policy, size_t at)
{
	return (uint8_t *)(uintptr_t)policy + 8 * at;
}

static inline struct usage *policy_usage(const struct policy *policy, unsigned i)
{
	return policy_at(policy, policy->usages_at + i * (USAGE_STRIDE / 8));
}

// Of a usage that is not in the lines, in a hot block.
static inline struct usage_record *usage_record(const struct usage *usage)
{
	return (struct usage_record *)(uintptr_t)usage - 1;
}

// Whether meters have their arrival times.
static inline bool policy_meters_full(const struct policy *policy)
{
	return policy->form.hot || policy->form.copy;
}

static inline struct meter *policy_meter(const struct policy *policy, unsigned i, enum side side)
{
	size_t bytes = policy_meters_full(policy) ? sizeof(struct meter_full)
						  : sizeof(struct meter);

	return policy_at(policy, policy->meters_at + (i * SIDES + side) * (bytes / 8));
}

static inline struct meter_full *policy_meter_full(const struct policy *policy, unsigned i,
						   enum side side)
{
	return (struct meter_full *)policy_meter(policy, i, side);
}

static inline struct packet_meter *policy_packets(const struct policy *policy, unsigned i,
						  enum side side)
{
	struct packet_meters *packets = policy_at(policy, policy->packets_at);

	return &packets[i].side[side];
}

static inline struct usage_drops *policy_drops(const struct policy *policy, unsigned i)
{
	return (struct usage_drops *)policy_at(policy, policy->drops_at) + i;
}

// The limit n of a usage, NULL where it has none.
static inline int64_t *usage_limit(const struct usage *usage, unsigned n)
{
	unsigned has = (unsigned)usage->flags >> USAGE_LIMIT_SHIFT;

	if (!(has >> n & 1))
		return NULL;
	return (int64_t *)(uintptr_t)usage->limits + __builtin_popcount(has & ((1u << n) - 1));
}

// USAGE_NONE where there is none.
static inline int64_t usage_threshold(const struct usage *usage, enum usage_volume volume)
{
	const int64_t *limit = usage_limit(usage, volume);

	return limit ? *limit : USAGE_NONE;
}

static inline int64_t usage_quota(const struct usage *usage, enum usage_volume volume)
{
	const int64_t *limit = usage_limit(usage, USAGE_VOLUMES + volume);

	return limit ? *limit : USAGE_NONE;
}

// What it has counted, of a block that is settled or only looked at.
static inline struct usage_counts usage_counts_of(const struct usage *usage)
{
	struct usage_counts counts = {.bytes = {usage->bytes[SIDE_UP], usage->bytes[SIDE_DOWN]}};

	if (usage->flags & USAGE_F_LINE)
		return counts;
	const struct usage_record *record = usage_record(usage);

	counts.packets[SIDE_UP] = record->packets[SIDE_UP];
	counts.packets[SIDE_DOWN] = record->packets[SIDE_DOWN];
	counts.first_s = record->first_s;
	counts.last_s = record->last_s;
	return counts;
}
