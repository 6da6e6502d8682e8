// Enforce the QERs of a PDR: gates and rates (TS 29.244 5.4.3, 8.2.7, 8.2.8; TS 23.501 5.7.1.8).
//
// Runs on the owner. A packet passes when every meter that it has would let it pass, and only then is any of
// them charged: what one QER stops does not use up another's rate. Rates are of the user's IP packets, header
// included. The two meters of the session's line cost no further cache line (session/policy.h).

#pragma once

#include "service/service.h"

// Out of the ordinary: meters beyond those of the line, and packet rates.
bool qer_listed_pass(struct worker *w, const struct pkt *p) __attribute__((cold));
void qer_listed_charge(struct worker *w, const struct pkt *p) __attribute__((cold));
// The packet ends: counted at the QERs that stopped it, too.
void qer_drop(struct worker *w, struct pkt *p) __attribute__((cold));

#define QER_LINE_METERS (PDR_POLICY_METER_0 | PDR_POLICY_METER_1)

static inline void qer_charge(struct worker *w, struct session_line *line, unsigned meter,
			      uint32_t bytes)
{
	line->tat[meter] = meter_charge_bytes(line->tat[meter], w->now, w->meter_burst,
					      line->cost[meter], bytes);
}

static inline void qer_one(struct worker *w, struct pkt *p)
{
	unsigned gate = (p->flags & PKT_F_UP) ? PDR_F_GATE_UP : PDR_F_GATE_DOWN;
	struct session_line *line = p->line;
	unsigned policy = p->pdr->policy;
	uint64_t limit = w->now + w->meter_burst;

	if (unlikely(p->pdr->flags & gate)) {
		pkt_drop(w, p, DROP_gate_closed);
		return;
	}
	if (!(policy & (QER_LINE_METERS | PDR_POLICY_METERS)))
		return;
	if (unlikely(((policy & PDR_POLICY_METER_0) && line->tat[0] > limit) ||
		     ((policy & PDR_POLICY_METER_1) && line->tat[1] > limit) ||
		     ((policy & PDR_POLICY_METERS) && !qer_listed_pass(w, p)))) {
		qer_drop(w, p);
		return;
	}
	if (policy & PDR_POLICY_METER_0)
		qer_charge(w, line, 0, p->user_bytes);
	if (policy & PDR_POLICY_METER_1)
		qer_charge(w, line, 1, p->user_bytes);
	if (unlikely(policy & PDR_POLICY_METERS))
		qer_listed_charge(w, p);
}
