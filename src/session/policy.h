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
#include <stdint.h>

#include "rules/meter.h"

#define POLICY_LINE_METERS 2 // places 0 and 1

// The directions of an array of two.
enum side { SIDE_UP, SIDE_DOWN, SIDES };

// A QER's meters in one direction. `tat` and `cost` of the places in the line stand there while it runs.
struct meter {
	uint64_t tat; // rules/meter.h
	uint64_t dropped, dropped_bytes;
	meter_cost cost;
	bool fresh; // in a new block: another QER's than the meter at its place in the old one
};

struct meters {
	struct meter side[SIDES];
};
static_assert(sizeof(struct meters) == 64, "one cache line");

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

#define USAGE_NONE INT64_MAX // no threshold, no quota

// The three things that volumes are measured by.
enum usage_volume { USAGE_TOTAL, USAGE_UP, USAGE_DOWN, USAGE_VOLUMES };

// What a URR has counted since its last report. Packets and their times only where it is counted in its record: seconds
// of clock_now_ns(), first_s of none being 0; last_s goes on from report to report.
struct usage_counts {
	uint64_t packets[SIDES];
	uint64_t bytes[SIDES]; // before the grant
	uint32_t first_s, last_s;
};

// A URR's counts, and what is left until something is to be done.
struct usage {
	// What counting touches. Bytes are counted down from what was granted until the next mark.
	int64_t left[SIDES];
	struct usage_counts counts;
	uint16_t flags;
	uint16_t serial;  // of its URR (rules/model.h): a place may be another's soon
	uint32_t dropped; // packets that a used up quota stopped
	// What marks need.
	int64_t granted[SIDES];
	int64_t threshold[USAGE_VOLUMES]; // bytes since the last report at which one is due
	int64_t quota[USAGE_VOLUMES];     // bytes left, as of the grant
};
static_assert(sizeof(struct usage) == 128, "two cache lines, the first for counting");

// Downlink packets of a URR's PDRs that were dropped because their UE could not be reached, since it was last told.
struct usage_drops {
	uint64_t packets, bytes;
	uint64_t packets_threshold, bytes_threshold; // USAGE_NONE: none
	uint16_t number;                             // of the usage
	uint16_t spare[3];
};

// What there is of each.
struct policy_form {
	uint16_t n_meters, n_usages; // places
	uint16_t n_packets;          // all meters, where a QER has a packet rate, or 0
	uint16_t n_drops;            // usages that count these
	uint16_t hot;                // ordinary packets touch it: its parts begin with cache lines
};

struct policy {
	struct policy_form form;
	uint32_t slab_bytes; // of one that is not hot (base/slab.h)
	struct usage *usages;
	struct meters *meters;
	struct packet_meters *packets; // NULL: no QER has a packet rate
	struct usage_drops *drops;
};

// Control thread. A zeroed block, NULL without memory.
struct policy *policy_new(const struct policy_form *form);
void policy_free(struct policy *policy);
