// Fragments of IP packets: read, and made by cutting a packet (RFC 791 2.3, RFC 8200 4.5).
//
// Any thread, pure. A cut goes through the packet from front to back; each step writes one fragment.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/ip.h"

#define FRAGMENT_MTU_MIN 68 // an IPv4 header with all options, and 8 bytes (RFC 791 3.2)
#define FRAGMENT6_BYTES 8   // the fragment header

// Whether a router may cut it: an IPv4 packet that does not forbid it.
static inline bool fragment_allowed(const uint8_t *ip)
{
	return *ip >> 4 == 4 && !(ip[6] & IP4_DONT_FRAGMENT >> 8);
}

// More than fragments4_next() will write of this packet, or as many.
unsigned fragment4_most(const struct ip4_head *ip, uint32_t mtu);
// Writes the next fragment of an IPv4 packet, no longer than `mtu`, to `to`, and gives its length; 0: there is none
// left. *at is how much of the payload has been written, 0 at first. A fragment may be cut again.
uint32_t fragment4_next(const struct ip4_head *ip, uint32_t mtu, uint32_t *at, uint8_t *to);

// The same for an IPv6 packet without extension headers, which only its sender may cut.
unsigned fragment6_most(const struct ip6_head *ip, uint32_t mtu);
uint32_t fragment6_next(const struct ip6_head *ip, uint32_t mtu, uint32_t id, uint32_t *at,
			uint8_t *to);

// One fragment: which datagram's, and which part of it.
struct fragment {
	uint32_t id;
	uint32_t at;     // where its part starts, from the IP header
	uint32_t offset; // of that part in the datagram
	uint32_t bytes;  // of that part
	bool more;
	uint8_t proto;     // IPv6: what the fragment header names
	uint32_t named_at; // IPv6: the octet that names the fragment header
};

// Reads a fragment that parse() passed, `bytes` long by its header. False: it is none, or impossible: empty, beyond
// what a datagram can be, or not the last and no multiple of 8 bytes.
bool fragment_read(const uint8_t *ip, uint32_t bytes, struct fragment *ret);
