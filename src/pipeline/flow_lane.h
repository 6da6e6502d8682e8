// The look for flows, spread over groups: while one is asked for, the lines of the one before it come in, and the one
// before that is found and worked on.
//
// Worker. Packets of sessions without services for flows do not come here.

#pragma once

#include "pipeline/pipeline.h"
#include "service/15_flow.h"

static inline bool flow_lane_waits(const struct flow_lane *fl)
{
	return fl->n_asked != fl->n_found;
}

static inline struct flow_wait *flow_lane_at(struct flow_lane *fl, unsigned i)
{
	return &fl->waits[i % FLOW_LANE];
}

static inline void flow_lane_ask(struct worker *w, struct flow_lane *fl, struct pkt *p)
{
	flow_ask(w, p, flow_lane_at(fl, fl->n_asked++));
}

static inline void flow_lane_fetch(struct worker *w, struct flow_lane *fl, unsigned to)
{
	for (; fl->n_fetched != to; fl->n_fetched++)
		flow_fetch(w, flow_lane_at(fl, fl->n_fetched));
}
