// A worker: one pinned thread and everything that it owns.
//
// What one thread writes and another reads stands in rings, in the counters, or in fields that say so;
// all else is the worker's alone once it has started. Nothing on its way locks, allocates, logs or makes a
// system call.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/clock.h"
#include "neigh/route.h"
#include "packet/parse.h"
#include "packet/pkt.h"
#include "port/port.h"
#include "rules/arena.h"
#include "rules/teid.h"
#include "session/locator.h"
#include "session/peer.h"
#include "session/session.h"
#include "stats/stats.h"
#include "worker/buffer.h"
#include "worker/flows.h"
#include "worker/gather.h"
#include "worker/key_miss.h"
#include "worker/limit.h"
#include "worker/mbuf_list.h"
#include "worker/nat.h"

#define WORKER_IFACES 16 // interfaces
#define WORKER_BURST 64  // packets of one burst at most, from a queue or a ring
#define WORKER_BATCH 256 // packets that one turn works on at most
#define WORKER_TX_ROOM                                                                             \
	2048 // packets that wait for the tx burst of one interface: more than a turn makes, with duplicates
#define WORKER_MAILS 16   // commands carried out in one turn
#define WORKER_TX_TRIES 4 // tx_burst calls that may take nothing before packets are dropped

// What a packet that is handed off brings along; its struct pkt stands in the mbuf's private area.
struct handoff {
	struct rte_mbuf *mbuf;
	struct session_ref ref;
};
static_assert(sizeof(struct handoff) == 16, "four to a cache line");

// Packets on their way into the ring of another worker: written in bursts, since a single entry costs as much
// as many.
#define HANDOFF_BURST 32

struct handoff_out {
	unsigned n;
	struct handoff entries[HANDOFF_BURST];
};

struct worker_tx {
	struct port_queue queue;
	uint32_t n;
	struct rte_mbuf *mbufs[WORKER_TX_ROOM];
};

// A queue that the worker polls. Interfaces on one device share it and differ by VLAN.
struct worker_rx {
	struct port_queue queue;
	uint8_t n_ifaces;
	uint8_t ifaces[PORT_MAX_IFACES]; // index into worker.parse
};

struct worker;

// The rings between this worker and the control thread, and what each side keeps about them.
struct mailbox {
	struct rte_ring *to_worker, *to_control;
	struct mail *waiting, **waiting_tail; // control thread: mails that the ring did not take
	struct mail *unfinished;              // worker: a mail that takes more than a turn
	unsigned outstanding;                 // control thread
	// Control thread: takes what else the worker has said, before any mail that came back is looked at, so
	// that what happened before a command is known before its answer. NULL: nobody.
	void (*before)(void *ctx, struct worker *w);
	void *before_ctx;
};

struct worker {
	unsigned id;
	unsigned n_workers;
	unsigned burst;
	bool sleep;                          // back off when idle
	bool sampling;                       // this turn is a sample (worker/profile.h)
	uint32_t until_sample, sample_every; // turns with packets; 0: not before 2^32 of them
	uint64_t turn_start, stamp;          // TSC
	uint64_t now;         // at the start of the turn, in the units of rules/meter.h
	uint64_t meter_burst; // how far meters may be ahead of it

	struct session_table table;
	const struct rule_arena *arena;
	const struct locator *locator;
	struct teid_scheme teids;
	struct peer *peers; // [n_peers], index 0 is no peer
	uint32_t n_peers;
	const struct route_table *routes;
	struct rte_mempool *pool; // for messages of its own

	unsigned n_rx, n_ifaces;
	struct worker_rx rx[WORKER_IFACES];
	struct parse_conf parse[WORKER_IFACES]; // by interface
	struct rte_ether_addr mac[WORKER_IFACES];
	struct worker_tx *tx; // [n_ifaces], by interface

	struct handoff_out *handoff_out;            // [n_workers]
	struct rte_ring *handoff_to[MAX_WORKERS];   // this worker produces
	struct rte_ring *handoff_from[MAX_WORKERS]; // this worker consumes
	struct rte_ring *punt;          // this worker produces mbufs, the control thread consumes
	struct rte_ring *inject;        // the other way round
	struct rte_ring *usage_events;  // this worker produces (worker/usage_mark.h)
	struct rte_ring *buffer_events; // likewise (worker/buffer.h)
	struct rte_ring *nat_events;    // likewise (worker/nat_event.h)
	struct buffers buffers;
	struct mbuf_list again; // packets that go on at the end of the turn (worker/again.h)
	struct flows flows;
	struct nat nat;
	const struct acl *acls;     // [FLOW_PROFILES]; NULL: no chain has acl
	uint32_t gather_seed;       // all workers' is the same
	struct gather inner, outer; // fragments of users' and of tunnels' packets
	struct mailbox mailbox;
	struct rte_rcu_qsbr *qsbr;
	struct limit error_limit;     // of Error Indications
	struct limit extension_limit; // of Supported Extension Headers Notifications
	struct limit icmp_limit;      // of ICMP errors
	bool fragment_outer;  // too long for a tunnel: the tunnel's packet is cut, not the user's
	uint32_t fragment_id; // of the last tunnel's packet that was cut
	uint64_t error_tat;   // of Error Indications: a meter of the control thread's time
	struct key_miss misses[KEY_KINDS]; // by kind

	struct stats stats __rte_cache_aligned; // written by the worker, read by all
	bool stop __rte_cache_aligned;          // written by the control thread
};

struct worker_conf {
	unsigned id, n_workers;
	uint32_t n_slots, n_tunnels, n_peers;
	uint32_t handoff_ring, punt_ring, mail_ring, usage_ring, buffer_ring,
		nat_ring; // entries, powers of two
	unsigned burst;
	uint32_t meter_burst_us; // what a QER lets pass at once, as a time at its rate
	bool sleep;
	uint32_t sample_every;   // 0: hardly ever (worker/profile.h)
	uint32_t error_rate;     // Error Indications a second, 0: none
	uint32_t error_quiet_ms; // for this long from the start none are sent
	uint32_t extension_rate; // Supported Extension Headers Notifications a second, 0: none
	uint32_t icmp_rate;      // ICMP errors a second, 0: none
	bool fragment_outer;
	int socket;
	const struct rule_arena *arena;
	const struct locator *locator;
	const struct teid_scheme *teids;
	struct rte_mempool *pool;
	struct buffer_limits buffer_limits;
	struct rte_mempool *buffer_pool; // NULL: downlink packets are not held
	struct flows_conf flows;
	const struct nat_pools *nat;        // NULL: nothing is translated
	const struct acl *acls;             // by profile, for as long as the worker lives
	struct gather_limits gather_limits; // of each kind
	uint32_t gather_seed;               // the same for all workers
	struct rte_rcu_qsbr *qsbr;
};

// A worker with its tables and its own rings, not started. NULL without memory. Start-up.
struct worker *worker_new(const struct worker_conf *conf);
void worker_free(struct worker *w);
// The handoff rings between all pairs. 0 or -ENOMEM. Start-up, after all workers were made.
int workers_connect(struct worker *workers[], unsigned n, uint32_t ring_entries);
void workers_disconnect(struct worker *workers[], unsigned n);
// Tells the worker of an interface: where its packets come from and go to. Start-up.
int worker_iface_add(struct worker *w, unsigned index, const struct parse_conf *parse,
		     const struct rte_ether_addr *mac, struct port_queue rx, struct port_queue tx);

static inline struct pkt *pkt_private(struct rte_mbuf *mbuf)
{
	return rte_mbuf_to_priv(mbuf);
}

// The time at the start of the turn in milliseconds, modulo 2^32.
static inline uint32_t worker_ms(const struct worker *w)
{
	return (uint32_t)(w->now / (METER_UNITS_PER_NS * NS_PER_MS));
}

static inline void worker_count(struct worker *w, enum counter counter, uint64_t n)
{
	w->stats.counter[counter] += n;
}

// The end of a packet that is not to leave: counted by name, its buffer given back. Out of line, so that the
// ordinary way stays short.
void pkt_drop(struct worker *w, struct pkt *p, enum drop reason) __attribute__((cold));

// The end of a packet that has done what it came for.
void pkt_consume(struct worker *w, struct pkt *p);

// Puts a finished frame into the burst of its interface. A turn never makes more than there is room for
// (WORKER_TX_ROOM), but a full burst is still only a counted drop.
static inline void worker_send(struct worker *w, unsigned iface, struct rte_mbuf *mbuf)
{
	struct worker_tx *tx = &w->tx[iface];

	if (unlikely(tx->n == WORKER_TX_ROOM)) {
		w->stats.drop[DROP_tx_full]++;
		rte_pktmbuf_free_seg(mbuf);
		return;
	}
	tx->mbufs[tx->n++] = mbuf;
}

static inline const struct ruleset *line_rules(const struct worker *w,
					       const struct session_line *line)
{
	return rule_arena_at(w->arena, line->rules);
}
