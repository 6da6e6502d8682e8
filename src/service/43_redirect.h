// Send a packet where its FAR redirects it: to another destination than its user named (TS 29.244 5.2.1, 8.2.20).
//
// Runs on the owner, for flows of sessions that have such a FAR. From then on the flow has a second key, under which
// what answers from there finds it (25_redirect_back.h). Before far, which routes by the new destination; what
// PDRs, meters and duplicates see is what the user sent.

#pragma once

#include "service/service.h"

void redirect_away(struct worker *w, struct pkt *p, const struct redirect *to)
	__attribute__((cold));

static inline void redirect_one(struct worker *w, struct pkt *p)
{
	const struct ruleset *rs = line_rules(w, p->line);
	const struct far *far = ruleset_far(rs, p->pdr->far);

	if (far->flags & FAR_F_REDIRECT)
		redirect_away(w, p, ruleset_redirect(rs, far->redirect));
}
