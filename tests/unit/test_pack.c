// base/pack: structs as few bytes come back as they were, whatever they are and whatever they are held against; and
// what is alike takes no room.

#include "base/pack.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "unit.h"

#define ITEM_MOST 3000

static uint64_t seed = 88172645463325252ull;

static uint64_t random_next(void)
{
	return random_step(&seed);
}

// One octet in `sparse` is not zero.
static void fill(uint8_t *item, size_t size, unsigned sparse)
{
	for (size_t i = 0; i < size; i++)
		item[i] = random_next() % sparse ? 0 : (uint8_t)random_next();
}

static void test_random(void)
{
	static uint8_t items[8][ITEM_MOST], back[ITEM_MOST];
	struct packer p = {0};

	for (unsigned round = 0; round < 2000; round++) {
		size_t size = 1 + random_next() % (round % 10 ? 200 : ITEM_MOST);
		struct unpacker u;
		uint8_t *block;

		for (unsigned i = 0; i < 8; i++) {
			fill(items[i], size, 1 + (unsigned)random_next() % 40);
			pack_put(&p, items[i], i ? items[i - 1] : NULL, size);
		}
		block = malloc(p.n); // just as long: nothing beyond it may be read
		CU_ASSERT_FATAL(block != NULL && !p.failed);
		memcpy(block, p.bytes, p.n);
		pack_begin(&p);
		u.at = block;
		for (unsigned i = 0; i < 8; i++) {
			unpack_get(&u, back, i ? back : NULL,
				   size); // what stands there is the last one
			CU_ASSERT_EQUAL_FATAL(memcmp(back, items[i], size), 0);
		}
		free(block);
	}
	packer_fini(&p);
}

// Packed sizes are what sessions are built upon.
static void test_sizes(void)
{
	static const struct {
		size_t size;
		unsigned octets; // that are not zero, one in each group from the first on
		size_t packed;
	} rows[] = {
		{1, 0, 2},   {8, 0, 2},       {8, 1, 2},       {64, 0, 2},      {64, 1, 4},
		{64, 8, 16}, {255 * 8, 0, 2}, {256 * 8, 0, 4}, {257 * 8, 1, 6}, {13, 2, 4},
	};
	struct packer p = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t item[ITEM_MOST] = {0};

		for (unsigned k = 0; k < rows[i].octets; k++)
			item[k * 8] = 7;
		pack_put(&p, item, NULL, rows[i].size);
		CU_ASSERT_EQUAL(p.n, rows[i].packed);
		p.n = 0;
		pack_put(&p, item, item, rows[i].size); // like itself: nothing is left to say
		CU_ASSERT(p.n <= 4);
		p.n = 0;
	}
	packer_fini(&p);
}

static CU_TestInfo tests[] = {
	{"random structs come back", test_random},
	{"sizes", test_sizes},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("pack")
