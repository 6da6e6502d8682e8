// Session sets, see handle_set.h.
//
// Control thread only.

#include "pfcp/handle_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "pfcp/assoc.h"
#include "pfcp/decode.h"
#include "pfcp/handle_node.h"
#include "pfcp/handle_session.h"
#include "pfcp/session_set.h"
#include "pfcp/smf_set.h"

// --- deletion --------------------------------------------------------------------------------------------

struct session_batch {
	struct n4_request *rq;
	void (*then)(struct n4 *n4, struct n4_request *rq); // goes on with it; NULL: it is accepted
	unsigned left; // sessions not gone yet, and one more while they are being gathered
	bool failed;   // of one that stays
};

void session_batch_done(struct session_batch *batch, int result)
{
	struct pfcp_fault fault = {0};

	batch->failed |= result < 0;
	if (--batch->left > 0)
		return;
	if (batch->then) {
		batch->then(batch->rq->n4, batch->rq); // asks again for what stayed
	} else if (batch->failed) {
		fault_cause(&fault, PFCP_CAUSE_NO_RESOURCES, "out of memory: some sessions stay");
		node_refuse(batch->rq, &fault);
	} else {
		node_accept(batch->rq);
	}
	free(batch);
}

void session_batch_abandon(struct session_batch *batch)
{
	if (--batch->left > 0)
		return;
	n4_discard(batch->rq, N4_COUNT_discard_handler);
	free(batch);
}

void session_set_end(struct n4 *n4, struct n4_request *rq)
{
	struct csid csids[SESSION_SET_CSIDS];
	struct session_batch *batch;
	struct pfcp_fault fault = {0};
	struct n4_session *session;
	unsigned n, ended = 0;

	if (session_set_csids(rq->msg.ies, csids, &n, &fault) < 0) {
		node_refuse(rq, &fault);
		return;
	}
	batch = n ? calloc(1, sizeof(*batch)) : NULL;
	if (!batch) {
		if (n == 0)
			fault_ie(&fault, PFCP_CAUSE_CONDITIONAL_MISSING, PFCP_IE_FQ_CSID,
				 "no FQ-CSID");
		else
			fault_cause(&fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
		node_refuse(rq, &fault);
		return;
	}
	*batch = (struct session_batch){.rq = rq, .left = 1};
	LIST_FOREACH(session, &rq->assoc->sessions, of_assoc) {
		if (session->ending || !session_set_match(n4, session->set, csids, n))
			continue;
		batch->left++;
		ended++;
		session_end_for(n4, session, batch);
	}
	log_info_limited("N4: a session set ends: %u sessions", ended);
	session_batch_done(batch, 0);
}

// --- retention -------------------------------------------------------------------------------------------

// Whether a session is to stay: all of the CP addresses that are named, or all when none is.
static bool is_retained(const struct n4_session *session, const struct pfcp_ie *info)
{
	struct pfcp_cursor ies = pfcp_ie_members(info);
	struct pfcp_cp_address address;
	struct pfcp_fault unused;
	bool any = false;
	struct pfcp_ie ie;

	while (decode_next(&ies, PFCP_IE_CP_PFCP_ENTITY_IP_ADDRESS, &ie)) {
		const struct addr *cp = session->cp_addr;
		struct addr v4, v6;

		any = true;
		if (pfcp_cp_address_decode(&ie, &address, &unused) < 0)
			continue;
		v4 = addr_v4(address.v4.s_addr);
		v6 = addr_v6(address.v6.s6_addr);
		if ((address.flags & PFCP_CP_PFCP_ENTITY_IP_ADDRESS_V4 && addr_eq(cp, &v4)) ||
		    (address.flags & PFCP_CP_PFCP_ENTITY_IP_ADDRESS_V6 && addr_eq(cp, &v6)))
			return true;
	}
	return !any;
}

bool session_retain(struct n4 *n4, struct assoc *assoc, struct n4_request *rq,
		    void (*then)(struct n4 *n4, struct n4_request *rq))
{
	struct session_batch *batch = calloc(1, sizeof(*batch));
	struct n4_session *session;
	struct pfcp_ie info;

	if (!batch ||
	    pfcp_ie_find(rq->msg.ies, PFCP_IE_PFCP_SESSION_RETENTION_INFORMATION, &info) < 0) {
		free(batch);
		return false; // without memory more stay than were asked for: they end one by one
	}
	*batch = (struct session_batch){.rq = rq, .then = then, .left = 1};
	LIST_FOREACH(session, &assoc->sessions, of_assoc) {
		if (session->ending || is_retained(session, &info))
			continue;
		batch->left++;
		session_end_for(n4, session, batch);
	}
	if (--batch->left > 0)
		return true; // none has gone yet: that takes their owners
	free(batch);
	return false;
}

// --- modification ----------------------------------------------------------------------------------------

#define CHANGES_MAX 16 // in one request
#define CP_ADDRS_MAX 16

// One PFCP Session Change Info: whose reports go to another SMF from now on.
struct set_change {
	struct addr to;
	unsigned n_csids, n_cp_addrs;
	struct csid csids[SESSION_SET_CSIDS];
	struct addr cp_addrs[CP_ADDRS_MAX];
	struct pfcp_cursor groups; // where its Group IDs stand
};

static int cp_addrs_decode(struct pfcp_cursor ies, struct set_change *c, struct pfcp_fault *fault)
{
	struct pfcp_cp_address address;
	struct pfcp_ie ie;

	while (decode_next(&ies, PFCP_IE_CP_IP_ADDRESS, &ie)) {
		if (pfcp_cp_address_decode(&ie, &address, fault) < 0)
			return -EINVAL;
		if (c->n_cp_addrs == CP_ADDRS_MAX)
			return fault_ie(fault, PFCP_CAUSE_NO_RESOURCES, ie.type,
					"more CP addresses than one change may name");
		c->cp_addrs[c->n_cp_addrs++] = smf_set_addr(&address);
	}
	return 0;
}

static int change_decode(const struct pfcp_ie *info, struct set_change *c, struct pfcp_fault *fault)
{
	struct pfcp_cursor ies = pfcp_ie_members(info);
	struct pfcp_cp_address address;
	struct pfcp_ie ie;

	c->groups = ies;
	if (session_set_csids(ies, c->csids, &c->n_csids, fault) < 0 ||
	    cp_addrs_decode(ies, c, fault) < 0)
		return -EINVAL;
	if (pfcp_ie_find(ies, PFCP_IE_ALTERNATIVE_SMF_IP_ADDRESS, &ie) < 0)
		return fault_ie(fault, PFCP_CAUSE_MANDATORY_MISSING,
				PFCP_IE_ALTERNATIVE_SMF_IP_ADDRESS, "no address to change to");
	if (pfcp_cp_address_decode(&ie, &address, fault) < 0)
		return -EINVAL;
	c->to = smf_set_addr(&address);
	if (c->to.family == ADDR_NONE)
		return fault_ie(fault, PFCP_CAUSE_MANDATORY_INCORRECT,
				PFCP_IE_ALTERNATIVE_SMF_IP_ADDRESS, "no address to change to");
	return 0;
}

static bool has_group(const struct session_set *set, struct pfcp_cursor ies)
{
	struct pfcp_ie ie;

	while (set && set->group_len && decode_next(&ies, PFCP_IE_GROUP_ID, &ie))
		if (ie.len == set->group_len && memcmp(ie.data, set->group, ie.len) == 0)
			return true;
	return false;
}

static bool has_cp_addr(const struct set_change *c, const struct addr *addr)
{
	for (unsigned i = 0; i < c->n_cp_addrs; i++)
		if (addr_eq(&c->cp_addrs[i], addr))
			return true;
	return false;
}

// Each session goes by the first change that names it. One that is being changed already keeps what it is told
// meanwhile, unless that names an F-SEID of its own.
static void change_apply(struct n4 *n4, struct n4_session *session,
			 const struct set_change *changes, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct set_change *c = &changes[i];

		if (!session_set_match(n4, session->set, c->csids, c->n_csids) &&
		    !has_group(session->set, c->groups) && !has_cp_addr(c, session->cp_addr))
			continue;
		if (session->change && addr_eq(&session->change->cp_addr, session->cp_addr))
			session->change->cp_addr = c->to;
		if (n4_session_cp_set(n4, session, session->cp_seid, &c->to) < 0)
			log_error_limited("N4: out of memory: a session's reports do not move");
		return;
	}
}

void session_set_change(struct n4 *n4, struct n4_request *rq)
{
	struct set_change changes[CHANGES_MAX];
	struct pfcp_cursor ies = rq->msg.ies;
	struct pfcp_fault fault = {0};
	struct n4_session *session;
	struct pfcp_ie info;
	unsigned n = 0;
	int rc = 0;

	memset(changes, 0, sizeof(changes));
	while (rc == 0 && decode_next(&ies, PFCP_IE_PFCP_SESSION_CHANGE_INFO, &info))
		rc = n < CHANGES_MAX
			     ? change_decode(&info, &changes[n++], &fault)
			     : fault_ie(&fault, PFCP_CAUSE_NO_RESOURCES, info.type,
					"more changes of session sets than one request may have");
	if (rc < 0) {
		node_refuse(rq, &fault);
		return;
	}
	LIST_FOREACH(session, &rq->assoc->sessions, of_assoc)
		change_apply(n4, session, changes, n);
	node_accept(rq);
}
