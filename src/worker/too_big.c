// Packets that are too long for their way out (too_big.h).
//
// Worker. Pieces are copies, so that each is a frame of one buffer.

#include "worker/too_big.h"

#include "packet/fragment.h"
#include "worker/again.h"
#include "worker/icmp_tell.h"
#include "worker/peer_out.h"
#include "worker/user_count.h"

// Buffers for all pieces, or none: then the packet has ended.
static bool pieces_new(struct worker *w, struct pkt *p, unsigned n, uint32_t bytes,
		       struct rte_mbuf *ret[TOO_BIG_PIECES])
{
	if (n > TOO_BIG_PIECES) {
		pkt_drop(w, p, DROP_too_big);
		return false;
	}
	if (rte_pktmbuf_alloc_bulk(w->pool, ret, n) != 0) {
		pkt_drop(w, p, DROP_no_buffer);
		return false;
	}
	if (rte_pktmbuf_tailroom(ret[0]) < bytes) {
		rte_pktmbuf_free_bulk(ret, n);
		pkt_drop(w, p, DROP_too_big);
		return false;
	}
	return true;
}

static void piece_end(struct worker *w, struct rte_mbuf *m, uint32_t bytes)
{
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	worker_count(w, COUNTER_made, 1);
	worker_count(w, COUNTER_fragments_made, 1);
}

static void pieces_end(struct worker *w, struct pkt *p, struct rte_mbuf *mbufs[], unsigned used,
		       unsigned n)
{
	if (used < n)
		rte_pktmbuf_free_bulk(mbufs + used, n - used);
	worker_count(w, COUNTER_fragmented, 1);
	pkt_consume(w, p);
}

void too_big_cut(struct worker *w, struct pkt *p, uint32_t mtu, uint64_t chain)
{
	const struct ip4_head *ip = rte_pktmbuf_mtod_offset(p->mbuf, const struct ip4_head *,
							    p->user);
	unsigned n = fragment4_most(ip, mtu), used = 0;
	struct rte_mbuf *mbufs[TOO_BIG_PIECES];
	uint32_t at = 0;

	if (!pieces_new(w, p, n, mtu, mbufs))
		return;
	for (; used < n; used++) {
		uint8_t *to = rte_pktmbuf_mtod(mbufs[used], uint8_t *);
		uint32_t bytes = fragment4_next(ip, mtu, &at, to);
		struct pkt piece = *p;

		if (bytes == 0)
			break;
		piece_end(w, mbufs[used], bytes);
		piece.mbuf = mbufs[used];
		piece.user = 0;
		piece.l4 = (uint16_t)ip4_header_bytes((const struct ip4_head *)to);
		piece.user_bytes = (uint16_t)bytes;
		piece.flags = (uint8_t)(p->flags | PKT_F_FRAGMENT | PKT_F_ROUTED |
					(used ? PKT_F_NO_L4 : 0));
		piece.chain = chain;
		again_post(w, &piece);
	}
	pieces_end(w, p, mbufs, used, n);
}

void too_big_plain(struct worker *w, struct pkt *p, unsigned iface, uint32_t mtu, uint64_t chain)
{
	if (fragment_allowed(rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user)))
		too_big_cut(w, p, mtu, chain);
	else
		icmp_drop_too_big(w, p, iface,
				  p->family == 6 ? RTE_MAX(mtu, TOO_BIG_IP6_MTU) : mtu);
}

// Sets apart the packets of this worker, which no other worker's may be mixed up with.
static uint32_t next_id(struct worker *w)
{
	return w->fragment_id += w->n_workers;
}

void too_big_cut_frame(struct worker *w, struct pkt *p)
{
	const struct peer *peer = &w->peers[p->peer];
	const uint8_t *frame = rte_pktmbuf_mtod(p->mbuf, const uint8_t *);
	struct ip4_head *ip4 = rte_pktmbuf_mtod_offset(p->mbuf, struct ip4_head *, peer->eth_bytes);
	const struct ip6_head *ip6 = (const struct ip6_head *)ip4;
	bool v6 = peer->kind == PEER_GTPU_V6;
	unsigned n = v6 ? fragment6_most(ip6, peer->mtu) : fragment4_most(ip4, peer->mtu);
	uint32_t at = 0, id = next_id(w);
	struct rte_mbuf *mbufs[TOO_BIG_PIECES];
	unsigned used = 0;

	if (!pieces_new(w, p, n, peer->eth_bytes + peer->mtu, mbufs))
		return;
	user_count(w, p);
	ip4->id = v6 ? ip4->id : rte_cpu_to_be_16((uint16_t)id);
	ip4->fragment = v6 ? ip4->fragment : 0;
	for (; used < n; used++) {
		uint8_t *to = rte_pktmbuf_mtod(mbufs[used], uint8_t *);
		uint32_t bytes = v6 ? fragment6_next(ip6, peer->mtu, id, &at, to + peer->eth_bytes)
				    : fragment4_next(ip4, peer->mtu, &at, to + peer->eth_bytes);
		struct pkt piece = {.mbuf = mbufs[used], .peer = p->peer};

		if (bytes == 0)
			break;
		memcpy(to, frame, peer->eth_bytes);
		piece_end(w, mbufs[used], peer->eth_bytes + bytes);
		peer_out(w, &piece, peer);
	}
	pieces_end(w, p, mbufs, used, n);
}
