// Let flows begin that the access list of their network instance allows (rules/acl.h).
//
// Runs on the owner, for flows. Each packet is held against the list until one is allowed; then the service takes
// itself out of the flow's chain, and the flow is let through in both directions for the rest of its life. What is
// denied is dropped, packet by packet: a flow of which all is denied stays embryonic and ends soon.
//
// It is the example that README.md in this folder goes through.

#pragma once

#include "rules/acl.h"
#include "service/service.h"
#include "worker/flows.h"

static inline void acl_one(struct worker *w, struct pkt *p)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	struct flow *flow = &w->flows.table.flows[p->flow];

	if (acl_allows(&w->acls[flow_profile_of(flow)], p->flags & PKT_F_UP, p, user))
		flow->chain &= ~SERVICE_MASK(acl);
	else
		pkt_drop(w, p, DROP_acl_denied);
}
