// The row and the batch form of pdr (30_pdr.h).
//
// Workers run it; see service.h for what a service is.

#include "service/30_pdr.h"

SERVICE_RUN(pdr_run, pdr_one)

const struct service service_pdr = {
	.name = "pdr",
	.bit = SERVICE_BIT_pdr,
	.run = pdr_run,
	.after = SERVICES("gtpu_decap", "source_check"),
	.before = SERVICES("far"),
	.help = "finds the PDR by precedence",
};
