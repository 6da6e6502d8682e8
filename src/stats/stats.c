// Names and sums of the counters (stats.h).
//
// Any thread.

#include "stats/stats.h"

#include <rte_common.h>

static const char *const drop_names[] = {
	[DROP_NONE] = "none",
#define DROP(name, text) [DROP_##name] = #name,
#include "stats/drop.def"
#undef DROP
};

static const char *const drop_texts[] = {
	[DROP_NONE] = "not dropped",
#define DROP(name, text) [DROP_##name] = text,
#include "stats/drop.def"
#undef DROP
};

static const char *const counter_names[] = {
#define COUNTER(name, text) [COUNTER_##name] = #name,
#include "stats/counter.def"
#undef COUNTER
};

static const char *const counter_texts[] = {
#define COUNTER(name, text) [COUNTER_##name] = text,
#include "stats/counter.def"
#undef COUNTER
};

const char *drop_str(enum drop reason)
{
	return reason < DROP_REASONS ? drop_names[reason] : "unknown";
}

const char *drop_help(enum drop reason)
{
	return reason < DROP_REASONS ? drop_texts[reason] : "unknown";
}

const char *counter_str(enum counter counter)
{
	return counter < COUNTERS ? counter_names[counter] : "unknown";
}

const char *counter_help(enum counter counter)
{
	return counter < COUNTERS ? counter_texts[counter] : "unknown";
}

void stats_add(struct stats *to, const struct stats *from)
{
	uint64_t high = RTE_MAX(to->counter[COUNTER_handoff_high],
				stats_read(&from->counter[COUNTER_handoff_high]));

	for (unsigned i = 0; i < COUNTERS; i++)
		to->counter[i] += stats_read(&from->counter[i]);
	to->counter[COUNTER_handoff_high] = high; // a mark, not a sum
	for (unsigned i = 0; i < DROP_REASONS; i++)
		to->drop[i] += stats_read(&from->drop[i]);
}

uint64_t stats_in(const struct stats *stats)
{
	const uint64_t *c = stats->counter;

	return c[COUNTER_rx] + c[COUNTER_handoff_in] + c[COUNTER_injected] + c[COUNTER_made];
}

uint64_t stats_out(const struct stats *stats)
{
	const uint64_t *c = stats->counter;
	uint64_t sum = c[COUNTER_tx] + c[COUNTER_handoff_out] + c[COUNTER_punted] +
		       c[COUNTER_consumed] + c[COUNTER_held];

	for (unsigned i = 0; i < DROP_REASONS; i++)
		sum += stats->drop[i];
	return sum;
}
