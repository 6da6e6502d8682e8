// What becomes of packets that are of no flow as others are: of a protocol without ports, ICMP errors that are about
// nothing known, what is more than the table holds.
//
// Runs on the owner; a network instance names a handler for each case (worker/flows.h). A further handler is a line in
// flow_handler.def and a row in flow_handler.c.

#pragma once

#include "service/service.h"

enum flow_handler {
#define HANDLER(name, text) FLOW_HANDLER_##name,
#include "service/flow_handler.def"
#undef HANDLER
	FLOW_HANDLERS
};

// Runs the handler of the packet's network instance. True: a flow is to be made for it. Otherwise it has ended as
// `why`, or has no services for flows left in its chain.
bool flow_case(struct worker *w, struct pkt *p, enum flow_case what, enum drop why);
