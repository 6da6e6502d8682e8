// The options of an engine: one table row gives name, range, default and help; reading a command line by it.
//
// Every option is `--name VALUE` or `--name=VALUE`, a flag stands alone; only an option of kind ADDR, ADDRS, NUMBERS or
// TEXT may have no default. What is wrong is printed to stderr, with the option's name.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define OPTIONS_LIST_MAX 16
#define OPTIONS_WORDS_MAX 12

struct number_list {
	unsigned n;
	uint64_t at[OPTIONS_LIST_MAX];
};

enum option_kind {
	OPTION_FLAG,    // bool
	OPTION_NUMBER,  // uint64_t
	OPTION_NUMBERS, // struct number_list: separated by commas
	OPTION_DECIMAL, // double, of the same range
	OPTION_TEXT,    // const char *
	OPTION_ADDR,    // struct addr, v4
	OPTION_ADDR6,   // the same, of IPv6
	OPTION_WORDS,   // uint32_t: a bit for each of `words` that was given, separated by commas
};

struct option_row {
	const char *name;
	enum option_kind kind;
	size_t offset; // of the value in the engine's struct
	uint64_t min, max;
	const char *def; // NULL: none (addresses and texts), or false
	const char *words[OPTIONS_WORDS_MAX];
	const char *operand; // as the help names it; NULL for flags
	const char *help;
};

// Rows, and the struct that they fill. An engine may have several tables.
struct option_table {
	const struct option_row *rows;
	unsigned n;
	void *to;
};

// Fills the tables' structs, defaults first. 0; 1: help was printed; -EINVAL: what is wrong was printed.
int options_parse(const struct option_table *tables, unsigned n, const char *usage, int argc,
		  char **argv);
