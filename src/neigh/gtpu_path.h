// GTP-U paths: whether the gNBs and UPFs that tunnels go to answer Echo Requests (TS 29.281 7.2, TS 23.527 5.2.2).
//
// Control thread only. A watched peer is asked as long as a tunnel goes to it: every `echo_ms`, and again each `t3_ms`
// while it does not answer; after `n3` requests in vain the path is down, until an answer comes. Nothing that
// packets need changes: what becomes of the sessions is their SMF's to say, who is told by `changed`.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

struct neigh;
struct rte_mbuf;

struct gtpu_path_conf {
	uint32_t echo_ms; // 0: nobody is asked
	uint32_t t3_ms;   // wait for an answer
	uint32_t n3;      // requests in all
	// A path that was not known to be down is, or one that was down answers. May be NULL. `peer` is its
	// index, the same as sessions have it.
	void (*changed)(void *ctx, uint16_t peer, const struct addr *addr, bool up);
	void *ctx;
};

enum gtpu_path_state {
	GTPU_PATH_UNKNOWN, // has not answered yet
	GTPU_PATH_UP,
	GTPU_PATH_DOWN,
};

// Of each peer, in its place among neigh's peers.
struct gtpu_path {
	uint8_t state; // enum gtpu_path_state
	bool watched;  // it is asked
	bool waiting;  // for the answer to `sequence`
	bool has_recovery;
	uint8_t recovery; // the Recovery counter in its answers
	uint8_t tries;    // requests of this sequence number
	uint16_t sequence;
	uint16_t beside; // the next peer in the bucket of its address, 0: none
	uint32_t restarts, failures;
	uint64_t asked_ns; // the first request of this sequence number
	uint64_t due_ns;
	uint64_t answered_ns; // 0: never
	uint64_t sent, answered;
};

// An Echo Response that a worker punted; takes the mbuf over.
void neigh_echo_response(struct neigh *neigh, unsigned worker, struct rte_mbuf *mbuf);

// From now on this peer, which a tunnel goes to, is asked. Those that only serve an SMF (router solicitations) are
// not: they are no gNB or UPF, and need not answer.
void neigh_tunnel_watch(struct neigh *neigh, uint16_t peer);

// Inside of neigh/.

#define GTPU_PATH_BUCKETS 1024 // a power of two

// A peer comes into use, or goes out of it.
void gtpu_path_begin(struct neigh *neigh, uint16_t peer);
void gtpu_path_end(struct neigh *neigh, uint16_t peer);
// The peer for GTP-U tunnels to this address, PEER_NONE: there is none.
uint16_t gtpu_path_lookup(struct neigh *neigh, const struct addr *addr);
void gtpu_path_tick(struct neigh *neigh, uint64_t now);
