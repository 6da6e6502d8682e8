// Costs of meters, see meter.h.
// Any thread.

#include "rules/meter.h"

// The cost whose value is num / den, the fraction being shifted until the mantissa is full.
static meter_cost cost_of_ratio(uint64_t num, uint64_t den)
{
	int shift = METER_COST_SHIFT;
	unsigned __int128 n = num;
	uint64_t mantissa;

	while (n / den < 1ull << (METER_COST_MANTISSA_BITS - 1) && shift < 255) {
		n *= 2;
		shift++;
	}
	while (n / den >= 1ull << METER_COST_MANTISSA_BITS && shift > 0) {
		den *= 2;
		shift--;
	}
	mantissa = (uint64_t)((n + den / 2) / den);
	if (mantissa >> METER_COST_MANTISSA_BITS) // rounded up to one bit more
		mantissa--;
	// The product with a packet's bytes is 49 bits: a larger shift than this leaves nothing of it.
	if (shift > 49)
		return 0;
	return (meter_cost)mantissa << METER_COST_SHIFT | (meter_cost)shift;
}

meter_cost meter_cost_of(uint64_t bits_per_second)
{
	return bits_per_second ? cost_of_ratio(METER_UNITS_PER_SEC * 8, bits_per_second) : 0;
}

uint64_t meter_rate(meter_cost cost)
{
	uint64_t mantissa = cost >> METER_COST_SHIFT;
	unsigned shift = cost & ((1u << METER_COST_SHIFT) - 1);

	if (!mantissa)
		return 0;
	return (uint64_t)(((unsigned __int128)METER_UNITS_PER_SEC * 8 << shift) /
			  ((unsigned __int128)mantissa << METER_COST_SHIFT));
}

uint64_t meter_bytes_left(uint64_t tat, uint64_t now, uint64_t burst, meter_cost cost)
{
	uint64_t least = meter_units(cost, METER_LEAST_BYTES);
	int64_t most = (int64_t)(burst > least ? burst : least);
	int64_t left = (int64_t)(now + burst - tat);

	if (!cost)
		return UINT64_MAX;
	if (left <= 0)
		return 0;
	return (uint64_t)((double)(left < most ? left : most) /
			  ((double)METER_UNITS_PER_SEC * 8 / (double)meter_rate(cost)));
}

uint64_t meter_adapt(uint64_t tat, uint64_t now, uint64_t burst, meter_cost from, meter_cost to)
{
	const uint32_t bytes = 1u << 16;
	double lack;

	if (tat <= now)
		return tat;
	if (!from || !to)
		return now;
	lack = (double)(tat - now) * (double)meter_units(to, bytes) /
	       (double)meter_units(from, bytes);
	return now + (lack < (double)burst ? (uint64_t)lack : burst);
}
