// The order of starting and stopping (upf.h).
//
// The tables first, then whom others speak to (CLI, N4), then the ports, and last the workers, which poll
// them; when all run, systemd is told. N4 is read only in upf_run(), so no request comes too early.

#include "app/upf.h"

#include <event2/event.h>

#include "app/notify.h"
#include "base/clock.h"
#include "base/log.h"
#include "ctl/server.h"
#include "pipeline/pipeline.h"

static int cli_start(struct upf *upf)
{
	const struct ctl_view view = {
		.version = SLUICE_VERSION,
		.start_ns = clock_now_ns(),
		.workers = upf->control.workers,
		.n_workers = upf->n_workers,
		.control = &upf->control.stats,
		.ifaces = upf->ifaces,
		.n_ifaces = upf->n_ifaces,
		.neigh = upf->control.neigh,
		.n4 = upf->n4,
		.config = &upf->config,
		.services = dispatch_order(),
	};
	const struct ctl_conf conf = {
		.path = upf->config.cli.socket,
		.group = upf->config.cli.group,
	};

	upf->ctl = ctl_start(upf->base, &conf, &view);
	return upf->ctl ? 0 : -1;
}

int upf_start(struct upf *upf)
{
	// Not this second, which may be that in which another daemon started and ended: see n4_start().
	upf->recovery = clock_ntp_s() + 1;
	upf->base = event_base_new();
	if (!upf->base) {
		log_error("no memory for the event loop");
		return -1;
	}
	if (upf_ports_open(upf) != 0 || upf_sessions_make(upf) != 0 || cli_start(upf) != 0 ||
	    upf_control_start(upf) != 0 || n4_start(upf->n4, upf->base) != 0 ||
	    upf_ports_start(upf) != 0 || upf_workers_launch(upf) != 0)
		return -1;
	log_info("ready: %u worker%s, %u sessions at most, N4 at port %u", upf->n_workers,
		 upf->n_workers == 1 ? "" : "s", upf->config.sessions.max, upf->config.n4.port);
	notify_ready();
	return 0;
}

void upf_stop(struct upf *upf)
{
	notify_stopping();
	upf_workers_stop(upf);
	ctl_stop(upf->ctl);
	upf_control_stop(upf);
	upf_sessions_free(upf);
	upf_ports_close(upf);
	if (upf->base)
		event_base_free(upf->base);
	eal_stop();
}
