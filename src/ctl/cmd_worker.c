// show workers: what each worker has and does; show cycles: where their time goes. Control thread; it reads what
// the workers write.
//
// idle_percent is the share of a worker's time since its start in which it found no packet or slept; turn_packets
// and turn_cycles are the means of its turns that found some. mbufs_free are the buffers of the worker's pool that
// nobody holds; ports keep some in their rings, so a fall that goes on is a leak.

#include "config/config.h"
#include "ctl/cmd.h"
#include "service/service.h"
#include "stats/stats.h"
#include "worker/worker.h"

static const char *const columns[] = {
	"worker",     "cpu",          "sessions",     "flows",        "rx",           "tx",
	"handoff_in", "handoff_out",  "handoff_high", "punted",       "dropped",      "mbufs_free",
	"turns",      "turn_packets", "turn_cycles",  "longest_turn", "idle_percent", NULL,
};

// The columns that are counters, in their order.
static const enum counter counters[] = {
	COUNTER_rx,          COUNTER_tx,           COUNTER_handoff_in,
	COUNTER_handoff_out, COUNTER_handoff_high, COUNTER_punted,
};

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0.0;
}

static uint64_t count(const struct worker *w, enum counter counter)
{
	return stats_read(&w->stats.counter[counter]);
}

static void turns_put(struct reply *r, const struct worker *w)
{
	uint64_t turns = count(w, COUNTER_turns);
	uint64_t busy = turns - count(w, COUNTER_idle_turns);
	uint64_t cycles = count(w, COUNTER_busy_cycles), idle = count(w, COUNTER_idle_cycles);

	reply_uint(r, NULL, turns);
	reply_double(r, NULL, share(count(w, COUNTER_rx) + count(w, COUNTER_handoff_in), busy));
	reply_double(r, NULL, share(cycles, busy));
	reply_uint(r, NULL, count(w, COUNTER_longest_turn));
	reply_double(r, NULL, 100.0 * share(idle, cycles + idle));
}

static void worker_put(struct reply *r, const struct ctl_view *view, const struct worker *w)
{
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
	reply_uint(r, NULL, __atomic_load_n(&w->flows.table.used, __ATOMIC_RELAXED));
	for (unsigned i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		reply_uint(r, NULL, count(w, counters[i]));
	reply_uint(r, NULL, dropped);
	if (w->pool)
		reply_uint(r, NULL, rte_mempool_avail_count(w->pool));
	else
		reply_null(r, NULL);
	turns_put(r, w);
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

static const char *const cycles_columns[] = {
	"worker", "where", "packets", "cycles", "cycles_per_packet", "help", NULL,
};

static void cycles_row(struct reply *r, const struct worker *w, const char *where, uint64_t packets,
		       uint64_t cycles, const char *help)
{
	reply_row(r);
	reply_uint(r, NULL, w->id);
	reply_str(r, NULL, where);
	reply_uint(r, NULL, packets);
	reply_uint(r, NULL, cycles);
	reply_double(r, NULL, share(cycles, packets));
	reply_str(r, NULL, help);
}

// Of the turns that were samples (worker/profile.h).
static void cycles_put(struct reply *r, const struct service_order *order, const struct worker *w)
{
	const struct stats *stats = &w->stats;

	for (unsigned i = 0; i < STAGES; i++)
		cycles_row(r, w, stage_str(i), stats_read(&stats->sampled_packets),
			   stats_read(&stats->stage_cycles[i]), stage_help(i));
	for (unsigned bit = 0; order && bit < SERVICES_MAX; bit++)
		if (order->services[bit])
			cycles_row(r, w, order->services[bit]->name,
				   stats_read(&stats->service_packets[bit]),
				   stats_read(&stats->service_cycles[bit]),
				   order->services[bit]->help);
}

bool cmd_show_cycles(struct call *call)
{
	const struct ctl_view *view = call->view;
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_table_open(r, "cycles", cycles_columns);
	for (unsigned i = 0; i < view->n_workers; i++)
		cycles_put(r, view->services, view->workers[i]);
	reply_table_close(r);
	reply_object_close(r);
	return true;
}
