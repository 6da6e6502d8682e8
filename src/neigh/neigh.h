// Neighbours: next hops, their link addresses, and the peers made of them.
//
// Control thread only. Resolves addresses by ARP and neighbour discovery (RFC 826, 4861), answers those who
// ask for ours, keeps packets that wait for an answer (bounded in number and time), and says when a peer's
// header changes, for the workers to be told. It reaches workers through the functions of struct neigh_io,
// since their layer is above.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "base/addr.h"
#include "neigh/gtpu_path.h"
#include "neigh/route.h"
#include "packet/eth.h"
#include "session/peer.h"
#include "stats/stats.h"

struct neigh;

#define NEIGH_ADDRS 8 // of one interface

struct neigh_iface {
	uint8_t mac[ETH_MAC_BYTES];
	uint16_t vlan; // 0: untagged
	uint16_t mtu;
	bool access; // carries N3 or N9: tunnels may leave here
	uint8_t n_addrs;
	struct prefix addrs[NEIGH_ADDRS];   // own addresses with their subnets' lengths
	struct addr gateway_v4, gateway_v6; // ADDR_NONE: none
};

// A forwarding policy: neighbours on the interface, which are asked for as gateways are.
struct neigh_policy {
	uint8_t iface;
	struct addr next_hop_v4, next_hop_v6; // ADDR_NONE: none
};

struct neigh_io {
	void *ctx;
	// Sends a frame of its own or one that waited. 0: taken; otherwise the mbuf stays with the caller.
	int (*inject)(void *ctx, unsigned worker, struct rte_mbuf *mbuf, unsigned iface);
	// Every worker is to take over this peer; neigh_peer_settled() when all have. 0, or -ENOMEM with no
	// worker told: then it is tried again.
	int (*peer_set)(void *ctx, uint16_t index, const struct peer *peer);
	// A buffer for a frame, or NULL.
	struct rte_mbuf *(*mbuf_new)(void *ctx);
};

struct neigh_conf {
	unsigned n_ifaces;
	struct neigh_iface ifaces[ROUTE_IFACES];
	unsigned n_policies;
	struct neigh_policy policies[ROUTE_POLICIES];
	uint16_t n_peers;      // peer indices 1 .. n_peers - 1 are given out
	uint16_t hold_packets; // for each neighbour that is being asked for
	struct gtpu_path_conf path;
	bool udp6_cksum; // tunnels over IPv6 carry a UDP checksum
	struct addr n4;  // where N4 is served, which is ours beside the interfaces' addresses
	struct neigh_io io;
	struct stats
		*stats; // of the control thread: neigh counts injected, made, held, consumed, drops
};

// Also makes the peers of the gateways and of policies, and asks for them. NULL without memory. Start-up.
struct neigh *neigh_new(const struct neigh_conf *conf);
void neigh_free(struct neigh *neigh);
// What workers route by; lives as long as `neigh`.
const struct route_table *neigh_routes(const struct neigh *neigh);

// Punted packets; each takes the mbuf over. `worker` punted it, its struct pkt is in the private area.
void neigh_arp(struct neigh *neigh, unsigned worker, struct rte_mbuf *mbuf);
void neigh_nd(struct neigh *neigh, unsigned worker, struct rte_mbuf *mbuf);
// A frame, whole but for its link addresses, for the peer of its struct pkt.
void neigh_wait_peer(struct neigh *neigh, unsigned worker, struct rte_mbuf *mbuf);
// A user packet without link header for an on-link destination of interface pkt->iface.
void neigh_wait_hop(struct neigh *neigh, unsigned worker, struct rte_mbuf *mbuf);
// A frame that some other way brought here (port_copies_read): only learnt from.
void neigh_learn_frame(struct neigh *neigh, unsigned iface, const uint8_t *frame, uint16_t bytes);

// Asks again, refreshes, gives up: call it about ten times a second.
void neigh_tick(struct neigh *neigh);
void neigh_peer_settled(struct neigh *neigh, uint16_t index);

// The peer for GTP-U tunnels to `addr` (TS 29.281), one reference taken: the same index for the same
// address. Picks the interface by route: one whose subnet holds the address, else the first N3/N9 interface
// with a gateway and an address of that family. -ENETUNREACH: no route; -ENOSPC: no peer is free.
int neigh_tunnel_take(struct neigh *neigh, const struct addr *addr, uint16_t *ret_peer);
// The same for tunnels of plain UDP to a port, by the N6 interface `iface`: there its subnets and gateways alone say
// what can be reached. Where they come from has the same port.
int neigh_udp_take(struct neigh *neigh, unsigned iface, const struct addr *addr, uint16_t port,
		   uint16_t *ret_peer);
void neigh_tunnel_give(struct neigh *neigh, uint16_t peer);
unsigned neigh_peers_used(const struct neigh *neigh);

enum hop_state {
	HOP_ASKING, // no link address yet
	HOP_KNOWN,
	HOP_FAILED, // did not answer; asked again when a packet comes after a while
};

// One neighbour, for `show neighbours`.
struct neigh_view {
	struct addr addr;
	unsigned iface;
	enum hop_state state;
	uint8_t mac[ETH_MAC_BYTES];
	bool gateway;
	unsigned tunnels; // peers for tunnels that leave through it
	unsigned held;    // packets that wait
	uint64_t age_ms;  // since the last answer, or the first question
};

typedef void neigh_view_fn(const struct neigh_view *view, void *ctx);
void neigh_each(const struct neigh *neigh, neigh_view_fn *fn, void *ctx);

// One peer of tunnels, for `show peers`.
struct gtpu_peer_view {
	struct addr addr;
	unsigned iface;
	uint32_t tunnels; // sessions' references to it
	const struct gtpu_path *path;
};
typedef void gtpu_peer_view_fn(const struct gtpu_peer_view *view, void *ctx);
void neigh_each_peer(const struct neigh *neigh, gtpu_peer_view_fn *fn, void *ctx);
