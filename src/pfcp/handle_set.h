// What concerns many sessions at once: Session Set Deletion and Modification, and which sessions a new setup retains
// (TS 29.244 6.2.6.2.2, 7.4.6, 7.4.7).
//
// Control thread only. Inside the session half of pfcp/. Only sessions of the association that asks are touched, and
// of these only those of the sets named. A deletion is answered when the last of them has gone.

#pragma once

#include "pfcp/n4_session.h"

// The end of several sessions on behalf of one request.
struct session_batch;

// Both end the request, which names an association (rq->assoc), then or later.
void session_set_end(struct n4 *n4, struct n4_request *rq);
void session_set_change(struct n4 *n4, struct n4_request *rq);

// The `retain` of struct n4_session_ops.
bool session_retain(struct n4 *n4, struct assoc *assoc, struct n4_request *rq,
		    void (*then)(struct n4 *n4, struct n4_request *rq));

// A session of the batch has gone, or has to stay (-errno). The last one answers the request.
void session_batch_done(struct session_batch *batch, int result);
// A session of the batch goes with the context, which answers nobody any more.
void session_batch_abandon(struct session_batch *batch);
