// Inside of neigh/: next hops and peers as the control thread keeps them.
//
// A hop is a neighbour on an interface. A peer (session/peer.h) is a header that leaves through a hop: one
// plain peer for each hop that N6 traffic goes to, one for each GTP-U address.

#pragma once

#include "neigh/gtpu_path.h"
#include "neigh/neigh.h"

#define HOPS_MAX 4096                     // neighbours at most, on all interfaces
#define HOPS_ASKED_FOR (HOPS_MAX / 4 * 3) // of these, that user packets may make us ask for
#define HOP_BUCKETS 1024
#define HOP_TRIES 3 // questions before giving up
#define HOP_RETRY_NS 1000000000ull
#define HOP_FRESH_NS 30000000000ull // after this a known neighbour is asked again, at its address
#define HOP_FAILED_NS 5000000000ull // for this long a silent neighbour is not asked again

struct held {
	struct rte_mbuf *mbuf;
	unsigned worker;
	bool bare; // a user packet without link header
};

struct hop {
	struct hop *next;   // of all
	struct hop *beside; // of its bucket
	struct addr addr;
	uint8_t iface;
	uint8_t state; // enum hop_state
	uint8_t tries; // questions since the last answer
	bool gateway;  // of the configuration: never forgotten
	bool wanted;   // user packets go to it: it is to have a plain peer once it is known
	bool doubted;  // its link address changed: it is asked whether that is so
	uint8_t mac[ETH_MAC_BYTES];
	uint16_t plain;   // its plain peer, PEER_NONE: none
	uint16_t tunnels; // peers for tunnels that leave through it
	uint16_t n_held;
	struct held *held;    // [hold_packets] while it is asked for
	uint64_t asked_ns;    // the last question
	uint64_t answered_ns; // the last answer; when new: the first question
};

enum peer_use {
	PEER_UNUSED,
	PEER_USED,
	PEER_LEAVING, // workers are being told that it is free
};

struct peer_book {
	enum peer_use use;
	bool unsaid;      // the workers could not be told yet
	bool routed;      // a plain one: workers find it by its address
	uint16_t telling; // times that they are being told now
	int32_t key; // its place among the routes' hops, to be freed when all have forgotten it; -1: none
	uint32_t refs;    // sessions' tunnels
	struct addr addr; // of a tunnel's far end
	uint16_t port;    // and its UDP port, where the tunnel is no GTP-U; else 0
	struct hop *hop;
	struct peer peer;      // as the workers have it
	struct gtpu_path path; // of one for tunnels
};

struct neigh {
	struct neigh_conf conf;
	struct route_table routes;
	struct peer_book *peers; // [conf.n_peers]
	uint16_t next_peer;      // where the search for a free one starts
	unsigned n_peers_used;
	uint16_t path_next;                       // the peer whose path is looked at next
	uint16_t path_buckets[GTPU_PATH_BUCKETS]; // peers for tunnels, by address
	struct hop *hops;
	unsigned n_hops;
	struct hop *buckets[HOP_BUCKETS];
	uint32_t seed; // of the buckets: who chooses addresses must not choose buckets
};

// hop.c
struct hop *hop_lookup(const struct neigh *n, unsigned iface, const struct addr *addr);
// The hop of this address, made and asked for if it is new. NULL: too many, or no memory.
struct hop *hop_get(struct neigh *n, unsigned iface, const struct addr *addr);
void hop_free(struct neigh *n, struct hop *hop);
// An answer, or another sign of life with a link address.
void hop_learn(struct neigh *n, struct hop *hop, const uint8_t mac[ETH_MAC_BYTES]);
void hop_tick(struct neigh *n, struct hop *hop, uint64_t now);
// Makes sure that the hop is being asked for, unless it failed a moment ago.
void hop_want(struct neigh *n, struct hop *hop);

// hold.c
// Keeps the packet for the hop, sends it where the hop is known, or drops it; takes it over.
void hold_packet(struct neigh *n, struct hop *hop, struct held held);
void hold_release(struct neigh *n, struct hop *hop); // the hop is known: send all
void hold_drop(struct neigh *n, struct hop *hop, enum drop reason);

// resolve.c
void resolve_ask(struct neigh *n, struct hop *hop);
void control_drop(struct neigh *n, struct rte_mbuf *mbuf, enum drop reason);

// peers.c
void peers_tick(struct neigh *n);
// A plain peer for a hop, PEER_NONE when none is free: then its packets go by the control thread. Workers
// find it by the hop's address once all of them have it.
uint16_t peers_plain(struct neigh *n, struct hop *hop);
void peers_forget_plain(struct neigh *n, struct hop *hop);
// Writes the headers of all peers that leave through the hop anew, and tells the workers.
void peers_update(struct neigh *n, struct hop *hop);
