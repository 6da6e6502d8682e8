// The no-drop-rate search of sluice-perf, against things that carry so much and senders that offer so much.
// One thread, without EAL.

#include "search.h"

#include <stdint.h>

#include "unit.h"

// What carries `capacity` without loss and, when more is offered, only `overload`; a sender that offers at most
// `sender`, and now and then only a part of what is asked.
struct world {
	double capacity, overload, sender;
	unsigned interrupted_every; // trials; 0: never
	unsigned trials;
};

static struct search search_in(struct world *w, double most, double precision)
{
	struct search s;
	double rate;

	search_init(&s, most, precision);
	while (w->trials < 100 && (rate = search_next(&s)) > 0) {
		double offered = rate < w->sender ? rate : w->sender;

		w->trials++;
		if (w->interrupted_every && w->trials % w->interrupted_every == 0)
			offered *= 0.6;
		if (offered <= w->capacity)
			search_take(&s, offered, offered, true);
		else
			search_take(&s, offered, w->overload, false);
	}
	return s;
}

static bool near(double value, double expected, double share)
{
	return value <= expected && value >= expected * (1 - share);
}

static void test_finds(void)
{
	static const double capacities[] = {1000, 54321, 900000, 13000000};

	for (unsigned i = 0; i < 4; i++) {
		struct world w = {
			.capacity = capacities[i], .overload = capacities[i], .sender = 2e7};
		struct search s = search_in(&w, 2e7, 0.01);

		CU_ASSERT_TRUE(near(s.low, w.capacity, 0.011));
		CU_ASSERT_FALSE(s.limited);
		CU_ASSERT_EQUAL(s.overload, w.overload);
		CU_ASSERT_TRUE(w.trials < 16);
	}
}

// Less comes through under overload than without.
static void test_livelock(void)
{
	struct world w = {.capacity = 100000, .overload = 70000, .sender = 5e6};
	struct search s = search_in(&w, 2e7, 0.02);

	CU_ASSERT_TRUE(near(s.low, 100000, 0.021));
	CU_ASSERT_FALSE(s.limited);
}

static void test_sender_is_the_limit(void)
{
	struct world w = {.capacity = 1e6, .overload = 1e6, .sender = 4e5};
	struct search s = search_in(&w, 2e7, 0.02);

	CU_ASSERT_TRUE(s.limited);
	CU_ASSERT_EQUAL(s.low, 4e5);
	CU_ASSERT_EQUAL(w.trials, 1);
}

// All that was asked passed: there is no more to know.
static void test_most(void)
{
	struct world w = {.capacity = 1e6, .overload = 1e6, .sender = 1e6};
	struct search s = search_in(&w, 5000, 0.02);

	CU_ASSERT_FALSE(s.limited);
	CU_ASSERT_EQUAL(s.low, 5000);
}

// A sender that is interrupted is not the limit, and the search ends.
static void test_interrupted(void)
{
	for (unsigned every = 2; every < 6; every++) {
		struct world w = {.capacity = 100000,
				  .overload = 90000,
				  .sender = 1e6,
				  .interrupted_every = every};
		struct search s = search_in(&w, 2e7, 0.02);

		CU_ASSERT_FALSE(s.limited);
		CU_ASSERT_TRUE(near(s.low, 100000, 0.021));
		CU_ASSERT_TRUE(w.trials < 30);
	}
	struct world w = {
		.capacity = 100000, .overload = 90000, .sender = 1e6, .interrupted_every = 1};
	struct search s = search_in(&w, 2e7, 0.02);

	CU_ASSERT_TRUE(w.trials < 30);
	CU_ASSERT_TRUE(s.low <= 100000);
}

static void test_nothing_passes(void)
{
	struct world w = {.sender = 1e6};
	struct search s = search_in(&w, 2e7, 0.02);

	CU_ASSERT_EQUAL(s.low, 0);
	CU_ASSERT_TRUE(w.trials < 30);
}

static CU_TestInfo tests[] = {
	{"finds", test_finds},
	{"livelock", test_livelock},
	{"the sender is the limit", test_sender_is_the_limit},
	{"most", test_most},
	{"interrupted", test_interrupted},
	{"nothing passes", test_nothing_passes},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("perf_search")
