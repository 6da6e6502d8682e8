// A pool of numbers, see idpool.h.
//
// Free numbers wait in a ring; a bit a number says which are taken, to catch a double return.

#include "base/idpool.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

struct idpool {
	uint32_t n;
	uint32_t used;
	uint32_t head;   // the ring's oldest: next to be taken
	uint64_t *taken; // n bits, behind the ring
	uint32_t ring[];
};

_Static_assert(offsetof(struct idpool, ring) % sizeof(uint64_t) == 0,
	       "the bits behind an even number of entries are aligned");

struct idpool *idpool_new(uint32_t n)
{
	size_t ring = ((size_t)n + 1) / 2 * 2; // even, so that the bits are aligned
	size_t words = ((size_t)n + 63) / 64;
	struct idpool *pool =
		calloc(1, sizeof(*pool) + ring * sizeof(uint32_t) + words * sizeof(uint64_t));

	if (pool == NULL)
		return NULL;
	pool->n = n;
	pool->taken = (uint64_t *)(void *)(pool->ring + ring);
	for (uint32_t i = 0; i < n; i++)
		pool->ring[i] = i;
	return pool;
}

void idpool_free(struct idpool *pool)
{
	free(pool);
}

int idpool_take(struct idpool *pool, uint32_t *ret_id)
{
	uint32_t id;

	if (pool->used == pool->n)
		return -ENOSPC;
	id = pool->ring[pool->head];
	pool->head = pool->head + 1 == pool->n ? 0 : pool->head + 1;
	pool->used++;
	pool->taken[id / 64] |= 1ull << (id % 64);
	*ret_id = id;
	return 0;
}

void idpool_give(struct idpool *pool, uint32_t id)
{
	uint64_t tail;

	assert(idpool_is_taken(pool, id));
	tail = (uint64_t)pool->head + (pool->n - pool->used);
	pool->ring[tail < pool->n ? tail : tail - pool->n] = id;
	pool->used--;
	pool->taken[id / 64] &= ~(1ull << (id % 64));
}

bool idpool_is_taken(const struct idpool *pool, uint32_t id)
{
	return id < pool->n && (pool->taken[id / 64] >> (id % 64) & 1);
}

uint32_t idpool_used(const struct idpool *pool)
{
	return pool->used;
}

uint32_t idpool_size(const struct idpool *pool)
{
	return pool->n;
}
