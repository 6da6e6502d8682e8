// See nat_packet.h.
//
// Worker. All of it is off the ordinary packet's way.

#include "worker/nat_packet.h"

#include <rte_hash_crc.h>

#include "packet/icmp.h"
#include "session/locator_lookup.h"
#include "worker/again.h"

// --- where to --------------------------------------------------------------------------------------------

const struct nat_pool *nat_pool_at(const struct worker *w, unsigned iface, rte_be32_t addr)
{
	for (uint32_t i = 0; w->nat.pools && i < w->nat.pools->n; i++) {
		const struct nat_pool *pool = &w->nat.pools->pools[i];

		if (pool->iface == iface && nat_pool_has(pool, addr))
			return pool;
	}
	return NULL;
}

const struct session_ref *nat_word(const struct nat_pool *pool, const struct pkt *p,
				   const uint8_t *user)
{
	struct flow_key key;

	flow_key_of(p, user, false, 0, &key);
	if (!nat_serves(flow_key_proto(&key)) || !(key.ue_port | key.remote_port))
		return NULL;
	return nat_pool_word(pool, ((const struct ip4_head *)user)->dst, key.ue_port);
}

// --- fragments -------------------------------------------------------------------------------------------

static const uint8_t *user_of(const struct pkt *p)
{
	return rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
}

static bool key_of(const struct worker *w, const struct pkt *p, struct gather_key *ret,
		   struct fragment *ret_fragment)
{
	const uint8_t *user = user_of(p);

	*ret = (struct gather_key){.family = p->family, .iface = p->iface};
	gather_key_addrs(ret, user);
	ret->whose = rte_hash_crc(ret->src, sizeof(ret->src), w->gather_seed);
	if (!fragment_read(user, p->user_bytes, ret_fragment))
		return false;
	ret->id = ret_fragment->id;
	ret->proto = ret_fragment->proto;
	return true;
}

unsigned nat_gather_owner(const struct worker *w, const struct pkt *p)
{
	struct fragment f;
	struct gather_key key;

	return key_of(w, p, &key, &f) ? (key.whose ^ key.id) % w->n_workers : w->id;
}

void nat_gather(struct worker *w, struct pkt *p)
{
	const struct nat_pool *pool;
	const struct session_ref *word;
	struct session_ref ref = {0, 0};
	struct rte_mbuf *list, *m;
	struct gather_key key;
	struct fragment f;

	if (!key_of(w, p, &key, &f)) {
		pkt_drop(w, p, DROP_reassembly_bad);
		return;
	}
	if (w->outer.limits.datagrams == 0) {
		pkt_drop(w, p, DROP_no_session);
		return;
	}
	list = gather_add(w, &w->outer, &key, &f, p);
	if (!list)
		return;
	p = pkt_private(list);
	pool = nat_pool_at(w, p->iface, ((const struct ip4_head *)user_of(p))->dst);
	word = pool ? nat_word(pool, p, user_of(p)) : NULL;
	if (word)
		ref = locator_word(word);
	while ((m = gather_next(&list))) {
		struct pkt piece = *pkt_private(m);

		piece.ref = ref;
		piece.chain = 0;
		if (ref.check)
			again_post(w, &piece);
		else
			pkt_drop(w, &piece, DROP_no_session);
	}
}

// --- translation -----------------------------------------------------------------------------------------

bool nat_rewrite(struct worker *w, struct pkt *p, enum translate_side side, rte_be32_t addr,
		 uint16_t port)
{
	uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, uint8_t *, p->user);
	struct translation to = {.port = port, .with_port = true};
	struct pkt quoted;

	memcpy(to.addr, &addr, sizeof(addr));
	if (icmp_is_error(p) && icmp_quote_read(user, p, &quoted))
		translate_error(user, p, &quoted, side, &to);
	// An error of a router behind the UE leaves with the UE's address outside, too (RFC 5508 REQ-5).
	if (translate_packet(user, p, side, &to))
		return true;
	pkt_drop(w, p, DROP_reassembly_bad);
	return false;
}

void nat_undo(const struct worker *w, struct pkt *p)
{
	uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, uint8_t *, p->user);
	const struct flow_table *table = &w->flows.table;
	struct translation to = {.with_port = true};
	const struct flow_key *second;
	struct flow_key key;
	uint32_t number;

	if (!w->nat.pools || p->family != 4 || (p->flags & PKT_F_UP))
		return;
	flow_key_of(p, user, false, session_ref_index(p->ref), &key);
	number = flow_lookup(table, &key, false, flow_hash(table, &key));
	if (number == 0 || number & FLOW_ENTRY_SECOND || !(table->flows[number].flags & FLOW_F_NAT))
		return;
	second = &table->cold[number].second;
	memcpy(to.addr, &second->v4.ue, sizeof(second->v4.ue));
	to.port = second->ue_port;
	translate_packet(user, p, TRANSLATE_DESTINATION, &to);
}
