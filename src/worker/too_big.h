// Packets that are longer than what they leave by: cut where that is allowed, else dropped, and their sender told.
//
// Worker. A packet that was cut counts as consumed, its pieces as made.

#pragma once

#include "worker/worker.h"

#define TOO_BIG_PIECES 64     // of one packet at most
#define TOO_BIG_IP6_MTU 1280u // what every IPv6 packet may have (RFC 8200 5)

// Plain IP by interface `iface`. `chain` is what its pieces still visit.
void too_big_plain(struct worker *w, struct pkt *p, unsigned iface, uint32_t mtu, uint64_t chain);
// Cuts an IPv4 user packet, and sends its pieces through the rest of the chain at the end of the turn.
void too_big_cut(struct worker *w, struct pkt *p, uint32_t mtu, uint64_t chain);
// Cuts a frame of the tunnel that p->peer names, counts the user packet and sends the pieces there.
void too_big_cut_frame(struct worker *w, struct pkt *p);
