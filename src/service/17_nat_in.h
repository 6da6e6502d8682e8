// Give a packet from outside its UE's own address and port, or echo identifier (worker/nat.h).
//
// Runs on the owner, for flows, before any service or rule looks at the packet: they know the UE by its own address. A
// packet that met its flow by the second key is to the address outside; all others have the UE's own already.

#pragma once

#include "service/service.h"
#include "worker/nat_packet.h"

static inline void nat_in_one(struct worker *w, struct pkt *p)
{
	const struct flow *flow = &w->flows.table.flows[p->flow];
	uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, uint8_t *, p->user);
	rte_be32_t ue = flow->key.v4.ue;

	if ((p->flags & PKT_F_UP) || !(flow->flags & FLOW_F_NAT) ||
	    ((const struct ip4_head *)user)->dst == ue)
		return;
	if (likely(l4_is_common(p->proto) && !(p->flags & (PKT_F_FRAGMENT | PKT_F_NO_L4))))
		translate4_tuple(user, p, TRANSLATE_DESTINATION, ue, flow->key.ue_port);
	else
		nat_rewrite(w, p, TRANSLATE_DESTINATION, ue, flow->key.ue_port);
}
