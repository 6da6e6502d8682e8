// Random numbers that are the same in each run (xorshift64, Marsaglia 2003).
// A test has a seed of its own, not 0.

#pragma once

#include <stdint.h>

static inline uint64_t random_step(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
