// The worker's end of the punt ring (punt.h).
//
// Worker.

#include "worker/punt.h"

void punt_post(struct worker *w, struct pkt *p, enum punt why)
{
	struct pkt *priv = pkt_private(p->mbuf);

	p->punt = (uint8_t)why;
	*priv = *p;
	if (unlikely(rte_ring_sp_enqueue(w->punt, p->mbuf) != 0)) {
		pkt_drop(w, p, DROP_punt_full);
		return;
	}
	w->stats.counter[COUNTER_punted]++;
	p->chain = 0;
}
