// The row and the batch form of output (60_output.h).
//
// Workers run it; see service.h for what a service is.

#include "service/60_output.h"

SERVICE_RUN(output_run, output_one)

const struct service service_output = {
	.name = "output",
	.bit = SERVICE_BIT_output,
	.run = output_run,
	.after = SERVICES("far", "gtpu_encap"),
	.terminal = true,
	.help = "puts on the link header and queues the frame",
};
