// ARP and neighbour discovery: questions, answers, and what is learnt from them (RFC 826, RFC 4861).
//
// Control thread. Link addresses are learnt only for neighbours that Sluice wants to know; what strangers
// say makes no entry.

#include "neigh/hop.h"

#include "packet/arp.h"
#include "packet/nd.h"
#include "packet/parse.h"

// Sends `bytes` of a frame of our own through a worker.
static void send_frame(struct neigh *n, unsigned worker, unsigned iface, const uint8_t *frame,
		       uint32_t bytes)
{
	struct rte_mbuf *mbuf = n->conf.io.mbuf_new(n->conf.io.ctx);

	if (!mbuf)
		return;
	memcpy(rte_pktmbuf_mtod(mbuf, void *), frame, bytes);
	mbuf->data_len = (uint16_t)bytes;
	mbuf->pkt_len = bytes;
	n->conf.stats->counter[COUNTER_made]++;
	if (n->conf.io.inject(n->conf.io.ctx, worker, mbuf, iface) != 0)
		control_drop(n, mbuf, DROP_inject_full);
	else
		n->conf.stats->counter[COUNTER_injected]++;
}

// Our address to ask from: one in the same subnet, else any of the family.
static const struct addr *own_addr(const struct neigh_iface *iface, const struct addr *for_addr)
{
	const struct addr *any = NULL;

	for (unsigned i = 0; i < iface->n_addrs; i++) {
		if (iface->addrs[i].addr.family != for_addr->family)
			continue;
		if (prefix_contains(&iface->addrs[i], for_addr))
			return &iface->addrs[i].addr;
		any = &iface->addrs[i].addr;
	}
	return any;
}

static bool is_own(const struct neigh_iface *iface, const struct addr *addr)
{
	for (unsigned i = 0; i < iface->n_addrs; i++)
		if (addr_eq(&iface->addrs[i].addr, addr))
			return true;
	return false;
}

void resolve_ask(struct neigh *n, struct hop *hop)
{
	const struct neigh_iface *iface = &n->conf.ifaces[hop->iface];
	const struct addr *from = own_addr(iface, &hop->addr);
	uint8_t frame[RTE_MAX(ARP_FRAME_BYTES, ND_FRAME_BYTES)];
	bool known = hop->state == HOP_KNOWN && !hop->doubted && hop->tries <= 1;
	uint32_t bytes;

	if (!from)
		return; // no address of this family to ask from: it will fail, and be dropped by name
	if (hop->addr.family == ADDR_V4) {
		bytes = arp_request_build(frame, iface->vlan, iface->mac, from->v4, hop->addr.v4);
		if (known)
			memcpy(frame, hop->mac,
			       ETH_MAC_BYTES); // a known one is asked alone at first
	} else {
		bytes = nd_solicit_build(frame, iface->vlan, iface->mac, from->v6, hop->addr.v6,
					 known ? hop->mac : NULL);
	}
	send_frame(n, 0, hop->iface, frame, bytes);
}

static void learn(struct neigh *n, unsigned iface, const struct addr *addr, const uint8_t *mac)
{
	struct hop *hop = hop_lookup(n, iface, addr);

	if (hop && !eth_to_many(mac))
		hop_learn(n, hop, mac);
}

static void arp_read(struct neigh *n, unsigned worker, unsigned at, const struct arp_head *arp,
		     bool reply)
{
	const struct neigh_iface *iface = &n->conf.ifaces[at];
	struct addr sender = addr_v4(arp->sender);
	struct addr target = addr_v4(arp->target);
	uint8_t frame[ARP_FRAME_BYTES];

	if (is_own(iface, &sender))
		return; // somebody else says that he has our address, or our own frame came back
	learn(n, at, &sender, arp->sender_mac);
	if (reply && arp->op == RTE_BE16(ARP_REQUEST) && is_own(iface, &target))
		send_frame(n, worker, at, frame,
			   arp_reply_build(frame, iface->vlan, iface->mac, arp->target,
					   arp->sender_mac, arp->sender));
}

// `from` is the link address that the message came from: who asks without saying his own (RFC 4861 4.3 allows
// it where it is known already) is answered there.
static void nd_read(struct neigh *n, unsigned worker, unsigned at, const struct nd_message *nd,
		    const uint8_t from[ETH_MAC_BYTES], bool reply)
{
	const struct neigh_iface *iface = &n->conf.ifaces[at];
	struct addr src = addr_v6(nd->src);
	struct addr target = addr_v6(nd->target);
	uint8_t frame[ND_FRAME_BYTES];

	if (nd->advert) {
		if (nd->has_mac && !is_own(iface, &target))
			learn(n, at, &target, nd->mac);
		return;
	}
	if (nd->has_mac)
		learn(n, at, &src, nd->mac);
	if (!reply || !is_own(iface, &target))
		return;
	// Without a source address the neighbour asks whether the address is taken: all are told (RFC 4861
	// 7.2.4).
	bool alone = !addr_is_unspecified(&src);
	const uint8_t *to_mac = nd->has_mac ? nd->mac : from;

	send_frame(n, worker, at, frame,
		   nd_advert_build(frame, iface->vlan, iface->mac, nd->target,
				   alone ? to_mac : NULL, alone ? nd->src : NULL));
}

static void consume(struct neigh *n, struct rte_mbuf *mbuf)
{
	n->conf.stats->counter[COUNTER_consumed]++;
	rte_pktmbuf_free(mbuf);
}

static const struct pkt *pkt_of(struct rte_mbuf *mbuf)
{
	return rte_mbuf_to_priv(mbuf);
}

void neigh_arp(struct neigh *n, unsigned worker, struct rte_mbuf *mbuf)
{
	const struct pkt *p = pkt_of(mbuf);

	arp_read(n, worker, p->iface,
		 rte_pktmbuf_mtod_offset(mbuf, const struct arp_head *, p->outer), true);
	consume(n, mbuf);
}

void neigh_nd(struct neigh *n, unsigned worker, struct rte_mbuf *mbuf)
{
	const struct pkt *p = pkt_of(mbuf);
	struct nd_message nd;

	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	if (nd_decode(frame, p, &nd) == 0)
		nd_read(n, worker, p->iface, &nd, frame + ETH_MAC_BYTES, true);
	consume(n, mbuf);
}

void neigh_learn_frame(struct neigh *n, unsigned iface, const uint8_t *frame, uint16_t bytes)
{
	struct parse_conf conf = {.iface = (uint8_t)iface,
				  .vlan_tci_id = n->conf.ifaces[iface].vlan};
	struct nd_message nd;
	struct pkt p;

	for (unsigned i = 0; i < n->conf.ifaces[iface].n_addrs; i++)
		parse_local_add(&conf, &n->conf.ifaces[iface].addrs[i].addr, false);
	if (parse(&conf, frame, bytes, &p) == PKT_ARP)
		arp_read(n, 0, iface, (const struct arp_head *)(frame + p.outer), false);
	else if (p.kind == PKT_ND && nd_decode(frame, &p, &nd) == 0)
		nd_read(n, 0, iface, &nd, frame + ETH_MAC_BYTES, false);
}
