// End Markers, made from the peer's prepared header (end_marker.h).
//
// Worker.

#include "worker/end_marker.h"

#include "worker/punt.h"

void end_marker_send(struct worker *w, struct session_place to)
{
	const struct peer *peer = &w->peers[to.peer];
	struct rte_mbuf *m;
	struct pkt *p;
	uint8_t *frame;
	uint16_t bytes;

	if (!peer_is_gtpu(peer) || peer->state == PEER_FREE)
		return;
	m = rte_pktmbuf_alloc(w->pool);
	if (!m)
		return; // a lost End Marker is one that the network could have lost (TS 29.281 7.3.2)
	bytes = (uint16_t)(peer->eth_bytes + peer_ip_bytes(peer) + UDP_BYTES + GTPU_BYTES);
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(frame, peer_header(peer, PEER_PSC_BYTES + bytes), bytes);
	gtpu_end_marker_build(frame + bytes - GTPU_BYTES, rte_be_to_cpu_32(to.teid));
	if (peer->kind == PEER_GTPU_V6)
		peer_patch6(frame + peer->eth_bytes, peer, 0, GTPU_BYTES, to.teid);
	else
		peer_patch(frame + peer->eth_bytes, peer, 0, GTPU_BYTES, to.teid);
	m->data_len = bytes;
	m->pkt_len = bytes;
	worker_count(w, COUNTER_made, 1);
	worker_count(w, COUNTER_end_marker_sent, 1);
	if (peer->state == PEER_READY) {
		worker_send(w, peer->iface, m);
		return;
	}
	p = pkt_private(m);
	*p = (struct pkt){.mbuf = m, .peer = to.peer, .iface = peer->iface};
	punt_post(w, p, PUNT_WAIT_PEER);
}
