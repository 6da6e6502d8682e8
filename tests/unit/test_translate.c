// Translation of packets and of what ICMP errors quote: random packets of all kinds, judged by sums made anew, byte by
// byte; the zero that UDP's checksum must keep or must not become; fragments, and quotes that are cut short.

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "octets.h"
#include "packet/icmp.h"
#include "packet/parse.h"
#include "packet/translate.h"

#define ROOM 2048
#define ROUNDS 50000

// A user packet, what parse says of it, and where its L4 checksum is.
struct sample {
	struct pkt p;
	uint8_t bytes[ROOM];
};

// --- the judge -------------------------------------------------------------------------------------------

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint32_t sum_of(const uint8_t *data, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum += i % 2 ? data[i] : (uint32_t)data[i] << 8;
	return fold(sum);
}

// Where a protocol's checksum is, and whether addresses count; -1: it has none that addresses or ports count in.
static int cksum_at(uint8_t proto, bool *ret_pseudo)
{
	*ret_pseudo = proto != IPPROTO_ICMP;
	switch (proto) {
	case IPPROTO_TCP:
		return 16;
	case IPPROTO_UDP:
	case IPPROTO_UDPLITE:
	case IPPROTO_DCCP:
		return 6;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return 2;
	default:
		return -1;
	}
}

static uint16_t l4_sum(const uint8_t *ip, uint32_t l4, uint32_t bytes, uint8_t proto)
{
	unsigned addrs = *ip >> 4 == 4 ? 12 : 8, n = *ip >> 4 == 4 ? 8 : 32;
	bool pseudo;
	uint32_t sum;

	cksum_at(proto, &pseudo);
	sum = sum_of(ip + l4, bytes - l4);
	if (pseudo)
		sum += sum_of(ip + addrs, n) + proto + bytes - l4;
	return fold(sum);
}

static uint16_t ip4_sum_of(const uint8_t *ip)
{
	return (uint16_t)sum_of(ip, (*ip & 15u) * 4);
}

static bool sums_right(const struct sample *s)
{
	bool pseudo;
	int at = cksum_at(s->p.proto, &pseudo);

	if (s->p.family == 4 && ip4_sum_of(s->bytes) != 0xffff)
		return false;
	if (at < 0 || (s->p.proto == IPPROTO_UDP && be16_get(s->bytes + s->p.l4 + at) == 0))
		return true;
	return l4_sum(s->bytes, s->p.l4, s->p.user_bytes, s->p.proto) == 0xffff;
}

// --- packets ---------------------------------------------------------------------------------------------

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand() % n;
}

static void fill(uint8_t *at, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		at[i] = (uint8_t)(below(4) ? below(256) : 255 * below(2));
}

static void parse_again(struct sample *s)
{
	memset(&s->p, 0, sizeof(s->p));
	CU_ASSERT_EQUAL_FATAL(*s->bytes >> 4 == 4 ? parse_user4(s->bytes, 0, &s->p)
						  : parse_user6(s->bytes, 0, &s->p),
			      DROP_NONE);
}

static void cksums_write(struct sample *s)
{
	bool pseudo;
	int at = cksum_at(s->p.proto, &pseudo);

	if (s->p.family == 4) {
		be16_put(s->bytes + 10, 0);
		be16_put(s->bytes + 10, (uint16_t)~ip4_sum_of(s->bytes));
	}
	if (at < 0)
		return;
	be16_put(s->bytes + s->p.l4 + at, 0);
	be16_put(s->bytes + s->p.l4 + at,
		 (uint16_t)~l4_sum(s->bytes, s->p.l4, s->p.user_bytes, s->p.proto));
	if ((s->p.proto == IPPROTO_UDP || s->p.proto == IPPROTO_UDPLITE) &&
	    be16_get(s->bytes + s->p.l4 + at) == 0)
		be16_put(s->bytes + s->p.l4 + at, 0xffff);
}

// A whole packet with `payload` bytes from its L4 header on; `extra`: with options, or an extension header.
static void packet_make(struct sample *s, unsigned family, uint8_t proto, uint32_t payload,
			bool extra)
{
	uint32_t head = (family == 4 ? 20u : 40u) + (extra ? 8u : 0u);

	memset(s, 0, sizeof(*s));
	fill(s->bytes, head + payload);
	if (family == 4) {
		s->bytes[0] = (uint8_t)(0x40 | head / 4);
		be16_put(s->bytes + 2, (uint16_t)(head + payload));
		be16_put(s->bytes + 6, 0);
		s->bytes[9] = proto;
	} else {
		s->bytes[0] = 0x60;
		be16_put(s->bytes + 4, (uint16_t)(head - 40 + payload));
		s->bytes[6] = extra ? IPPROTO_DSTOPTS : proto;
		if (extra) {
			s->bytes[40] = proto;
			s->bytes[41] = 0;
		}
	}
	parse_again(s);
	cksums_write(s);
	CU_ASSERT_FATAL(s->p.l4 == head && s->p.user_bytes == head + payload);
}

static const uint8_t protos4[] = {IPPROTO_TCP,     IPPROTO_UDP,  IPPROTO_ICMP, IPPROTO_SCTP,
				  IPPROTO_UDPLITE, IPPROTO_DCCP, IPPROTO_GRE};
static const uint8_t protos6[] = {IPPROTO_TCP,     IPPROTO_UDP,  IPPROTO_ICMPV6, IPPROTO_SCTP,
				  IPPROTO_UDPLITE, IPPROTO_DCCP, IPPROTO_GRE};

static void packet_random(struct sample *s)
{
	unsigned family = below(2) ? 4 : 6;
	uint8_t proto = family == 4 ? protos4[below(sizeof(protos4))]
				    : protos6[below(sizeof(protos6))];

	packet_make(s, family, proto, 20 + below(80), below(4) == 0);
	if (proto == IPPROTO_UDP && below(4) == 0)
		be16_put(s->bytes + s->p.l4 + 6, 0);
	if ((proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6) && below(2)) {
		s->bytes[s->p.l4] = (uint8_t)(family == 4 ? 8 * below(2) : 128 + below(2));
		parse_again(s);
		cksums_write(s);
	}
}

static struct translation to_random(void)
{
	struct translation to = {.port = (uint16_t)(below(3) ? below(65536) : 65535 * below(2)),
				 .with_port = below(4) != 0};

	fill(to.addr, sizeof(to.addr));
	return to;
}

static bool is_echo(const struct sample *s)
{
	uint8_t type = s->bytes[s->p.l4];

	return (s->p.proto == IPPROTO_ICMP && (type == 0 || type == 8)) ||
	       (s->p.proto == IPPROTO_ICMPV6 && (type == 128 || type == 129));
}

// Where the port or identifier stands that a translation changes; 0: nowhere.
static uint32_t port_place(const struct sample *s, enum translate_side side)
{
	if (s->p.proto == IPPROTO_TCP || s->p.proto == IPPROTO_UDP)
		return s->p.l4 + (side == TRANSLATE_SOURCE ? 0u : 2u);
	return is_echo(s) ? s->p.l4 + 4u : 0;
}

static uint32_t addr_place(const struct sample *s, enum translate_side side)
{
	if (s->p.family == 4)
		return side == TRANSLATE_SOURCE ? 12 : 16;
	return side == TRANSLATE_SOURCE ? 8 : 24;
}

// What must come out, made from what went in without any arithmetic on checksums but the judge's.
static void expect(struct sample *s, enum translate_side side, const struct translation *to)
{
	bool none = s->p.proto == IPPROTO_UDP && be16_get(s->bytes + s->p.l4 + 6) == 0;
	uint32_t port = port_place(s, side);

	memcpy(s->bytes + addr_place(s, side), to->addr, s->p.family == 4 ? 4 : 16);
	if (to->with_port && port)
		be16_put(s->bytes + port, to->port);
	cksums_write(s);
	if (none)
		be16_put(s->bytes + s->p.l4 + 6, 0);
	parse_again(s);
}

static void test_random(void)
{
	struct sample s, want;

	srand(1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		enum translate_side side = below(2) ? TRANSLATE_SOURCE : TRANSLATE_DESTINATION;
		struct translation to = to_random();

		packet_random(&s);
		want = s;
		expect(&want, side, &to);
		CU_ASSERT_TRUE_FATAL(translate_packet(s.bytes, &s.p, side, &to));
		CU_ASSERT_TRUE_FATAL(sums_right(&s));
		CU_ASSERT_EQUAL_FATAL(memcmp(s.bytes, want.bytes, ROOM), 0);
		CU_ASSERT(s.p.sport == want.p.sport && s.p.dport == want.p.dport);
	}
}

// The inline form does as the general one.
static void test_tuple(void)
{
	struct sample s, want;

	srand(2);
	for (unsigned i = 0; i < ROUNDS; i++) {
		enum translate_side side = below(2) ? TRANSLATE_SOURCE : TRANSLATE_DESTINATION;
		struct translation to = to_random();

		to.with_port = true;
		packet_make(&s, 4, below(2) ? IPPROTO_TCP : IPPROTO_UDP, 20 + below(40),
			    below(4) == 0);
		if (s.p.proto == IPPROTO_UDP && below(4) == 0)
			be16_put(s.bytes + s.p.l4 + 6, 0);
		want = s;
		CU_ASSERT_TRUE_FATAL(translate_packet(want.bytes, &want.p, side, &to));
		translate4_tuple(s.bytes, &s.p, side, word32_get(to.addr), to.port);
		CU_ASSERT_EQUAL_FATAL(memcmp(&s, &want, sizeof(s)), 0);
	}
}

// Every port of a datagram: one of them makes the checksum come out as 0, which must be sent as 0xffff.
static void test_udp_zero(void)
{
	struct translation to = {.addr = {192, 0, 2, 1}, .with_port = true};
	unsigned full = 0;
	struct sample s, tuple;

	srand(3);
	packet_make(&s, 4, IPPROTO_UDP, 30, false);
	tuple = s;
	for (unsigned port = 0; port <= UINT16_MAX; port++) {
		to.port = (uint16_t)port;
		CU_ASSERT_TRUE_FATAL(translate_packet(s.bytes, &s.p, TRANSLATE_SOURCE, &to));
		translate4_tuple(tuple.bytes, &tuple.p, TRANSLATE_SOURCE, word32_get(to.addr),
				 to.port);
		CU_ASSERT_EQUAL_FATAL(memcmp(&s, &tuple, sizeof(s)), 0);
		CU_ASSERT_NOT_EQUAL_FATAL(be16_get(s.bytes + s.p.l4 + 6), 0);
		CU_ASSERT_TRUE_FATAL(sums_right(&s));
		full += be16_get(s.bytes + s.p.l4 + 6) == 0xffff;
	}
	CU_ASSERT(full >= 1 && full <= 2); // two ports are alike to the sum: 0 and 0xffff
}

// A wrong checksum stays wrong by as much.
static void test_wrong_stays_wrong(void)
{
	struct translation to = {.addr = {192, 0, 2, 1}, .port = 7, .with_port = true};
	struct sample s;

	srand(4);
	packet_make(&s, 4, IPPROTO_TCP, 40, false);
	s.bytes[s.p.l4 + 30] ^= 0x55;
	CU_ASSERT_TRUE(translate_packet(s.bytes, &s.p, TRANSLATE_SOURCE, &to));
	CU_ASSERT_FALSE(sums_right(&s));
	s.bytes[s.p.l4 + 30] ^= 0x55;
	CU_ASSERT_TRUE(sums_right(&s));
}

// --- fragments -------------------------------------------------------------------------------------------

static void test_later_fragment(void)
{
	static const uint8_t fragment6[8] = {IPPROTO_UDP, 0, 0, 8 | 1};
	struct translation to = to_random();
	struct sample s, was;

	srand(5);
	to.with_port = true;
	packet_make(&s, 4, IPPROTO_UDP, 40, false);
	be16_put(s.bytes + 6, 5 | IP4_MORE);
	parse_again(&s);
	was = s;
	CU_ASSERT_TRUE(translate_packet(s.bytes, &s.p, TRANSLATE_DESTINATION, &to));
	CU_ASSERT_EQUAL(memcmp(s.bytes + 16, to.addr, 4), 0);
	CU_ASSERT_EQUAL(memcmp(s.bytes + 20, was.bytes + 20, 40), 0);

	packet_make(&s, 6, IPPROTO_UDP, 40, true);
	s.bytes[6] = IPPROTO_FRAGMENT;
	memcpy(s.bytes + 40, fragment6, sizeof(fragment6));
	parse_again(&s);
	was = s;
	CU_ASSERT_TRUE(translate_packet(s.bytes, &s.p, TRANSLATE_SOURCE, &to));
	CU_ASSERT_EQUAL(memcmp(s.bytes + 8, to.addr, 16), 0);
	CU_ASSERT_EQUAL(memcmp(s.bytes + 24, was.bytes + 24, 72), 0);
}

// The first fragment has the checksum of all; without it nothing may change.
static void test_first_fragment(void)
{
	struct translation to = {.addr = {192, 0, 2, 1}, .port = 7, .with_port = true};
	struct sample s, was;

	srand(6);
	for (unsigned bytes = 0; bytes <= 24; bytes += 8)
		for (unsigned with_port = 0; with_port < 2; with_port++) {
			bool whole = bytes >= 24;

			to.with_port = with_port;
			packet_make(&s, 4, IPPROTO_TCP, 40, false);
			be16_put(s.bytes + 2, (uint16_t)(20 + bytes));
			be16_put(s.bytes + 6, IP4_MORE);
			parse_again(&s);
			was = s;
			CU_ASSERT_EQUAL(translate_packet(s.bytes, &s.p, TRANSLATE_SOURCE, &to),
					whole);
			if (!whole)
				CU_ASSERT_EQUAL(memcmp(&s, &was, sizeof(s)), 0);
		}
}

// --- errors ----------------------------------------------------------------------------------------------

// An ICMP error with `quote` bytes of `about`, and what follows from it for its own checksums.
static void error_make(struct sample *s, const struct sample *about, uint32_t quote)
{
	unsigned family = about->p.family;
	uint8_t proto = family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;

	packet_make(s, family, proto, 8 + quote, below(4) == 0);
	s->bytes[s->p.l4] = family == 4 ? 3 : 1;
	s->bytes[s->p.l4 + 1] = 1;
	memcpy(s->bytes + s->p.l4 + 8, about->bytes, quote);
	parse_again(s);
	cksums_write(s);
}

// The quote of what went out translated is that of what had been sent, and the other way round; the error is sound.
// What the host itself says of it has its address translated, what a router says has not.
static void test_errors(void)
{
	struct sample sent, left, error;

	srand(7);
	for (unsigned i = 0; i < ROUNDS; i++) {
		enum translate_side side = below(2) ? TRANSLATE_SOURCE : TRANSLATE_DESTINATION;
		enum translate_side other = side == TRANSLATE_SOURCE ? TRANSLATE_DESTINATION
								     : TRANSLATE_SOURCE;
		struct translation out = to_random(), back = {.with_port = out.with_port};
		uint32_t quote, at, n;
		bool router = below(2);
		struct pkt quoted;
		uint8_t *heap, from[16];

		packet_random(&sent);
		if (port_place(&sent, other))
			back.port = be16_get(sent.bytes + port_place(&sent, other));
		memcpy(back.addr, sent.bytes + addr_place(&sent, other), 16);
		left = sent;
		CU_ASSERT_TRUE_FATAL(translate_packet(left.bytes, &left.p, other, &out));
		quote = left.p.l4 + 8u +
			below(left.p.user_bytes - left.p.l4 - 7u); // 64 bits at least
		error_make(&error, &left, quote);
		if (!router)
			memcpy(error.bytes + addr_place(&error, side),
			       left.bytes + addr_place(&left, other),
			       ip_address_bytes(left.p.family));
		cksums_write(&error);
		memcpy(from, router ? error.bytes + addr_place(&error, side) : back.addr, 16);
		heap = octets_copy(error.bytes, error.p.user_bytes);
		CU_ASSERT_TRUE(icmp_is_error(&error.p));
		CU_ASSERT_TRUE(icmp_cksum_ok(heap, &error.p));
		CU_ASSERT_TRUE_FATAL(icmp_quote_read(heap, &error.p, &quoted));
		CU_ASSERT(quoted.proto == sent.p.proto && quoted.user_bytes == quote);
		translate_error(heap, &error.p, &quoted, side, &back);
		memcpy(error.bytes, heap, error.p.user_bytes);
		free(heap);
		CU_ASSERT_TRUE_FATAL(sums_right(&error));
		CU_ASSERT_EQUAL(memcmp(error.bytes + addr_place(&error, side), from,
				       ip_address_bytes(error.p.family)),
				0);
		at = error.p.l4 + 8u;
		for (n = 0; n < quote && error.bytes[at + n] == sent.bytes[n]; n++)
			;
		if (n + 1 == quote && quote % 2) // of half a word nothing can be made
			n += error.bytes[at + n] == left.bytes[n];
		CU_ASSERT_EQUAL_FATAL(n, quote);
	}
}

static void test_quotes_refused(void)
{
	struct sample about, error;
	struct pkt quoted;

	srand(8);
	packet_make(&about, 4, IPPROTO_UDP, 40, false);
	for (uint32_t quote = 0; quote <= 28; quote++) {
		uint8_t *heap;

		error_make(&error, &about, quote);
		heap = octets_copy(error.bytes, error.p.user_bytes);
		CU_ASSERT_EQUAL(icmp_quote_read(heap, &error.p, &quoted), quote >= 20);
		if (quote >= 20)
			CU_ASSERT_EQUAL(!(quoted.flags & PKT_F_NO_L4), quote >= 24);
		free(heap);
	}
	error_make(&error, &about, 40);
	error.bytes[error.p.l4 + 8] = 0x4f; // a header that would not fit
	CU_ASSERT_FALSE(icmp_quote_read(error.bytes, &error.p, &quoted));
	error.bytes[error.p.l4 + 8] = 0x65;
	CU_ASSERT_FALSE(icmp_quote_read(error.bytes, &error.p, &quoted));
	error.bytes[error.p.l4] = 8; // an echo request is no error
	parse_again(&error);
	CU_ASSERT_FALSE(icmp_is_error(&error.p));
}

static CU_TestInfo tests[] = {
	{"random packets", test_random},
	{"the inline form", test_tuple},
	{"UDP's zero", test_udp_zero},
	{"wrong stays wrong", test_wrong_stays_wrong},
	{"later fragments", test_later_fragment},
	{"first fragments", test_first_fragment},
	{"errors and their quotes", test_errors},
	{"quotes that are none", test_quotes_refused},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("translate")
