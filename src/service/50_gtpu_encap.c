// The row and the batch form of gtpu_encap (50_gtpu_encap.h).
//
// Workers run it; see service.h for what a service is.

#include "service/50_gtpu_encap.h"

SERVICE_RUN(gtpu_encap_run, gtpu_encap_one)

const struct service service_gtpu_encap = {
	.name = "gtpu_encap",
	.bit = SERVICE_BIT_gtpu_encap,
	.run = gtpu_encap_run,
	.after = SERVICES("far"),
	.before = SERVICES("output"),
	.help = "puts on the headers of a tunnel, with QFI",
};
