// The rules of a session while nobody looks at them: packed (base/pack.h).
//
// Control thread. Most sessions rest most of the time, and most have rules like those of others but for a few
// numbers. So they are packed by what they differ in from other rules that are kept for this, the pattern; without
// one, by themselves. What was fresh is packed as such: the rules are to be settled before (rules/model.h).

#pragma once

#include "base/pack.h"
#include "rules/model.h"

// Puts them behind what the packer has. `like` may be NULL.
void rules_pack(struct packer *p, const struct rules *rules, const struct rules *like);
// Rules equal to those that were packed, with the same `like`; NULL without memory, and then the reader is anywhere.
struct rules *rules_unpack(struct unpacker *u, const struct rules *like);

// Patterns: of sessions with so many rules of each kind, the latest that many others were like.
#define RULES_PATTERNS 16

struct rules_pattern {
	struct rules *rules;
	uint32_t users; // packed models, and the table
};

struct rules_patterns {
	struct rules_pattern *latest[RULES_PATTERNS]; // by the numbers of rules
	uint8_t misses[RULES_PATTERNS];               // in a row
};

// Puts the rules against a pattern that suits them, or without one. The pattern, to be given back when what was packed
// has gone; may be NULL.
struct rules_pattern *rules_pattern_pack(struct rules_patterns *patterns, struct packer *p,
					 const struct rules *rules);
// What rules_unpack() needs. NULL of NULL.
static inline const struct rules *rules_pattern_rules(const struct rules_pattern *pattern)
{
	return pattern ? pattern->rules : NULL;
}
void rules_pattern_give(struct rules_pattern *pattern);
void rules_patterns_fini(struct rules_patterns *patterns);
