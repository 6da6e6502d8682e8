// The row and the batch form of reassemble, and what a fragment goes through (23_reassemble.h).
//
// Workers run it; see service.h for what a service is.

#include "service/23_reassemble.h"

#include "rules/match.h"
#include "worker/again.h"

#define TCP_FIRST_BYTES                                                                            \
	16 // of TCP that a first fragment must have, so that its flags are there (RFC 3128)

SERVICE_RUN(reassemble_run, reassemble_one)

const struct service service_reassemble = {
	.name = "reassemble",
	.bit = SERVICE_BIT_reassemble,
	.run = reassemble_run,
	.after = SERVICES("gtpu_decap", "source_check", "flow"),
	.before = SERVICES("pdr"),
	.help = "lets fragments wait for each other where rules ask for ports",
};

// A session is told from all others that its slot may have by the slot's version.
static struct gather_key key_of(const struct worker *w, const struct pkt *p, const uint8_t *user,
				const struct fragment *f)
{
	uint32_t slot = session_ref_index(p->ref);
	struct gather_key key = {
		.whose = slot << 1 | !(p->flags & PKT_F_UP),
		.version = w->table.cold[slot].version,
		.id = f->id,
		.family = p->family,
		.proto = p->family == 4
				 ? f->proto
				 : 0, // IPv6: only the first fragment's counts (RFC 8200 4.5)
		.tunnel = p->tunnel,
		.iface = p->iface,
	};

	gather_key_addrs(&key, user);
	return key;
}

// The PDR of a datagram by its first fragment, as if that were whole. NULL: it has none.
static const struct pdr *pdr_find(const struct worker *w, const struct pkt *first)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(first->mbuf, const uint8_t *, first->user);
	struct pkt whole = *first;

	whole.flags &= (uint8_t)~PKT_F_FRAGMENT;
	return ruleset_match(line_rules(w, first->line), first->flags & PKT_F_UP, &whole, user);
}

static bool is_tiny(const struct pkt *first)
{
	return first->proto == IPPROTO_TCP &&
	       first->user + first->user_bytes < first->l4 + TCP_FIRST_BYTES;
}

// All pieces, of the one way that the rest of their chain is.
static void go_on(struct worker *w, struct rte_mbuf *list, uint64_t chain)
{
	const struct pkt *first = pkt_private(list);
	const struct pdr *pdr = pdr_find(w, first);
	enum drop why = is_tiny(first) ? DROP_reassembly_bad : pdr ? DROP_NONE : DROP_no_pdr;
	struct rte_mbuf *m;

	worker_count(w, COUNTER_gathered, 1);
	while ((m = gather_next(&list))) {
		struct pkt p = *pkt_private(m);

		p.pdr = pdr;
		p.chain = chain;
		if (why)
			pkt_drop(w, &p, why);
		else
			again_post(w, &p);
	}
}

void reassemble_fragment(struct worker *w, struct pkt *p)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	uint64_t chain = p->chain & ~SERVICE_MASK(pdr);
	struct rte_mbuf *list;
	struct gather_key key;
	struct fragment f;

	if (p->flags & PKT_F_SPOOFED)
		return;
	if (!fragment_read(user, p->user_bytes, &f)) {
		pkt_drop(w, p, DROP_reassembly_bad);
		return;
	}
	key = key_of(w, p, user, &f);
	list = gather_add(w, &w->inner, &key, &f, p);
	if (list)
		go_on(w, list, chain);
}
