// The turns of a session: which request of a peer acts on it when.
// Control thread. Inside the session half of pfcp/ only.

#pragma once

#include "pfcp/apply.h"
#include "pfcp/n4_session.h"

// The peer's F-SEID in a request: 0, -ENOENT, or -EINVAL with the fault.
int session_f_seid_decode(const struct pfcp_msg *msg, uint64_t *ret_seid, struct addr *ret_addr,
			  struct pfcp_fault *fault);

// The session whose turn has come goes on with what waits for it.
void session_next(struct n4 *n4, struct n4_session *session);

// The session ends as soon as no change of it is under way, without a word to its SMF.
void session_end_local(struct n4 *n4, struct n4_session *session);

// Begins the change of a session that is marked for it, and takes the mark away (refresh.c).
void session_refresh_run(struct n4 *n4, struct n4_session *session);
// Begins that of as many marked sessions as a tick may.
void session_refresh_tick(struct n4 *n4);

// Ends the session as soon as it can be, for a batch that is told of it (pfcp/handle_set.h).
void session_end_for(struct n4 *n4, struct n4_session *session, struct session_batch *batch);

// Begins what a Session Modification Request asks for, or refuses it (handle_session_mod.c).
void session_modify_run(struct n4 *n4, struct n4_session *session, struct n4_request *rq);
