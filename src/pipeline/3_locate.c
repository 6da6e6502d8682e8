// Locate, the parts that are not inlined (3_locate.h).
//
// Worker.

#include "pipeline/3_locate.h"

#include "worker/nat_packet.h"

struct session_ref locate_given(const struct worker *w, const struct pkt *p)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->outer);
	unsigned family = *ip >> 4;
	struct locator_teid_key key = locator_teid_key(p->teid, family,
						       ip_destination_at(ip, family));

	return locator_hashed(w->locator->teids, &key);
}

bool locate_outside(struct worker *w, struct lane *lane, struct pkt *p, const uint8_t *user)
{
	const struct nat_pool *pool = nat_pool_at(w, p->iface,
						  ((const struct ip4_head *)user)->dst);
	const struct session_ref *word;
	unsigned owner;

	if (!pool)
		return false;
	if (unlikely(p->flags & PKT_F_FRAGMENT)) {
		owner = nat_gather_owner(w, p);
		p->ref = (struct session_ref){0, 0};
		if (owner == w->id)
			nat_gather(w, p);
		else
			handoff_put(w, p, owner, false);
		return true;
	}
	word = nat_word(pool, p, user);
	if (!word) {
		key_missed(w, p, KEY_KIND_outside);
		pkt_drop(w, p, DROP_no_session);
		return true;
	}
	rte_prefetch0(word);
	lane->words[lane->n_keyed] = word;
	lane->keyed[lane->n_keyed++] = p;
	return true;
}

// The session whose framed route or short prefix the packet's destination lies in.
static struct session_ref locate_route(const struct worker *w, const struct pkt *p)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);

	return locator_shorter(w->locator, p->iface, p->family, ip_destination_at(user, p->family));
}

// Nobody has the destination, or nobody the port of an address outside.
__attribute__((cold, noinline)) static void drop_unknown(struct worker *w, struct pkt *p)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	bool outside = w->nat.pools && p->family == 4 &&
		       nat_pool_at(w, p->iface, ((const struct ip4_head *)user)->dst);

	key_missed(w, p, outside ? KEY_KIND_outside : KEY_KIND_ue);
	pkt_drop(w, p, DROP_no_session);
}

void locate_down(struct worker *w, struct lane *lane, unsigned to)
{
	for (; lane->located < to; lane->located++) {
		struct pkt *p = lane->keyed[lane->located];
		const struct session_ref *word = lane->words[lane->located];

		if (likely(word != NULL))
			p->ref = locator_word(word);
		if (unlikely(p->ref.check == 0))
			p->ref = locate_route(w, p);
		if (unlikely(p->ref.check == 0))
			drop_unknown(w, p);
		else if (likely(session_ref_owner(p->ref) == w->id))
			locate_ready(w, lane, p, false);
		else
			handoff_put(w, p, session_ref_owner(p->ref), false);
	}
}
