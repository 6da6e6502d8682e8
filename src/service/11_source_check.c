// The row and the batch form of source_check (11_source_check.h).
//
// Workers run it; see service.h for what a service is.

#include "service/11_source_check.h"

SERVICE_RUN(source_check_run, source_check_one)

const struct service service_source_check = {
	.name = "source_check",
	.bit = SERVICE_BIT_source_check,
	.run = source_check_run,
	.after = SERVICES("gtpu_decap"),
	.before = SERVICES("pdr"),
	.help = "drops uplink packets whose source is not the session's UE",
};
