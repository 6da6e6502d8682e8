// An N4 context with a peer made of raw bytes on one side and a session half of the test's on the other.
//
// Nothing here uses the codec that is under test: messages are put together and taken apart octet by octet.
// Time stands still until a test moves it. One fixture at a time.

#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/assoc.h"
#include "pfcp/handle_node.h"
#include "pfcp/n4.h"
#include "pfcp/xact.h"
#include "unit.h"

#define SENT 64
#define HELD 4096
#define RECOVERY 0xe81fe7b4u // of the peer
#define IE_CAUSE 19
#define IE_OFFENDING 40
#define IE_NODE_ID 60
#define IE_RECOVERY 96

struct sent {
	struct endpoint to;
	size_t len;
	uint8_t bytes[512]; // the beginning of longer ones
};

// The session half of the test.
struct n4_sessions {
	bool hold;     // requests wait for session_go()
	bool hold_end; // the end of an association waits for end_go()
	unsigned establish, modify, del, refuse, end_all, sets; // calls
	uint8_t refused_cause;
	size_t request_len;  // of the latest
	struct assoc *owner; // of every session
	unsigned n_held;
	struct n4_request *held[HELD];
	void (*end_done)(struct n4 *n4, void *ctx);
	void *end_ctx;
};

struct fixture {
	struct n4 *n4;
	struct n4_sessions sessions;
	struct endpoint peer; // 127.0.0.4:8805
	unsigned n_sent;
	struct sent sent[SENT];
	uint8_t out[PFCP_MSG_MAX]; // the message that is being put together
	size_t len;
};

static struct fixture fix;

static inline struct sent *sent_last(void)
{
	return &fix.sent[(fix.n_sent - 1) % SENT];
}

static int fix_send(void *ctx, const struct addr *local, const struct endpoint *to,
		    const uint8_t *bytes, size_t len)
{
	struct sent *s = &fix.sent[fix.n_sent++ % SENT];

	s->to = *to;
	s->len = len;
	memcpy(s->bytes, bytes, len < sizeof(s->bytes) ? len : sizeof(s->bytes));
	return 0;
}

static void session_go(struct n4_request *rq)
{
	struct pfcp_fault none = {0};
	struct pfcp_writer w;

	n4_answer_begin(rq, &w, 7);
	pfcp_fault_encode(&w, &none);
	n4_answer(rq, &w);
}

static int session_take(struct n4 *n4, struct n4_request *rq)
{
	n4->sessions->request_len = rq->len;
	if (n4->sessions->hold && n4->sessions->n_held < HELD)
		n4->sessions->held[n4->sessions->n_held++] = rq;
	else
		session_go(rq);
	return 0;
}

static int ops_init(struct n4 *n4)
{
	n4->sessions = &fix.sessions;
	return 0;
}

static void ops_fini(struct n4 *n4)
{
	while (n4->sessions->n_held)
		n4_discard(n4->sessions->held[--n4->sessions->n_held], N4_COUNT_discard_handler);
}

static int ops_establish(struct n4 *n4, struct n4_request *rq)
{
	n4->sessions->establish++;
	return session_take(n4, rq);
}

static int ops_modify(struct n4 *n4, struct n4_request *rq)
{
	n4->sessions->modify++;
	return session_take(n4, rq);
}

static int ops_del(struct n4 *n4, struct n4_request *rq)
{
	n4->sessions->del++;
	return session_take(n4, rq);
}

static void ops_refuse(struct n4 *n4, struct n4_request *rq, const struct pfcp_fault *fault)
{
	struct pfcp_writer w;

	n4->sessions->refuse++;
	n4->sessions->refused_cause = fault->cause;
	n4_answer_begin(rq, &w, 0);
	pfcp_fault_encode(&w, fault);
	n4_answer(rq, &w);
}

static void ops_set(struct n4 *n4, struct n4_request *rq)
{
	n4->sessions->sets++;
	node_accept(rq);
}

static bool ops_retain(struct n4 *n4, struct assoc *assoc, struct n4_request *rq,
		       void (*then)(struct n4 *n4, struct n4_request *rq))
{
	n4->sessions->sets++;
	return false;
}

static struct assoc *ops_owner(struct n4 *n4, uint64_t seid)
{
	return n4->sessions->owner;
}

static void ops_end_all(struct n4 *n4, struct assoc *assoc, void (*done)(struct n4 *n4, void *ctx),
			void *ctx)
{
	struct n4_sessions *s = n4->sessions;

	s->end_all++;
	while (s->n_held) // as the real one: no request of the association stays
		session_go(s->held[--s->n_held]);
	if (!s->hold_end) {
		done(n4, ctx);
		return;
	}
	s->end_done = done;
	s->end_ctx = ctx;
}

static inline void end_go(void)
{
	fix.sessions.end_done(fix.n4, fix.sessions.end_ctx);
}

static const struct n4_session_ops fix_ops = {
	.init = ops_init,
	.fini = ops_fini,
	.establish = ops_establish,
	.modify = ops_modify,
	.del = ops_del,
	.refuse = ops_refuse,
	.end_set = ops_set,
	.change_set = ops_set,
	.retain = ops_retain,
	.owner = ops_owner,
	.end_all = ops_end_all,
};

// The configuration of the tests, to be changed before fix_open().
static inline struct n4_conf fix_conf(void)
{
	struct n4_conf conf;

	n4_conf_init(&conf);
	node_id_parse("127.0.0.7", &conf.node_id);
	return conf;
}

static inline void fix_open(const struct n4_conf *conf)
{
	static const struct n4_env env;

	clock_stop();
	log_level_set(LOG_LEVEL_ERROR);
	memset(&fix, 0, sizeof(fix));
	endpoint_parse("127.0.0.4", PFCP_PORT, &fix.peer);
	fix.n4 = n4_new(conf, &env, &fix_ops);
	CU_ASSERT_PTR_NOT_NULL_FATAL(fix.n4);
	fix.n4->send = fix_send;
}

// Whatever a test did, nothing waits and no memory of requests is left.
static inline void fix_close(void)
{
	n4_free(fix.n4);
	fix.n4 = NULL;
}

// Message building: msg() begins, ie() adds, msg_end() writes the length.
static inline void msg(uint8_t type, uint32_t seq)
{
	const uint8_t header[8] = {
		0x20, type, 0, 0, (uint8_t)(seq >> 16), (uint8_t)(seq >> 8), (uint8_t)seq, 0};

	memcpy(fix.out, header, sizeof(header));
	fix.len = sizeof(header);
}

static inline void msg_session(uint8_t type, uint32_t seq, uint8_t seid)
{
	const uint8_t header[16] = {0x21,
				    type,
				    0,
				    0,
				    0,
				    0,
				    0,
				    0,
				    0,
				    0,
				    0,
				    seid,
				    (uint8_t)(seq >> 16),
				    (uint8_t)(seq >> 8),
				    (uint8_t)seq,
				    0};

	memcpy(fix.out, header, sizeof(header));
	fix.len = sizeof(header);
}

static inline void ie(uint16_t type, const void *value, size_t len)
{
	uint8_t *at = fix.out + fix.len;

	at[0] = (uint8_t)(type >> 8);
	at[1] = (uint8_t)type;
	at[2] = (uint8_t)(len >> 8);
	at[3] = (uint8_t)len;
	if (len)
		memcpy(at + 4, value, len);
	fix.len += 4 + len;
}

#define IE(type, ...)                                                                              \
	ie(type, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static inline void ie_recovery(uint32_t stamp)
{
	IE(IE_RECOVERY, (uint8_t)(stamp >> 24), (uint8_t)(stamp >> 16), (uint8_t)(stamp >> 8),
	   (uint8_t)stamp);
}

static inline void msg_end(void)
{
	fix.out[2] = (uint8_t)((fix.len - 4) >> 8);
	fix.out[3] = (uint8_t)(fix.len - 4);
}

static inline void deliver_from(const struct endpoint *from)
{
	uint8_t *copy =
		malloc(fix.len); // of just this size, so that a sanitizer sees a byte too many

	memcpy(copy, fix.out, fix.len);
	n4_datagram(fix.n4, from, copy, fix.len);
	free(copy);
}

static inline void deliver(void)
{
	msg_end();
	deliver_from(&fix.peer);
}

static inline void setup_of(const struct endpoint *from, uint32_t seq, uint8_t node, uint32_t stamp)
{
	msg(5, seq);
	IE(IE_NODE_ID, 0, 127, 0, 0, node);
	ie_recovery(stamp);
	IE(89, 0);
	msg_end();
	deliver_from(from);
}

// The peer's association request.
static inline void setup(uint32_t seq, uint32_t stamp)
{
	setup_of(&fix.peer, seq, 4, stamp);
}

static inline void heartbeat(const struct endpoint *from, uint32_t seq, uint32_t stamp)
{
	msg(1, seq);
	ie_recovery(stamp);
	msg_end();
	deliver_from(from);
}

// A Session Establishment Request with no more than the tables ask for.
static inline void establish(uint32_t seq)
{
	static const uint8_t pdr[] = {0, 56, 0, 2, 0, 1, 0, 29, 0, 4, 0, 0,
				      0, 1,  0, 2, 0, 5, 0, 20, 0, 1, 0};
	static const uint8_t far[] = {0, 108, 0, 4, 0, 0, 0, 1, 0, 44, 0, 1, 1};

	msg_session(50, seq, 0);
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	IE(57, 2, 0, 0, 0, 0, 0, 0, 0, 9, 127, 0, 0, 4);
	ie(1, pdr, sizeof(pdr));
	ie(3, far, sizeof(far));
	deliver();
}

static inline void modify(uint32_t seq)
{
	msg_session(52, seq, 7);
	deliver();
}

// The value of the first IE of a type in the latest datagram sent, and its length. NULL: not there.
static inline const uint8_t *sent_ie(uint16_t type, size_t *ret_len)
{
	const struct sent *s = sent_last();
	size_t at = s->bytes[0] & 1 ? 16 : 8;

	*ret_len = 0;
	while (at + 4 <= s->len) {
		size_t len = (size_t)s->bytes[at + 2] << 8 | s->bytes[at + 3];

		*ret_len = len;
		if ((s->bytes[at] << 8 | s->bytes[at + 1]) == type)
			return s->bytes + at + 4;
		at += 4 + len;
	}
	return NULL;
}

// What the latest datagram sent says; 0 where it says nothing.
static inline unsigned sent_cause(void)
{
	size_t len;
	const uint8_t *at = sent_ie(IE_CAUSE, &len);

	return at && len == 1 ? at[0] : 0;
}

static inline unsigned sent_offending(void)
{
	size_t len;
	const uint8_t *at = sent_ie(IE_OFFENDING, &len);

	return at && len == 2 ? (unsigned)(at[0] << 8 | at[1]) : 0;
}

static inline unsigned sent_type(void)
{
	return fix.n_sent ? sent_last()->bytes[1] : 0;
}

static inline uint32_t sent_seq(void)
{
	const uint8_t *at = sent_last()->bytes + (sent_last()->bytes[0] & 1 ? 12 : 4);

	return (uint32_t)(at[0] << 16 | at[1] << 8 | at[2]);
}

// Answers the latest heartbeat of ours.
static inline void heartbeat_answer(const struct endpoint *from, uint32_t stamp)
{
	msg(2, sent_seq());
	ie_recovery(stamp);
	msg_end();
	deliver_from(from);
}

static inline uint64_t count(enum n4_counter counter)
{
	return fix.n4->counters.counter[counter];
}

static inline uint64_t discards(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < N4_COUNTER_TYPES; i++)
		sum += strncmp(n4_counter_str(i), "discard_", 8) == 0 ? count(i) : 0;
	return sum;
}

static inline void after_ms(int64_t ms)
{
	clock_warp_ns(ms * (int64_t)NS_PER_MS);
	n4_tick(fix.n4);
}

static inline struct assoc *peer_assoc(void)
{
	struct node_id id;

	node_id_parse("127.0.0.4", &id);
	return assoc_lookup(fix.n4, &id);
}

static inline struct xact_counts xacts(void)
{
	struct xact_counts counts;

	xact_counts_get(fix.n4, &counts);
	return counts;
}
