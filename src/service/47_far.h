// Do what the FAR of a packet says, and pick where it leaves to (TS 29.244 5.2.1, 8.2.26).
//
// Runs on the owner. Towards a tunnel it names the peer and asks for gtpu_encap; towards N6 it finds the
// next hop, or the session of another UE, whose downlink the packet goes on as. As in any router the TTL goes
// down by one (RFC 1812 5.3.1, RFC 8200 3), but not where a packet goes from GTP-U tunnel to GTP-U tunnel: there the
// UPF is no hop of the user's path.

#pragma once

#include "packet/ip.h"
#include "rules/model.h"
#include "service/leave.h"
#include "worker/usage_mark.h"

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

void far_ttl_expired(struct worker *w, struct pkt *p, const struct far *far) __attribute__((cold));

static inline void far_no_forward(struct worker *w, struct pkt *p, const struct far *far)
{
	if (p->pdr->flags & PDR_F_DROPS)
		usage_count_dropped(w, p);
	pkt_drop(w, p, (far->action & APPLY_DROP) ? DROP_far_drop : DROP_far_buffer);
}

static inline void far_one(struct worker *w, struct pkt *p)
{
	const struct far *far = ruleset_far(line_rules(w, p->line), p->pdr->far);
	uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, uint8_t *, p->user);
	bool to_tunnel = far->to == FAR_TO_LINE || far->to == FAR_TO_PLACE;
	// No hop from tunnel to tunnel, and none twice.
	bool no_hop = (to_tunnel && (p->flags & PKT_F_TUNNELLED)) || (p->flags & PKT_F_ROUTED);

	if (unlikely(!(far->action & APPLY_FORW)))
		far_no_forward(w, p, far);
	else if (unlikely(!no_hop && !far_hop(user, p->family)))
		far_ttl_expired(w, p, far);
	else if (to_tunnel)
		leave_by_tunnel(w, p, far);
	else if (likely(far->to == FAR_TO_ROUTE))
		leave_by_route(w, p, far, user);
	else
		leave_otherwise(w, p, far, user);
}
