// Numbers that rest (base/rest.h): their order, their time, their bound, and a model with random operations.
// Time is what the test says.

#include "base/rest.h"

#include <errno.h>
#include <stdlib.h>

#include "unit.h"

static void order(void)
{
	struct rest *rest = rest_new(0);
	uint64_t number;

	CU_ASSERT_EQUAL(rest_take(rest, UINT64_MAX, &number), -EAGAIN);
	for (uint64_t i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(rest_add(rest, i, 100 + i), 0);
	CU_ASSERT_EQUAL(rest_add(rest, 1, 200), 0); // again: to the end
	CU_ASSERT_EQUAL(rest_count(rest), 5);
	CU_ASSERT_EQUAL(rest_take(rest, 99, &number), -EAGAIN);
	CU_ASSERT_EQUAL(rest_take(rest, 100, &number), 0);
	CU_ASSERT_EQUAL(number, 0);
	CU_ASSERT_FALSE(rest_has(rest, 0));
	CU_ASSERT_EQUAL(rest_del(rest, 3), 0);
	CU_ASSERT_EQUAL(rest_del(rest, 3), -ENOENT);
	CU_ASSERT_EQUAL(rest_take(rest, 199, &number), 0);
	CU_ASSERT_EQUAL(number, 2);
	CU_ASSERT_EQUAL(rest_take(rest, 199, &number), 0);
	CU_ASSERT_EQUAL(number, 4);
	CU_ASSERT_EQUAL(rest_take(rest, 199, &number), -EAGAIN);
	CU_ASSERT_EQUAL(rest_take(rest, 200, &number), 0);
	CU_ASSERT_EQUAL(number, 1);
	CU_ASSERT_EQUAL(rest_count(rest), 0);
	rest_free(rest);
}

// The oldest gives way.
static void bound(void)
{
	enum { MOST = 100 };
	struct rest *rest = rest_new(MOST);

	for (uint64_t i = 0; i < 10 * MOST; i++)
		CU_ASSERT_EQUAL(rest_add(rest, i << 40, i), 0);
	CU_ASSERT_EQUAL(rest_count(rest), MOST);
	for (uint64_t i = 0; i < 10 * MOST; i++)
		CU_ASSERT_EQUAL(rest_has(rest, i << 40), i >= 9 * MOST);
	rest_free(rest);
}

// Against an array that holds the time of each number.
static void model(void)
{
	enum { NUMBERS = 500, ROUNDS = 100000 };
	uint64_t since[NUMBERS] = {0}, number; // 0: does not rest; times are all different
	struct rest *rest = rest_new(0);
	unsigned n = 0, wrong = 0;

	srand(1);
	for (uint64_t now = 1; now <= ROUNDS; now++) {
		unsigned pick = (unsigned)rand() % NUMBERS, oldest = NUMBERS;

		for (unsigned i = 0; i < NUMBERS; i++)
			if (since[i] && (oldest == NUMBERS || since[i] < since[oldest]))
				oldest = i;
		switch (rand() % 3) {
		case 0:
			wrong += rest_add(rest, pick, now) != 0;
			n += since[pick] == 0;
			since[pick] = now;
			break;
		case 1:
			wrong += rest_del(rest, pick) != (since[pick] ? 0 : -ENOENT);
			n -= since[pick] != 0;
			since[pick] = 0;
			break;
		default:
			if (rest_take(rest, now - now / 4, &number) == 0) {
				wrong += number != oldest || since[oldest] > now - now / 4;
				since[oldest] = 0;
				n--;
			} else {
				wrong += oldest < NUMBERS && since[oldest] <= now - now / 4;
			}
		}
		wrong += rest_count(rest) != n || rest_has(rest, pick) != (since[pick] != 0);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	rest_free(rest);
}

static CU_TestInfo tests[] = {
	{"order and time", order},
	{"the bound", bound},
	{"random operations", model},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("rest")
