// Engine ndr: the highest rate at which no more is lost than is tolerated (RFC 2544), and latency below it.
//
// Against a running daemon, or what forwards frames as they are, as testpmd does, to have a rate to compare with on
// the same ports. For each frame size the search runs; then loads at shares of what it found say how long packets
// take. Whatever comes back and is not as it must be, and a session that is refused, makes the engine end
// by 1.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/json.h"
#include "churn.h"
#include "engine.h"
#include "search.h"
#include "side.h"
#include "trial.h"

#define AT(member) offsetof(struct ndr_options, member)
#define LOADS_MAX OPTIONS_LIST_MAX
#define TRIALS_MAX 64
#define FRAME_OVERHEAD_BITS (20 * 8) // preamble and gap on a wire

struct ndr_options {
	struct side_options side;
	struct number_list sizes, loads;
	double loss, seconds, precision;
	uint64_t most_pps, workers, io_pps, churn;
	const char *mode;
	bool imix, json, csv;
};

static const struct option_row rows[] = {
	{"sizes", OPTION_NUMBERS, AT(sizes), TRAFFIC_SIZE_LEAST, TRAFFIC_SIZE_MOST, "64",
	 .operand = "N,..", .help = "bytes of a user's frame, its checksum included"},
	{"imix", OPTION_FLAG, AT(imix),
	 .help = "also a mix of 7 frames of 64, 4 of 570, 1 of 1518"},
	{"loss", OPTION_DECIMAL, AT(loss), 0, 100, "0", .operand = "PERCENT",
	 .help = "what a trial may lose"},
	{"seconds", OPTION_DECIMAL, AT(seconds), 0, 3600, "5", .operand = "N",
	 .help = "of a trial"},
	{"precision", OPTION_DECIMAL, AT(precision), 0, 50, "2", .operand = "PERCENT",
	 .help = "at which the search ends"},
	{"most-pps", OPTION_NUMBER, AT(most_pps), 1000, 100000000, "20000000", .operand = "N",
	 .help = "packets a second to begin with"},
	{"loads", OPTION_NUMBERS, AT(loads), 1, 100, "10,50,90", .operand = "PERCENT,..",
	 .help = "of the rate found, at which latency is taken"},
	{"churn", OPTION_NUMBER, AT(churn), 0, 1000000, "0", .operand = "N",
	 .help = "sessions that come and go meanwhile, a second"},
	{"mode", OPTION_TEXT, AT(mode), .def = "unknown", .operand = "NAME",
	 .help = "of the daemon's ports, to be told in the result"},
	{"workers", OPTION_NUMBER, AT(workers), 0, 64, "1", .operand = "N",
	 .help = "of the daemon, to be told in the result"},
	{"io-forward-pps", OPTION_NUMBER, AT(io_pps), 0, 1000000000, "0", .operand = "N",
	 .help = "what testpmd carried in the same run, to be told in the result"},
	{"json", OPTION_FLAG, AT(json), .help = "print one JSON object"},
	{"csv", OPTION_FLAG, AT(csv), .help = "print comma-separated values"},
};

struct ndr_row {
	struct traffic_trial trial; // sizes and ways
	bool imix;
	struct search search;
	double loss; // of the best trial
	unsigned n_trials;
	struct trial_note trials[TRIALS_MAX];
	struct trial_note load_notes[LOADS_MAX];
	struct histogram latency[LOADS_MAX][TRAFFIC_WAYS];
};

struct ndr_run {
	const struct ndr_options *o;
	struct side side;
	struct churn churn;
	uint64_t faults[TRAFFIC_FAULTS];
	uint64_t wrong;
	struct json json;
	struct traffic_result result;
};

// --- trials ----------------------------------------------------------------------------------------------

static struct trial_note trial_run(struct ndr_run *run, const struct traffic_trial *trial)
{
	struct traffic_result *r = &run->result;

	traffic_run(run->side.traffic, trial, churn_idle, &run->churn, r);
	for (unsigned way = 0; way < TRAFFIC_WAYS; way++)
		for (unsigned i = 0; i < TRAFFIC_FAULTS; i++)
			run->faults[i] += r->way[way].faults[i];
	run->wrong += r->wrong;
	return trial_note_of(r, run->o->loss);
}

static void note_print(const struct ndr_run *run, const char *what, const struct trial_note *note)
{
	if (!run->o->json && !run->o->csv)
		trial_note_print(what, note);
}

static void search_run(struct ndr_run *run, struct ndr_row *row)
{
	double rate;

	search_init(&row->search, (double)run->o->most_pps, run->o->precision / 100);
	while (row->n_trials < TRIALS_MAX && (rate = search_next(&row->search)) > 0) {
		struct trial_note *note = &row->trials[row->n_trials++];

		row->trial.pps = rate;
		*note = trial_run(run, &row->trial);
		search_take(&row->search, note->offered, note->received, note->passed);
		if (note->passed)
			row->loss = traffic_loss(&run->result);
		note_print(run, "search", note);
	}
}

static void loads_run(struct ndr_run *run, struct ndr_row *row)
{
	for (unsigned i = 0; i < run->o->loads.n && row->search.low > 0; i++) {
		char what[16];

		row->trial.pps = row->search.low * (double)run->o->loads.at[i] / 100;
		row->load_notes[i] = trial_run(run, &row->trial);
		for (unsigned way = 0; way < TRAFFIC_WAYS; way++)
			row->latency[i][way] = run->result.way[way].cycles;
		snprintf(what, sizeof(what), "load %u %%", (unsigned)run->o->loads.at[i]);
		note_print(run, what, &row->load_notes[i]);
	}
}

// --- printing --------------------------------------------------------------------------------------------

static const char *const way_names[] = {"none", "up", "down", "both"};

static double mean_bytes(const struct traffic_trial *trial)
{
	double sum = 0;

	for (unsigned i = 0; i < trial->n_sizes; i++)
		sum += trial->sizes[i];
	return sum / trial->n_sizes;
}

static void load_json(const struct ndr_run *run, struct json *j, const struct ndr_row *row,
		      unsigned i)
{
	double us = 1e6 / (double)traffic_tsc_hz();
	static struct histogram all;

	all = row->latency[i][TRAFFIC_UP];
	histogram_merge(&all, &row->latency[i][TRAFFIC_DOWN]);
	json_object_open(j, NULL);
	json_uint(j, "load_percent", run->o->loads.at[i]);
	histogram_json(j, "all", &all, us);
	histogram_json(j, "up", &row->latency[i][TRAFFIC_UP], us);
	histogram_json(j, "down", &row->latency[i][TRAFFIC_DOWN], us);
	trial_notes_json(j, &row->load_notes[i], 1);
	json_object_close(j);
}

static void row_json(struct ndr_run *run, const struct ndr_row *row)
{
	const struct ndr_options *o = run->o;
	struct json *j = &run->json;

	json_object_open(j, NULL);
	json_str(j, "mode", o->mode);
	json_uint(j, "workers", o->workers);
	if (row->imix)
		json_str(j, "frame", "imix");
	else
		json_uint(j, "frame", row->trial.sizes[0]);
	json_str(j, "direction", way_names[row->trial.ways]);
	json_uint(j, "ues", o->side.ues);
	json_uint(j, "flows", o->side.flows);
	json_double(j, "pps", row->search.low);
	json_double(j, "bps",
		    row->search.low * (mean_bytes(&row->trial) * 8 + FRAME_OVERHEAD_BITS));
	json_double(j, "loss", row->loss);
	json_double(j, "loss_tolerance_percent", o->loss);
	json_double(j, "trial_seconds", o->seconds);
	json_double(j, "overload_pps", row->search.overload);
	json_bool(j, "generator_limited", row->search.limited);
	if (o->io_pps)
		json_uint(j, "io_forward_pps", o->io_pps);
	else
		json_null(j, "io_forward_pps");
	json_array_open(j, "latency_us");
	for (unsigned i = 0; i < o->loads.n && row->search.low > 0; i++)
		load_json(run, j, row, i);
	json_array_close(j);
	trial_notes_json(j, row->trials, row->n_trials);
	json_object_close(j);
}

static void row_text(const struct ndr_run *run, const struct ndr_row *row)
{
	const struct ndr_options *o = run->o;
	double us = 1e6 / (double)traffic_tsc_hz();

	printf("%s, %u workers, frames of %.0f%s, %s: %.0f packets a second, loss %.6f %%, %.0f under "
	       "overload%s\n",
	       o->mode, (unsigned)o->workers, mean_bytes(&row->trial), row->imix ? " (imix)" : "",
	       way_names[row->trial.ways], row->search.low, row->loss * 100, row->search.overload,
	       row->search.limited ? "; the traffic side is the limit" : "");
	if (o->io_pps)
		printf("  %.3f of testpmd's %llu\n", row->search.low / (double)o->io_pps,
		       (unsigned long long)o->io_pps);
	for (unsigned i = 0; i < o->loads.n && row->search.low > 0; i++)
		for (unsigned way = 0; way < TRAFFIC_WAYS; way++)
			if (row->latency[i][way].n) {
				printf("  at %2u %% %-4s us: ", (unsigned)o->loads.at[i],
				       way_names[1u << way]);
				histogram_print(&row->latency[i][way], us);
			}
}

static void row_csv(const struct ndr_run *run, const struct ndr_row *row)
{
	const struct ndr_options *o = run->o;

	printf("%s,%u,%s,%.0f,%.0f,%.8f,%.0f,%d,%llu\n", o->mode, (unsigned)o->workers,
	       way_names[row->trial.ways], mean_bytes(&row->trial), row->search.low, row->loss,
	       row->search.overload, row->search.limited, (unsigned long long)o->io_pps);
	fflush(stdout);
}

// --- the run ---------------------------------------------------------------------------------------------

static void row_run(struct ndr_run *run, bool imix, uint16_t size)
{
	static const uint16_t mix[] = {64, 570, 64, 570, 64, 64, 1518, 64, 570, 64, 570, 64};
	static struct ndr_row row;

	row = (struct ndr_row){
		.imix = imix,
		.trial = {.seconds = run->o->seconds,
			  .ways = run->o->side.ways,
			  .n_sizes = 1,
			  .sizes = {size}},
	};
	if (imix) {
		row.trial.n_sizes = RTE_DIM(mix);
		memcpy(row.trial.sizes, mix, sizeof(mix));
	}
	search_run(run, &row);
	loads_run(run, &row);
	if (run->o->json)
		row_json(run, &row);
	else if (run->o->csv)
		row_csv(run, &row);
	else
		row_text(run, &row);
}

static void faults_print(struct ndr_run *run)
{
	struct json *j = &run->json;

	if (run->o->json)
		json_object_open(j, "faults");
	for (unsigned i = 0; i < TRAFFIC_FAULTS; i++)
		if (run->o->json)
			json_uint(j, traffic_fault_names[i], run->faults[i]);
		else if (run->faults[i] && !run->o->csv)
			printf("%s: %llu\n", traffic_fault_names[i],
			       (unsigned long long)run->faults[i]);
	if (run->o->json)
		json_object_close(j);
}

static void rows_run(struct ndr_run *run)
{
	const struct ndr_options *o = run->o;

	if (o->csv)
		puts("mode,workers,direction,frame,pps,loss,overload_pps,generator_limited,io_forward_pps");
	if (o->json) {
		json_init_file(&run->json, stdout);
		json_object_open(&run->json, NULL);
		json_str(&run->json, "engine", "ndr");
		json_uint(&run->json, "tsc_hz", traffic_tsc_hz());
		json_array_open(&run->json, "rows");
	}
	for (unsigned i = 0; i < o->sizes.n; i++)
		row_run(run, false, (uint16_t)o->sizes.at[i]);
	if (o->imix)
		row_run(run, true, 0);
	if (o->json)
		json_array_close(&run->json);
	faults_print(run);
	if (o->json) {
		json_uint(&run->json, "sessions", run->churn.completed);
		json_uint(&run->json, "sessions_failed", churn_failed(&run->churn));
		json_object_close(&run->json);
		putchar('\n');
	}
}

static int run_ndr(int argc, char **argv)
{
	static struct ndr_run run;
	struct ndr_options o = {0};
	const struct option_table tables[] = {{side_rows, side_n_rows, &o.side},
					      {rows, RTE_DIM(rows), &o}};
	int rc = options_parse(tables, RTE_DIM(tables),
			       "ndr --n3-port DEVICE --n6-port DEVICE [OPTION...]", argc, argv);

	if (rc != 0)
		return rc > 0 ? 0 : 2;
	run.o = &o;
	o.side.more_sessions = CHURN_PLACES;
	side_open(&o.side, &run.side);
	churn_start(&run.churn, run.side.n4, (uint32_t)o.side.ues, o.churn);
	rows_run(&run);
	churn_end(&run.churn);
	rc = run.wrong || churn_failed(&run.churn);
	side_close(&run.side);
	return rc;
}

const struct engine engine_ndr = {
	.name = "ndr",
	.help = "the highest rate without loss, and latency, against a running daemon",
	.run = run_ndr,
};
