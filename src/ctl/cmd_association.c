// show associations: who speaks PFCP to us, and whom we call (TS 29.244 6.2). Control thread.
//
// heard_ms counts since the peer last proved to be alive; release_ms is what is left of a graceful release.

#include <time.h>

#include "base/clock.h"
#include "ctl/cmd.h"
#include "pfcp/assoc.h"
#include "pfcp/call.h"
#include "pfcp/features.h"
#include "pfcp/node_id.h"
#include "pfcp/print.h"
#include "pfcp/release.h"

static const char *const columns[] = {
	"node_id",       "address",       "local",       "state",      "set_up_by", "sessions",
	"since",         "recovery",      "heard_ms",    "release_ms", "requests",  "heartbeats_rx",
	"heartbeats_tx", "path_failures", "cp_features", NULL,
};

static const char *const call_columns[] = {
	"smf", "state", "tries", "failures", "cause", "next_ms", NULL,
};

static void time_put(struct reply *r, time_t when)
{
	char text[CLOCK_UTC_STRLEN];

	reply_str(r, NULL, clock_utc_str(text, when));
}

// Bits by their names; one without a name as a number.
static void features_put(struct reply *r, const char *key, uint16_t ie_type, uint64_t bits)
{
	reply_list_open(r, key);
	for (unsigned bit = 0; bit < 64; bit++) {
		const char *name = pfcp_flag_str(ie_type, bit);

		if ((bits >> bit & 1) == 0)
			continue;
		if (name)
			reply_str(r, NULL, name);
		else
			reply_printf(r, NULL, "0x%llx", 1ull << bit);
	}
	reply_list_close(r);
}

static void release_put(struct reply *r, const struct assoc *assoc)
{
	if (!assoc->releasing)
		reply_null(r, NULL);
	else if (release_left_ms(assoc) == UINT64_MAX)
		reply_str(r, NULL, "infinite");
	else
		reply_uint(r, NULL, release_left_ms(assoc));
}

static bool assoc_put(void *ctx, const struct assoc *assoc)
{
	struct reply *r = ctx;
	char node_id[NODE_ID_STRLEN];
	char text[ENDPOINT_STRLEN];

	reply_row(r);
	reply_str(r, NULL, node_id_str(node_id, &assoc->id));
	reply_str(r, NULL, endpoint_str(text, &assoc->addr));
	reply_str(r, NULL, addr_str(text, &assoc->local));
	reply_str(r, NULL, assoc_state_str(assoc));
	reply_str(r, NULL, assoc->by_us ? "upf" : "smf");
	reply_uint(r, NULL, assoc->n_sessions);
	time_put(r, assoc->since_s);
	time_put(r, clock_wall_from_ntp(assoc->recovery));
	reply_uint(r, NULL, (clock_now_ns() - assoc->heard_ns) / NS_PER_MS);
	release_put(r, assoc);
	reply_uint(r, NULL, assoc->requests);
	reply_uint(r, NULL, assoc->heartbeats_rx);
	reply_uint(r, NULL, assoc->heartbeats_tx);
	reply_uint(r, NULL, assoc->path_failures);
	features_put(r, NULL, PFCP_IE_CP_FUNCTION_FEATURES, assoc->cp_features);
	return true;
}

static void call_put(struct reply *r, const struct n4_call *call)
{
	uint64_t now_ns = clock_now_ns();
	char text[ADDR_STRLEN];

	reply_row(r);
	reply_str(r, NULL, addr_str(text, &call->smf.addr));
	reply_str(r, NULL, call_state_str(call->state));
	reply_uint(r, NULL, call->tries);
	reply_uint(r, NULL, call->failures);
	if (call->cause)
		reply_str(r, NULL, pfcp_cause_str(call->cause));
	else
		reply_null(r, NULL);
	if (call->state == CALL_WAITING)
		reply_uint(r, NULL,
			   call->due_ns > now_ns ? (call->due_ns - now_ns) / NS_PER_MS : 0);
	else
		reply_null(r, NULL);
}

bool cmd_show_associations(struct call *call)
{
	const struct n4 *n4 = call->view->n4;
	struct reply *r = &call->reply;
	const struct n4_call *to;

	reply_object_open(r, NULL);
	reply_table_open(r, "associations", columns);
	if (n4)
		assoc_each(n4, assoc_put, r);
	reply_table_close(r);
	if (n4 && call_get(n4, 0)) {
		reply_table_open(r, "smfs", call_columns);
		for (unsigned i = 0; (to = call_get(n4, i)) != NULL; i++)
			call_put(r, to);
		reply_table_close(r);
	}
	if (n4)
		features_put(r, "up_features", PFCP_IE_UP_FUNCTION_FEATURES, up_features(&n4->env));
	reply_object_close(r);
	return true;
}
