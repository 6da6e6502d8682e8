// Take the outer headers off a packet that came by a tunnel (TS 29.244 8.2.64, Outer Header Removal).
//
// Runs on the owner. Locate gives it to packets that came by a tunnel; afterwards the frame starts at the
// user's IP header and ends with it, so that padding of the link is gone too.

#pragma once

#include "service/service.h"

static inline void gtpu_decap_one(struct worker *w, struct pkt *p)
{
	struct rte_mbuf *m = p->mbuf;

	m->data_off = (uint16_t)(m->data_off + p->user);
	m->data_len = p->user_bytes;
	m->pkt_len = p->user_bytes;
	p->l4 = (uint16_t)(p->l4 - p->user);
	p->user = 0;
}
