// Making TEIDs, see teid.h.
// Control thread.

#include "rules/teid.h"

#include <errno.h>

// Bits that numbers below n need; none for n = 1.
static uint8_t bits_for(uint32_t n)
{
	return n <= 1 ? 0 : (uint8_t)(32 - __builtin_clz(n - 1));
}

// By Newton's iteration: x is its own inverse modulo 8, each step doubles the bits that are right.
static uint32_t inverse_of_odd(uint32_t x)
{
	uint32_t inverse = x;

	for (int bits = 3; bits < 32; bits *= 2)
		inverse *= 2 - x * inverse;
	return inverse;
}

int teid_scheme_init(struct teid_scheme *s, uint32_t n_owners, uint32_t n_indices,
		     const uint32_t key[TEID_KEY_WORDS])
{
	uint8_t owner_bits = bits_for(n_owners);
	uint8_t index_bits = bits_for(n_indices);
	unsigned width = 32u - owner_bits;

	if (owner_bits + index_bits + TEID_MIN_GENERATION_BITS > 32)
		return -ERANGE;
	*s = (struct teid_scheme){
		.owner_bits = owner_bits,
		.index_bits = index_bits,
		.generation_bits = (uint8_t)(width - index_bits),
		.shift = (uint8_t)((width + 1) / 2),
		.mask = (uint32_t)((1ull << width) - 1),
		.whiten = key[0],
		.owner_mul = key[1] | 1,
	};
	for (int i = 0; i < 3; i++) {
		s->mul[i] = key[2 + i] | 1;
		s->inverse[i] = inverse_of_odd(s->mul[i]);
	}
	return 0;
}

uint32_t teid_make(const struct teid_scheme *s, uint32_t owner, uint32_t index, uint32_t generation)
{
	uint32_t x = (uint32_t)((uint64_t)generation << s->index_bits) | index;
	uint32_t teid;

	x = (x ^ s->whiten ^ owner * s->owner_mul) & s->mask;
	for (int i = 0; i < 3; i++) {
		x = x * s->mul[i] & s->mask;
		x ^= x >> s->shift;
	}
	teid = (uint32_t)((uint64_t)owner << (32 - s->owner_bits)) | x;
	return teid == UINT32_MAX ? 0 : teid;
}
