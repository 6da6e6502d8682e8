// A pool of the numbers 0 to n-1, each given out at most once until it comes back.
//
// First returned, first reused: a number rests as long as the pool allows, so that what still
// speaks of its last holder meets nobody. Take and give are O(1); one allocation in all. Owned by
// one thread.

#pragma once

#include <stdbool.h>
#include <stdint.h>

struct idpool;

// NULL when there is no memory. n may be 0: a pool that is always exhausted.
struct idpool *idpool_new(uint32_t n);
void idpool_free(struct idpool *pool);

// 0, or -ENOSPC when all numbers are taken.
int idpool_take(struct idpool *pool, uint32_t *ret_id);

// Gives back a number that was taken; anything else is a fault of the caller (assert).
void idpool_give(struct idpool *pool, uint32_t id);

bool idpool_is_taken(const struct idpool *pool, uint32_t id);

uint32_t idpool_used(const struct idpool *pool);
uint32_t idpool_size(const struct idpool *pool);
