// show version: what runs, since when, and as which process. Control thread.
//
// The daemon is ready once this answers.

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include <rte_version.h>

#include "base/clock.h"
#include "config/config.h"
#include "ctl/cmd.h"

bool cmd_show_version(struct call *call)
{
	const struct ctl_view *view = call->view;
	uint64_t uptime_s = (clock_now_ns() - view->start_ns) / NS_PER_SEC;
	time_t started = clock_wall_s() - (time_t)uptime_s;
	struct reply *r = &call->reply;
	char text[CLOCK_UTC_STRLEN];

	reply_object_open(r, NULL);
	reply_str(r, "version", view->version);
	reply_str(r, "dpdk", rte_version());
	reply_uint(r, "pid", (uint64_t)getpid());
	reply_str(r, "started", clock_utc_str(text, started));
	reply_uint(r, "uptime_s", uptime_s);
	if (view->config) {
		reply_str(r, "name", view->config->node.name);
		reply_str(r, "node_id", view->config->node.id);
		reply_str(r, "mode", config_mode_str(view->config->mode));
	}
	reply_uint(r, "workers", view->n_workers);
	reply_object_close(r);
	return true;
}
