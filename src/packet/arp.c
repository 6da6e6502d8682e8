// ARP frames, written (RFC 826): whole frames for the control thread to inject.
// Pure; the caller's buffer holds ARP_FRAME_BYTES.

#include "packet/arp.h"

static uint32_t arp_write(uint8_t *frame, uint32_t at, uint16_t op, const uint8_t *mac,
			  rte_be32_t sender, const uint8_t *to_mac, rte_be32_t to)
{
	struct arp_head *arp = (struct arp_head *)(frame + at);

	arp->hardware = RTE_BE16(1);
	arp->protocol = RTE_BE16(ETH_TYPE_IP4);
	arp->hardware_bytes = ETH_MAC_BYTES;
	arp->protocol_bytes = 4;
	arp->op = rte_cpu_to_be_16(op);
	memcpy(arp->sender_mac, mac, ETH_MAC_BYTES);
	arp->sender = sender;
	memcpy(arp->target_mac, to_mac, ETH_MAC_BYTES);
	arp->target = to;
	return at + ARP_BYTES;
}

uint32_t arp_request_build(uint8_t frame[ARP_FRAME_BYTES], uint16_t vid,
			   const uint8_t mac[ETH_MAC_BYTES], rte_be32_t sender, rte_be32_t target)
{
	static const uint8_t all[ETH_MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const uint8_t unknown[ETH_MAC_BYTES];
	uint32_t at = eth_write(frame, all, mac, vid, ETH_TYPE_ARP);

	return arp_write(frame, at, ARP_REQUEST, mac, sender, unknown, target);
}

uint32_t arp_reply_build(uint8_t frame[ARP_FRAME_BYTES], uint16_t vid,
			 const uint8_t mac[ETH_MAC_BYTES], rte_be32_t sender,
			 const uint8_t to_mac[ETH_MAC_BYTES], rte_be32_t to)
{
	uint32_t at = eth_write(frame, to_mac, mac, vid, ETH_TYPE_ARP);

	return arp_write(frame, at, ARP_REPLY, mac, sender, to_mac, to);
}
