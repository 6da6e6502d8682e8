// The row and the batch form of acl (19_acl.h).
//
// Workers run it; see service.h for what a service is.

#include "service/19_acl.h"

SERVICE_RUN(acl_run, acl_one)

const struct service service_acl = {
	.name = "acl",
	.bit = SERVICE_BIT_acl,
	.run = acl_run,
	.after = SERVICES("flow"),
	.before = SERVICES("l4_lifecycle"),
	.for_flows = true,
	.help = "drops what the network instance's access list does not allow",
};
