// The row and the batch form of gtpu_decap (09_gtpu_decap.h).
//
// Workers run it; see service.h for what a service is.

#include "service/09_gtpu_decap.h"

SERVICE_RUN(gtpu_decap_run, gtpu_decap_one)

const struct service service_gtpu_decap = {
	.name = "gtpu_decap",
	.bit = SERVICE_BIT_gtpu_decap,
	.run = gtpu_decap_run,
	.before = SERVICES("source_check", "pdr"),
	.help = "takes the outer headers off a packet that came by a tunnel",
};
