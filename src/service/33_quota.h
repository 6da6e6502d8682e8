// Stop what has a URR whose quota is used up (TS 29.244 5.2.2.2.1), and count what is to be counted before rates are
// enforced (MBQE, 8.2.68).
//
// Runs on the owner. Only sessions with a quota, or with such a count, have this service in their chain. Bytes
// count when they leave: the packet that uses a quota up still passes, and those that are worked on together with it (a
// group, pipeline/5_dispatch.c); what comes after does not, until the SMF gives more, or goes as the URR's FAR for
// quota action says. Downlink packets that this buffers wait as those of any FAR that does: given more, they are looked
// at anew.

#pragma once

#include "rules/model.h"
#include "service/copy.h"
#include "worker/buffer.h"
#include "worker/usage_mark.h"

// Of two usages that stop a packet, the one that drops it.
static inline struct usage *quota_look(const struct policy *policy, unsigned number,
				       struct usage *stopped)
{
	struct usage *usage = policy_usage(policy, number);

	if (!(usage->flags & USAGE_F_STOPPED) || (stopped && !(stopped->flags & USAGE_F_FAR)))
		return stopped;
	return usage;
}

// The packet goes as the FAR for quota action says. True: it waits.
static inline bool quota_far(struct worker *w, struct pkt *p)
{
	const struct ruleset *rs = line_rules(w, p->line);
	const struct far *far;

	p->pdr = ruleset_quota_pdr(rs, p->pdr);
	far = ruleset_far(rs, p->pdr->far);
	if (!(far->action & APPLY_BUFF) || p->flags & PKT_F_UP)
		return false;
	if (far->flags & FAR_F_COPY)
		copy_once(w, p, far);
	buffer_hold(w, p, far);
	return true;
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
	if (stopped && quota_far(w, p))
		return;
	if (pdr->policy & PDR_POLICY_USAGES)
		usage_count_listed(w, p, true);
}
