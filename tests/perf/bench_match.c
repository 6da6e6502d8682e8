// What finding the PDR costs among many filters: cycles a packet of the walk and of the classifier, over the
// same rules and packets, for several kinds of rulesets (tests/unit/rule_sets.h); how large the block of rules
// is either way, and how long it takes to compile. Both must find the same PDR, or the program ends by 1.
//
//	bench_match [WINDOWS]

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "rule_sets.h"

#define PACKETS 1024
#define WINDOWS_MAX 99

struct measured {
	double cycles; // a packet
	double us;     // to compile
	double kbytes;
};

static struct set_packet packets[PACKETS];
static uint16_t found[PACKETS];
static unsigned windows = 7;

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *of)
{
	qsort(of, windows, sizeof(of[0]), compare);
	return of[windows / 2];
}

// In random order: the branches of a walk over a few packets in turn would be known by heart.
static double window(const struct ruleset *rs, unsigned n)
{
	uint64_t start = rte_rdtsc_precise();

	for (unsigned done = 0; done < n; done++) {
		unsigned i = set_draw(PACKETS);
		const struct pdr *pdr = ruleset_match(rs, false, &packets[i].p, packets[i].user);

		found[i] = pdr ? pdr->id : 0;
	}
	return (double)(rte_rdtsc_precise() - start) / n;
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static struct measured measure(const struct rules *rules, unsigned walk_max)
{
	const struct compile_conf conf = set_conf(walk_max);
	double cycles[WINDOWS_MAX], us[WINDOWS_MAX];
	struct pfcp_fault fault = {0};
	struct measured m;
	struct compiled c;

	for (unsigned i = 0; i < windows; i++) {
		double start = now_us();

		if (rules_compile(rules, &conf, &c, &fault) != 0) {
			printf("refused: %s\n", fault.text);
			exit(1);
		}
		us[i] = now_us() - start;
		m.kbytes = (double)ruleset_bytes(c.rs) / 1024;
		window(c.rs, 16 * PACKETS); // all of them, and warms
		cycles[i] = window(c.rs, 16 * PACKETS);
		compiled_fini(&c);
	}
	m.us = median(us);
	m.cycles = median(cycles);
	return m;
}

static void run(enum set_kind kind, unsigned n)
{
	struct rules *rules = set_rules(kind, n, false);
	struct measured walked, classified;
	uint16_t expected[PACKETS];

	for (unsigned i = 0; i < PACKETS; i++)
		set_packet(rules, kind, false, &packets[i]);
	walked = measure(rules, UINT16_MAX);
	memcpy(expected, found, sizeof(expected));
	classified = measure(rules, 1);
	if (memcmp(expected, found, sizeof(expected)) != 0) {
		printf("%s of %u: walk and classifier differ\n", set_names[kind], n);
		exit(1);
	}
	printf("%-8s %7u  %8.0f  %8.0f  %8.1f  %8.1f  %8.0f  %8.0f\n", set_names[kind], n,
	       walked.cycles, classified.cycles, walked.kbytes, classified.kbytes, walked.us,
	       classified.us);
	fflush(stdout);
	rules_free(rules);
}

int main(int argc, char **argv)
{
	static const unsigned sizes[] = {8, 16, 32, 64, 256, 1024, 4080};

	if (argc > 1)
		windows = (unsigned)atoi(argv[1]);
	if (windows == 0 || windows > WINDOWS_MAX)
		return 2;
	printf("median of %u windows; cycles (TSC) a packet, KiB of the block, us to compile\n"
	       "kind     filters    walked  classif.    KiB w.    KiB c.     us w.     us c.\n",
	       windows);
	for (unsigned kind = 0; kind < SET_ANY; kind++) {
		for (unsigned i = 0; i < RTE_DIM(sizes); i++)
			run((enum set_kind)kind, sizes[i]);
	}
	return 0;
}
