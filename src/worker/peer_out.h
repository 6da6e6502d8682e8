// Where a packet leaves: the link header of a next hop, and the frame on its way to a peer.
//
// Worker. A peer whose link address is not known yet sends its frames to the control thread, where they wait for
// the answer (neigh/).

#pragma once

#include "worker/punt.h"

// The Ethernet header of a next hop in front of a plain user packet. False when the packet has ended.
static inline bool peer_link(struct worker *w, struct pkt *p, const struct peer *peer)
{
	struct rte_mbuf *m = p->mbuf;
	uint8_t *user = rte_pktmbuf_mtod_offset(m, uint8_t *, p->user);

	if (unlikely(user - (uint8_t *)m->buf_addr < PEER_HEADER_V4_BYTES)) {
		pkt_drop(w, p, DROP_no_headroom);
		return false;
	}
	memcpy(user - 32, peer_header(peer, 32), 32);
	m->data_off = (uint16_t)(user - peer->eth_bytes - (uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)(peer->eth_bytes + p->user_bytes);
	m->pkt_len = m->data_len;
	return true;
}

// A whole frame for the peer that p->peer names.
static inline void peer_out(struct worker *w, struct pkt *p, const struct peer *peer)
{
	if (unlikely(peer->state != PEER_READY)) {
		p->iface = peer->iface;
		punt_post(w, p, PUNT_WAIT_PEER);
		return;
	}
	worker_send(w, peer->iface, p->mbuf);
	p->chain = 0;
}
