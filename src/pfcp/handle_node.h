// Node messages: heartbeats, associations, and what Sluice does not serve (TS 29.244 6.2, 7.4).
//
// Control thread only. The rows of dispatch.c name these. Every handler of a request ends it; one that waits
// for sessions to end does so later.

#pragma once

#include <stdint.h>

#include "pfcp/n4.h"

// Answers at once, with or without an association. Nothing is kept of a heartbeat, so that no flood of
// requests stands in its way.
void node_heartbeat(struct n4 *n4, const struct endpoint *from, const struct pfcp_msg *msg);

void node_setup(struct n4 *n4, struct n4_request *rq);
void node_update(struct n4 *n4, struct n4_request *rq);
void node_release(struct n4 *n4, struct n4_request *rq);

// PFD Management (handle_pfd.c).
void node_pfds(struct n4 *n4, struct n4_request *rq);
// Session Set Deletion and Modification: whose association it is; the session half does the rest.
void node_session_set(struct n4 *n4, struct n4_request *rq);

// 76 to a request that no row serves.
void node_not_supported(struct n4 *n4, struct n4_request *rq);

// Who sent a node message: its Node ID. -EINVAL: 66, 68, 69.
int node_sender_decode(const struct pfcp_msg *msg, struct node_id *ret_id,
		       struct pfcp_fault *fault);
// Bits of CP Function Features; absent octets are 0. `otherwise` where there is no such IE.
uint64_t node_cp_features_get(const struct pfcp_msg *msg, uint64_t otherwise);
// Accepts a node request: Node ID and Cause, and what else its answer must have.
void node_accept(struct n4_request *rq);

// Refuses a node request: Node ID, Cause, Offending IE, and what else its answer must have.
void node_refuse(struct n4_request *rq, const struct pfcp_fault *fault);

// The refusal of a setup whose Node ID belongs to a living peer.
void node_claim_refuse(struct n4_request *rq);

// The Recovery Time Stamp of a message. -EINVAL: 66, 68.
int node_recovery_decode(const struct pfcp_msg *msg, uint32_t *ret_recovery,
			 struct pfcp_fault *fault);
