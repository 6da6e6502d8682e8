// show pfcp resources: what peers make us keep, as it is now. Control thread.
//
// When the last session has gone and its answers are no longer kept, all of it is 0 but the associations: what
// stays is a leak.

#include "base/slab.h"
#include "ctl/cmd.h"
#include "pfcp/assoc.h"
#include "pfcp/n4.h"
#include "pfcp/n4_session.h"
#include "pfcp/xact.h"
#include "rules/arena.h"
#include "session/locator.h"
#include "session/slots.h"

static void sessions_put(struct reply *r, const struct n4 *n4)
{
	const struct n4_env *env = &n4->env;
	struct rule_arena_counts arena;
	struct slab_counts slabs;
	uint32_t slots = 0, tunnels = 0;

	for (unsigned i = 0; i < env->n_workers; i++) {
		slots += slots_used(env->slots, i);
		tunnels += slots_tunnels_used(env->slots, i);
	}
	rule_arena_counts_get(env->arena, &arena);
	reply_count(r, "sessions", n4_session_count(n4), "sessions");
	slab_counts_get(&slabs);
	reply_count(r, "session_bytes", slabs.bytes,
		    "memory of them, beside the tables that sessions.max gives the size of");
	reply_count(r, "slots", slots, "their places in the workers' tables");
	reply_count(r, "tunnels", tunnels, "records of F-TEIDs beyond the first of a session");
	reply_count(r, "given_teids", env->locator->n_teids, "TEIDs that SMFs chose");
	reply_count(r, "ue_addresses", env->locator->n_ue_v4 + env->locator->n_ue_v6,
		    "UE addresses outside of the pools");
	reply_count(r, "rule_blocks", arena.blocks, "compiled rules, shared by like sessions");
	reply_count(r, "rule_users", arena.users, "references to them");
	reply_count(r, "rule_bytes", arena.bytes_used, "memory of them");
}

static void requests_put(struct reply *r, const struct n4 *n4)
{
	struct xact_counts xacts;

	xact_counts_get(n4, &xacts);
	reply_count(r, "associations", assoc_count(n4), "associations");
	reply_count(r, "requests_waiting", xacts.waiting, "requests of peers being worked on");
	reply_count(r, "request_bytes", n4->waiting_bytes, "memory of them");
	reply_count(r, "answers_kept", xacts.stored, "answers kept for repeated requests");
	reply_count(r, "answer_peers", xacts.peers, "addresses that these belong to");
	reply_count(r, "requests_of_ours", xacts.requests,
		    "requests of ours without an answer yet");
	reply_count(r, "transaction_bytes", xacts.bytes, "memory of all transactions");
}

bool cmd_show_pfcp_resources(struct call *call)
{
	const struct n4 *n4 = call->view->n4;
	struct reply *r = &call->reply;

	reply_counts_open(r, NULL);
	if (n4) {
		requests_put(r, n4);
		if (n4->env.slots)
			sessions_put(r, n4);
	}
	reply_counts_close(r);
	return true;
}
