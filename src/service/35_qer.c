// The row and the batch form of qer (35_qer.h).
//
// Workers run it; see service.h for what a service is.

#include "service/35_qer.h"

SERVICE_RUN(qer_run, qer_one)

const struct service service_qer = {
	.name = "qer",
	.bit = SERVICE_BIT_qer,
	.run = qer_run,
	.after = SERVICES("pdr"),
	.before = SERVICES("far"),
	.help = "drops what a QER's closed gate stops",
};
