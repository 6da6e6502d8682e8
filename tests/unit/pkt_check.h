// What must hold of parse() whatever the bytes are, and the interfaces of the golden frames.
// Used by test_parse, test_packet and the fuzz target.

#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "packet/arp.h"
#include "packet/parse.h"

// The interfaces that tests/golden/make_frames.py speaks of. Addresses: N3 10.0.0.1 and 2001:db8:0:3::1,
// N6 10.6.0.1, 2001:db8:0:6::1 and fe80::1.
#define LOCAL4(a, b, c, d, serves)                                                                 \
	{                                                                                          \
		.family = 4, .gtpu = serves, .v4 = RTE_BE32(a << 24 | b << 16 | c << 8 | d)        \
	}
#define LOCAL6_DB8(net, serves)                                                                    \
	{                                                                                          \
		.family = 6, .gtpu = serves, .v6 = { 0x20, 0x01, 0x0d, 0xb8, [7] = net, [15] = 1 } \
	}
#define N3_ADDRESSES .n_local = 2, .local = {LOCAL4(10, 0, 0, 1, true), LOCAL6_DB8(3, true)}
#define N6_ADDRESSES                                                                               \
	.n_local = 3, .local = {LOCAL4(10, 6, 0, 1, false),                                        \
				LOCAL6_DB8(6, false),                                              \
				{.family = 6, .v6 = {0xfe, 0x80, [15] = 1}}}

static const struct check_iface {
	const char *name;
	struct parse_conf conf;
} check_ifaces[] = {
	{"n3", {.iface = 3, .mtu = 1500, .access = true, N3_ADDRESSES}},
	{"n3v", {.iface = 4, .mtu = 1500, .access = true, .vlan_tci_id = 100, N3_ADDRESSES}},
	{"n6", {.iface = 6, .mtu = 1500, .core = true, N6_ADDRESSES}},
	{"n6v", {.iface = 7, .mtu = 1500, .core = true, .vlan_tci_id = 200, N6_ADDRESSES}},
};
#define CHECK_IFACES (sizeof(check_ifaces) / sizeof(check_ifaces[0]))

// The smallest header that rules may read of a whole packet.
static inline uint32_t check_l4_bytes(const struct pkt *p)
{
	switch (p->proto) {
	case IPPROTO_TCP:
		return 20;
	case IPPROTO_SCTP:
		return 12;
	default:
		return 8;
	}
}

static inline const char *check_user(const struct pkt *p, uint32_t len)
{
	uint32_t end = (uint32_t)p->user + p->user_bytes;
	uint32_t head = p->family == 4 ? IP4_BYTES : IP6_BYTES;
	bool has_l4 = !(p->flags & PKT_F_NO_L4);

	if (p->family != 4 && p->family != 6)
		return "family";
	if (end > len || p->user < p->outer)
		return "user packet outside of the frame";
	if (p->l4 < p->user + head || p->l4 > end)
		return "L4 outside of the user packet";
	if (has_l4 && end - p->l4 < (p->flags & PKT_F_FRAGMENT ? 4 : check_l4_bytes(p)))
		return "L4 header cut short";
	if (!has_l4 && (p->sport || p->dport))
		return "ports without an L4 header";
	if (!!(p->flags & PKT_F_TUNNELLED) != (p->kind == PKT_GPDU))
		return "tunnelled flag";
	if (!!(p->flags & PKT_F_PSC) != (p->qfi != PKT_QFI_NONE))
		return "QFI and its flag";
	return NULL;
}

// NULL, or what is wrong with the offsets that parse() left.
static inline const char *check_offsets(const struct pkt *p, uint32_t len)
{
	switch (p->kind) {
	case PKT_BAD:
		return p->drop == DROP_NONE || p->drop >= DROP_REASONS ? "drop reason" : NULL;
	case PKT_GPDU:
	case PKT_PLAIN:
	case PKT_ICMP_ECHO:
	case PKT_ND:
		return p->drop ? "drop reason of a good packet" : check_user(p, len);
	case PKT_ARP:
		return p->drop || (uint32_t)p->outer + ARP_BYTES > len ? "ARP" : NULL;
	case PKT_ECHO_REQUEST:
	case PKT_ECHO_RESPONSE:
	case PKT_ERROR_INDICATION:
	case PKT_END_MARKER:
		if (p->drop || p->l4 < p->outer + IP4_BYTES ||
		    p->user < p->l4 + UDP_BYTES + GTPU_BYTES ||
		    (uint32_t)p->user + p->user_bytes > len)
			return "GTP-U message";
		return NULL;
	default:
		return "kind";
	}
}

// Parses the frame twice, over different leftovers: parse() must set all that it owns, and only that.
// NULL, or what is wrong.
static inline const char *check_parse(const struct parse_conf *conf, const uint8_t *data,
				      uint32_t len, struct pkt *ret_p)
{
	struct pkt a, b;
	const size_t mine = offsetof(struct pkt, teid), kind = offsetof(struct pkt, kind);

	memset(&a, 0x5a, sizeof(a));
	memset(&b, 0xa5, sizeof(b));
	if (parse(conf, data, len, &a) != a.kind || parse(conf, data, len, &b) != b.kind)
		return "kind given is not the kind set";
	for (size_t i = 0; i < mine; i++)
		if (((uint8_t *)&a)[i] != 0x5a || ((uint8_t *)&b)[i] != 0xa5)
			return "wrote a field that is not parse()'s";
	if (a.peer != 0x5a5a || b.peer != 0xa5a5)
		return "wrote peer";
	if (memcmp((uint8_t *)&a + mine, (uint8_t *)&b + mine, offsetof(struct pkt, peer) - mine) ||
	    memcmp((uint8_t *)&a + kind, (uint8_t *)&b + kind, sizeof(a) - kind))
		return "left a field unset";
	if (a.iface != conf->iface)
		return "interface";
	*ret_p = a;
	return check_offsets(&a, len);
}
