// The control thread's end of all the workers' rings: what came back, what was punted, what is to be told.
//
// Control thread only. Neighbours reach the workers through this (neigh/neigh.h, struct neigh_io).

#pragma once

#include "neigh/neigh.h"
#include "worker/nat_event.h"
#include "worker/usage_mark.h"
#include "worker/worker.h"

struct control {
	struct worker *workers[MAX_WORKERS];
	unsigned n_workers;
	struct neigh *neigh;
	struct rte_mempool *mbufs; // for frames of its own
	struct stats stats;        // of the control thread
	uint64_t heard;            // punted packets, mails and events that have come by the rings
	// Takes what a usage has counted until a mark; NULL: nobody wants it.
	void (*usage)(void *ctx, unsigned worker, const struct usage_event *event);
	void *usage_ctx;
	// Takes word of packets that wait for a UE; NULL: nobody wants it.
	void (*buffered)(void *ctx, unsigned worker, const struct buffer_event *event);
	void *buffered_ctx;
	// Takes word of blocks of outside ports; NULL: nobody wants it.
	void (*nat_block)(void *ctx, unsigned worker, const struct nat_event *event);
	void *nat_block_ctx;
	// A peer does not know this tunnel of its; NULL: nobody wants to know.
	void (*tunnel_lost)(void *ctx, uint32_t teid, const struct addr *peer);
	void *tunnel_lost_ctx;
};

// Has the workers' events taken with their mails; the control struct must stay where it is.
void control_listen(struct control *control);

// How neighbours reach the workers of `control`, which must stay where it is.
struct neigh_io control_neigh_io(struct control *control);

// Looks once at all rings: takes punted packets, runs what mails have to say on their return. True while a
// worker owes an answer or has punted more.
bool control_poll(struct control *control);

// After the workers have stopped: carries out in their place what is left in their mailboxes, so that each mail
// comes back and frees what it holds.
void control_drain(struct control *control);

// The accounting identity over all threads, for tests and `show counters`: what is missing on the right side
// of that of worker `i` or, for i == n_workers, of the control thread. 0 between turns.
int64_t control_unaccounted(const struct control *control, unsigned i);
