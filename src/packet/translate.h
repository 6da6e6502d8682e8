// Translation of users' packets: another address, port or echo identifier at one of their ends, and checksums that
// stay right by what changed (RFC 3022 4.1, RFC 1624).
//
// Workers, pure. What has been wrong stays as wrong as it was, for the receiver to see. A UDP checksum of 0 means
// "none" and stays 0; no other becomes 0. Later fragments have only addresses. TCP, UDP and echo have a port or
// identifier; of other protocols the address alone is translated, with the checksum where that covers it. An IPv6
// packet with a routing header that names its last destination is not known to be one: its checksum would be wrong.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>

#include <rte_branch_prediction.h>

#include "packet/be.h"
#include "packet/cksum.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "packet/pkt.h"

enum translate_side {
	TRANSLATE_SOURCE,
	TRANSLATE_DESTINATION,
};

struct translation {
	uint8_t addr[16]; // of the packet's family: the first 4 bytes, or all
	uint16_t port;    // or echo identifier, host order
	bool with_port;   // false: it stays
};

// Translates the packet whose IP header stands at `user`, and `p`'s ports with it. An echo identifier is changed
// whichever the side. False, and nothing has changed: a first fragment without the checksum that would have to change.
bool translate_packet(uint8_t *user, struct pkt *p, enum translate_side side,
		      const struct translation *to);

// Translates an ICMP error: address and port at the other side of the packet that it quotes, `quoted` as
// icmp_quote_read() gave it, and its own address at `side` where that is the same host's, not a router's on the way.
// Of a quote that is cut short what is there.
void translate_error(uint8_t *user, const struct pkt *p, struct pkt *quoted,
		     enum translate_side side, const struct translation *to);

// The same as translate_packet(), address and port, for a TCP or UDP packet over IPv4 that is no fragment: inline,
// since every packet of a translated flow goes through it.
static inline void translate4_tuple(uint8_t *user, struct pkt *p, enum translate_side side,
				    rte_be32_t addr, uint16_t port)
{
	bool source = side == TRANSLATE_SOURCE, tcp = p->proto == IPPROTO_TCP;
	struct ip4_head *ip = (struct ip4_head *)user;
	uint8_t *l4 = user + (p->l4 - p->user);
	uint8_t *cksum_at = l4 + 6 + 10 * (unsigned)tcp; // no branch on the protocol (packet/l4.h)
	rte_be16_t to = rte_cpu_to_be_16(port), cksum = word16_get(cksum_at);
	rte_be32_t from = source ? ip->src : ip->dst;
	uint64_t sum = (uint64_t)(uint32_t)~from + addr;

	ip->cksum = cksum_finish((uint64_t)(uint16_t)~ip->cksum + sum);
	if (source)
		ip->src = addr;
	else
		ip->dst = addr;
	sum += (uint64_t)(uint16_t)~word16_get(l4 + (source ? 0 : 2)) + to;
	memcpy(l4 + (source ? 0 : 2), &to, sizeof(to));
	*(source ? &p->sport : &p->dport) = port;
	if (unlikely(cksum == 0 && !tcp))
		return;
	cksum = cksum_finish((uint64_t)(uint16_t)~cksum + sum);
	if (unlikely(cksum == 0 && !tcp))
		cksum = 0xffff;
	memcpy(cksum_at, &cksum, sizeof(cksum));
}
