// Fragments of tunnels' packets: put together before anything else is done with them (TS 29.281 4.2.5).
//
// Worker. Which one gathers a datagram follows from its addresses and identification.

#pragma once

#include <stdbool.h>

#include "worker/worker.h"

// Whether a packet that parse() dropped as outer_fragment is to be gathered: UDP to an address of ours that serves
// GTP-U. *ret_owner is the worker that does it.
bool gather_outer_wants(const struct worker *w, const struct pkt *p, unsigned *ret_owner)
	__attribute__((cold));
// On that worker: takes the fragment over. The whole frame, once all are there: a packet that this worker made. NULL:
// not yet, or never.
struct rte_mbuf *gather_outer(struct worker *w, struct pkt *p) __attribute__((cold));
