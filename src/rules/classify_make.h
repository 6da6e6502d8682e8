// Makes the classifiers of a ruleset's block (rules/classify.h).
//
// Control thread; a part of rules/compile.c. Takes some milliseconds for the most alternatives.

#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rules/classify.h"

// A filter of a PDR, or a PDR that has none.
struct alternative {
	const struct pdr *pdr;
	const struct filter *filter; // NULL: none
	uint16_t owner;              // the PDR's index in the block
};

// Bytes in growing memory; what is not yet used is zero.
struct blob {
	uint8_t *bytes; // heap
	size_t n, room;
};

// Room for `bytes` more from a multiple of `align`, all zeros: its offset. 0, or -ENOMEM.
int blob_grow(struct blob *blob, size_t bytes, size_t align, size_t *ret_at);
void blob_empty(struct blob *blob); // its memory stays

// Appends the classifiers for packets of either family of a direction's alternatives, which stand in the order
// of their trial, at most CLASSIFY_MAX_ALTERNATIVES. `ret_at`, [IPv6]: their offsets, multiples of RULESET_UNIT;
// 0 where no alternative is for such packets; the same twice where none says its family. 0, or -ENOMEM.
int classifiers_make(struct blob *blob, const struct alternative *alternatives, unsigned n,
		     size_t ret_at[2]);
