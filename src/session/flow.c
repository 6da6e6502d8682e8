// Flows begin and end, see flow.h.
// Owner worker, but for making and freeing the table. A number that becomes free is the next to be used, while its
// lines are still in the cache; 2^32 lives pass before it has a version again.

#include "session/flow.h"

#include <errno.h>

#include <rte_malloc.h>

#include "base/rand.h"

int flow_table_init(struct flow_table *table, uint32_t n, int socket)
{
	assert(n < 1u << FLOW_NUMBER_BITS);
	*table = (struct flow_table){
		.n = n,
		.flows = rte_zmalloc_socket("flows", (n + 1) * sizeof(struct flow),
					    RTE_CACHE_LINE_SIZE, socket),
		.cold = rte_zmalloc_socket("flow_cold", (n + 1) * sizeof(struct flow_cold),
					   RTE_CACHE_LINE_SIZE, socket),
		.free = rte_malloc_socket("flow_free", (n + 1) * sizeof(uint32_t),
					  RTE_CACHE_LINE_SIZE, socket),
	};
	rand_bytes(table->seed, sizeof(table->seed));
	if (!table->flows || !table->cold || !table->free ||
	    flow_index_init(&table->index[0], 2 * n, socket) != 0 ||
	    flow_index_init(&table->index[1], 2 * n, socket) != 0) {
		flow_table_fini(table);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		table->free[i] = n - i;
	return 0;
}

void flow_table_fini(struct flow_table *table)
{
	rte_free(table->flows);
	rte_free(table->cold);
	rte_free(table->free);
	flow_index_fini(&table->index[0]);
	flow_index_fini(&table->index[1]);
	*table = (struct flow_table){0};
}

enum flow_made flow_add(struct flow_table *table, const struct flow_key *key, bool v6,
			uint64_t hash, uint32_t *ret)
{
	uint32_t entry = flow_lookup(table, key, v6, hash);
	struct flow *flow;

	if (entry) {
		*ret = flow_entry_number(entry);
		return FLOW_KEY_TAKEN;
	}
	if (table->used == table->n)
		return FLOW_POOL_FULL;
	*ret = table->free[table->n - ++table->used];
	flow = &table->flows[*ret];
	*flow = (struct flow){
		.key = *key,
		.version = flow->version,
		.flags = (uint8_t)(FLOW_F_USED | (v6 ? FLOW_F_V6 : 0)),
		.pdrs = {FLOW_PDR_NONE, FLOW_PDR_NONE},
	};
	flow->version += flow->version == 0; // 0 is never one
	table->cold[*ret] = (struct flow_cold){0};
	flow_index_add(&table->index[v6], hash, *ret);
	return FLOW_MADE;
}

static bool is_v6(const struct flow *flow)
{
	return flow->flags & FLOW_F_V6;
}

void flow_del(struct flow_table *table, uint32_t number)
{
	struct flow *flow = &table->flows[number];

	if (flow->flags & FLOW_F_SECOND)
		flow_second_del(table, number);
	flow_index_del(&table->index[is_v6(flow)], flow_hash(table, &flow->key), number);
	flow->flags = 0;
	flow->version++;
	table->free[table->n - table->used--] = number;
}

enum flow_made flow_second_add(struct flow_table *table, uint32_t number,
			       const struct flow_key *key)
{
	struct flow *flow = &table->flows[number];
	uint64_t hash = flow_hash(table, key);

	assert(!(flow->flags & FLOW_F_SECOND));
	if (flow_lookup(table, key, is_v6(flow), hash))
		return FLOW_KEY_TAKEN;
	table->cold[number].second = *key;
	flow->flags |= FLOW_F_SECOND;
	flow_index_add(&table->index[is_v6(flow)], hash, number | FLOW_ENTRY_SECOND);
	return FLOW_MADE;
}

void flow_second_del(struct flow_table *table, uint32_t number)
{
	struct flow *flow = &table->flows[number];
	uint64_t hash = flow_hash(table, &table->cold[number].second);

	flow_index_del(&table->index[is_v6(flow)], hash, number | FLOW_ENTRY_SECOND);
	flow->flags &= (uint8_t)~FLOW_F_SECOND;
}

// worker << 56 | number << 32 | version
uint64_t flow_id(const struct flow_table *table, unsigned worker, uint32_t number)
{
	return flow_id_at(worker, number) | table->flows[number].version;
}

uint64_t flow_id_at(unsigned worker, uint32_t number)
{
	return (uint64_t)worker << (32 + FLOW_NUMBER_BITS) | (uint64_t)number << 32;
}

uint32_t flow_id_number(uint64_t id)
{
	return (uint32_t)(id >> 32) & ((1u << FLOW_NUMBER_BITS) - 1);
}

unsigned flow_id_worker(uint64_t id)
{
	return (unsigned)(id >> (32 + FLOW_NUMBER_BITS));
}

uint32_t flow_id_lookup(const struct flow_table *table, uint64_t id)
{
	uint32_t number = flow_id_number(id);

	if (number == 0 || number > table->n || !(table->flows[number].flags & FLOW_F_USED) ||
	    table->flows[number].version != (uint32_t)id)
		return 0;
	return number;
}
