// Counting a user packet that goes through: at its session's line, its URRs, the worker (TS 29.244 5.2.2).
//
// Worker.

#pragma once

#include "worker/usage_mark.h"

static inline void user_count(struct worker *w, struct pkt *p)
{
	bool up = p->flags & PKT_F_UP;

	p->line->packets++;
	p->line->bytes += p->user_bytes;
	if (p->pdr->policy & PDR_POLICY_USAGE_LINE &&
	    unlikely(usage_count_line(p->line, p->user_bytes)))
		usage_mark(w, p, 0);
	if (unlikely(p->pdr->policy & PDR_POLICY_USAGES))
		usage_count_listed(w, p, false);
	worker_count(w, up ? COUNTER_up : COUNTER_down, 1);
	worker_count(w, up ? COUNTER_up_bytes : COUNTER_down_bytes, p->user_bytes);
}
