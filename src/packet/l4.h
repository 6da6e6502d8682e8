// The L4 header of a user packet: ports, or ICMP type and code; the UDP layout and writer.
//
// Only what rules look at is read here. A whole packet's header is complete (TCP 20 bytes, SCTP 12, UDP,
// UDP-Lite and ICMP 8); of a first fragment only what was read is sure to be there.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>

#include <rte_branch_prediction.h>

#include "packet/be.h"
#include "packet/ip.h"
#include "packet/pkt.h"
#include "stats/stats.h"

struct udp_head {
	rte_be16_t sport;
	rte_be16_t dport;
	rte_be16_t bytes; // of header and payload
	rte_be16_t cksum;
} __attribute__((packed));

#define UDP_BYTES 8
static_assert(sizeof(struct udp_head) == UDP_BYTES, "as on the wire");

// The bytes of a datagram, of which `room` are there: header and payload, without what follows them (RFC 768).
// 0: not whole.
static inline uint32_t udp_bytes(const struct udp_head *udp, uint32_t room)
{
	if (unlikely(room < UDP_BYTES))
		return 0;
	uint32_t bytes = rte_be_to_cpu_16(udp->bytes);

	return likely(bytes >= UDP_BYTES && bytes <= room) ? bytes : 0;
}

// TCP or UDP, in one test: their mix cannot be predicted, so nothing on the way may branch on which.
static inline bool l4_is_common(uint8_t proto)
{
	const uint32_t common = 1u << IPPROTO_TCP | 1u << IPPROTO_UDP;
	return proto < 32 && (common >> proto & 1);
}

// TCP and UDP packets and their first fragments: others have no port that could be changed.
static inline bool l4_has_port(const struct pkt *p)
{
	return l4_is_common(p->proto) && !(p->flags & PKT_F_NO_L4);
}

// Whether the protocol has a header that is read here.
bool l4_is_known(uint8_t proto, uint8_t family);

// Fills the ports of every packet that l4_fill() does not.
enum drop l4_fill_slow(const uint8_t *l4, uint32_t bytes, struct pkt *p);

// Fills sport and dport from the `bytes` at `l4`; p->proto, family and flags are set.
static inline enum drop l4_fill(const uint8_t *l4, uint32_t bytes, struct pkt *p)
{
	uint8_t proto = p->proto;
	uint32_t least = 8 + 12 * (uint32_t)(proto == IPPROTO_TCP);

	if (unlikely(!l4_is_common(proto) || bytes < least))
		return l4_fill_slow(l4, bytes, p);
	p->sport = be16_get(l4);
	p->dport = be16_get(l4 + 2);
	return DROP_NONE;
}

// Write IP and UDP headers before a payload of `bytes` that is already in its place, 28 bytes after `ip`
// (IPv6: 48); the checksum is computed.
void udp4_write(uint8_t *ip, rte_be32_t src, uint16_t sport, rte_be32_t dst, uint16_t dport,
		uint32_t bytes);
void udp6_write(uint8_t *ip, const uint8_t src[16], uint16_t sport, const uint8_t dst[16],
		uint16_t dport, uint32_t bytes);

// Where the payload of udp_turn() must stand, from p->outer: behind headers without options.
static inline uint32_t udp_turn_at(const uint8_t *frame, const struct pkt *p)
{
	return (frame[p->outer] >> 4 == 4 ? IP4_BYTES : IP6_BYTES) + UDP_BYTES;
}

// Turns the frame of `p`, a UDP datagram to us, into one to its sender: MAC and IP addresses change
// places. The payload of `bytes` must already stand udp_turn_at() after p->outer (IPv4 options and IPv6
// extension headers do not come back). Gives the frame's new length, or 0 when the sender is not one host.
uint32_t udp_turn(uint8_t *frame, const struct pkt *p, uint16_t sport, uint16_t dport,
		  uint32_t bytes);
