// Session Modification (TS 29.244 6.3.3, 7.5.4).
//
// Control thread only. The request is applied to a copy of the session's rules: whatever fails, the session
// keeps the rules that it had.

#include <errno.h>
#include <stdlib.h>

#include "pfcp/answer.h"
#include "pfcp/decode.h"
#include "pfcp/assoc.h"
#include "pfcp/downlink.h"
#include "pfcp/handle_session.h"
#include "pfcp/session_set.h"
#include "pfcp/smf_set.h"

static void session_modified(struct n4_change *change)
{
	answer_modified(change->rq, change->session, &change->usage);
	session_next(change->n4, change->session);
}

// Whether an Update FAR asks for End Markers: the flags stand inside its forwarding parameters.
static bool wants_end_marker(const struct pfcp_ie *far)
{
	struct pfcp_ie ie;

	return pfcp_ie_find(pfcp_ie_members(far), PFCP_IE_UPDATE_FORWARDING_PARAMETERS, &ie) == 0 &&
	       pfcp_uint_find(pfcp_ie_members(&ie), PFCP_IE_PFCPSMREQ_FLAGS) &
		       PFCP_PFCPSMREQ_FLAGS_SNDEM;
}

// The path has switched (TS 29.244 5.2.3.1): old tunnels are told that nothing more will come.
static void mark_ends(struct n4_change *change, const struct pfcp_msg *msg)
{
	struct pfcp_cursor ies = msg->ies;
	struct pfcp_fault unused;
	struct pfcp_ie far, id;
	uint64_t value;

	while (decode_next(&ies, PFCP_IE_UPDATE_FAR, &far))
		if (wants_end_marker(&far) &&
		    pfcp_ie_find(pfcp_ie_members(&far), PFCP_IE_FAR_ID, &id) == 0 &&
		    pfcp_uint_decode(&id, &value, &unused) == 0)
			n4_change_mark_end(change, (uint32_t)value);
}

// Whose the session is to be: a Node ID in the request is that of an SMF which takes it over from another of its
// set (TS 29.244 5.22.3). Looked up anew, since the request may have waited longer than an association lives.
static int owner_decode(struct n4 *n4, const struct n4_session *session, const struct pfcp_msg *msg,
			struct assoc **ret_owner, struct pfcp_fault *fault)
{
	struct assoc *owner;
	struct node_id id;
	struct pfcp_ie ie;

	*ret_owner = session->assoc;
	if (pfcp_ie_find(msg->ies, PFCP_IE_NODE_ID, &ie) < 0)
		return 0;
	if (node_id_decode(&ie, &id, fault) < 0)
		return -EINVAL;
	owner = assoc_lookup(n4, &id);
	if (!owner || owner->state == ASSOC_ENDING)
		return fault_cause(fault, PFCP_CAUSE_NO_ASSOCIATION, "no association");
	if (!smf_set_same(session->assoc, owner))
		return fault_cause(fault, PFCP_CAUSE_NO_SESSION, "a session of another SMF");
	*ret_owner = owner;
	return 0;
}

// What a request changes beside the rules; done when nothing can fail any more.
struct affairs {
	struct assoc *owner;
	struct session_set *set;
};

static void affairs_commit(struct n4_session *session, const struct affairs *affairs)
{
	free(session->set);
	session->set = affairs->set;
	if (affairs->owner != session->assoc)
		n4_session_move(session, affairs->owner);
}

// A change that begins with the rules that there are. NULL without memory.
static struct n4_change *change_new(struct n4 *n4, struct n4_session *session,
				    struct n4_request *rq)
{
	struct n4_change *change = NULL;
	struct rules *rules;

	if (!n4_session_open(session))
		return NULL;
	rules = rules_clone(session->rules);
	if (rules)
		change = n4_change_new(n4, session, rq, rules);
	n4_session_close(session); // the change has it open
	return change;
}

static int modify_begin(struct n4 *n4, struct n4_session *session, struct n4_request *rq,
			struct pfcp_fault *fault)
{
	struct n4_change *change = change_new(n4, session, rq);
	struct affairs affairs = {0};

	if (!change)
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	change->done = session_modified;
	change->drop_buffer = n4_downlink_drops(&rq->msg);
	if (owner_decode(n4, session, &rq->msg, &affairs.owner, fault) == 0 &&
	    session_set_decode(&rq->msg, session->set, &affairs.set, fault) == 0 &&
	    session_f_seid_decode(&rq->msg, &change->cp_seid, &change->cp_addr, fault) != -EINVAL &&
	    usage_query_decode(change, &rq->msg, fault) == 0 &&
	    decode_rules(&n4->env, &rq->msg, change->rules, fault) == 0) {
		mark_ends(change, &rq->msg);
		if (n4_change_begin(change, fault) == 0) {
			affairs_commit(session, &affairs);
			return 0;
		}
	}
	free(affairs.set);
	n4_change_free(change);
	return -EINVAL;
}

void session_modify_run(struct n4 *n4, struct n4_session *session, struct n4_request *rq)
{
	struct pfcp_fault fault = {0};

	if (modify_begin(n4, session, rq, &fault) < 0)
		answer_refuse(rq, session->cp_seid, &fault);
}
