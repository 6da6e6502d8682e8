// An engine of sluice-perf: one thing that it measures, in a file of its own (engine_<name>.c).
//
// main.c has the table of all. Each reads its own options by a table (options.h) and prints what it found, for
// people, as CSV or as JSON.

#pragma once

struct engine {
	const char *name;
	const char *help;
	// argv[0] is the engine's name. Gives the exit status: 0; 1: what was measured is not as it should be; 2:
	// a wrong command line.
	int (*run)(int argc, char **argv);
};

extern const struct engine engine_cost;
extern const struct engine engine_ndr;
extern const struct engine engine_pfcp;
extern const struct engine engine_soak;
