// Engine pfcp: how fast sessions are established, modified and deleted over N4, and how long each takes.
//
// Against a running daemon. A session goes through the three, one after the other, and then the next begins in its
// place; `window` sessions are under way at once. Beside them stand `standing` sessions that were established
// before. Each procedure counts from its request to its answer, which comes after the workers have the rules.

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "engine.h"
#include "n4.h"
#include "options.h"
#include "summary.h"

#define AT(member) offsetof(struct pfcp_options, member)
#define N(a) (sizeof(a) / sizeof((a)[0]))
#define PERIODS_MAX 100000
#define US_OF_NS 1e-3
#define WAIT_S 3

struct pfcp_options {
	struct addr smf, upf, gnb, ue_base, ue6_base;
	const char *dnn;
	uint64_t standing, window, seconds;
	struct number_list cpus; // none: any
	bool json, csv;
};

static const struct option_row rows[] = {
	{"smf", OPTION_ADDR, AT(smf), .def = "10.10.4.2", .operand = "ADDRESS",
	 .help = "our own address for PFCP"},
	{"n4", OPTION_ADDR, AT(upf), .def = "10.10.4.1", .operand = "ADDRESS",
	 .help = "the daemon's address for PFCP"},
	{"gnb", OPTION_ADDR, AT(gnb), .def = "10.10.3.2", .operand = "ADDRESS",
	 .help = "where the tunnels down end"},
	{"dnn", OPTION_TEXT, AT(dnn), .def = "internet", .operand = "NAME",
	 .help = "the network instance"},
	{"ue-base", OPTION_ADDR, AT(ue_base), .def = "10.45.0.1", .operand = "ADDRESS",
	 .help = "the first UE's address; the others follow"},
	{"ue6-base", OPTION_ADDR6, AT(ue6_base), .operand = "ADDRESS",
	 .help = "the first UE's /64; then each has one, and a second tunnel up"},
	{"standing", OPTION_NUMBER, AT(standing), 0, 16000000, "0", .operand = "N",
	 .help = "sessions that stand meanwhile"},
	{"window", OPTION_NUMBER, AT(window), 1, N4_WINDOW_MAX, "32", .operand = "N",
	 .help = "sessions that come and go at once"},
	{"seconds", OPTION_NUMBER, AT(seconds), 1, PERIODS_MAX, "10", .operand = "N",
	 .help = "how long, in periods of one second"},
	{"cpu", OPTION_NUMBERS, AT(cpus), 0, CPU_SETSIZE - 1, .operand = "N,..",
	 .help = "where the SMF runs, instead of anywhere"},
	{"json", OPTION_FLAG, AT(json), .help = "print one JSON object"},
	{"csv", OPTION_FLAG, AT(csv), .help = "print a line a period, comma-separated"},
};

struct pfcp_run {
	const struct pfcp_options *o;
	struct n4 *n4;
	bool ending;        // no session is begun any more
	uint64_t completed; // sessions that went through all three
	double standing_s;
	unsigned n_periods;
	double rates[PERIODS_MAX];
};

// The next procedure of the session, or of the next one in its place.
static void procedure_done(void *ctx, enum n4_verb verb, uint32_t session, bool ok)
{
	struct pfcp_run *run = ctx;

	if (verb == N4_ESTABLISH && ok) {
		n4_start(run->n4, N4_MODIFY, session);
	} else if (verb == N4_MODIFY) {
		n4_start(run->n4, N4_DELETE, session);
	} else {
		run->completed += ok;
		if (!run->ending)
			n4_start(run->n4, N4_ESTABLISH, session);
	}
}

static void standing_make(struct pfcp_run *run)
{
	uint64_t start = clock_now_ns();
	uint32_t failed = n4_run(run->n4, N4_ESTABLISH, 0, (uint32_t)run->o->standing,
				 (unsigned)run->o->window);

	run->standing_s = (double)(clock_now_ns() - start) / (double)NS_PER_SEC;
	if (failed) {
		fprintf(stderr, "sluice-perf: %u of the standing sessions were refused\n", failed);
		exit(1);
	}
	*n4_counts(run->n4) = (struct n4_counts){0};
}

static void period_print(const struct pfcp_run *run, double rate, uint64_t sent_again)
{
	if (run->o->csv)
		printf("%u,%.0f,%llu\n", run->n_periods, rate, (unsigned long long)sent_again);
	else if (!run->o->json)
		printf("%4u s  %8.0f sessions/s  %llu sent again\n", run->n_periods, rate,
		       (unsigned long long)sent_again);
	fflush(stdout);
}

static void period_run(struct pfcp_run *run)
{
	uint64_t start = clock_now_ns(), completed = run->completed;
	uint64_t sent_again = n4_counts(run->n4)->sent_again, now;
	double rate;

	do {
		n4_poll(run->n4, 1);
		now = clock_now_ns();
	} while (now < start + NS_PER_SEC);
	rate = (double)(run->completed - completed) * (double)NS_PER_SEC / (double)(now - start);
	run->rates[run->n_periods++] = rate;
	period_print(run, rate, n4_counts(run->n4)->sent_again - sent_again);
}

static void cycles_run(struct pfcp_run *run)
{
	if (run->o->csv)
		puts("second,sessions_per_s,sent_again");
	n4_on_done(run->n4, procedure_done, run);
	for (uint32_t i = 0; i < run->o->window; i++)
		n4_start(run->n4, N4_ESTABLISH, (uint32_t)run->o->standing + i);
	while (run->n_periods < run->o->seconds)
		period_run(run);
	run->ending = true;
	while (n4_open_requests(run->n4))
		n4_poll(run->n4, 1);
}

static void result_json(const struct pfcp_run *run, const struct summary *rate)
{
	const struct n4_counts *counts = n4_counts(run->n4);
	struct json j;

	json_init_file(&j, stdout);
	json_object_open(&j, NULL);
	json_str(&j, "engine", "pfcp");
	json_uint(&j, "standing", run->o->standing);
	json_double(&j, "standing_s", run->standing_s);
	json_uint(&j, "window", run->o->window);
	json_uint(&j, "seconds", run->n_periods);
	json_uint(&j, "sessions", run->completed);
	json_double(&j, "sessions_per_s_min", rate->min);
	json_double(&j, "sessions_per_s", rate->median);
	json_double(&j, "sessions_per_s_max", rate->max);
	json_uint(&j, "sent_again", counts->sent_again);
	json_uint(&j, "reports", counts->reports);
	json_object_open(&j, "latency_us");
	for (unsigned i = 0; i < N4_VERBS; i++)
		histogram_json(&j, n4_verb_names[i], &counts->ns[i], US_OF_NS);
	json_object_close(&j);
	json_object_open(&j, "failed");
	for (unsigned i = 0; i < N4_VERBS; i++)
		json_uint(&j, n4_verb_names[i], counts->failed[i]);
	json_object_close(&j);
	json_object_close(&j);
	putchar('\n');
}

static void result_print(const struct pfcp_run *run, const struct summary *rate)
{
	const struct n4_counts *counts = n4_counts(run->n4);

	if (run->o->standing)
		printf("%llu sessions stand, established in %.2f s\n",
		       (unsigned long long)run->o->standing, run->standing_s);
	printf("sessions established, modified and deleted: %llu; a second min %.0f median %.0f max %.0f\n",
	       (unsigned long long)run->completed, rate->min, rate->median, rate->max);
	for (unsigned i = 0; i < N4_VERBS; i++) {
		printf("%-9s failed %llu, us: ", n4_verb_names[i],
		       (unsigned long long)counts->failed[i]);
		histogram_print(&counts->ns[i], US_OF_NS);
	}
}

static int failures(const struct pfcp_run *run)
{
	const struct n4_counts *counts = n4_counts(run->n4);
	uint64_t failed = 0;

	for (unsigned i = 0; i < N4_VERBS; i++)
		failed += counts->failed[i];
	return failed != 0 || run->completed == 0;
}

// With few CPUs the system often puts the SMF to the daemon's control thread, whose datagrams wake it.
static int cpus_take(const struct number_list *cpus)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned i = 0; i < cpus->n; i++)
		CPU_SET(cpus->at[i], &set);
	if (cpus->n == 0 || sched_setaffinity(0, sizeof(set), &set) == 0)
		return 0;
	perror("sluice-perf: --cpu");
	return -1;
}

static int run_pfcp(int argc, char **argv)
{
	static struct pfcp_run run;
	struct pfcp_options o = {0};
	struct n4_conf conf;
	struct summary rate;
	const struct option_table table = {rows, N(rows), &o};
	int rc = options_parse(&table, 1, "pfcp [OPTION...]", argc, argv);

	if (rc != 0)
		return rc > 0 ? 0 : 2;
	if (cpus_take(&o.cpus) < 0)
		return 2;
	conf = (struct n4_conf){
		.smf = o.smf,
		.upf = o.upf,
		.gnb = o.gnb,
		.dnn = o.dnn,
		.ue_base = o.ue_base,
		.ue6_base = o.ue6_base,
		.sessions = (uint32_t)(o.standing + o.window),
		.rate_bps = 10000000000ull,
		.threshold_bytes = 1 << 30,
		.wait_s = WAIT_S,
	};
	run.o = &o;
	run.n4 = n4_open(&conf);
	standing_make(&run);
	cycles_run(&run);
	rate = summary_of(run.rates, run.n_periods);
	if (o.json)
		result_json(&run, &rate);
	else if (!o.csv)
		result_print(&run, &rate);
	rc = failures(&run);
	n4_close(run.n4);
	return rc;
}

const struct engine engine_pfcp = {
	.name = "pfcp",
	.help = "sessions established, modified and deleted a second, over N4",
	.run = run_pfcp,
};
