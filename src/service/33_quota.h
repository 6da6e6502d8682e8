// Stop what has a URR whose quota is used up (TS 29.244 5.2.2.2.1), and count what is to be counted before rates are
// enforced (MBQE, 8.2.68).
//
// Runs on the owner. Only sessions with a quota, or with such a count, have this service in their chain. The packet
// that uses a quota up still passes; what comes after it does not, until the SMF gives more.

#pragma once

#include "service/service.h"
#include "worker/usage_mark.h"

static inline bool quota_stops(const struct policy *policy, unsigned number)
{
	return policy->usages[number].flags & USAGE_F_STOPPED;
}

static inline void quota_one(struct worker *w, struct pkt *p)
{
	const struct policy *policy = w->table.cold[session_ref_index(p->ref)].policy;
	const struct pdr *pdr = p->pdr;
	struct usage *stopped = NULL;

	if ((pdr->policy & PDR_POLICY_USAGE_LINE) && quota_stops(policy, 0))
		stopped = &policy->usages[0];
	for (unsigned i = 0; i < sizeof(pdr->usages) && pdr->usages[i] != PDR_NO_PLACE; i++)
		if (quota_stops(policy, pdr->usages[i]))
			stopped = &policy->usages[pdr->usages[i]];
	if (stopped) {
		stopped->dropped++;
		pkt_drop(w, p, DROP_quota_used);
	} else if (pdr->policy & PDR_POLICY_USAGES) {
		usage_count_listed(w, p, true);
	}
}
