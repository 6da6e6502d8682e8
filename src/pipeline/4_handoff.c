// Handoff between workers, both ends (4_handoff.h).
//
// Worker: each ring has one producer and one consumer.

#include "pipeline/4_handoff.h"

#include <rte_ring_elem.h>

#include "pipeline/3_locate.h"
#include "worker/nat_packet.h"

void handoff_flush_to(struct worker *w, unsigned owner)
{
	struct handoff_out *out = &w->handoff_out[owner];
	unsigned sent = rte_ring_sp_enqueue_burst_elem(w->handoff_to[owner], out->entries,
						       sizeof(struct handoff), out->n, NULL);

	worker_count(w, COUNTER_handoff_out, sent);
	w->stats.drop[DROP_handoff_full] += out->n - sent;
	for (unsigned i = sent; i < out->n; i++)
		rte_pktmbuf_free_seg(out->entries[i].mbuf);
	out->n = 0;
}

void handoff_flush(struct worker *w)
{
	for (unsigned owner = 0; owner < w->n_workers; owner++)
		if (w->handoff_out[owner].n)
			handoff_flush_to(w, owner);
}

static_assert(WORKER_BATCH / 2 >= MAX_WORKERS, "each ring has a share of a turn");

// Brings in what one other worker sent: first all that the entries point to, then the packets themselves.
static void gather_from(struct worker *w, struct turn *t, struct rte_ring *ring)
{
	struct handoff entries[WORKER_BURST];
	unsigned share = WORKER_BATCH / 2 /
			 (w->n_workers - 1); // so that no ring and no queue starves
	unsigned room = RTE_MIN(RTE_MIN(w->burst, (unsigned)WORKER_BURST), share);
	unsigned left;
	unsigned n = rte_ring_sc_dequeue_burst_elem(ring, entries, sizeof(struct handoff), room,
						    &left);

	if (n == 0)
		return;
	if (n + left > w->stats.counter[COUNTER_handoff_high])
		w->stats.counter[COUNTER_handoff_high] = n + left;
	worker_count(w, COUNTER_handoff_in, n);
	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(pkt_private(entries[i].mbuf));
	for (unsigned i = 0; i < n; i++) {
		// From the end of the array: its start is for packets of the queues, which are counted anew.
		struct pkt *p = &t->pkts[WORKER_BATCH - 1 - t->n++];
		bool up = !(entries[i].ref.where & HANDOFF_DOWN);

		*p = *pkt_private(entries[i].mbuf);
		p->flags |= PKT_F_HANDED;
		p->ref = session_ref_make(w->id, session_ref_index(entries[i].ref),
					  entries[i].ref.check);
		if (unlikely(p->kind == PKT_BAD))
			parse_fragment(w, t, p);
		else if (unlikely(p->ref.check == 0)) // a fragment to an address outside
			nat_gather(w, p);
		else
			locate_ready(w, up ? &t->up : &t->down, p, up);
	}
}

void handoff_gather(struct worker *w, struct turn *t)
{
	for (unsigned from = 0; from < w->n_workers; from++)
		if (w->handoff_from[from])
			gather_from(w, t, w->handoff_from[from]);
}
