// Session Establishment and Deletion, and the turns of sessions (TS 29.244 6.3.2, 6.3.4, 7.5.2, 7.5.6).
//
// Control thread only. The session half of N4 as the node half sees it: n4_session_ops. A request takes its
// session for itself until the owner worker has answered; others wait in the order in which they came.

#include "pfcp/handle_session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/kept.h"
#include "base/log.h"
#include "pfcp/answer.h"
#include "pfcp/assoc.h"
#include "pfcp/decode.h"
#include "pfcp/downlink.h"
#include "pfcp/handle_set.h"
#include "pfcp/inactivity.h"
#include "pfcp/report.h"
#include "pfcp/session_set.h"
#include "pfcp/smf_set.h"

#define ENDS_AT_ONCE                                                                               \
	1024 // changes under way beyond which no further session of an association is ended
#define PDN_TYPE_V4V6 3 // 1: IPv4, 2: IPv6, 3: both (TS 29.244 8.2.79)

int session_f_seid_decode(const struct pfcp_msg *msg, uint64_t *ret_seid, struct addr *ret_addr,
			  struct pfcp_fault *fault)
{
	struct pfcp_f_seid f_seid;
	struct pfcp_ie ie;

	if (pfcp_ie_find(msg->ies, PFCP_IE_F_SEID, &ie) < 0)
		return -ENOENT;
	if (pfcp_f_seid_decode(&ie, &f_seid, fault) < 0)
		return -EINVAL;
	*ret_seid = f_seid.seid;
	*ret_addr = f_seid.flags & PFCP_F_SEID_V4 ? addr_v4(f_seid.v4.s_addr)
						  : addr_v6(f_seid.v6.s6_addr);
	return 0;
}

// --- the end of a session --------------------------------------------------------------------------------

static void waiting_refuse(struct n4_session *session, const struct pfcp_fault *fault,
			   uint64_t seid)
{
	struct n4_waiting *w;

	while ((w = STAILQ_FIRST(&session->waiting)) != NULL) {
		STAILQ_REMOVE_HEAD(&session->waiting, next);
		session->n_waiting--;
		answer_refuse(w->rq, seid, fault);
		free(w);
	}
}

// Calls what waits for the end of an association's last session.
static void ending_check(struct n4 *n4, struct assoc *assoc)
{
	void (*gone)(struct n4 * n4, void *ctx) = assoc->sessions_gone;

	if (!gone || assoc->n_sessions > 0)
		return;
	assoc->sessions_gone = NULL;
	gone(n4, assoc->sessions_gone_ctx);
}

// Goes on ending an association's sessions. Each takes memory until its owner has answered, so they are not all under
// way at once. At least one is begun: its end is what goes on.
static void ending_go_on(struct n4 *n4, struct assoc *assoc)
{
	struct n4_session *session;

	while ((session = assoc->next_end) != NULL) {
		assoc->next_end = LIST_NEXT(session, of_assoc);
		if (!session->change)
			session_next(n4, session);
		if (n4->sessions->n_changes >= ENDS_AT_ONCE)
			return;
	}
}

static int session_establish(struct n4 *n4, struct n4_request *rq);

static void successor_refuse(struct n4_session *session, const struct pfcp_fault *fault)
{
	struct n4_request *rq = session->successor;

	session->successor = NULL;
	if (rq)
		answer_refuse(rq, session->cp_seid, fault);
}

static void session_gone(struct n4_change *change)
{
	struct n4 *n4 = change->n4;
	struct n4_session *session = change->session;
	struct session_batch *batch = session->batch;
	struct n4_request *successor = session->successor;
	struct assoc *assoc = session->assoc;
	struct pfcp_fault fault;

	if (change->rq)
		answer_deleted(change->rq, session, &change->usage);
	fault_cause(&fault, PFCP_CAUSE_NO_SESSION, "the session has been deleted before");
	waiting_refuse(session, &fault, 0);
	n4_session_free(n4, session);
	change->session = NULL;
	if (successor)
		session_establish(n4, successor);
	ending_go_on(n4, assoc);
	ending_check(n4, assoc);
	if (batch)
		session_batch_done(batch, 0);
}

// -ENOMEM: it stays.
static int session_end(struct n4 *n4, struct n4_session *session, struct n4_request *rq)
{
	struct n4_change *change = n4_change_new(n4, session, rq, NULL);

	if (!change)
		return -ENOMEM;
	change->done = session_gone;
	if (n4_change_end(change) < 0) {
		n4_change_free(change);
		return -ENOMEM;
	}
	return 0;
}

static void session_del_run(struct n4 *n4, struct n4_session *session, struct n4_request *rq)
{
	struct pfcp_fault fault;

	if (session_end(n4, session, rq) == 0)
		return;
	fault_cause(&fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	answer_refuse(rq, session->cp_seid, &fault);
}

// --- turns -----------------------------------------------------------------------------------------------

// One that was to end, and cannot.
static void session_stays(struct n4_session *session)
{
	log_error_limited("N4: out of memory: a session that was to end stays");
	if (!session->batch)
		return;
	session_batch_done(session->batch, -ENOMEM);
	session->batch = NULL;
	session->ending = session->assoc->sessions_gone != NULL;
}

void session_next(struct n4 *n4, struct n4_session *session)
{
	if (session->ending) {
		struct pfcp_fault fault;

		if (session_end(n4, session, NULL) == 0)
			return;
		session_stays(session);
		if (session->successor) {
			fault_cause(&fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
			session->ending = false;
			successor_refuse(session, &fault);
		}
		return;
	}
	while (!session->change && !STAILQ_EMPTY(&session->waiting)) {
		struct n4_waiting *w = STAILQ_FIRST(&session->waiting);
		struct n4_request *rq = w->rq;

		STAILQ_REMOVE_HEAD(&session->waiting, next);
		session->n_waiting--;
		free(w);
		if (rq->type == PFCP_SESSION_DELETION_REQUEST)
			session_del_run(n4, session, rq);
		else
			session_modify_run(n4, session, rq);
	}
	if (n4_session_is_due(session) && !session->change)
		session_refresh_run(n4, session);
}

void session_end_local(struct n4 *n4, struct n4_session *session)
{
	struct pfcp_fault fault;

	fault_cause(&fault, PFCP_CAUSE_NO_SESSION, "the session has ended");
	session->ending = true;
	waiting_refuse(session, &fault, 0);
	if (!session->change)
		session_next(n4, session);
}

// Puts a request to those that wait for the session that its header names.
static int session_request(struct n4 *n4, struct n4_request *rq)
{
	struct n4_session *session = n4_session_lookup(n4, rq->msg.seid);
	struct pfcp_fault fault;
	struct n4_waiting *w;

	if (!session || !smf_set_same(session->assoc, rq->assoc) ||
	    !smf_set_speaks(n4, session, &rq->from.addr)) {
		fault_cause(&fault, PFCP_CAUSE_NO_SESSION, "no session has this SEID");
		answer_refuse(rq, 0, &fault);
		return 0;
	}
	if (session->n_waiting == N4_SESSION_WAITING_MAX) {
		fault_cause(&fault, PFCP_CAUSE_CONGESTION,
			    "too many requests wait for the session");
		answer_refuse(rq, session->cp_seid, &fault);
		return 0;
	}
	w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->rq = rq;
	STAILQ_INSERT_TAIL(&session->waiting, w, next);
	session->n_waiting++;
	if (!session->change)
		session_next(n4, session);
	return 0;
}

// --- establishment ---------------------------------------------------------------------------------------

static void session_established(struct n4_change *change)
{
	struct n4_session *session = change->session;
	struct pfcp_fault fault;

	if (session->ending && !session->successor) {
		if (session->batch)
			fault_cause(&fault, PFCP_CAUSE_REJECTED,
				    "its session set has ended meanwhile");
		else
			fault_cause(&fault, PFCP_CAUSE_NO_ASSOCIATION,
				    "the association has ended meanwhile");
		answer_refuse(change->rq, session->cp_seid, &fault);
	} else {
		answer_established(change->rq, session);
	}
	session_next(change->n4, session);
}

static int check_pdn_type(const struct pfcp_msg *msg, struct pfcp_fault *fault)
{
	struct pfcp_ie ie;
	uint64_t type;

	if (pfcp_ie_find(msg->ies, PFCP_IE_PDN_TYPE, &ie) < 0)
		return 0;
	if (pfcp_uint_decode(&ie, &type, fault) < 0)
		return -EINVAL;
	if ((type & 0x07) > PDN_TYPE_V4V6)
		return fault_ie(fault, PFCP_CAUSE_NOT_SUPPORTED, ie.type,
				"only IP sessions are served");
	return 0;
}

// The SEID that a session had before we restarted, when the SMF restores it (TS 29.244 5.22.3); else 0.
static uint64_t restored_seid(const struct pfcp_msg *msg)
{
	uint64_t flags = pfcp_uint_find(msg->ies, PFCP_IE_PFCPSEREQ_FLAGS);

	return flags & PFCP_PFCPSEREQ_FLAGS_RESTI ? msg->seid : 0;
}

static struct rules *establishment_rules(struct n4 *n4, const struct pfcp_msg *msg,
					 struct pfcp_fault *fault)
{
	struct rules *rules = rules_new();

	if (!rules) {
		fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
		return NULL;
	}
	if (decode_rules(&n4->env, msg, rules, fault) < 0) {
		rules_free(rules);
		return NULL;
	}
	return rules;
}

static int establish_begin(struct n4 *n4, struct n4_request *rq, uint64_t cp_seid,
			   const struct addr *cp_addr, struct pfcp_fault *fault)
{
	struct n4_session *session;
	struct n4_change *change;
	struct rules *rules;

	if (check_pdn_type(&rq->msg, fault) < 0)
		return -EINVAL;
	if (n4_session_count(n4) >= n4->conf.max_sessions)
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES,
				   "as many sessions as are allowed");
	rules = establishment_rules(n4, &rq->msg, fault);
	if (!rules)
		return -EINVAL;
	session = n4_session_new(n4, rq->assoc, restored_seid(&rq->msg));
	if (!session) {
		rules_free(rules);
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	}
	session->made_by = kept_take(&rq->from.addr);
	if (!session->made_by || n4_session_cp_set(n4, session, cp_seid, cp_addr) < 0) {
		rules_free(rules);
		n4_session_free(n4, session);
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	}
	if (session_set_decode(&rq->msg, NULL, &session->set, fault) < 0) {
		rules_free(rules);
		n4_session_free(n4, session);
		return -EINVAL;
	}
	change = n4_change_new(n4, session, rq, rules);
	if (!change) {
		n4_session_free(n4, session);
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	}
	change->done = session_established;
	if (n4_change_begin(change, fault) < 0) {
		n4_change_free(change);
		n4_session_free(n4, session);
		return -EINVAL;
	}
	return 0;
}

// The SMF has lost a session if it gives its F-SEID to another: the old one goes, without a word, and then the new
// one comes (TS 29.244 6.3.2.3).
static void session_succeed(struct n4 *n4, struct n4_session *old, struct n4_request *rq)
{
	struct pfcp_fault fault;

	if (old->successor) {
		fault_cause(&fault, PFCP_CAUSE_CONGESTION,
			    "an establishment with this CP F-SEID waits already");
		answer_refuse(rq, old->cp_seid, &fault);
		return;
	}
	log_info_limited("N4: the session with SEID 0x%" PRIx64
			 " goes: its CP F-SEID is established anew",
			 old->seid);
	old->successor = rq;
	session_end_local(n4, old);
}

static int session_establish(struct n4 *n4, struct n4_request *rq)
{
	struct n4_session *old;
	struct pfcp_fault fault = {0};
	struct addr cp_addr = {0};
	uint64_t cp_seid = 0;
	int rc = session_f_seid_decode(&rq->msg, &cp_seid, &cp_addr, &fault);

	if (rc == -ENOENT)
		rc = fault_ie(&fault, PFCP_CAUSE_MANDATORY_MISSING, PFCP_IE_F_SEID, "no CP F-SEID");
	old = rc == 0 ? n4_session_cp_lookup(n4, rq->assoc, cp_seid, &cp_addr) : NULL;
	if (old) {
		session_succeed(n4, old, rq);
		return 0;
	}
	if (rc == 0)
		rc = establish_begin(n4, rq, cp_seid, &cp_addr, &fault);
	if (rc < 0)
		answer_refuse(rq, cp_seid, &fault);
	return 0;
}

// --- the rest of the seam --------------------------------------------------------------------------------

static void session_refuse(struct n4 *n4, struct n4_request *rq, const struct pfcp_fault *fault)
{
	const struct n4_session *session = n4_session_lookup(n4, rq->msg.seid);
	struct pfcp_fault unused;
	struct addr cp_addr;
	uint64_t cp_seid = 0;

	if (rq->type == PFCP_SESSION_ESTABLISHMENT_REQUEST) {
		if (session_f_seid_decode(&rq->msg, &cp_seid, &cp_addr, &unused) < 0)
			cp_seid = 0;
	} else if (session && rq->assoc && smf_set_same(session->assoc, rq->assoc)) {
		cp_seid = session->cp_seid;
	}
	answer_refuse(rq, cp_seid, fault);
}

static struct assoc *session_owner(struct n4 *n4, uint64_t seid)
{
	const struct n4_session *session = n4_session_lookup(n4, seid);

	return session ? session->assoc : NULL;
}

static void session_end_all(struct n4 *n4, struct assoc *assoc,
			    void (*done)(struct n4 *n4, void *ctx), void *ctx)
{
	struct n4_session *session;
	struct pfcp_fault fault;

	if (assoc->n_sessions == 0) {
		done(n4, ctx);
		return;
	}
	assoc->sessions_gone = done;
	assoc->sessions_gone_ctx = ctx;
	fault_cause(&fault, PFCP_CAUSE_NO_ASSOCIATION, "the association has ended meanwhile");
	LIST_FOREACH(session, &assoc->sessions, of_assoc) {
		session->ending = true;
		waiting_refuse(session, &fault, session->cp_seid);
		successor_refuse(session, &fault);
	}
	assoc->next_end = LIST_FIRST(&assoc->sessions);
	ending_go_on(n4, assoc);
}

static void session_tick(struct n4 *n4)
{
	session_refresh_tick(n4);
	n4_downlink_tick(n4);
	inactivity_tick(n4);
	usage_tick(n4);
	n4_reports_tick(n4);
}

void session_end_for(struct n4 *n4, struct n4_session *session, struct session_batch *batch)
{
	session->batch = batch;
	session_end_local(n4, session);
}

static void session_fini(struct n4 *n4)
{
	struct n4_sessions *table = n4->sessions;
	struct n4_waiting *w;

	if (!table)
		return;
	for (uint32_t i = 0; i <= table->mask; i++)
		while (table->buckets[i]) {
			struct n4_session *session = table->buckets[i];

			while ((w = STAILQ_FIRST(&session->waiting)) != NULL) {
				STAILQ_REMOVE_HEAD(&session->waiting, next);
				n4_discard(w->rq, N4_COUNT_discard_handler);
				free(w);
			}
			if (session->successor)
				n4_discard(session->successor, N4_COUNT_discard_handler);
			n4_session_abandon(n4, session);
			if (session->batch)
				session_batch_abandon(session->batch);
			n4_session_free(n4, session);
		}
	n4_sessions_fini(n4);
}

const struct n4_session_ops n4_session_ops = {
	.init = n4_sessions_init,
	.fini = session_fini,
	.establish = session_establish,
	.modify = session_request,
	.del = session_request,
	.refuse = session_refuse,
	.tick = session_tick,
	.end_set = session_set_end,
	.change_set = session_set_change,
	.retain = session_retain,
	.owner = session_owner,
	.end_all = session_end_all,
};
