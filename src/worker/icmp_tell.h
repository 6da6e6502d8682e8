// Dropping a user packet and telling its sender why by ICMP (RFC 792, RFC 4443).
//
// Worker. The answer is made of the packet's buffer: the packet counts as dropped, the answer as made. It comes from
// the UPF's address of interface `iface`, without which nobody is told, and goes to a UE as downlink of its session,
// else by the routes of that interface. How many are sent is bounded (limit.h). Nobody is told of a packet whose
// source is not its session's, or that came down by a tunnel: its sender is behind another UPF.

#pragma once

#include "worker/worker.h"

// Longer than `mtu`, and not to be cut.
void icmp_drop_too_big(struct worker *w, struct pkt *p, unsigned iface, uint32_t mtu)
	__attribute__((cold));
void icmp_drop_ttl(struct worker *w, struct pkt *p, unsigned iface) __attribute__((cold));
