// The row and the batch form of nat_in (17_nat_in.h).
//
// Workers run it; see service.h for what a service is.

#include "service/17_nat_in.h"

SERVICE_RUN(nat_in_run, nat_in_one)

const struct service service_nat_in = {
	.name = "nat_in",
	.bit = SERVICE_BIT_nat_in,
	.run = nat_in_run,
	.after = SERVICES("flow"),
	.before = SERVICES("acl", "l4_lifecycle", "pdr"),
	.for_flows = true,
	.help = "gives packets from outside their UE's own address and port",
};
