// base/near: distances, and what counts as meant. Distances are checked both ways round, since
// they are the same.

#include "base/near.h"

#include <string.h>

#include "unit.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void test_distance(void)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} rows[] = {
		{"", "", 0},
		{"a", "", 1},
		{"abc", "abc", 0},
		{"abc", "ABC", 0},
		{"adress", "address", 1},
		{"form", "from", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3},
		{"abcd", "badc", 2},
		{"address", "addresses", 2},
	};

	for (size_t i = 0; i < N(rows); i++) {
		CU_ASSERT_EQUAL(near_distance(rows[i].a, rows[i].b), rows[i].distance);
		CU_ASSERT_EQUAL(near_distance(rows[i].b, rows[i].a), rows[i].distance);
	}
}

static void test_best(void)
{
	static const char *const known[] = {"address", "addresses", "port", "peers", "n1", "t1_ms"};
	static const struct {
		const char *word, *best;
	} rows[] = {
		{"adress", "address"}, {"Address", "address"}, {"adresses", "addresses"},
		{"prot", "port"},      {"peer", "peers"},      {"n2", "n1"},
		{"t1ms", "t1_ms"},     {"burst", NULL},        {"", NULL},
		{"zz", NULL},
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct near near;

		near_init(&near, rows[i].word);
		for (size_t k = 0; k < N(known); k++)
			near_offer(&near, known[k]);
		if (rows[i].best == NULL) {
			CU_ASSERT_PTR_NULL(near_best(&near));
			continue;
		}
		CU_ASSERT_PTR_NOT_NULL_FATAL(near_best(&near));
		CU_ASSERT_STRING_EQUAL(near_best(&near), rows[i].best);
	}
}

static void test_too_long(void)
{
	char word[NEAR_WORD_MAX + 2];
	struct near near;

	memset(word, 'a', sizeof(word));
	word[NEAR_WORD_MAX] = '\0';
	CU_ASSERT_EQUAL(near_distance(word, word), 0);
	word[NEAR_WORD_MAX] = 'a';
	word[NEAR_WORD_MAX + 1] = '\0';
	CU_ASSERT_EQUAL(near_distance(word, word), NEAR_WORD_MAX + 1);
	near_init(&near, word);
	near_offer(&near, word);
	CU_ASSERT_PTR_NULL(near_best(&near));
}

static CU_TestInfo tests[] = {
	{"distances", test_distance},
	{"the nearest", test_best},
	{"long words", test_too_long},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("near")
