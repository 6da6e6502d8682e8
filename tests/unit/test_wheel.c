// The timer wheel: nothing is given out early, late, twice or never, however time moves and deadlines change.
//
// Time is a number here. A user of the wheel as its header tells keeps the deadlines: `timer`.

#include "session/wheel.h"

#include <stdlib.h>

#include <rte_memory.h>

#include "eal.h"

#define NUMBERS 2000u
#define NONE 0xffffffffu

// --- a user of the wheel ---------------------------------------------------------------------------------

struct timer {
	struct wheel wheel;
	uint32_t now;
	uint32_t deadlines[NUMBERS];
	bool armed[NUMBERS];
	unsigned fired[NUMBERS];
	uint64_t looked, early, late;
};

static struct timer *timer_new(uint32_t now)
{
	struct timer *t = calloc(1, sizeof(*t));

	unit_eal("64");
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT_EQUAL_FATAL(wheel_init(&t->wheel, NUMBERS, now, SOCKET_ID_ANY), 0);
	t->now = now;
	return t;
}

static void timer_free(struct timer *t)
{
	wheel_fini(&t->wheel);
	free(t);
}

static void arm(struct timer *t, uint32_t i, uint32_t after)
{
	t->deadlines[i] = t->now + after;
	t->armed[i] = true;
	wheel_arm(&t->wheel, i, t->deadlines[i]);
}

// One look. Gives how many numbers came.
static unsigned look(struct timer *t, unsigned most)
{
	uint32_t due[NUMBERS];
	unsigned n = wheel_due(&t->wheel, t->now, due, most);

	t->looked += n;
	for (unsigned k = 0; k < n; k++) {
		uint32_t i = due[k];

		if (!t->armed[i]) {
			t->early++; // it is armed no more: it must not come
			continue;
		}
		if (tick_is_after(t->deadlines[i], t->now)) {
			wheel_arm(&t->wheel, i, t->deadlines[i]);
			continue;
		}
		t->armed[i] = false;
		t->fired[i]++;
	}
	return n;
}

// Looks until nothing more comes; then whatever is due has come.
static void settle(struct timer *t, unsigned most)
{
	while (look(t, most) > 0)
		;
	for (uint32_t i = 0; i < NUMBERS; i++)
		t->late += t->armed[i] && !tick_is_after(t->deadlines[i], t->now);
}

// --- tests -----------------------------------------------------------------------------------------------

// Each of these deadlines comes at its tick, and not one tick before: beyond a turn of the wheel too.
static void test_on_time(void)
{
	static const uint32_t after[] = {1,
					 2,
					 63,
					 64,
					 65,
					 1000,
					 WHEEL_SLOTS - 1,
					 WHEEL_SLOTS,
					 WHEEL_SLOTS + 1,
					 3 * WHEEL_SLOTS + 7,
					 1u << 30};
	static const uint32_t starts[] = {0, 5, WHEEL_SLOTS - 1, NONE, NONE - 500};

	for (unsigned s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		struct timer *t = timer_new(starts[s]);
		unsigned n = sizeof(after) / sizeof(after[0]);

		for (uint32_t i = 0; i < n; i++)
			arm(t, i, after[i]);
		for (uint32_t i = 0; i < n; i++) {
			t->now = starts[s] + after[i] - 1;
			settle(t, NUMBERS);
			CU_ASSERT_EQUAL(t->fired[i], 0);
			t->now = starts[s] + after[i];
			settle(t, NUMBERS);
			CU_ASSERT_EQUAL(t->fired[i], 1);
		}
		CU_ASSERT_EQUAL(t->early + t->late, 0);
		timer_free(t);
	}
}

// What is due now comes with the next look, as does what was due long ago.
static void test_at_once(void)
{
	struct timer *t = timer_new(100);

	t->now = 40000;
	settle(t, NUMBERS);
	arm(t, 1, 0);
	arm(t, 2, (uint32_t)-30000);
	CU_ASSERT_EQUAL(look(t, NUMBERS), 2);
	CU_ASSERT_EQUAL(t->fired[1] + t->fired[2], 2);
	timer_free(t);
}

// A deadline that is only stored, later and later, is met where it ends; the wheel looks once each time its slot
// comes.
static void test_extended(void)
{
	struct timer *t = timer_new(7);

	arm(t, 3, 100);
	for (unsigned i = 0; i < 10000; i++) {
		t->deadlines[3] = t->now + 100;
		t->now++;
		settle(t, NUMBERS);
	}
	CU_ASSERT_EQUAL(t->fired[3], 0);
	CU_ASSERT_TRUE(t->looked <= 10000 / 100 + 1);
	t->now = t->deadlines[3] - 1;
	settle(t, NUMBERS);
	CU_ASSERT_EQUAL(t->fired[3], 0);
	t->now++;
	settle(t, NUMBERS);
	CU_ASSERT_EQUAL(t->fired[3], 1);
	timer_free(t);
}

static void test_brought_forward(void)
{
	struct timer *t = timer_new(7);

	arm(t, 3, 5 * WHEEL_SLOTS);
	arm(t, 4, 5000);
	arm(t, 3, 10);
	arm(t, 4, 0);
	settle(t, NUMBERS);
	CU_ASSERT_EQUAL(t->fired[4], 1);
	CU_ASSERT_EQUAL(t->fired[3], 0);
	t->now += 10;
	settle(t, NUMBERS);
	CU_ASSERT_EQUAL(t->fired[3], 1);
	t->now += 6 * WHEEL_SLOTS;
	settle(t, NUMBERS);
	CU_ASSERT_EQUAL(t->fired[3] + t->fired[4], 2);
	timer_free(t);
}

static void test_disarmed(void)
{
	struct timer *t = timer_new(0);

	wheel_disarm(&t->wheel, 9); // never armed
	arm(t, 8, 5);
	arm(t, 9, 5);
	t->armed[9] = false;
	wheel_disarm(&t->wheel, 9);
	wheel_disarm(&t->wheel, 9);
	t->now = 5;
	settle(t, NUMBERS);
	CU_ASSERT_EQUAL(t->fired[8], 1);
	CU_ASSERT_EQUAL(t->early, 0);
	timer_free(t);
}

// However many are due, a look gives no more than it was asked for, the earliest first, and the rest after.
static void test_bounded(void)
{
	struct timer *t = timer_new(0);
	uint32_t due[64], last = 0;
	unsigned got = 0, n;

	for (uint32_t i = 0; i < NUMBERS; i++)
		arm(t, i, 1 + i % 3);
	t->now = 1000;
	while ((n = wheel_due(&t->wheel, t->now, due, 64)) > 0) {
		CU_ASSERT_TRUE(n == 64 || got + n == NUMBERS);
		for (unsigned k = 0; k < n; k++) {
			CU_ASSERT_TRUE(t->deadlines[due[k]] >= last);
			last = t->deadlines[due[k]];
			t->fired[due[k]]++;
		}
		got += n;
	}
	CU_ASSERT_EQUAL(got, NUMBERS);
	for (uint32_t i = 0; i < NUMBERS; i++)
		CU_ASSERT_EQUAL(t->fired[i], 1);
	timer_free(t);
}

static void test_first(void)
{
	struct timer *t = timer_new(0);
	uint32_t first = NONE, tick = NONE;

	CU_ASSERT_FALSE(wheel_first(&t->wheel, &first, &tick));
	arm(t, 5, 9000);
	arm(t, 6, 300);
	CU_ASSERT_TRUE(wheel_first(&t->wheel, &first, &tick));
	CU_ASSERT_EQUAL(first, 6);
	CU_ASSERT_EQUAL(tick, 300);
	arm(t, 7, 2); // looking has moved nothing
	CU_ASSERT_TRUE(wheel_first(&t->wheel, &first, &tick));
	CU_ASSERT_EQUAL(first, 7);
	wheel_disarm(&t->wheel, 7);
	wheel_disarm(&t->wheel, 6);
	CU_ASSERT_TRUE(wheel_first(&t->wheel, &first, &tick));
	CU_ASSERT_EQUAL(first, 5);
	timer_free(t);
}

// Random steps against the deadlines themselves: after each settling exactly what is due has come, once for each
// arming, in turns of any size and over jumps of many turns of the wheel.
static void model_run(unsigned seed, uint32_t start)
{
	struct timer *t = timer_new(start);
	uint64_t arms = 0, fires = 0;

	srand(seed);
	for (unsigned step = 0; step < 300000; step++) {
		uint32_t i = (uint32_t)rand() % NUMBERS;
		uint32_t after = (uint32_t)rand() % (rand() % 8 ? 600 : 4 * WHEEL_SLOTS);

		switch (rand() % 8) {
		case 0:
		case 1:
		case 2:
			arms += !t->armed[i];
			arm(t, i, after);
			break;
		case 3:
		case 4: // later, by a store
			if (t->armed[i])
				t->deadlines[i] += after;
			break;
		case 5:
			arms -= t->armed[i];
			t->armed[i] = false;
			wheel_disarm(&t->wheel, i);
			break;
		case 6:
			t->now += rand() % 200 ? (uint32_t)rand() % 8 : after;
			look(t, (unsigned)rand() % 20);
			break;
		default:
			if (rand() % 16 == 0)
				settle(t, 1 + (unsigned)rand() % 100);
		}
	}
	t->now += 1u << 30;
	settle(t, 64);
	for (uint32_t i = 0; i < NUMBERS; i++) {
		fires += t->fired[i];
		CU_ASSERT_FALSE(t->armed[i]);
	}
	CU_ASSERT_EQUAL(fires, arms);
	CU_ASSERT_TRUE(fires > 50000);
	CU_ASSERT_EQUAL(t->early + t->late, 0);
	timer_free(t);
}

static void test_model(void)
{
	for (unsigned seed = 1; seed <= 4; seed++)
		model_run(seed, seed % 2 ? 12345 : (uint32_t)-1000);
}

static CU_TestInfo tests[] = {
	{"at its tick, not before", test_on_time},
	{"at once", test_at_once},
	{"extended by a store", test_extended},
	{"brought forward", test_brought_forward},
	{"disarmed", test_disarmed},
	{"so many a look", test_bounded},
	{"the first", test_first},
	{"random operations", test_model},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("wheel")
