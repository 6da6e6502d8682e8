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

static const char *const stage_names[] = {
#define STAGE(name, text) [STAGE_##name] = #name,
#include "stats/stage.def"
#undef STAGE
};

static const char *const stage_texts[] = {
#define STAGE(name, text) [STAGE_##name] = text,
#include "stats/stage.def"
#undef STAGE
};

static const enum counter marks[] = {COUNTER_handoff_high, COUNTER_longest_turn}; // no sums

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

const char *stage_str(enum stage stage)
{
	return stage < STAGES ? stage_names[stage] : "unknown";
}

const char *stage_help(enum stage stage)
{
	return stage < STAGES ? stage_texts[stage] : "unknown";
}

void stats_add(struct stats *to, const struct stats *from)
{
	uint64_t high[RTE_DIM(marks)];

	for (unsigned i = 0; i < RTE_DIM(marks); i++)
		high[i] = RTE_MAX(to->counter[marks[i]], stats_read(&from->counter[marks[i]]));
	for (unsigned i = 0; i < COUNTERS; i++)
		to->counter[i] += stats_read(&from->counter[i]);
	for (unsigned i = 0; i < RTE_DIM(marks); i++)
		to->counter[marks[i]] = high[i];
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
