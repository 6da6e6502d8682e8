// Checksums of byte ranges and of the IPv6 pseudo-header (RFC 1071, RFC 8200 8.1).
// Any thread, pure; what a packet's ordinary way needs is inline in cksum.h.

#include "packet/cksum.h"

uint64_t cksum_bytes(const void *data, uint32_t len)
{
	const uint8_t *at = data;
	uint64_t sum = 0;
	uint32_t words = len / 4;
	uint32_t tail = 0;

	// 32-bit words into a 64-bit sum need no carry, and compilers make vectors of it.
	for (uint32_t i = 0; i < words; i++)
		sum += word32_get(at + 4 * i);
	if (len % 4) {
		memcpy(&tail, at + 4 * words, len % 4); // zero bytes beyond the end (RFC 1071)
		sum += tail;
	}
	return sum;
}

uint64_t cksum_pseudo6(const uint8_t src[16], const uint8_t dst[16], uint8_t proto, uint32_t len)
{
	return cksum_bytes(src, 16) + cksum_bytes(dst, 16) + rte_cpu_to_be_32(proto) +
	       rte_cpu_to_be_32(len);
}
