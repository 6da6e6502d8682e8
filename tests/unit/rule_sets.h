// Large rulesets of several kinds, and packets for them: for the test and the measure of many filters.
//
// All PDRs of a set are of one direction, FILTERS_EACH filters to a PDR, and a last PDR takes what the others
// leave. Packets are drawn so that most of them suit a filter picked at random.

#pragma once

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet/be.h"
#include "rules/compile.h"
#include "rules/match.h"
#include "rules/model.h"

#define FILTERS_EACH 16

enum set_kind {
	SET_HOSTS, // remotes of /24 to /32 with ports: one service each
	SET_APPS,  // each PDR an application: some prefixes, each with the same ports
	SET_LIST,  // as an access list: nested prefixes, ports now and then, many of any protocol
	SET_IPV6,  // remotes of /32 to /128 with ports
	SET_PORTS, // any remote, overlapping ranges of ports
	SET_RARE,  // TOS, SPI, flow label, options
	SET_CROSSED, // nested ranges, half of the filters of remote ports and half of local ones; none suits
	SET_FULL, // every field of IPv6 restricted, no two alike: the most memory
	SET_ANY,  // anything of a small world, so that much overlaps
	SET_KINDS
};

static const char *const set_names[SET_KINDS] = {
	"hosts", "apps", "list", "ipv6", "ports", "rare", "crossed", "full", "any",
};

struct set_packet {
	struct pkt p;
	uint8_t user[128];
};

static uint64_t set_seed = 1;

static inline uint32_t set_draw(uint32_t n)
{
	set_seed = set_seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((set_seed >> 32) * n >> 32);
}

static inline uint32_t set_word(void)
{
	return set_draw(1u << 16) << 16 | set_draw(1u << 16);
}

// --- filters ---------------------------------------------------------------------------------------------

static inline void set_v4(struct sdf_side *side, uint32_t address, unsigned bits)
{
	side->any = false;
	side->prefix.addr = addr_v4(rte_cpu_to_be_32(address));
	side->prefix.len = (uint8_t)bits;
}

static inline void set_v6(struct sdf_side *side, uint32_t second, uint64_t low, unsigned bits)
{
	uint8_t octets[16] = {0x20, 0x01, 0x0d, 0xb8};

	be32_put(octets + 4, second);
	be32_put(octets + 8, (uint32_t)(low >> 32));
	be32_put(octets + 12, (uint32_t)low);
	side->any = false;
	side->prefix.addr = addr_v6(octets);
	side->prefix.len = (uint8_t)bits;
}

static inline void set_ports(struct sdf_side *side, uint32_t low, uint32_t high)
{
	side->ports[side->n_ports++] =
		(struct sdf_port_range){(uint16_t)low, (uint16_t)(high < 65536 ? high : 65535)};
}

static inline void set_service_ports(struct sdf_side *side)
{
	static const uint16_t services[] = {80, 443, 53, 123, 5060, 3478, 8080, 1935};
	uint32_t low;

	if (set_draw(5)) {
		low = services[set_draw(8)];
		set_ports(side, low, low);
		return;
	}
	low = 1024 + set_draw(60000);
	set_ports(side, low, low + set_draw(1000));
}

static inline void set_proto(struct sdf *sdf, uint8_t proto)
{
	sdf->any_proto = false;
	sdf->proto = proto;
}

static inline uint8_t set_transport(void)
{
	return set_draw(2) ? IPPROTO_TCP : IPPROTO_UDP;
}

static inline void set_list_filter(struct sdf *sdf)
{
	static const uint8_t lengths[] = {8, 12, 16, 20, 24, 24, 28, 32, 32, 32};

	if (set_draw(10))
		set_v4(&sdf->from, 10u << 24 | (set_word() & 0xffffff), lengths[set_draw(10)]);
	if (set_draw(3) == 0)
		return;
	set_proto(sdf, set_transport());
	if (set_draw(2))
		set_service_ports(&sdf->from);
	else if (set_draw(3) == 0)
		set_ports(&sdf->to, 1024, 65535);
}

static inline void set_rare_filter(struct sdf *sdf)
{
	static const uint8_t options[] = {SDF_OPTION_FRAG, SDF_OPTION_SETUP,
					  SDF_OPTION_ESTABLISHED};

	switch (set_draw(4)) {
	case 0:
		sdf->has_tos = true;
		sdf->tos_mask = set_draw(4) ? 0xfc : (uint8_t)set_draw(256);
		sdf->tos = (uint8_t)set_draw(256) & sdf->tos_mask;
		break;
	case 1:
		sdf->has_spi = true;
		sdf->spi = set_draw(3) ? set_draw(64) : set_word();
		break;
	case 2:
		sdf->has_flow_label = true;
		sdf->flow_label = set_draw(3) ? set_draw(64) : set_draw(1 << 20);
		break;
	default:
		sdf->options = options[set_draw(3)];
		set_proto(sdf, IPPROTO_TCP);
		set_ports(&sdf->from, set_draw(2000), 2000 + set_draw(60000));
	}
}

// Of a small world: eight addresses, eight ports.
static inline void set_any_filter(struct sdf *sdf)
{
	static const uint8_t protos[] = {6, 17, 132, 136, 1, 58, 50, 51};
	struct sdf_side *sides[2] = {&sdf->from, &sdf->to};
	unsigned family = set_draw(3);

	if (set_draw(4))
		set_proto(sdf, protos[set_draw(sizeof(protos))]);
	for (unsigned i = 0; i < 2; i++) {
		if (family == 1 && set_draw(2))
			set_v4(sides[i], 10u << 24 | set_draw(8), 29 + set_draw(4));
		if (family == 2 && set_draw(2))
			set_v6(sides[i], set_draw(8), set_draw(8), 61 + set_draw(68));
		if (set_draw(3) == 0)
			set_ports(sides[i], set_draw(8), 8 + set_draw(2));
		if (set_draw(8) == 0)
			set_ports(sides[i], set_draw(8), 4);
	}
	if (set_draw(6) == 0)
		set_rare_filter(sdf);
}

static inline void set_filter(enum set_kind kind, unsigned i, struct sdf *sdf)
{
	static uint32_t app;
	uint32_t low = 1000 + i;

	*sdf = (struct sdf){.has_flow = true, .any_proto = true};
	sdf->from.any = true;
	sdf->to.assigned = true;
	switch (kind) {
	case SET_HOSTS:
		set_v4(&sdf->from, set_word(), 24 + set_draw(9));
		set_proto(sdf, set_transport());
		set_service_ports(&sdf->from);
		break;
	case SET_APPS:
		if (i % FILTERS_EACH == 0)
			app = set_word();
		set_v4(&sdf->from, app + (set_draw(4) << 12), 20 + set_draw(5));
		set_proto(sdf, i % 2 ? IPPROTO_TCP : IPPROTO_UDP);
		set_ports(&sdf->from, 443 + (app & 15), 443 + (app & 15));
		break;
	case SET_LIST:
		set_list_filter(sdf);
		break;
	case SET_IPV6:
		set_v6(&sdf->from, set_word(), (uint64_t)set_word() << 32 | set_word(),
		       32 + set_draw(97));
		set_proto(sdf, set_transport());
		set_service_ports(&sdf->from);
		break;
	case SET_PORTS:
		set_proto(sdf, set_transport());
		low = 1 + set_draw(65000);
		set_ports(&sdf->from, low, low + set_draw(4000));
		break;
	case SET_RARE:
		set_rare_filter(sdf);
		break;
	case SET_CROSSED:
		set_proto(sdf, IPPROTO_UDP);
		set_ports(i % 2 ? &sdf->from : &sdf->to, low, 65535 - i);
		break;
	case SET_FULL:
		set_v6(&sdf->from, set_word(), (uint64_t)set_word() << 32 | set_word(), 128);
		set_v6(&sdf->to, set_word(), (uint64_t)set_word() << 32 | set_word(), 128);
		sdf->to.assigned = false;
		set_proto(sdf, IPPROTO_UDP);
		set_ports(&sdf->from, low, 65535 - i);
		set_ports(&sdf->to, low, 65535 - i);
		sdf->has_tos = sdf->has_spi = sdf->has_flow_label = true;
		sdf->tos = (uint8_t)set_draw(256);
		sdf->tos_mask = 0xff;
		sdf->spi = set_word();
		sdf->flow_label = set_draw(1 << 20);
		break;
	default:
		set_any_filter(sdf);
	}
}

// --- rules -----------------------------------------------------------------------------------------------

static inline struct pdr_rule *set_pdr(struct rules *rules, uint16_t id, uint32_t precedence,
				       bool up)
{
	struct pdr_rule *pdr = rules_pdr_add(rules, id);

	pdr->precedence = precedence;
	pdr->pdi.source = up ? IF_ACCESS : IF_CORE;
	pdr->pdi.ni = 0;
	pdr->outer_header_removal = -1;
	pdr->has_far = true;
	pdr->far = 1;
	pdr->pdi.has_fteid = up;
	pdr->tunnel = up ? 1 : 0;
	return pdr;
}

// A set of `n` filters.
static inline struct rules *set_rules(enum set_kind kind, unsigned n, bool up)
{
	struct rules *rules = rules_new();
	struct far_rule *far = rules_far_add(rules, 1);
	unsigned done = 0;

	far->action = APPLY_FORW;
	far->has_parameters = true;
	far->destination = IF_CORE;
	far->dscp = 0xff;
	while (done < n && rules->n_pdrs < RULES_MAX_PDRS - 1) {
		struct sdf filters[FILTERS_EACH];
		unsigned each = n - done < FILTERS_EACH ? n - done : FILTERS_EACH;
		struct pdr_rule *pdr = set_pdr(rules, (uint16_t)(1 + rules->n_pdrs),
					       100 + rules->n_pdrs, up);

		for (unsigned i = 0; i < each; i++)
			set_filter(kind, done + i, &filters[i]);
		rules_pdr_filters_set(pdr, filters, each);
		if (kind == SET_ANY && up && set_draw(2))
			pdr->pdi.qfis = 1ull << set_draw(4) | 1ull << 9;
		if (kind == SET_ANY && set_draw(4) == 0)
			pdr->tunnel = 2;
		done += each;
	}
	set_pdr(rules, 9999, 65535, up);
	return rules;
}

// --- packets ---------------------------------------------------------------------------------------------

static inline void set_address(const struct sdf_side *side, unsigned family, bool small,
			       uint8_t *to)
{
	uint8_t octets[16];

	for (unsigned i = 0; i < 16; i += 4)
		be32_put(octets + i, small ? set_draw(8) : set_word());
	if (small && family == 4)
		be32_put(octets, 10u << 24 | set_draw(8));
	if (small && family == 6)
		be32_put(octets, 0x20010db8);
	if (side->prefix.addr.family == family) {
		const uint8_t *from = family == 4 ? (const uint8_t *)&side->prefix.addr.v4
						  : side->prefix.addr.v6;
		unsigned bits = side->prefix.len;

		for (unsigned i = 0; i < bits; i++) {
			uint8_t bit = (uint8_t)(0x80 >> i % 8);

			octets[i / 8] = (uint8_t)((octets[i / 8] & ~bit) | (from[i / 8] & bit));
		}
	}
	memcpy(to, octets, family == 4 ? 4 : 16);
}

static inline uint16_t set_port(const struct sdf_side *side, bool small)
{
	const struct sdf_port_range *range =
		&side->ports[side->n_ports ? set_draw(side->n_ports) : 0];

	if (side->n_ports && range->high >= range->low)
		return (uint16_t)(range->low + set_draw(1u + range->high - range->low));
	return (uint16_t)set_draw(small ? 12 : 65536);
}

// L4 as parse would have found it, now and then a fragment or cut short.
static inline void set_l4(struct set_packet *k, const struct sdf *sdf, bool up, bool small)
{
	static const uint8_t flags[] = {0x02, 0x10, 0x12, 0x04, 0x18, 0x01};
	struct pkt *p = &k->p;
	unsigned at = p->family == 4 ? 20 : 40;
	bool later = set_draw(16) == 0, ports = sdf_proto_has_ports(p->proto);
	uint16_t remote = set_port(&sdf->from, small), local = set_port(&sdf->to, small);

	if (later || set_draw(16) == 0)
		p->flags |= PKT_F_FRAGMENT;
	if (p->family == 4)
		be16_put(k->user + 6, later ? 185 : p->flags & PKT_F_FRAGMENT ? 0x2000 : 0);
	if (later || (!ports && p->proto != IPPROTO_ICMP && p->proto != IPPROTO_ICMPV6))
		p->flags |= PKT_F_NO_L4;
	if (!(p->flags & PKT_F_NO_L4)) {
		p->sport = up ? local : remote;
		p->dport = up ? remote : local;
	}
	k->user[at + 13] = flags[set_draw(sizeof(flags))];
	if (p->proto == IPPROTO_ESP || p->proto == IPPROTO_AH)
		be32_put(k->user + at + (p->proto == IPPROTO_AH ? 4 : 0),
			 sdf->has_spi && set_draw(4) ? sdf->spi : set_draw(64));
	p->user = 50;
	p->l4 = (uint16_t)(50 + at);
	p->user_bytes = (uint16_t)(at + (set_draw(16) ? 24 : 7));
}

// A packet of the direction that suits, most of the time, a filter of the rules.
static inline void set_packet(const struct rules *rules, enum set_kind kind, bool up,
			      struct set_packet *k)
{
	static const uint8_t protos[] = {6, 17, 6, 17, 132, 136, 1, 58, 50, 51, 47};
	static const struct sdf everything = {.any_proto = true};
	const struct pdr_rule *pdr = &rules->pdrs[set_draw(rules->n_pdrs)];
	const struct sdf *sdf = &everything;
	bool small = kind == SET_ANY;
	unsigned family;

	if (pdr->pdi.n_filters && set_draw(8))
		sdf = &pdr->pdi.filters[set_draw(pdr->pdi.n_filters)];
	if (kind == SET_CROSSED)
		sdf = &everything;
	family = sdf->from.prefix.addr.family ? sdf->from.prefix.addr.family
					      : sdf->to.prefix.addr.family;
	if (family == 0)
		family = kind == SET_IPV6 || ((kind == SET_ANY || kind == SET_RARE) && set_draw(2))
				 ? 6
				 : 4;
	memset(k, 0, sizeof(*k));
	k->p.family = (uint8_t)family;
	k->p.proto = !sdf->has_flow || sdf->any_proto ? protos[set_draw(sizeof(protos))]
						      : sdf->proto;
	if (sdf->has_spi && set_draw(8))
		k->p.proto = set_draw(2) ? IPPROTO_ESP : IPPROTO_AH;
	k->p.tunnel = (uint8_t)(up ? 1 : 0);
	if (small && set_draw(4) == 0)
		k->p.tunnel = 2;
	k->p.qfi = PKT_QFI_NONE;
	if (up && set_draw(4)) {
		k->p.flags |= PKT_F_PSC;
		k->p.qfi = (uint8_t)set_draw(4);
	}
	if (family == 4) {
		k->user[0] = 0x45;
		k->user[1] = sdf->has_tos ? sdf->tos : (uint8_t)set_draw(256);
		k->user[9] = k->p.proto;
		set_address(&sdf->from, 4, small, k->user + MATCH_V4_REMOTE(up));
		set_address(&sdf->to, 4, small, k->user + MATCH_V4_LOCAL(up));
	} else {
		be32_put(k->user, 6u << 28 | (sdf->has_tos ? sdf->tos : set_draw(256)) << 20 |
					  (sdf->has_flow_label ? sdf->flow_label : set_draw(64)));
		k->user[6] = k->p.proto;
		set_address(&sdf->from, 6, small, k->user + MATCH_V6_REMOTE(up));
		set_address(&sdf->to, 6, small, k->user + MATCH_V6_LOCAL(up));
	}
	if (kind == SET_CROSSED) // suits the restriction of no filter
		k->p.proto = IPPROTO_UDP;
	set_l4(k, sdf, up, small);
	if (kind == SET_CROSSED)
		k->p.sport = k->p.dport = (uint16_t)set_draw(1000);
}

static inline uint64_t set_chain(void *ctx, bool up, unsigned needs)
{
	return needs;
}

// For rules_compile(): more alternatives than `walk_max` are classified.
static inline struct compile_conf set_conf(unsigned walk_max)
{
	static const struct compile_ni nis[] = {{.iface = 1}};

	return (struct compile_conf){
		.nis = nis,
		.n_nis = 1,
		.chain = set_chain,
		.walk_max = walk_max,
	};
}
