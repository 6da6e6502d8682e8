// show neighbours: next hops, whether they answer, and what leaves through them. Control thread.
//
// age_ms counts from the last answer, or from the first question to one that has not answered.

#include "ctl/cmd.h"
#include "neigh/neigh.h"
#include "port/port.h"

static const char *const columns[] = {
	"address", "interface", "state", "mac", "gateway", "tunnels", "held", "age_ms", NULL,
};

static const char *const states[] = {
	[HOP_ASKING] = "asking",
	[HOP_KNOWN] = "known",
	[HOP_FAILED] = "failed",
};

static void neighbour_put(const struct neigh_view *hop, void *ctx)
{
	struct call *call = ctx;
	const struct ctl_view *view = call->view;
	struct reply *r = &call->reply;
	const uint8_t *b = hop->mac;
	char text[ADDR_STRLEN];

	reply_row(r);
	reply_str(r, NULL, addr_str(text, &hop->addr));
	if (hop->iface < view->n_ifaces)
		reply_str(r, NULL, view->ifaces[hop->iface]->name);
	else
		reply_printf(r, NULL, "%u", hop->iface);
	reply_str(r, NULL, states[hop->state]);
	if (hop->state == HOP_KNOWN)
		reply_printf(r, NULL, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4],
			     b[5]);
	else
		reply_null(r, NULL);
	reply_bool(r, NULL, hop->gateway);
	reply_uint(r, NULL, hop->tunnels);
	reply_uint(r, NULL, hop->held);
	reply_uint(r, NULL, hop->age_ms);
}

bool cmd_show_neighbours(struct call *call)
{
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_table_open(r, "neighbours", columns);
	if (call->view->neigh)
		neigh_each(call->view->neigh, neighbour_put, call);
	reply_table_close(r);
	reply_object_close(r);
	return true;
}
