// show associations: who speaks PFCP to us (TS 29.244 6.2). Control thread.
//
// heard_ms counts since the peer last proved to be alive.

#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "ctl/cmd.h"
#include "pfcp/assoc.h"
#include "pfcp/node_id.h"

static const char *const columns[] = {
	"node_id",  "address",       "state",         "sessions",      "since",       "heard_ms",
	"requests", "heartbeats_rx", "heartbeats_tx", "path_failures", "cp_features", NULL,
};

static bool assoc_put(void *ctx, const struct assoc *assoc)
{
	struct reply *r = ctx;
	char node_id[NODE_ID_STRLEN];
	char text[ENDPOINT_STRLEN];
	char since[32] = "";
	struct tm tm;

	if (gmtime_r(&assoc->since_s, &tm))
		strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", &tm);
	reply_row(r);
	reply_str(r, NULL, node_id_str(node_id, &assoc->id));
	reply_str(r, NULL, endpoint_str(text, &assoc->addr));
	reply_str(r, NULL, assoc_state_str(assoc->state));
	reply_uint(r, NULL, assoc->n_sessions);
	reply_str(r, NULL, since);
	reply_uint(r, NULL, (clock_now_ns() - assoc->heard_ns) / NS_PER_MS);
	reply_uint(r, NULL, assoc->requests);
	reply_uint(r, NULL, assoc->heartbeats_rx);
	reply_uint(r, NULL, assoc->heartbeats_tx);
	reply_uint(r, NULL, assoc->path_failures);
	reply_printf(r, NULL, "0x%" PRIx64, assoc->cp_features);
	return true;
}

bool cmd_show_associations(struct call *call)
{
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_table_open(r, "associations", columns);
	if (call->view->n4)
		assoc_each(call->view->n4, assoc_put, r);
	reply_table_close(r);
	reply_object_close(r);
	return true;
}
