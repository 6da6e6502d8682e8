// The row and the batch form of buffer (31_buffer.h).
//
// Workers run it; see service.h for what a service is.

#include "service/31_buffer.h"

SERVICE_RUN(buffer_run, buffer_one)

const struct service service_buffer = {
	.name = "buffer",
	.bit = SERVICE_BIT_buffer,
	.run = buffer_run,
	.after = SERVICES("pdr"),
	.before = SERVICES("quota", "qer"),
	.help = "holds what a FAR buffers",
};
