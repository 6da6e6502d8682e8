// The row and the batch form of quota (33_quota.h).
//
// Workers run it; see service.h for what a service is.

#include "service/33_quota.h"

SERVICE_RUN(quota_run, quota_one)

const struct service service_quota = {
	.name = "quota",
	.bit = SERVICE_BIT_quota,
	.run = quota_run,
	.after = SERVICES("pdr"),
	.before = SERVICES("qer"),
	.help = "drops or holds what a URR's used up quota stops, counts before rates where asked to",
};
