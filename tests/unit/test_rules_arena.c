// The arena of compiled rules: sharing, release and reuse of blocks, exhaustion, and what it counts.
// Blocks are filled from a seed, so that what stands at a place can be told.

#include <stdlib.h>

#include "unit.h"

#include "rules_kit.h"

#include "rules/arena.h"

// A block of this many units whose bytes follow from `seed`.
static struct ruleset *block(unsigned units, unsigned seed)
{
	struct ruleset *rs = calloc(units, RULESET_UNIT);

	rs->units = units & 0xfffff;
	rs->chain_up = seed;
	for (size_t i = sizeof(*rs); i < ruleset_bytes(rs); i++)
		((uint8_t *)rs)[i] = (uint8_t)(seed + i);
	rs->pdrs[0].serial = 0; // the arena's
	return rs;
}

static int intern(struct rule_arena *arena, unsigned units, unsigned seed, uint32_t *ret_place)
{
	struct ruleset *rs = block(units, seed);
	int rc = rule_arena_intern(arena, rs, ret_place);

	free(rs);
	return rc;
}

static bool holds(const struct rule_arena *arena, uint32_t place, unsigned units, unsigned seed)
{
	struct ruleset *rs = block(units, seed);
	bool same;

	rs->pdrs[0].serial = ruleset_serial(rule_arena_at(arena, place));
	same = memcmp(rule_arena_at(arena, place), rs, ruleset_bytes(rs)) == 0;
	free(rs);
	return same;
}

static void test_init(void)
{
	struct rule_arena arena;

	CU_ASSERT_EQUAL(rule_arena_init(&arena, 0), -EINVAL);
	CU_ASSERT_EQUAL(rule_arena_init(&arena, 64), -EINVAL);
	CU_ASSERT_EQUAL(rule_arena_init(&arena, (size_t)1 << 39), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(rule_arena_init(&arena, (size_t)1 << 30), 0);
	CU_ASSERT_EQUAL((uintptr_t)arena.base % RULESET_UNIT, 0);
	rule_arena_fini(&arena);
	CU_ASSERT_PTR_NULL(arena.base);
	rule_arena_fini(&arena);
}

static void test_sharing(void)
{
	struct rule_arena_counts counts;
	struct rule_arena arena;
	uint32_t a, b, c;

	CU_ASSERT_EQUAL_FATAL(rule_arena_init(&arena, 1 << 20), 0);
	CU_ASSERT_EQUAL(intern(&arena, 4, 1, &a), 0);
	CU_ASSERT_EQUAL(intern(&arena, 4, 1, &b), 0);
	CU_ASSERT_EQUAL(intern(&arena, 4, 2, &c), 0);
	CU_ASSERT_NOT_EQUAL(a, 0);
	CU_ASSERT_EQUAL(a, b);
	CU_ASSERT_NOT_EQUAL(a, c);
	CU_ASSERT_EQUAL(rule_arena_users(&arena, a), 2);
	CU_ASSERT_TRUE(holds(&arena, a, 4, 1) && holds(&arena, c, 4, 2));
	rule_arena_counts_get(&arena, &counts);
	CU_ASSERT_EQUAL(counts.bytes, 1 << 20);
	CU_ASSERT_EQUAL(counts.blocks, 2);
	CU_ASSERT_EQUAL(counts.users, 3);
	CU_ASSERT_EQUAL(counts.bytes_used, 8 * 64);

	rule_arena_release(&arena, a);
	CU_ASSERT_TRUE(holds(&arena, a, 4, 1));
	rule_arena_release(&arena, a);
	rule_arena_release(&arena, c);
	rule_arena_counts_get(&arena, &counts);
	CU_ASSERT_EQUAL(counts.blocks + counts.users + counts.bytes_used, 0);
	// What was freed is used again, and found no more under its old contents.
	CU_ASSERT_EQUAL(intern(&arena, 4, 3, &b), 0);
	CU_ASSERT_TRUE(b == a || b == c);
	CU_ASSERT_TRUE(holds(&arena, b, 4, 3));
	rule_arena_fini(&arena);
}

// Sessions of an SMF share one block; a session with other rules has its own.
static void test_sessions(void)
{
	struct rules *one = kit_open5gs("10.45.0.2", NULL), *two = kit_open5gs("10.45.0.3", NULL);
	struct rule_arena arena;
	struct pfcp_fault fault;
	struct compiled c;
	uint32_t a = 0, b = 0;

	CU_ASSERT_EQUAL_FATAL(rule_arena_init(&arena, 1 << 20), 0);
	CU_ASSERT_EQUAL_FATAL(rules_compile(one, &kit_conf, &c, &fault), 0);
	CU_ASSERT_EQUAL(rule_arena_intern(&arena, c.rs, &a), 0);
	compiled_fini(&c);
	CU_ASSERT_EQUAL_FATAL(rules_compile(two, &kit_conf, &c, &fault), 0);
	CU_ASSERT_EQUAL(rule_arena_intern(&arena, c.rs, &b), 0);
	compiled_fini(&c);
	CU_ASSERT_EQUAL(a, b);
	CU_ASSERT_EQUAL(rule_arena_at(&arena, a)->pdrs[0].id, 4);

	kit_open5gs_gnb(two, 5, "127.0.0.50");
	CU_ASSERT_EQUAL_FATAL(rules_compile(two, &kit_conf, &c, &fault), 0);
	CU_ASSERT_EQUAL(rule_arena_intern(&arena, c.rs, &b), 0);
	compiled_fini(&c);
	CU_ASSERT_NOT_EQUAL(a, b);
	rule_arena_fini(&arena);
	rules_free(one);
	rules_free(two);
}

// Full, one block given back, and full again; then large blocks are cut for small ones.
static void test_full(void)
{
	struct rule_arena arena;
	uint32_t places[15], place = 0;

	CU_ASSERT_EQUAL_FATAL(rule_arena_init(&arena, 64 * 61), 0); // 60 units of use
	for (unsigned i = 0; i < 15; i++)
		CU_ASSERT_EQUAL(intern(&arena, 4, i, &places[i]), 0);
	CU_ASSERT_EQUAL(intern(&arena, 1, 100, &place), -ENOSPC);
	CU_ASSERT_EQUAL(intern(&arena, 4, 3, &place), 0); // what is there needs no room
	rule_arena_release(&arena, place);
	rule_arena_release(&arena, places[3]);
	CU_ASSERT_EQUAL(intern(&arena, 5, 100, &place), -ENOSPC);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(intern(&arena, 1, 100 + i, &places[i]), 0);
	CU_ASSERT_EQUAL(intern(&arena, 1, 104, &place), -ENOSPC);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_TRUE(holds(&arena, places[i], 1, 100 + i));
	for (unsigned i = 4; i < 15; i++)
		CU_ASSERT_TRUE(holds(&arena, places[i], 4, i));
	rule_arena_fini(&arena);
}

// Blocks of many filters are large (rules/classify.h): all sizes up to the largest.
static void test_large(void)
{
	static const unsigned units[] = {65535, 65536, 65537, 100000, 262144};
	struct rule_arena arena;

	CU_ASSERT_EQUAL_FATAL(rule_arena_init(&arena, 64u << 20), 0);
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint32_t place, small;

		CU_ASSERT_EQUAL_FATAL(intern(&arena, units[i], i, &place), 0);
		CU_ASSERT_EQUAL_FATAL(intern(&arena, 5, i, &small), 0);
		CU_ASSERT_TRUE(holds(&arena, place, units[i], i));
		CU_ASSERT_TRUE(holds(&arena, small, 5, i));
		rule_arena_release(&arena, place);
		rule_arena_release(&arena, small);
	}
	rule_arena_fini(&arena);
}

#define LIVE 500

// Blocks of all sizes come and go; none is ever written over by another.
static void test_churn(void)
{
	struct {
		uint32_t place;
		unsigned units, seed;
	} live[LIVE] = {0};
	struct rule_arena_counts counts;
	struct rule_arena arena;
	unsigned made = 0;

	srandom(2);
	CU_ASSERT_EQUAL_FATAL(rule_arena_init(&arena, 1 << 20), 0);
	for (unsigned round = 0; round < 50000; round++) {
		unsigned i = (unsigned)random() % LIVE;

		if (live[i].place != 0) {
			if (!holds(&arena, live[i].place, live[i].units, live[i].seed))
				CU_FAIL_FATAL("a block was written over");
			rule_arena_release(&arena, live[i].place);
			live[i].place = 0;
			continue;
		}
		live[i].seed = (unsigned)random() % 400;
		live[i].units = 1 + live[i].seed % (live[i].seed % 8 ? 12 : 200);
		if (intern(&arena, live[i].units, live[i].seed, &live[i].place) == 0)
			made++;
	}
	CU_ASSERT_TRUE(made > 20000);
	for (unsigned i = 0; i < LIVE; i++) {
		if (live[i].place != 0)
			rule_arena_release(&arena, live[i].place);
	}
	rule_arena_counts_get(&arena, &counts);
	CU_ASSERT_EQUAL(counts.blocks + counts.users + counts.bytes_used, 0);
	rule_arena_fini(&arena);
}

// A block's serial is no other's, before or after, though another stands in its place; whoever shares it shares that.
static void test_serials(void)
{
	struct rule_arena arena;
	uint32_t places[3], last = 0;

	CU_ASSERT_EQUAL_FATAL(rule_arena_init(&arena, 1 << 20), 0);
	for (unsigned round = 0; round < 100; round++) {
		for (unsigned i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(intern(&arena, 1, round + i / 2, &places[i]), 0);
		CU_ASSERT_EQUAL(places[0], places[1]);
		CU_ASSERT_TRUE(ruleset_serial(rule_arena_at(&arena, places[0])) > last);
		CU_ASSERT_TRUE(ruleset_serial(rule_arena_at(&arena, places[2])) >
			       ruleset_serial(rule_arena_at(&arena, places[0])));
		last = ruleset_serial(rule_arena_at(&arena, places[2]));
		for (unsigned i = 0; i < 3; i++)
			rule_arena_release(&arena, places[i]);
	}
	rule_arena_fini(&arena);
}

static CU_TestInfo tests[] = {
	{"sizes of the region", test_init},
	{"equal contents stand once", test_sharing},
	{"like sessions share", test_sessions},
	{"a full arena", test_full},
	{"large blocks", test_large},
	{"blocks that come and go", test_churn},
	{"serials", test_serials},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("rules_arena")
