// Small blocks in great numbers: no head for each, no holes between them.
//
// For what stands a million times and long, beside a heap whose blocks come and go: blocks of one size, to 16 bytes,
// are cut from pages of their own, and a block that is given back is taken again first. Pages are kept for blocks
// of their size. Larger blocks are the heap's. One set for the process; control thread only.

#pragma once

#include <stddef.h>
#include <stdint.h>

// Not zeroed, aligned to 16; NULL without memory.
void *slab_take(size_t bytes);
// `bytes` as when it was taken. NULL is nothing.
void slab_give(void *block, size_t bytes);

struct slab_counts {
	uint64_t bytes; // of all blocks that are taken, as they were rounded
	uint64_t blocks;
};

void slab_counts_get(struct slab_counts *ret);
