// An index of flows: buckets of one cache line, with 16 bits of each key's hash beside what the key leads to.
//
// Owner worker. The key itself stands with the flow, so a look costs the bucket and the flow's line, and most
// buckets without the key cost no flow's line at all. The hash is of the caller (flow_hash()), who also compares
// keys. A full bucket goes on in a further one; those are kept full but for the last of each chain, so that an
// index has room for as many entries as it was made for, however they fall.

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_prefetch.h>

#define FLOW_BUCKET 8u

struct flow_bucket {
	uint16_t signs[FLOW_BUCKET];
	uint32_t entries[FLOW_BUCKET]; // 0: nothing, and nothing behind it
	uint32_t more;                 // the chain's next bucket, 0: none
	uint32_t spare[3];
};
static_assert(sizeof(struct flow_bucket) == 64, "one cache line");

struct flow_index {
	uint32_t mask;               // of the buckets where chains begin, the first ones
	uint32_t unused;             // further buckets, by `more`; 0: none left
	struct flow_bucket *buckets; // numbers from 1 for `more`
};

// The buckets where chains begin: twice as many as would hold all entries, were they spread evenly.
static inline uint32_t flow_index_heads(uint32_t most)
{
	return rte_align32pow2((most + FLOW_BUCKET / 2 - 1) / (FLOW_BUCKET / 2));
}

// Further ones. A chain of k of them has more than 8 k entries, so that this many are always enough.
static inline uint32_t flow_index_further(uint32_t most)
{
	return most / FLOW_BUCKET + 1;
}

// What an index takes.
static inline size_t flow_index_bytes(uint32_t most)
{
	return ((size_t)flow_index_heads(most) + flow_index_further(most)) *
	       sizeof(struct flow_bucket);
}

// Room for `most` entries. 0 or -ENOMEM. Start-up.
int flow_index_init(struct flow_index *index, uint32_t most, int socket);
void flow_index_fini(struct flow_index *index);

// An entry is not 0. It must not be there yet.
void flow_index_add(struct flow_index *index, uint64_t hash, uint32_t entry);
// The entry is there, under this hash.
void flow_index_del(struct flow_index *index, uint64_t hash, uint32_t entry);

static inline struct flow_bucket *flow_index_bucket(const struct flow_index *index, uint64_t hash)
{
	return &index->buckets[(uint32_t)hash & index->mask];
}

static inline uint16_t flow_index_sign(uint64_t hash)
{
	return (uint16_t)(hash >> 48);
}

static inline void flow_index_prefetch(const struct flow_index *index, uint64_t hash)
{
	rte_prefetch0(flow_index_bucket(index, hash));
}

// The highest bit of each 16 of a word that equal `sign`.
static inline uint64_t flow_index_equal(uint64_t signs, uint16_t sign)
{
	const uint64_t low = 0x7fff7fff7fff7fffull;
	uint64_t differ = signs ^ sign * 0x0001000100010001ull;

	return ~(((differ & low) + low) | differ | low);
}

// Which of a bucket's entries have this sign: bit i for entry i. Unused ones may, too: their entry is 0.
static inline unsigned flow_index_fits(const struct flow_bucket *bucket, uint16_t sign)
{
	uint64_t signs[2];
	unsigned fits = 0;

	memcpy(signs, bucket->signs, sizeof(signs));
	for (unsigned half = 0; half < 2; half++) {
		uint64_t equal = flow_index_equal(signs[half], sign) >> 15;

		// Bits 0, 16, 32 and 48 to bits 0 to 3.
		fits |= (unsigned)(equal * 0x0001000200040008ull >> 48 & 0xf) << 4 * half;
	}
	return fits;
}

// The first entry with this sign in the first bucket, for a prefetch; 0: none.
static inline uint32_t flow_index_likely(const struct flow_index *index, uint64_t hash)
{
	const struct flow_bucket *bucket = flow_index_bucket(index, hash);
	unsigned fits = flow_index_fits(bucket, flow_index_sign(hash));

	return fits ? bucket->entries[__builtin_ctz(fits)] : 0;
}

// The entry under this hash that `is` says is the one; 0: none.
static __rte_always_inline uint32_t flow_index_lookup(const struct flow_index *index, uint64_t hash,
						      bool (*is)(const void *ctx, uint32_t entry),
						      const void *ctx)
{
	const struct flow_bucket *bucket = flow_index_bucket(index, hash);
	uint16_t sign = flow_index_sign(hash);

	for (;;) {
		for (unsigned fits = flow_index_fits(bucket, sign); fits; fits &= fits - 1) {
			uint32_t entry = bucket->entries[__builtin_ctz(fits)];

			if (entry && is(ctx, entry))
				return entry;
		}
		if (likely(!bucket->more))
			return 0;
		bucket = &index->buckets[bucket->more];
	}
}
