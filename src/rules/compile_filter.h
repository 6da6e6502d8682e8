// SDF filters compiled into alternatives that a worker compares (rules/ruleset.h).
//
// Control thread; a part of rules/compile.c.

#pragma once

#include "base/addr.h"
#include "rules/ruleset.h"
#include "rules/sdf.h"

#define COMPILE_MAX_FILTERS                                                                        \
	4096 // compiled filters of one session; a PDR without filters counts as one

struct filter_list {
	struct filter *filters; // heap
	unsigned n, room;
};

// Add the alternatives of packets that match `sdf` (NULL: every packet), `flow` of an application (NULL: every
// packet) and whose UE side is in `local` (NULL: any): one for each pair of port ranges; none where what they
// say excludes each other. 0, -E2BIG beyond COMPILE_MAX_FILTERS, or -ENOMEM.
int filters_add(struct filter_list *list, const struct sdf *sdf, const struct sdf *flow,
		const struct prefix *local);
