// Send duplicates of what a FAR with DUPL has, whatever else it does (TS 29.244 5.2.1, 8.2.26).
//
// Runs on the owner, for sessions that have such a FAR: others do not have this service in their chain. It comes after
// quotas and rates: what they stop has no duplicates.

#pragma once

#include "service/copy.h"

static inline void duplicate_one(struct worker *w, struct pkt *p)
{
	const struct far *far = ruleset_far(line_rules(w, p->line), p->pdr->far);

	if (far->flags & FAR_F_COPY)
		copy_once(w, p, far);
}
