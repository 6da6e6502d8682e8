// The block of a compiled ruleset put together from its parts (rules/ruleset.h), and which of its directions
// are walked and which classified.
//
// Control thread; a part of rules/compile.c.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rules/ruleset.h"

// A direction with more alternatives than this is classified: below, a walk is as fast (tests/perf/README.md).
#define COMPILE_WALK_MAX 32

// Which of the filters are a PDR's. None: every packet matches, if the PDR is for its family.
struct filter_span {
	unsigned first, n;
};

struct block_parts {
	uint64_t chain_up, chain_down;
	uint8_t flags;   // RULESET_F_ANY_SOURCE or none
	uint8_t profile; // of flows
	bool has_flows;  // its packets are told apart by them
	unsigned n_up, n_down, n_fars;
	const struct pdr
		*pdrs; // up first, each direction in the order of trial; their filters not yet said
	const struct filter_span *spans; // of each PDR
	const uint16_t
		*quota_fars; // of each, its FAR for quota action + 1, 0: none; NULL: no PDR has one
	const struct far *fars;
	const struct filter *filters;
	const struct redirect *redirects;
	unsigned n_redirects;
	const struct filter *sources; // what the session may send from: behind all other filters
	unsigned n_sources;
	unsigned walk_max;
};

// 0 with heap memory of ruleset_bytes(), or -ENOMEM.
int block_make(const struct block_parts *parts, struct ruleset **ret_rs);
