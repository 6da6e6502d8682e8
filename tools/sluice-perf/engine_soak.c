// Engine soak: a steady rate for a long time, while other sessions come and go; a line each period.
//
// Against a running daemon. A period is a trial of its own: its loss is exact, since what is under way is waited for
// before the next begins. `churn` sessions a second, of other UEs, are established, modified and deleted
// meanwhile. With `share` the rate is that share of the no-drop rate, which is looked for first, under the same
// conditions. Ends by 1 when anything is wrong, refused, or lost beyond what is tolerated.

#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>

#include "base/clock.h"
#include "base/json.h"
#include "churn.h"
#include "engine.h"
#include "search.h"
#include "side.h"
#include "summary.h"
#include "trial.h"

#define AT(member) offsetof(struct soak_options, member)
#define PERIODS_MAX 100000
#define TRIALS_MAX 64
#define SETTLE_NS NS_PER_SEC

struct soak_options {
	struct side_options side;
	struct number_list sizes;
	uint64_t pps, periods, churn;
	double seconds, loss, share, trial_seconds, trial_loss, precision;
	bool json, csv;
};

static const struct option_row rows[] = {
	{"sizes", OPTION_NUMBERS, AT(sizes), TRAFFIC_SIZE_LEAST, TRAFFIC_SIZE_MOST, "64",
	 .operand = "N,..", .help = "bytes of a user's frame; packets have them in turn"},
	{"pps", OPTION_NUMBER, AT(pps), 1, 100000000, "100000", .operand = "N",
	 .help = "packets a second, of both directions together; with --share the most that is tried"},
	{"share", OPTION_DECIMAL, AT(share), 0, 100, "0", .operand = "PERCENT",
	 .help = "of the no-drop rate, which is found first; 0: --pps is the rate"},
	{"trial-seconds", OPTION_DECIMAL, AT(trial_seconds), 0, 3600, "2", .operand = "N",
	 .help = "of a trial of that search"},
	{"trial-loss", OPTION_DECIMAL, AT(trial_loss), 0, 100, "0", .operand = "PERCENT",
	 .help = "what such a trial may lose"},
	{"precision", OPTION_DECIMAL, AT(precision), 0, 50, "5", .operand = "PERCENT",
	 .help = "at which the search ends"},
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
	struct churn churn;
	double pps; // of the periods
	struct search search;
	unsigned n_trials;
	struct trial_note trials[TRIALS_MAX];
	uint64_t sessions; // that came and went in the periods
	double seconds;    // from the first period's begin to the last one's end
	uint64_t sent, lost, wrong;
	struct histogram latency;
	double received_pps[PERIODS_MAX];
	unsigned n_periods;
	struct traffic_result result;
};

static void trial_run(struct soak_run *run, double pps, double seconds)
{
	const struct number_list *sizes = &run->o->sizes;
	struct traffic_trial trial = {
		.pps = pps, .seconds = seconds, .ways = run->o->side.ways, .n_sizes = sizes->n};

	for (unsigned i = 0; i < sizes->n; i++)
		trial.sizes[i] = (uint16_t)sizes->at[i];
	traffic_run(run->side.traffic, &trial, churn_idle, &run->churn, &run->result);
	run->wrong += run->result.wrong;
}

// --- the rate --------------------------------------------------------------------------------------------

static void search_json(struct soak_run *run)
{
	struct json *j = &run->json;

	json_object_open(j, "search");
	json_double(j, "ndr_pps", run->search.low);
	json_double(j, "overload_pps", run->search.overload);
	json_bool(j, "generator_limited", run->search.limited);
	json_double(j, "loss_tolerance_percent", run->o->trial_loss);
	json_double(j, "trial_seconds", run->o->trial_seconds);
	trial_notes_json(j, run->trials, run->n_trials);
	json_object_close(j);
}

static void search_run(struct soak_run *run)
{
	bool quiet = run->o->json || run->o->csv;
	double rate;

	search_init(&run->search, (double)run->o->pps, run->o->precision / 100);
	while (run->n_trials < TRIALS_MAX && (rate = search_next(&run->search)) > 0) {
		struct trial_note *note = &run->trials[run->n_trials++];

		trial_run(run, rate, run->o->trial_seconds);
		*note = trial_note_of(&run->result, run->o->trial_loss);
		search_take(&run->search, note->offered, note->received, note->passed);
		if (!quiet)
			trial_note_print("search", note);
	}
	if (!quiet)
		printf("  no-drop rate %.0f, %.0f under overload%s\n", run->search.low,
		       run->search.overload,
		       run->search.limited ? "; the traffic side is the limit" : "");
}

// So that what the search has lost is told before the periods begin.
static void settle(struct soak_run *run)
{
	for (uint64_t start = clock_now_ns(); clock_now_ns() < start + SETTLE_NS;)
		churn_idle(&run->churn);
}

// Gives the periods' rate. False: none passed without loss.
static bool rate_find(struct soak_run *run)
{
	run->pps = (double)run->o->pps;
	if (run->o->share <= 0)
		return true;
	search_run(run);
	if (run->o->json)
		search_json(run);
	settle(run);
	run->pps = run->search.low * run->o->share / 100;
	return run->pps > 0;
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
	const struct traffic_result *r = &run->result;
	uint64_t completed = run->churn.completed;
	static struct histogram latency;

	trial_run(run, run->pps, run->o->seconds);
	run->sent += r->sent;
	run->lost += r->sent - r->received;
	latency = r->way[TRAFFIC_UP].cycles;
	histogram_merge(&latency, &r->way[TRAFFIC_DOWN].cycles);
	histogram_merge(&run->latency, &latency);
	run->received_pps[run->n_periods++] = r->received_pps;
	period_print(run, &latency, run->churn.completed - completed);
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
	json_uint(j, "sessions", run->sessions);
	json_double(j, "sessions_per_s", (double)run->sessions / run->seconds);
	json_uint(j, "sessions_failed", churn_failed(&run->churn));
	histogram_json(j, "latency_us", &run->latency, 1e6 / (double)traffic_tsc_hz());
	json_object_close(j);
	putchar('\n');
}

static void result_print(struct soak_run *run, const struct summary *rate)
{
	printf("sent %llu, lost %llu (%.6f %%), wrong %llu; received a second min %.0f median %.0f max "
	       "%.0f; sessions %llu, %.0f a second, failed procedures %llu\n",
	       (unsigned long long)run->sent, (unsigned long long)run->lost, loss_percent(run),
	       (unsigned long long)run->wrong, rate->min, rate->median, rate->max,
	       (unsigned long long)run->sessions, (double)run->sessions / run->seconds,
	       (unsigned long long)churn_failed(&run->churn));
}

static void periods_run(struct soak_run *run)
{
	uint64_t start = clock_now_ns(), completed = run->churn.completed;

	if (run->o->json)
		json_array_open(&run->json, "periods");
	else if (run->o->csv)
		puts("period,offered_pps,received_pps,lost,wrong,sessions,p99_us");
	while (run->n_periods < run->o->periods)
		period_run(run);
	run->seconds = (double)(clock_now_ns() - start) / (double)NS_PER_SEC;
	run->sessions = run->churn.completed - completed;
}

static void measure(struct soak_run *run)
{
	struct summary rate;

	if (run->o->json) {
		json_init_file(&run->json, stdout);
		json_object_open(&run->json, NULL);
		json_str(&run->json, "engine", "soak");
		json_uint(&run->json, "ues", run->o->side.ues);
		json_double(&run->json, "established_s", run->side.established_s);
	}
	if (!rate_find(run)) {
		fputs("sluice-perf: no rate passed without loss\n", stderr);
		exit(1);
	}
	if (run->o->json)
		json_double(&run->json, "asked_pps", run->pps);
	periods_run(run);
	churn_end(&run->churn);
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
	churn_start(&run.churn, run.side.n4, (uint32_t)o.side.ues, o.churn);
	measure(&run);
	rc = run.wrong || churn_failed(&run.churn) || loss_percent(&run) > o.loss;
	side_close(&run.side);
	return rc;
}

const struct engine engine_soak = {
	.name = "soak",
	.help = "a steady rate for long while sessions come and go, against a running daemon",
	.run = run_soak,
};
