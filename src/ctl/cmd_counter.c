// show counters, show drops: every counter of stats.h, of each thread and in sum. Control thread.
//
// Workers go on counting while this reads, so sums agree only between two packets.

#include "ctl/cmd.h"
#include "stats/stats.h"
#include "worker/worker.h"

static const struct stats no_stats;

static void counters_put(struct reply *r, const struct stats *stats)
{
	reply_counts_open(r, "counters");
	for (unsigned i = 0; i < COUNTERS; i++)
		reply_count(r, counter_str(i), stats_read(&stats->counter[i]), counter_help(i));
	reply_counts_close(r);
}

static void drops_put(struct reply *r, const char *key, const struct stats *stats)
{
	reply_counts_open(r, key);
	for (unsigned i = DROP_NONE + 1; i < DROP_REASONS; i++)
		reply_count(r, drop_str(i), stats_read(&stats->drop[i]), drop_help(i));
	reply_counts_close(r);
}

static const struct stats *control_stats(const struct ctl_view *view)
{
	return view->control ? view->control : &no_stats;
}

bool cmd_show_counters(struct call *call)
{
	const struct ctl_view *view = call->view;
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_array_open(r, "workers");
	for (unsigned i = 0; i < view->n_workers; i++) {
		reply_object_open(r, NULL);
		reply_uint(r, "worker", view->workers[i]->id);
		counters_put(r, &view->workers[i]->stats);
		drops_put(r, "drops", &view->workers[i]->stats);
		reply_object_close(r);
	}
	reply_array_close(r);
	reply_object_open(r, "control");
	counters_put(r, control_stats(view));
	drops_put(r, "drops", control_stats(view));
	reply_object_close(r);
	reply_object_close(r);
	return true;
}

bool cmd_show_drops(struct call *call)
{
	const struct ctl_view *view = call->view;
	struct stats sum = *control_stats(view);

	for (unsigned i = 0; i < view->n_workers; i++)
		stats_add(&sum, &view->workers[i]->stats);
	drops_put(&call->reply, NULL, &sum);
	return true;
}
