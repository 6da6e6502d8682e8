// Neighbours: set up, packets that wait, time (neigh.h).
//
// Control thread.

#include "neigh/neigh.h"

#include <stdlib.h>
#include <string.h>

#include <rte_hash_crc.h>

#include "base/clock.h"
#include "base/rand.h"
#include "neigh/hop.h"
#include "packet/ip.h"

static struct rte_hash *hops_new(unsigned entries)
{
	struct rte_hash_parameters params = {
		.name = "neigh_hops",
		.entries = RTE_MAX(entries, 64u),
		.key_len = sizeof(struct route_key),
		.hash_func = rte_hash_crc,
		.hash_func_init_val = (uint32_t)rand_u64(),
		.socket_id = SOCKET_ID_ANY,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF |
			      RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};

	return rte_hash_create(&params);
}

static void add_subnets(struct route_iface *ri, const struct neigh_iface *iface)
{
	for (unsigned i = 0; i < iface->n_addrs; i++) {
		const struct prefix *own = &iface->addrs[i];
		struct prefix net = {.addr = addr_mask(&own->addr, own->len), .len = own->len};

		ri->subnets[ri->n_subnets++] = net;
		if (own->addr.family != ADDR_V4)
			continue;
		ri->v4[ri->n_v4].net = net.addr.v4;
		ri->v4[ri->n_v4++].mask = own->len ? rte_cpu_to_be_32(~0u << (32 - own->len)) : 0;
	}
}

static void add_own(struct route_table *routes, const struct addr *addr)
{
	uint8_t last = addr->family == ADDR_V4 ? (uint8_t)rte_be_to_cpu_32(addr->v4) : addr->v6[15];

	if (addr->family == ADDR_NONE)
		return;
	routes->own[routes->n_own++] = *addr;
	routes->own_octets[last >> 6] |= 1ull << (last & 63);
}

static uint16_t add_gateway(struct neigh *n, unsigned iface, const struct addr *addr)
{
	struct hop *hop;

	if (addr->family == ADDR_NONE)
		return PEER_NONE;
	hop = hop_get(n, iface, addr);
	if (!hop)
		return PEER_NONE;
	hop->gateway = true;
	return peers_plain(n, hop);
}

struct neigh *neigh_new(const struct neigh_conf *conf)
{
	struct neigh *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->conf = *conf;
	n->next_peer = 1;
	n->path_next = 1;
	n->seed = (uint32_t)rand_u64();
	n->peers = calloc(conf->n_peers, sizeof(*n->peers));
	n->routes.hops = hops_new(HOPS_MAX);
	if (!n->peers || !n->routes.hops) {
		neigh_free(n);
		return NULL;
	}
	add_own(&n->routes, &conf->n4);
	for (unsigned i = 0; i < conf->n_ifaces; i++) {
		add_subnets(&n->routes.ifaces[i], &conf->ifaces[i]);
		for (unsigned k = 0; k < conf->ifaces[i].n_addrs; k++)
			add_own(&n->routes, &conf->ifaces[i].addrs[k].addr);
		n->routes.ifaces[i].gateway_v4 = add_gateway(n, i, &conf->ifaces[i].gateway_v4);
		n->routes.ifaces[i].gateway_v6 = add_gateway(n, i, &conf->ifaces[i].gateway_v6);
	}
	for (unsigned i = 0; i < conf->n_policies; i++) {
		const struct neigh_policy *policy = &conf->policies[i];

		n->routes.policies[i].hop_v4 = add_gateway(n, policy->iface, &policy->next_hop_v4);
		n->routes.policies[i].hop_v6 = add_gateway(n, policy->iface, &policy->next_hop_v6);
	}
	return n;
}

void neigh_free(struct neigh *n)
{
	if (!n)
		return;
	while (n->hops)
		hop_free(n, n->hops);
	rte_hash_free(n->routes.hops);
	free(n->peers);
	free(n);
}

const struct route_table *neigh_routes(const struct neigh *n)
{
	return &n->routes;
}

// Whether the frame was made for this peer. Its index may have got another one while the frame was on its way.
static bool is_for(const struct peer_book *book, const struct rte_mbuf *mbuf, unsigned iface)
{
	const struct hop *hop = book->hop;
	const uint8_t *ip = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, book->peer.eth_bytes);
	const struct addr *to = peer_is_tunnel(&book->peer) ? &book->addr : &hop->addr;

	if (hop->iface != iface)
		return false;
	if (hop->gateway && !peer_is_tunnel(&book->peer))
		return true;
	return to->family == ADDR_V4
		       ? *ip >> 4 == 4 && ((const struct ip4_head *)ip)->dst == to->v4
		       : *ip >> 4 == 6 && ip6_eq(((const struct ip6_head *)ip)->dst, to->v6);
}

void neigh_wait_peer(struct neigh *n, unsigned worker, struct rte_mbuf *mbuf)
{
	const struct pkt *p = rte_mbuf_to_priv(mbuf);
	const struct peer_book *book = &n->peers[p->peer < n->conf.n_peers ? p->peer : PEER_NONE];

	if (book->hop && is_for(book, mbuf, p->iface))
		hold_packet(n, book->hop, (struct held){.mbuf = mbuf, .worker = worker});
	else
		control_drop(n, mbuf,
			     DROP_neigh_failed); // the peer went while the packet was on its way
}

// The hop that user packets go to. So that they cannot keep us from asking for gNBs, they may not make us ask
// for as many as there is room for.
static struct hop *wanted_hop(struct neigh *n, unsigned iface, const struct addr *dst)
{
	struct hop *hop = hop_lookup(n, iface, dst);

	if (!hop && n->n_hops < HOPS_ASKED_FOR)
		hop = hop_get(n, iface, dst);
	if (!hop)
		return NULL;
	hop->wanted = true;
	if (hop->state == HOP_KNOWN)
		peers_plain(n, hop);
	return hop;
}

void neigh_wait_hop(struct neigh *n, unsigned worker, struct rte_mbuf *mbuf)
{
	const struct pkt *p = rte_mbuf_to_priv(mbuf);
	const uint8_t *user = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, p->user);
	struct addr dst = ip_destination(user);
	struct hop *hop;

	hop = wanted_hop(n, p->iface, &dst);
	if (!hop) {
		control_drop(n, mbuf, DROP_neigh_hold_full);
		return;
	}
	// Without the link header that it came with, where it has one, and without padding.
	mbuf->data_off = (uint16_t)(mbuf->data_off + p->user);
	mbuf->data_len = p->user_bytes;
	mbuf->pkt_len = p->user_bytes;
	hold_packet(n, hop, (struct held){.mbuf = mbuf, .worker = worker, .bare = true});
}

void neigh_tick(struct neigh *n)
{
	uint64_t now = clock_now_ns();

	for (struct hop *hop = n->hops, *next; hop; hop = next) {
		next = hop->next;
		hop_tick(n, hop, now);
	}
	peers_tick(n);
	gtpu_path_tick(n, now);
}

void neigh_each(const struct neigh *n, neigh_view_fn *fn, void *ctx)
{
	uint64_t now = clock_now_ns();

	for (const struct hop *hop = n->hops; hop; hop = hop->next) {
		struct neigh_view view = {
			.addr = hop->addr,
			.iface = hop->iface,
			.state = hop->state,
			.gateway = hop->gateway,
			.tunnels = hop->tunnels,
			.held = hop->n_held,
			.age_ms = (now - hop->answered_ns) / NS_PER_MS,
		};

		memcpy(view.mac, hop->mac, sizeof(view.mac));
		fn(&view, ctx);
	}
}

void neigh_each_peer(const struct neigh *n, gtpu_peer_view_fn *fn, void *ctx)
{
	for (uint16_t i = 1; i < n->conf.n_peers; i++) {
		const struct peer_book *book = &n->peers[i];
		struct gtpu_peer_view view = {
			.addr = book->addr,
			.iface = book->peer.iface,
			.tunnels = book->refs,
			.path = &book->path,
		};

		if (book->use == PEER_USED && peer_is_gtpu(&book->peer))
			fn(&view, ctx);
	}
}
