// Node messages, see handle_node.h.
//
// Control thread only. A handler decodes what it needs, then decides, then answers; what the tables of the
// codec can tell (a missing IE, a short one) has been refused before (pfcp/dispatch.c).

#include "pfcp/handle_node.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/assoc.h"
#include "pfcp/features.h"
#include "pfcp/node_id.h"
#include "pfcp/release.h"
#include "pfcp/writer.h"
#include "pfcp/xact.h"

int node_recovery_decode(const struct pfcp_msg *msg, uint32_t *ret_recovery,
			 struct pfcp_fault *fault)
{
	struct pfcp_ie ie;
	uint64_t value;

	if (pfcp_ie_find(msg->ies, PFCP_IE_RECOVERY_TIME_STAMP, &ie) < 0)
		return fault_ie(fault, PFCP_CAUSE_MANDATORY_MISSING, PFCP_IE_RECOVERY_TIME_STAMP,
				"no Recovery Time Stamp");
	if (pfcp_uint_decode(&ie, &value, fault) < 0)
		return -EINVAL;
	*ret_recovery = (uint32_t)value;
	return 0;
}

int node_sender_decode(const struct pfcp_msg *msg, struct node_id *ret_id, struct pfcp_fault *fault)
{
	struct pfcp_ie ie;

	if (pfcp_ie_find(msg->ies, PFCP_IE_NODE_ID, &ie) < 0)
		return fault_ie(fault, PFCP_CAUSE_MANDATORY_MISSING, PFCP_IE_NODE_ID, "no Node ID");
	return node_id_decode(&ie, ret_id, fault);
}

uint64_t node_cp_features_get(const struct pfcp_msg *msg, uint64_t otherwise)
{
	struct pfcp_fault fault;
	struct pfcp_ie ie;
	uint64_t bits;

	if (pfcp_ie_find(msg->ies, PFCP_IE_CP_FUNCTION_FEATURES, &ie) < 0 ||
	    pfcp_uint_decode(&ie, &bits, &fault) < 0)
		return otherwise;
	return bits;
}

// Whether messages of this type begin with a Node ID.
static bool has_node_id(uint8_t type)
{
	const struct pfcp_msg_info *info = pfcp_msg_info_lookup(type);

	for (unsigned i = 0; info && i < info->members_count; i++) {
		if (info->members[i].type == PFCP_IE_NODE_ID)
			return true;
	}
	return false;
}

// The pools that UE addresses are picked from: one for each network instance that has any, and by its name.
static void pools_encode(struct pfcp_writer *w, const struct n4_env *env)
{
	for (unsigned i = 0; i < env->n_nis; i++) {
		const struct n4_ni *ni = &env->nis[i];
		struct pfcp_pool_identity identity = {.id = {.data = (const uint8_t *)ni->name,
							     .len = (uint16_t)strlen(ni->name)}};
		uint8_t families = 0;
		size_t group;

		for (unsigned k = 0; k < ni->n_pools; k++)
			families |= ni->pools[k].addr.family == ADDR_V4 ? PFCP_IP_VERSION_V4
									: PFCP_IP_VERSION_V6;
		if (!families)
			continue;
		group = pfcp_group_begin(w, PFCP_IE_UE_IP_ADDRESS_POOL_INFORMATION);
		pfcp_pool_identity_encode(w, &identity);
		pfcp_name_encode(w, PFCP_IE_NETWORK_INSTANCE, ni->name);
		pfcp_uint_encode(w, PFCP_IE_IP_VERSION, families);
		pfcp_group_end(w, group);
	}
}

// Answers a node request with our Node ID and the cause, and with what an answer of its type must have in
// any case.
static void node_answer(struct n4_request *rq, const struct pfcp_fault *fault)
{
	struct n4 *n4 = rq->n4;
	struct pfcp_writer w;

	n4_answer_begin(rq, &w, 0);
	if (!rq->msg.info->session && has_node_id((uint8_t)(rq->type + 1)))
		node_id_encode(&w, &n4->conf.node_id);
	pfcp_fault_encode(&w, fault);
	if (rq->type == PFCP_ASSOCIATION_SETUP_REQUEST)
		pfcp_uint_encode(&w, PFCP_IE_RECOVERY_TIME_STAMP, n4->recovery);
	if (rq->retained)
		pfcp_uint_encode(&w, PFCP_IE_PFCPASRSP_FLAGS, PFCP_PFCPASRSP_FLAGS_PSREI);
	if (rq->type == PFCP_ASSOCIATION_SETUP_REQUEST && fault->cause == 0) {
		up_features_encode(&w, &n4->env);
		if (n4->env.ue_pools)
			pools_encode(&w, &n4->env);
	}
	n4_answer(rq, &w);
}

void node_accept(struct n4_request *rq)
{
	struct pfcp_fault none = {0};

	node_answer(rq, &none);
}

void node_refuse(struct n4_request *rq, const struct pfcp_fault *fault)
{
	char from[ENDPOINT_STRLEN];

	log_info_limited("N4: %s from %s refused: cause %u, %s", rq->msg.info->title,
			 endpoint_str(from, &rq->from), fault->cause, fault->text);
	node_answer(rq, fault);
}

static void node_refuse_cause(struct n4_request *rq, enum pfcp_cause cause, const char *text)
{
	struct pfcp_fault fault = {0};

	fault_cause(&fault, cause, text);
	node_refuse(rq, &fault);
}

void node_not_supported(struct n4 *n4, struct n4_request *rq)
{
	node_refuse_cause(rq, PFCP_CAUSE_NOT_SUPPORTED, "not served by this UPF");
}

void node_heartbeat(struct n4 *n4, const struct endpoint *from, const struct pfcp_msg *msg)
{
	struct pfcp_fault fault;
	struct pfcp_writer w;
	struct assoc *a;
	uint32_t recovery = 0;
	uint8_t bytes[64];
	size_t len;
	bool only;

	if (node_recovery_decode(msg, &recovery, &fault) < 0) {
		n4_count(n4, N4_COUNT_discard_malformed);
		return;
	}
	pfcp_writer_init(&w, bytes, sizeof(bytes));
	pfcp_msg_begin(&w, PFCP_HEARTBEAT_RESPONSE, 0, msg->seq);
	pfcp_uint_encode(&w, PFCP_IE_RECOVERY_TIME_STAMP, n4->recovery);
	len = pfcp_msg_end(&w);
	n4_send(n4, &n4->local, from, bytes, len);

	// Of two associations from one address, a heartbeat does not say which is meant.
	a = assoc_lookup_addr(n4, &from->addr, &only);
	if (a == NULL || !only || a->state == ASSOC_ENDING)
		return;
	a->heartbeats_rx++;
	switch (assoc_life(a, recovery)) {
	case ASSOC_LIFE_SAME:
		assoc_heard(a);
		break;
	case ASSOC_LIFE_LATER:
		assoc_restarted(n4, a);
		break;
	case ASSOC_LIFE_EARLIER:
		n4_count(n4, N4_COUNT_discard_stale);
		break;
	}
}

void node_claim_refuse(struct n4_request *rq)
{
	n4_count(rq->n4, N4_COUNT_takeovers_refused);
	node_refuse_cause(rq, PFCP_CAUSE_REJECTED, "its Node ID belongs to a peer that answers");
}

// Sets the association up, for the first time or again.
static void setup_accept(struct n4_request *rq, struct assoc *a, uint32_t recovery,
			 const struct smf_set *set)
{
	const struct assoc_setup setup = {
		.addr = rq->from,
		.local = rq->local,
		.recovery = recovery,
		.cp_features = node_cp_features_get(&rq->msg, 0),
	};
	char name[NODE_ID_STRLEN], from[ENDPOINT_STRLEN];

	assoc_set_up(a, &setup);
	a->set = *set;
	a->requests++;
	rq->assoc = a;
	rq->keep = true;
	xact_belongs(rq->xact, &a->xacts);
	log_info_limited("N4: association with %s at %s", node_id_str(name, &a->id),
			 endpoint_str(from, &a->addr));
	node_accept(rq);
}

static void setup_first(struct n4 *n4, struct n4_request *rq, const struct node_id *id,
			uint32_t recovery, const struct smf_set *set)
{
	struct assoc *a = assoc_add(n4, id, &rq->from);

	if (a == NULL) {
		n4_count(n4, N4_COUNT_assocs_full);
		node_refuse_cause(rq, PFCP_CAUSE_NO_RESOURCES, "no more associations");
		return;
	}
	// The peer's sequence numbers may have begun again.
	xact_forget_addr(n4, &rq->from.addr);
	setup_accept(rq, a, recovery, set);
}

static bool wants_retention(const struct n4_request *rq)
{
	struct pfcp_ie ie;

	return pfcp_ie_find(rq->msg.ies, PFCP_IE_PFCP_SESSION_RETENTION_INFORMATION, &ie) == 0;
}

// The sessions that the setup names stay, also those of an earlier life of the peer; the others end first.
static void setup_retaining(struct n4 *n4, struct n4_request *rq, struct assoc *a,
			    uint32_t recovery, const struct smf_set *set)
{
	if (n4->ops->retain(n4, a, rq, node_setup))
		return;
	if (assoc_life(a, recovery) != ASSOC_LIFE_SAME) {
		n4_count(n4, N4_COUNT_peer_restarts);
		xact_forget(n4, &a->xacts, rq->xact);
	}
	rq->retained = true;
	setup_accept(rq, a, recovery, set);
}

// A setup for a Node ID that has an association already (TS 29.244 6.2.6.2.2). Its sessions are kept when
// the Recovery Time Stamp is the same, and end before the answer when it is later. An earlier stamp is that
// of an old message, unless the peer has been lost: then its clock was set back.
static void setup_again(struct n4 *n4, struct n4_request *rq, struct assoc *a, uint32_t recovery,
			const struct smf_set *set)
{
	enum assoc_life life = assoc_life(a, recovery);

	if (a->state == ASSOC_ENDING) {
		assoc_end(n4, a, rq, node_setup);
		return;
	}
	if (a->state == ASSOC_UP && !addr_eq(&a->addr.addr, &rq->from.addr) &&
	    !smf_set_has(&a->set, &rq->from.addr)) {
		if (!assoc_claim(n4, a, rq, node_setup))
			node_claim_refuse(rq);
		return;
	}
	if (life == ASSOC_LIFE_EARLIER && a->state == ASSOC_UP) {
		n4_discard(rq, N4_COUNT_discard_stale);
		return;
	}
	if (wants_retention(rq)) {
		setup_retaining(n4, rq, a, recovery, set);
		return;
	}
	if (life == ASSOC_LIFE_SAME) {
		setup_accept(rq, a, recovery, set);
		return;
	}
	n4_count(n4, N4_COUNT_peer_restarts);
	assoc_end(n4, a, rq, node_setup);
}

void node_setup(struct n4 *n4, struct n4_request *rq)
{
	struct pfcp_fault fault = {0};
	struct assoc *a;
	struct smf_set set = {0};
	struct node_id id;
	uint32_t recovery = 0;

	if (node_sender_decode(&rq->msg, &id, &fault) < 0 ||
	    node_recovery_decode(&rq->msg, &recovery, &fault) < 0 ||
	    smf_set_decode(&rq->msg, &set, &fault) < 0) {
		node_refuse(rq, &fault);
		return;
	}
	if (n4->leaving) {
		node_refuse_cause(rq, PFCP_CAUSE_REJECTED, "this UPF is about to stop");
		return;
	}
	a = assoc_lookup(n4, &id);
	if (a)
		setup_again(n4, rq, a, recovery, &set);
	else
		setup_first(n4, rq, &id, recovery, &set);
}

// The association that an update or release names and may change. NULL: the request has been refused.
static struct assoc *assoc_named(struct n4 *n4, struct n4_request *rq)
{
	struct pfcp_fault fault = {0};
	struct assoc *a;
	struct node_id id;

	if (node_sender_decode(&rq->msg, &id, &fault) < 0) {
		node_refuse(rq, &fault);
		return NULL;
	}
	a = assoc_lookup(n4, &id);
	if (a && assoc_speaks(n4, a, &rq->from))
		return a;
	node_refuse_cause(rq, PFCP_CAUSE_NO_ASSOCIATION, "no association with this Node ID");
	return NULL;
}

void node_update(struct n4 *n4, struct n4_request *rq)
{
	struct assoc *a = assoc_named(n4, rq);
	struct pfcp_fault fault = {0};

	if (a == NULL)
		return;
	if (a->state == ASSOC_ENDING) {
		node_refuse_cause(rq, PFCP_CAUSE_NO_ASSOCIATION, "the association is ending");
		return;
	}
	if (smf_set_decode(&rq->msg, &a->set, &fault) < 0) {
		node_refuse(rq, &fault);
		return;
	}
	a->cp_features = node_cp_features_get(&rq->msg, a->cp_features);
	release_asked(a, &rq->msg);
	a->requests++;
	rq->keep = true;
	xact_belongs(rq->xact, &a->xacts);
	node_accept(rq);
}

void node_session_set(struct n4 *n4, struct n4_request *rq)
{
	struct assoc *a = assoc_named(n4, rq);

	if (a == NULL)
		return;
	if (a->state == ASSOC_ENDING) {
		node_refuse_cause(rq, PFCP_CAUSE_NO_ASSOCIATION, "the association is ending");
		return;
	}
	rq->assoc = a;
	a->requests++;
	rq->keep = true;
	xact_belongs(rq->xact, &a->xacts);
	if (rq->type == PFCP_SESSION_SET_DELETION_REQUEST)
		n4->ops->end_set(n4, rq);
	else
		n4->ops->change_set(n4, rq);
}

// The association has gone, and with it its sessions.
static void release_then(struct n4 *n4, struct n4_request *rq)
{
	node_accept(rq);
}

void node_release(struct n4 *n4, struct n4_request *rq)
{
	struct assoc *a = assoc_named(n4, rq);
	char name[NODE_ID_STRLEN];

	if (a == NULL)
		return;
	log_info_limited("N4: %s releases its association and %u sessions",
			 node_id_str(name, &a->id), a->n_sessions);
	rq->keep = true;
	assoc_end(n4, a, rq, release_then);
}
