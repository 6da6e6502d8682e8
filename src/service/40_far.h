// Do what the FAR of a packet says, and pick where it leaves to (TS 29.244 5.2.1, 8.2.26).
//
// Runs on the owner. Towards a tunnel it names the peer and asks for gtpu_encap; towards N6 it finds the
// next hop, or the session of another UE, whose downlink the packet goes on as. As in any router the TTL goes
// down by one (RFC 1812 5.3.1, RFC 8200 3), but not where a packet goes from tunnel to tunnel: there the UPF is
// no hop of the user's path.

#pragma once

#include "packet/ip.h"
#include "rules/model.h"
#include "service/service.h"
#include "session/locator_lookup.h"
#include "worker/punt.h"

// The tunnel that a FAR sends to: the one in the down line, or a further one of the session.
static inline struct session_place far_tunnel(const struct worker *w, const struct pkt *p,
					      const struct far *far)
{
	if (likely(far->to == FAR_TO_LINE))
		return (struct session_place){.teid = p->line->down.teid,
					      .peer = p->line->down.peer};
	return w->table.cold[session_ref_index(p->ref)].places[far->place];
}

// One hop of a router's. False when the TTL or hop limit is used up.
static inline bool far_hop(uint8_t *user, unsigned family)
{
	if (family == 4) {
		struct ip4_head *ip4 = (struct ip4_head *)user;

		if (unlikely(ip4->ttl <= 1))
			return false;
		ip4_ttl_dec(ip4);
	} else {
		struct ip6_head *ip6 = (struct ip6_head *)user;

		if (unlikely(ip6->hops <= 1))
			return false;
		ip6->hops--;
	}
	return true;
}

static inline void far_no_forward(struct worker *w, struct pkt *p, const struct far *far)
{
	pkt_drop(w, p, (far->action & APPLY_DROP) ? DROP_far_drop : DROP_far_buffer);
}

// Into a GTP-U tunnel, which gtpu_encap puts on.
static inline void far_encap(struct worker *w, struct pkt *p, const struct far *far)
{
	struct session_place to = far_tunnel(w, p, far);

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
static inline void far_no_peer(struct worker *w, struct pkt *p, const struct far *far)
{
	if (p->peer == ROUTE_ASK) {
		p->iface = far->iface;
		punt_post(w, p, PUNT_WAIT_HOP);
	} else {
		pkt_drop(w, p, p->peer == ROUTE_OWN ? DROP_own_address : DROP_no_route);
	}
}

// What may be for another UE: true when it has gone there, or ended.
bool far_to_ue(struct worker *w, struct pkt *p, const struct far *far, const uint8_t *dst)
	__attribute__((cold));

// Plain IP by the routes of an N6 interface.
static inline void far_route(struct worker *w, struct pkt *p, const struct far *far,
			     const uint8_t *user)
{
	const uint8_t *dst = user + (p->family == 4 ? offsetof(struct ip4_head, dst)
						    : offsetof(struct ip6_head, dst));
	bool routable = p->family == 4 ? ip4_is_routable(((const struct ip4_head *)user)->dst)
				       : ip6_is_routable(dst);

	if (unlikely(!routable)) {
		pkt_drop(w, p, DROP_not_routable);
		return;
	}
	if ((far->flags & (FAR_F_UE_DIRECT | FAR_F_UE_DROP)) &&
	    unlikely(locator_may_be_ue(w->locator, far->iface, p->family, dst)) &&
	    far_to_ue(w, p, far, dst))
		return;
	p->peer = route_lookup(w->routes, far->iface, p->family, dst);
	if (unlikely(p->peer - 1u >= ROUTE_OWN - 1u))
		far_no_peer(w, p, far);
}

static inline void far_one(struct worker *w, struct pkt *p)
{
	const struct far *far = ruleset_far(line_rules(w, p->line), p->pdr->far);
	uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, uint8_t *, p->user);
	bool to_tunnel = far->to == FAR_TO_LINE || far->to == FAR_TO_PLACE;
	// No hop from tunnel to tunnel, and none where the sender's session was one.
	bool no_hop = (to_tunnel && (p->flags & PKT_F_TUNNELLED)) || (p->flags & PKT_F_HAIRPIN);

	if (unlikely(!(far->action & APPLY_FORW)))
		far_no_forward(w, p, far);
	else if (unlikely(!no_hop && !far_hop(user, p->family)))
		pkt_drop(w, p, DROP_ttl_expired);
	else if (to_tunnel)
		far_encap(w, p, far);
	else if (likely(far->to == FAR_TO_ROUTE))
		far_route(w, p, far, user);
	else
		pkt_drop(w, p, DROP_far_none);
}
