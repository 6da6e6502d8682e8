// The row and the batch form of l4_lifecycle (21_l4_lifecycle.h).
//
// Workers run it; see service.h for what a service is.

#include "service/21_l4_lifecycle.h"

SERVICE_RUN(l4_lifecycle_run, l4_lifecycle_one)

const struct service service_l4_lifecycle = {
	.name = "l4_lifecycle",
	.bit = SERVICE_BIT_l4_lifecycle,
	.run = l4_lifecycle_run,
	.after = SERVICES("flow"),
	.before = SERVICES("pdr"),
	.for_flows = true,
	.not_of_errors = true, // they extend no flow (RFC 5508 7.2)
	.help = "gives a flow its time",
};
