// TEIDs: made and opened again, no two alike, evenly spread, and not to be guessed from one another.
// Keys are random but for the tests that walk all places.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "rules/teid.h"

static const uint32_t key[TEID_KEY_WORDS] = {0x8f3a21c7, 0x1b873593, 0xcc9e2d51, 0x85ebca6b,
					     0xc2b2ae35};

static void key_random(uint32_t ret[TEID_KEY_WORDS])
{
	for (unsigned i = 0; i < TEID_KEY_WORDS; i++)
		ret[i] = (uint32_t)random() << 16 ^ (uint32_t)random();
}

struct shape {
	uint32_t owners, indices;
	uint8_t owner_bits, index_bits;
};

static const struct shape shapes[] = {
	{1, 1, 0, 0},          {1, 2, 0, 1},          {1, 1024, 0, 10},
	{2, 1025, 1, 11},      {3, 100000, 2, 17},    {8, 1 << 20, 3, 20},
	{255, 1 << 20, 8, 20}, {256, 1 << 22, 8, 22}, {1, 1 << 30, 0, 30},
};

static void test_shapes(void)
{
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct teid_scheme s;

		CU_ASSERT_EQUAL_FATAL(
			teid_scheme_init(&s, shapes[i].owners, shapes[i].indices, key), 0);
		CU_ASSERT_EQUAL(s.owner_bits, shapes[i].owner_bits);
		CU_ASSERT_EQUAL(s.index_bits, shapes[i].index_bits);
		CU_ASSERT_EQUAL(s.owner_bits + s.index_bits + s.generation_bits, 32);
	}
}

static void test_too_many(void)
{
	struct teid_scheme s;

	CU_ASSERT_EQUAL(teid_scheme_init(&s, 1, (1u << 30) + 1, key), -ERANGE);
	CU_ASSERT_EQUAL(teid_scheme_init(&s, 256, (1u << 22) + 1, key), -ERANGE);
}

// Random places under random keys.
static void test_round_trip(void)
{
	unsigned zeros = 0;

	srandom(3);
	for (unsigned round = 0; round < 1000000; round++) {
		const struct shape *shape = &shapes[round % (sizeof(shapes) / sizeof(shapes[0]))];
		static struct teid_scheme s;
		uint32_t words[TEID_KEY_WORDS];
		struct teid_parts at;
		uint32_t owner, index, generation, teid;

		key_random(words);
		if (teid_scheme_init(&s, shape->owners, shape->indices, words) != 0)
			CU_FAIL_FATAL("test: shape");
		owner = (uint32_t)random() % shape->owners;
		index = (uint32_t)random() % shape->indices;
		generation = words[0] ^ words[1];
		teid = teid_make(&s, owner, index, generation);
		if (teid == 0) {
			zeros++;
			continue;
		}
		at = teid_open(&s, teid);
		if (at.owner != owner || at.index != index ||
		    at.generation != (uint32_t)(generation & ((1ull << s.generation_bits) - 1)))
			CU_FAIL_FATAL("a TEID opens to another place");
	}
	CU_ASSERT_TRUE(zeros < 10);
}

// Every place of a small scheme once: no TEID twice, none of them 0 or all ones, and the owner in clear.
static void test_all_places(void)
{
	uint8_t *seen = calloc(1, (size_t)1 << 29);
	unsigned zeros = 0, twice = 0, wrong = 0;
	struct teid_scheme s;

	CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
	CU_ASSERT_EQUAL_FATAL(teid_scheme_init(&s, 200, 1 << 10, key), 0);
	for (uint32_t generation = 0; generation < 1 << 14; generation++) {
		for (uint32_t index = 0; index < 1 << 10; index++) {
			uint32_t teid = teid_make(&s, 77, index, generation);

			if (teid == 0) {
				zeros++;
				continue;
			}
			wrong += teid == UINT32_MAX || teid >> 24 != 77;
			twice += seen[teid >> 3] >> (teid & 7) & 1;
			seen[teid >> 3] |= (uint8_t)(1u << (teid & 7));
		}
	}
	CU_ASSERT_EQUAL(zeros, 0);
	CU_ASSERT_EQUAL(twice, 0);
	CU_ASSERT_EQUAL(wrong, 0);
	free(seen);
}

// The places of the TEIDs 0 and 0xffffffff give 0, and the next generation something else.
static void test_reserved(void)
{
	static const uint32_t reserved[] = {0, UINT32_MAX};
	struct teid_scheme s;

	CU_ASSERT_EQUAL_FATAL(teid_scheme_init(&s, 4, 1 << 20, key), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct teid_parts at = teid_open(&s, reserved[i]);

		CU_ASSERT_EQUAL(at.owner, i ? 3 : 0);
		CU_ASSERT_EQUAL(teid_make(&s, at.owner, at.index, at.generation), 0);
		CU_ASSERT_NOT_EQUAL(teid_make(&s, at.owner, at.index, at.generation + 1), 0);
	}
}

// Neighbours in index, generation or owner differ in about half of their scrambled bits, under any key, and
// differences do not repeat: knowing some does not give the next.
static void test_spread(void)
{
	uint64_t bits[3] = {0}, rounds = 0, repeats = 0;

	srandom(4);
	for (unsigned k = 0; k < 200; k++) {
		uint32_t words[TEID_KEY_WORDS], last = 0;
		struct teid_scheme s;

		key_random(words);
		CU_ASSERT_EQUAL_FATAL(teid_scheme_init(&s, 4, 1 << 20, words), 0);
		for (uint32_t i = 0; i < 500; i++, rounds++) {
			uint32_t teid = teid_make(&s, 1, i, 1);
			uint32_t step = (teid_make(&s, 1, i + 1, 1) - teid) & s.mask;

			bits[0] += (unsigned)__builtin_popcount(
				(teid ^ teid_make(&s, 1, i + 1, 1)) & s.mask);
			bits[1] += (unsigned)__builtin_popcount((teid ^ teid_make(&s, 1, i, 2)) &
								s.mask);
			bits[2] += (unsigned)__builtin_popcount((teid ^ teid_make(&s, 2, i, 1)) &
								s.mask);
			repeats += step == last;
			last = step;
		}
	}
	for (unsigned i = 0; i < 3; i++) {
		double mean = (double)bits[i] / (double)rounds;

		CU_ASSERT_TRUE(mean > 12.5 && mean < 17.5); // of 30
	}
	CU_ASSERT_TRUE(repeats < rounds / 100);
}

static CU_TestInfo tests[] = {
	{"fields follow from the numbers", test_shapes},
	{"more than 32 bits hold", test_too_many},
	{"a TEID opens to its place", test_round_trip},
	{"no two places have one TEID", test_all_places},
	{"reserved TEIDs", test_reserved},
	{"neighbours look unlike", test_spread},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("teid")
