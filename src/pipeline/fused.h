// The ordinary chains, fused: what the bitmap loop would do to one packet, without the bitmap.
//
// A composition of the services' own per-packet functions, in the registry's order; a test holds both ways
// equal. Only for packets whose chain is the ordinary one of their direction, with or without qer: for a PDR
// without QERs that does nothing.

#pragma once

#include "service/09_gtpu_decap.h"
#include "service/11_source_check.h"
#include "service/17_nat_in.h"
#include "service/21_l4_lifecycle.h"
#include "service/23_tcp_check.h"
#include "service/27_pdr.h"
#include "service/29_flow_pdr.h"
#include "service/35_qer.h"
#include "service/45_nat_out.h"
#include "service/47_far.h"
#include "service/50_gtpu_encap.h"
#include "service/60_output.h"

#define FUSED_MAY SERVICE_MASK(qer)
#define FUSED_DOWN (SERVICE_MASK(pdr) | SERVICE_MASK(far) | SERVICE_MASK(output))
#define FUSED_UP (FUSED_DOWN | SERVICE_MASK(gtpu_decap) | SERVICE_MASK(source_check))

// Once the flow is known, of both directions.
#define FUSED_FLOW (SERVICE_MASK(far) | SERVICE_MASK(output))
#define FUSED_FLOW_MAY                                                                             \
	(SERVICE_MASK(qer) | SERVICE_MASK(tcp_check) | SERVICE_MASK(l4_lifecycle) |                \
	 SERVICE_MASK(pdr) | SERVICE_MASK(flow_pdr) | SERVICE_MASK(nat_in) |                       \
	 SERVICE_MASK(nat_out))

// Whether all chains of a group, of which these are the AND and the OR, are ordinary but for what they may have.
static inline bool fused_all(uint64_t all, uint64_t any, uint64_t ordinary, uint64_t may)
{
	return (all & ~may) == ordinary && (any & ~may) == ordinary;
}

// From far on: what that asks for decides.
static inline void fused_send(struct worker *w, struct pkt *p)
{
	far_one(w, p);
	if (unlikely(!p->chain))
		return;
	if (p->chain & SERVICE_MASK(gtpu_encap)) {
		gtpu_encap_one(w, p);
		if (unlikely(!p->chain))
			return;
	}
	output_one(w, p);
}

// From the PDR on.
static inline void fused_leave(struct worker *w, struct pkt *p)
{
	qer_one(w, p);
	if (likely(p->chain != 0))
		fused_send(w, p);
}

static inline void fused_up(struct worker *w, struct pkt *p)
{
	gtpu_decap_one(w, p);
	source_check_one(w, p);
	if (unlikely(!p->chain))
		return;
	pdr_one(w, p);
	if (likely(p->chain != 0))
		fused_leave(w, p);
}

static inline void fused_down(struct worker *w, struct pkt *p)
{
	pdr_one(w, p);
	if (likely(p->chain != 0))
		fused_leave(w, p);
}

static inline void fused_flow(struct worker *w, struct pkt *p)
{
	if (p->chain & SERVICE_MASK(nat_in)) {
		nat_in_one(w, p);
		if (unlikely(!p->chain))
			return;
	}
	if (p->chain & SERVICE_MASK(l4_lifecycle))
		l4_lifecycle_one(w, p);
	if (p->chain & SERVICE_MASK(tcp_check)) {
		tcp_check_one(w, p);
		if (unlikely(!p->chain))
			return;
	}
	if (p->chain & SERVICE_MASK(pdr)) {
		pdr_one(w, p);
		if (unlikely(!p->chain))
			return;
		if (p->chain & SERVICE_MASK(flow_pdr))
			flow_pdr_one(w, p);
	}
	qer_one(w, p);
	if (p->chain & SERVICE_MASK(nat_out))
		nat_out_one(w, p);
	if (likely(p->chain != 0))
		fused_send(w, p);
}

// What comes before the look for a flow; a chain that has other services before it goes by the bitmap.
#define FUSED_BEFORE_FLOW (SERVICE_MASK(gtpu_decap) | SERVICE_MASK(source_check))

static inline void fused_before_flow(struct worker *w, struct pkt *p)
{
	if (p->chain & SERVICE_MASK(gtpu_decap))
		gtpu_decap_one(w, p);
	if (p->chain & SERVICE_MASK(source_check))
		source_check_one(w, p);
	p->chain &= ~FUSED_BEFORE_FLOW;
}
