// Rings between two threads, one producer and one consumer each, in the process's DPDK memory.
//
// Made and freed by the control thread.

#pragma once

#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

// `entries` is a power of two, one of which stays empty. `entry_bytes` is a multiple of 4. Freed by
// rte_free. NULL without memory.
static inline struct rte_ring *ring_new(uint32_t entries, uint32_t entry_bytes, int socket)
{
	ssize_t bytes = rte_ring_get_memsize_elem(entry_bytes, entries);
	struct rte_ring *ring;

	if (bytes < 0)
		return NULL;
	ring = rte_zmalloc_socket("ring", (size_t)bytes, RTE_CACHE_LINE_SIZE, socket);
	if (ring && rte_ring_init(ring, "sluice", entries, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
		rte_free(ring);
		return NULL;
	}
	return ring;
}
