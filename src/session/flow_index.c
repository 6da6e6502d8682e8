// The index of flows, see flow_index.h.
// Owner worker, but for making and freeing. Entries of a bucket stand from its first place on without a gap, as do
// the buckets of a chain: what is taken out leaves its place to the chain's last entry.

#include "session/flow_index.h"

#include <errno.h>

#include <rte_malloc.h>

int flow_index_init(struct flow_index *index, uint32_t most, int socket)
{
	uint32_t n = flow_index_heads(most), all = n + flow_index_further(most);

	*index = (struct flow_index){.mask = n - 1};
	index->buckets = rte_zmalloc_socket("flow_index", flow_index_bytes(most),
					    RTE_CACHE_LINE_SIZE, socket);
	if (!index->buckets)
		return -ENOMEM;
	for (uint32_t i = n; i < all; i++) {
		index->buckets[i].more = index->unused;
		index->unused = i;
	}
	return 0;
}

void flow_index_fini(struct flow_index *index)
{
	rte_free(index->buckets);
	*index = (struct flow_index){0};
}

static unsigned bucket_used(const struct flow_bucket *bucket)
{
	unsigned n = 0;

	while (n < FLOW_BUCKET && bucket->entries[n])
		n++;
	return n;
}

static struct flow_bucket *chain_last(struct flow_index *index, uint64_t hash)
{
	struct flow_bucket *bucket = flow_index_bucket(index, hash);

	while (bucket->more)
		bucket = &index->buckets[bucket->more];
	return bucket;
}

void flow_index_add(struct flow_index *index, uint64_t hash, uint32_t entry)
{
	struct flow_bucket *bucket = chain_last(index, hash);
	unsigned n = bucket_used(bucket);

	if (n == FLOW_BUCKET) {
		uint32_t next = index->unused;

		assert(next); // the caller keeps to what the index was made for
		bucket->more = next;
		bucket = &index->buckets[next];
		index->unused = bucket->more;
		*bucket = (struct flow_bucket){0};
		n = 0;
	}
	bucket->signs[n] = flow_index_sign(hash);
	bucket->entries[n] = entry;
}

// The last bucket of a chain has become empty: it is the chain's no more, unless the chain begins with it.
static void chain_shorten(struct flow_index *index, uint64_t hash)
{
	struct flow_bucket *bucket = flow_index_bucket(index, hash);

	if (!bucket->more)
		return;
	while (index->buckets[bucket->more].more)
		bucket = &index->buckets[bucket->more];
	index->buckets[bucket->more].more = index->unused;
	index->unused = bucket->more;
	bucket->more = 0;
}

void flow_index_del(struct flow_index *index, uint64_t hash, uint32_t entry)
{
	struct flow_bucket *bucket = flow_index_bucket(index, hash);
	struct flow_bucket *last = chain_last(index, hash);
	unsigned n = bucket_used(last) - 1, i = 0;

	while (bucket->entries[i] != entry) {
		if (++i < FLOW_BUCKET)
			continue;
		assert(bucket->more);
		bucket = &index->buckets[bucket->more];
		i = 0;
	}
	bucket->signs[i] = last->signs[n];
	bucket->entries[i] = last->entries[n];
	last->signs[n] = 0;
	last->entries[n] = 0;
	if (n == 0)
		chain_shorten(index, hash);
}
