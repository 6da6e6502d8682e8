// Associations that we set up, see call.h.
//
// Control thread only. A call asks the table of associations whether there is one, rather than being told: so it
// need not be in step with how associations end.

#include "pfcp/call.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/assoc.h"
#include "pfcp/features.h"
#include "pfcp/handle_node.h"
#include "pfcp/print.h"
#include "pfcp/writer.h"
#include "pfcp/xact.h"

#define WAIT_MIN_MS 1000

struct call_table {
	unsigned n;
	struct n4_call calls[];
};

struct call_table *call_table_new(const struct n4_conf *conf)
{
	struct call_table *t = calloc(1, sizeof(*t) + conf->n_smfs * sizeof(t->calls[0]));

	if (t == NULL)
		return NULL;
	t->n = conf->n_smfs;
	for (unsigned i = 0; i < t->n; i++) {
		t->calls[i].smf = (struct endpoint){.addr = conf->smfs[i].addr, .port = PFCP_PORT};
		t->calls[i].state = CALL_WAITING;
	}
	return t;
}

void call_table_free(struct call_table *t)
{
	free(t);
}

static void state_set(struct n4_call *c, enum n4_call_state state)
{
	c->state = state;
	c->since_ns = clock_now_ns();
}

// The next attempt comes later than the one before did.
static void call_later(const struct n4 *n4, struct n4_call *c)
{
	c->wait_ms = c->wait_ms ? 2 * c->wait_ms : WAIT_MIN_MS;
	if (c->wait_ms > n4->conf.setup_retry_ms)
		c->wait_ms = n4->conf.setup_retry_ms;
	c->due_ns = clock_now_ns() + c->wait_ms * NS_PER_MS;
	state_set(c, CALL_WAITING);
}

void call_stop(struct n4 *n4)
{
	for (unsigned i = 0; i < n4->calls->n; i++) {
		if (n4->calls->calls[i].request)
			xact_cancel(n4, n4->calls->calls[i].request);
	}
	n4->calls->n = 0;
}

// Whether the SMF has an association, or one that is just ending.
static bool call_is_served(const struct n4 *n4, const struct n4_call *c)
{
	bool only;

	return assoc_lookup_addr(n4, &c->smf.addr, &only) || (c->known && assoc_lookup(n4, &c->id));
}

static void call_failed(struct n4 *n4, struct n4_call *c, const char *why)
{
	char name[ENDPOINT_STRLEN];

	c->failures++;
	n4_count(n4, N4_COUNT_setups_failed);
	call_later(n4, c);
	log_warn_limited("N4: no association with %s: %s; again in %u s",
			 endpoint_str(name, &c->smf), why, c->wait_ms / 1000);
}

// What an association is to a call whose answer names its Node ID.
enum known {
	KNOWN_PAST,      // of an earlier life of the SMF, or about to end
	KNOWN_SAME,      // this one: our request and the SMF's have crossed, or it was lost
	KNOWN_ELSEWHERE, // this one, under another address of the SMF's
	KNOWN_OTHER,     // that of another SMF with the same Node ID, which is alive
};

static enum known known_get(const struct assoc *a, const struct n4_call *c, uint32_t recovery)
{
	bool same = assoc_life(a, recovery) == ASSOC_LIFE_SAME;

	if (a->state == ASSOC_ENDING)
		return KNOWN_PAST;
	if (a->state == ASSOC_UP && !addr_eq(&a->addr.addr, &c->smf.addr))
		return same ? KNOWN_ELSEWHERE : KNOWN_OTHER;
	// It answers what we have just asked, so a stamp that is not the same is of a new life.
	return same ? KNOWN_SAME : KNOWN_PAST;
}

// The association becomes what the answer says, unless the call has to be made again.
static void known_take(struct n4 *n4, struct n4_call *c, struct assoc *a,
		       const struct assoc_setup *setup)
{
	switch (known_get(a, c, setup->recovery)) {
	case KNOWN_PAST:
		assoc_restarted(n4, a);
		c->due_ns = clock_now_ns();
		state_set(c, CALL_WAITING);
		break;
	case KNOWN_SAME:
		assoc_set_up(a, setup);
		state_set(c, CALL_ASSOCIATED);
		break;
	case KNOWN_ELSEWHERE:
		state_set(c, CALL_ASSOCIATED);
		break;
	case KNOWN_OTHER:
		n4_count(n4, N4_COUNT_takeovers_refused);
		call_failed(n4, c, "its Node ID belongs to another peer, which answers");
		break;
	}
}

static void call_accepted(struct n4 *n4, struct n4_call *c, const struct node_id *id,
			  const struct assoc_setup *setup)
{
	char name[NODE_ID_STRLEN], at[ENDPOINT_STRLEN];
	struct assoc *a = assoc_lookup(n4, id);

	c->id = *id;
	c->known = true;
	if (a) {
		known_take(n4, c, a, setup);
		return;
	}
	a = assoc_add(n4, id, &c->smf);
	if (a == NULL) {
		n4_count(n4, N4_COUNT_assocs_full);
		call_failed(n4, c, "as many associations as are allowed");
		return;
	}
	xact_forget_addr(n4, &c->smf.addr); // its sequence numbers may have begun again
	a->by_us = true;
	assoc_set_up(a, setup);
	state_set(c, CALL_ASSOCIATED);
	log_info_limited("N4: association with %s at %s, set up by us", node_id_str(name, &a->id),
			 endpoint_str(at, &a->addr));
}

static void call_done(struct n4 *n4, const struct pfcp_msg *answer, void *ctx)
{
	struct n4_call *c = ctx;
	struct assoc_setup setup = {.addr = c->smf, .local = n4->local};
	struct pfcp_fault fault = {0};
	struct node_id id;
	uint8_t cause;

	c->request = 0;
	c->cause = 0;
	if (answer == NULL) {
		call_failed(n4, c, "no answer");
		return;
	}
	cause = (uint8_t)pfcp_uint_find(answer->ies, PFCP_IE_CAUSE);
	if (cause != PFCP_CAUSE_ACCEPTED) {
		c->cause = cause;
		call_failed(n4, c, pfcp_cause_str(c->cause));
		return;
	}
	if (node_sender_decode(answer, &id, &fault) < 0 ||
	    node_recovery_decode(answer, &setup.recovery, &fault) < 0) {
		call_failed(n4, c, fault.text);
		return;
	}
	setup.cp_features = node_cp_features_get(answer, 0);
	call_accepted(n4, c, &id, &setup);
}

static void call_ask(struct n4 *n4, struct n4_call *c)
{
	struct pfcp_writer w;
	uint8_t bytes[512]; // a Node ID has 256 octets at most
	size_t len;

	pfcp_writer_init(&w, bytes, sizeof(bytes));
	pfcp_msg_begin(&w, PFCP_ASSOCIATION_SETUP_REQUEST, 0, 0);
	node_id_encode(&w, &n4->conf.node_id);
	pfcp_uint_encode(&w, PFCP_IE_RECOVERY_TIME_STAMP, n4->recovery);
	up_features_encode(&w, &n4->env);
	len = pfcp_msg_end(&w);
	c->tries++;
	if (xact_request(n4, &c->smf, bytes, len, call_done, c, &c->request) == 0)
		state_set(c, CALL_ASKING);
	else
		call_failed(n4, c, "too many requests have no answer yet");
}

// There is an association: whoever asked, nothing needs to be asked now.
static void call_rest(struct n4 *n4, struct n4_call *c)
{
	if (c->request)
		xact_cancel(n4, c->request);
	c->request = 0;
	if (c->state != CALL_ASSOCIATED)
		state_set(c, CALL_ASSOCIATED);
}

// The association has ended. One that lasted makes up for the failures before it; an SMF that releases at once
// what was set up is asked ever more seldom.
static void call_again(struct n4 *n4, struct n4_call *c)
{
	if (clock_now_ns() - c->since_ns >= n4->conf.setup_retry_ms * NS_PER_MS)
		c->wait_ms = 0;
	call_later(n4, c);
}

void call_tick(struct n4 *n4)
{
	uint64_t now_ns = clock_now_ns();

	for (unsigned i = 0; i < n4->calls->n; i++) {
		struct n4_call *c = &n4->calls->calls[i];

		if (call_is_served(n4, c))
			call_rest(n4, c);
		else if (c->state == CALL_ASSOCIATED)
			call_again(n4, c);
		else if (c->state == CALL_WAITING && c->due_ns <= now_ns)
			call_ask(n4, c);
	}
}

const struct n4_call *call_get(const struct n4 *n4, unsigned i)
{
	return n4->calls && i < n4->calls->n ? &n4->calls->calls[i] : NULL;
}

const char *call_state_str(enum n4_call_state state)
{
	static const char *const names[] = {"associated", "asking", "waiting"};

	return names[state];
}
