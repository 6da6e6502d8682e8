// IPv4 and IPv6 headers: layout, checks, TTL, writers (RFC 791, RFC 8200).
//
// The checks are for headers of any origin: they read no byte beyond `room` and say which drop reason
// fits. Inline because both the outer and the user's header of every packet go through them.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "base/addr.h"
#include "packet/be.h"
#include "packet/cksum.h"
#include "packet/pkt.h"
#include "stats/stats.h"

struct ip4_head {
	uint8_t version_ihl;
	uint8_t tos;
	rte_be16_t total;
	rte_be16_t id;
	rte_be16_t fragment; // flags and offset
	uint8_t ttl;
	uint8_t proto;
	rte_be16_t cksum;
	rte_be32_t src;
	rte_be32_t dst;
} __attribute__((packed));

struct ip6_head {
	rte_be32_t flow; // version, traffic class, flow label
	rte_be16_t payload;
	uint8_t next;
	uint8_t hops;
	uint8_t src[16];
	uint8_t dst[16];
} __attribute__((packed));

#define IP4_BYTES 20
#define IP6_BYTES 40
#define IP4_MORE 0x2000 // "more fragments"
#define IP4_DONT_FRAGMENT 0x4000
#define IP4_OFFSET_MASK 0x1fff
#define IP_OUR_TTL 64    // of what we send ourselves (RFC 1700)
#define IP6_EXTENSIONS 8 // most that a packet may carry; no honest packet comes near

static_assert(sizeof(struct ip4_head) == IP4_BYTES, "as on the wire");
static_assert(sizeof(struct ip6_head) == IP6_BYTES, "as on the wire");

// The addresses of a whole header of either version.
static inline struct addr ip_source(const uint8_t *ip)
{
	return *ip >> 4 == 4 ? addr_v4(((const struct ip4_head *)ip)->src)
			     : addr_v6(((const struct ip6_head *)ip)->src);
}

static inline struct addr ip_destination(const uint8_t *ip)
{
	return *ip >> 4 == 4 ? addr_v4(((const struct ip4_head *)ip)->dst)
			     : addr_v6(((const struct ip6_head *)ip)->dst);
}

// Where they stand.
static inline size_t ip_address_bytes(unsigned family)
{
	return family == 4 ? 4 : 16;
}

static inline const uint8_t *ip_source_at(const uint8_t *ip, unsigned family)
{
	return ip + (family == 4 ? offsetof(struct ip4_head, src) : offsetof(struct ip6_head, src));
}

static inline const uint8_t *ip_destination_at(const uint8_t *ip, unsigned family)
{
	return ip + (family == 4 ? offsetof(struct ip4_head, dst) : offsetof(struct ip6_head, dst));
}

// The length of the packet by what its header says, of either version.
static inline uint32_t ip_bytes(const uint8_t *ip)
{
	return *ip >> 4 == 4
		       ? be16_get(ip + offsetof(struct ip4_head, total))
		       : IP6_BYTES + (uint32_t)be16_get(ip + offsetof(struct ip6_head, payload));
}

static inline uint32_t ip4_header_bytes(const struct ip4_head *ip)
{
	return (ip->version_ihl & 0x0fu) * 4;
}

// Sum of a header without options, with end-around carry: folds to 0xffff when the checksum is right.
static inline uint64_t ip4_sum(const struct ip4_head *ip)
{
	uint64_t a = word64_get(ip);
	uint64_t b = word64_get((const uint8_t *)ip + 8);
	uint64_t c = word32_get((const uint8_t *)ip + 16);

	a += b;
	a += a < b;
	a += c;
	a += a < c;
	return a;
}

// A sum that folds to 0xffff is a multiple of it, which compilers test with one multiplication. Such a
// sum cannot be 0 here, for the version is not.
static inline bool ip4_sum_ok(uint64_t sum)
{
	return sum % 0xffff == 0;
}

// The checksum that belongs into the header, whatever stands there now.
static inline rte_be16_t ip4_cksum(const struct ip4_head *ip)
{
	return cksum_finish(cksum_bytes(ip, ip4_header_bytes(ip)) - ip->cksum);
}

// The same check for a header with options, or with a wrong version or length.
enum drop ip4_check_slow(const struct ip4_head *ip, uint32_t room);

// Whether an IPv4 header is sound and its packet complete within `room` bytes: version, lengths,
// checksum. Bytes beyond the total length are padding.
static inline enum drop ip4_check(const struct ip4_head *ip, uint32_t room)
{
	if (unlikely(room < IP4_BYTES))
		return DROP_runt;
	if (unlikely(ip->version_ihl != 0x45))
		return ip4_check_slow(ip, room);
	uint32_t total = rte_be_to_cpu_16(ip->total);
	if (unlikely(total < IP4_BYTES || total > room))
		return DROP_bad_ip_header;
	if (unlikely(!ip4_sum_ok(ip4_sum(ip))))
		return DROP_bad_ip_checksum;
	return DROP_NONE;
}

// The same for IPv6. A payload of 0 bytes is only right with "no next header"; jumbograms are not offered.
static inline enum drop ip6_check(const struct ip6_head *ip, uint32_t room)
{
	if (unlikely(room < IP6_BYTES))
		return DROP_runt;
	uint32_t payload = rte_be_to_cpu_16(ip->payload);
	if (unlikely((*(const uint8_t *)ip >> 4) != 6 || payload > room - IP6_BYTES ||
		     (!payload && ip->next != IPPROTO_NONE)))
		return DROP_bad_ip_header;
	return DROP_NONE;
}

// Where a walk over IPv6 extension headers ends.
struct ip6_end {
	uint32_t bytes; // of the header and its extensions: where L4 starts
	uint8_t proto;
	bool fragment;        // also the first; an atomic fragment (RFC 6946) is a whole packet
	bool later;           // not the first: no L4 header here
	uint32_t fragment_at; // where the fragment header is; 0: there is none
	uint32_t named_at;    // the octet that names it, of the header before
};

// Walks the extension headers of a packet of `total` bytes that ip6_check() passed.
enum drop ip6_walk(const struct ip6_head *ip, uint32_t total, struct ip6_end *ret_end);

// Whether an address can be one host's: not 0/8, 127/8, multicast, reserved or broadcast.
static inline bool ip4_is_unicast(rte_be32_t addr)
{
	uint32_t net = rte_be_to_cpu_32(addr) >> 24;
	return net - 1 < 223 && net != 127;
}

// Not multicast, not within ::/64 (unspecified, loopback, mapped).
static inline bool ip6_is_unicast(const uint8_t addr[16])
{
	return addr[0] != 0xff && word64_get(addr) != 0;
}

static inline bool ip6_is_link_local(const uint8_t addr[16])
{
	return addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

// Whether a router forwards to this destination: one host's, and not of one link alone (RFC 3927, RFC 4291).
static inline bool ip4_is_routable(rte_be32_t addr)
{
	return ip4_is_unicast(addr) && (addr & RTE_BE32(0xffff0000)) != RTE_BE32(0xa9fe0000);
}

static inline bool ip6_is_routable(const uint8_t addr[16])
{
	return ip6_is_unicast(addr) && !ip6_is_link_local(addr);
}

static inline bool ip6_eq(const uint8_t a[16], const uint8_t b[16])
{
	return word64_get(a) == word64_get(b) && word64_get(a + 8) == word64_get(b + 8);
}

// Lowers the TTL and keeps the checksum right. The TTL must be above 0.
static inline void ip4_ttl_dec(struct ip4_head *ip)
{
	uint32_t cksum = (uint32_t)ip->cksum + RTE_BE16(0x0100);

	ip->ttl--;
	// 0xffff is a sum's other zero; a header never sums to it, so that a full sum gives 0 too.
	ip->cksum = (rte_be16_t)(cksum + (cksum >= 0xffff));
}

// Writes an IPv4 header without options, "don't fragment" set, for `payload` bytes behind it.
void ip4_write(struct ip4_head *ip, rte_be32_t src, rte_be32_t dst, uint8_t proto,
	       uint32_t payload);
void ip6_write(struct ip6_head *ip, const uint8_t src[16], const uint8_t dst[16], uint8_t next,
	       uint8_t hops, uint32_t payload);
