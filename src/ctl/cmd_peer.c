// show peers: gNBs and UPFs that tunnels go to, and what Echo Requests say of their paths. Control thread.
//
// answered_ms counts from the last Echo Response; there is none of a peer that never answered.

#include "base/clock.h"
#include "ctl/cmd.h"
#include "neigh/neigh.h"
#include "port/port.h"

static const char *const columns[] = {
	"address",     "interface", "path",     "tunnels",  "sent", "answered",
	"answered_ms", "failures",  "recovery", "restarts", NULL,
};

static const char *const states[] = {
	[GTPU_PATH_UNKNOWN] = "unknown",
	[GTPU_PATH_UP] = "up",
	[GTPU_PATH_DOWN] = "down",
};

static void peer_put(const struct gtpu_peer_view *peer, void *ctx)
{
	struct call *call = ctx;
	const struct ctl_view *view = call->view;
	const struct gtpu_path *path = peer->path;
	struct reply *r = &call->reply;
	char text[ADDR_STRLEN];

	reply_row(r);
	reply_str(r, NULL, addr_str(text, &peer->addr));
	if (peer->iface < view->n_ifaces)
		reply_str(r, NULL, view->ifaces[peer->iface]->name);
	else
		reply_printf(r, NULL, "%u", peer->iface);
	reply_str(r, NULL, states[path->state]);
	reply_uint(r, NULL, peer->tunnels);
	reply_uint(r, NULL, path->sent);
	reply_uint(r, NULL, path->answered);
	if (path->answered)
		reply_uint(r, NULL, (clock_now_ns() - path->answered_ns) / NS_PER_MS);
	else
		reply_null(r, NULL);
	reply_uint(r, NULL, path->failures);
	if (path->has_recovery)
		reply_uint(r, NULL, path->recovery);
	else
		reply_null(r, NULL);
	reply_uint(r, NULL, path->restarts);
}

bool cmd_show_peers(struct call *call)
{
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_table_open(r, "peers", columns);
	if (call->view->neigh)
		neigh_each_peer(call->view->neigh, peer_put, call);
	reply_table_close(r);
	reply_object_close(r);
	return true;
}
