// The frames that Sluice builds itself against tests/golden/replies.txt (made by scapy); checksums against
// plain recomputation; neighbour discovery's checks.

#include <errno.h>
#include <stdio.h>

#include "random.h"
#include "unit.h"

#include "packet/icmp.h"
#include "packet/nd.h"
#include "pkt_check.h"

#define BYTES_MAX 2048

static const uint8_t us[6] = {2, 0, 0, 0, 0, 1}, peer[6] = {2, 0, 0, 0, 0, 2};
static const rte_be32_t n6 = RTE_BE32(0x0a060001), server = RTE_BE32(0xc0000207);
static const uint8_t n6_6[16] = {0x20, 0x01, 0x0d, 0xb8, [7] = 6, [15] = 1};
static const uint8_t server6[16] = {0x20, 0x01, 0x0d, 0xb8, [5] = 0xff, [15] = 7};
static const uint8_t unspecified[16];

// What a row's maker may use: the frame that is answered, turned in place, and what came of it.
struct reply {
	uint8_t *frame; // allocated to `room` exactly
	uint32_t room;
	struct pkt p;
	uint16_t vid;
};

static uint32_t make_gtpu_echo(struct reply *r)
{
	CU_ASSERT_EQUAL(r->p.kind, PKT_ECHO_REQUEST);
	return gtpu_echo_response(r->frame, r->room, &r->p);
}

static uint32_t make_gtpu_error(struct reply *r)
{
	CU_ASSERT_EQUAL(r->p.kind, PKT_GPDU);
	return gtpu_error_indication(r->frame, r->room, &r->p);
}

static uint32_t make_gtpu_supported(struct reply *r)
{
	CU_ASSERT_EQUAL(r->p.drop, DROP_gtpu_extension_required);
	return gtpu_supported_extensions(r->frame, r->room, &r->p);
}

static uint32_t make_ping(struct reply *r)
{
	CU_ASSERT_EQUAL(r->p.kind, PKT_ICMP_ECHO);
	return icmp_echo_reply(r->frame, &r->p);
}

static uint32_t make_too_big(struct reply *r)
{
	struct icmp_error error = {ICMP6_TYPE_TOO_BIG, 0, 1464, n6_6};
	uint8_t made[ICMP_ERROR_HEAD_MAX + BYTES_MAX];
	uint32_t head;

	if (r->p.family == 4)
		error = (struct icmp_error){ICMP4_TYPE_UNREACHABLE, ICMP4_FRAGMENT_NEEDED, 1464,
					    (const uint8_t *)&n6};
	CU_ASSERT_EQUAL(r->p.kind, PKT_PLAIN);
	CU_ASSERT(icmp_error_allowed(r->frame, &r->p));
	memcpy(made + ICMP_ERROR_HEAD_MAX, r->frame + r->p.user, r->p.user_bytes);
	uint32_t bytes = icmp_error_build(made + ICMP_ERROR_HEAD_MAX, &error, &r->p, &head);
	CU_ASSERT_FATAL(bytes <= r->room);
	memcpy(r->frame, made + ICMP_ERROR_HEAD_MAX - head, bytes);
	return bytes;
}

static uint32_t make_arp_request(struct reply *r)
{
	return arp_request_build(r->frame, r->vid, us, n6, server);
}

static uint32_t make_arp_reply(struct reply *r)
{
	return arp_reply_build(r->frame, r->vid, us, n6, peer, server);
}

static uint32_t make_nd_solicit(struct reply *r)
{
	return nd_solicit_build(r->frame, r->vid, us, n6_6, server6, NULL);
}

static uint32_t make_nd_probe(struct reply *r)
{
	return nd_solicit_build(r->frame, r->vid, us, n6_6, server6, peer);
}

static uint32_t make_nd_dad(struct reply *r)
{
	return nd_solicit_build(r->frame, r->vid, us, unspecified, server6, NULL);
}

static uint32_t make_nd_advert(struct reply *r)
{
	return nd_advert_build(r->frame, r->vid, us, n6_6, peer, server6);
}

static uint32_t make_nd_advert_all(struct reply *r)
{
	return nd_advert_build(r->frame, r->vid, us, n6_6, NULL, NULL);
}

static struct maker {
	const char *what;
	uint32_t (*make)(struct reply *r);
	unsigned rows;
} makers[] = {
	{"gtpu_echo", make_gtpu_echo, 0},
	{"gtpu_error", make_gtpu_error, 0},
	{"gtpu_supported", make_gtpu_supported, 0},
	{"ping", make_ping, 0},
	{"too_big", make_too_big, 0},
	{"arp_request", make_arp_request, 0},
	{"arp_reply", make_arp_reply, 0},
	{"nd_solicit", make_nd_solicit, 0},
	{"nd_probe", make_nd_probe, 0},
	{"nd_dad", make_nd_dad, 0},
	{"nd_advert", make_nd_advert, 0},
	{"nd_advert_all", make_nd_advert_all, 0},
};
#define MAKERS (sizeof(makers) / sizeof(makers[0]))

static uint32_t hex_decode(const char *hex, uint8_t *data)
{
	uint32_t len = 0;

	for (unsigned byte; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		data[len++] = (uint8_t)byte;
	return len;
}

static struct maker *maker_of(const char *what)
{
	for (unsigned i = 0; i < MAKERS; i++)
		if (!strcmp(makers[i].what, what))
			return &makers[i];
	return NULL;
}

static const struct parse_conf *conf_of(const char *name)
{
	for (unsigned i = 0; i < CHECK_IFACES; i++)
		if (!strcmp(check_ifaces[i].name, name))
			return &check_ifaces[i].conf;
	return NULL;
}

// Makes the reply in a buffer of exactly `room` bytes; gives its length, or
// UINT32_MAX when it is not `want`.
static uint32_t reply_make(const struct maker *maker, const struct parse_conf *conf,
			   const uint8_t *asked, uint32_t asked_len, uint32_t room,
			   const uint8_t *want, uint32_t want_len)
{
	struct reply r = {.frame = malloc(room), .room = room, .vid = conf->vlan_tci_id};

	memset(r.frame, 0xee, room);
	memcpy(r.frame, asked, asked_len);
	if (asked_len)
		parse(conf, r.frame, asked_len, &r.p);
	uint32_t len = maker->make(&r);
	if (len && (len != want_len || memcmp(r.frame, want, len))) {
		printf("\n%s on %u: %u bytes:\n", maker->what, conf->iface, len);
		for (uint32_t i = 0; i < len; i++)
			printf("%02x", r.frame[i]);
		len = UINT32_MAX;
	}
	free(r.frame);
	return len;
}

static void test_replies(void)
{
	static char row[8 * BYTES_MAX], asked_hex[4 * BYTES_MAX], want_hex[4 * BYTES_MAX];
	char path[512], what[24], iface[8];
	const char *folder = getenv("TEST_GOLDEN");

	snprintf(path, sizeof(path), "%s/replies.txt", folder ? folder : "tests/golden");
	FILE *file = fopen(path, "r");
	CU_ASSERT_FATAL(file != NULL);
	while (fgets(row, sizeof(row), file)) {
		uint8_t asked[BYTES_MAX], want[BYTES_MAX];
		if (row[0] == '#')
			continue;
		CU_ASSERT_FATAL(sscanf(row, "%23s %7s %8191s %8191s", what, iface, asked_hex,
				       want_hex) == 4);
		struct maker *maker = maker_of(what);
		const struct parse_conf *conf = conf_of(iface);
		CU_ASSERT_FATAL(maker && conf);
		uint32_t asked_len = hex_decode(asked_hex, asked);
		uint32_t want_len = hex_decode(want_hex, want);
		uint32_t room = want_len > asked_len ? want_len : asked_len;
		CU_ASSERT_EQUAL(reply_make(maker, conf, asked, asked_len, room, want, want_len),
				want_len);
		// A reply that grows needs the room for it.
		if (asked_len && want_len > asked_len && maker->make != make_too_big)
			CU_ASSERT_EQUAL(reply_make(maker, conf, asked, asked_len, want_len - 1,
						   want, want_len),
					0);
		maker->rows++;
	}
	fclose(file);
	for (unsigned i = 0; i < MAKERS; i++)
		CU_ASSERT(makers[i].rows > 0);
}

// What we build, parse() and nd_decode() read.
static void test_nd(void)
{
	const struct parse_conf *conf = conf_of("n6");
	uint8_t frame[ND_FRAME_BYTES];
	struct nd_message m;
	struct pkt p = {0};

	// One of ours as if a neighbour had sent it to us.
	uint32_t len = nd_solicit_build(frame, 0, peer, server6, n6_6, NULL);
	CU_ASSERT_EQUAL(len, ETH_BYTES + 40 + 24 + 8);
	CU_ASSERT_EQUAL(parse(conf, frame, len, &p), PKT_ND);
	CU_ASSERT_EQUAL(nd_decode(frame, &p, &m), 0);
	CU_ASSERT(!m.advert && m.has_mac && !memcmp(m.mac, peer, 6) && ip6_eq(m.target, n6_6) &&
		  ip6_eq(m.src, server6) && nd_is_group(m.dst));
	len = nd_advert_build(frame, 0, peer, server6, us, n6_6);
	CU_ASSERT_EQUAL(parse(conf, frame, len, &p), PKT_ND);
	CU_ASSERT_EQUAL(nd_decode(frame, &p, &m), 0);
	CU_ASSERT(m.advert && m.solicited && m.override && m.router && m.has_mac &&
		  !memcmp(m.mac, peer, 6) && ip6_eq(m.target, server6));
	// Every single bit of the message matters: the checksum sees it.
	for (uint32_t bit = 0; bit < (len - ETH_BYTES - 40) * 8; bit++) {
		uint8_t *byte = frame + ETH_BYTES + 40 + bit / 8;
		*byte ^= (uint8_t)(1 << bit % 8);
		CU_ASSERT_EQUAL(nd_decode(frame, &p, &m), -EBADMSG);
		*byte ^= (uint8_t)(1 << bit % 8);
	}
	CU_ASSERT_EQUAL(nd_decode(frame, &p, &m), 0);
}

// Messages that are whole and add up but make no sense (RFC 4861 7.1): a byte is changed, its checksum
// mended.
static void test_nd_refused(void)
{
	static const struct {
		bool advert;
		uint8_t at, value; // from the IPv6 header's start
	} changes[] = {
		{false, 40 + 1, 1},         // code
		{false, 40 + 8, 0xff},      // target multicast
		{false, 8, 0xff},           // source multicast
		{false, 40 + 24 + 1, 0},    // option of length 0
		{false, 40 + 24 + 1, 2},    // option beyond the end
		{false, 40 + 24 + 2, 0x01}, // multicast MAC
		{true, 24, 0xff},           // solicited advertisement to a group
		{true, 7, 254},             // from beyond the link
	};
	uint8_t frame[ND_FRAME_BYTES];
	struct nd_message m;

	for (unsigned i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint32_t len = changes[i].advert
				       ? nd_advert_build(frame, 0, peer, server6, us, n6_6)
				       : nd_solicit_build(frame, 0, peer, server6, n6_6, NULL);
		struct pkt p = {.user = ETH_BYTES,
				.l4 = ETH_BYTES + 40,
				.user_bytes = (uint16_t)(len - ETH_BYTES)};
		struct ip6_head *ip = (struct ip6_head *)(frame + ETH_BYTES);
		uint8_t *icmp = frame + p.l4;
		CU_ASSERT_EQUAL(nd_decode(frame, &p, &m), 0);
		((uint8_t *)ip)[changes[i].at] = changes[i].value;
		memset(icmp + 2, 0, 2);
		uint16_t cksum =
			cksum_finish(cksum_pseudo6(ip->src, ip->dst, IPPROTO_ICMPV6, len - p.l4) +
				     cksum_bytes(icmp, len - p.l4));
		memcpy(icmp + 2, &cksum, 2);
		CU_ASSERT_EQUAL(nd_decode(frame, &p, &m), -EBADMSG);
	}
}

// The definition of RFC 1071, byte pairs one after the other.
static uint16_t plain_sum(const uint8_t *data, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum += i % 2 ? data[i] : (uint32_t)data[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return rte_cpu_to_be_16((uint16_t)sum);
}

static uint64_t random_next(void)
{
	static uint64_t state = 88172645463325252;

	return random_step(&state);
}

static void test_cksum(void)
{
	for (uint32_t len = 0; len < 300; len++) {
		uint8_t *data = malloc(len ? len : 1);
		for (uint32_t i = 0; i < len; i++)
			data[i] = (uint8_t)(len % 3 ? random_next() : 0xff);
		CU_ASSERT_EQUAL(cksum_fold(cksum_bytes(data, len)), plain_sum(data, len));
		free(data);
	}
	for (unsigned i = 0; i < 100000; i++) {
		uint8_t data[32];
		for (unsigned at = 0; at < sizeof(data); at += 8)
			memcpy(data + at, &(uint64_t){random_next()}, 8);
		rte_be16_t cksum = cksum_finish(cksum_bytes(data, sizeof(data)));
		uint32_t from = word32_get(data + 8), to = (uint32_t)random_next();
		uint16_t from16 = word16_get(data + 20), to16 = (uint16_t)random_next();
		cksum = cksum_update16(cksum_update32(cksum, from, to), from16, to16);
		memcpy(data + 8, &to, 4);
		memcpy(data + 20, &to16, 2);
		CU_ASSERT_EQUAL(cksum, cksum_finish(cksum_bytes(data, sizeof(data))));
	}
}

// Every TTL step of headers with every checksum gives what a recomputation gives.
static void test_ttl(void)
{
	struct ip4_head ip;

	for (unsigned id = 0; id < 0x10000; id++) {
		ip4_write(&ip, n6, server, IPPROTO_UDP, 100);
		ip.id = (rte_be16_t)id;
		ip.ttl = (uint8_t)(1 + id % 255);
		ip.cksum = ip4_cksum(&ip);
		CU_ASSERT(ip4_sum_ok(ip4_sum(&ip)));
		uint8_t before = ip.ttl;
		ip4_ttl_dec(&ip);
		CU_ASSERT(ip.ttl == before - 1 && ip.cksum == ip4_cksum(&ip));
		ip.cksum ^= (rte_be16_t)(1u << id % 16);
		CU_ASSERT(!ip4_sum_ok(ip4_sum(&ip)));
	}
}

// No errors about errors, about later fragments, or to nobody in particular.
static void test_error_allowed(void)
{
	static const struct {
		uint8_t family, proto, flags;
		uint8_t src0; // first octet of the source
		uint16_t dport;
		bool allowed;
	} rows[] = {
		{4, IPPROTO_UDP, 0, 10, 0, true},
		{4, IPPROTO_UDP, PKT_F_FRAGMENT, 10, 0, true},
		{4, IPPROTO_UDP, PKT_F_FRAGMENT | PKT_F_NO_L4, 10, 0, false},
		{4, IPPROTO_UDP, 0, 224, 0, false},
		{4, IPPROTO_UDP, 0, 0, 0, false},
		{4, IPPROTO_ICMP, 0, 10, 8 << 8, true},
		{4, IPPROTO_ICMP, 0, 10, 3 << 8, false},
		{4, IPPROTO_ICMP, 0, 10, 11 << 8, false},
		{6, IPPROTO_UDP, 0, 0x20, 0, true},
		{6, IPPROTO_UDP, 0, 0xff, 0, false},
		{6, IPPROTO_UDP, 0, 0, 0, false},
		{6, IPPROTO_ICMPV6, 0, 0x20, 128 << 8, true},
		{6, IPPROTO_ICMPV6, 0, 0x20, 2 << 8, false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t user[40] = {0};
		struct pkt p = {.family = rows[i].family,
				.proto = rows[i].proto,
				.flags = rows[i].flags,
				.dport = rows[i].dport};
		user[rows[i].family == 4 ? 12 : 8] = rows[i].src0;
		user[16] = rows[i].family == 4 ? 10 : 0; // a destination that is one host's
		CU_ASSERT_EQUAL(icmp_error_allowed(user, &p), rows[i].allowed);
	}
}

static CU_TestInfo tests[] = {
	{"built frames are scapy's", test_replies},
	{"neighbour discovery", test_nd},
	{"neighbour discovery refused", test_nd_refused},
	{"checksums", test_cksum},
	{"TTL", test_ttl},
	{"ICMP errors allowed", test_error_allowed},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("packet")
