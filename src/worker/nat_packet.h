// Packets of translated flows beyond the ordinary, and packets to outside addresses before their session is known.
//
// Worker.

#pragma once

#include "packet/translate.h"
#include "worker/worker.h"

// The pool, of the interface, that the address is of; NULL: none.
const struct nat_pool *nat_pool_at(const struct worker *w, unsigned iface, rte_be32_t addr);
// The word of the session that a packet to an address of the pool is for, by its port, its echo identifier, or the port
// of what the error quotes; NULL: it has none of these.
const struct session_ref *nat_word(const struct nat_pool *pool, const struct pkt *p,
				   const uint8_t *user);

// Which worker gathers the fragments of a datagram to an outside address.
unsigned nat_gather_owner(const struct worker *w, const struct pkt *p);
// On that worker, or on any that all of them pass: takes the fragment over. With the last of its datagram all go on to
// the session that the first one's port says.
void nat_gather(struct worker *w, struct pkt *p);

// Translates any packet of the flow, of whatever is part of it, at this side. False: it has ended.
bool nat_rewrite(struct worker *w, struct pkt *p, enum translate_side side, rte_be32_t addr,
		 uint16_t port);

// A downlink packet whose sender is to be told about: makes it again what the network outside sent.
void nat_undo(const struct worker *w, struct pkt *p);
