// How often a worker does what strangers ask for (worker/limit.h): at once, in the long run, after a quiet time,
// with times of the test's own.

#include "unit.h"

#include "worker/limit.h"

#define HZ 1000000u

static unsigned passed(struct limit *limit, uint64_t from, uint64_t to, uint64_t step)
{
	unsigned n = 0;

	for (uint64_t now = from; now < to; now += step)
		n += limit_pass(limit, now);
	return n;
}

// At once as many as a second allows; in the long run no more than the rate, whoever asks how often.
static void test_rate(void)
{
	static const uint32_t rates[] = {1, 7, 100, 1000};

	for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t start = 5 * HZ;
		struct limit limit = limit_make(rates[i], HZ, 0);
		unsigned n = 0;

		while (n < 5000 && limit_pass(&limit, start))
			n++;
		CU_ASSERT_EQUAL(n, rates[i]);
		n = passed(&limit, start + 1, start + 10 * HZ, 10);
		CU_ASSERT(n >= 10 * rates[i] - 1 && n <= 10 * rates[i] + 1);
	}
}

// What was not used is not saved up beyond a second's worth.
static void test_burst(void)
{
	struct limit limit = limit_make(10, HZ, 0);

	CU_ASSERT_EQUAL(passed(&limit, 1000ull * HZ, 1000ull * HZ + 100, 1), 10);
	CU_ASSERT_EQUAL(passed(&limit, 9000ull * HZ, 9000ull * HZ + 100, 1), 10);
}

static void test_quiet_and_off(void)
{
	struct limit quiet = limit_make(10, HZ, 30 * HZ);
	struct limit off = limit_make(0, HZ, 0);

	CU_ASSERT_EQUAL(passed(&quiet, 0, 30 * HZ, 1000), 0);
	CU_ASSERT_TRUE(limit_pass(&quiet, 30 * HZ));
	CU_ASSERT_EQUAL(passed(&off, 0, 100 * HZ, 10000), 0);
	CU_ASSERT_FALSE(limit_pass(&off, UINT64_MAX - 1));
}

static CU_TestInfo tests[] = {
	{"rate", test_rate},
	{"burst", test_burst},
	{"quiet, and off", test_quiet_and_off},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("limit")
