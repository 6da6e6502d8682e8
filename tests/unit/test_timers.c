// Timers of the control plane (base/timers.h): never early, never lost, each once, whatever is set and cleared
// meanwhile. Time stands still but for the test.

#include "base/timers.h"

#include <stdlib.h>

#include "base/clock.h"
#include "unit.h"

#define MANY 2000

static struct timers timers;

// What a timer is for: when it should come, and whether it has.
struct thing {
	struct timer timer;
	uint64_t due_ns; // 0: not set
	unsigned came;
};

static struct thing things[MANY];

static void came(void *owner)
{
	struct thing *t = owner;

	CU_ASSERT_FALSE(t->timer.is_set);
	CU_ASSERT(t->due_ns != 0 && t->due_ns <= clock_now_ns());
	t->due_ns = 0;
	t->came++;
}

static void set(struct thing *t, uint64_t due_ns)
{
	t->timer.owner = t;
	t->due_ns = due_ns;
	timers_set(&timers, &t->timer, due_ns);
}

static void clear(struct thing *t)
{
	t->due_ns = 0;
	timers_clear(&t->timer);
}

static void begin(void)
{
	clock_stop();
	for (unsigned i = 0; i < MANY; i++)
		things[i] = (struct thing){0};
	timers_init(&timers);
}

// To the nanosecond, in the same step too; beyond a round; and what is due already.
static void exact(void)
{
	const uint64_t after_ns[] = {0,
				     1,
				     TIMERS_STEP_NS - 1,
				     TIMERS_STEP_NS,
				     TIMERS_STEPS * TIMERS_STEP_NS,
				     3 * TIMERS_STEPS * TIMERS_STEP_NS};

	for (unsigned i = 0; i < sizeof(after_ns) / sizeof(after_ns[0]); i++) {
		begin();
		set(&things[0], clock_now_ns() + after_ns[i]);
		if (after_ns[i] > 0) {
			for (unsigned k = 0; k < 100; k++) {
				clock_warp_ns((int64_t)((after_ns[i] - 1) / 100));
				timers_run(&timers, 10, came);
			}
			CU_ASSERT_EQUAL(things[0].came, 0);
			clock_warp_ns((int64_t)(things[0].due_ns - clock_now_ns()));
		}
		timers_run(&timers, 10, came);
		CU_ASSERT_EQUAL(things[0].came, 1);
	}
	begin();
	set(&things[0], 1); // long ago
	timers_run(&timers, 10, came);
	CU_ASSERT_EQUAL(things[0].came, 1);
}

// Many at once come in portions; a pause of many rounds loses none.
static void portions(void)
{
	unsigned all = 0;

	begin();
	for (unsigned i = 0; i < MANY; i++)
		set(&things[i], clock_now_ns() + NS_PER_SEC * (i % 1000));
	clock_warp_ns((int64_t)(5 * TIMERS_STEPS * TIMERS_STEP_NS));
	for (unsigned k = 0; k < MANY / 100; k++) {
		timers_run(&timers, 100, came);
		all = 0;
		for (unsigned i = 0; i < MANY; i++)
			all += things[i].came;
		CU_ASSERT_EQUAL(all, 100 * (k + 1));
	}
}

// One that comes sets itself and clears another.
static void meddle(void *owner)
{
	struct thing *t = owner;

	came(owner);
	set(t, clock_now_ns());
	clear(&things[(t - things) ^ 1]);
}

static void within(void)
{
	begin();
	for (unsigned i = 0; i < 100; i++)
		set(&things[i], clock_now_ns());
	timers_run(&timers, 1000, meddle);
	for (unsigned i = 0; i < 100; i += 2)
		CU_ASSERT_EQUAL(things[i].came + things[i + 1].came, 1);
}

// Against the times that the things remember.
static void model(void)
{
	begin();
	srand(7);
	for (unsigned round = 0; round < 20000; round++) {
		struct thing *t = &things[rand() % MANY];

		if (rand() % 4 == 0)
			clear(t);
		else
			set(t, clock_now_ns() + (unsigned)(rand() % 300000) * NS_PER_MS);
		if (rand() % 8)
			continue;
		clock_warp_ns(rand() % 4 ? rand() % 100000000 : (int64_t)(40 * NS_PER_SEC));
		timers_run(&timers, MANY, came);
		for (unsigned i = 0; i < MANY; i++)
			if (things[i].due_ns && things[i].due_ns <= clock_now_ns())
				CU_FAIL_FATAL("one that is due has not come");
	}
}

static CU_TestInfo tests[] = {
	{"to the nanosecond", exact},
	{"in portions", portions},
	{"set and cleared while they come", within},
	{"random operations", model},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("timers")
