// Punt and inject: packets that the control thread decides about, and frames that it sends.
//
// One single-producer single-consumer ring each way and worker. A punted mbuf carries its struct pkt in the
// private area, `punt` saying why. An injected mbuf is a finished frame whose pkt->iface says where it
// leaves.

#pragma once

#include "worker/worker.h"

enum punt {
	PUNT_ARP,              // ARP frame that came in
	PUNT_ND,               // neighbour discovery that came in
	PUNT_WAIT_PEER,        // finished frame for pkt->peer, whose link address is not known yet
	PUNT_ECHO_RESPONSE,    // GTP-U Echo Response that came in
	PUNT_ERROR_INDICATION, // GTP-U Error Indication that came in
	PUNT_WAIT_HOP, // user packet for an on-link address that is no peer yet: interface pkt->iface
};

// Worker: gives the packet away, or drops it (punt_full).
void punt_post(struct worker *w, struct pkt *p, enum punt why) __attribute__((cold));

// Whether half of the ring is free. What strangers may send without being asked is not punted otherwise, so that it
// does not stand in the way of address resolution.
static inline bool punt_has_room(const struct worker *w)
{
	return rte_ring_count(w->punt) < rte_ring_get_capacity(w->punt) / 2;
}

// Control thread: up to `n` punted packets of this worker.
static inline unsigned punt_take(struct worker *w, struct rte_mbuf **mbufs, unsigned n)
{
	return rte_ring_sc_dequeue_burst(w->punt, (void **)mbufs, n, NULL);
}

// Control thread: sends a frame through this worker. 0, or -ENOBUFS with the mbuf still the caller's.
static inline int inject_post(struct worker *w, struct rte_mbuf *mbuf, unsigned iface)
{
	pkt_private(mbuf)->iface = (uint8_t)iface;
	return rte_ring_sp_enqueue(w->inject, mbuf);
}
