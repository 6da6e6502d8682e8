// Transmit: one burst for each interface and turn, and the frames of the control thread.
//
// Worker. What a port does not take is tried again a few times within the turn, then dropped by name.

#include <rte_ethdev.h>

#include "pipeline/pipeline.h"
#include "worker/punt.h"

#define INJECT_BURST 32

void inject_gather(struct worker *w)
{
	struct rte_mbuf *mbufs[INJECT_BURST];
	unsigned n = rte_ring_sc_dequeue_burst(w->inject, (void **)mbufs, INJECT_BURST, NULL);

	worker_count(w, COUNTER_injected, n);
	for (unsigned i = 0; i < n; i++)
		worker_send(w, pkt_private(mbufs[i])->iface, mbufs[i]);
}

static void flush_iface(struct worker *w, struct worker_tx *tx)
{
	unsigned sent = 0;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < tx->n; i++)
		bytes += tx->mbufs[i]->pkt_len;
	for (unsigned tries = 0; sent < tx->n && tries < WORKER_TX_TRIES;) {
		unsigned n = rte_eth_tx_burst(tx->queue.port_id, tx->queue.queue_id,
					      &tx->mbufs[sent], (uint16_t)(tx->n - sent));

		sent += n;
		tries += n == 0;
	}
	for (unsigned i = sent; i < tx->n; i++) {
		bytes -= tx->mbufs[i]->pkt_len;
		rte_pktmbuf_free_seg(tx->mbufs[i]);
	}
	worker_count(w, COUNTER_tx, sent);
	worker_count(w, COUNTER_tx_bytes, bytes);
	w->stats.drop[DROP_tx_full] += tx->n - sent;
	tx->n = 0;
}

void tx_flush(struct worker *w)
{
	for (unsigned i = 0; i < w->n_ifaces; i++)
		if (w->tx[i].n)
			flush_iface(w, &w->tx[i]);
}
