// ICMP and ICMPv6: types, echo replies, errors about user packets (RFC 792, RFC 4443).
// Workers and the control thread; neighbour discovery is in nd.h.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/pkt.h"

// Types and codes that Sluice speaks.
enum icmp4_type {
	ICMP4_TYPE_REPLY = 0,
	ICMP4_TYPE_UNREACHABLE =
		3, // code 4: fragmentation needed, `word` is the next hop's MTU (RFC 1191)
	ICMP4_TYPE_QUENCH = 4,
	ICMP4_TYPE_ECHO = 8,
	ICMP4_TYPE_TIME_EXCEEDED = 11,
	ICMP4_TYPE_PARAMETER = 12,
};

enum icmp6_type {
	ICMP6_TYPE_UNREACHABLE = 1,
	ICMP6_TYPE_TOO_BIG = 2, // `word` is the MTU
	ICMP6_TYPE_TIME_EXCEEDED = 3,
	ICMP6_TYPE_ECHO = 128,
	ICMP6_TYPE_REPLY = 129,
	ICMP6_TYPE_SOLICIT = 135,
	ICMP6_TYPE_ADVERT = 136,
};

#define ICMP_BYTES 8
#define ICMP4_FRAGMENT_NEEDED 4    // code of ICMP4_TYPE_UNREACHABLE
#define ICMP4_ERROR_BYTES_MAX 576  // RFC 1812 4.3.2.3
#define ICMP6_ERROR_BYTES_MAX 1280 // RFC 4443 2.4 (c)

// Turns the echo request that `p` describes into its reply, in place. Gives the frame's length, or 0 when
// the sender is not one host. A wrong ICMP checksum stays wrong, for the sender to see.
uint32_t icmp_echo_reply(uint8_t *frame, const struct pkt *p);

struct icmp_error {
	uint8_t type;
	uint8_t code;
	uint32_t word;      // the header's second word: MTU or 0
	const uint8_t *src; // whose error it is: 4 or 16 bytes, of the user packet's family
};

// Whether it is an error about another packet, which it quotes: not if its own header is missing.
bool icmp_is_error(const struct pkt *p);
// Reads the packet that the error at `user` quotes, into all that parse() says of a user packet's place and headers;
// user_bytes is what is there of it. A quote that is cut short is told as a first fragment (PKT_F_FRAGMENT), whose L4
// header may be missing. False: no IP header of the error's family is there.
bool icmp_quote_read(const uint8_t *user, const struct pkt *p, struct pkt *ret);
// Whether the checksum of a whole ICMP packet is right.
bool icmp_cksum_ok(const uint8_t *user, const struct pkt *p);

// Whether an error may be sent about a user packet at all (RFC 1122 3.2.2, RFC 4443 2.4 (e)).
bool icmp_error_allowed(const uint8_t *frame, const struct pkt *p);

#define ICMP_ERROR_HEAD_MAX (40 + ICMP_BYTES)

// Makes of a user packet the IP packet that tells its sender of `error`: headers in front of `user`, behind them
// as much of the packet as is to be quoted. There must be ICMP_ERROR_HEAD_MAX bytes of room before it. Gives the
// length, and in *ret_head how much of it stands before `user`.
uint32_t icmp_error_build(uint8_t *user, const struct icmp_error *error, const struct pkt *p,
			  uint32_t *ret_head);
