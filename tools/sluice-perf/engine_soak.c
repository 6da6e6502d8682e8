// Engine soak: a steady rate for a long time, while other sessions come and go; a line each period.
//
// Against a running daemon. A period is a trial of its own: its loss is exact, since what is under way is waited for
// before the next begins. `churn` sessions a second, of other UEs, are established, modified and deleted
// meanwhile. Ends by 1 when anything is wrong, refused, or lost beyond what is tolerated.

#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>

#include "base/clock.h"
#include "base/json.h"
#include "engine.h"
#include "side.h"
#include "summary.h"

#define AT(member) offsetof(struct soak_options, member)
#define PERIODS_MAX 100000
#define CHURN_PLACES 1024u // sessions that may be under way
#define N4_EVERY_NS (NS_PER_MS / 10)

struct soak_options {
	struct side_options side;
	struct number_list sizes;
	uint64_t pps, periods, churn;
	double seconds, loss;
	bool json, csv;
};

static const struct option_row rows[] = {
	{"sizes", OPTION_NUMBERS, AT(sizes), TRAFFIC_SIZE_LEAST, TRAFFIC_SIZE_MOST, "64",
	 .operand = "N,..", .help = "bytes of a user's frame; packets have them in turn"},
	{"pps", OPTION_NUMBER, AT(pps), 1, 100000000, "100000", .operand = "N",
	 .help = "packets a second, of both directions together"},
	{"seconds", OPTION_DECIMAL, AT(seconds), 0, 86400, "1", .operand = "N",
	 .help = "of a period"},
	{"periods", OPTION_NUMBER, AT(periods), 1, PERIODS_MAX, "60", .operand = "N",
	 .help = "how many"},
	{"churn", OPTION_NUMBER, AT(churn), 0, 1000000, "0", .operand = "N",
	 .help = "sessions that come and go, a second"},
	{"loss", OPTION_DECIMAL, AT(loss), 0, 100, "0", .operand = "PERCENT",
	 .help = "what may be lost of all"},
	{"json", OPTION_FLAG, AT(json), .help = "print one JSON object"},
	{"csv", OPTION_FLAG, AT(csv), .help = "print a line a period, comma-separated"},
};

struct soak_run {
	const struct soak_options *o;
	struct side side;
	struct json json;
	uint64_t n4_ns, period_ns; // when N4 is next looked at; when the period began
	uint64_t begun;            // sessions, in this period
	uint64_t completed;        // sessions, in all
	unsigned n_free;
	uint32_t free[CHURN_PLACES];
	uint64_t sent, lost, wrong;
	struct histogram latency;
	double received_pps[PERIODS_MAX];
	unsigned n_periods;
	struct traffic_result result;
};

// --- churn -----------------------------------------------------------------------------------------------

static void procedure_done(void *ctx, enum n4_verb verb, uint32_t session, bool ok)
{
	struct soak_run *run = ctx;

	if (verb == N4_ESTABLISH && ok) {
		n4_start(run->side.n4, N4_MODIFY, session);
	} else if (verb == N4_MODIFY) {
		n4_start(run->side.n4, N4_DELETE, session);
	} else {
		run->completed += ok;
		run->free[run->n_free++] = session;
	}
}

// Begins the sessions that are due, as far as there are places.
static void churn(struct soak_run *run, uint64_t now)
{
	uint64_t due = (now - run->period_ns) * run->o->churn / NS_PER_SEC;

	for (; run->begun < due && run->n_free; run->begun++)
		n4_start(run->side.n4, N4_ESTABLISH, run->free[--run->n_free]);
}

static void soak_idle(void *ctx)
{
	struct soak_run *run = ctx;
	uint64_t now = clock_now_ns();

	if (!run->side.n4 || now < run->n4_ns)
		return;
	run->n4_ns = now + N4_EVERY_NS;
	churn(run, now);
	n4_poll(run->side.n4, 0);
}

static void churn_prepare(struct soak_run *run)
{
	if (!run->side.n4)
		return;
	for (unsigned i = 0; i < CHURN_PLACES; i++)
		run->free[run->n_free++] = (uint32_t)run->o->side.ues + i;
	*n4_counts(run->side.n4) = (struct n4_counts){0};
	n4_on_done(run->side.n4, procedure_done, run);
}

static uint64_t churn_failed(const struct soak_run *run)
{
	uint64_t failed = 0;

	for (unsigned i = 0; run->side.n4 && i < N4_VERBS; i++)
		failed += n4_counts(run->side.n4)->failed[i];
	return failed;
}

// --- periods ---------------------------------------------------------------------------------------------

static void period_print(struct soak_run *run, const struct histogram *latency, uint64_t completed)
{
	const struct traffic_result *r = &run->result;
	double us = 1e6 / (double)traffic_tsc_hz();
	uint64_t lost = r->sent - r->received;

	if (run->o->json) {
		json_object_open(&run->json, NULL);
		json_double(&run->json, "offered_pps", r->offered_pps);
		json_double(&run->json, "received_pps", r->received_pps);
		json_uint(&run->json, "lost", lost);
		json_uint(&run->json, "wrong", r->wrong);
		json_uint(&run->json, "sessions", completed);
		json_double(&run->json, "start_s", (double)r->start_ns * 1e-9);
		json_double(&run->json, "end_s", (double)r->end_ns * 1e-9);
		histogram_json(&run->json, "latency_us", latency, us);
		json_object_close(&run->json);
		return;
	}
	if (run->o->csv) {
		printf("%u,%.0f,%.0f,%llu,%llu,%llu,%.1f\n", run->n_periods, r->offered_pps,
		       r->received_pps, (unsigned long long)lost, (unsigned long long)r->wrong,
		       (unsigned long long)completed,
		       (double)histogram_percentile(latency, 99) * us);
	} else {
		printf("%4u  offered %9.0f received %9.0f lost %6llu wrong %llu sessions %6llu  us: ",
		       run->n_periods, r->offered_pps, r->received_pps, (unsigned long long)lost,
		       (unsigned long long)r->wrong, (unsigned long long)completed);
		histogram_print(latency, us);
	}
	fflush(stdout);
}

static void period_run(struct soak_run *run)
{
	struct traffic_trial trial = {.pps = (double)run->o->pps,
				      .seconds = run->o->seconds,
				      .ways = run->o->side.ways,
				      .n_sizes = run->o->sizes.n};
	const struct traffic_result *r = &run->result;
	uint64_t completed = run->completed;
	static struct histogram latency;

	for (unsigned i = 0; i < trial.n_sizes; i++)
		trial.sizes[i] = (uint16_t)run->o->sizes.at[i];
	run->period_ns = clock_now_ns();
	run->begun = 0;
	traffic_run(run->side.traffic, &trial, soak_idle, run, &run->result);
	run->sent += r->sent;
	run->lost += r->sent - r->received;
	run->wrong += r->wrong;
	latency = r->way[TRAFFIC_UP].cycles;
	histogram_merge(&latency, &r->way[TRAFFIC_DOWN].cycles);
	histogram_merge(&run->latency, &latency);
	run->received_pps[run->n_periods++] = r->received_pps;
	period_print(run, &latency, run->completed - completed);
}

// --- the run ---------------------------------------------------------------------------------------------

static double loss_percent(const struct soak_run *run)
{
	return run->sent ? 100 * (double)run->lost / (double)run->sent : 100;
}

static void result_json(struct soak_run *run, const struct summary *rate)
{
	struct json *j = &run->json;

	json_array_close(j);
	json_uint(j, "sent", run->sent);
	json_uint(j, "lost", run->lost);
	json_double(j, "loss", loss_percent(run) / 100);
	json_uint(j, "wrong", run->wrong);
	json_double(j, "received_pps_min", rate->min);
	json_double(j, "received_pps", rate->median);
	json_double(j, "received_pps_max", rate->max);
	json_uint(j, "sessions", run->completed);
	json_uint(j, "sessions_failed", churn_failed(run));
	histogram_json(j, "latency_us", &run->latency, 1e6 / (double)traffic_tsc_hz());
	json_object_close(j);
	putchar('\n');
}

static void result_print(struct soak_run *run, const struct summary *rate)
{
	printf("sent %llu, lost %llu (%.6f %%), wrong %llu; received a second min %.0f median %.0f max "
	       "%.0f; sessions %llu, failed procedures %llu\n",
	       (unsigned long long)run->sent, (unsigned long long)run->lost, loss_percent(run),
	       (unsigned long long)run->wrong, rate->min, rate->median, rate->max,
	       (unsigned long long)run->completed, (unsigned long long)churn_failed(run));
}

static void periods_run(struct soak_run *run)
{
	struct summary rate;

	if (run->o->json) {
		json_init_file(&run->json, stdout);
		json_object_open(&run->json, NULL);
		json_str(&run->json, "engine", "soak");
		json_uint(&run->json, "ues", run->o->side.ues);
		json_double(&run->json, "established_s", run->side.established_s);
		json_array_open(&run->json, "periods");
	} else if (run->o->csv) {
		puts("period,offered_pps,received_pps,lost,wrong,sessions,p99_us");
	}
	while (run->n_periods < run->o->periods)
		period_run(run);
	while (run->side.n4 && n4_open_requests(run->side.n4))
		n4_poll(run->side.n4, 1);
	rate = summary_of(run->received_pps, run->n_periods);
	if (run->o->json)
		result_json(run, &rate);
	else if (!run->o->csv)
		result_print(run, &rate);
}

static int run_soak(int argc, char **argv)
{
	static struct soak_run run;
	struct soak_options o = {0};
	const struct option_table tables[] = {{side_rows, side_n_rows, &o.side},
					      {rows, RTE_DIM(rows), &o}};
	int rc = options_parse(tables, RTE_DIM(tables),
			       "soak --n3-port DEVICE --n6-port DEVICE [OPTION...]", argc, argv);

	if (rc != 0)
		return rc > 0 ? 0 : 2;
	run.o = &o;
	o.side.more_sessions = CHURN_PLACES;
	side_open(&o.side, &run.side);
	churn_prepare(&run);
	periods_run(&run);
	rc = run.wrong || churn_failed(&run) || loss_percent(&run) > o.loss;
	side_close(&run.side);
	return rc;
}

const struct engine engine_soak = {
	.name = "soak",
	.help = "a steady rate for long while sessions come and go, against a running daemon",
	.run = run_soak,
};
