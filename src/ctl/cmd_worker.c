// show workers: what each worker has and does. Control thread; it reads what the workers write.
//
// idle_percent is the share of a worker's turns since its start that found no packet. mbufs_free are the buffers
// of the worker's pool that nobody holds; ports keep some in their rings, so a fall that goes on is a leak.

#include "config/config.h"
#include "ctl/cmd.h"
#include "stats/stats.h"
#include "worker/worker.h"

static const char *const columns[] = {
	"worker",       "cpu",    "sessions", "rx",         "tx",    "handoff_in",   "handoff_out",
	"handoff_high", "punted", "dropped",  "mbufs_free", "turns", "idle_percent", NULL,
};

// The columns that are counters, in their order.
static const enum counter counters[] = {
	COUNTER_rx,          COUNTER_tx,           COUNTER_handoff_in,
	COUNTER_handoff_out, COUNTER_handoff_high, COUNTER_punted,
};

static void worker_put(struct reply *r, const struct ctl_view *view, const struct worker *w)
{
	uint64_t turns = stats_read(&w->stats.counter[COUNTER_turns]);
	uint64_t idle = stats_read(&w->stats.counter[COUNTER_idle_turns]);
	uint64_t dropped = 0;

	for (unsigned i = DROP_NONE + 1; i < DROP_REASONS; i++)
		dropped += stats_read(&w->stats.drop[i]);
	reply_row(r);
	reply_uint(r, NULL, w->id);
	if (view->config && w->id < view->config->workers.n_cpus)
		reply_uint(r, NULL, view->config->workers.cpus[w->id]);
	else
		reply_null(r, NULL);
	reply_uint(r, NULL, __atomic_load_n(&w->table.used, __ATOMIC_RELAXED));
	for (unsigned i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		reply_uint(r, NULL, stats_read(&w->stats.counter[counters[i]]));
	reply_uint(r, NULL, dropped);
	if (w->pool)
		reply_uint(r, NULL, rte_mempool_avail_count(w->pool));
	else
		reply_null(r, NULL);
	reply_uint(r, NULL, turns);
	reply_double(r, NULL, turns ? 100.0 * (double)idle / (double)turns : 0.0);
}

bool cmd_show_workers(struct call *call)
{
	const struct ctl_view *view = call->view;
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_table_open(r, "workers", columns);
	for (unsigned i = 0; i < view->n_workers; i++)
		worker_put(r, view, view->workers[i]);
	reply_table_close(r);
	reply_object_close(r);
	return true;
}
