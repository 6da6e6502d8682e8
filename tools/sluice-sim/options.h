// What sluice-sim was asked to do: options and steps, from the command line and a scenario file.
//
// One table (options.c) gives every option's name, type, range, default and help, on the command
// line as in the file (options_file.c). Read once, at start.

#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/log.h"
#include "ue.h"

#define OPTIONS_GNBS_MAX 8
#define OPTIONS_STEPS_MAX 256
#define OPTIONS_DNN_LEN 64
#define OPTIONS_PATH_LEN 1024
#define OPTIONS_WHY_LEN 240

struct step {
	enum verb verb;
	uint32_t number; // wait: milliseconds; loop: how often in all
};

struct options {
	char scenario[OPTIONS_PATH_LEN];
	struct addr smf;
	struct endpoint n4;
	struct addr gnbs[OPTIONS_GNBS_MAX];
	uint32_t n_gnbs;
	struct prefix pool4, pool6; // ADDR_NONE: UEs have no address of the family
	char dnn[OPTIONS_DNN_LEN];
	char tun[IFNAMSIZ];
	uint32_t ues;
	uint32_t qfi;
	uint32_t mtu;
	uint32_t window;      // procedures at once
	uint32_t t1_ms;       // before a request is sent again
	uint32_t heartbeat_s; // between two heartbeats
	uint64_t ambr_up_bps, ambr_down_bps;
	enum log_level log;
	bool exit; // after the last step
	struct step steps[OPTIONS_STEPS_MAX];
	uint32_t n_steps;
};

enum options_kind {
	OPTIONS_ADDR,
	OPTIONS_ADDRS,
	OPTIONS_ENDPOINT,
	OPTIONS_PREFIX4,
	OPTIONS_PREFIX6,
	OPTIONS_TEXT,
	OPTIONS_DNN,
	OPTIONS_NUMBER,
	OPTIONS_RATE,
	OPTIONS_LEVEL,
	OPTIONS_FLAG,
};

struct options_row {
	const char *name;
	enum options_kind kind;
	size_t offset;
	size_t min, max; // numbers: the range; texts: max is the room with the NUL
	const char *def; // NULL: none
	bool required;
	const char *operand; // as the help names it; NULL for flags
	const char *help;
};

extern const struct options_row options_rows[];
extern const size_t options_n_rows;

// Reads the command line, and the file that it names before that, so that the command line wins.
// 0: go on; 1: help was printed; -EINVAL: what is wrong was printed.
int options_parse(int argc, char **argv, struct options *ret);

// For the readers of both. NULL for unknown names; options_nearest() then may know what was meant, one
// of the table or the other word, if there is one.
const struct options_row *options_lookup(const char *name);
const char *options_nearest(const char *name, const char *other);

// Each gives 0, or -EINVAL and in `why` what is wrong. A list's option adds one.
int options_set(struct options *o, const struct options_row *row, const char *text,
		char why[OPTIONS_WHY_LEN]);
// operand: NULL when the verb stands alone. ret_used (may be NULL): whether the verb takes one.
int options_step_add(struct options *o, const char *verb, const char *operand, bool *ret_used,
		     char why[OPTIONS_WHY_LEN]);

// Reads a scenario file. -EINVAL: what is wrong was printed.
int options_file_read(const char *path, struct options *o);
