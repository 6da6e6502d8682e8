// Put the link header on and queue the frame for its interface.
//
// Runs on the owner. A tunnelled packet already has its link header. A peer whose link address is not known
// yet sends its packets to the control thread, where they wait for the answer (neigh/).

#pragma once

#include "service/service.h"
#include "worker/punt.h"
#include "worker/user_count.h"

// The Ethernet header of a next hop in front of a plain user packet. False when the packet has ended.
static inline bool output_link(struct worker *w, struct pkt *p, const struct peer *peer)
{
	struct rte_mbuf *m = p->mbuf;
	uint8_t *user = rte_pktmbuf_mtod_offset(m, uint8_t *, p->user);

	if (unlikely(user - (uint8_t *)m->buf_addr < PEER_HEADER_V4_BYTES)) {
		pkt_drop(w, p, DROP_no_headroom);
		return false;
	}
	if (unlikely(p->user_bytes > peer->mtu)) {
		pkt_drop(w, p, DROP_too_big);
		return false;
	}
	memcpy(user - 32, peer_header(peer, 32), 32);
	m->data_off = (uint16_t)(user - peer->eth_bytes - (uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)(peer->eth_bytes + p->user_bytes);
	m->pkt_len = m->data_len;
	return true;
}

static inline void output_one(struct worker *w, struct pkt *p)
{
	const struct peer *peer = &w->peers[p->peer];

	if (peer->kind == PEER_PLAIN && !output_link(w, p, peer))
		return;
	user_count(w, p); // nothing but the port can still refuse it
	if (unlikely(peer->state != PEER_READY)) {
		p->iface = peer->iface;
		punt_post(w, p, PUNT_WAIT_PEER);
		return;
	}
	worker_send(w, peer->iface, p->mbuf);
	p->chain = 0;
}
