// Usage reporting: what an SMF is told of its URRs, and when (TS 29.244 5.2.2, 7.5.5.2, 7.5.7.2, 7.5.8.3).
//
// Control thread only. Counts belong to a session's owner. What a mark is reached by, a packet, the owner tells by
// itself (worker/usage_mark.h); what comes with time (periods, thresholds and quotas of time, holding and validity
// of quotas, the monitoring time, the end of traffic) is found here, and then the owner's counts are taken by the
// exchange of its block of usage (session/policy.h): what one report says, no other says again. Requests of the SMF
// take them with the change of rules that they are (usage_change.c), and their answers say them.
//
// A quota that is used up stops the packets of its URR until the SMF gives more; one of time, or one that is held
// too long or is no longer valid, as one of volume (5.2.2.2.1).

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/pack.h"
#include "pfcp/writer.h"
#include "session/policy.h"
#include "rules/model.h"

struct mail;
struct n4;
struct n4_change;
struct n4_session;
struct pfcp_msg;
struct usage_event;

// A worker's word. Sessions and URRs that have gone meanwhile are no fault.
void n4_usage_event(struct n4 *n4, unsigned worker, const struct usage_event *event);

// What the CLI shows of a URR.
struct usage_view {
	uint64_t since_ns; // of clock_now_ns()
	bool quota_over;
	uint32_t reports; // made so far
	bool runs;        // time is measured now
	uint64_t timed_s; // since the last report
	uint64_t
		to_threshold_s; // of time that is to be measured until it is reported; 0 where it is due
	uint64_t to_quota_s;  // until nothing passes
	uint32_t events;      // since the last report
	uint32_t events_used; // of the quota
};

// False: the session has no such URR.
bool n4_usage_view(const struct n4_session *session, uint32_t urr, struct usage_view *ret);

// --- for the session half alone --------------------------------------------------------------------------

// What a change does to usage.
struct usage_change {
	bool all;                                // each URR is asked for (QAURR)
	uint8_t asked[RULES_MAX_PLACES / 8 + 1]; // those at these places are
	uint8_t left[RULES_MAX_PLACES / 8 + 1];  // no PDR names those at these places any more
	bool has_reference;
	uint32_t reference; // Query URR Reference
	unsigned n;
	struct pfcp_usage_report *reports; // for the answer; heap
};

// Reads what a modification asks for. The rules are those that it makes of the session's. -EINVAL with the fault.
int usage_query_decode(struct n4_change *change, const struct pfcp_msg *msg,
		       struct pfcp_fault *fault);
// Adds to the mail of a change a new block of meters and usage, where the rules that have them change or counts are to
// be taken. -ENOMEM: nothing has happened.
int usage_change_prepare(struct n4_change *change, struct mail *mail);
// The owner is told of the change: URRs that it makes begin.
void usage_change_begun(struct n4_change *change);
// The owner has switched, or let go; the session still has its old rules. Fills the reports for the answer, or where no
// request asked for the change, sends them.
void usage_change_done(struct n4_change *change);

// The session has its rules, and no change of it is under way any more.
void usage_go_on(struct n4_session *session);
void usage_end(struct n4_session *session);

// The records of a session's URRs go with its rules into its packed form, but for those that cannot: they stay
// (session_pack.c). `usage_packed` when they have gone; `usage_unpack`, false without memory, brings them back.
void usage_pack(struct packer *p, const struct n4_session *session);
void usage_packed(struct n4_session *session);
bool usage_unpack(struct unpacker *u, struct n4_session *session);
void usage_tick(struct n4 *n4);
