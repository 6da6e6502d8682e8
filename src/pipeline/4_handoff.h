// Handoff: a packet that arrived at the wrong worker goes to its owner through a ring of their own.
//
// The entry is 16 bytes: the mbuf and the reference, so that the owner can fetch the session's line before it
// reads the packet. What was parsed goes along in the mbuf's private area.

#pragma once

#include "pipeline/pipeline.h"

#define HANDOFF_DOWN                                                                               \
	(1u << 31) // in an entry's ref.where, whose owner is known: the index is a down line's

void handoff_flush_to(struct worker *w, unsigned owner);

static inline void handoff_put(struct worker *w, struct pkt *p, unsigned owner, bool up)
{
	struct handoff_out *out = &w->handoff_out[owner];

	*pkt_private(p->mbuf) = *p;
	out->entries[out->n++] = (struct handoff){
		.mbuf = p->mbuf,
		.ref = {session_ref_index(p->ref) | (up ? 0 : HANDOFF_DOWN), p->ref.check},
	};
	if (out->n == HANDOFF_BURST)
		handoff_flush_to(w, owner);
}
