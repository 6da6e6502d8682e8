// Internet checksums (RFC 1071) and their change in place (RFC 1624).
//
// Sums are 64-bit and not folded, so parts may be added with `+`: a part's own sum stays below 2^48.
// Words are summed as they stand in memory, which gives the checksum in network order. Every part but
// the last must have an even length.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "packet/be.h"

// The sum of `len` bytes, fast for long ones.
uint64_t cksum_bytes(const void *data, uint32_t len);

static inline uint16_t cksum_fold(uint64_t sum)
{
	sum = (sum >> 32) + (uint32_t)sum;
	sum = (sum >> 32) + (uint32_t)sum;
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)sum;
}

// What is written into a checksum field whose sum (field 0) is `sum`.
static inline rte_be16_t cksum_finish(uint64_t sum)
{
	return (rte_be16_t)~cksum_fold(sum);
}

// The same for UDP, where 0 means "none" (RFC 768).
static inline rte_be16_t cksum_finish_udp(uint64_t sum)
{
	rte_be16_t cksum = cksum_finish(sum);
	return cksum ? cksum : 0xffff;
}

// The checksum after a 16-bit or a 32-bit word under it changed (RFC 1624, equation 3).
static inline rte_be16_t cksum_update16(rte_be16_t cksum, rte_be16_t from, rte_be16_t to)
{
	return cksum_finish((uint64_t)(uint16_t)~cksum + (uint16_t)~from + to);
}

static inline rte_be16_t cksum_update32(rte_be16_t cksum, rte_be32_t from, rte_be32_t to)
{
	return cksum_finish((uint64_t)(uint16_t)~cksum + (uint32_t)~from + to);
}

// Pseudo-headers of TCP, UDP and ICMPv6. `len`: of the L4 header and what follows.
static inline uint64_t cksum_pseudo4(rte_be32_t src, rte_be32_t dst, uint8_t proto, uint32_t len)
{
	return (uint64_t)src + dst + rte_cpu_to_be_16(proto) + rte_cpu_to_be_32(len);
}

uint64_t cksum_pseudo6(const uint8_t src[16], const uint8_t dst[16], uint8_t proto, uint32_t len);

// Whether `cksum`, read from a UDP header, suits `sum`, the sum over pseudo-header and datagram with the
// field as it stands. A sender on this host leaves the pseudo-header's sum alone in the field for a
// device to complete (Linux CHECKSUM_PARTIAL over veth): nothing was on a wire, so that is accepted.
static inline bool cksum_udp_ok(rte_be16_t cksum, uint64_t pseudo, uint64_t sum)
{
	return cksum_fold(sum) == 0xffff || cksum_fold(pseudo) == cksum;
}
