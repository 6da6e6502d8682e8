// Hold what is for a UE that cannot be reached now (TS 29.244 5.2.1, 8.2.26: BUFF and NOCP).
//
// Runs on the owner, for sessions that have a FAR that buffers: others do not have this service in their chain. It
// comes before quotas and rates, which packets meet when they leave. Duplicates do not wait.

#pragma once

#include "rules/model.h"
#include "service/copy.h"
#include "worker/buffer.h"

static inline void buffer_one(struct worker *w, struct pkt *p)
{
	const struct far *far = ruleset_far(line_rules(w, p->line), p->pdr->far);

	if (!(far->action & APPLY_BUFF))
		return;
	if (far->flags & FAR_F_COPY)
		copy_once(w, p, far);
	buffer_hold(w, p, far);
}
