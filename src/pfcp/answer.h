// Answers to session requests (TS 29.244 7.5.3, 7.5.5, 7.5.7): acceptance, and the one place where a fault
// becomes a refusal.
//
// Control thread only. Each function ends the request. Inside pfcp/ only.

#pragma once

#include "pfcp/n4_session.h"
#include "pfcp/usage.h"

// Refuses a request. `seid` is the peer's, 0 where it is not known (7.2.2.4.2).
void answer_refuse(struct n4_request *rq, uint64_t seid, const struct pfcp_fault *fault);

// Accepts one; the session's rules are those that the request asked for.
void answer_established(struct n4_request *rq, const struct n4_session *session);
void answer_modified(struct n4_request *rq, const struct n4_session *session,
		     const struct usage_change *usage);
// Usage that waits to be reported goes with the answer, too: the session ends.
void answer_deleted(struct n4_request *rq, const struct n4_session *session,
		    const struct usage_change *usage);
