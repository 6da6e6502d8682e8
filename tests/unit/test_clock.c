// base/clock: stopping, warping and NTP's count of seconds.
// The only wait is for the running clock's next nanosecond.

#include "base/clock.h"

#include "unit.h"

static void test_runs(void)
{
	uint64_t before = clock_now_ns();

	while (clock_now_ns() == before)
		continue;
	CU_ASSERT(clock_now_ns() > before);
	CU_ASSERT(clock_wall_s() > 1600000000);
}

static void test_stop_and_warp(void)
{
	uint64_t now, wall_ns;
	time_t wall;

	clock_stop();
	now = clock_now_ns();
	wall = clock_wall_s();
	wall_ns = clock_wall_ns();
	CU_ASSERT_EQUAL(wall_ns / NS_PER_SEC, (uint64_t)wall);
	CU_ASSERT_EQUAL(clock_now_ns(), now);

	clock_warp_ns(90 * (int64_t)NS_PER_SEC);
	CU_ASSERT_EQUAL(clock_now_ns(), now + 90 * NS_PER_SEC);
	CU_ASSERT_EQUAL(clock_wall_s(), wall + 90);
	CU_ASSERT_EQUAL(clock_wall_ns(), wall_ns + 90 * NS_PER_SEC);
	CU_ASSERT_EQUAL(clock_ntp_s(), clock_ntp_from_wall(wall + 90));

	clock_warp_ns(-90 * (int64_t)NS_PER_SEC);
	CU_ASSERT_EQUAL(clock_now_ns(), now);
	CU_ASSERT_EQUAL(clock_wall_s(), wall);
}

static void test_text(void)
{
	char text[CLOCK_UTC_STRLEN];

	CU_ASSERT_STRING_EQUAL(clock_utc_str(text, 0), "1970-01-01T00:00:00Z");
	CU_ASSERT_STRING_EQUAL(clock_utc_str(text, 1796128308), "2026-12-01T12:31:48Z");
	CU_ASSERT_STRING_EQUAL(clock_utc_str(text, INT64_MAX), "");
}

static void test_start_goes_on(void)
{
	uint64_t now, later;

	clock_stop();
	clock_warp_ns(3600 * (int64_t)NS_PER_SEC);
	now = clock_now_ns();
	clock_start();
	later = clock_now_ns();
	CU_ASSERT(later >= now && later < now + 600 * NS_PER_SEC);

	clock_warp_ns(3600 * (int64_t)NS_PER_SEC);
	CU_ASSERT(clock_now_ns() >= later + 3600 * NS_PER_SEC);
	clock_start(); // running already: nothing changes
	CU_ASSERT(clock_now_ns() >= later + 3600 * NS_PER_SEC);
}

static void test_ntp(void)
{
	static const struct {
		time_t wall;
		uint32_t ntp;
	} rows[] = {
		{0, 2208988800u},          {1700000000, 3908988800u},
		{2085978495, 0xffffffffu}, // the last second of era 0
		{2085978496, 0},           {2085978497, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL(clock_ntp_from_wall(rows[i].wall), rows[i].ntp);
		CU_ASSERT_EQUAL(clock_wall_from_ntp(rows[i].ntp), rows[i].wall);
	}
}

static CU_TestInfo tests[] = {
	{"it runs", test_runs},
	{"stop and warp", test_stop_and_warp},
	{"start goes on from there", test_start_goes_on},
	{"NTP seconds", test_ntp},
	{"text", test_text},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("clock")
