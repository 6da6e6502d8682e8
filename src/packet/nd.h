// IPv6 neighbour solicitations and advertisements (RFC 4861): read and written by the control thread.
// Workers only tell them from user traffic (parse.c).

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/eth.h"
#include "packet/pkt.h"

struct nd_message {
	bool advert;                      // otherwise a solicitation
	bool router, solicited, override; // of an advertisement
	bool has_mac; // the sender's (solicitation) or target's (advertisement) link-layer address option
	uint8_t mac[ETH_MAC_BYTES];
	uint8_t src[16];
	uint8_t dst[16];
	uint8_t target[16];
};

// The most that a frame made here takes: tag, IPv6, 24 bytes of message, one option.
#define ND_FRAME_BYTES (ETH_BYTES + ETH_TAG_BYTES + 40 + 24 + 8)

// Reads a packet of kind PKT_ND with all the checks of 7.1.1 and 7.1.2. 0 or -EBADMSG.
int nd_decode(const uint8_t *frame, const struct pkt *p, struct nd_message *ret_message);

// The solicited-node address of an address, ff02::1:ff00:0/104 with its last 24 bits (RFC 4291 2.7.1), and whether
// `group` is one of these.
void nd_group(const uint8_t addr[16], uint8_t ret_group[16]);
bool nd_is_group(const uint8_t group[16]);

// Asks for `target`'s link-layer address: to its group, or to `to_mac` when that is not NULL (a probe of
// one who is known). Gives the frame's length.
uint32_t nd_solicit_build(uint8_t frame[ND_FRAME_BYTES], uint16_t vid,
			  const uint8_t mac[ETH_MAC_BYTES], const uint8_t src[16],
			  const uint8_t target[16], const uint8_t *to_mac);

// Says that `target`, an address of ours, is at `mac`. With `to` and `to_mac` NULL to all nodes,
// unsolicited; otherwise in answer to a solicitation.
uint32_t nd_advert_build(uint8_t frame[ND_FRAME_BYTES], uint16_t vid,
			 const uint8_t mac[ETH_MAC_BYTES], const uint8_t target[16],
			 const uint8_t *to_mac, const uint8_t *to);
