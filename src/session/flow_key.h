// What tells one flow of a session from another: the key that packets of both directions lead to.
//
// Any thread, pure. The UE's side comes first, so that up and down give the same key without a comparison of
// addresses. The context is the session's slot: equal addresses of two sessions never meet. A key's kind follows
// from the key itself; all kinds, also those that lead to sessions, are rows of one table (key_kind.h).

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "base/strbuf.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "packet/pkt.h"

#define FLOW_CONTEXT_BITS 24

struct flow_key {
	union {
		struct {
			uint32_t where;                // context << 8 | protocol
			uint16_t ue_port, remote_port; // host order; see the kinds
			union {
				struct {
					rte_be32_t ue, remote;
				} v4; // the rest is 0
				struct {
					uint8_t ue[16], remote[16];
				} v6;
			};
		};
		uint64_t words[5];
	};
};
static_assert(sizeof(struct flow_key) == 40, "leaves 24 bytes of a flow's line");

static inline uint32_t flow_key_where(uint32_t context, uint8_t proto)
{
	return context << 8 | proto;
}

static inline uint32_t flow_key_context(const struct flow_key *key)
{
	return key->where >> 8;
}

static inline uint8_t flow_key_proto(const struct flow_key *key)
{
	return (uint8_t)key->where;
}

// The bytes of its remote address.
static inline uint8_t *flow_key_remote(struct flow_key *key, unsigned family)
{
	return family == 4 ? (uint8_t *)&key->v4.remote : key->v6.remote;
}

// Where a kind has no ports: 32 bits in their place.
static inline uint32_t flow_key_number(const struct flow_key *key)
{
	return (uint32_t)key->ue_port << 16 | key->remote_port;
}

static inline void flow_key_number_set(struct flow_key *key, uint32_t number)
{
	key->ue_port = (uint16_t)(number >> 16);
	key->remote_port = (uint16_t)number;
}

static inline bool flow_key_eq(const struct flow_key *a, const struct flow_key *b)
{
	uint64_t differ = 0;

	for (unsigned i = 0; i < sizeof(a->words) / sizeof(a->words[0]); i++)
		differ |= a->words[i] ^ b->words[i];
	return differ == 0;
}

// The addresses and what `where` has; ports 0. `user` is the user's IP header, which parse has checked.
static inline void flow_key_addresses(const struct pkt *p, const uint8_t *user, bool up,
				      uint32_t context, struct flow_key *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->where = flow_key_where(context, p->proto);
	if (likely(p->family == 4)) {
		const struct ip4_head *ip4 = (const struct ip4_head *)user;

		ret->v4.ue = up ? ip4->src : ip4->dst;
		ret->v4.remote = up ? ip4->dst : ip4->src;
	} else {
		const struct ip6_head *ip6 = (const struct ip6_head *)user;

		memcpy(ret->v6.ue, up ? ip6->src : ip6->dst, sizeof(ret->v6.ue));
		memcpy(ret->v6.remote, up ? ip6->dst : ip6->src, sizeof(ret->v6.remote));
	}
}

// Out of the ordinary: the ports of all but whole TCP and UDP packets, by the table of kinds. True: it is an error's,
// and is the key of another packet.
bool flow_key_rare(const struct pkt *p, const uint8_t *user, bool up, struct flow_key *key);

// The key of a packet, whatever it is. True: it is that of the packet that an ICMP error quotes.
static inline bool flow_key_of(const struct pkt *p, const uint8_t *user, bool up, uint32_t context,
			       struct flow_key *ret)
{
	flow_key_addresses(p, user, up, context, ret);
	if (unlikely(!l4_is_common(p->proto) || (p->flags & PKT_F_NO_L4)))
		return flow_key_rare(p, user, up, ret);
	ret->ue_port = up ? p->sport : p->dport;
	ret->remote_port = up ? p->dport : p->sport;
	return false;
}

// The kind of a key, by name.
const char *flow_key_kind(const struct flow_key *key);
// Both ends of a key for people: "10.45.0.1:5000", "[2001:db8::1]:443", "10.45.0.1 id 77", "10.45.0.1".
void flow_key_print(const struct flow_key *key, bool v6, struct strbuf *ue, struct strbuf *remote);
