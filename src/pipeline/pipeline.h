// A worker's turn: what the packets of one burst go through.
//
// Each turn gathers packets from queues and rings into one array, and works through it in groups of 16 with
// a skew: while a group is parsed, what the group before it needs is on its way into the cache, and the one
// before that is worked on. Up and down part after parse into two lanes. The stages stand in the files
// 1_rx.c to 6_tx.c; this header is what they share. Everything here runs on the worker's thread.

#pragma once

#include "service/15_flow.h"
#include "service/service.h"
#include "worker/worker.h"

#define GROUP 16u // more outstanding prefetches than about 20 stall the core

#define FLOW_LANE                                                                                  \
	(4 * GROUP) // packets that look for their flows at a time: three groups, and one that comes

// Packets between the steps of the look for their flows (flow_lane.h): running numbers of those that have gone
// through each step, and a ring of those that have not gone through all.
struct flow_lane {
	unsigned n_asked, n_fetched, n_found;
	unsigned n_before; // asked for before the latest group
	struct flow_wait waits[FLOW_LANE];
};

// The packets of one direction. Those up to `worked` have ended; those up to `ready` have their session's
// line on its way; those of `keyed` (down only) have the word of their locator on its way.
struct lane {
	unsigned n_ready, worked;
	unsigned n_keyed, located;
	struct pkt *ready[WORKER_BATCH];
	struct pkt *keyed[WORKER_BATCH];
	const struct session_ref
		*words[WORKER_BATCH]; // where keyed[i] finds its reference; NULL: in p->ref
	struct flow_lane flows;
};

struct turn {
	unsigned n;    // packets gathered
	unsigned n_rx; // of these, not parsed yet: from queues
	struct rte_mbuf *mbufs[WORKER_BATCH];
	uint8_t rx[WORKER_BATCH]; // index of the worker_rx that mbufs[i] came by
	struct lane up, down;
	struct pkt pkts[WORKER_BATCH];
};

// One turn: everything that is there now, up to the bounds of worker.h. Returns the number of packets.
unsigned pipeline_turn(struct worker *w);
// Turns until w->stop. An lcore function.
int pipeline_loop(void *worker);
// The work on packets that were put into t->mbufs (n and n_rx set, lanes as gathered): the turn without
// rings and ports, for the cost bench.
void pipeline_batch(struct worker *w, struct turn *t);

void turn_reset(struct turn *t);

// 1: from the queues.
void rx_gather(struct worker *w, struct turn *t);
// 2: of mbufs[from..to), into the lanes; what needs no session ends here.
void parse_group(struct worker *w, struct turn *t, unsigned from, unsigned to);
// A fragment to us that parse() has dropped, from a queue or another worker: gathered, handed over, or dropped.
void parse_fragment(struct worker *w, struct turn *t, struct pkt *p) __attribute__((cold));
// 3: from keyed to ready.
void locate_down(struct worker *w, struct lane *lane, unsigned to);
// 4: from and to other workers.
void handoff_gather(struct worker *w, struct turn *t);
void handoff_flush(struct worker *w);
// 5: the services, on ready[worked..to).
void dispatch_up(struct worker *w, struct lane *lane, unsigned to);
void dispatch_down(struct worker *w, struct lane *lane, unsigned to);
// What is left of the lanes' looks for flows.
void dispatch_flows(struct worker *w, struct turn *t);
// The same for packets that were held and may go on now, some of them.
void dispatch_held(struct worker *w);
// Those that go on at the end of the turn: the turn's lanes have been worked on.
void dispatch_again(struct worker *w, struct turn *t);
// At start, once: the order of the services. 0 or -EINVAL.
int dispatch_init(const struct service *const services[], unsigned n, char *why, size_t why_bytes);
const struct service_order *dispatch_order(void);
// 6: one burst for each interface; and frames of the control thread.
void inject_gather(struct worker *w);
void tx_flush(struct worker *w);
