// Packets that a service sends on another way, which they take at the end of the turn.
//
// Worker. Between, such a packet is its mbuf with the struct pkt in the private area, in a list by mbuf->next; no
// command comes between, so the lines and rules that it names stay. What it takes is bounded by what a turn takes
// in: nothing goes round twice.

#pragma once

#include "worker/worker.h"

// `p->chain` are the services that it still visits. 0: it is a packet for the UE of the down line that `p->ref`
// names, of whatever worker, as if it had come in by `p->iface`.
static inline void again_post(struct worker *w, struct pkt *p)
{
	struct rte_mbuf *m = p->mbuf;
	struct again *again = &w->again;

	*pkt_private(m) = *p;
	m->next = NULL;
	if (again->last)
		again->last->next = m;
	else
		again->first = m;
	again->last = m;
	p->chain = 0;
}

static inline bool again_waits(const struct worker *w)
{
	return w->again.first != NULL;
}

// The next one; false: there is none. It is copied, since its mbuf may be another thread's before it has ended here.
static inline bool again_take(struct worker *w, struct pkt *ret)
{
	struct rte_mbuf *m = w->again.first;

	if (!m)
		return false;
	w->again.first = m->next;
	if (!m->next)
		w->again.last = NULL;
	m->next = NULL;
	*ret = *pkt_private(m);
	return true;
}
