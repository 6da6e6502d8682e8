// How a packet leaves: which peer it goes to, and the headers that it leaves with. What far, gtpu_encap, output and the
// copies of packets share.
//
// Runs on the owner. Each step may end the packet: then p->chain is 0.

#pragma once

#include "packet/ip.h"
#include "service/service.h"
#include "session/peer.h"
#include "session/locator_lookup.h"
#include "worker/peer_out.h"

// --- where to --------------------------------------------------------------------------------------------

// The tunnel that a FAR sends to: the one in the down line, or a further one of the session.
static inline struct session_place leave_place(const struct worker *w, const struct pkt *p,
					       const struct far *far)
{
	if (likely(far->to == FAR_TO_LINE))
		return (struct session_place){.teid = p->line->down.teid,
					      .peer = p->line->down.peer};
	return w->table.cold[session_ref_index(p->ref)].places[far->place];
}

// Into a tunnel, whose headers gtpu_encap puts on.
static inline void leave_by_tunnel(struct worker *w, struct pkt *p, const struct far *far)
{
	struct session_place to = leave_place(w, p, far);

	if (unlikely(to.peer == PEER_NONE)) {
		pkt_drop(w, p, DROP_far_none);
		return;
	}
	p->peer = to.peer;
	p->teid = rte_be_to_cpu_32(to.teid);
	p->chain |= SERVICE_MASK(gtpu_encap);
}

static_assert(PEER_NONE == 0 && ROUTE_OWN < ROUTE_ASK, "one comparison tells what is no peer");

// A user speaks to the UPF itself, to a neighbour that must be asked for first, or to nowhere.
void leave_no_peer(struct worker *w, struct pkt *p, const struct far *far) __attribute__((cold));

// What may be for another UE: true when it has gone there, or ended.
bool leave_to_ue(struct worker *w, struct pkt *p, const struct far *far, const uint8_t *dst)
	__attribute__((cold));

static inline bool leave_routable(const uint8_t *user, unsigned family)
{
	return family == 4 ? ip4_is_routable(((const struct ip4_head *)user)->dst)
			   : ip6_is_routable(ip_destination_at(user, family));
}

// The same for any packet: nearly none is, and most are told without a look at the locators.
static inline bool leave_met_ue(struct worker *w, struct pkt *p, const struct far *far,
				const uint8_t *user)
{
	const uint8_t *dst = ip_destination_at(user, p->family);

	return (far->flags & (FAR_F_UE_DIRECT | FAR_F_UE_DROP)) &&
	       unlikely(locator_may_be_ue(w->locator, far->iface, p->family, dst)) &&
	       leave_to_ue(w, p, far, dst);
}

// Plain IP by the routes of an N6 interface.
static inline void leave_by_route(struct worker *w, struct pkt *p, const struct far *far,
				  const uint8_t *user)
{
	if (unlikely(!leave_routable(user, p->family))) {
		pkt_drop(w, p, DROP_not_routable);
		return;
	}
	if (leave_met_ue(w, p, far, user))
		return;
	p->peer = route_lookup(w->routes, far->iface, p->family,
			       ip_destination_at(user, p->family));
	if (unlikely(p->peer - 1u >= ROUTE_OWN - 1u))
		leave_no_peer(w, p, far);
}

// What is neither a GTP-U tunnel nor an ordinary route. Out of line, so that the ordinary way stays short.
void leave_otherwise(struct worker *w, struct pkt *p, const struct far *far, uint8_t *user)
	__attribute__((cold));

// --- tunnel headers --------------------------------------------------------------------------------------

// DSCP of the outer header, in the place where the traffic class has it.
static inline uint8_t leave_tos(const struct far *far, const uint8_t *user, unsigned family)
{
	if (far->dscp != FAR_DSCP_COPY)
		return (uint8_t)(far->dscp << 2);
	return (uint8_t)((family == 4 ? user[1] : user[0] << 4 | user[1] >> 4) & 0xfc);
}

// The frame starts at the link header before the outer IP header at `ip`.
static inline void leave_frame(struct rte_mbuf *m, const struct peer *peer, const uint8_t *ip,
			       unsigned ip_packet_bytes)
{
	uint32_t frame_bytes = (uint32_t)peer->eth_bytes + ip_packet_bytes;

	m->data_off = (uint16_t)(ip - peer->eth_bytes - (uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)frame_bytes;
	m->pkt_len = frame_bytes;
}

// A packet whose tunnel's headers, `head` bytes from the outer IP header on, make it longer than the peer's MTU.
void leave_too_big(struct worker *w, struct pkt *p, const struct peer *peer, const struct far *far,
		   unsigned head) __attribute__((cold));

// GTP-U, with the PDR's QFI if it has one, however long that is. One body for both families: `v6` is constant.
static __rte_always_inline void leave_gtpu_write(struct pkt *p, const struct peer *peer,
						 const struct far *far, const struct pdr *pdr,
						 bool v6)
{
	struct rte_mbuf *m = p->mbuf;
	uint8_t *user = rte_pktmbuf_mtod_offset(m, uint8_t *, p->user);
	const unsigned header_bytes = v6 ? PEER_HEADER_BYTES : PEER_HEADER_V4_BYTES;
	const unsigned ip_bytes = v6 ? IP6_BYTES : IP4_BYTES;
	const uint8_t *header = peer_header(peer, header_bytes);
	unsigned psc_bytes = pdr->qfi == PKT_QFI_NONE ? 0u : PEER_PSC_BYTES;
	unsigned gtpu_bytes = GTPU_BYTES + psc_bytes + p->user_bytes;
	uint8_t *ip = user - psc_bytes - GTPU_BYTES - UDP_BYTES - ip_bytes;
	uint8_t tos = leave_tos(far, user, p->family);

	if (likely(psc_bytes)) {
		memcpy(user - header_bytes, header, header_bytes);
		user[-2] = (uint8_t)(pdr->qfi | (pdr->flags & PDR_F_RQI ? GTPU_PSC_RQI : 0));
	} else {
		memcpy(user - (header_bytes - PEER_PSC_BYTES), header,
		       header_bytes - PEER_PSC_BYTES);
		user[-GTPU_BYTES] = GTPU_VERSION;
	}
	if (v6)
		peer_patch6(ip, peer, tos, gtpu_bytes, rte_cpu_to_be_32(p->teid));
	else
		peer_patch(ip, peer, tos, gtpu_bytes, rte_cpu_to_be_32(p->teid));
	leave_frame(m, peer, ip, ip_bytes + UDP_BYTES + gtpu_bytes);
}

static __rte_always_inline void leave_gtpu(struct worker *w, struct pkt *p, const struct peer *peer,
					   const struct far *far, const struct pdr *pdr, bool v6)
{
	const unsigned room = v6 ? PEER_HEADER_BYTES : PEER_HEADER_V4_BYTES;
	unsigned head = v6 ? IP6_BYTES : IP4_BYTES;

	head += UDP_BYTES + GTPU_BYTES;
	head += pdr->qfi == PKT_QFI_NONE ? 0 : PEER_PSC_BYTES;
	if (unlikely(p->mbuf->data_off + p->user < room))
		pkt_drop(w, p, DROP_no_headroom);
	else if (unlikely(head + p->user_bytes > peer->mtu))
		leave_too_big(w, p, peer, far, head);
	else
		leave_gtpu_write(p, peer, far, pdr, v6);
}

// Over IPv6, or plain UDP: out of line, so that the ordinary way stays short.
void leave_rare_headers(struct worker *w, struct pkt *p, const struct peer *peer,
			const struct far *far, const struct pdr *pdr);

// The headers of the tunnel to p->peer.
static inline void leave_headers(struct worker *w, struct pkt *p, const struct far *far,
				 const struct pdr *pdr)
{
	const struct peer *peer = &w->peers[p->peer];

	if (unlikely(peer->kind != PEER_GTPU_V4))
		leave_rare_headers(w, p, peer, far, pdr);
	else
		leave_gtpu(w, p, peer, far, pdr, false);
}

// --- the link --------------------------------------------------------------------------------------------

// The Ethernet header of a next hop in front of a plain user packet. False when the packet has ended.
static inline bool leave_link(struct worker *w, struct pkt *p, const struct peer *peer)
{
	if (unlikely(p->user_bytes > peer->mtu)) {
		pkt_drop(w, p, DROP_too_big);
		return false;
	}
	return peer_link(w, p, peer);
}
