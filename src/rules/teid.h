// TEIDs that say where they lead, to nobody but us.
//
// The high bits are the owner in clear, so that a NIC can steer by ranges of TEIDs; the rest is generation
// and index, passed through a bijection with random constants, so that one TEID does not give away others.
// This keeps a gNB or a guesser off other sessions' tunnels as well as 32 bits can; it is no cipher.
// teid_make: control thread. teid_open: any thread, no memory touched but the scheme.

#pragma once

#include <stdint.h>

struct teid_scheme {
	uint8_t owner_bits, generation_bits, index_bits; // 32 in all
	uint8_t shift;       // of the xor-shifts: half of what is scrambled, rounded up
	uint32_t mask;       // of what is scrambled
	uint32_t whiten;     // random
	uint32_t owner_mul;  // random: each owner's TEIDs look different
	uint32_t mul[3];     // random, odd
	uint32_t inverse[3]; // mul[i] * inverse[i] is 1, modulo 2^32
};

struct teid_parts {
	uint32_t owner;
	uint32_t index;      // the caller checks these two against its tables
	uint32_t generation; // modulo 2^generation_bits
};

#define TEID_KEY_WORDS 5
#define TEID_MIN_GENERATION_BITS 2

// `key` is random. -ERANGE when owners and indices leave fewer than TEID_MIN_GENERATION_BITS.
int teid_scheme_init(struct teid_scheme *s, uint32_t n_owners, uint32_t n_indices,
		     const uint32_t key[TEID_KEY_WORDS]);

// The TEID of this place; bits of the generation beyond generation_bits do not count. 0 for the one place
// each that would give the TEIDs 0 and 0xffffffff: then take another generation.
uint32_t teid_make(const struct teid_scheme *s, uint32_t owner, uint32_t index,
		   uint32_t generation);

// What teid_make made it of; any 32 bits give some place.
static inline struct teid_parts teid_open(const struct teid_scheme *s, uint32_t teid)
{
	uint32_t owner = (uint32_t)((uint64_t)teid >> (32 - s->owner_bits));
	uint32_t x = teid & s->mask;

	// A shift by half of the width or more makes an xor-shift its own inverse; what a product has beyond
	// the mask comes from no bit inside, so it is cut once, before the next shift.
	x ^= x >> s->shift;
	x = x * s->inverse[2] & s->mask;
	x ^= x >> s->shift;
	x = x * s->inverse[1] & s->mask;
	x ^= x >> s->shift;
	x = x * s->inverse[0];
	x = (x ^ s->whiten ^ owner * s->owner_mul) & s->mask;
	return (struct teid_parts){
		.owner = owner,
		.index = x & ((1u << s->index_bits) - 1),
		.generation = x >> s->index_bits,
	};
}
