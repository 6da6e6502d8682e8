// The row and the batch form of duplicate (38_duplicate.h).
//
// Workers run it; see service.h for what a service is.

#include "service/38_duplicate.h"

SERVICE_RUN(duplicate_run, duplicate_one)

const struct service service_duplicate = {
	.name = "duplicate",
	.bit = SERVICE_BIT_duplicate,
	.run = duplicate_run,
	.after = SERVICES("pdr", "qer"),
	.before = SERVICES("far"),
	.help = "sends copies to the duplicating destinations of the FAR",
};
