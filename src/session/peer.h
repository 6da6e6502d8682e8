// Peers: who a packet leaves to, with the header that it leaves with, ready to be copied.
//
// A peer is a gNB or UPF (GTP-U tunnel header and Ethernet header) or a next hop of an N6 interface
// (Ethernet header only). Sessions name a peer by index, so that a changed MAC touches no session. Each
// worker has its own array, written by itself on command of the control thread (worker/mailbox.h).

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"

#define PEER_NONE 0 // index 0 is never a peer
#define PEER_HEADER_BYTES 64

enum peer_state {
	PEER_FREE,
	PEER_WAIT, // its link address is not known yet: packets go to the control thread to wait
	PEER_READY,
};

enum peer_kind {
	PEER_PLAIN,   // next hop: Ethernet header only
	PEER_GTPU_V4, // GTP-U/UDP/IPv4 tunnels
};

// `header` is right-aligned: its last byte is the last before the user packet. For GTP-U it is
// Ethernet [VLAN] | IPv4 | UDP | GTP-U with the extension flag, 4 optional octets, PDU Session Container
// of 4 octets: 44 bytes in all after Ethernet. The encapsulation patches lengths, DSCP, checksum, TEID and
// QFI, and leaves the last 8 bytes out when no QFI is known.
struct peer {
	uint8_t state; // enum peer_state
	uint8_t kind;  // enum peer_kind
	uint8_t iface;
	uint8_t eth_bytes; // 14, or 18 with a VLAN tag
	uint16_t mtu;      // of the interface: longest IP packet that may leave
	uint16_t
		ip_sum; // one's complement sum of the outer IPv4 header, its length, DSCP and checksum 0
	uint32_t addr; // network order, of a PEER_GTPU_V4 or an IPv4 next hop
	uint8_t spare[52];
	uint8_t header[PEER_HEADER_BYTES];
};
static_assert(sizeof(struct peer) == 128, "the header is a cache line of its own");

#define PEER_PSC_BYTES (GTPU_OPTION_BYTES + GTPU_PSC_BYTES)

static inline rte_be16_t peer_ip_cksum(const struct peer *peer, uint8_t tos, rte_be16_t total)
{
	uint32_t sum = (uint32_t)peer->ip_sum + rte_cpu_to_be_16(tos) + total;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (rte_be16_t)~sum;
}

// Completes a copy of a tunnel header whose IPv4 header is at `ip`, for a GTP-U message of `gtpu_bytes`, its
// own header included: lengths, DSCP (in place, as `tos`), checksum, TEID.
static inline void peer_patch(uint8_t *ip, const struct peer *peer, uint8_t tos,
			      unsigned gtpu_bytes, rte_be32_t teid)
{
	struct ip4_head *ip4 = (struct ip4_head *)ip;
	struct udp_head *udp = (struct udp_head *)(ip + IP4_BYTES);
	struct gtpu_head *gtpu = (struct gtpu_head *)(ip + IP4_BYTES + UDP_BYTES);

	ip4->tos = tos;
	ip4->total = rte_cpu_to_be_16((uint16_t)(gtpu_bytes + UDP_BYTES + IP4_BYTES));
	ip4->cksum = peer_ip_cksum(peer, tos, ip4->total);
	udp->bytes = rte_cpu_to_be_16((uint16_t)(gtpu_bytes + UDP_BYTES));
	gtpu->bytes = rte_cpu_to_be_16((uint16_t)(gtpu_bytes - GTPU_BYTES));
	gtpu->teid = teid;
}
