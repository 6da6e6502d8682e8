// The rare ways of parse(): ARP, neighbour discovery, local addresses, GTP-U messages that are no G-PDU,
// fragments, IPv6 extension headers. Workers, pure.

#include "packet/parse.h"

#include <errno.h>
#include <string.h>

#include "packet/arp.h"
#include "packet/icmp.h"
#include "packet/nd.h"

#define ND_HOPS 255 // proves that the sender is on the link (RFC 4861 7.1)

int parse_local_add(struct parse_conf *conf, const struct addr *addr, bool gtpu)
{
	struct local_addr *local = &conf->local[conf->n_local];

	if (conf->n_local == PARSE_LOCAL_MAX)
		return -ENOSPC;
	*local = (struct local_addr){.family = addr->family, .gtpu = gtpu};
	if (addr->family == ADDR_V4)
		local->v4 = addr->v4;
	else
		memcpy(local->v6, addr->v6, sizeof(local->v6));
	conf->n_local++;
	return 0;
}

enum pkt_kind parse_arp(const uint8_t *data, uint32_t len, struct pkt *p)
{
	if (len - p->outer < ARP_BYTES)
		return parse_bad(p, DROP_runt);
	if (!arp_is_sound((const struct arp_head *)(data + p->outer)))
		return parse_bad(p, DROP_bad_arp);
	p->user = p->l4 = p->outer;
	p->user_bytes = ARP_BYTES;
	return parse_done(p, PKT_ARP);
}

bool parse_udp4_cksum_ok(const struct ip4_head *ip, const struct udp_head *udp, uint32_t bytes)
{
	uint64_t pseudo = cksum_pseudo4(ip->src, ip->dst, IPPROTO_UDP, bytes);

	return cksum_udp_ok(udp->cksum, pseudo, pseudo + cksum_bytes(udp, bytes));
}

enum drop parse_fragment4(const uint8_t *l4, uint32_t bytes, uint16_t place, struct pkt *p)
{
	p->flags |= PKT_F_FRAGMENT;
	if (place & IP4_OFFSET_MASK) {
		p->flags |= PKT_F_NO_L4;
		return DROP_NONE;
	}
	return l4_fill(l4, bytes, p);
}

enum drop parse_user6_slow(const uint8_t *data, uint32_t at, uint32_t end, struct pkt *p)
{
	struct ip6_end l4;
	enum drop drop = ip6_walk((const struct ip6_head *)(data + at), end - at, &l4);

	if (drop)
		return drop;
	p->l4 = (uint16_t)(at + l4.bytes);
	p->proto = l4.proto;
	if (l4.fragment)
		p->flags |= PKT_F_FRAGMENT;
	if (l4.later) {
		p->flags |= PKT_F_NO_L4;
		return DROP_NONE;
	}
	return l4_fill(data + p->l4, end - p->l4, p);
}

// Not a fragment, and no GTP-U address or not UDP: ICMP echo is all that is served.
enum pkt_kind parse_local4(const uint8_t *data, uint32_t end, struct pkt *p)
{
	enum drop drop = parse_user4(data, p->outer, p);

	if (drop)
		return parse_bad(p, p->proto == IPPROTO_UDP ? DROP_bad_udp : drop);
	if (p->proto == IPPROTO_ICMP && p->dport == ICMP4_TYPE_ECHO << 8)
		return parse_done(p, PKT_ICMP_ECHO);
	return parse_bad(p, DROP_not_for_us);
}

// Neighbour discovery is taken whole, from the link, and without a detour (RFC 6980).
static bool is_nd(const uint8_t *data, const struct pkt *p)
{
	const struct ip6_head *ip = (const struct ip6_head *)(data + p->outer);

	return p->proto == IPPROTO_ICMPV6 && !(p->flags & PKT_F_FRAGMENT) && ip->hops == ND_HOPS &&
	       (p->dport == ICMP6_TYPE_SOLICIT << 8 || p->dport == ICMP6_TYPE_ADVERT << 8);
}

enum pkt_kind parse_local6(const uint8_t *data, uint32_t end, struct pkt *p)
{
	enum drop drop = parse_user6(data, p->outer, p);

	if (drop)
		return parse_bad(p, p->proto == IPPROTO_UDP ? DROP_bad_udp : drop);
	if (p->flags & PKT_F_FRAGMENT)
		return parse_bad(p, DROP_outer_fragment);
	if (is_nd(data, p))
		return parse_done(p, PKT_ND);
	if (p->proto == IPPROTO_ICMPV6 && p->dport == ICMP6_TYPE_ECHO << 8)
		return parse_done(p, PKT_ICMP_ECHO);
	if (p->proto != IPPROTO_UDP)
		return parse_bad(p, DROP_not_for_us);
	if (!udp_bytes((const struct udp_head *)(data + p->l4), end - p->l4))
		return parse_bad(p, DROP_bad_udp);
	return parse_bad(p, DROP_not_for_us);
}

static bool udp6_cksum_ok(const struct ip6_head *ip, const struct udp_head *udp, uint32_t bytes)
{
	uint64_t pseudo = cksum_pseudo6(ip->src, ip->dst, IPPROTO_UDP, bytes);

	return cksum_udp_ok(udp->cksum, pseudo, pseudo + cksum_bytes(udp, bytes));
}

// A tunnel's packet may come without a UDP checksum over IPv6 too (RFC 6935 5): its user packet has one of
// its own, and GTP-U does not act on what it cannot check any more than over IPv4.
enum pkt_kind parse_udp6(const struct parse_conf *conf, const uint8_t *data, uint32_t end,
			 struct pkt *p)
{
	const struct ip6_head *ip = (const struct ip6_head *)(data + p->outer);
	struct ip6_end l4 = {.bytes = IP6_BYTES, .proto = ip->next};

	if (unlikely(ip->next != IPPROTO_UDP)) {
		enum drop drop = ip6_walk(ip, end - p->outer, &l4);
		if (drop)
			return parse_bad(p, drop);
		if (l4.fragment || l4.proto != IPPROTO_UDP)
			return parse_local6(data, end, p);
	}
	const struct udp_head *udp = (const struct udp_head *)(data + p->outer + l4.bytes);
	uint32_t bytes = udp_bytes(udp, end - p->outer - l4.bytes);

	if (unlikely(!bytes))
		return parse_bad(p, DROP_bad_udp);
	if (unlikely(udp->dport != RTE_BE16(GTPU_PORT)))
		return parse_bad(p, DROP_not_for_us);
	if (udp->cksum && !conf->udp_cksum_done && !udp6_cksum_ok(ip, udp, bytes))
		return parse_bad(p, DROP_bad_udp_checksum);
	return parse_gtpu(conf, data, p->outer + l4.bytes, bytes, p);
}

// Whether a group is all nodes or the solicited-node group of one of our addresses.
static bool is_our_group(const struct parse_conf *conf, const uint8_t group[16])
{
	static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};

	if (ip6_eq(group, all_nodes))
		return true;
	for (unsigned i = 0; i < conf->n_local; i++) {
		uint8_t own[16];
		nd_group(conf->local[i].v6, own);
		if (conf->local[i].family == 6 && ip6_eq(group, own))
			return true;
	}
	return false;
}

// To a group, or to an address that no host can have.
enum pkt_kind parse_group6(const struct parse_conf *conf, const uint8_t *data, uint32_t end,
			   struct pkt *p)
{
	const struct ip6_head *ip = (const struct ip6_head *)(data + p->outer);

	if (!is_our_group(conf, ip->dst))
		return parse_bad(p, DROP_not_for_us);
	enum drop drop = parse_user6(data, p->outer, p);
	if (drop)
		return parse_bad(p, drop);
	if (!is_nd(data, p))
		return parse_bad(p, DROP_not_for_us);
	return parse_done(p, PKT_ND);
}

// A message that is no G-PDU: `user` is what follows its header and extension headers, `l4` its UDP
// header.
enum pkt_kind parse_signal(const uint8_t *data, uint32_t udp, uint32_t payload, uint32_t end,
			   struct pkt *p)
{
	static const uint8_t kinds[UINT8_MAX + 1] = {
		[GTPU_ECHO_REQUEST] = PKT_ECHO_REQUEST,
		[GTPU_ECHO_RESPONSE] = PKT_ECHO_RESPONSE,
		[GTPU_ERROR_INDICATION] = PKT_ERROR_INDICATION,
		[GTPU_END_MARKER] = PKT_END_MARKER,
	};
	enum pkt_kind kind = kinds[data[udp + UDP_BYTES + 1]];

	if (kind == PKT_BAD)
		return parse_bad(p, DROP_gtpu_unknown_type);
	p->user = (uint16_t)payload;
	p->user_bytes = (uint16_t)(end - payload);
	p->l4 = (uint16_t)udp;
	p->family = data[p->outer] >> 4;
	p->proto = IPPROTO_UDP;
	p->sport = be16_get(data + udp);
	p->dport = be16_get(data + udp + 2);
	return parse_done(p, kind);
}
