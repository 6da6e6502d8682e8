// Peers: who a packet leaves to, with the header that it leaves with, ready to be copied.
//
// A peer is a gNB or UPF (GTP-U tunnel header and Ethernet header), the far end of a UDP tunnel behind N6, or a next
// hop of an N6 interface (Ethernet header only). Sessions name a peer by index, so that a changed MAC touches no session. Each
// worker has its own array, written by itself on command of the control thread (worker/mailbox.h).

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"

#define PEER_NONE 0             // index 0 is never a peer
#define PEER_HEADER_BYTES 96    // room for Ethernet with a VLAN tag and a tunnel over IPv6
#define PEER_HEADER_V4_BYTES 64 // of these, what every header but that fits in

enum peer_state {
	PEER_FREE,
	PEER_WAIT, // its link address is not known yet: packets go to the control thread to wait
	PEER_READY,
};

enum peer_kind {
	PEER_PLAIN,   // next hop: Ethernet header only
	PEER_GTPU_V4, // GTP-U/UDP/IPv4 tunnels
	PEER_GTPU_V6, // GTP-U/UDP/IPv6 tunnels
	PEER_UDP_V4,  // UDP/IPv4 tunnels to one port
	PEER_UDP_V6,
};

// `header` is right-aligned: its last byte is the last before the user packet. For GTP-U it is
// Ethernet [VLAN] | IP | UDP | GTP-U with the extension flag, 4 optional octets, PDU Session Container of
// 4 octets: 44 bytes in all after Ethernet, 64 over IPv6. The encapsulation patches lengths, DSCP, checksums,
// TEID and QFI, and leaves the last 8 bytes out when no QFI is known. Without GTP-U it ends with UDP.
struct peer {
	uint8_t state; // enum peer_state
	uint8_t kind;  // enum peer_kind
	uint8_t iface;
	uint8_t eth_bytes; // 14, or 18 with a VLAN tag
	uint16_t mtu;      // of the interface: longest IP packet that may leave
	// One's complement sum of what the checksum covers and does not change: the outer IPv4 header, its
	// length, DSCP and checksum 0; over IPv6 of the UDP checksum, addresses, protocol and ports.
	uint16_t ip_sum;
	bool udp_cksum; // over IPv6: UDP with a checksum
	uint8_t spare[23];
	uint8_t header[PEER_HEADER_BYTES];
};
static_assert(sizeof(struct peer) == 128 &&
		      (offsetof(struct peer, header) + PEER_HEADER_BYTES - PEER_HEADER_V4_BYTES) %
				      64 ==
			      0,
	      "the header of the ordinary way is a cache line of its own");

// The last `bytes` of the header.
static inline const uint8_t *peer_header(const struct peer *peer, unsigned bytes)
{
	return peer->header + PEER_HEADER_BYTES - bytes;
}

#define PEER_PSC_BYTES (GTPU_OPTION_BYTES + GTPU_PSC_BYTES)

static inline bool peer_is_tunnel(const struct peer *peer)
{
	return peer->kind != PEER_PLAIN;
}

static inline bool peer_is_gtpu(const struct peer *peer)
{
	return peer->kind == PEER_GTPU_V4 || peer->kind == PEER_GTPU_V6;
}

// Of a tunnel's outer IP header.
static inline uint32_t peer_ip_bytes(const struct peer *peer)
{
	return peer->kind == PEER_GTPU_V6 || peer->kind == PEER_UDP_V6 ? IP6_BYTES : IP4_BYTES;
}

static inline rte_be16_t peer_ip_cksum(const struct peer *peer, uint8_t tos, rte_be16_t total)
{
	uint32_t sum = (uint32_t)peer->ip_sum + rte_cpu_to_be_16(tos) + total;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (rte_be16_t)~sum;
}

// Completes a copy of a UDP tunnel's header whose IPv4 header is at `ip`, for a payload of `bytes`: lengths, DSCP
// (in place, as `tos`), checksum.
static inline void peer_patch_udp(uint8_t *ip, const struct peer *peer, uint8_t tos, unsigned bytes)
{
	struct ip4_head *ip4 = (struct ip4_head *)ip;
	struct udp_head *udp = (struct udp_head *)(ip + IP4_BYTES);

	ip4->tos = tos;
	ip4->total = rte_cpu_to_be_16((uint16_t)(bytes + UDP_BYTES + IP4_BYTES));
	ip4->cksum = peer_ip_cksum(peer, tos, ip4->total);
	udp->bytes = rte_cpu_to_be_16((uint16_t)(bytes + UDP_BYTES));
}

// The same over IPv6; the payload is in its place, for its checksum.
static inline void peer_patch_udp6(uint8_t *ip, const struct peer *peer, uint8_t tos,
				   unsigned bytes)
{
	struct ip6_head *ip6 = (struct ip6_head *)ip;
	struct udp_head *udp = (struct udp_head *)(ip + IP6_BYTES);

	ip6->flow = rte_cpu_to_be_32(0x60000000u | (uint32_t)tos << 20);
	ip6->payload = rte_cpu_to_be_16((uint16_t)(bytes + UDP_BYTES));
	udp->bytes = ip6->payload;
	// The length is summed twice: it stands in the pseudo-header too.
	udp->cksum = peer->udp_cksum ? cksum_finish_udp((uint64_t)peer->ip_sum + 2u * udp->bytes +
							cksum_bytes(udp + 1, bytes))
				     : 0;
}

// The same for a GTP-U message of `gtpu_bytes`, its own header included: also its length, and the TEID.
static inline void peer_patch(uint8_t *ip, const struct peer *peer, uint8_t tos,
			      unsigned gtpu_bytes, rte_be32_t teid)
{
	struct gtpu_head *gtpu = (struct gtpu_head *)(ip + IP4_BYTES + UDP_BYTES);

	gtpu->bytes = rte_cpu_to_be_16((uint16_t)(gtpu_bytes - GTPU_BYTES));
	gtpu->teid = teid;
	peer_patch_udp(ip, peer, tos, gtpu_bytes);
}

static inline void peer_patch6(uint8_t *ip, const struct peer *peer, uint8_t tos,
			       unsigned gtpu_bytes, rte_be32_t teid)
{
	struct gtpu_head *gtpu = (struct gtpu_head *)(ip + IP6_BYTES + UDP_BYTES);

	gtpu->bytes = rte_cpu_to_be_16((uint16_t)(gtpu_bytes - GTPU_BYTES));
	gtpu->teid = teid;
	peer_patch_udp6(ip, peer, tos, gtpu_bytes);
}
