// Associations, see assoc.h: the table, heartbeats, path failure, and how an association ends.
//
// Control thread only. What ends an association may have to wait for workers: it is ASSOC_ENDING from the
// first moment, and freed when the session half says that its last session has gone.

#include "pfcp/assoc.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/handle_node.h"
#include "pfcp/writer.h"

LIST_HEAD(assoc_list, assoc);

struct assoc_table {
	struct assoc_list all;
	uint32_t n;
};

struct assoc_table *assoc_table_new(void)
{
	return calloc(1, sizeof(struct assoc_table));
}

// Our requests to the peer whose answers no longer matter.
static void requests_cancel(struct n4 *n4, struct assoc *a)
{
	if (a->heartbeat)
		xact_cancel(n4, a->heartbeat);
	if (a->update)
		xact_cancel(n4, a->update);
	a->heartbeat = a->update = 0;
}

// Takes the association out of the table and frees it.
static void assoc_del(struct n4 *n4, struct assoc *a)
{
	requests_cancel(n4, a);
	xact_forget(n4, &a->xacts, a->ending ? a->ending->xact : NULL);
	LIST_REMOVE(a, next);
	n4->assocs->n--;
	free(a);
}

void assoc_table_free(struct n4 *n4)
{
	struct assoc *a;

	if (n4->assocs == NULL)
		return;
	while ((a = LIST_FIRST(&n4->assocs->all))) {
		if (a->claim)
			n4_discard(a->claim, N4_COUNT_discard_stale);
		if (a->ending)
			n4_discard(a->ending, N4_COUNT_discard_stale);
		a->ending = NULL;
		assoc_del(n4, a);
	}
	free(n4->assocs);
	n4->assocs = NULL;
}

struct assoc *assoc_lookup(const struct n4 *n4, const struct node_id *id)
{
	struct assoc *a;

	LIST_FOREACH(a, &n4->assocs->all, next) {
		if (node_id_eq(&a->id, id))
			return a;
	}
	return NULL;
}

struct assoc *assoc_lookup_addr(const struct n4 *n4, const struct addr *addr, bool *ret_only)
{
	struct assoc *a, *found = NULL;

	*ret_only = true;
	LIST_FOREACH(a, &n4->assocs->all, next) {
		if (!addr_eq(&a->addr.addr, addr))
			continue;
		*ret_only = found == NULL;
		found = a;
	}
	return found;
}

struct addr assoc_local(const struct n4 *n4, const struct addr *peer)
{
	const struct assoc *a;

	LIST_FOREACH(a, &n4->assocs->all, next) {
		if (addr_eq(&a->addr.addr, peer))
			return a->local;
	}
	return (struct addr){0};
}

// One that no longer answers and holds nothing: it may make room for another.
static struct assoc *assoc_idle(const struct n4 *n4)
{
	struct assoc *a;

	LIST_FOREACH(a, &n4->assocs->all, next) {
		if (a->state == ASSOC_LOST && a->n_sessions == 0 && !a->claim && !a->ending)
			return a;
	}
	return NULL;
}

static bool assoc_make_room(struct n4 *n4, const struct addr *addr)
{
	struct assoc *a, *idle = assoc_idle(n4);
	uint32_t of_addr = 0;

	LIST_FOREACH(a, &n4->assocs->all, next)
		of_addr += addr_eq(&a->addr.addr, addr);
	if (of_addr >= n4->conf.max_assocs_per_addr)
		return false;
	if (n4->assocs->n < n4->conf.max_assocs)
		return true;
	if (idle == NULL)
		return false;
	assoc_del(n4, idle);
	return true;
}

struct assoc *assoc_add(struct n4 *n4, const struct node_id *id, const struct endpoint *from)
{
	struct assoc *a = NULL;

	if (assoc_make_room(n4, &from->addr))
		a = calloc(1, sizeof(*a));
	if (a == NULL)
		return NULL;
	a->n4 = n4;
	a->id = *id;
	a->addr = *from;
	a->since_s = clock_wall_s();
	LIST_INIT(&a->xacts);
	LIST_INIT(&a->sessions);
	LIST_INSERT_HEAD(&n4->assocs->all, a, next);
	n4->assocs->n++;
	a->heard_ns = clock_now_ns();
	a->heartbeat_due_ns = a->heard_ns + n4->conf.heartbeat_s * NS_PER_SEC;
	return a;
}

void assoc_set_up(struct assoc *a, const struct assoc_setup *setup)
{
	a->addr = setup->addr;
	a->local = setup->local;
	a->recovery = setup->recovery;
	a->cp_features = setup->cp_features;
	a->releasing = a->awaited = false;
	assoc_heard(a);
}

bool assoc_speaks(const struct n4 *n4, const struct assoc *a, const struct endpoint *from)
{
	// Strangers have been refused before, so with a list of peers whoever comes this far is on it.
	return n4->conf.n_peers > 0 || addr_eq(&a->addr.addr, &from->addr) ||
	       smf_set_has(&a->set, &from->addr);
}

// Time stamps go around after 2^32 seconds, so they are compared by their difference.
enum assoc_life assoc_life(const struct assoc *a, uint32_t recovery)
{
	int32_t later_s = (int32_t)(recovery - a->recovery);

	if (later_s == 0)
		return ASSOC_LIFE_SAME;
	return later_s > 0 ? ASSOC_LIFE_LATER : ASSOC_LIFE_EARLIER;
}

void assoc_heard(struct assoc *a)
{
	char name[NODE_ID_STRLEN];

	a->heard_ns = clock_now_ns();
	if (a->state != ASSOC_LOST)
		return;
	a->state = ASSOC_UP;
	log_info_limited("N4: %s answers again", node_id_str(name, &a->id));
}

// The session half has ended the last session.
static void assoc_ended(struct n4 *n4, void *ctx)
{
	struct assoc *a = ctx;
	struct n4_request *ending = a->ending, *claim = a->claim;
	assoc_then_fn ending_then = a->ending_then, claim_then = a->claim_then;

	if (ending)
		ending->assoc = NULL;
	assoc_del(n4, a);
	if (ending)
		ending_then(n4, ending);
	if (claim)
		claim_then(n4, claim);
}

void assoc_end(struct n4 *n4, struct assoc *a, struct n4_request *rq, assoc_then_fn then)
{
	bool first = a->state != ASSOC_ENDING;

	if (rq && a->ending) {
		n4_discard(rq, N4_COUNT_discard_full);
	} else if (rq) {
		a->ending = rq;
		a->ending_then = then;
	}
	if (!first)
		return;
	a->state = ASSOC_ENDING;
	requests_cancel(n4, a);
	xact_forget(n4, &a->xacts, rq ? rq->xact : NULL);
	n4->ops->end_all(n4, a, assoc_ended, a);
}

// Tells whoever claims the Node ID of a living peer that it cannot have it.
static void claim_refuse(struct assoc *a)
{
	struct n4_request *claim = a->claim;

	a->claim = NULL;
	if (claim)
		node_claim_refuse(claim);
}

void assoc_restarted(struct n4 *n4, struct assoc *a)
{
	char name[NODE_ID_STRLEN];

	if (a->state == ASSOC_ENDING)
		return;
	claim_refuse(a);
	n4_count(n4, N4_COUNT_peer_restarts);
	log_info_limited("N4: %s has restarted: its %u sessions end", node_id_str(name, &a->id),
			 a->n_sessions);
	assoc_end(n4, a, NULL, NULL);
}

static const char *const path_failure_words[] = {
	[N4_PATH_KEEP] = "are kept",
	[N4_PATH_END] = "end",
	[N4_PATH_END_AFTER] = "are kept for a time",
};

// Heartbeats went unanswered. Whoever claims the Node ID may have it now.
static void assoc_lost(struct n4 *n4, struct assoc *a)
{
	bool was_up = a->state == ASSOC_UP;
	char name[NODE_ID_STRLEN];

	a->state = ASSOC_LOST;
	a->heartbeat_due_ns = clock_now_ns() + n4->conf.heartbeat_s * NS_PER_SEC;
	if (was_up) {
		a->lost_ns = clock_now_ns();
		a->path_failures++;
		n4_count(n4, N4_COUNT_path_failures);
		log_warn_limited("N4: %s does not answer heartbeats; its %u sessions %s",
				 node_id_str(name, &a->id), a->n_sessions,
				 path_failure_words[n4->conf.path_failure]);
	}
	if (a->claim) {
		struct n4_request *claim = a->claim;

		a->claim = NULL;
		a->claim_then(n4, claim);
	} else if (n4->conf.path_failure == N4_PATH_END) {
		n4_count(n4, N4_COUNT_path_drops);
		assoc_end(n4, a, NULL, NULL);
	}
}

static void heartbeat_done(struct n4 *n4, const struct pfcp_msg *answer, void *ctx)
{
	struct assoc *a = ctx;
	struct pfcp_fault fault;
	uint32_t recovery = 0;

	a->heartbeat = 0;
	if (answer == NULL) {
		assoc_lost(n4, a);
		return;
	}
	// The answer has passed pfcp_msg_check, so the IE is there and whole.
	if (node_recovery_decode(answer, &recovery, &fault) < 0)
		return;
	a->heartbeats_rx++;
	switch (assoc_life(a, recovery)) {
	case ASSOC_LIFE_SAME:
		assoc_heard(a);
		claim_refuse(a);
		break;
	case ASSOC_LIFE_LATER:
		assoc_restarted(n4, a);
		break;
	case ASSOC_LIFE_EARLIER:
		// It answers what we have just asked, so it is not old: the peer's clock was set back
		// when it restarted, and the peer that we knew is gone.
		n4_count(n4, N4_COUNT_discard_stale);
		assoc_lost(n4, a);
		break;
	}
}

static void heartbeat_send(struct n4 *n4, struct assoc *a)
{
	struct endpoint to = a->addr;
	struct pfcp_writer w;
	uint8_t bytes[64];
	size_t len;

	to.port = PFCP_PORT;
	pfcp_writer_init(&w, bytes, sizeof(bytes));
	pfcp_msg_begin(&w, PFCP_HEARTBEAT_REQUEST, 0, 0);
	pfcp_uint_encode(&w, PFCP_IE_RECOVERY_TIME_STAMP, n4->recovery);
	len = pfcp_msg_end(&w);
	a->heartbeat_due_ns = clock_now_ns() + n4->conf.heartbeat_s * NS_PER_SEC;
	if (xact_request(n4, &to, bytes, len, heartbeat_done, a, &a->heartbeat) == 0)
		a->heartbeats_tx++;
}

bool assoc_claim(struct n4 *n4, struct assoc *a, struct n4_request *rq, assoc_then_fn then)
{
	uint64_t silent_ns = clock_now_ns() - a->heard_ns;

	if (a->claim || silent_ns < n4->conf.t1_ms * NS_PER_MS)
		return false;
	if (a->heartbeat == 0)
		heartbeat_send(n4, a);
	if (a->heartbeat == 0)
		return false;
	a->claim = rq;
	a->claim_then = then;
	return true;
}

static bool lost_for_long(const struct n4 *n4, const struct assoc *a, uint64_t now_ns)
{
	return a->state == ASSOC_LOST && n4->conf.path_failure == N4_PATH_END_AFTER &&
	       now_ns - a->lost_ns >= n4->conf.path_failure_ms * NS_PER_MS;
}

static bool release_over(const struct assoc *a, uint64_t now_ns)
{
	return a->releasing && a->release_ns <= now_ns;
}

// Ends one association whose time is over; false: there is none. One at a time, since an end may take others
// out of the list.
static bool overdue_end(struct n4 *n4, uint64_t now_ns)
{
	char name[NODE_ID_STRLEN];
	struct assoc *a;

	LIST_FOREACH(a, &n4->assocs->all, next) {
		if (a->state == ASSOC_ENDING)
			continue;
		if (release_over(a, now_ns)) {
			n4_count(n4, N4_COUNT_release_expired);
			log_info_limited("N4: the release period of %s is over: %u sessions end",
					 node_id_str(name, &a->id), a->n_sessions);
		} else if (lost_for_long(n4, a, now_ns)) {
			n4_count(n4, N4_COUNT_path_drops);
			log_warn_limited("N4: %s has not come back: its %u sessions end",
					 node_id_str(name, &a->id), a->n_sessions);
		} else {
			continue;
		}
		assoc_end(n4, a, NULL, NULL);
		return true;
	}
	return false;
}

void assoc_tick(struct n4 *n4)
{
	uint64_t now_ns = clock_now_ns();
	struct assoc *a;

	while (overdue_end(n4, now_ns))
		;
	if (n4->conf.heartbeat_s == 0)
		return;
	LIST_FOREACH(a, &n4->assocs->all, next) {
		if (a->state != ASSOC_ENDING && a->heartbeat == 0 && a->heartbeat_due_ns <= now_ns)
			heartbeat_send(n4, a);
	}
}

void assoc_each(const struct n4 *n4, bool (*fn)(void *ctx, const struct assoc *a), void *ctx)
{
	const struct assoc *a;

	LIST_FOREACH(a, &n4->assocs->all, next) {
		if (!fn(ctx, a))
			return;
	}
}

uint32_t assoc_count(const struct n4 *n4)
{
	return n4->assocs->n;
}

const char *assoc_state_str(const struct assoc *a)
{
	switch (a->state) {
	case ASSOC_UP:
		return a->releasing ? "releasing" : "up";
	case ASSOC_LOST:
		return "lost";
	case ASSOC_ENDING:
		return "ending";
	}
	return "unknown";
}
