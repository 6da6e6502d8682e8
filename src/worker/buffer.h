// Downlink packets that wait until their UE can be reached (TS 29.244 5.2.1, 5.2.4, 8.2.26).
//
// Worker, but for the events. A session holds packets in a record of its own, found through its cold record.
// They are copies in a pool of the worker's, so that ports never run out of buffers because UEs are idle.
// Other rules for the session make its packets `pending`: they are looked at anew, in order, some a turn
// (pipeline/5_dispatch.c). Until none is left the session's down line is closed (`check` is 0), which no ordinary
// packet pays for: what comes meanwhile is not let in and queues behind. All of it is bounded, in packets, bytes
// and time.
//
// The first packet of an episode that the SMF is to know of is an event for the control thread. An episode of a FAR
// ends when it no longer buffers, when its session has nothing more to wait for, or after some time.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_mempool.h>
#include <rte_ring.h>

#include "worker/mbuf_list.h"

struct far;
struct pkt;
struct worker;

#define BUFFER_RELEASE 64 // packets that one turn looks at anew
#define BUFFER_TOLD 4     // FARs of a session that have an episode of their own

struct buffer_limits {
	uint32_t packets, bytes;         // of a session; bytes are those of the users' IP packets
	uint32_t ms;                     // of a packet
	uint32_t all_packets, all_bytes; // of the worker
};

// What a session holds, and what its SMF was told of it.
struct buffer {
	TAILQ_ENTRY(buffer) of_used;
	TAILQ_ENTRY(buffer) of_releasing;
	bool releasing;
	uint8_t n_told;
	uint32_t slot;
	uint32_t packets, bytes;        // of both lists
	struct mbuf_list held, pending; // those held came before those pending
	uint32_t hold_ms;               // how long a packet is held
	uint32_t episode_ms;            // how long an episode is at most
	uint32_t release_ms;            // since when it is to be released
	struct {
		uint32_t far; // its id
		uint32_t ms;  // when
	} told[BUFFER_TOLD];
};
TAILQ_HEAD(buffer_queue, buffer);

struct buffers {
	struct buffer_limits limits;
	struct rte_mempool *pool; // NULL: nothing is ever held
	uint32_t n_records;
	struct buffer *records; // [n_records], number 1 first
	struct buffer_queue unused;
	struct buffer_queue used, releasing; // each gets its turn
	uint32_t packets, bytes;
};

// A FAR's first downlink packet: the SMF is to be told. `dscp` is the packet's.
struct buffer_event {
	uint32_t slot, version;
	uint16_t pdr; // PDR ID
	uint8_t dscp;
	uint8_t spare;
};

// What a session holds, for show.
struct buffer_counts {
	uint32_t packets, bytes;
	uint32_t oldest_ms; // age of the oldest packet
};

// Start-up. 0 or -ENOMEM.
int buffers_init(struct buffers *buffers, const struct buffer_limits *limits,
		 struct rte_mempool *pool, uint32_t n_slots, int socket);
// Gives all packets back.
void buffers_fini(struct buffers *buffers);

// Holds the packet, or drops it; tells the control thread where the FAR says so.
void buffer_hold(struct worker *w, struct pkt *p, const struct far *far) __attribute__((cold));
// Whether the packet was held by a FAR that duplicated it then.
bool buffer_has_copies(const struct worker *w, const struct pkt *p);
// A packet whose down line is closed: queues behind what is pending, or is dropped. False: its session has gone.
bool buffer_behind(struct worker *w, struct pkt *p) __attribute__((cold));

// Takes up to `n` packets, in order, of one session that has pending ones: their number, 0 when there is none that
// could be released now. When they have been dealt with buffer_release_end() opens the line again, if they were
// the last.
unsigned buffer_release(struct worker *w, struct pkt *pkts, unsigned n, struct buffer **ret);
void buffer_release_end(struct worker *w, struct buffer *buffer);
// Drops what has waited for too long. Each turn: looks at a few sessions.
void buffer_sweep(struct worker *w);

// The session in this slot has other rules, or the same anew: all that it holds becomes pending.
void buffer_rules_changed(struct worker *w, uint32_t slot);
// Its SMF says to drop it (DROBU), or the session ends.
void buffer_drop(struct worker *w, uint32_t slot);
void buffer_end(struct worker *w, uint32_t slot);
// Its SMF does not know after all: the next packet is told again.
void buffer_again(struct worker *w, uint32_t slot);
void buffer_counts_get(const struct worker *w, uint32_t slot, struct buffer_counts *ret);

// Control thread: up to n events of this worker.
unsigned buffer_events_take(struct worker *w, struct buffer_event *ret, unsigned n);
