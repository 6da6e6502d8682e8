// Cutting packets into fragments: their places, lengths and headers, over all sizes; options; pieces cut again.
//
// Headers with options are compared with bytes written out here (RFC 791 3.1).

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "packet/fragment.h"

#define PACKET_MAX 3000

static uint8_t packet[PACKET_MAX], whole[PACKET_MAX], piece[PACKET_MAX];

static struct ip4_head *packet4(unsigned header, unsigned payload, uint16_t place)
{
	struct ip4_head *ip = (struct ip4_head *)packet;

	for (unsigned i = 0; i < PACKET_MAX; i++)
		packet[i] = (uint8_t)(i * 7);
	memset(packet, 1, header); // options that do nothing
	ip4_write(ip, RTE_BE32(0x0a000001), RTE_BE32(0x0a000002), IPPROTO_UDP,
		  header - IP4_BYTES + payload);
	ip->version_ihl = (uint8_t)(0x40 | header / 4);
	ip->fragment = rte_cpu_to_be_16(place);
	ip->id = RTE_BE16(0xabcd);
	ip->cksum = ip4_cksum(ip);
	return ip;
}

// Cuts the packet, and puts it together again.
static void check4(const struct ip4_head *ip, uint32_t mtu)
{
	uint32_t header = ip4_header_bytes(ip), payload = rte_be_to_cpu_16(ip->total) - header;
	uint16_t place = rte_be_to_cpu_16(ip->fragment);
	uint32_t at = 0, sum = 0, bytes;
	unsigned n = 0;

	while ((bytes = fragment4_next(ip, mtu, &at, piece)) > 0) {
		const struct ip4_head *head = (const struct ip4_head *)piece;
		uint32_t own = ip4_header_bytes(head);
		uint16_t here = rte_be_to_cpu_16(head->fragment);
		bool last = sum + bytes - own == payload;

		CU_ASSERT_FATAL(bytes > own && bytes <= mtu);
		CU_ASSERT_EQUAL(ip4_check(head, bytes), DROP_NONE);
		CU_ASSERT_EQUAL(rte_be_to_cpu_16(head->total), bytes);
		CU_ASSERT_EQUAL(here & IP4_OFFSET_MASK, (place & IP4_OFFSET_MASK) + sum / 8);
		CU_ASSERT_EQUAL(!!(here & IP4_MORE), !last || place & IP4_MORE);
		CU_ASSERT(last || (bytes - own) % 8 == 0);
		CU_ASSERT(head->id == ip->id && head->src == ip->src && head->dst == ip->dst);
		memcpy(whole + sum, piece + own, bytes - own);
		sum += bytes - own;
		n++;
	}
	CU_ASSERT_EQUAL(sum, payload);
	CU_ASSERT(n <= fragment4_most(ip, mtu));
	CU_ASSERT_EQUAL(memcmp(whole, packet + header, payload), 0);
}

static void test_sizes4(void)
{
	static const uint16_t places[] = {0, IP4_MORE, 100 | IP4_MORE, 100};

	for (unsigned header = IP4_BYTES; header <= 60; header += 20)
		for (unsigned payload = 8; payload < 2000; payload += 37)
			for (unsigned i = 0; i < 4; i++)
				for (uint32_t mtu = FRAGMENT_MTU_MIN; mtu < 1500; mtu += 211)
					check4(packet4(header, payload / 8 * 8 + (i & 1 ? 0 : 3),
						       places[i]),
					       mtu);
}

static void test_sizes6(void)
{
	struct ip6_head *ip = (struct ip6_head *)packet;
	static const uint8_t src[16] = {0xfd, [15] = 1}, dst[16] = {0xfd, [15] = 2};

	for (unsigned payload = 1; payload < 2800; payload += 13)
		for (uint32_t mtu = 1280; mtu < 1500; mtu += 7) {
			uint32_t at = 0, sum = 0, bytes;
			unsigned n = 0;

			for (unsigned i = 0; i < payload; i++)
				packet[IP6_BYTES + i] = (uint8_t)(i * 11);
			ip6_write(ip, src, dst, IPPROTO_UDP, 9, payload);
			while ((bytes = fragment6_next(ip, mtu, 0x12345678, &at, piece)) > 0) {
				struct ip6_end end;
				uint32_t own = IP6_BYTES + FRAGMENT6_BYTES;

				CU_ASSERT_FATAL(bytes > own && bytes <= mtu);
				CU_ASSERT_EQUAL(ip6_check((const void *)piece, bytes), DROP_NONE);
				CU_ASSERT_EQUAL(ip6_walk((const void *)piece, bytes, &end),
						DROP_NONE);
				CU_ASSERT_EQUAL(be16_get(piece + 42) & ~7u, sum);
				CU_ASSERT_EQUAL(piece[43] & 7, sum + bytes - own < payload);
				CU_ASSERT_EQUAL(be32_get(piece + 44), 0x12345678);
				CU_ASSERT_EQUAL(piece[IP6_BYTES], IPPROTO_UDP);
				CU_ASSERT_EQUAL(piece[7], 9);
				memcpy(whole + sum, piece + own, bytes - own);
				sum += bytes - own;
				n++;
			}
			CU_ASSERT_EQUAL(sum, payload);
			CU_ASSERT(n <= fragment6_most(ip, mtu));
			CU_ASSERT_EQUAL(memcmp(whole, packet + IP6_BYTES, payload), 0);
		}
}

// The options of the first fragment, and those of all others.
struct options {
	uint8_t given[40], n_given;
	uint8_t later[40], n_later;
};

static const struct options options[] = {
	// Record route is in the first alone, a loose source route in all.
	{{7, 7, 4, 0, 0, 0, 0, 0x83, 7, 4, 10, 0, 0, 9, 1, 1}, 16, {0x83, 7, 4, 10, 0, 0, 9, 0}, 8},
	{{1, 1, 1, 1}, 4, {0}, 0},
	{{0x94, 4, 0, 0, 0, 0x94, 4, 9}, 8, {0x94, 4, 0, 0}, 4}, // behind the end stands nothing
	// Lengths that lie: no more than there is.
	{{0x82, 0, 5, 5}, 4, {0x82, 0, 5, 5}, 4},
	{{0x82, 200, 5, 5}, 4, {0x82, 200, 5, 5}, 4},
	{{1, 1, 1, 0x82}, 4, {0x82, 0, 0, 0}, 4},
};

static void test_options(void)
{
	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const struct options *o = &options[i];
		struct ip4_head *ip = packet4(IP4_BYTES + o->n_given, 500, 0);
		uint32_t at = 0;

		memcpy(packet + IP4_BYTES, o->given, o->n_given);
		ip->cksum = ip4_cksum(ip);
		CU_ASSERT(fragment4_next(ip, 200, &at, piece) > 0);
		CU_ASSERT_EQUAL(ip4_header_bytes((const void *)piece), IP4_BYTES + o->n_given);
		CU_ASSERT_EQUAL(memcmp(piece + IP4_BYTES, o->given, o->n_given), 0);
		CU_ASSERT(fragment4_next(ip, 200, &at, piece) > 0);
		CU_ASSERT_EQUAL(ip4_header_bytes((const void *)piece), IP4_BYTES + o->n_later);
		CU_ASSERT_EQUAL(memcmp(piece + IP4_BYTES, o->later, o->n_later), 0);
		check4(ip, 200);
	}
}

static void test_allowed(void)
{
	struct ip4_head *ip = packet4(IP4_BYTES, 8, 0);

	CU_ASSERT(fragment_allowed(packet));
	ip->fragment = RTE_BE16(IP4_DONT_FRAGMENT);
	CU_ASSERT_FALSE(fragment_allowed(packet));
	packet[0] = 0x60;
	packet[6] = 0;
	CU_ASSERT_FALSE(fragment_allowed(packet));
}

// What cutting writes, reading gives back; what is no fragment, or an impossible one, is refused.
static void test_read(void)
{
	static const struct {
		uint32_t bytes;
		uint16_t place; // as on the wire of IPv4
		bool right;
	} rows[] = {
		{16, IP4_MORE, true},
		{17, IP4_MORE, false}, // no multiple of 8
		{17, 100, true},
		{17, 0, false}, // whole
		{0, 100, false},
		{24, IP4_OFFSET_MASK, false}, // beyond 65,535
		{1000, IP4_OFFSET_MASK - 100, false},
		{8, 8000 | IP4_MORE, true},
	};
	struct ip6_head *ip6 = (struct ip6_head *)packet;
	static const uint8_t src[16] = {0xfd, [15] = 1};
	struct fragment f;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ip4_head *ip = packet4(IP4_BYTES, rows[i].bytes, rows[i].place);
		uint32_t offset = (rows[i].place & IP4_OFFSET_MASK) * 8u;

		CU_ASSERT_EQUAL(fragment_read(packet, IP4_BYTES + rows[i].bytes, &f),
				rows[i].right);
		CU_ASSERT(!rows[i].right ||
			  (f.id == 0xabcd && f.at == ip4_header_bytes(ip) && f.offset == offset &&
			   f.bytes == rows[i].bytes && f.more == !!(rows[i].place & IP4_MORE) &&
			   f.proto == IPPROTO_UDP));
	}
	// Behind hop-by-hop options, which name it; the rest is UDP.
	memset(packet, 0, 100);
	ip6_write(ip6, src, src, IPPROTO_HOPOPTS, 64, 8 + 8 + 24);
	packet[40] = IPPROTO_FRAGMENT;
	packet[48] = IPPROTO_UDP;
	be16_put(packet + 50, 800 | 1);
	be32_put(packet + 52, 0xcafe0001);
	CU_ASSERT_FATAL(fragment_read(packet, 40 + 8 + 8 + 24, &f));
	CU_ASSERT(f.id == 0xcafe0001 && f.at == 56 && f.offset == 800 && f.bytes == 24 && f.more);
	CU_ASSERT(f.proto == IPPROTO_UDP && f.named_at == 40);
	be16_put(packet + 50, 0); // an atomic fragment is a whole packet (RFC 6946)
	CU_ASSERT_FALSE(fragment_read(packet, 40 + 8 + 8 + 24, &f));
	packet[6] = IPPROTO_UDP;
	CU_ASSERT_FALSE(fragment_read(packet, 40 + 8 + 8 + 24, &f));
}

static CU_TestInfo tests[] = {
	{"IPv4, all sizes", test_sizes4},
	{"IPv6, all sizes", test_sizes6},
	{"options", test_options},
	{"what may be cut", test_allowed},
	{"read", test_read},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("fragment")
