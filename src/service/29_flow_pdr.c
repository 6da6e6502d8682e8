// The row and the batch form of flow_pdr (29_flow_pdr.h).
//
// Workers run it; see service.h for what a service is.

#include "service/29_flow_pdr.h"

SERVICE_RUN(flow_pdr_run, flow_pdr_one)

const struct service service_flow_pdr = {
	.name = "flow_pdr",
	.bit = SERVICE_BIT_flow_pdr,
	.run = flow_pdr_run,
	.after = SERVICES("flow", "pdr"),
	.before = SERVICES("far"),
	.help = "keeps a packet's PDR for its flow",
};
