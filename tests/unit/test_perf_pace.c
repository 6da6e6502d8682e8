// The pace of sluice-perf's packets and sessions: what is due, by somebody who keeps up and by somebody who is kept from
// it.
// One thread, without EAL.

#include "pace.h"

#include "unit.h"

#define PER_S 1000
#define NS_PER_S 1000000000ull
#define START 12345

static struct pace pace_of(double behind_most)
{
	return (struct pace){
		.per_unit = PER_S / (double)NS_PER_S, .behind_most = behind_most, .start = START};
}

// Does at each time what is due then, whole ones only. Gives what was done in all.
static uint64_t done_at(struct pace *pace, const uint64_t *times, unsigned n)
{
	uint64_t done = 0;

	for (unsigned i = 0; i < n; i++)
		done += (uint64_t)pace_due(pace, START + times[i], done);
	return done;
}

// Whatever the moments at which one looks, the rate is kept.
static void test_rate(void)
{
	static const uint64_t steps[] = {1, 999, 1000000, 7777777, 10000000};

	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct pace pace = pace_of(PER_S);
		uint64_t done = 0, now = 0, most = 3000000 * steps[i];

		for (; now < 3 * NS_PER_S && now < most; now += steps[i]) {
			double due = pace_due(&pace, START + now, done);

			CU_ASSERT_TRUE(due <= (double)steps[i] * PER_S / NS_PER_S + 1);
			if (due >= 1)
				done += (uint64_t)due;
		}
		CU_ASSERT_TRUE(done <= now * PER_S / NS_PER_S);
		CU_ASSERT_TRUE(done + 11 > now * PER_S / NS_PER_S);
	}
}

// A pause within what may be made up for is.
static void test_catches_up(void)
{
	static const uint64_t times[] = {NS_PER_S, NS_PER_S + NS_PER_S / 10, 2 * NS_PER_S};
	struct pace pace = pace_of(PER_S);

	CU_ASSERT_EQUAL(done_at(&pace, times, 3), 2 * PER_S);
}

// Of a longer one the rest is left out for ever, and the rate afterwards is the one that was asked for.
static void test_leaves_out(void)
{
	static const uint64_t times[] = {5 * NS_PER_S, 5 * NS_PER_S,
					 5 * NS_PER_S + NS_PER_S / 100 + 1000};
	struct pace pace = pace_of(50);

	CU_ASSERT_EQUAL(done_at(&pace, times, 1), 50);
	pace = pace_of(50);
	CU_ASSERT_EQUAL(done_at(&pace, times, 2), 50);
	pace = pace_of(50);
	CU_ASSERT_EQUAL(done_at(&pace, times, 3), 60);
}

// Who does less than what is due, as the device takes no more, is owed it.
static void test_refused(void)
{
	struct pace pace = pace_of(PER_S);

	CU_ASSERT_EQUAL((uint64_t)pace_due(&pace, START + NS_PER_S / 10, 0), 100);
	CU_ASSERT_EQUAL((uint64_t)pace_due(&pace, START + NS_PER_S / 10, 30), 70);
	CU_ASSERT_EQUAL((uint64_t)pace_due(&pace, START + NS_PER_S / 5, 30), 170);
}

static CU_TestInfo tests[] = {
	{"rate", test_rate},
	{"catches up", test_catches_up},
	{"leaves out", test_leaves_out},
	{"refused", test_refused},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("perf_pace")
