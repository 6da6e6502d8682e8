// ICMP errors towards senders (icmp_tell.h).
//
// Worker.

#include "worker/icmp_tell.h"

#include "packet/icmp.h"
#include "worker/again.h"
#include "worker/nat_packet.h"
#include "worker/peer_out.h"

// What is told, in both families.
struct telling {
	enum drop reason;
	enum counter counter;
	uint8_t type4, code4, type6;
	uint32_t word;
};

// Our address of the interface that others can answer to; NULL: none of this family.
static const uint8_t *own_address(const struct worker *w, unsigned iface, unsigned family)
{
	const struct parse_conf *conf = &w->parse[iface];

	for (unsigned i = 0; i < conf->n_local; i++) {
		const struct local_addr *local = &conf->local[i];

		if (local->family != family)
			continue;
		if (family == 4)
			return (const uint8_t *)&local->v4;
		if (!ip6_is_link_local(local->v6))
			return local->v6;
	}
	return NULL;
}

static bool may_tell(const struct worker *w, const struct pkt *p)
{
	const uint8_t *frame = rte_pktmbuf_mtod(p->mbuf, const uint8_t *);
	bool relayed_down = (p->flags & PKT_F_TUNNELLED) && !(p->flags & PKT_F_UP);

	return !relayed_down && !(p->flags & PKT_F_SPOOFED) && icmp_error_allowed(frame, p) &&
	       frame + p->user - (const uint8_t *)p->mbuf->buf_addr >= ICMP_ERROR_HEAD_MAX;
}

// The down line of the UE that sent the packet; {0, 0}: the sender is no UE.
static struct session_ref sender_find(const struct worker *w, const struct pkt *p,
				      const uint8_t *user)
{
	uint32_t slot = session_ref_index(p->ref);

	if (p->flags & PKT_F_UP)
		return session_ref_make(w->id, slot, w->table.cold[slot].version);
	return locator_find(w->locator, p->iface, p->family, ip_source_at(user, p->family));
}

// Turns the packet into the one that tells of it, at the start of its buffer's usual room.
static void turn(struct pkt *p, const struct icmp_error *error)
{
	struct rte_mbuf *m = p->mbuf;
	uint8_t *user = rte_pktmbuf_mtod_offset(m, uint8_t *, p->user);
	uint32_t head, bytes = icmp_error_build(user, error, p, &head);

	m->data_off = RTE_PKTMBUF_HEADROOM;
	memmove(rte_pktmbuf_mtod(m, void *), user - head, bytes);
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	*p = (struct pkt){
		.mbuf = m,
		.ref = p->ref,
		.kind = PKT_PLAIN,
		.family = p->family,
		.proto = p->family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6,
		.flags = PKT_F_ROUTED,
		.l4 = (uint16_t)(head - ICMP_BYTES),
		.user_bytes = (uint16_t)bytes,
		.dport = (uint16_t)(error->type << 8 | error->code),
		.qfi = PKT_QFI_NONE,
	};
}

static void send_plain(struct worker *w, struct pkt *p)
{
	const uint8_t *ip = rte_pktmbuf_mtod(p->mbuf, const uint8_t *);
	const struct peer *peer;

	p->peer = route_lookup(w->routes, p->iface, p->family, ip_destination_at(ip, p->family));
	if (p->peer == ROUTE_ASK) {
		punt_post(w, p, PUNT_WAIT_HOP);
		return;
	}
	if (p->peer == ROUTE_OWN || p->peer == PEER_NONE) {
		pkt_drop(w, p, p->peer == ROUTE_OWN ? DROP_own_address : DROP_no_route);
		return;
	}
	peer = &w->peers[p->peer];
	if (peer_link(w, p, peer))
		peer_out(w, p, peer);
}

static void drop_and_tell(struct worker *w, struct pkt *p, unsigned iface,
			  const struct telling *telling)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	struct icmp_error error = {
		.type = p->family == 4 ? telling->type4 : telling->type6,
		.code = p->family == 4 ? telling->code4 : 0,
		.word = telling->word,
		.src = own_address(w, iface, p->family),
	};
	struct session_ref sender;

	if (!error.src || !may_tell(w, p)) {
		pkt_drop(w, p, telling->reason);
		return;
	}
	if (!limit_pass(&w->icmp_limit, w->now)) {
		worker_count(w, COUNTER_icmp_unsent, 1);
		pkt_drop(w, p, telling->reason);
		return;
	}
	w->stats.drop[telling->reason]++;
	worker_count(w, COUNTER_made, 1);
	worker_count(w, telling->counter, 1);
	nat_undo(w, p);
	sender = sender_find(w, p, user);
	turn(p, &error);
	p->iface = (uint8_t)iface;
	p->ref = sender;
	if (sender.check)
		again_post(w, p);
	else
		send_plain(w, p);
}

void icmp_drop_too_big(struct worker *w, struct pkt *p, unsigned iface, uint32_t mtu)
{
	const struct telling telling = {.reason = DROP_too_big,
					.counter = COUNTER_icmp_too_big_sent,
					.type4 = ICMP4_TYPE_UNREACHABLE,
					.code4 = ICMP4_FRAGMENT_NEEDED,
					.type6 = ICMP6_TYPE_TOO_BIG,
					.word = mtu};

	drop_and_tell(w, p, iface, &telling);
}

void icmp_drop_ttl(struct worker *w, struct pkt *p, unsigned iface)
{
	static const struct telling telling = {.reason = DROP_ttl_expired,
					       .counter = COUNTER_icmp_ttl_sent,
					       .type4 = ICMP4_TYPE_TIME_EXCEEDED,
					       .type6 = ICMP6_TYPE_TIME_EXCEEDED};

	drop_and_tell(w, p, iface, &telling);
}
