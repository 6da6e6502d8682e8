// Which PDR a packet matches: the first, by precedence, of its direction (TS 29.244 5.2.1A.2A). A few filters
// are walked, here; many are classified (rules/classify.h).
//
// Worker threads. `up` is a compile-time constant in each caller. Reads the user's IP header where a filter
// asks for it: parse has made sure that the header is complete, and, for whole packets of protocols with
// ports, which ports they have.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "packet/be.h"
#include "packet/pkt.h"
#include "rules/classify.h"
#include "rules/ruleset.h"

#define MATCH_TCP_FLAGS 13 // offset in the TCP header
#define MATCH_TCP_SYN 0x02
#define MATCH_TCP_RST 0x04
#define MATCH_TCP_ACK 0x10
#define MATCH_SPI_BYTES 8 // of an ESP or AH header, up to the end of the SPI

// Offsets of the addresses in the user's header that stand on the network's side and on the UE's.
#define MATCH_V4_REMOTE(up) ((up) ? 16 : 12)
#define MATCH_V4_LOCAL(up) ((up) ? 12 : 16)
#define MATCH_V6_REMOTE(up) ((up) ? 24 : 8)
#define MATCH_V6_LOCAL(up) ((up) ? 8 : 24)

static inline bool match_v4(const struct filter *f, bool up, const uint8_t *user)
{
	uint32_t remote = word32_get(user + MATCH_V4_REMOTE(up));
	uint32_t local = word32_get(user + MATCH_V4_LOCAL(up));

	return (((remote ^ f->v4.remote) & f->v4.remote_mask) |
		((local ^ f->v4.local) & f->v4.local_mask)) == 0;
}

// Whether the first `bits` of two IPv6 addresses are equal.
static inline bool match_v6_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	uint64_t high = rte_be_to_cpu_64(word64_get(a) ^ word64_get(b));
	uint64_t low = rte_be_to_cpu_64(word64_get(a + 8) ^ word64_get(b + 8));

	if (bits <= 64)
		return bits == 0 || high >> (64 - bits) == 0;
	return (high | low >> (128 - bits)) == 0;
}

static inline bool match_v6(const struct filter *f, bool up, const uint8_t *user)
{
	return match_v6_prefix(user + MATCH_V6_REMOTE(up), f->v6.remote, f->remote_bits) &&
	       match_v6_prefix(user + MATCH_V6_LOCAL(up), f->v6.local, f->local_bits);
}

// The protocols that ports are read of (packet/l4.c); ICMP's type and code stand in the same fields.
static inline bool match_has_ports(const struct pkt *p)
{
	uint8_t proto = p->proto;

	return !(p->flags & PKT_F_NO_L4) && (proto == IPPROTO_TCP || proto == IPPROTO_UDP ||
					     proto == IPPROTO_SCTP || proto == IPPROTO_UDPLITE);
}

static inline bool match_ports(const struct filter *f, bool up, const struct pkt *p)
{
	uint16_t remote = up ? p->dport : p->sport;
	uint16_t local = up ? p->sport : p->dport;

	return match_has_ports(p) && remote >= f->remote_low && remote <= f->remote_high &&
	       local >= f->local_low && local <= f->local_high;
}

// The SPI of a whole ESP packet is the first word of its header, that of AH the second (RFC 4303, 4302). In
// IPv6 an AH is walked over as an extension header, so no filter finds its SPI.
static inline bool match_spi_get(const struct pkt *p, const uint8_t *user, uint32_t *ret_spi)
{
	unsigned at = (unsigned)(p->l4 - p->user);

	if ((p->proto != IPPROTO_ESP && p->proto != IPPROTO_AH) || (p->flags & PKT_F_FRAGMENT) ||
	    p->l4 <= p->user || at + MATCH_SPI_BYTES > p->user_bytes)
		return false;
	*ret_spi = be32_get(user + at + (p->proto == IPPROTO_AH ? 4 : 0));
	return true;
}

static inline bool match_spi(const struct filter *f, const struct pkt *p, const uint8_t *user)
{
	uint32_t spi;

	return match_spi_get(p, user, &spi) && spi == f->spi;
}

static inline uint8_t match_tos(const struct pkt *p, const uint8_t *user)
{
	return p->family == 4 ? user[1] : (uint8_t)(be32_get(user) >> 20);
}

static inline uint32_t match_flow_label(const uint8_t *user)
{
	return be32_get(user) & 0xfffff;
}

// A later fragment. Of IPv6 ones only those of protocols whose first fragment is known by its L4 header: what
// cannot be told apart does not match.
static inline bool match_later_fragment(const struct pkt *p, const uint8_t *user)
{
	bool readable = p->proto == IPPROTO_TCP || p->proto == IPPROTO_UDP;

	if (p->family == 4)
		return (be16_get(user + 6) & 0x1fff) != 0;
	return readable && (p->flags & PKT_F_FRAGMENT) && (p->flags & PKT_F_NO_L4);
}

// False where the packet has no TCP header that holds them.
static inline bool match_tcp_flags_get(const struct pkt *p, const uint8_t *user, uint8_t *ret_flags)
{
	unsigned at = (unsigned)(p->l4 - p->user) + MATCH_TCP_FLAGS;

	if (p->proto != IPPROTO_TCP || (p->flags & PKT_F_NO_L4) || p->l4 <= p->user ||
	    at >= p->user_bytes)
		return false;
	*ret_flags = user[at];
	return true;
}

static inline bool match_tcp_setup(uint8_t flags)
{
	return (flags & (MATCH_TCP_SYN | MATCH_TCP_ACK)) == MATCH_TCP_SYN;
}

static inline bool match_tcp_established(uint8_t flags)
{
	return (flags & (MATCH_TCP_ACK | MATCH_TCP_RST)) != 0;
}

static inline bool match_tcp_flags(const struct filter *f, const struct pkt *p, const uint8_t *user)
{
	uint8_t flags;

	if (!match_tcp_flags_get(p, user, &flags))
		return false;
	return f->flags & FILTER_F_SETUP ? match_tcp_setup(flags) : match_tcp_established(flags);
}

// What few filters ask for.
static inline bool match_rare(const struct filter *f, const struct pkt *p, const uint8_t *user)
{
	if ((f->flags & FILTER_F_TOS) && (match_tos(p, user) & f->tos_mask) != f->tos)
		return false;
	if ((f->flags & FILTER_F_FLOW_LABEL) && match_flow_label(user) != f->flow_label)
		return false;
	if ((f->flags & FILTER_F_FRAG) && !match_later_fragment(p, user))
		return false;
	if ((f->flags & (FILTER_F_ESTABLISHED | FILTER_F_SETUP)) && !match_tcp_flags(f, p, user))
		return false;
	return !(f->flags & FILTER_F_SPI) || match_spi(f, p, user);
}

static inline bool filter_match(const struct filter *f, bool up, const struct pkt *p,
				const uint8_t *user)
{
	if ((f->flags & FILTER_F_PROTO) && f->proto != p->proto)
		return false;
	if (f->family != 0) {
		if (f->family != p->family)
			return false;
		if (!(f->family == 4 ? match_v4(f, up, user) : match_v6(f, up, user)))
			return false;
	}
	if ((f->flags & FILTER_F_PORTS) && !match_ports(f, up, p))
		return false;
	if (likely(!(f->flags & FILTER_F_RARE)))
		return true;
	return match_rare(f, p, user);
}

static inline bool pdr_filters_match(const struct ruleset *rs, const struct pdr *pdr, bool up,
				     const struct pkt *p, const uint8_t *user)
{
	const struct filter *f = ruleset_filter(rs, pdr->first_filter);

	for (unsigned i = 0; i < pdr->n_filters; i++) {
		if (filter_match(&f[i], up, p, user))
			return true;
	}
	return false;
}

// Whether the session may send an uplink packet with this source, as far as its block says.
static inline bool ruleset_source(const struct ruleset *rs, const struct pkt *p,
				  const uint8_t *user)
{
	const struct filter *f = ruleset_filter(rs, (unsigned)(rs->n_filters - rs->n_sources));

	for (unsigned i = 0; i < rs->n_sources; i++) {
		if (f[i].family == p->family &&
		    (p->family == 4 ? match_v4(&f[i], true, user) : match_v6(&f[i], true, user)))
			return true;
	}
	return false;
}

// The PDR of packet `p`, whose user IP header is at `user`, among those that are walked; NULL where none
// matches. The PDRs of a direction are all walked or all classified, so that whoever finds one here need not
// ask which.
static __rte_always_inline const struct pdr *ruleset_walk(const struct ruleset *rs, bool up,
							  const struct pkt *p, const uint8_t *user)
{
	const struct pdr *pdr = rs->pdrs + (up ? 0 : rs->n_up);
	const struct pdr *end = pdr + (up ? rs->n_up : rs->n_down);
	uint8_t family = p->family == 4 ? PDR_V4 : PDR_V6;
	uint64_t qfi = p->flags & PKT_F_PSC ? 1ull << (p->qfi & 63) : 0;

	for (; pdr < end; pdr++) {
		if (pdr->tunnel != p->tunnel || !(pdr->families & family))
			continue;
		if (pdr->qfis != UINT64_MAX && !(pdr->qfis & qfi))
			continue;
		if (pdr->n_filters == 0 || pdr_filters_match(rs, pdr, up, p, user))
			return pdr;
	}
	return NULL;
}

// Where ruleset_walk() finds none: the PDR among those that are classified.
static inline const struct pdr *ruleset_beyond_walk(const struct ruleset *rs, bool up,
						    const struct pkt *p, const uint8_t *user)
{
	if (!(rs->flags & (up ? RULESET_F_CLASSIFY_UP : RULESET_F_CLASSIFY_DOWN)))
		return NULL;
	return ruleset_classify(rs, up, p, user);
}

// Both.
static inline const struct pdr *ruleset_match(const struct ruleset *rs, bool up,
					      const struct pkt *p, const uint8_t *user)
{
	const struct pdr *pdr = ruleset_walk(rs, up, p, user);

	return pdr ? pdr : ruleset_beyond_walk(rs, up, p, user);
}
