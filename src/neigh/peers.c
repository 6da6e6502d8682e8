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

// The header that a peer's packets leave with, right-aligned (session/peer.h).
static void peer_write(const struct neigh *n, struct peer *peer, const struct hop *hop)
{
	const struct neigh_iface *iface = &n->conf.ifaces[hop->iface];
	uint8_t *end = peer->header + PEER_HEADER_BYTES;
	bool tunnel = peer->kind == PEER_GTPU_V4;
	unsigned type = hop->addr.family == ADDR_V4 ? ETH_TYPE_IP4 : ETH_TYPE_IP6;
	uint8_t *ip = end - (GTPU_BYTES + GTPU_OPTION_BYTES + GTPU_PSC_BYTES) - UDP_BYTES -
		      IP4_BYTES;

	peer->state = hop->state == HOP_KNOWN ? PEER_READY : PEER_WAIT;
	peer->iface = hop->iface;
	peer->mtu = iface->mtu;
	peer->eth_bytes = (uint8_t)(ETH_BYTES + (iface->vlan ? ETH_TAG_BYTES : 0));
	memset(peer->header, 0, sizeof(peer->header));
	eth_write((tunnel ? ip : end) - peer->eth_bytes, hop->mac, iface->mac, iface->vlan,
		  (uint16_t)type);
	if (!tunnel)
		return;

	struct ip4_head *ip4 = (struct ip4_head *)ip;
	struct udp_head *udp = (struct udp_head *)(ip + IP4_BYTES);

	ip4_write(ip4, iface->addrs[0].addr.v4, peer->addr, IPPROTO_UDP, 0);
	for (unsigned i = 0; i < iface->n_addrs; i++)
		if (iface->addrs[i].addr.family == ADDR_V4) {
			ip4->src = iface->addrs[i].addr.v4;
			break;
		}
	ip4->total = 0;
	ip4->tos = 0;
	ip4->cksum = 0;
	peer->ip_sum = (uint16_t)~cksum_finish(cksum_bytes(ip4, IP4_BYTES));
	udp->sport = udp->dport = RTE_BE16(GTPU_PORT);
	udp->cksum = 0;
	gtpu_gpdu_write((uint8_t *)(udp + 1), 0, 0, 0, false);
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
			peer_write(n, &n->peers[i].peer, hop);
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
	n->peers[index].peer.addr = hop->addr.family == ADDR_V4 ? hop->addr.v4 : 0;
	hop->plain = index;
	peer_write(n, &n->peers[index].peer, hop);
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
	for (unsigned i = 0; i < n->conf.n_ifaces; i++)
		if (n->conf.ifaces[i].access && n->conf.ifaces[i].gateway_v4.family != ADDR_NONE) {
			*ret_iface = i;
			*ret_hop = n->conf.ifaces[i].gateway_v4;
			return 0;
		}
	return -ENETUNREACH;
}

static uint16_t tunnel_lookup(const struct neigh *n, rte_be32_t addr)
{
	for (uint16_t i = 1; i < n->conf.n_peers; i++)
		if (n->peers[i].use == PEER_USED && n->peers[i].peer.kind == PEER_GTPU_V4 &&
		    n->peers[i].peer.addr == addr)
			return i;
	return PEER_NONE;
}

int neigh_tunnel_take(struct neigh *n, rte_be32_t v4, uint16_t *ret_peer)
{
	struct addr addr = addr_v4(v4);
	uint16_t index = tunnel_lookup(n, v4);
	struct addr via;
	unsigned iface;
	struct hop *hop;

	if (index == PEER_NONE) {
		if (tunnel_route(n, &addr, &iface, &via) != 0)
			return -ENETUNREACH;
		hop = hop_get(n, iface, &via);
		index = hop ? peer_take(n) : PEER_NONE;
		if (index == PEER_NONE)
			return -ENOSPC;
		n->peers[index].hop = hop;
		n->peers[index].peer.kind = PEER_GTPU_V4;
		n->peers[index].peer.addr = v4;
		hop->tunnels++;
		peer_write(n, &n->peers[index].peer, hop);
		peer_publish(n, index);
		gtpu_path_begin(n, index);
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
	gtpu_path_end(n, index);
	peer_give(n, index);
}
