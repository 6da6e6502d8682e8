// What a frame is: fills the part of struct pkt that follows from its bytes. Workers, pure.
//
// The ordinary ways (G-PDU over IPv4, plain IPv4 and IPv6) are inline here, in the order of the headers;
// what is rare is a call into parse.c, and so is GTP-U over IPv6, which has its copy of parse_gtpu() there. No byte beyond `len` is read, and every offset left in `p` lies
// within it. TS 29.281 5.1, 5.2; RFC 791, RFC 8200.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "packet/be.h"
#include "packet/eth.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "packet/pkt.h"
#include "stats/stats.h"

struct local_addr {
	uint8_t family; // 4 or 6
	bool gtpu;      // N3 or N9: GTP-U is served there
	rte_be32_t v4;
	uint8_t v6[16];
};

#define PARSE_LOCAL_MAX 8

// What parse() knows of an interface (a port and a VLAN): read-only for workers.
struct parse_conf {
	uint64_t mac;         // the interface's link address, as eth_dst() gives it; 0: any will do
	uint16_t vlan_tci_id; // 0: untagged
	uint16_t mtu;
	uint8_t iface;
	bool access;         // carries N3 or N9
	bool core;           // carries N6
	bool udp_cksum_done; // the port drops wrong outer UDP checksums itself
	uint8_t n_local;
	struct local_addr local[PARSE_LOCAL_MAX];
};

// Makes `addr` one of the interface's own. -ENOSPC beyond PARSE_LOCAL_MAX. Not while packets are parsed by it.
int parse_local_add(struct parse_conf *conf, const struct addr *addr, bool gtpu);

// The rare ways, in parse.c. All take p reset, with p->outer set.
enum pkt_kind parse_arp(const uint8_t *data, uint32_t len, struct pkt *p);
enum pkt_kind parse_local4(const uint8_t *data, uint32_t end, struct pkt *p);
enum pkt_kind parse_local6(const uint8_t *data, uint32_t end, struct pkt *p);
enum pkt_kind parse_udp6(const struct parse_conf *conf, const uint8_t *data, uint32_t end,
			 struct pkt *p);
enum pkt_kind parse_group6(const struct parse_conf *conf, const uint8_t *data, uint32_t end,
			   struct pkt *p);
enum pkt_kind parse_signal(const uint8_t *data, uint32_t udp, uint32_t payload, uint32_t end,
			   struct pkt *p);
enum drop parse_user6_slow(const uint8_t *data, uint32_t at, uint32_t end, struct pkt *p);
enum drop parse_fragment4(const uint8_t *l4, uint32_t bytes, uint16_t place, struct pkt *p);
bool parse_udp4_cksum_ok(const struct ip4_head *ip, const struct udp_head *udp, uint32_t bytes);

static inline enum pkt_kind parse_bad(struct pkt *p, enum drop drop)
{
	p->kind = PKT_BAD;
	p->drop = (uint8_t)drop;
	return PKT_BAD;
}
static_assert(DROP_REASONS <= UINT8_MAX, "a reason fits pkt.drop");

static inline enum pkt_kind parse_done(struct pkt *p, enum pkt_kind kind)
{
	p->kind = (uint8_t)kind;
	return kind;
}

// Every field that parse() is to set, so that no way through can leave one of the last turn's packet.
static inline void parse_reset(const struct parse_conf *conf, struct pkt *p)
{
	p->teid = 0;
	p->user = p->l4 = p->user_bytes = 0;
	p->sport = p->dport = 0;
	p->kind = PKT_BAD;
	p->family = p->proto = p->flags = 0;
	p->qfi = PKT_QFI_NONE;
	p->iface = conf->iface;
	p->outer = 0;
	p->drop = DROP_NONE;
}

static inline const struct local_addr *parse_local4_lookup(const struct parse_conf *conf,
							   rte_be32_t addr)
{
	for (unsigned i = 0; i < conf->n_local; i++)
		if (conf->local[i].v4 == addr && conf->local[i].family == 4)
			return &conf->local[i];
	return NULL;
}

static inline const struct local_addr *parse_local6_lookup(const struct parse_conf *conf,
							   const uint8_t addr[16])
{
	for (unsigned i = 0; i < conf->n_local; i++)
		if (conf->local[i].family == 6 && ip6_eq(conf->local[i].v6, addr))
			return &conf->local[i];
	return NULL;
}

// The user packet at `at`, whose IPv4 header ip4_check() passed: where what is.
static inline enum drop parse_user4(const uint8_t *data, uint32_t at, struct pkt *p)
{
	const struct ip4_head *ip = (const struct ip4_head *)(data + at);
	uint32_t header = ip4_header_bytes(ip);
	uint32_t total = rte_be_to_cpu_16(ip->total);
	uint16_t place = rte_be_to_cpu_16(ip->fragment) & (IP4_MORE | IP4_OFFSET_MASK);

	p->user = (uint16_t)at;
	p->l4 = (uint16_t)(at + header);
	p->user_bytes = (uint16_t)total;
	p->family = 4;
	p->proto = ip->proto;
	if (unlikely(place))
		return parse_fragment4((const uint8_t *)ip + header, total - header, place, p);
	return l4_fill((const uint8_t *)ip + header, total - header, p);
}

// The same for IPv6, after ip6_check().
static inline enum drop parse_user6(const uint8_t *data, uint32_t at, struct pkt *p)
{
	const struct ip6_head *ip = (const struct ip6_head *)(data + at);
	uint32_t payload = rte_be_to_cpu_16(ip->payload);

	p->user = (uint16_t)at;
	p->l4 = (uint16_t)(at + IP6_BYTES);
	p->user_bytes = (uint16_t)(IP6_BYTES + payload);
	p->family = 6;
	p->proto = ip->next;
	if (unlikely(!l4_is_common(ip->next)))
		return parse_user6_slow(data, at, at + IP6_BYTES + payload, p);
	return l4_fill((const uint8_t *)ip + IP6_BYTES, payload, p);
}

// The packet inside a G-PDU. Whatever is wrong with its header has one name.
static inline enum pkt_kind parse_inner(const uint8_t *data, uint32_t at, uint32_t end,
					struct pkt *p)
{
	const uint8_t *ip = data + at;
	enum drop drop = DROP_NONE;

	if (unlikely(at == end))
		return parse_bad(p, DROP_bad_user_packet);
	if (*ip >> 4 == 4) {
		if (unlikely(ip4_check((const struct ip4_head *)ip, end - at)))
			return parse_bad(p, DROP_bad_user_packet);
		drop = parse_user4(data, at, p);
	} else {
		if (unlikely(ip6_check((const struct ip6_head *)ip, end - at)))
			return parse_bad(p, DROP_bad_user_packet);
		drop = parse_user6(data, at, p);
	}
	if (unlikely(drop))
		return parse_bad(p, drop);
	return parse_done(p, PKT_GPDU);
}

// Whether a G-PDU's first 16 bytes are the ordinary ones of 5G: no flag but "extension" (a sequence
// number does no harm), and a PDU Session Container of 4 octets as the only extension header.
static inline bool parse_only_psc(const uint8_t *gtpu, uint32_t bytes)
{
	const uint64_t mask = RTE_BE64(0x000000ffffe000ff);
	const uint64_t psc = RTE_BE64(0x0000008501000000);

	return bytes >= 16 && gtpu[0] & GTPU_F_EXTENSION &&
	       (word64_get(gtpu + GTPU_BYTES) & mask) == psc;
}

// GTP-U in the UDP datagram of `bytes` at `udp`.
static inline enum pkt_kind parse_gtpu(const struct parse_conf *conf, const uint8_t *data,
				       uint32_t udp, uint32_t bytes, struct pkt *p)
{
	const uint8_t *gtpu = data + udp + UDP_BYTES;
	const struct gtpu_head *head = (const struct gtpu_head *)gtpu;
	uint32_t room = bytes - UDP_BYTES;
	uint32_t payload = GTPU_BYTES;
	uint8_t qfi = PKT_QFI_NONE;

	if (unlikely(room < GTPU_BYTES))
		return parse_bad(p, DROP_bad_gtpu_length);
	if (unlikely((head->flags & 0xf0) != GTPU_VERSION))
		return parse_bad(p, DROP_bad_gtpu_version);
	if (unlikely(rte_be_to_cpu_16(head->bytes) != room - GTPU_BYTES))
		return parse_bad(p, DROP_bad_gtpu_length);
	p->teid = rte_be_to_cpu_32(head->teid);
	if (likely(parse_only_psc(gtpu, room))) {
		payload = GTPU_BYTES + GTPU_OPTION_BYTES + GTPU_PSC_BYTES;
		qfi = gtpu[payload - 2] & GTPU_QFI_MASK;
	} else if (head->flags & GTPU_F_OPTION) {
		enum drop drop = gtpu_extensions_walk(gtpu, room, &payload, &qfi);
		if (unlikely(drop))
			return parse_bad(p, drop);
	}
	uint32_t at = udp + UDP_BYTES + payload;
	if (unlikely(head->type != GTPU_GPDU))
		return parse_signal(data, udp, at, udp + bytes, p);
	p->qfi = qfi;
	p->flags = (uint8_t)(PKT_F_TUNNELLED | (conf->access ? PKT_F_UP : 0) |
			     (qfi != PKT_QFI_NONE ? PKT_F_PSC : 0));
	return parse_inner(data, at, udp + bytes, p);
}

// To a local address, after ip4_check(); the packet is from `outer` to `end`.
static inline enum pkt_kind parse_udp4(const struct parse_conf *conf, const uint8_t *data,
				       uint32_t outer, uint32_t end, struct pkt *p)
{
	const struct ip4_head *ip = (const struct ip4_head *)(data + outer);
	uint32_t at = outer + ip4_header_bytes(ip);
	const struct udp_head *udp = (const struct udp_head *)(data + at);
	uint32_t bytes = udp_bytes(udp, end - at);

	if (unlikely(!bytes))
		return parse_bad(p, DROP_bad_udp);
	if (unlikely(udp->dport != RTE_BE16(GTPU_PORT)))
		return parse_bad(p, DROP_not_for_us);
	if (udp->cksum && !conf->udp_cksum_done && !parse_udp4_cksum_ok(ip, udp, bytes))
		return parse_bad(p, DROP_bad_udp_checksum);
	return parse_gtpu(conf, data, at, bytes, p);
}

static inline enum pkt_kind parse_ip4(const struct parse_conf *conf, const uint8_t *data,
				      uint32_t at, uint32_t len, struct pkt *p)
{
	const struct ip4_head *ip = (const struct ip4_head *)(data + at);
	enum drop drop = ip4_check(ip, len - at);

	if (unlikely(drop))
		return parse_bad(p, drop);
	const struct local_addr *local = parse_local4_lookup(conf, ip->dst);
	if (local) {
		uint32_t end = at + rte_be_to_cpu_16(ip->total);
		uint16_t place = ip->fragment & RTE_BE16(IP4_MORE | IP4_OFFSET_MASK);
		if (unlikely(place))
			return parse_bad(p, DROP_outer_fragment);
		if (likely(ip->proto == IPPROTO_UDP && local->gtpu))
			return parse_udp4(conf, data, at, end, p);
		return parse_local4(data, end, p);
	}
	if (unlikely(!ip4_is_unicast(ip->dst)))
		return parse_bad(p, DROP_not_for_us);
	drop = parse_user4(data, at, p);
	if (unlikely(drop))
		return parse_bad(p, drop);
	return parse_done(p, PKT_PLAIN);
}

static inline enum pkt_kind parse_ip6(const struct parse_conf *conf, const uint8_t *data,
				      uint32_t at, uint32_t len, struct pkt *p)
{
	const struct ip6_head *ip = (const struct ip6_head *)(data + at);
	enum drop drop = ip6_check(ip, len - at);

	if (unlikely(drop))
		return parse_bad(p, drop);
	uint32_t end = at + IP6_BYTES + rte_be_to_cpu_16(ip->payload);
	if (unlikely(!ip6_is_unicast(ip->dst)))
		return parse_group6(conf, data, end, p);
	const struct local_addr *local = parse_local6_lookup(conf, ip->dst);
	if (unlikely(local))
		return local->gtpu ? parse_udp6(conf, data, end, p) : parse_local6(data, end, p);
	if (unlikely(ip6_is_link_local(ip->dst)))
		return parse_bad(p, DROP_not_for_us);
	drop = parse_user6(data, at, p);
	if (unlikely(drop))
		return parse_bad(p, drop);
	return parse_done(p, PKT_PLAIN);
}

// Fills `p` but for mbuf, line, chain, ref, pdr and peer from the frame of `len` bytes that came in by the
// interface of `conf`, and gives p->kind.
static inline enum pkt_kind parse(const struct parse_conf *conf, const uint8_t *data, uint32_t len,
				  struct pkt *p)
{
	uint32_t at = ETH_BYTES;
	uint16_t vid = 0;

	parse_reset(conf, p);
	if (unlikely(len < ETH_BYTES))
		return parse_bad(p, DROP_runt);
	if (unlikely(eth_dst(data) != conf->mac && conf->mac && !eth_to_many(data)))
		return parse_bad(p, DROP_other_mac);
	uint16_t type = be16_get(data + ETH_BYTES - 2);
	if (type == ETH_TYPE_VLAN) {
		at += ETH_TAG_BYTES;
		if (unlikely(len < at))
			return parse_bad(p, DROP_runt);
		vid = be16_get(data + ETH_BYTES) & ETH_VID_MASK; // 0: a priority only
		type = be16_get(data + at - 2);
	}
	if (unlikely(vid != conf->vlan_tci_id))
		return parse_bad(p, DROP_vlan_unknown);
	p->outer = (uint8_t)at;
	if (likely(type == ETH_TYPE_IP4))
		return parse_ip4(conf, data, at, len, p);
	if (likely(type == ETH_TYPE_IP6))
		return parse_ip6(conf, data, at, len, p);
	if (type == ETH_TYPE_ARP)
		return parse_arp(data, len, p);
	return parse_bad(p, DROP_not_ip);
}
