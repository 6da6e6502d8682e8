// What the control thread knows of a session's usage, for the usage*.c files alone.
//
// The owner counts (session/usage.h); here stands what time and the SMF make of it: since when, what has been
// started, given and used up, and which report is due.

#pragma once

#include "base/timers.h"
#include "pfcp/usage.h"

// What ends a quota besides volume, which the owner sees by itself: the block that takes the counts stops its packets.
#define USAGE_STOPS                                                                                \
	(PFCP_USAGE_REPORT_TRIGGER_TIMQU | PFCP_USAGE_REPORT_TRIGGER_QUVTI |                       \
	 PFCP_USAGE_REPORT_TRIGGER_QUHTI | PFCP_USAGE_REPORT_TRIGGER_EVEQU)

// Times are clock_now_ns(). Triggers are PFCP_USAGE_REPORT_TRIGGER_ bits.
struct urr_state {
	uint32_t id;          // URR ID
	uint16_t serial;      // of the rule (rules/model.h)
	bool quota_over;      // nothing passes until more is given
	bool flowing;         // traffic has begun and not stopped, where that is asked for
	bool again;           // it has stopped: its next packet is to be told of
	uint8_t n_events;     // since the last report
	uint32_t events_used; // of the quota
	uint32_t sequence;    // UR-SEQN of the next report
	uint32_t due;         // triggers of a report that is to be made
	uint32_t taking;      // of the one whose counts its owner has been asked for
	uint64_t since_ns;    // when what the next report is about began
	uint64_t started_ns;  // time is measured from here; 0: not yet
	uint64_t quota_ns;    // when the quota was given
	uint64_t period_ns;   // of the next periodic report
	uint64_t
		active_ns; // up to here there was traffic, as far as is known, or its absence did not matter
	uint64_t split_due_ns;      // the monitoring time that is to come; 0: none
	uint64_t split_ns;          // the one that has come since the last report; 0: none
	struct usage_counts before; // until that
	uint64_t *events; // when they were, [RULES_MAX_EVENTS]; heap, NULL: there never was one
};

struct n4_usage {
	struct n4 *n4;
	struct n4_session *session; // NULL: it has ended, while its owner was asked
	bool asked;                 // the owner owes an answer
	struct timer timer;         // of the next moment at which there is something to do
	unsigned n, room;
	struct urr_state *urrs;
};

// Where reports go.
struct usage_sink {
	void (*put)(void *ctx, const struct pfcp_usage_report *report);
	void *ctx;
	const uint32_t *reference; // Query URR Reference, or NULL
};

// The session's, with no URR; NULL without memory.
struct n4_usage *usage_new(struct n4_session *session);
// Room for so many more URRs; false without memory.
bool usage_reserve(struct n4_usage *s, unsigned more);
void usage_free(struct n4_usage *s);

// Makes the report, two if the monitoring time lies in between (usage_report.c), and begins anew for the next one.
// URRs linked to this one become due.
void usage_report(struct n4_usage *s, struct urr_state *u, const struct urr_rule *rule,
		  const struct usage_counts *counts, uint32_t triggers,
		  const struct usage_sink *sink);
// One that says only that traffic has begun.
void usage_report_start(struct n4_usage *s, struct urr_state *u);
// To the SMF by a Session Report Request.
void usage_to_smf(void *usage, const struct pfcp_usage_report *report);
