// base/idpool: every number once, reused as late as can be; by hand, and against a plain model
// through many turns of the ring.

#include "base/idpool.h"

#include <errno.h>
#include <stdlib.h>

#include "unit.h"

static void test_all_once(void)
{
	static const uint32_t sizes[] = {1, 2, 3, 63, 64, 65, 1000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t n = sizes[i], id = 7777;
		struct idpool *pool = idpool_new(n);

		CU_ASSERT_FATAL(pool != NULL);
		CU_ASSERT_EQUAL(idpool_size(pool), n);
		for (uint32_t k = 0; k < n; k++) {
			CU_ASSERT_FALSE(idpool_is_taken(pool, k));
			CU_ASSERT_EQUAL(idpool_take(pool, &id), 0);
			CU_ASSERT_EQUAL(id, k);
			CU_ASSERT_TRUE(idpool_is_taken(pool, k));
			CU_ASSERT_EQUAL(idpool_used(pool), k + 1);
		}
		CU_ASSERT_EQUAL(idpool_take(pool, &id), -ENOSPC);
		CU_ASSERT_EQUAL(id, n - 1); // untouched
		CU_ASSERT_FALSE(idpool_is_taken(pool, n));
		idpool_free(pool);
	}
}

static void test_fifo(void)
{
	struct idpool *pool = idpool_new(4);
	static const uint32_t order[] = {2, 3, 1, 0, 2};
	uint32_t id;

	idpool_take(pool, &id); // 0
	idpool_take(pool, &id); // 1
	idpool_give(pool, 1);
	idpool_give(pool, 0);
	for (unsigned i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(idpool_take(pool, &id), 0);
		CU_ASSERT_EQUAL(id, order[i]);
	}
	idpool_give(pool, 2);
	CU_ASSERT_EQUAL(idpool_take(pool, &id), 0);
	CU_ASSERT_EQUAL(id, order[4]);
	idpool_free(pool);
}

static void test_empty(void)
{
	struct idpool *pool = idpool_new(0);
	uint32_t id;

	CU_ASSERT_FATAL(pool != NULL);
	CU_ASSERT_EQUAL(idpool_take(pool, &id), -ENOSPC);
	idpool_free(pool);
}

// Against a plain model, in a pattern that wraps the ring many times.
static void test_model(void)
{
	enum { SIZE = 37 };
	struct idpool *pool = idpool_new(SIZE);
	bool held[SIZE] = {false};
	uint32_t used = 0, seed = 1;

	for (unsigned step = 0; step < 20000; step++) {
		uint32_t id;

		seed = seed * 1664525 + 1013904223;
		if (seed >> 31) {
			int rc = idpool_take(pool, &id);

			CU_ASSERT_FATAL(rc == (used == SIZE ? -ENOSPC : 0));
			if (rc < 0)
				continue;
			CU_ASSERT_FATAL(id < SIZE && !held[id]);
			held[id] = true;
			used++;
		} else if (held[id = (seed >> 8) % SIZE]) {
			idpool_give(pool, id);
			held[id] = false;
			used--;
		}
		CU_ASSERT_FATAL(idpool_used(pool) == used);
	}
	idpool_free(pool);
}

static CU_TestInfo tests[] = {
	{"each number once", test_all_once},
	{"first returned, first reused", test_fifo},
	{"a pool of none", test_empty},
	{"against a model", test_model},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("idpool")
