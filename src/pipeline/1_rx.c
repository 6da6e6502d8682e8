// Receive: a burst from each of the worker's queues into the turn's array.
//
// Worker. Their bytes are not looked at yet: parse asks for them group by group.

#include <rte_ethdev.h>

#include "pipeline/pipeline.h"

void rx_gather(struct worker *w, struct turn *t)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < w->n_rx; i++) {
		const struct worker_rx *rx = &w->rx[i];
		unsigned room = RTE_MIN(w->burst, (WORKER_BATCH - t->n) / (w->n_rx - i));
		struct rte_mbuf **to = &t->mbufs[t->n_rx];
		unsigned n;

		n = rte_eth_rx_burst(rx->queue.port_id, rx->queue.queue_id, to, (uint16_t)room);
		for (unsigned k = 0; k < n; k++) {
			t->rx[t->n_rx + k] = (uint8_t)i;
			bytes += to[k]->pkt_len;
		}
		t->n_rx += n;
		t->n += n;
		worker_count(w, COUNTER_rx, n);
	}
	worker_count(w, COUNTER_rx_bytes, bytes);
}
