// Keep the PDR of a packet for the next ones of its flow.
//
// Runs on the owner, for packets whose flow did not know. Only where all packets of a flow that come by one tunnel
// match one PDR (RULESET_F_RARE_UP, RULESET_F_RARE_DOWN): rules may look at more than flows are told apart by.

#pragma once

#include "service/service.h"
#include "worker/flows.h"

static inline void flow_pdr_one(struct worker *w, struct pkt *p)
{
	const struct ruleset *rs = line_rules(w, p->line);
	bool up = p->flags & PKT_F_UP;
	size_t index = (size_t)(p->pdr - rs->pdrs);

	if (rs->flags & (up ? RULESET_F_RARE_UP : RULESET_F_RARE_DOWN) ||
	    p->flags & PKT_F_SPOOFED || index >= FLOW_PDR_NONE)
		return;
	w->flows.table.flows[p->flow].pdrs[!up] = (uint8_t)index;
}
