// Locate: from a parsed packet's key to its session's line, or to the ring of the worker that owns it.
//
// Inline, called by parse for each packet. An uplink packet's TEID says where its line is, without any
// memory being read; a downlink packet's UE address is looked up in a dense array whose word is fetched
// while other packets are parsed. TEIDs that an SMF chose and UE addresses outside the pools take a hash, and
// routes, where there are any, are looked through only for an address that has no entry.

#pragma once

#include "pipeline/4_handoff.h"
#include "pipeline/pipeline.h"
#include "session/locator_lookup.h"
#include "worker/gtpu_answer.h"

// References of an up line or tunnel record, and of a down line, differ in what they index.
#define REF_TUNNELS(w) ((w)->table.n_slots + (w)->table.n_tunnels)

// The packet is at its owner: ask for what stands at its reference.
static inline void locate_ready(struct worker *w, struct lane *lane, struct pkt *p, bool up)
{
	uint32_t index = session_ref_index(p->ref);

	if (up && unlikely(index >= w->table.n_slots)) {
		p->line = NULL; // a tunnel record: dispatch_up finds the line
		rte_prefetch0(&w->table.tunnels[index - w->table.n_slots]);
	} else {
		p->line = up ? &w->table.up[index] : &w->table.down[index];
		rte_prefetch0(p->line);
	}
	lane->ready[lane->n_ready++] = p;
}

// Looks into a hash of `n` entries, which the control thread counts: most are empty.
static inline struct session_ref locate_hashed(const struct rte_hash *hash, const uint32_t *n,
					       const void *key)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED) ? locator_hashed(hash, key)
						    : (struct session_ref){0, 0};
}

// The TEID that an SMF chose, if this is one.
struct session_ref locate_given(const struct worker *w, const struct pkt *p);

// By a tunnel: to its owner's up lane, whatever the tunnel's direction is.
static inline void locate_tunnel(struct worker *w, struct turn *t, struct pkt *p)
{
	struct teid_parts at = teid_open(&w->teids, p->teid);

	p->ref = session_ref_make(at.owner, at.index, p->teid);
	if (unlikely(__atomic_load_n(&w->locator->n_teids, __ATOMIC_RELAXED) != 0)) {
		struct session_ref given = locate_given(w, p);

		if (given.check) {
			p->ref = given;
			at.owner = session_ref_owner(given);
			at.index = session_ref_index(given);
		}
	}
	if (unlikely(at.owner >= w->n_workers || at.index >= REF_TUNNELS(w) || p->teid == 0))
		gtpu_drop_unknown(w, p, DROP_unknown_teid);
	else if (likely(at.owner == w->id))
		locate_ready(w, &t->up, p, true);
	else
		handoff_put(w, p, at.owner, true);
}

static inline void locate_up(struct worker *w, struct turn *t, struct pkt *p)
{
	p->flags |= PKT_F_TUNNELLED | PKT_F_UP;
	locate_tunnel(w, t, p);
}

// Whether the packet is to an address outside of UEs behind NAT: then it is queued as locate_key() does, or has ended,
// or waits for other fragments.
bool locate_outside(struct worker *w, struct lane *lane, struct pkt *p, const uint8_t *user);

// Finds the word for the UE address, or in a hash the reference itself, and queues the packet for
// locate_down.
static inline void locate_key(struct worker *w, struct turn *t, struct pkt *p)
{
	const struct locator_iface *li = &w->locator->iface[p->iface];
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	const struct session_ref *word;
	struct lane *lane = &t->down;

	if (p->family == 4) {
		rte_be32_t dst = ((const struct ip4_head *)user)->dst;

		word = locator_dense(li->v4, li->n_v4, rte_be_to_cpu_32(dst));
		if (unlikely(!word)) {
			struct locator_v4_key key = {dst, p->iface};

			if (w->nat.pools && locate_outside(w, lane, p, user))
				return;
			p->ref = locate_hashed(w->locator->ue_v4, &w->locator->n_ue_v4, &key);
		}
	} else {
		const uint8_t *dst = ((const struct ip6_head *)user)->dst;

		p->ref = (struct session_ref){0, 0};
		if (unlikely(__atomic_load_n(&li->longer_v6, __ATOMIC_RELAXED)))
			p->ref = locator_longer(w->locator, p->iface, dst);
		word = p->ref.check ? NULL
				    : locator_dense(li->v6, li->n_v6, locator_dense_key_v6(dst));
		if (unlikely(!word && !p->ref.check)) {
			struct locator_v6_key key = {.iface = p->iface};

			memcpy(&key.prefix, dst, sizeof(key.prefix));
			p->ref = locate_hashed(w->locator->ue_v6, &w->locator->n_ue_v6, &key);
		}
	}
	if (likely(word != NULL))
		rte_prefetch0(word);
	lane->words[lane->n_keyed] = word;
	lane->keyed[lane->n_keyed++] = p;
}
