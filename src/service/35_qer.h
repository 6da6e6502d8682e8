// Stop what a QER's gate is closed for (TS 29.244 8.2.7, Gate Status).
//
// Runs on the owner. Only sessions with a closed gate have this service in their chain.

#pragma once

#include "service/service.h"

static inline void qer_one(struct worker *w, struct pkt *p)
{
	unsigned gate = (p->flags & PKT_F_UP) ? PDR_F_GATE_UP : PDR_F_GATE_DOWN;

	if (p->pdr->flags & gate)
		pkt_drop(w, p, DROP_gate_closed);
}
