// How long a flow lives: shortly until both sides have spoken, then for longer; each packet extends it.
//
// Runs on the owner, for flows. A flow that only one side speaks in stays embryonic, for as long as it is used; where
// what comes is unasked (worker/flows.h), it ends all the same.

#pragma once

#include <netinet/in.h>

#include "service/service.h"
#include "worker/flows.h"

static inline void l4_lifecycle_one(struct worker *w, struct pkt *p)
{
	struct flow *flow = &w->flows.table.flows[p->flow];
	bool up = p->flags & PKT_F_UP, began_up = flow->flags & FLOW_F_UP;

	if (likely(flow_class_of(flow) != FLOW_EMBRYONIC))
		flow_extend(&w->flows, flow);
	else if (up != began_up)
		flow_class_set(w, p->flow,
			       p->proto == IPPROTO_TCP ? FLOW_TCP_ESTABLISHED : FLOW_ESTABLISHED);
	else if (!flow_is_unasked(flow, up))
		flow_extend(&w->flows, flow);
}
