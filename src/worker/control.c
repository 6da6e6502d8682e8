// The control thread's end of the workers' rings (control.h).
//
// Control thread only.

#include "worker/control.h"

#include <errno.h>
#include <stdlib.h>

#include "packet/gtpu.h"
#include "worker/mailbox.h"
#include "worker/punt.h"

#define PUNT_BURST 64
#define EVENT_BURST 32

static void error_indication(struct control *c, struct rte_mbuf *mbuf)
{
	const struct pkt *p = pkt_private(mbuf);
	struct addr peer;
	uint32_t teid;

	if (gtpu_error_indication_decode(rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, p->user),
					 p->user_bytes, &teid, &peer) < 0) {
		c->stats.drop[DROP_bad_error_indication]++;
	} else {
		c->stats.counter[COUNTER_consumed]++;
		if (c->tunnel_lost)
			c->tunnel_lost(c->tunnel_lost_ctx, teid, &peer);
	}
	rte_pktmbuf_free(mbuf);
}

static void punt_one(struct control *c, unsigned worker, struct rte_mbuf *mbuf)
{
	switch ((enum punt)pkt_private(mbuf)->punt) {
	case PUNT_ARP:
		neigh_arp(c->neigh, worker, mbuf);
		return;
	case PUNT_ND:
		neigh_nd(c->neigh, worker, mbuf);
		return;
	case PUNT_ERROR_INDICATION:
		error_indication(c, mbuf);
		return;
	case PUNT_WAIT_PEER:
		neigh_wait_peer(c->neigh, worker, mbuf);
		return;
	case PUNT_ECHO_RESPONSE:
		neigh_echo_response(c->neigh, worker, mbuf);
		return;
	case PUNT_WAIT_HOP:
		neigh_wait_hop(c->neigh, worker, mbuf);
		return;
	}
	c->stats.drop[DROP_control_unwanted]++;
	rte_pktmbuf_free(mbuf);
}

// Bounded: a ring holds no more than it does, and what comes in meanwhile waits for the next look.
static void usage_events(struct control *c, struct worker *w)
{
	struct usage_event events[EVENT_BURST];
	unsigned left = rte_ring_count(w->usage_events);
	unsigned n;

	while (left > 0 && (n = usage_events_take(w, events, EVENT_BURST)) > 0) {
		for (unsigned i = 0; c->usage && i < n; i++)
			c->usage(c->usage_ctx, w->id, &events[i]);
		left -= n < left ? n : left;
	}
}

static void buffer_events(struct control *c, struct worker *w)
{
	struct buffer_event events[EVENT_BURST];
	unsigned left = rte_ring_count(w->buffer_events);
	unsigned n;

	while (left > 0 && (n = buffer_events_take(w, events, EVENT_BURST)) > 0) {
		for (unsigned i = 0; c->buffered && i < n; i++)
			c->buffered(c->buffered_ctx, w->id, &events[i]);
		left -= n < left ? n : left;
	}
}

static void nat_events(struct control *c, struct worker *w)
{
	struct nat_event events[EVENT_BURST];
	unsigned left = rte_ring_count(w->nat_events);
	unsigned n;

	while (left > 0 && (n = nat_events_take(w, events, EVENT_BURST)) > 0) {
		for (unsigned i = 0; c->nat_block && i < n; i++)
			c->nat_block(c->nat_block_ctx, w->id, &events[i]);
		left -= n < left ? n : left;
	}
}

static void events(void *ctx, struct worker *w)
{
	struct control *c = ctx;

	c->heard += rte_ring_count(w->usage_events) + rte_ring_count(w->buffer_events) +
		    rte_ring_count(w->nat_events);
	usage_events(c, w);
	buffer_events(c, w);
	nat_events(c, w);
}

void control_listen(struct control *c)
{
	for (unsigned i = 0; i < c->n_workers; i++) {
		c->workers[i]->mailbox.before = events;
		c->workers[i]->mailbox.before_ctx = c;
	}
}

bool control_poll(struct control *c)
{
	bool owed = false;

	for (unsigned i = 0; i < c->n_workers; i++) {
		struct rte_mbuf *mbufs[PUNT_BURST];
		unsigned n = punt_take(c->workers[i], mbufs, PUNT_BURST);

		for (unsigned k = 0; k < n; k++)
			punt_one(c, i, mbufs[k]);
		c->heard += n + mailbox_collect(c->workers[i]);
		owed |= n == PUNT_BURST || mailbox_owes(c->workers[i]);
	}
	return owed;
}

void control_drain(struct control *c)
{
	while (control_poll(c))
		for (unsigned i = 0; i < c->n_workers; i++)
			mailbox_run(c->workers[i], WORKER_MAILS);
}

int64_t control_unaccounted(const struct control *c, unsigned i)
{
	uint64_t in = 0;
	uint64_t out = 0;

	if (i < c->n_workers)
		return (int64_t)(stats_in(&c->workers[i]->stats) -
				 stats_out(&c->workers[i]->stats));
	for (unsigned k = 0; k < c->n_workers; k++)
		in += stats_read(&c->workers[k]->stats.counter[COUNTER_punted]);
	in += c->stats.counter[COUNTER_made];
	out = c->stats.counter[COUNTER_injected] + c->stats.counter[COUNTER_consumed] +
	      c->stats.counter[COUNTER_held];
	for (unsigned k = 0; k < DROP_REASONS; k++)
		out += c->stats.drop[k];
	return (int64_t)(in - out);
}

// --- neighbours ------------------------------------------------------------------------------------------

static int inject(void *ctx, unsigned worker, struct rte_mbuf *mbuf, unsigned iface)
{
	struct control *c = ctx;

	return inject_post(c->workers[worker], mbuf, iface);
}

static struct rte_mbuf *mbuf_new(void *ctx)
{
	struct control *c = ctx;

	return rte_pktmbuf_alloc(c->mbufs);
}

// A peer on its way to every worker; the last answer settles it.
struct peer_news {
	struct control *control;
	unsigned waiting;
	uint16_t index;
};

static void peer_told(struct mail *mail, void *ctx)
{
	struct peer_news *news = ctx;

	free(mail);
	if (--news->waiting > 0)
		return;
	neigh_peer_settled(news->control->neigh, news->index);
	free(news);
}

static int peer_set(void *ctx, uint16_t index, const struct peer *peer)
{
	struct control *c = ctx;
	struct peer_news *news = calloc(1, sizeof(*news));
	struct mail *mails[MAX_WORKERS];
	unsigned n = 0;

	while (news && n < c->n_workers && (mails[n] = mail_new(MAIL_PEER_SET, peer_told, news)))
		n++;
	if (n < c->n_workers) {
		while (n > 0)
			free(mails[--n]);
		free(news);
		return -ENOMEM;
	}
	*news = (struct peer_news){.control = c, .waiting = n, .index = index};
	for (unsigned i = 0; i < n; i++) {
		mails[i]->peer.index = index;
		mails[i]->peer.peer = *peer;
		mail_post(c->workers[i], mails[i]);
	}
	return 0;
}

struct neigh_io control_neigh_io(struct control *c)
{
	return (struct neigh_io){
		.ctx = c,
		.inject = inject,
		.peer_set = peer_set,
		.mbuf_new = mbuf_new,
	};
}
