// Engine cost: what a packet costs in cycles, in process, without ports; the rows and how they are printed.
//
// The sizes that were asked for are gone through one after the other, each with a data path of its own; a row's
// figures are in cost_bed.c, cost_flows.c, cost_handoff.c and cost_workers.c.

#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "base/json.h"
#include "cost.h"
#include "engine.h"
#include "options.h"

#define HANDOFF_SESSIONS_MAX 262144 // the rig has twice as many then
#define HUGE_PAGE_MB 2
#define AT(member) offsetof(struct cost_options, member)

enum {
	WORK_W = 1,
	WORK_HANDOFF = 2,
	WORK_FLOWS = 4,
	WORK_CHURN = 8,
	WORK_TCP = 16,
	WORK_BARE = 32,
	WORK_NAT = 64,
	WORK_WORKERS = 128,
	WORK_STATS = 256,
};
enum { PAGES_AUTO = 1, PAGES_HUGE = 2 };

static const char *const direction_names[COST_DIRECTIONS] = {"up", "down", "mixed"};

struct cost_options {
	uint32_t works, directions, pages;
	struct number_list sessions, mbufs, flows, pdrs, filters;
	uint64_t windows, packets;
	bool json, csv;
};

static const struct option_row rows[] = {
	{"work", OPTION_WORDS, AT(works), .def = "W,handoff",
	 .words = {"W", "handoff", "W+flow", "churn", "W+tcp", "bare", "W+nat", "workers",
		   "W+stats"},
	 .operand = "WORK,..",
	 .help = "a packet's whole way; handoff between two workers; W with flows, with a new flow each, with "
		 "TCP connections that are followed; W without rates and usage; W with translated "
		 "flows; W by one worker and by two at once; W with what the daemon says of its time"},
	{"direction", OPTION_WORDS, AT(directions), .def = "up,down,mixed",
	 .words = {"up", "down", "mixed"}, .operand = "WAY,..", .help = "of the packets"},
	{"sessions", OPTION_NUMBERS, AT(sessions), 64, 4 << 20, "1024,65536,262144,1048576",
	 .operand = "N,..", .help = "sessions, visited in random order"},
	{"mbufs", OPTION_NUMBERS, AT(mbufs), BED_CHUNK, 1 << 20, "16384,131072", .operand = "N,..",
	 .help = "packets that take their turn, rounded to a multiple of 1024; handoff, workers: the first"},
	{"flows", OPTION_NUMBERS, AT(flows), BED_CHUNK, 1 << 23, "65536,1048576", .operand = "N,..",
	 .help = "flows, visited in random order, rounded to a multiple of 1024; churn: the first"},
	{"pdrs", OPTION_NUMBERS, AT(pdrs), 2, COST_PDRS_MAX, "2", .operand = "N,..",
	 .help = "W: PDRs of each direction; half of the packets are the first one's, the others the last's"},
	{"filters", OPTION_NUMBERS, AT(filters), 1, RULES_MAX_FILTERS, "1", .operand = "N,..",
	 .help = "W: filters of each PDR but the last; packets match the very first, or none"},
	{"windows", OPTION_NUMBER, AT(windows), 1, COST_WINDOWS_MAX, "7", .operand = "N",
	 .help = "measurements of each row"},
	{"packets", OPTION_NUMBER, AT(packets), BED_CHUNK, 100000000, "200000", .operand = "N",
	 .help = "of a window, at least; at least all mbufs have their turn"},
	{"pages", OPTION_WORDS, AT(pages), .def = "auto", .words = {"auto", "huge", "small"},
	 .operand = "SIZE", .help = "huge: 2 MB; auto: those if enough are free, else 4 KiB"},
	{"json", OPTION_FLAG, AT(json), .help = "print one JSON object"},
	{"csv", OPTION_FLAG, AT(csv), .help = "print comma-separated values"},
};

struct cost_run {
	const struct cost_options *o;
	cpu_set_t cpus;
	unsigned memory_mb;
	bool huge;
	struct json json;
};

// --- printing --------------------------------------------------------------------------------------------

static void head_print(struct cost_run *run)
{
	if (run->o->json) {
		json_init_file(&run->json, stdout);
		json_object_open(&run->json, NULL);
	} else if (run->o->csv) {
		puts("work,direction,sessions,order,mbufs,cycles_min,cycles_median,cycles_max,flows,pdrs,filters,"
		     "workers,mpps");
	} else {
		printf("cycles a packet (TSC) of %u windows; %s pages; random order\n"
		       "%-14s %-9s %9s %7s %8s %8s %8s  parts, one by one\n",
		       (unsigned)run->o->windows, run->huge ? "2 MB" : "4 KiB", "work", "direction",
		       "sessions", "mbufs", "min", "median", "max");
	}
}

static void row_print(struct cost_run *run, const struct cost_row *row)
{
	struct json *j = &run->json;

	if (run->o->json) {
		json_object_open(j, NULL);
		json_str(j, "work", row->work);
		json_str(j, "direction", direction_names[row->direction]);
		json_uint(j, "sessions", row->sessions);
		json_str(j, "order", "random");
		if (row->flows)
			json_uint(j, "flows", row->flows);
		json_uint(j, "mbufs", row->mbufs);
		if (row->pdrs) {
			json_uint(j, "pdrs", row->pdrs);
			json_uint(j, "filters", row->filters);
		}
		if (row->workers) {
			json_uint(j, "workers", row->workers);
			json_double(j, "handed_over", row->handed_over);
			json_double(j, "mpps", row->mpps);
		}
		if (row->longest_turn_us > 0)
			json_double(j, "longest_turn_us", row->longest_turn_us);
		json_double(j, "cycles_min", row->cycles.min);
		json_double(j, "cycles_median", row->cycles.median);
		json_double(j, "cycles_max", row->cycles.max);
		json_uint(j, "interrupted", row->interrupted);
		json_object_open(j, "services");
		for (unsigned i = 0; i < row->n_services; i++)
			json_double(j, row->services[i].name, row->services[i].cycles);
		json_object_close(j);
		json_object_close(j);
		return;
	}
	printf(run->o->csv ? "%s,%s,%u,random,%u,%.1f,%.1f,%.1f"
			   : "%-14s %-9s %9u %7u %8.1f %8.1f %8.1f ",
	       row->work, direction_names[row->direction], row->sessions, row->mbufs,
	       row->cycles.min, row->cycles.median, row->cycles.max);
	for (unsigned i = 0; i < row->n_services && !run->o->csv; i++)
		printf(" %s %.0f", row->services[i].name, row->services[i].cycles);
	if (run->o->csv)
		printf(",%u,%u,%u,%u,%.2f", row->flows, row->pdrs, row->filters, row->workers,
		       row->mpps);
	else if (row->flows)
		printf(" %u flows", row->flows);
	else if (row->pdrs > 2 || row->filters > 1)
		printf("; %u PDRs, %u filters", row->pdrs, row->filters);
	if (row->workers && !run->o->csv)
		printf(" %u workers, %.1f %% handed over, %.2f Mpps", row->workers,
		       100 * row->handed_over, row->mpps);
	if (row->longest_turn_us > 0 && !run->o->csv)
		printf(", longest turn %.1f us", row->longest_turn_us);
	putchar('\n');
	fflush(stdout);
}

static void reference_print(struct cost_run *run, const char *name, const struct summary *cycles)
{
	struct json *j = &run->json;

	if (!run->o->json) {
		printf(run->o->csv ? "%s,,,,,%.1f,%.1f,%.1f,,,,,\n" : "%-42s %8.1f %8.1f %8.1f\n",
		       name, cycles->min, cycles->median, cycles->max);
		return;
	}
	json_object_open(j, name);
	json_double(j, "cycles_min", cycles->min);
	json_double(j, "cycles_median", cycles->median);
	json_double(j, "cycles_max", cycles->max);
	json_object_close(j);
}

// --- measuring -------------------------------------------------------------------------------------------

static bool asked(uint32_t bits, unsigned bit)
{
	return bits >> bit & 1;
}

// W by sessions with so many PDRs and filters.
static void work_rows(struct cost_run *run, struct bed_conf conf)
{
	const struct number_list *mbufs = &run->o->mbufs;
	struct bed *bed;

	conf.n_workers = 1;
	conf.memory_mb = run->memory_mb;
	conf.huge = run->huge;
	bed = bed_new(&conf);
	bed->window_packets = (uint32_t)run->o->packets;
	for (unsigned i = 0; i < mbufs->n; i++)
		for (unsigned way = 0; way < COST_DIRECTIONS; way++) {
			struct cost_row row = {.work = conf.bare    ? "bare"
						       : conf.stats ? "W+stats"
								    : "W",
					       .direction = way,
					       .sessions = conf.n_sessions,
					       .pdrs = conf.n_pdrs,
					       .filters = conf.n_filters,
					       .mbufs = (uint32_t)mbufs->at[i]};

			if (!asked(run->o->directions, way))
				continue;
			bed_fill(bed, way, row.mbufs);
			cost_work(bed, (unsigned)run->o->windows, &row);
			row_print(run, &row);
		}
	bed_free(bed);
}

static void work_all(struct cost_run *run, uint32_t sessions, uint32_t max_mbufs)
{
	const struct cost_options *o = run->o;
	struct bed_conf conf = {.n_sessions = sessions, .max_mbufs = max_mbufs};

	for (unsigned i = 0; o->works & WORK_W && i < o->pdrs.n; i++)
		for (unsigned k = 0; k < o->filters.n; k++) {
			conf.n_pdrs = (uint32_t)o->pdrs.at[i];
			conf.n_filters = (uint32_t)o->filters.at[k];
			work_rows(run, conf);
		}
	conf.n_pdrs = conf.n_filters = 0;
	conf.bare = true;
	if (o->works & WORK_BARE)
		work_rows(run, conf);
	conf.bare = false;
	conf.stats = true;
	if (o->works & WORK_STATS)
		work_rows(run, conf);
}

static void handoff_rows(struct cost_run *run, uint32_t sessions)
{
	uint32_t mbufs = (uint32_t)run->o->mbufs.at[0];
	const struct bed_conf conf = {.n_sessions = sessions,
				      .max_mbufs = mbufs,
				      .n_workers = 2,
				      .memory_mb = run->memory_mb,
				      .huge = run->huge};
	struct bed *bed = bed_new(&conf);

	bed->window_packets = (uint32_t)run->o->packets;
	for (unsigned way = 0; way < COST_DIRECTIONS; way++) {
		struct cost_row pair[] = {{.work = "handoff_rx"}, {.work = "handoff_owner"}};

		if (!asked(run->o->directions, way))
			continue;
		bed_fill(bed, way, mbufs);
		cost_handoff(bed, (unsigned)run->o->windows, &run->cpus, pair);
		for (unsigned i = 0; i < RTE_DIM(pair); i++) {
			pair[i].direction = way;
			pair[i].sessions = sessions;
			pair[i].mbufs = mbufs;
			row_print(run, &pair[i]);
		}
	}
	bed_free(bed);
}

// Each worker's packets for its own sessions, or for anybody's; sessions and mbufs are those of each.
static void workers_rows(struct cost_run *run, uint32_t sessions, unsigned n, bool at_home)
{
	uint32_t mbufs = (uint32_t)run->o->mbufs.at[0];
	const struct bed_conf conf = {.n_sessions = sessions,
				      .max_mbufs = n * mbufs,
				      .n_workers = n,
				      .memory_mb = run->memory_mb,
				      .huge = run->huge};
	struct bed *bed = bed_new(&conf);

	bed->window_packets = (uint32_t)run->o->packets;
	for (unsigned way = 0; way < COST_DIRECTIONS; way++) {
		struct cost_row row = {.work = at_home ? "workers" : "workers+handoff",
				       .direction = way,
				       .sessions = sessions,
				       .mbufs = mbufs};

		if (!asked(run->o->directions, way))
			continue;
		bed_fill(bed, way, n * mbufs);
		for (unsigned i = 0; i < n; i++)
			bed_fill_part(bed, way, i * mbufs, (i + 1) * mbufs, at_home ? i : BED_ANY);
		cost_workers(bed, (unsigned)run->o->windows, &run->cpus, &row);
		row_print(run, &row);
	}
	bed_free(bed);
}

static void workers_all(struct cost_run *run, uint32_t sessions)
{
	workers_rows(run, sessions, 1, true);
	if (CPU_COUNT(&run->cpus) < COST_WORKERS_MOST) {
		fputs("sluice-perf: two workers at once need two CPUs: no rows of them\n", stderr);
		return;
	}
	workers_rows(run, sessions, COST_WORKERS_MOST, true);
	workers_rows(run, sessions, COST_WORKERS_MOST, false);
}

// Packets of flows, in as many mbufs as was asked for first.
static void flows_rows(struct cost_run *run, uint32_t sessions, uint32_t flows, const char *work)
{
	uint32_t mbufs = (uint32_t)run->o->mbufs.at[0];
	const struct bed_conf conf = {.n_sessions = sessions,
				      .max_mbufs = mbufs,
				      .n_workers = 1,
				      .memory_mb = run->memory_mb,
				      .huge = run->huge,
				      .n_flows = flows,
				      .churn = strcmp(work, "churn") == 0,
				      .tcp = strcmp(work, "W+tcp") == 0,
				      .nat = strcmp(work, "W+nat") == 0};

	for (unsigned way = 0; way < COST_DIRECTIONS; way++) {
		struct cost_row row = {.work = work,
				       .direction = way,
				       .sessions = sessions,
				       .flows = flows,
				       .mbufs = mbufs};
		struct bed *bed;

		if (!asked(run->o->directions, way))
			continue;
		bed = bed_new(&conf);
		bed->window_packets = (uint32_t)run->o->packets;
		bed_fill(bed, way, mbufs);
		cost_flows(bed, (unsigned)run->o->windows, &row);
		row_print(run, &row);
		bed_free(bed);
	}
}

static void flows_all(struct cost_run *run, uint32_t sessions)
{
	const struct cost_options *o = run->o;

	for (unsigned i = 0; o->works & WORK_FLOWS && i < o->flows.n; i++)
		flows_rows(run, sessions, (uint32_t)o->flows.at[i], "W+flow");
	for (unsigned i = 0; o->works & WORK_TCP && i < o->flows.n; i++)
		flows_rows(run, sessions, (uint32_t)o->flows.at[i], "W+tcp");
	for (unsigned i = 0; o->works & WORK_NAT && i < o->flows.n; i++)
		flows_rows(run, sessions, (uint32_t)o->flows.at[i], "W+nat");
	if (o->works & WORK_CHURN)
		flows_rows(run, sessions, (uint32_t)o->flows.at[0], "churn");
}

static void references(struct cost_run *run)
{
	struct cost_references found;

	cost_references((unsigned)run->o->windows, &found);
	reference_print(run, "memcpy", &found.memcpy_cycles);
	reference_print(run, "rte_hash", &found.hash_cycles);
}

// --- the run ---------------------------------------------------------------------------------------------

static unsigned huge_pages_free(void)
{
	FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned n = 0;

	if (file) {
		if (fscanf(file, "%u", &n) != 1)
			n = 0;
		fclose(file);
	}
	return n;
}

static uint32_t flows_most(const struct cost_options *o)
{
	uint64_t most = 0;

	for (unsigned i = 0;
	     o->works & (WORK_FLOWS | WORK_CHURN | WORK_TCP | WORK_NAT) && i < o->flows.n; i++)
		most = RTE_MAX(most, o->flows.at[i]);
	return (uint32_t)most;
}

// The largest data path decides, since memory is taken once.
static void memory_plan(struct cost_run *run, uint32_t max_mbufs)
{
	const struct cost_options *o = run->o;

	for (unsigned i = 0; i < o->sessions.n; i++) {
		uint32_t sessions = (uint32_t)o->sessions.at[i];
		bool two = o->works & (WORK_HANDOFF | WORK_WORKERS) &&
			   sessions <= HANDOFF_SESSIONS_MAX;
		const struct bed_conf conf = {.n_sessions = sessions,
					      .max_mbufs = o->works & WORK_WORKERS ? 2 * max_mbufs
										   : max_mbufs,
					      .n_workers = two ? 2 : 1,
					      .n_flows = flows_most(o),
					      .nat = o->works & WORK_NAT};

		run->memory_mb = RTE_MAX(run->memory_mb, bed_memory_mb(&conf));
	}
	run->huge = o->pages == PAGES_HUGE ||
		    (o->pages & PAGES_AUTO && huge_pages_free() * HUGE_PAGE_MB >= run->memory_mb);
}

static void measure(struct cost_run *run, uint32_t max_mbufs)
{
	const struct cost_options *o = run->o;

	head_print(run);
	if (o->json)
		json_array_open(&run->json, "rows");
	for (unsigned i = 0; i < o->sessions.n; i++) {
		uint32_t sessions = (uint32_t)o->sessions.at[i];

		work_all(run, sessions, max_mbufs);
		if (o->works & WORK_HANDOFF && sessions <= HANDOFF_SESSIONS_MAX)
			handoff_rows(run, sessions);
		if (o->works & WORK_WORKERS && sessions <= HANDOFF_SESSIONS_MAX)
			workers_all(run, sessions);
		flows_all(run, sessions);
	}
	if (o->json) {
		json_array_close(&run->json);
		json_object_open(&run->json, "references");
	}
	references(run);
	if (o->json) {
		json_object_close(&run->json);
		json_uint(&run->json, "tsc_hz", rte_get_tsc_hz());
		json_uint(&run->json, "windows", o->windows);
		json_str(&run->json, "pages", run->huge ? "2 MB" : "4 KiB");
		json_object_close(&run->json);
		putchar('\n');
	}
}

static int run_cost(int argc, char **argv)
{
	struct cost_options o = {0};
	struct cost_run run = {.o = &o};
	uint32_t max_mbufs = 0;
	const struct option_table table = {rows, RTE_DIM(rows), &o};
	int rc = options_parse(&table, 1, "cost [OPTION...]", argc, argv);

	if (rc != 0)
		return rc > 0 ? 0 : 2;
	for (unsigned i = 0; i < o.mbufs.n; i++) {
		o.mbufs.at[i] -= o.mbufs.at[i] % BED_CHUNK;
		max_mbufs = RTE_MAX(max_mbufs, (uint32_t)o.mbufs.at[i]);
	}
	for (unsigned i = 0; i < o.flows.n; i++)
		o.flows.at[i] -= o.flows.at[i] % BED_CHUNK;
	sched_getaffinity(0, sizeof(run.cpus), &run.cpus);
	memory_plan(&run, max_mbufs);
	measure(&run, max_mbufs);
	return 0;
}

const struct engine engine_cost = {
	.name = "cost",
	.help = "cycles a packet, in process, without ports",
	.run = run_cost,
};
