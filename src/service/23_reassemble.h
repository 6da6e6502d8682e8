// Let fragments wait until all of their datagram is there, where rules ask what only its first fragment says.
//
// Runs on the owner. Dispatch gives it to fragments, and it does nothing where no rule of the session asks for ports
// or the like: they go through one by one. Else their PDR is found for all of them at once, by the first fragment, and
// they go on as they came. Rules that ask whether a packet is a fragment ("frag") want to see fragments: such a
// session's are not gathered, nor are those of sessions with services for flows, which have seen them by now.

#pragma once

#include "service/service.h"

void reassemble_fragment(struct worker *w, struct pkt *p) __attribute__((cold));

static inline void reassemble_one(struct worker *w, struct pkt *p)
{
	const struct ruleset *rs = line_rules(w, p->line);
	uint64_t chain = (p->flags & PKT_F_UP) ? rs->chain_up : rs->chain_down;

	if (rs->gathers && !(chain & SERVICE_MASK(flow)) && w->inner.limits.datagrams)
		reassemble_fragment(w, p);
}
