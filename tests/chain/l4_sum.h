// The checksum of a user packet's L4 header, of TCP, UDP, ICMP and ICMPv6: written, and checked.
//
// Packets are whole and have no IPv4 options or IPv6 extension headers. Sums are taken over all bytes, by
// packet/cksum.h, which has tests of its own (tests/unit/test_packet.c).

#pragma once

#include <string.h>

#include "packet/cksum.h"
#include "packet/ip.h"

static inline uint32_t l4_sum_head(const uint8_t *ip)
{
	return *ip >> 4 == 6 ? IP6_BYTES : IP4_BYTES;
}

static inline uint8_t l4_sum_proto(const uint8_t *ip)
{
	return *ip >> 4 == 6 ? ((const struct ip6_head *)ip)->next
			     : ((const struct ip4_head *)ip)->proto;
}

// What the checksum is of: the pseudo header, where it counts, and all that follows.
static inline uint64_t l4_sum(const uint8_t *ip)
{
	const struct ip4_head *ip4 = (const struct ip4_head *)ip;
	const struct ip6_head *ip6 = (const struct ip6_head *)ip;
	uint32_t head = l4_sum_head(ip), bytes = ip_bytes(ip) - head;
	uint8_t proto = l4_sum_proto(ip);
	uint64_t pseudo = 0;

	if (*ip >> 4 == 6)
		pseudo = cksum_pseudo6(ip6->src, ip6->dst, proto, bytes);
	else if (proto != IPPROTO_ICMP)
		pseudo = cksum_pseudo4(ip4->src, ip4->dst, proto, bytes);
	return pseudo + cksum_bytes(ip + head, bytes);
}

static inline size_t l4_sum_at(const uint8_t *ip)
{
	uint8_t proto = l4_sum_proto(ip);

	return l4_sum_head(ip) + (proto == IPPROTO_TCP ? 16 : proto == IPPROTO_UDP ? 6 : 2);
}

static inline void l4_sum_write(uint8_t *ip)
{
	uint8_t *at = ip + l4_sum_at(ip);
	uint16_t cksum;

	memset(at, 0, sizeof(cksum));
	cksum = l4_sum_proto(ip) == IPPROTO_UDP ? cksum_finish_udp(l4_sum(ip))
						: cksum_finish(l4_sum(ip));
	memcpy(at, &cksum, sizeof(cksum));
}

static inline bool l4_sum_right(const uint8_t *ip)
{
	return cksum_fold(l4_sum(ip)) == 0xffff;
}
