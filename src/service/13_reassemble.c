// The row and the batch form of reassemble, and what a fragment goes through (13_reassemble.h).
//
// Workers run it; see service.h for what a service is.

#include "service/13_reassemble.h"

#define TCP_FIRST_BYTES                                                                            \
	18 // of TCP that a first fragment must have: its flags (RFC 3128), and the checksum of all

static datagram_fn *datagram_work; // written once, at start, before any worker runs

void reassemble_start(datagram_fn *work)
{
	datagram_work = work;
}

SERVICE_RUN(reassemble_run, reassemble_one)

const struct service service_reassemble = {
	.name = "reassemble",
	.bit = SERVICE_BIT_reassemble,
	.run = reassemble_run,
	.after = SERVICES("gtpu_decap", "source_check"),
	.before = SERVICES("flow", "pdr"),
	.help = "lets fragments wait for each other where rules or flows ask for ports",
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

static bool is_tiny(const struct pkt *first)
{
	return first->proto == IPPROTO_TCP &&
	       first->user + first->user_bytes < first->l4 + TCP_FIRST_BYTES;
}

static void all_drop(struct worker *w, struct rte_mbuf *list, enum drop why)
{
	struct rte_mbuf *m;

	while ((m = gather_next(&list))) {
		struct pkt p = {.mbuf = m};

		pkt_drop(w, &p, why);
	}
}

void reassemble_fragment(struct worker *w, struct pkt *p)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	uint64_t chain = p->chain;
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
	if (!list)
		return;
	worker_count(w, COUNTER_gathered, 1);
	if (is_tiny(pkt_private(list)))
		all_drop(w, list, DROP_reassembly_bad);
	else
		datagram_work(w, list, chain);
}
