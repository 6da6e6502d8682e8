// Give what comes from where a flow was redirected to the source that its user knows (43_redirect.h).
//
// Runs on the owner, for flows of sessions that have a FAR that redirects. Before pdr, so that filters of both
// directions speak of what the user sees.

#pragma once

#include "service/service.h"

void redirect_back(struct worker *w, struct pkt *p) __attribute__((cold));

static inline void redirect_back_one(struct worker *w, struct pkt *p)
{
	if (w->flows.table.flows[p->flow].flags & FLOW_F_SECOND && !(p->flags & PKT_F_UP))
		redirect_back(w, p);
}
