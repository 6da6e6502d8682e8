// Meters: how much of a rate is left, as one time (TS 29.244 5.4.3, 8.2.8; TS 23.501 5.7.1.8).
//
// A meter is a token bucket kept as a theoretical arrival time: when its bucket will be full again. A packet
// passes while that is no more than the burst ahead of now, and moves it on by the time that its bytes take at
// the meter's rate. So a meter is read and written in one word, no clock ticks for it, and the rate over any
// long time is exact whatever the size of packets. Any thread, pure.
//
// Times are 1/256 ns since an arbitrary start: 2 years fit, and a byte at 10 Gb/s is 205 of them.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#define METER_UNITS_PER_NS 256ull
#define METER_UNITS_PER_SEC (METER_UNITS_PER_NS * 1000000000ull)

// What a byte costs, in units: mantissa << 8 | shift, its value being mantissa / 2^(shift - 8).
// 24 bits of mantissa: exact to 1 in 8 million from 1 kb/s to 2^40 kb/s. 0: free.
typedef uint32_t meter_cost;

#define METER_COST_MANTISSA_BITS 24
#define METER_COST_SHIFT 8

// Of a byte at this many bits per second. 0, and rates too high to be told from none: free.
meter_cost meter_cost_of(uint64_t bits_per_second);

// Units for a packet of so many bytes, less than 2^17.
static inline uint64_t meter_units(meter_cost cost, uint32_t bytes)
{
	return ((uint64_t)bytes * (cost >> METER_COST_SHIFT) << METER_COST_SHIFT) >>
	       (cost & ((1u << METER_COST_SHIFT) - 1));
}

// The bits per second of a cost, for show. 0: free.
uint64_t meter_rate(meter_cost cost);

// Whether a packet may pass a meter with arrival time `tat` at `now`, `burst` being the time that it may be
// ahead.
static inline bool meter_passes(uint64_t tat, uint64_t now, uint64_t burst)
{
	return tat <= now + burst;
}

// The meter's arrival time after a packet of this many units has passed.
static inline uint64_t meter_charge(uint64_t tat, uint64_t now, uint64_t units)
{
	return (tat > now ? tat : now) + units;
}

// A bucket holds at least so many bytes: with less than a packet, what is not used until the next one comes
// would be lost, and a low rate never reached.
#define METER_LEAST_BYTES 1500

// The same for a packet of so many bytes at this cost, where `burst` may be less than those bytes. Signed,
// since a low rate's bucket may have begun to fill before time itself did.
static inline uint64_t meter_charge_bytes(uint64_t tat, uint64_t now, uint64_t burst,
					  meter_cost cost, uint32_t bytes)
{
	int64_t lack = (int64_t)(meter_units(cost, METER_LEAST_BYTES) - burst);
	int64_t from = (int64_t)now - (lack > 0 ? lack : 0);

	return (uint64_t)((int64_t)tat > from ? (int64_t)tat : from) + meter_units(cost, bytes);
}

// The bytes that would pass at once; a meter that costs nothing lets all pass. Not for workers.
uint64_t meter_bytes_left(uint64_t tat, uint64_t now, uint64_t burst, meter_cost cost);

// The arrival time of a meter whose rate has become another: the bytes that its bucket lacks are the same, or
// all of it where the new bucket holds fewer. Not for packets.
uint64_t meter_adapt(uint64_t tat, uint64_t now, uint64_t burst, meter_cost from, meter_cost to);
