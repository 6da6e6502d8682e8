// The row and the batch form of far (40_far.h).
//
// Workers run it; see service.h for what a service is.

#include "service/40_far.h"

SERVICE_RUN(far_run, far_one)

const struct service service_far = {
	.name = "far",
	.bit = SERVICE_BIT_far,
	.run = far_run,
	.after = SERVICES("pdr", "qer"),
	.before = SERVICES("output"),
	.help = "does what the FAR says; picks the next hop",
};
