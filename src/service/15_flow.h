// Find the flow of a packet, or make it (session/flow.h).
//
// Runs on the owner, for sessions whose chain has a service for flows: others never come here. A look has three
// steps, so that the pipeline can do each for a group of packets while another's memory is on its way: the key and
// its bucket, the line of the flow, the look itself. Then the packet has its flow's chain, and the PDR that an
// earlier packet of the flow has found, if the session's rules are still the same ones.

#pragma once

#include "rules/match.h"
#include "service/service.h"
#include "worker/flows.h"

// A packet between two steps.
struct flow_wait {
	struct pkt *p;
	uint64_t hash;
	uint32_t entry; // most likely the flow's, 0: none
	bool v6;
	bool error; // the key is that of the packet that an ICMP error quotes
	struct flow_key key;
};
static_assert(sizeof(struct flow_wait) == 64, "one cache line");

// The flow of the packet's first key, made if it may be; 0: it may not, and the packet has ended, or goes on without.
uint32_t flow_make(struct worker *w, struct pkt *p, const struct flow_wait *wait)
	__attribute__((cold));
// The packet is an ICMP error, and `entry` is of the flow that it is about; 0: of none that is known.
void flow_error(struct worker *w, const struct flow_wait *wait, uint32_t entry)
	__attribute__((cold));
// The flow remembers nothing of the session's rules as they are now.
void flow_rules_take(struct worker *w, uint32_t number, const struct ruleset *rs)
	__attribute__((cold));

static inline void flow_ask(struct worker *w, struct pkt *p, struct flow_wait *wait)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);

	wait->p = p;
	wait->v6 = p->family == 6;
	wait->error = flow_key_of(p, user, p->flags & PKT_F_UP, session_ref_index(p->ref),
				  &wait->key);
	wait->hash = flow_hash(&w->flows.table, &wait->key);
	flow_prefetch(&w->flows.table, wait->v6, wait->hash);
}

static inline void flow_fetch(struct worker *w, struct flow_wait *wait)
{
	wait->entry = flow_prefetch_likely(&w->flows.table, wait->v6, wait->hash);
}

// Gives the packet its flow's chain, behind what it has before, and its PDR if that is known.
static inline void flow_take(struct worker *w, struct pkt *p, uint32_t number)
{
	struct flow *flow = &w->flows.table.flows[number];
	const struct ruleset *rs = line_rules(w, p->line);
	unsigned pdr;
	uint64_t stated;

	if (unlikely(flow->rules != ruleset_serial(rs)))
		flow_rules_take(w, number, rs);
	if (flow->flags & FLOW_F_NAT) // for nat_out
		rte_prefetch0(&w->flows.table.cold[number]);
	p->flow = number;
	p->chain = (p->chain & ~w->flows.services) | flow->chain;
	stated = flow->chain & w->flows.stated;
	if (stated) // the first of them, while other packets of the group are looked for
		flow_state_prefetch(&w->flows.states[__builtin_ctzll(stated)], number);
	pdr = flow->pdrs[!(p->flags & PKT_F_UP)];
	if (likely(pdr != FLOW_PDR_NONE && rs->pdrs[pdr].tunnel == p->tunnel &&
		   !(p->flags & PKT_F_SPOOFED))) {
		p->pdr = &rs->pdrs[pdr];
		p->chain &= ~SERVICE_MASK(pdr);
	} else {
		p->chain |= SERVICE_MASK(flow_pdr);
	}
}

static inline void flow_find(struct worker *w, const struct flow_wait *wait)
{
	const struct flow_table *table = &w->flows.table;
	uint32_t entry = wait->entry;

	if (unlikely(!entry || !flow_key_eq(flow_entry_key(table, entry), &wait->key)))
		entry = flow_lookup(table, &wait->key, wait->v6, wait->hash);
	if (unlikely(wait->error)) {
		flow_error(w, wait, entry);
		return;
	}
	if (likely(entry != 0))
		entry = flow_entry_number(entry);
	else
		entry = flow_make(w, wait->p, wait);
	if (likely(entry != 0))
		flow_take(w, wait->p, entry);
}
