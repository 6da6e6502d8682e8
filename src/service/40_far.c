// The row and the batch form of far (40_far.h), and the way from UE to UE.
//
// Workers run it; see service.h for what a service is.

#include "service/40_far.h"

#include "worker/again.h"
#include "worker/user_count.h"

// As if it had left by the interface and come back: one hop, counted for its sender, and known by nothing but its
// destination from now on.
static void to_ue(struct worker *w, struct pkt *p, const struct far *far, struct session_ref to)
{
	user_count(w, p);
	worker_count(w, COUNTER_hairpin, 1);
	p->ref = to;
	p->iface = far->iface;
	p->qfi = PKT_QFI_NONE;
	p->flags = (uint8_t)(PKT_F_HAIRPIN | (p->flags & (PKT_F_FRAGMENT | PKT_F_NO_L4)));
	p->chain = 0;
	again_post(w, p);
}

bool far_to_ue(struct worker *w, struct pkt *p, const struct far *far, const uint8_t *dst)
{
	struct session_ref to = locator_find(w->locator, far->iface, p->family, dst);

	if (!to.check || route_own(w->routes, p->family, dst))
		return false;
	if (far->flags & FAR_F_UE_DROP)
		pkt_drop(w, p, DROP_ue_to_ue);
	else if (p->flags & PKT_F_SPOOFED)
		pkt_drop(w, p, DROP_spoofed_source);
	else if (to.where == p->ref.where)
		pkt_drop(w, p, DROP_ue_to_itself);
	else
		to_ue(w, p, far, to);
	return true;
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
