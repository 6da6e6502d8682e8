// Put the tunnel header on: Ethernet, IP, UDP, GTP-U with a PDU Session Container when a QFI is known
// (TS 29.281 5.1, TS 38.415 5.5.2.1, TS 29.244 8.2.56); of a UDP tunnel towards N6, up to UDP alone.
//
// Runs on the owner. The peer's header is copied as one cache line (IPv6: one and a half) that ends where
// the user packet starts; then lengths, DSCP, checksums, TEID and QFI are patched in. The outer UDP checksum
// is zero on IPv4, as TS 29.281 4.4.2 and RFC 768 allow; on IPv6 it is there unless the configuration says that
// receivers of GTP-U do without (RFC 6936). An IPv4 packet is whole (DF, identification 0: RFC 6864); the DSCP is the
// FAR's or the user packet's. What does not fit goes out of line: it is cut where that is allowed, and else its
// sender is told what would fit (TS 29.281 4.2.5).

#pragma once

#include "service/leave.h"

static inline void gtpu_encap_one(struct worker *w, struct pkt *p)
{
	leave_headers(w, p, ruleset_far(line_rules(w, p->line), p->pdr->far), p->pdr);
}
