// The row and the batch form of output, and what does not fit (60_output.h).
//
// Workers run it; see service.h for what a service is.

#include "service/60_output.h"

#include "worker/too_big.h"

void output_too_big(struct worker *w, struct pkt *p, const struct peer *peer)
{
	too_big_plain(w, p, peer->iface, peer->mtu, SERVICE_FROM(p->chain, output));
}

SERVICE_RUN(output_run, output_one)

const struct service service_output = {
	.name = "output",
	.bit = SERVICE_BIT_output,
	.run = output_run,
	.after = SERVICES("far", "gtpu_encap"),
	.terminal = true,
	.help = "puts on the link header and queues the frame",
};
