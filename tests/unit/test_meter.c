// Meters: the rate that passes is the rate that was given, whatever it is and however long packets are; a burst
// passes once; what is free costs nothing.

#include <stdlib.h>

#include "unit.h"

#include "rules/meter.h"

#define KBPS 1000ull

// Bits that pass in `seconds` when twice the rate is offered, evenly, after a second of rest.
static double passed(uint64_t bps, uint32_t bytes, uint64_t burst, double seconds)
{
	meter_cost cost = meter_cost_of(bps);
	double step = (double)METER_UNITS_PER_SEC * bytes * 8 / (2.0 * (double)bps);
	uint64_t start = METER_UNITS_PER_SEC, tat = 0;
	double bits = 0;

	for (double at = 0; at < seconds * (double)METER_UNITS_PER_SEC; at += step) {
		uint64_t now = start + (uint64_t)at;

		if (!meter_passes(tat, now, burst))
			continue;
		tat = meter_charge(tat, now, meter_units(cost, bytes));
		bits += bytes * 8;
	}
	return bits;
}

static void test_rates(void)
{
	static const uint64_t rates[] = {1 * KBPS,        100 * KBPS,      999 * KBPS,
					 50000 * KBPS,    1000000 * KBPS,  2500001 * KBPS,
					 10000000 * KBPS, 400000000 * KBPS};
	static const uint32_t sizes[] = {64, 512, 1400};

	for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			// Long enough for a thousand packets, so that the first weighs little.
			double seconds = 1000.0 * sizes[k] * 8 / (double)rates[i];
			double rate = passed(rates[i], sizes[k], 0, seconds) / seconds;

			if (rate < 0.99 * (double)rates[i] || rate > 1.01 * (double)rates[i])
				printf("\n%llu b/s at %u bytes: %f\n", (unsigned long long)rates[i],
				       sizes[k], rate);
			CU_ASSERT(rate >= 0.99 * (double)rates[i] &&
				  rate <= 1.01 * (double)rates[i]);
		}
}

// Over one second from rest the burst comes on top, and nothing else.
static void test_burst(void)
{
	uint64_t burst = METER_UNITS_PER_SEC / 100;
	double bits = passed(50000 * KBPS, 1400, burst, 1);

	CU_ASSERT(bits > 1.009 * 50e6 && bits < 1.011 * 50e6);
}

// A low rate is reached though its burst is less than a packet, and what comes is not much more than the rate.
static void test_low_rates(void)
{
	static const uint32_t sizes[] = {64, 512, 1400, 1500};
	const uint64_t burst = METER_UNITS_PER_SEC / 100;
	const meter_cost cost = meter_cost_of(20 * KBPS);

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t step = meter_units(cost, sizes[i]) * 4 / 5;
		uint64_t now = 0, tat = 0;
		unsigned n = 0;

		// As if it had rested: the clock starts with it. 1,000 packets at the rate.
		for (; now < 1250 * step; now += step)
			if (meter_passes(tat, now, burst)) {
				tat = meter_charge_bytes(tat, now, burst, cost, sizes[i]);
				n++;
			}
		CU_ASSERT(n >= 999 && n <= 1001 + 1500 / sizes[i]);
	}
}

// What the bucket lacks when its rate changes is the same number of bytes, and no more than the new one holds.
static void test_adapt(void)
{
	static const struct {
		uint64_t from, to;
		uint32_t lack, still; // bytes
	} rows[] = {
		{1000 * KBPS, 1000 * KBPS, 20000, 20000},
		{1000 * KBPS, 50000 * KBPS, 20000, 20000},
		{50000 * KBPS, 1000 * KBPS, 20000, 20000},
		{50000 * KBPS, 1000 * KBPS, 100000, 25000},
		{1 * KBPS, 10000000 * KBPS, 1500, 1500},
		{10000000 * KBPS, 1 * KBPS, 1500, 25},
		{0, 1000 * KBPS, 20000, 0},
		{1000 * KBPS, 0, 20000, 0},
	};
	const uint64_t burst = METER_UNITS_PER_SEC / 5, now = 1000 * METER_UNITS_PER_SEC;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		meter_cost from = meter_cost_of(rows[i].from), to = meter_cost_of(rows[i].to);
		uint64_t lack = from ? meter_units(from, rows[i].lack) : burst;
		uint64_t tat = meter_adapt(now + lack, now, burst, from, to);
		uint64_t want = meter_units(to, rows[i].still);

		CU_ASSERT(tat >= now + want - want / 1000 - 1 &&
			  tat <= now + want + want / 1000 + 1);
		CU_ASSERT_EQUAL(meter_adapt(now - 7, now, burst, from, to), now - 7);
	}
}

static void test_costs(void)
{
	CU_ASSERT_EQUAL(meter_cost_of(0), 0);
	CU_ASSERT_EQUAL(meter_units(0, 1500), 0);
	CU_ASSERT_EQUAL(meter_rate(0), 0);
	for (unsigned bit = 10; bit < 50; bit++)
		for (unsigned more = 0; more <= 2; more++) {
			uint64_t bps = (1ull << bit) + more - 1;
			uint64_t rate = meter_rate(meter_cost_of(bps));

			CU_ASSERT(rate <= bps + (bps >> 20) + 1 && rate + (bps >> 20) + 1 >= bps);
		}
	// The least and the most that an MBR can say (TS 29.244 8.2.8: 40 bits of kb/s).
	CU_ASSERT(meter_units(meter_cost_of(1 * KBPS), 131071) >=
		  131071 * 8 / 1000ull * METER_UNITS_PER_SEC);
	CU_ASSERT(meter_cost_of(((1ull << 40) - 1) * KBPS) != 0);
	CU_ASSERT_EQUAL(meter_cost_of(UINT64_MAX), 0);
}

// A stopped clock and one that jumps far do no harm.
static void test_time(void)
{
	uint64_t units = meter_units(meter_cost_of(100 * KBPS), 1400);
	uint64_t tat = 0;

	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(meter_passes(tat = i ? tat : meter_charge(tat, 5, units), 5, 0),
				false);
	CU_ASSERT(meter_passes(tat, 5 + units, 0));
	CU_ASSERT(meter_passes(tat, UINT64_MAX / 2, 0));
	CU_ASSERT_EQUAL(meter_charge(tat, UINT64_MAX / 2, 7), UINT64_MAX / 2 + 7);
}

static CU_TestInfo tests[] = {
	{"rates are exact", test_rates},
	{"a burst passes once", test_burst},
	{"a low rate is reached", test_low_rates},
	{"another rate", test_adapt},
	{"costs of rates", test_costs},
	{"time", test_time},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("meter")
