// Ethernet and its one VLAN tag (IEEE 802.1Q): types, header writer, turning a frame around.
// Any thread, pure; parse() reads the header itself.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#include "packet/be.h"

#define ETH_MAC_BYTES 6
#define ETH_BYTES 14 // header without a tag
#define ETH_TAG_BYTES 4
#define ETH_VID_MASK 0x0fff

enum eth_type {
	ETH_TYPE_IP4 = 0x0800,
	ETH_TYPE_ARP = 0x0806,
	ETH_TYPE_VLAN = 0x8100,
	ETH_TYPE_IP6 = 0x86dd,
};

// Writes a header, tagged when `vid` is not 0, and gives its length: where the payload starts.
static inline uint32_t eth_write(uint8_t *frame, const uint8_t dst[ETH_MAC_BYTES],
				 const uint8_t src[ETH_MAC_BYTES], uint16_t vid, uint16_t type)
{
	uint32_t at = 2 * ETH_MAC_BYTES;

	memcpy(frame, dst, ETH_MAC_BYTES);
	memcpy(frame + ETH_MAC_BYTES, src, ETH_MAC_BYTES);
	if (vid) {
		be16_put(frame + at, ETH_TYPE_VLAN);
		be16_put(frame + at + 2, vid);
		at += ETH_TAG_BYTES;
	}
	be16_put(frame + at, type);
	return at + 2;
}

// The destination address as one number, for comparing. Reads 8 bytes.
static inline uint64_t eth_dst(const uint8_t *frame)
{
	return word64_get(frame) & RTE_BE64(0xffffffffffff0000);
}

// Whether the frame was sent to a group or to all.
static inline bool eth_to_many(const uint8_t *frame)
{
	return frame[0] & 1;
}

// Sends the frame back: destination and source change places, type and tag stay.
static inline void eth_turn(uint8_t *frame)
{
	uint8_t dst[ETH_MAC_BYTES];

	memcpy(dst, frame, ETH_MAC_BYTES);
	memcpy(frame, frame + ETH_MAC_BYTES, ETH_MAC_BYTES);
	memcpy(frame + ETH_MAC_BYTES, dst, ETH_MAC_BYTES);
}
