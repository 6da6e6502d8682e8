// Peers: indices, headers, and who leaves through which hop (hop.h, session/peer.h).
//
// Control thread. An index is given out again only when every worker has forgotten its last use.

#include "neigh/hop.h"

#include <errno.h>

#include "base/clock.h"
#include "packet/cksum.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"

static void peer_publish(struct neigh *n, uint16_t index)
{
	struct peer_book *book = &n->peers[index];

	book->unsaid = n->conf.io.peer_set(n->conf.io.ctx, index, &book->peer) != 0;
	book->telling += !book->unsaid;
}

void peers_tick(struct neigh *n)
{
	for (uint16_t i = 1; i < n->conf.n_peers; i++)
		if (n->peers[i].unsaid)
			peer_publish(n, i);
}

// Our address that tunnels to `to` leave from: one in its subnet, else the first of its family that is good
// beyond the link. NULL: none.
static const struct addr *tunnel_source(const struct neigh_iface *iface, const struct addr *to)
{
	const struct addr *first = NULL;

	for (unsigned i = 0; i < iface->n_addrs; i++) {
		const struct addr *own = &iface->addrs[i].addr;

		if (own->family != to->family)
			continue;
		if (prefix_contains(&iface->addrs[i], to))
			return own;
		if (!first && !addr_is_link_local(own))
			first = own;
	}
	return first;
}

// IP and UDP of a tunnel, and GTP-U, without what the encapsulation patches in; and the sum of what stays.
static void tunnel_write(uint8_t *ip, const struct addr *from, struct peer_book *book)
{
	struct udp_head *udp = (struct udp_head *)(ip + peer_ip_bytes(&book->peer));
	struct ip4_head *ip4 = (struct ip4_head *)ip;
	struct ip6_head *ip6 = (struct ip6_head *)ip;
	rte_be16_t port = rte_cpu_to_be_16(book->port ? book->port : GTPU_PORT);
	uint64_t sum;

	*udp = (struct udp_head){.sport = port, .dport = port};
	if (book->addr.family == ADDR_V4) {
		ip4_write(ip4, from->v4, book->addr.v4, IPPROTO_UDP, 0);
		ip4->total = 0;
		ip4->cksum = 0;
		sum = cksum_bytes(ip4, IP4_BYTES);
	} else {
		ip6_write(ip6, from->v6, book->addr.v6, IPPROTO_UDP, IP_OUR_TTL, 0);
		sum = cksum_pseudo6(ip6->src, ip6->dst, IPPROTO_UDP, 0) +
		      cksum_bytes(udp, UDP_BYTES);
	}
	book->peer.ip_sum = cksum_fold(sum);
	if (peer_is_gtpu(&book->peer))
		gtpu_gpdu_write((uint8_t *)(udp + 1), 0, 0, 0, false);
}

// The header that a peer's packets leave with, right-aligned (session/peer.h).
static void peer_write(const struct neigh *n, struct peer_book *book)
{
	const struct hop *hop = book->hop;
	struct peer *peer = &book->peer;
	const struct neigh_iface *iface = &n->conf.ifaces[hop->iface];
	uint8_t *end = peer->header + PEER_HEADER_BYTES;
	unsigned type = hop->addr.family == ADDR_V4 ? ETH_TYPE_IP4 : ETH_TYPE_IP6;
	uint8_t *udp = end - UDP_BYTES - (peer_is_gtpu(peer) ? GTPU_BYTES + PEER_PSC_BYTES : 0);
	uint8_t *ip = udp - peer_ip_bytes(peer);

	peer->state = hop->state == HOP_KNOWN ? PEER_READY : PEER_WAIT;
	peer->iface = hop->iface;
	peer->mtu = iface->mtu;
	peer->eth_bytes = (uint8_t)(ETH_BYTES + (iface->vlan ? ETH_TAG_BYTES : 0));
	memset(peer->header, 0, sizeof(peer->header));
	eth_write((peer_is_tunnel(peer) ? ip : end) - peer->eth_bytes, hop->mac, iface->mac,
		  iface->vlan, (uint16_t)type);
	if (peer_is_tunnel(peer))
		tunnel_write(ip, tunnel_source(iface, &book->addr), book);
	peer->udp_cksum = n->conf.udp6_cksum || book->port;
}

// A free index, of those whose last use all workers have forgotten, the longest unused first as far as one
// walk around tells.
static uint16_t peer_take(struct neigh *n)
{
	for (uint16_t tried = 1; tried < n->conf.n_peers; tried++) {
		uint16_t index = n->next_peer;

		n->next_peer = (uint16_t)(n->next_peer + 1 == n->conf.n_peers ? 1
									      : n->next_peer + 1);
		if (n->peers[index].use == PEER_UNUSED) {
			n->peers[index] = (struct peer_book){.use = PEER_USED, .key = -1};
			n->n_peers_used++;
			return index;
		}
	}
	return PEER_NONE;
}

static void peer_give(struct neigh *n, uint16_t index)
{
	struct peer_book *book = &n->peers[index];

	book->use = PEER_LEAVING;
	book->hop = NULL;
	book->peer = (struct peer){.state = PEER_FREE};
	peer_publish(n, index);
}

unsigned neigh_peers_used(const struct neigh *n)
{
	return n->n_peers_used;
}

void peers_update(struct neigh *n, struct hop *hop)
{
	for (uint16_t i = 1; i < n->conf.n_peers; i++)
		if (n->peers[i].use == PEER_USED && n->peers[i].hop == hop) {
			peer_write(n, &n->peers[i]);
			peer_publish(n, i);
		}
}

// --- plain peers -----------------------------------------------------------------------------------------

static struct route_key hop_key(const struct hop *hop)
{
	return route_key(hop->iface, hop->addr.family,
			 hop->addr.family == ADDR_V4 ? (const uint8_t *)&hop->addr.v4
						     : hop->addr.v6);
}

// The last quarter of the peers is for gNBs and UPFs.
uint16_t peers_plain(struct neigh *n, struct hop *hop)
{
	uint16_t index = hop->plain;

	if (index != PEER_NONE)
		return index;
	if (hop->gateway || n->n_peers_used < n->conf.n_peers - n->conf.n_peers / 4u)
		index = peer_take(n);
	if (index == PEER_NONE)
		return PEER_NONE;
	n->peers[index].hop = hop;
	n->peers[index].peer.kind = PEER_PLAIN;
	hop->plain = index;
	peer_write(n, &n->peers[index]);
	peer_publish(n, index);
	return index;
}

void peers_forget_plain(struct neigh *n, struct hop *hop)
{
	struct peer_book *book = &n->peers[hop->plain];
	struct route_key key = hop_key(hop);

	if (book->routed)
		book->key = rte_hash_del_key(n->routes.hops, &key);
	peer_give(n, hop->plain);
	hop->plain = PEER_NONE;
}

// All workers have the peer: from now on they may find it by its address.
static void route_add(struct neigh *n, uint16_t index)
{
	struct peer_book *book = &n->peers[index];
	struct route_key key = hop_key(book->hop);

	book->routed = rte_hash_add_key_data(n->routes.hops, &key, (void *)(uintptr_t)index) == 0;
}

void neigh_peer_settled(struct neigh *n, uint16_t index)
{
	struct peer_book *book = &n->peers[index];

	book->telling--;
	if (book->telling || book->unsaid)
		return;
	if (book->use == PEER_USED && book->peer.kind == PEER_PLAIN && !book->routed)
		route_add(n, index);
	if (book->use != PEER_LEAVING)
		return;
	if (book->key >= 0)
		rte_hash_free_key_with_position(n->routes.hops, book->key);
	*book = (struct peer_book){.use = PEER_UNUSED};
	n->n_peers_used--;
}

// --- tunnels ---------------------------------------------------------------------------------------------

static bool onlink(const struct neigh_iface *iface, const struct addr *addr)
{
	for (unsigned i = 0; i < iface->n_addrs; i++) {
		if (addr_eq(&iface->addrs[i].addr, addr))
			return false;
		if (prefix_contains(&iface->addrs[i], addr))
			return true;
	}
	return false;
}

// An interface, of those made for tunnels or of the others, whose subnet holds the address.
static bool tunnel_onlink(const struct neigh *n, const struct addr *addr, bool access,
			  unsigned *ret_iface)
{
	for (unsigned i = 0; i < n->conf.n_ifaces; i++)
		if (n->conf.ifaces[i].access == access && onlink(&n->conf.ifaces[i], addr)) {
			*ret_iface = i;
			return true;
		}
	return false;
}

// The interface and the next hop towards a tunnel's far end, by those made for tunnels first.
static int tunnel_route(const struct neigh *n, const struct addr *addr, unsigned *ret_iface,
			struct addr *ret_hop)
{
	if (tunnel_onlink(n, addr, true, ret_iface) || tunnel_onlink(n, addr, false, ret_iface)) {
		*ret_hop = *addr;
		return 0;
	}
	for (unsigned i = 0; i < n->conf.n_ifaces; i++) {
		const struct neigh_iface *iface = &n->conf.ifaces[i];
		const struct addr *gateway = addr->family == ADDR_V4 ? &iface->gateway_v4
								     : &iface->gateway_v6;

		if (iface->access && gateway->family != ADDR_NONE && tunnel_source(iface, addr)) {
			*ret_iface = i;
			*ret_hop = *gateway;
			return 0;
		}
	}
	return -ENETUNREACH;
}

// The same where one interface alone is asked.
static int udp_route(const struct neigh *n, unsigned iface, const struct addr *addr,
		     struct addr *ret_hop)
{
	const struct neigh_iface *c = &n->conf.ifaces[iface];
	const struct addr *gateway = addr->family == ADDR_V4 ? &c->gateway_v4 : &c->gateway_v6;

	if (route_own(&n->routes, addr->family,
		      addr->family == ADDR_V4 ? (const uint8_t *)&addr->v4 : addr->v6))
		return -ENETUNREACH;
	*ret_hop = onlink(c, addr) ? *addr : *gateway;
	return ret_hop->family != ADDR_NONE && tunnel_source(c, addr) ? 0 : -ENETUNREACH;
}

static uint16_t udp_lookup(const struct neigh *n, const struct addr *addr, unsigned iface,
			   uint16_t port)
{
	for (uint16_t i = 1; i < n->conf.n_peers; i++)
		if (n->peers[i].use == PEER_USED && peer_is_tunnel(&n->peers[i].peer) &&
		    n->peers[i].port == port && n->peers[i].peer.iface == iface &&
		    addr_eq(&n->peers[i].addr, addr))
			return i;
	return PEER_NONE;
}

static enum peer_kind tunnel_kind(const struct addr *addr, uint16_t port)
{
	if (addr->family == ADDR_V4)
		return port ? PEER_UDP_V4 : PEER_GTPU_V4;
	return port ? PEER_UDP_V6 : PEER_GTPU_V6;
}

// A new peer for tunnels, without a reference yet, or PEER_NONE.
static uint16_t tunnel_new(struct neigh *n, unsigned iface, const struct addr *via,
			   const struct addr *addr, uint16_t port)
{
	struct hop *hop = hop_get(n, iface, via);
	uint16_t index = hop ? peer_take(n) : PEER_NONE;

	if (index == PEER_NONE)
		return PEER_NONE;
	n->peers[index].hop = hop;
	n->peers[index].addr = *addr;
	n->peers[index].port = port;
	n->peers[index].peer.kind = (uint8_t)tunnel_kind(addr, port);
	hop->tunnels++;
	peer_write(n, &n->peers[index]);
	peer_publish(n, index);
	return index;
}

int neigh_tunnel_take(struct neigh *n, const struct addr *addr, uint16_t *ret_peer)
{
	uint16_t index = gtpu_path_lookup(n, addr);
	struct addr via;
	unsigned iface;

	if (index == PEER_NONE) {
		if (tunnel_route(n, addr, &iface, &via) != 0)
			return -ENETUNREACH;
		index = tunnel_new(n, iface, &via, addr, 0);
		if (index == PEER_NONE)
			return -ENOSPC;
		gtpu_path_begin(n, index);
	}
	n->peers[index].refs++;
	*ret_peer = index;
	return 0;
}

int neigh_udp_take(struct neigh *n, unsigned iface, const struct addr *addr, uint16_t port,
		   uint16_t *ret_peer)
{
	uint16_t index = udp_lookup(n, addr, iface, port);
	struct addr via;

	if (index == PEER_NONE) {
		if (udp_route(n, iface, addr, &via) != 0)
			return -ENETUNREACH;
		index = tunnel_new(n, iface, &via, addr, port);
		if (index == PEER_NONE)
			return -ENOSPC;
	}
	n->peers[index].refs++;
	*ret_peer = index;
	return 0;
}

void neigh_tunnel_give(struct neigh *n, uint16_t index)
{
	struct peer_book *book = &n->peers[index];

	if (--book->refs > 0)
		return;
	book->hop->tunnels--;
	if (peer_is_gtpu(&book->peer))
		gtpu_path_end(n, index);
	peer_give(n, index);
}
