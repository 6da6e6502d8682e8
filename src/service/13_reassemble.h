// Let fragments wait until all of their datagram is there, where rules or flows ask what only its first fragment says.
//
// Runs on the owner. Dispatch gives it to fragments, and it does nothing where no rule of the session asks for ports
// or the like, and its packets have no flows: they go through one by one. Else flow and PDR are found for all of them
// at once, by the first fragment, and they go on as they came. Rules that ask whether a packet is a fragment ("frag")
// want to see fragments: such a session's are not gathered.

#pragma once

#include "service/service.h"

// Takes over the pieces of a datagram, in their order (worker/gather.h), and what is left of their chain.
typedef void datagram_fn(struct worker *w, struct rte_mbuf *list, uint64_t chain);

// Who does: the pipeline. Start-up.
void reassemble_start(datagram_fn *work);

void reassemble_fragment(struct worker *w, struct pkt *p) __attribute__((cold));

static inline void reassemble_one(struct worker *w, struct pkt *p)
{
	if (line_rules(w, p->line)->gathers && w->inner.limits.datagrams)
		reassemble_fragment(w, p);
}
