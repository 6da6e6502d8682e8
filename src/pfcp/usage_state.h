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

#define USAGE_EVENTS (RULES_MAX_EVENTS * (1 + RULES_MAX_NEXTS)) // that are kept, of a URR

// What was counted up to a monitoring time, from the one before or since the last report.
struct usage_stretch {
	uint64_t to_ns, to_timed_ns;
	uint8_t to_event;
	struct usage_counts counts;
};

// Times are clock_now_ns(), those called timed_ns of the time that is measured (usage_timed()). Triggers are
// PFCP_USAGE_REPORT_TRIGGER_ bits.
struct urr_state {
	uint32_t id;         // URR ID
	uint16_t serial;     // of the rule (rules/model.h)
	bool quota_over;     // nothing passes until more is given
	bool flowing;        // traffic has begun and not stopped, where that is asked for
	bool again;          // it has stopped: its next packet is to be told of
	bool splits;         // a monitoring time has come, and the owner is to tell what it counted
	bool anew;           // and begins to count anew
	bool given;          // has been given a quota, which it has when the owner has it
	uint8_t n_stretches; // since the last report
	uint8_t n_events;    // since the last report
	uint8_t since_event; // those before are in a stretch that has been told
	uint8_t events_from; // those before were before the event threshold was given
	uint32_t events_used; // of the quota
	uint32_t sequence;    // UR-SEQN of the next report
	uint32_t due;         // triggers of a report that is to be made
	uint32_t taking;      // of the one whose counts its owner has been asked for
	uint64_t since_ns;    // when what the next report is about began
	uint64_t since_timed_ns;
	uint64_t runs_ns;            // time is measured from here on; 0: it is not now
	uint64_t timed_ns;           // that had been measured until then
	uint64_t threshold_timed_ns; // from where the time threshold counts
	uint64_t quota_timed_ns;     // and the time quota
	uint64_t quota_ns;           // when the quota was given
	uint64_t period_ns;          // of the next periodic report
	uint64_t
		active_ns; // up to here there was traffic, as far as is known, or its absence did not matter
	uint64_t split_due_ns;            // the monitoring time that is to come; 0: none
	struct usage_stretch *stretches;  // [RULES_MAX_NEXTS]; heap, NULL: there never was one
	struct usage_counts in_stretches; // what of the counts that the owner has is in those
	uint64_t *events; // when they were, [USAGE_EVENTS]; heap, NULL: there never was one
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
void urr_state_fini(struct urr_state *u);

// The time that has been measured in the URR's life up to this moment, which is not before it last ran or stopped.
uint64_t usage_timed(const struct urr_state *u, uint64_t at_ns);
// Time is measured from this moment on, or not.
void usage_time_run(struct urr_state *u, uint64_t at_ns);
void usage_time_pause(struct urr_state *u, uint64_t at_ns);

// A quota has been given.
void usage_quota_given(struct urr_state *u);
// The next of the URR's monitoring times is awaited. One that has been is due at once, or, if it gives nothing, is
// taken out of the rules.
void usage_split_await(struct urr_state *u, struct rules *rules);
// A monitoring time has come: what had been counted, or, if the owner counts anew from there, since it last did.
void usage_split(struct urr_state *u, const struct usage_counts *counts, bool anew);

// Makes the report, one more for each monitoring time in between (usage_report.c), and begins anew for the next one.
// URRs linked to this one become due.
void usage_report(struct n4_usage *s, struct urr_state *u, const struct urr_rule *rule,
		  const struct usage_counts *counts, uint32_t triggers,
		  const struct usage_sink *sink);
// One that says only that traffic has begun.
void usage_report_start(struct n4_usage *s, struct urr_state *u);
// To the SMF by a Session Report Request.
void usage_to_smf(void *usage, const struct pfcp_usage_report *report);
