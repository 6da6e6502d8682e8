// TCP headers: layout, flags, the options that whoever stands in the middle needs (RFC 9293 3.1, RFC 7323 2.2).
//
// Any thread, pure.

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

struct tcp_head {
	rte_be16_t sport;
	rte_be16_t dport;
	rte_be32_t seq;
	rte_be32_t ack;
	uint8_t offset; // of the payload, in words of 4 bytes, in the upper half
	uint8_t flags;
	rte_be16_t window;
	rte_be16_t cksum;
	rte_be16_t urgent;
} __attribute__((packed));

#define TCP_BYTES 20
static_assert(sizeof(struct tcp_head) == TCP_BYTES, "as on the wire");

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_PSH 0x08
#define TCP_ACK 0x10
#define TCP_URG 0x20

#define TCP_SCALE_MOST 14 // by how many bits a window may be shifted
#define TCP_SCALE_NONE 15

static inline uint32_t tcp_head_bytes(const struct tcp_head *tcp)
{
	return (tcp->offset >> 4) * 4u;
}

// The window scale that the sender offers in a header all of which is there, TCP_SCALE_NONE if it offers none.
// Options that cannot be end the search.
uint8_t tcp_scale(const struct tcp_head *tcp);
