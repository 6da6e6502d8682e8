// Messages to handlers, see dispatch.h.
//
// Control thread only. What stands between the socket and a handler: who may speak, whether the header can
// be trusted, whether the IEs decode, whose request it is, and whether it was executed before. In this
// order, so that the cheap refusals come first and nothing is kept of what is refused.

#include "pfcp/dispatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "pfcp/assoc.h"
#include "pfcp/handle_node.h"
#include "pfcp/release.h"
#include "pfcp/xact.h"

// Messages of one datagram that are taken: more than fit in a frame, and few enough that a flood of full
// datagrams does not keep the rest of the control thread waiting.
#define BUNDLE_MAX 128

// What is done with a request.
struct dispatch_row {
	enum { UNSERVED, HEARTBEAT, NODE_REQUEST, SESSION_REQUEST } kind;
	void (*node)(struct n4 *n4, struct n4_request *rq);
	size_t session; // offset of the handler in struct n4_session_ops
};

#define NODE(handler)                                                                              \
	{                                                                                          \
		NODE_REQUEST, handler, 0                                                           \
	}
#define SESSION(handler)                                                                           \
	{                                                                                          \
		SESSION_REQUEST, NULL, offsetof(struct n4_session_ops, handler)                    \
	}

static const struct dispatch_row rows[PFCP_MSG_COUNT] = {
	[PFCP_HEARTBEAT_REQUEST] = {HEARTBEAT, NULL, 0},
	[PFCP_PFD_MANAGEMENT_REQUEST] = NODE(node_pfds),
	[PFCP_ASSOCIATION_SETUP_REQUEST] = NODE(node_setup),
	[PFCP_ASSOCIATION_UPDATE_REQUEST] = NODE(node_update),
	[PFCP_ASSOCIATION_RELEASE_REQUEST] = NODE(node_release),
	[PFCP_NODE_REPORT_REQUEST] = NODE(node_not_supported),
	[PFCP_SESSION_SET_DELETION_REQUEST] = NODE(node_session_set),
	[PFCP_SESSION_SET_MODIFICATION_REQUEST] = NODE(node_session_set),
	[PFCP_SESSION_ESTABLISHMENT_REQUEST] = SESSION(establish),
	[PFCP_SESSION_MODIFICATION_REQUEST] = SESSION(modify),
	[PFCP_SESSION_DELETION_REQUEST] = SESSION(del),
	[PFCP_SESSION_REPORT_REQUEST] = NODE(node_not_supported),
};

typedef int (*session_fn)(struct n4 *n4, struct n4_request *rq);

static session_fn row_session(const struct n4 *n4, const struct dispatch_row *row)
{
	session_fn fn;

	memcpy(&fn, (const uint8_t *)n4->ops + row->session, sizeof(fn));
	return fn;
}

static bool peer_allowed(const struct n4 *n4, const struct endpoint *from)
{
	for (unsigned i = 0; i < n4->conf.n_peers; i++) {
		if (prefix_contains(&n4->conf.peers[i], &from->addr))
			return true;
	}
	return n4->conf.n_peers == 0;
}

// The association that a session request belongs to: the one whose Node ID it gives, that of its session, or
// else one of its sender's address. NULL: none that is not ending.
static struct assoc *assoc_of(struct n4 *n4, const struct endpoint *from,
			      const struct pfcp_msg *msg)
{
	struct pfcp_fault fault;
	struct assoc *a = NULL;
	struct node_id id;
	struct pfcp_ie ie;
	bool only;

	if (pfcp_ie_find(msg->ies, PFCP_IE_NODE_ID, &ie) == 0) {
		if (node_id_decode(&ie, &id, &fault) == 0)
			a = assoc_lookup(n4, &id);
	} else {
		a = n4->ops->owner(n4, msg->seid);
		if (a == NULL)
			a = assoc_lookup_addr(n4, &from->addr, &only);
	}
	return a && a->state != ASSOC_ENDING ? a : NULL;
}

// A request of its own memory, with the message. NULL: there are enough already; counted.
static struct n4_request *request_new(struct n4 *n4, const struct endpoint *from,
				      const struct pfcp_msg *msg, const uint8_t *bytes, size_t len)
{
	struct n4_request *rq = NULL;

	if (n4->waiting_bytes + sizeof(*rq) + len <= n4->conf.max_waiting_bytes)
		rq = malloc(sizeof(*rq) + len);
	if (rq == NULL) {
		n4_count(n4, N4_COUNT_discard_full);
		return NULL;
	}
	*rq = (struct n4_request){.n4 = n4,
				  .from = *from,
				  .local = n4->local,
				  .seq = msg->seq,
				  .type = msg->type,
				  .msg = *msg,
				  .len = len};
	memcpy(rq->bytes, bytes, len);
	rq->msg.ies = (struct pfcp_cursor){rq->bytes + (msg->ies.at - bytes),
					   rq->bytes + (msg->ies.end - bytes)};
	n4->waiting_bytes += sizeof(*rq) + len;
	return rq;
}

// Whether the request is to be executed now: it is neither a duplicate nor one too many. Otherwise what is
// due has been done with it.
static bool request_is_new(struct n4_request *rq)
{
	struct n4 *n4 = rq->n4;
	struct xact_key key = {
		.from = rq->from, .local = rq->local, .seq = rq->seq, .type = rq->type};
	struct pfcp_fault fault;

	// Only setups say which life of the peer they are of; its other requests are forgotten with it.
	if (rq->type == PFCP_ASSOCIATION_SETUP_REQUEST)
		node_recovery_decode(&rq->msg, &key.life, &fault);
	switch (xact_begin(n4, &key, &rq->xact)) {
	case XACT_NEW:
		return true;
	case XACT_STORED:
		xact_repeat(n4, rq->xact);
		rq->xact = NULL;
		n4_discard(rq, N4_COUNT_duplicates);
		return false;
	case XACT_WAITING:
		n4_discard(rq, N4_COUNT_duplicates_waiting);
		return false;
	case XACT_FULL:
		log_warn_limited("N4: too many requests at once, the latest are discarded");
		n4_discard(rq, N4_COUNT_discard_full);
		return false;
	}
	return false;
}

static void session_take(struct n4 *n4, const struct dispatch_row *row, struct n4_request *rq,
			 const struct pfcp_fault *fault)
{
	struct pfcp_fault none = {0};
	bool only;

	rq->assoc = assoc_of(n4, &rq->from, &rq->msg);
	if (rq->assoc == NULL && fault->offending_ie == PFCP_IE_NODE_ID)
		rq->assoc = assoc_lookup_addr(n4, &rq->from.addr, &only);
	if (rq->assoc == NULL) {
		fault_cause(&none, PFCP_CAUSE_NO_ASSOCIATION, "no association");
		n4->ops->refuse(n4, rq, &none);
		return;
	}
	rq->cp_features = rq->assoc->cp_features;
	if (fault->cause) {
		n4->ops->refuse(n4, rq, fault);
		return;
	}
	if (!request_is_new(rq))
		return;
	rq->keep = true;
	rq->assoc->requests++;
	xact_belongs(rq->xact, &rq->assoc->xacts);
	if (addr_eq(&rq->assoc->addr.addr, &rq->from.addr))
		assoc_heard(rq->assoc);
	if (release_refuses(rq->assoc, rq->type, &none)) {
		n4_count(n4, N4_COUNT_release_refused);
		n4->ops->refuse(n4, rq, &none);
		return;
	}
	if (load_refuses(n4, rq)) {
		fault_cause(&none, PFCP_CAUSE_CONGESTION, "overload");
		n4->ops->refuse(n4, rq, &none);
		return;
	}
	if (row_session(n4, row)(n4, rq) < 0)
		n4_discard(rq, N4_COUNT_discard_handler);
}

static void request_take(struct n4 *n4, const struct dispatch_row *row, const struct endpoint *from,
			 struct pfcp_msg *msg, const uint8_t *bytes, size_t len)
{
	struct pfcp_fault fault = {0};
	struct n4_request *rq;
	int rc = pfcp_msg_check(msg, &fault);

	if (row->kind == HEARTBEAT) {
		if (rc < 0)
			n4_count(n4, N4_COUNT_discard_malformed);
		else
			node_heartbeat(n4, from, msg);
		return;
	}
	rq = request_new(n4, from, msg, bytes, len);
	if (rq == NULL)
		return;
	if (row->kind == SESSION_REQUEST)
		session_take(n4, row, rq, &fault);
	else if (rc < 0)
		node_refuse(rq, &fault);
	else if (request_is_new(rq))
		row->node(n4, rq);
}

static void response_take(struct n4 *n4, const struct endpoint *from, struct pfcp_msg *msg)
{
	struct pfcp_fault fault;
	struct pfcp_ie ie;

	if (pfcp_msg_check(msg, &fault) < 0) {
		n4_count(n4, N4_COUNT_discard_malformed);
		return;
	}
	if (!xact_response(n4, from, msg)) {
		n4_count(n4, N4_COUNT_discard_unasked);
		return;
	}
	if (pfcp_ie_find(msg->ies, PFCP_IE_CAUSE, &ie) == 0 && ie.len == 1)
		n4->counters.causes_rx[ie.data[0]]++;
}

// Says that we speak version 1 only (TS 29.244 7.6.2). Never to such a message itself: two that do not
// understand each other would go on for ever.
static void version_refuse(struct n4 *n4, const struct endpoint *from, const struct pfcp_msg *msg)
{
	struct pfcp_writer w;
	uint8_t bytes[16];

	n4_count(n4, N4_COUNT_discard_version);
	if (msg->type == PFCP_VERSION_NOT_SUPPORTED_RESPONSE)
		return;
	pfcp_writer_init(&w, bytes, sizeof(bytes));
	pfcp_msg_begin(&w, PFCP_VERSION_NOT_SUPPORTED_RESPONSE, 0, msg->seq);
	n4_send(n4, &n4->local, from, bytes, pfcp_msg_end(&w));
}

static void header_refuse(struct n4 *n4, const struct endpoint *from, const struct pfcp_msg *msg,
			  int rc)
{
	switch (rc) {
	case -EPROTONOSUPPORT:
		version_refuse(n4, from, msg);
		break;
	case -ENOMSG:
		n4_count(n4, N4_COUNT_discard_type);
		break;
	default:
		n4_count(n4, N4_COUNT_discard_header);
		break;
	}
}

static void message_take(struct n4 *n4, const struct endpoint *from, struct pfcp_msg *msg,
			 const uint8_t *bytes, size_t len)
{
	const struct dispatch_row *row = &rows[msg->type];

	n4->counters.rx[msg->type]++;
	if (!msg->info->request)
		response_take(n4, from, msg);
	else if (row->kind == UNSERVED)
		n4_count(n4, N4_COUNT_discard_type);
	else
		request_take(n4, row, from, msg, bytes, len);
}

// A datagram holds one message, or several when each but the last says so (FO, TS 29.244 6.5). Each is a
// message of its own: one that is refused, or of a type that we do not know, does not touch the others.
void dispatch_datagram(struct n4 *n4, const struct endpoint *from, const uint8_t *bytes, size_t len)
{
	struct pfcp_cursor left = pfcp_cursor_of(bytes, len);
	struct pfcp_msg msg;

	n4_count(n4, N4_COUNT_rx);
	n4->counters.counter[N4_COUNT_rx_bytes] += len;
	if (!peer_allowed(n4, from)) {
		n4_count(n4, N4_COUNT_discard_peer);
		return;
	}
	for (unsigned n = 0; n < BUNDLE_MAX; n++) {
		const uint8_t *at = left.at;
		int rc = pfcp_msg_decode(&left, &msg);

		if (rc < 0)
			header_refuse(n4, from, &msg, rc);
		else
			message_take(n4, from, &msg, at, (size_t)(left.at - at));
		if (!msg.more || (rc < 0 && rc != -ENOMSG))
			return;
	}
	n4_count(n4, N4_COUNT_discard_bundle);
}
