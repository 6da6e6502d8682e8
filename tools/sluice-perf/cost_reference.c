// Loops to hold a packet's cost against, which have nothing to do with Sluice (cost.h).
//
// Both do what a packet's work also does: fetch lines that are not in the cache, and find a key among many. So
// they grow slow with the machine, while the code is the compiler's and DPDK's.

#include <stdlib.h>

#include <rte_hash.h>
#include <rte_jhash.h>

#include "cost.h"

#define BUFFERS 16384u
#define BUFFER_BYTES 2432u
#define COPY_BYTES 128u
#define KEYS 65536u
#define LOOKUPS 262144u // a window
#define BULK 32u

static uint64_t seed = 7;

static uint32_t draw(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 32) * n >> 32);
}

// Headers are copied from each buffer to another, in an order drawn at random. Not inlined: tools/perf/ratios.py
// counts what it does by its name, as that of hash_window().
__attribute__((noinline)) static double copy_window(uint8_t *buffers, const uint32_t *order)
{
	uint64_t start = rte_rdtsc_precise();

	for (unsigned i = 0; i + 1 < BUFFERS; i++)
		memcpy(&buffers[(size_t)order[i] * BUFFER_BYTES],
		       &buffers[(size_t)order[i + 1] * BUFFER_BYTES + COPY_BYTES], COPY_BYTES);
	return (double)(rte_rdtsc_precise() - start) / (BUFFERS - 1);
}

static void copy_measure(unsigned windows, struct summary *ret)
{
	uint8_t *buffers = malloc((size_t)BUFFERS * BUFFER_BYTES);
	uint32_t *order = malloc(BUFFERS * sizeof(*order));
	double cycles[COST_WINDOWS_MAX];

	if (!buffers || !order)
		rig_die("no memory");
	memset(buffers, 1, (size_t)BUFFERS * BUFFER_BYTES);
	for (unsigned i = 0; i < BUFFERS; i++) {
		unsigned k = draw(i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	copy_window(buffers, order); // warms
	for (unsigned i = 0; i < windows; i++)
		cycles[i] = copy_window(buffers, order);
	*ret = summary_of(cycles, windows);
	free(buffers);
	free(order);
}

struct key {
	uint64_t high, low;
};

__attribute__((noinline)) static double hash_window(const struct rte_hash *hash)
{
	uint64_t start = rte_rdtsc_precise();

	for (unsigned i = 0; i < LOOKUPS; i += BULK) {
		const void *keys[BULK];
		struct key key[BULK];
		int32_t found[BULK];

		for (unsigned k = 0; k < BULK; k++) {
			key[k] = (struct key){draw(KEYS), 99};
			keys[k] = &key[k];
		}
		if (rte_hash_lookup_bulk(hash, keys, BULK, found) != 0)
			rig_die("no lookup");
		for (unsigned k = 0; k < BULK; k++)
			if (found[k] < 0)
				rig_die("a key was not found");
	}
	return (double)(rte_rdtsc_precise() - start) / LOOKUPS;
}

static void hash_measure(unsigned windows, struct summary *ret)
{
	struct rte_hash_parameters conf = {
		.name = "reference",
		.entries = 2 * KEYS,
		.key_len = sizeof(struct key),
		.hash_func = rte_jhash,
		.socket_id = (int)rte_socket_id(),
	};
	struct rte_hash *hash = rte_hash_create(&conf);
	double cycles[COST_WINDOWS_MAX];

	if (!hash)
		rig_die("no memory for a hash");
	for (uint64_t i = 0; i < KEYS; i++) {
		struct key key = {i, 99};

		if (rte_hash_add_key(hash, &key) < 0)
			rig_die("hash full");
	}
	hash_window(hash); // warms
	for (unsigned i = 0; i < windows; i++)
		cycles[i] = hash_window(hash);
	*ret = summary_of(cycles, windows);
	rte_hash_free(hash);
}

void cost_references(unsigned windows, struct cost_references *ret)
{
	copy_measure(windows, &ret->memcpy_cycles);
	hash_measure(windows, &ret->hash_cycles);
}
