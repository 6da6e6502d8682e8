// Transactions, see xact.h (TS 29.244 6.4).
//
// Control thread only. Both kinds of expiry are first in, first out, since every stored answer is kept for
// the same time and every request of ours waits the same T1: two queues in place of a heap, and what is
// due stands at the head.

#include "pfcp/xact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rand.h"
#include "pfcp/assoc.h"
#include "pfcp/codec.h"

#define IN_BUCKETS_MAX (1u << 16)
#define PEER_BUCKETS 1024u
#define OUT_BUCKETS 1024u
#define SEQ_MASK 0xffffffu
#define HEADER_S 0x01 // the header has a SEID

// An address that has requests here.
struct xact_peer {
	LIST_ENTRY(xact_peer) bucket;
	struct addr addr;
	uint32_t n;                   // its requests, waiting or stored
	TAILQ_HEAD(, xact_in) stored; // oldest first
};

struct xact_in {
	LIST_ENTRY(xact_in) bucket;           // not while `forgotten`
	LIST_ENTRY(xact_in) owner;            // in its association's list, when `owned`
	TAILQ_ENTRY(xact_in) of_peer, of_all; // stored only
	struct xact_key key;
	struct xact_peer *peer;
	bool owned;
	bool forgotten; // its sender began a new life while it waited
	uint64_t until_ns;
	uint8_t *answer; // NULL: waits
	size_t len;
};

// A request of ours.
struct xact_out {
	LIST_ENTRY(xact_out) bucket;
	TAILQ_ENTRY(xact_out) order;
	struct endpoint to;
	struct addr local; // our address that it leaves from; ADDR_NONE: any
	uint32_t seq;
	uint8_t type;
	uint32_t sends; // so far
	uint64_t due_ns;
	xact_done_fn done;
	void *ctx;
	size_t len;
	uint8_t bytes[];
};

LIST_HEAD(peer_list, xact_peer);
LIST_HEAD(out_list, xact_out);

struct xact_table {
	struct xact_list *in; // [in_mask + 1]
	uint32_t in_mask;
	uint64_t secret; // so that senders cannot choose their buckets
	struct peer_list peers[PEER_BUCKETS];
	TAILQ_HEAD(, xact_in) stored; // oldest first
	struct out_list out[OUT_BUCKETS];
	TAILQ_HEAD(out_queue, xact_out) waiting; // by due time
	uint32_t seq;                            // of our latest request
	struct xact_counts counts;
};

struct xact_table *xact_table_new(const struct n4_conf *conf)
{
	struct xact_table *t = calloc(1, sizeof(*t));
	uint32_t n = 1024;

	if (t == NULL)
		return NULL;
	while (n < conf->max_answers && n < IN_BUCKETS_MAX)
		n *= 2;
	t->in = calloc(n, sizeof(*t->in));
	if (t->in == NULL) {
		free(t);
		return NULL;
	}
	t->in_mask = n - 1;
	t->secret = rand_u64();
	t->seq = rand_u32() & SEQ_MASK;
	TAILQ_INIT(&t->stored);
	TAILQ_INIT(&t->waiting);
	return t;
}

static uint32_t key_hash(const struct xact_table *t, const void *key, size_t len)
{
	uint64_t h = t->secret;
	uint32_t word;

	for (size_t at = 0; at < len; at += sizeof(word)) {
		memcpy(&word, (const uint8_t *)key + at, sizeof(word));
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return (uint32_t)(h >> 7);
}
_Static_assert(sizeof(struct xact_key) % sizeof(uint32_t) == 0, "hashed by words");
_Static_assert(sizeof(struct addr) % sizeof(uint32_t) == 0, "hashed by words");

static struct peer_list *peer_bucket(struct xact_table *t, const struct addr *addr)
{
	return &t->peers[key_hash(t, addr, sizeof(*addr)) % PEER_BUCKETS];
}

static struct xact_peer *peer_lookup(struct xact_table *t, const struct addr *addr)
{
	struct xact_peer *peer;

	LIST_FOREACH(peer, peer_bucket(t, addr), bucket) {
		if (addr_eq(&peer->addr, addr))
			return peer;
	}
	return NULL;
}

static struct xact_peer *peer_get(struct xact_table *t, const struct addr *addr)
{
	struct xact_peer *peer = peer_lookup(t, addr);

	if (peer)
		return peer;
	peer = calloc(1, sizeof(*peer));
	if (peer == NULL)
		return NULL;
	peer->addr = *addr;
	TAILQ_INIT(&peer->stored);
	LIST_INSERT_HEAD(peer_bucket(t, addr), peer, bucket);
	t->counts.peers++;
	t->counts.bytes += sizeof(*peer);
	return peer;
}

// Drops a peer that has nothing here any more.
static void peer_put(struct xact_table *t, struct xact_peer *peer)
{
	if (peer->n > 0)
		return;
	LIST_REMOVE(peer, bucket);
	t->counts.peers--;
	t->counts.bytes -= sizeof(*peer);
	free(peer);
}

static struct xact_list *in_bucket(struct xact_table *t, const struct xact_key *key)
{
	return &t->in[key_hash(t, key, sizeof(*key)) & t->in_mask];
}

static struct xact_in *in_lookup(struct xact_table *t, const struct xact_key *key)
{
	struct xact_in *x;

	LIST_FOREACH(x, in_bucket(t, key), bucket) {
		if (memcmp(&x->key, key, sizeof(*key)) == 0)
			return x;
	}
	return NULL;
}

// Ends a request in every list that it is in.
static void in_free(struct xact_table *t, struct xact_in *x)
{
	struct xact_peer *peer = x->peer;

	if (!x->forgotten)
		LIST_REMOVE(x, bucket);
	if (x->owned)
		LIST_REMOVE(x, owner);
	if (x->answer) {
		TAILQ_REMOVE(&peer->stored, x, of_peer);
		TAILQ_REMOVE(&t->stored, x, of_all);
		t->counts.stored--;
	} else {
		t->counts.waiting--;
	}
	t->counts.bytes -= sizeof(*x) + x->len;
	free(x->answer);
	free(x);
	peer->n--;
	peer_put(t, peer);
}

// Makes room for one more request of an address; see xact.h for who has to go. False: there is none.
static bool in_make_room(struct n4 *n4, const struct addr *addr)
{
	struct xact_table *t = n4->xacts;
	struct xact_peer *peer = peer_lookup(t, addr);
	bool many = peer && peer->n >= n4->conf.max_answers_per_peer;
	struct xact_in *oldest = peer ? TAILQ_FIRST(&peer->stored) : NULL;

	if (!many && t->counts.stored + t->counts.waiting < n4->conf.max_answers)
		return true;
	if (oldest == NULL && !many)
		oldest = TAILQ_FIRST(&t->stored);
	if (oldest == NULL)
		return false;
	n4_count(n4, N4_COUNT_answers_evicted);
	in_free(t, oldest);
	return true;
}

enum xact_found xact_begin(struct n4 *n4, const struct xact_key *key, struct xact_in **ret_xact)
{
	struct xact_table *t = n4->xacts;
	struct xact_in *x = in_lookup(t, key);

	if (x && x->answer == NULL)
		return XACT_WAITING;
	if (x) {
		*ret_xact = x;
		return XACT_STORED;
	}
	if (!in_make_room(n4, &key->from.addr))
		return XACT_FULL;
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return XACT_FULL;
	x->peer = peer_get(t, &key->from.addr);
	if (x->peer == NULL) {
		free(x);
		return XACT_FULL;
	}
	x->key = *key;
	x->peer->n++;
	LIST_INSERT_HEAD(in_bucket(t, key), x, bucket);
	t->counts.waiting++;
	t->counts.bytes += sizeof(*x);
	*ret_xact = x;
	return XACT_NEW;
}

void xact_belongs(struct xact_in *x, struct xact_list *list)
{
	if (x->owned)
		LIST_REMOVE(x, owner);
	LIST_INSERT_HEAD(list, x, owner);
	x->owned = true;
}

// Whose stored answer goes when there is too much: the oldest of the same address, if that has an earlier
// one, else the oldest of all.
static struct xact_in *in_victim(struct xact_table *t, const struct xact_in *latest)
{
	struct xact_in *own = TAILQ_FIRST(&latest->peer->stored);

	return own != latest ? own : TAILQ_FIRST(&t->stored);
}

void xact_repeat(struct n4 *n4, const struct xact_in *x)
{
	n4_send(n4, &x->key.local, &x->key.from, x->answer, x->len);
}

void xact_answer(struct n4 *n4, struct xact_in *x, const uint8_t *answer, size_t len, bool keep)
{
	struct xact_table *t = n4->xacts;

	if (x->forgotten) {
		n4_count(n4, N4_COUNT_discard_stale);
		in_free(t, x);
		return;
	}
	n4_send(n4, &x->key.local, &x->key.from, answer, len);
	x->answer = keep ? malloc(len) : NULL;
	if (x->answer == NULL) {
		in_free(t, x);
		return;
	}
	memcpy(x->answer, answer, len);
	x->len = len;
	x->until_ns = clock_now_ns() + (n4->conf.n1 + 1) * n4->conf.t1_ms * NS_PER_MS;
	TAILQ_INSERT_TAIL(&x->peer->stored, x, of_peer);
	TAILQ_INSERT_TAIL(&t->stored, x, of_all);
	t->counts.waiting--;
	t->counts.stored++;
	t->counts.bytes += len;
	while (t->counts.bytes > n4->conf.max_answer_bytes && TAILQ_FIRST(&t->stored) != x) {
		n4_count(n4, N4_COUNT_answers_evicted);
		in_free(t, in_victim(t, x));
	}
}

void xact_drop(struct n4 *n4, struct xact_in *x)
{
	in_free(n4->xacts, x);
}

void xact_forget(struct n4 *n4, struct xact_list *list, const struct xact_in *but)
{
	struct xact_in *x, *next;

	for (x = LIST_FIRST(list); x; x = next) {
		next = LIST_NEXT(x, owner);
		if (x->answer && x != but) {
			in_free(n4->xacts, x);
			continue;
		}
		LIST_REMOVE(x, owner);
		x->owned = false;
		if (x == but || x->forgotten)
			continue;
		LIST_REMOVE(x, bucket);
		x->forgotten = true;
	}
}

void xact_forget_addr(struct n4 *n4, const struct addr *addr)
{
	struct xact_peer *peer = peer_lookup(n4->xacts, addr);
	struct xact_in *x, *next;

	if (peer == NULL)
		return;
	peer->n++; // the peer stays while its list is walked
	for (x = TAILQ_FIRST(&peer->stored); x; x = next) {
		next = TAILQ_NEXT(x, of_peer);
		if (!x->owned)
			in_free(n4->xacts, x);
	}
	peer->n--;
	peer_put(n4->xacts, peer);
}

static struct xact_out *out_lookup(struct xact_table *t, uint32_t seq)
{
	struct xact_out *x;

	LIST_FOREACH(x, &t->out[seq % OUT_BUCKETS], bucket) {
		if (x->seq == seq)
			return x;
	}
	return NULL;
}

static void out_free(struct xact_table *t, struct xact_out *x)
{
	LIST_REMOVE(x, bucket);
	TAILQ_REMOVE(&t->waiting, x, order);
	t->counts.requests--;
	t->counts.bytes -= sizeof(*x) + x->len;
	free(x);
}

// Writes the sequence number into a message's header (TS 29.244 7.2.2).
static void seq_write(uint8_t *bytes, uint32_t seq)
{
	uint8_t *at = bytes + (bytes[0] & HEADER_S ? 12 : 4);

	at[0] = (uint8_t)(seq >> 16);
	at[1] = (uint8_t)(seq >> 8);
	at[2] = (uint8_t)seq;
}

static void out_send(struct n4 *n4, struct xact_out *x)
{
	x->sends++;
	x->due_ns = clock_now_ns() + n4->conf.t1_ms * NS_PER_MS;
	TAILQ_INSERT_TAIL(&n4->xacts->waiting, x, order);
	n4_send(n4, &x->local, &x->to, x->bytes, x->len);
}

// Sequence numbers count up, go around, and are never 0 nor those of a request that waits.
static uint32_t out_seq_next(struct xact_table *t)
{
	do {
		t->seq = (t->seq + 1) & SEQ_MASK;
	} while (t->seq == 0 || out_lookup(t, t->seq));
	return t->seq;
}

int xact_request(struct n4 *n4, const struct endpoint *to, const uint8_t *bytes, size_t len,
		 xact_done_fn done, void *ctx, uint32_t *ret_request)
{
	struct xact_table *t = n4->xacts;
	struct xact_out *x;

	if (t->counts.requests >= n4->conf.max_requests) {
		n4_count(n4, N4_COUNT_requests_full);
		return -ENOBUFS;
	}
	x = malloc(sizeof(*x) + len);
	if (x == NULL)
		return -ENOMEM;
	*x = (struct xact_out){
		.to = *to, .seq = out_seq_next(t), .done = done, .ctx = ctx, .len = len};
	x->local = assoc_local(n4, &to->addr);
	memcpy(x->bytes, bytes, len);
	x->type = bytes[1];
	seq_write(x->bytes, x->seq);
	LIST_INSERT_HEAD(&t->out[x->seq % OUT_BUCKETS], x, bucket);
	t->counts.requests++;
	t->counts.bytes += sizeof(*x) + len;
	*ret_request = x->seq;
	out_send(n4, x);
	return 0;
}

void xact_cancel(struct n4 *n4, uint32_t request)
{
	struct xact_out *x = out_lookup(n4->xacts, request);

	if (x)
		out_free(n4->xacts, x);
}

static void out_done(struct n4 *n4, struct xact_out *x, const struct pfcp_msg *answer)
{
	xact_done_fn done = x->done;
	void *ctx = x->ctx;

	out_free(n4->xacts, x);
	done(n4, answer, ctx);
}

// Whether a message of this type answers a request of that type: every response's type is the next one.
static bool out_answers(const struct xact_out *x, const struct endpoint *from,
			const struct pfcp_msg *msg)
{
	return msg->type == x->type + 1 && endpoint_eq(&x->to, from);
}

bool xact_response(struct n4 *n4, const struct endpoint *from, const struct pfcp_msg *msg)
{
	struct xact_out *x = out_lookup(n4->xacts, msg->seq);

	if (x == NULL || !out_answers(x, from, msg))
		return false;
	out_done(n4, x, msg);
	return true;
}

static void out_tick(struct n4 *n4, uint64_t now_ns)
{
	struct xact_table *t = n4->xacts;
	struct xact_out *x;

	while ((x = TAILQ_FIRST(&t->waiting)) && x->due_ns <= now_ns) {
		if (x->sends >= n4->conf.n1) {
			n4_count(n4, N4_COUNT_timeouts);
			out_done(n4, x, NULL);
			continue;
		}
		TAILQ_REMOVE(&t->waiting, x, order);
		n4_count(n4, N4_COUNT_retransmissions);
		out_send(n4, x);
	}
}

void xact_tick(struct n4 *n4)
{
	struct xact_table *t = n4->xacts;
	uint64_t now_ns = clock_now_ns();
	struct xact_in *x;

	out_tick(n4, now_ns);
	while ((x = TAILQ_FIRST(&t->stored)) && x->until_ns <= now_ns)
		in_free(t, x);
}

void xact_counts_get(const struct n4 *n4, struct xact_counts *ret)
{
	*ret = n4->xacts->counts;
}

void xact_table_free(struct xact_table *t)
{
	struct xact_out *out;

	if (t == NULL)
		return;
	for (uint32_t i = 0; i <= t->in_mask; i++) {
		while (!LIST_EMPTY(&t->in[i]))
			in_free(t, LIST_FIRST(&t->in[i]));
	}
	while ((out = TAILQ_FIRST(&t->waiting)))
		out_free(t, out);
	free(t->in);
	free(t);
}
