// Where compiled rules live: one large region of 64-byte units, each block kept once however many sessions
// use it.
//
// Only the control thread calls the functions. Workers read blocks through rule_arena_at(); a block is
// released only after every worker has passed a quiescent point since the last session left it
// (worker/quiesce.h), since its memory is reused at once.

#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rules/ruleset.h"

struct rule_arena {
	uint8_t *base; // never changes: any thread
	struct arena_books *books;
};

struct rule_arena_counts {
	uint64_t bytes;      // of the region
	uint64_t bytes_used; // by blocks in use
	uint32_t blocks;     // in use
	uint64_t users;      // references to them: `users - blocks` blocks were saved by sharing
};

// Reserves `bytes` of address space; memory is taken as blocks are made. 0, -EINVAL for less than one unit
// or 2^32 units and more, or -ENOMEM. Start-up.
int rule_arena_init(struct rule_arena *arena, size_t bytes);
void rule_arena_fini(struct rule_arena *arena);

// The place of a block with these contents, which is made where there is none; its users are one more.
// 0, or -ENOSPC. A place is never 0.
int rule_arena_intern(struct rule_arena *arena, const struct ruleset *rs, uint32_t *ret_place);
// One user less; the last one's leaving frees the block.
void rule_arena_release(struct rule_arena *arena, uint32_t place);

void rule_arena_counts_get(const struct rule_arena *arena, struct rule_arena_counts *ret);
uint32_t rule_arena_users(const struct rule_arena *arena, uint32_t place);

static inline const struct ruleset *rule_arena_at(const struct rule_arena *arena, uint32_t place)
{
	return (const struct ruleset *)(const void *)(arena->base + (size_t)place * RULESET_UNIT);
}
