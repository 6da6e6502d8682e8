// Give a packet that leaves to the network the address and port outside of its flow (worker/nat.h).
//
// Runs on the owner, for flows, after all that knows the UE by its own address, and before far, which may send the
// packet to another UE or to the control thread. Only what leaves as plain IP by the interface of the pool is
// translated, and not the answers of a flow that another UE began with this one's own address.

#pragma once

#include "service/service.h"
#include "worker/nat_packet.h"

// The flow has no address outside yet, or goes to another remote end than before. False: the packet has ended, or is to
// stay as it is.
bool nat_out_bind(struct worker *w, struct pkt *p) __attribute__((cold));
// What is no whole TCP or UDP packet.
void nat_out_rare(struct worker *w, struct pkt *p) __attribute__((cold));

static inline void nat_out_one(struct worker *w, struct pkt *p)
{
	const struct flow *flow = &w->flows.table.flows[p->flow];
	const struct flow_cold *cold = &w->flows.table.cold[p->flow];
	const struct far *far = ruleset_far(line_rules(w, p->line), p->pdr->far);
	uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, uint8_t *, p->user);
	const struct flow_key *outside = &cold->second;

	if (!(p->flags & PKT_F_UP) || (far->to != FAR_TO_ROUTE && far->to != FAR_TO_STEERED))
		return;
	if (unlikely(!(flow->flags & FLOW_F_NAT)) && !nat_out_bind(w, p))
		return;
	if (unlikely(far->iface != cold->iface))
		return;
	if (unlikely(!l4_is_common(p->proto) || (p->flags & (PKT_F_FRAGMENT | PKT_F_NO_L4)))) {
		nat_out_rare(w, p);
		return;
	}
	if (unlikely(((const struct ip4_head *)user)->dst != outside->v4.remote ||
		     p->dport != outside->remote_port) &&
	    !nat_out_bind(w, p))
		return;
	translate4_tuple(user, p, TRANSLATE_SOURCE, outside->v4.ue, outside->ue_port);
}
