// Find the PDR of a packet: the first by precedence whose PDI matches (TS 29.244 5.2.1, 8.2.11).
//
// Runs on the owner. What matches no PDR is dropped (5.2.1A.1). A packet whose source is not the UE's is
// taken only by a PDR made for such packets.

#pragma once

#include "rules/match.h"
#include "service/service.h"

// Where the walk finds none: the PDR that the classifier finds, or the packet's end. A function of its own, so
// that ordinary sessions' way holds no more than a call here.
void pdr_beyond_walk(struct worker *w, struct pkt *p);

static inline void pdr_take(struct worker *w, struct pkt *p, const struct pdr *pdr)
{
	if (unlikely((p->flags & PKT_F_SPOOFED) && !(pdr->flags & PDR_F_ANY_SOURCE))) {
		pkt_drop(w, p, DROP_spoofed_source);
		return;
	}
	p->pdr = pdr;
}

static inline void pdr_one(struct worker *w, struct pkt *p)
{
	const struct ruleset *rs = line_rules(w, p->line);
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	const struct pdr *pdr = (p->flags & PKT_F_UP) ? ruleset_walk(rs, true, p, user)
						      : ruleset_walk(rs, false, p, user);

	if (unlikely(!pdr))
		pdr_beyond_walk(w, p);
	else
		pdr_take(w, p, pdr);
}
