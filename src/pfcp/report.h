// Session reports: what an SMF is told of a session without having asked (TS 29.244 5.2.2.2.2, 6.3.5, 7.5.8).
//
// Control thread. Reports of a session wait in order and go out by the next tick, as many in one Session Report
// Request as fit, one request at a time: it is repeated as any (N1 x T1). Usage that nobody took stays and is
// sent again while the SMF is away; what is of the moment alone (downlink data, an error indication) does
// not. All of it is bounded: reports of one URR that wait become one before any is lost.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pfcp/ie.h"
#include "pfcp/n4.h"
#include "pfcp/writer.h"

struct n4_session;

enum report_kind {
	REPORT_DOWNLINK_DATA,    // DLDR: packets wait for a UE that is idle
	REPORT_USAGE,            // USAR
	REPORT_ERROR_INDICATION, // ERIR: a peer does not know the tunnel that we send to
	REPORT_INACTIVITY,       // UPIR: the user plane has been silent
	REPORT_KINDS
};

struct report {
	enum report_kind kind;
	union {
		struct pfcp_usage_report usage;
		struct {
			uint16_t pdr;
			bool has_service;
			struct pfcp_downlink_data_service service;
		} downlink;
		struct pfcp_f_teid remote; // of the error indication
	};
};

// Has the session's SMF told. Never fails for the caller: what there is no room for is counted as lost.
void n4_report(struct n4 *n4, struct n4_session *session, const struct report *report);

// Whether a report of this kind waits or is under way.
bool n4_report_waits(const struct n4_session *session, enum report_kind kind);

// Gives the usage of a URR that waits, in order, for an answer that has more of it. What is under way goes on; its SMF
// tells by UR-SEQN what it has already.
void n4_reports_take(struct n4 *n4, struct n4_session *session, uint32_t urr,
		     void (*put)(void *ctx, const struct pfcp_usage_report *report), void *ctx);

// Writes the usage that waits or is under way as IEs of this type: the session ends, and what its SMF may have not
// taken goes with the answer.
void n4_reports_put(const struct n4_session *session, struct pfcp_writer *w, uint16_t type);

// Forgets the session's reports: it ends.
void n4_reports_drop(struct n4 *n4, struct n4_session *session);

// Sends what is due.
void n4_reports_tick(struct n4 *n4);
