// The handlers, a row each (flow_handler.h).
// Workers run them, for packets that have come to flow's bit and found no flow.

#include "service/flow_handler.h"

static bool handler_drop(struct worker *w, struct pkt *p, enum drop why)
{
	pkt_drop(w, p, why);
	return false;
}

static bool handler_pass(struct worker *w, struct pkt *p, enum drop why)
{
	p->chain &= ~w->flows.services;
	worker_count(w, COUNTER_flows_passed, 1);
	return false;
}

static bool handler_flow(struct worker *w, struct pkt *p, enum drop why)
{
	return true;
}

static bool (*const handlers[FLOW_HANDLERS])(struct worker *w, struct pkt *p, enum drop why) = {
#define HANDLER(name, text) [FLOW_HANDLER_##name] = handler_##name,
#include "service/flow_handler.def"
#undef HANDLER
};

bool flow_case(struct worker *w, struct pkt *p, enum flow_case what, enum drop why)
{
	const struct flow_profile *profile = &w->flows.profiles[line_rules(w, p->line)->profile];

	return handlers[profile->handlers[what]](w, p, why);
}
