// Packets that a service sends on another way, which they take at the end of the turn.
//
// Worker. Between, such a packet is its mbuf with the struct pkt in the private area; no command comes between, so
// the lines and rules that it names stay. What it takes is bounded by what a turn takes in: nothing goes round twice.

#pragma once

#include "worker/worker.h"

// `p->chain` are the services that it still visits. 0: it is a packet for the UE of the down line that `p->ref`
// names, of whatever worker, as if it had come in by `p->iface`.
static inline void again_post(struct worker *w, struct pkt *p)
{
	*pkt_private(p->mbuf) = *p;
	mbuf_list_put(&w->again, p->mbuf);
	p->chain = 0;
}

static inline bool again_waits(const struct worker *w)
{
	return w->again.first != NULL;
}

// The next one; false: there is none. It is copied, since its mbuf may be another thread's before it has ended here.
static inline bool again_take(struct worker *w, struct pkt *ret)
{
	struct rte_mbuf *m = mbuf_list_take(&w->again);

	if (m)
		*ret = *pkt_private(m);
	return m != NULL;
}
