// The row and the batch form of far (47_far.h).
//
// Workers run it; see service.h for what a service is.

#include "service/47_far.h"

#include "worker/icmp_tell.h"

// A UDP tunnel is on the network's side of the interface that it leaves by.
void far_ttl_expired(struct worker *w, struct pkt *p, const struct far *far)
{
	bool by_route = far->to == FAR_TO_ROUTE || far->to == FAR_TO_STEERED;

	if (by_route && (p->flags & PKT_F_UP))
		icmp_drop_ttl(w, p, far->iface);
	else if (p->flags & PKT_F_UP)
		icmp_drop_ttl(w, p, w->peers[leave_place(w, p, far).peer].iface);
	else
		icmp_drop_ttl(w, p, p->iface);
}

SERVICE_RUN(far_run, far_one)

const struct service service_far = {
	.name = "far",
	.bit = SERVICE_BIT_far,
	.run = far_run,
	.after = SERVICES("pdr", "qer"),
	.before = SERVICES("output"),
	.help = "does what the FAR says; picks the next hop",
};
