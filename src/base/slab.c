// Small blocks in great numbers, see slab.h.
// Control thread. A free block holds the address of the next one of its size.

#include "base/slab.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define STEP 16
#define SIZES 64 // up to 1,024 bytes
#define PAGE 65536

// A sanitizer sees what happens to blocks only when the heap gives each.
#if defined(__SANITIZE_ADDRESS__)
#define HEAP_ONLY true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEAP_ONLY true
#endif
#endif
#ifndef HEAP_ONLY
#define HEAP_ONLY false
#endif

struct free_block {
	struct free_block *next;
};
static_assert(sizeof(struct free_block) <= STEP, "the least block has room for it");

// Pages are never given back, so there is no list of them: what is left of the latest one is all.
static struct slab {
	struct free_block *free;
	uint8_t *fresh, *end;
} slabs[SIZES];

static struct slab_counts counts;

static size_t rounded(size_t bytes)
{
	return bytes ? (bytes + STEP - 1) / STEP * STEP : STEP;
}

static void *free_take(struct slab *slab)
{
	struct free_block *block = slab->free;

	slab->free = block->next;
	return block;
}

static void *fresh_take(struct slab *slab, size_t size)
{
	uint8_t *block;

	if (slab->fresh == NULL || (size_t)(slab->end - slab->fresh) < size) {
		slab->fresh = malloc(PAGE);
		if (slab->fresh == NULL)
			return NULL;
		slab->end = slab->fresh + PAGE;
	}
	block = slab->fresh;
	slab->fresh += size;
	return block;
}

void *slab_take(size_t bytes)
{
	size_t size = rounded(bytes);
	struct slab *slab = &slabs[(size / STEP - 1) % SIZES];
	void *block;

	if (HEAP_ONLY || size > SIZES * STEP)
		block = malloc(size);
	else if (slab->free != NULL)
		block = free_take(slab);
	else
		block = fresh_take(slab, size);
	if (block != NULL) {
		counts.bytes += size;
		counts.blocks++;
	}
	return block;
}

void slab_give(void *block, size_t bytes)
{
	size_t size = rounded(bytes);
	struct free_block *free_block = block;

	if (block == NULL)
		return;
	counts.bytes -= size;
	counts.blocks--;
	if (HEAP_ONLY || size > SIZES * STEP) {
		free(block);
		return;
	}
	free_block->next = slabs[size / STEP - 1].free;
	slabs[size / STEP - 1].free = free_block;
}

void slab_counts_get(struct slab_counts *ret)
{
	*ret = counts;
}
