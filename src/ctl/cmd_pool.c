// show pools: what UE addresses are given out of, and how much of it is left. Control thread.
//
// Sizes count IPv4 addresses, or /64s; used is what Sluice has given out itself.

#include "ctl/cmd.h"
#include "pfcp/n4.h"
#include "session/ue_pool.h"

static const char *const columns[] = {
	"network_instance", "interface", "pool", "size", "used", "prefixes", "resting", NULL,
};

static void pool_put(void *ctx, const struct ue_pool_view *pool)
{
	struct call *call = ctx;
	const struct n4_env *env = &call->view->n4->env;
	struct reply *r = &call->reply;
	char text[PREFIX_STRLEN];

	reply_row(r);
	reply_str(r, NULL, env->nis[pool->ni].name);
	reply_str(r, NULL, env->ifaces[pool->iface].name);
	reply_str(r, NULL, prefix_str(text, &pool->prefix));
	reply_uint(r, NULL, pool->size);
	reply_uint(r, NULL, pool->used);
	reply_uint(r, NULL, pool->prefixes);
	reply_uint(r, NULL, pool->resting);
}

bool cmd_show_pools(struct call *call)
{
	const struct n4 *n4 = call->view->n4;
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_table_open(r, "pools", columns);
	if (n4 && n4->env.ue_pools)
		ue_pools_each(n4->env.ue_pools, pool_put, call);
	reply_table_close(r);
	reply_object_close(r);
	return true;
}
