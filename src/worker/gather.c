// Fragments that wait (gather.h).
//
// Worker, but for making and freeing.

#include "worker/gather.h"

#include <errno.h>

#include <rte_malloc.h>

#include "worker/worker.h"

#define SWEEP_DATAGRAMS 16 // that one turn drops at most

static_assert(sizeof(struct gather_key) == 48, "compared as bytes");

int gather_init(struct gather *g, const struct gather_limits *limits, int socket)
{
	uint32_t n = limits->datagrams;

	*g = (struct gather){.limits = *limits};
	TAILQ_INIT(&g->unused);
	TAILQ_INIT(&g->waiting);
	if (n == 0)
		return 0;
	g->records = rte_zmalloc_socket("datagrams", n * sizeof(*g->records), RTE_CACHE_LINE_SIZE,
					socket);
	g->buckets = rte_zmalloc_socket("datagrams", n * sizeof(*g->buckets), RTE_CACHE_LINE_SIZE,
					socket);
	if (!g->records || !g->buckets)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		TAILQ_INSERT_TAIL(&g->unused, &g->records[i], of_age);
	return 0;
}

struct rte_mbuf *gather_next(struct rte_mbuf **list)
{
	struct rte_mbuf *m = *list;

	if (m) {
		*list = m->next;
		m->next = NULL;
	}
	return m;
}

void gather_fini(struct gather *g)
{
	struct datagram *d;
	struct rte_mbuf *m;

	TAILQ_FOREACH(d, &g->waiting, of_age)
		while ((m = gather_next(&d->first)))
			rte_pktmbuf_free_seg(m);
	rte_free(g->records);
	rte_free(g->buckets);
	*g = (struct gather){0};
}

// Which part of its datagram a waiting piece is.
static uint32_t offset_of(const struct rte_mbuf *m)
{
	return m->hash.usr >> 16;
}

static uint32_t end_of(const struct rte_mbuf *m)
{
	return offset_of(m) + (m->hash.usr & UINT16_MAX);
}

// The record's end; its pieces have gone, or go on.
static struct rte_mbuf *datagram_take(struct worker *w, struct gather *g, struct datagram *d)
{
	struct rte_mbuf *first = d->first;

	w->stats.counter[COUNTER_held] -= d->n;
	g->pieces -= d->n;
	LIST_REMOVE(d, of_bucket);
	TAILQ_REMOVE(&g->waiting, d, of_age);
	TAILQ_INSERT_HEAD(&g->unused, d, of_age);
	return first;
}

static void datagram_drop(struct worker *w, struct gather *g, struct datagram *d, enum drop reason)
{
	struct rte_mbuf *list = datagram_take(w, g, d), *m;

	while ((m = gather_next(&list))) {
		struct pkt p = {.mbuf = m};

		pkt_drop(w, &p, reason);
	}
}

static struct datagram *datagram_lookup(const struct gather *g, const struct gather_key *key,
					uint32_t *ret_of_one)
{
	struct datagram *d, *found = NULL;

	*ret_of_one = 0;
	LIST_FOREACH(d, &g->buckets[key->whose % g->limits.datagrams], of_bucket) {
		*ret_of_one += d->key.whose == key->whose;
		if (memcmp(&d->key, key, sizeof(*key)) == 0)
			found = d;
	}
	return found;
}

// The record that the piece belongs to. NULL with the reason: there is no room for another.
static struct datagram *datagram_get(struct worker *w, struct gather *g,
				     const struct gather_key *key, enum drop *ret_why)
{
	uint32_t of_one;
	struct datagram *d = datagram_lookup(g, key, &of_one);

	*ret_why = DROP_reassembly_no_room;
	if (g->pieces == g->limits.pieces)
		return NULL;
	if (d)
		return d;
	*ret_why = of_one >= g->limits.of_one ? DROP_reassembly_full : DROP_reassembly_no_room;
	d = TAILQ_FIRST(&g->unused);
	if (!d || of_one >= g->limits.of_one)
		return NULL;
	TAILQ_REMOVE(&g->unused, d, of_age);
	*d = (struct datagram){.key = *key, .ms = worker_ms(w)};
	TAILQ_INSERT_TAIL(&g->waiting, d, of_age);
	LIST_INSERT_HEAD(&g->buckets[key->whose % g->limits.datagrams], d, of_bucket);
	return d;
}

// Where the piece goes in the list. NULL with the reason: it is there already, or it does not fit what is.
static struct rte_mbuf **place_find(struct datagram *d, const struct fragment *f,
				    enum drop *ret_why)
{
	struct rte_mbuf **at = &d->first;
	uint32_t end = f->offset + f->bytes, before = 0;

	while (*at && offset_of(*at) < f->offset) {
		before = end_of(*at);
		at = &(*at)->next;
	}
	*ret_why = *at && offset_of(*at) == f->offset && end_of(*at) == end
			   ? DROP_reassembly_duplicate
			   : DROP_reassembly_bad;
	if (before > f->offset || (*at && offset_of(*at) < end))
		return NULL;
	if (f->more ? d->total && end >= d->total : d->total || *at)
		return NULL;
	return d->n < GATHER_PIECES ? at : NULL;
}

static void piece_insert(struct worker *w, struct gather *g, struct datagram *d,
			 struct rte_mbuf **at, const struct fragment *f, struct pkt *p)
{
	struct rte_mbuf *m = p->mbuf;

	*pkt_private(m) = *p;
	p->chain = 0;
	m->hash.usr = f->offset << 16 | f->bytes;
	m->next = *at;
	*at = m;
	d->n++;
	d->bytes += f->bytes;
	d->total = f->more ? d->total : f->offset + f->bytes;
	g->pieces++;
	worker_count(w, COUNTER_held, 1);
}

struct rte_mbuf *gather_add(struct worker *w, struct gather *g, const struct gather_key *key,
			    const struct fragment *f, struct pkt *p)
{
	enum drop why;
	struct datagram *d = datagram_get(w, g, key, &why);
	struct rte_mbuf **at = d ? place_find(d, f, &why) : NULL;

	if (!at) {
		pkt_drop(w, p, why);
		if (d && why == DROP_reassembly_bad)
			datagram_drop(w, g, d, why);
		return NULL;
	}
	piece_insert(w, g, d, at, f, p);
	return d->total && d->bytes == d->total ? datagram_take(w, g, d) : NULL;
}

void gather_expire(struct worker *w, struct gather *g)
{
	uint32_t now = worker_ms(w);
	struct datagram *d;

	for (unsigned n = 0; n < SWEEP_DATAGRAMS && (d = TAILQ_FIRST(&g->waiting)); n++) {
		if (now - d->ms < g->limits.ms)
			return;
		datagram_drop(w, g, d, DROP_reassembly_timeout);
	}
}
