// ICMP errors about user packets, for chain tests.
//
// Those that go up are the UE's own, those that go down a router's.

#pragma once

#include "chain.h"
#include "l4_sum.h"
#include "packet/gtpu.h"
#include "packet/icmp.h"

#define ERROR_ROUTER "198.51.100.7"
#define ERROR_ROUTER6 "2001:db8:ee::7"

// Makes of the frame of a packet that goes the other way one with the error about it, which quotes so much of it. Gives
// its length.
static inline size_t error_frame(const struct rig *rig, const struct rig_session *s, bool up,
				 bool v6, uint8_t *frame, size_t bytes, size_t quote)
{
	const struct rig_flow around = {.proto = IPPROTO_UDP, .ttl = 64, .qfi = 1, .v6 = v6};
	uint32_t from = up ? ETH_BYTES : rig_user_at(rig, 1);
	uint32_t to = up ? rig_user_at(rig, 1) : ETH_BYTES;
	uint32_t head = (v6 ? IP6_BYTES : IP4_BYTES) + ICMP_BYTES;
	uint8_t user[RIG_FRAME_MAX], *ip = frame + to;

	memcpy(user, frame + from, bytes - from);
	quote = RTE_MIN(quote, bytes - from);
	chain_frame(rig, s, up, &around, frame); // the tunnel, or the link, is what counts
	memcpy(ip + head, user, quote);
	memset(ip + head - ICMP_BYTES, 0, ICMP_BYTES);
	ip[head - ICMP_BYTES] = v6 ? ICMP6_TYPE_UNREACHABLE : ICMP4_TYPE_UNREACHABLE;
	if (v6) {
		const struct ip6_head *about = (const struct ip6_head *)user;
		const struct addr router = rig_addr(ERROR_ROUTER6);

		ip6_write((struct ip6_head *)ip, up ? about->dst : router.v6, about->src,
			  IPPROTO_ICMPV6, 60, (uint32_t)(ICMP_BYTES + quote));
	} else {
		const struct ip4_head *about = (const struct ip4_head *)user;

		ip4_write((struct ip4_head *)ip, up ? about->dst : rig_addr(ERROR_ROUTER).v4,
			  about->src, IPPROTO_ICMP, (uint32_t)(ICMP_BYTES + quote));
	}
	l4_sum_write(ip);
	bytes = to + head + quote;
	if (up) {
		uint32_t gtpu = rig_gtpu_at(rig);

		be16_put(frame + gtpu + 2, (uint16_t)(bytes - gtpu - GTPU_BYTES));
		rig_outer_write(rig, GTPU_PORT, bytes - gtpu, frame);
	}
	return bytes;
}
