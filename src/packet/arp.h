// ARP for IPv4 over Ethernet (RFC 826). Workers only check that a frame is sound; the control thread
// reads and writes the rest.

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "packet/eth.h"

enum arp_op {
	ARP_REQUEST = 1,
	ARP_REPLY = 2,
};

struct arp_head {
	rte_be16_t hardware; // 1: Ethernet
	rte_be16_t protocol; // ETH_TYPE_IP4
	uint8_t hardware_bytes;
	uint8_t protocol_bytes;
	rte_be16_t op;
	uint8_t sender_mac[ETH_MAC_BYTES];
	rte_be32_t sender;
	uint8_t target_mac[ETH_MAC_BYTES];
	rte_be32_t target;
} __attribute__((packed));

#define ARP_BYTES 28
static_assert(sizeof(struct arp_head) == ARP_BYTES, "as on the wire");

// The most that an ARP frame takes, tag included.
#define ARP_FRAME_BYTES (ETH_BYTES + ETH_TAG_BYTES + ARP_BYTES)

// Whether ARP_BYTES at `arp` are a request or a reply of Ethernet and IPv4.
static inline bool arp_is_sound(const struct arp_head *arp)
{
	return arp->hardware == RTE_BE16(1) && arp->protocol == RTE_BE16(ETH_TYPE_IP4) &&
	       arp->hardware_bytes == ETH_MAC_BYTES && arp->protocol_bytes == 4 &&
	       (arp->op == RTE_BE16(ARP_REQUEST) || arp->op == RTE_BE16(ARP_REPLY));
}

// Both write a whole frame and give its length (without padding to Ethernet's 60 bytes). vid 0: no tag.
uint32_t arp_request_build(uint8_t frame[ARP_FRAME_BYTES], uint16_t vid,
			   const uint8_t mac[ETH_MAC_BYTES], rte_be32_t sender, rte_be32_t target);
uint32_t arp_reply_build(uint8_t frame[ARP_FRAME_BYTES], uint16_t vid,
			 const uint8_t mac[ETH_MAC_BYTES], rte_be32_t sender,
			 const uint8_t to_mac[ETH_MAC_BYTES], rte_be32_t to);
