// Percentiles of sluice-perf's histogram, held against sorted values.
// One thread, without EAL.

#include "histogram.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define VALUES 20000

static struct histogram h;

static void test_empty(void)
{
	memset(&h, 0, sizeof(h));
	CU_ASSERT_EQUAL(histogram_percentile(&h, 50), 0);
	CU_ASSERT_EQUAL(histogram_mean(&h), 0);
}

static void test_small(void)
{
	memset(&h, 0, sizeof(h));
	for (uint64_t i = 1; i <= 10; i++)
		histogram_add(&h, i);
	CU_ASSERT_EQUAL(histogram_percentile(&h, 50), 5);
	CU_ASSERT_EQUAL(histogram_percentile(&h, 99), 10);
	CU_ASSERT_EQUAL(histogram_percentile(&h, 10), 1);
	CU_ASSERT_EQUAL(histogram_percentile(&h, 10.1), 2);
	CU_ASSERT_EQUAL(histogram_mean(&h), 5.5);
	CU_ASSERT_TRUE(h.min == 1 && h.max == 10 && h.n == 10);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

// Of every size, each percentile is at least the true one and at most 1/32 above it.
static void test_close(void)
{
	static const double percents[] = {1, 50, 90, 99, 99.9, 100};
	static uint64_t values[VALUES];
	uint64_t seed = 1;

	memset(&h, 0, sizeof(h));
	for (unsigned i = 0; i < VALUES; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		values[i] = (seed >> 24) >> (i % 38);
		histogram_add(&h, values[i]);
	}
	qsort(values, VALUES, sizeof(values[0]), compare);
	for (unsigned i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		uint64_t rank = (uint64_t)(VALUES * percents[i] / 100 + 0.999999);
		uint64_t exact = values[rank - 1], got = histogram_percentile(&h, percents[i]);

		CU_ASSERT_TRUE(got >= exact && got <= exact + exact / 32 + 1);
	}
	CU_ASSERT_EQUAL(histogram_percentile(&h, 100), values[VALUES - 1]);
	CU_ASSERT_EQUAL(h.max, values[VALUES - 1]);
}

// Beyond the last bucket the largest value still is what it was.
static void test_huge(void)
{
	memset(&h, 0, sizeof(h));
	histogram_add(&h, UINT64_MAX / 2);
	histogram_add(&h, 3);
	CU_ASSERT_EQUAL(histogram_percentile(&h, 50), 3);
	CU_ASSERT_TRUE(histogram_percentile(&h, 99) > 1ull << 40);
	CU_ASSERT_EQUAL(h.max, UINT64_MAX / 2);
}

static void test_merge(void)
{
	struct histogram a = {0}, b = {0}, none = {0};

	histogram_add(&a, 100);
	histogram_add(&b, 7);
	histogram_add(&b, 200);
	histogram_merge(&a, &none);
	histogram_merge(&a, &b);
	CU_ASSERT_TRUE(a.n == 3 && a.min == 7 && a.max == 200 && a.sum == 307);
	histogram_merge(&none, &b);
	CU_ASSERT_TRUE(none.n == 2 && none.min == 7);
	CU_ASSERT_TRUE(histogram_percentile(&a, 60) >= 100 && histogram_percentile(&a, 60) < 104);
}

static CU_TestInfo tests[] = {
	{"empty", test_empty}, {"small", test_small}, {"close", test_close},
	{"huge", test_huge},   {"merge", test_merge}, CU_TEST_INFO_NULL,
};

UNIT_MAIN("perf_histogram")
