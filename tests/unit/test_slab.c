// base/slab: blocks of all sizes, also of those that no pages are cut for, are apart, come back, and are all
// counted.

#include "base/slab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "unit.h"

#define BLOCKS 4000
#define BYTES_MOST 1300 // beyond those that pages are cut for

static struct {
	uint8_t *at;
	size_t bytes;
	uint8_t mark;
} blocks[BLOCKS];

static uint64_t seed = 88172645463325252ull;

static uint64_t random_next(void)
{
	return random_step(&seed);
}

static bool is_marked(unsigned i)
{
	for (size_t k = 0; k < blocks[i].bytes; k++)
		if (blocks[i].at[k] != blocks[i].mark)
			return false;
	return true;
}

static void block_end(unsigned i)
{
	CU_ASSERT_FATAL(is_marked(i));
	slab_give(blocks[i].at, blocks[i].bytes);
	blocks[i].at = NULL;
}

static void test_blocks(void)
{
	struct slab_counts before, after;

	slab_counts_get(&before);
	for (unsigned round = 0; round < 20 * BLOCKS; round++) {
		unsigned i = (unsigned)(random_next() % BLOCKS);

		if (blocks[i].at) {
			block_end(i);
			continue;
		}
		blocks[i].bytes = random_next() % BYTES_MOST;
		blocks[i].at = slab_take(blocks[i].bytes);
		CU_ASSERT_FATAL(blocks[i].at != NULL && (uintptr_t)blocks[i].at % 16 == 0);
		blocks[i].mark = (uint8_t)random_next();
		memset(blocks[i].at, blocks[i].mark, blocks[i].bytes);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		if (blocks[i].at)
			block_end(i);
	slab_give(NULL, 100);
	slab_counts_get(&after);
	CU_ASSERT(after.blocks == before.blocks && after.bytes == before.bytes);
}

static CU_TestInfo tests[] = {
	{"blocks of all sizes", test_blocks},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("slab")
