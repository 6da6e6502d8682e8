// The rarer ways in which packets leave (leave.h): from UE to UE, in pieces, UDP tunnels towards N6, forwarding policies and marks
// (TS 29.244 8.2.12, 8.2.23, 8.2.56; TS 23.501 5.8.2.7), tunnels over IPv6.
//
// Workers.

#include "service/leave.h"

#include "packet/fragment.h"
#include "worker/again.h"
#include "worker/icmp_tell.h"
#include "worker/nat_packet.h"
#include "worker/too_big.h"
#include "worker/user_count.h"

// --- from UE to UE ---------------------------------------------------------------------------------------

// As if it had left by the interface and come back: one hop, counted for its sender, and known by nothing but its
// destination from now on.
static void turned(struct worker *w, struct pkt *p, const struct far *far)
{
	user_count(w, p);
	worker_count(w, COUNTER_hairpin, 1);
	p->iface = far->iface;
	p->qfi = PKT_QFI_NONE;
	p->flags = (uint8_t)(PKT_F_ROUTED | (p->flags & (PKT_F_FRAGMENT | PKT_F_NO_L4)));
	p->chain = 0;
}

static void to_ue(struct worker *w, struct pkt *p, const struct far *far, struct session_ref to)
{
	turned(w, p, far);
	p->ref = to;
	again_post(w, p);
}

// To an address outside of UEs behind NAT, maybe of the sender itself, whose own address it has no more (RFC 4787 6).
static void to_outside(struct worker *w, struct pkt *p, const struct far *far,
		       const struct nat_pool *pool)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	const struct session_ref *word = nat_word(pool, p, user);
	struct session_ref to = word ? locator_word(word) : (struct session_ref){0, 0};

	if (far->flags & FAR_F_UE_DROP) {
		pkt_drop(w, p, DROP_ue_to_ue);
	} else if (p->flags & PKT_F_FRAGMENT) {
		turned(w, p, far);
		nat_gather(w, p);
	} else if (to.check) {
		to_ue(w, p, far, to);
	} else {
		pkt_drop(w, p, DROP_no_session);
	}
}

bool leave_to_ue(struct worker *w, struct pkt *p, const struct far *far, const uint8_t *dst)
{
	struct session_ref to = locator_find(w->locator, far->iface, p->family, dst);
	const struct nat_pool *pool = NULL;

	if (!to.check && p->family == 4 && w->nat.pools)
		pool = nat_pool_at(w, far->iface, word32_get(dst));
	if (pool) {
		to_outside(w, p, far, pool);
		return true;
	}
	if (!to.check || route_own(w->routes, p->family, dst))
		return false;
	if (far->flags & FAR_F_UE_DROP)
		pkt_drop(w, p, DROP_ue_to_ue);
	else if (p->flags & PKT_F_SPOOFED)
		pkt_drop(w, p, DROP_spoofed_source);
	else if (to.where == p->ref.where)
		pkt_drop(w, p, DROP_ue_to_itself);
	else
		to_ue(w, p, far, to);
	return true;
}

// --- too long --------------------------------------------------------------------------------------------

// A duplicate, which goes where the FARs behind the packet's own say: nobody waits for it.
static bool is_copy(const struct worker *w, const struct pkt *p, const struct far *far)
{
	return far != ruleset_far(line_rules(w, p->line), p->pdr->far);
}

void leave_no_peer(struct worker *w, struct pkt *p, const struct far *far)
{
	uint32_t mtu = w->parse[far->iface].mtu;

	if (p->peer != ROUTE_ASK) {
		pkt_drop(w, p, p->peer == ROUTE_OWN ? DROP_own_address : DROP_no_route);
	} else if (p->user_bytes > mtu && !is_copy(w, p, far)) {
		too_big_plain(w, p, far->iface, mtu, SERVICE_FROM(p->chain, far));
	} else {
		p->iface = far->iface;
		punt_post(w, p, PUNT_WAIT_HOP);
	}
}

// The far end puts it together. An IPv6 packet that every link must take leaves this way where the tunnel's headers
// leave too little of the MTU (RFC 2473 7.1).
static void cut_outside(struct worker *w, struct pkt *p, const struct peer *peer,
			const struct far *far)
{
	if (peer->kind == PEER_GTPU_V6)
		leave_gtpu_write(p, peer, far, p->pdr, true);
	else
		leave_gtpu_write(p, peer, far, p->pdr, false);
	too_big_cut_frame(w, p);
}

void leave_too_big(struct worker *w, struct pkt *p, const struct peer *peer, const struct far *far,
		   unsigned head)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	uint32_t mtu = peer->mtu - head;

	if (p->family == 6 && peer_is_gtpu(peer))
		mtu = RTE_MAX(mtu, TOO_BIG_IP6_MTU);
	if (is_copy(w, p, far))
		pkt_drop(w, p, DROP_too_big);
	else if (p->family == 4 ? !fragment_allowed(user) : p->user_bytes > mtu)
		icmp_drop_too_big(w, p, p->flags & PKT_F_UP ? peer->iface : p->iface, mtu);
	else if (peer_is_gtpu(peer) && (p->family == 6 || w->fragment_outer))
		cut_outside(w, p, peer, far);
	else
		too_big_cut(w, p, mtu, SERVICE_FROM(p->chain, gtpu_encap));
}

// --- towards the network ---------------------------------------------------------------------------------

// The user's own header is marked where no other is put on; its ECN bits stay.
static void mark(uint8_t *user, unsigned family, uint8_t dscp)
{
	struct ip4_head *ip4 = (struct ip4_head *)user;
	rte_be16_t was = word16_get(user);

	if (family == 4) {
		user[1] = (uint8_t)(dscp << 2 | (user[1] & 3));
		ip4->cksum = cksum_update16(ip4->cksum, was, word16_get(user));
	} else {
		user[0] = (uint8_t)(0x60 | dscp >> 2);
		user[1] = (uint8_t)(dscp << 6 | (user[1] & 0x3f));
	}
}

// To the neighbour that the policy names for the family, or as its network's routes say. What no router forwards, and
// what is for the UPF itself, leaves neither way.
static void leave_by_policy(struct worker *w, struct pkt *p, const struct far *far,
			    const uint8_t *user)
{
	const struct route_policy *policy = &w->routes->policies[far->place - 1];
	uint16_t hop = p->family == 4 ? policy->hop_v4 : policy->hop_v6;

	if (hop == PEER_NONE || !leave_routable(user, p->family)) {
		leave_by_route(w, p, far, user);
		return;
	}
	if (leave_met_ue(w, p, far, user))
		return;
	p->peer = hop;
	if (route_own(w->routes, p->family, ip_destination_at(user, p->family)))
		pkt_drop(w, p, DROP_own_address);
}

void leave_otherwise(struct worker *w, struct pkt *p, const struct far *far, uint8_t *user)
{
	switch ((enum far_to)far->to) {
	case FAR_TO_UDP:
		leave_by_tunnel(w, p, far);
		return;
	case FAR_TO_STEERED:
		if (far->dscp != FAR_DSCP_COPY)
			mark(user, p->family, far->dscp);
		if (far->place)
			leave_by_policy(w, p, far, user);
		else
			leave_by_route(w, p, far, user);
		return;
	default:
		pkt_drop(w, p, DROP_far_none);
	}
}

// The header ends where the user packet starts.
static void udp_headers(struct worker *w, struct pkt *p, const struct peer *peer,
			const struct far *far)
{
	uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, uint8_t *, p->user);
	unsigned outer_bytes = peer_ip_bytes(peer) + UDP_BYTES;
	uint8_t *ip = user - outer_bytes;
	uint8_t tos = leave_tos(far, user, p->family);

	if (user - (uint8_t *)p->mbuf->buf_addr < PEER_HEADER_BYTES) {
		pkt_drop(w, p, DROP_no_headroom);
		return;
	}
	if (p->user_bytes + outer_bytes > peer->mtu) {
		leave_too_big(w, p, peer, far, outer_bytes);
		return;
	}
	memcpy(user - PEER_HEADER_BYTES, peer_header(peer, PEER_HEADER_BYTES), PEER_HEADER_BYTES);
	if (peer->kind == PEER_UDP_V6)
		peer_patch_udp6(ip, peer, tos, p->user_bytes);
	else
		peer_patch_udp(ip, peer, tos, p->user_bytes);
	leave_frame(p->mbuf, peer, ip, outer_bytes + p->user_bytes);
}

void leave_rare_headers(struct worker *w, struct pkt *p, const struct peer *peer,
			const struct far *far, const struct pdr *pdr)
{
	if (peer->kind == PEER_GTPU_V6)
		leave_gtpu(w, p, peer, far, pdr, true);
	else
		udp_headers(w, p, peer, far);
}
