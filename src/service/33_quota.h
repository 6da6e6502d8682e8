// Stop what has a URR whose quota is used up (TS 29.244 5.2.2.2.1), and count what is to be counted before rates are
// enforced (MBQE, 8.2.68).
//
// Runs on the owner. Only sessions with a quota, or with such a count, have this service in their chain. The packet
// that uses a quota up still passes; what comes after it does not, until the SMF gives more, or goes as the URR's FAR for
// quota action says.

#pragma once

#include "service/service.h"
#include "worker/usage_mark.h"

// Of two usages that stop a packet, the one that drops it.
static inline struct usage *quota_look(const struct policy *policy, unsigned number,
				       struct usage *stopped)
{
	struct usage *usage = &policy->usages[number];

	if (!(usage->flags & USAGE_F_STOPPED) || (stopped && !(stopped->flags & USAGE_F_FAR)))
		return stopped;
	return usage;
}

static inline void quota_one(struct worker *w, struct pkt *p)
{
	const struct policy *policy = w->table.cold[session_ref_index(p->ref)].policy;
	const struct pdr *pdr = p->pdr;
	struct usage *stopped = NULL;

	if (pdr->policy & PDR_POLICY_USAGE_LINE)
		stopped = quota_look(policy, 0, stopped);
	for (unsigned i = 0; i < sizeof(pdr->usages) && pdr->usages[i] != PDR_NO_PLACE; i++)
		stopped = quota_look(policy, pdr->usages[i], stopped);
	if (stopped && !(stopped->flags & USAGE_F_FAR)) {
		stopped->dropped++;
		pkt_drop(w, p, DROP_quota_used);
		return;
	}
	if (stopped)
		p->pdr = ruleset_quota_pdr(line_rules(w, p->line), pdr);
	if (pdr->policy & PDR_POLICY_USAGES)
		usage_count_listed(w, p, true);
}
