// The cost of a packet, in process: what the engine (engine_cost.c), the bed of the work (cost_bed.c), flows
// (cost_flows.c), handoff (cost_handoff.c) and several workers (cost_workers.c) share.
//
// A bed is the data path of the chain tests' rig with sessions and packets made ready. Whatever is not as it
// should be (a packet that is not rewritten, metered or counted) ends the program.

#pragma once

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/pipeline.h"
#include "rig.h"
#include "summary.h"

enum cost_direction { COST_UP, COST_DOWN, COST_MIXED, COST_DIRECTIONS };

#define COST_SERVICES (STAGES + SERVICES_MAX)
#define COST_WINDOWS_MAX 999
#define COST_PDRS_MAX 120 // of each direction

// A part of the whole, in cycles a packet of all.
struct cost_service {
	const char *name;
	double cycles;
};

struct cost_row {
	// As the row is called: W, W+stats, bare, W+flow, W+tcp, W+nat, churn, handoff_rx, handoff_owner, workers,
	// workers+handoff.
	const char *work;
	enum cost_direction direction;
	uint32_t sessions, flows, mbufs;
	uint32_t pdrs,
		filters; // of each direction, and of each of these but the last; 0: the ordinary 2 and 1
	struct summary cycles; // a packet, over the windows
	uint64_t interrupted;  // batches that were left out (struct bed_sum)
	unsigned workers;      // of "workers": that work at once; 0: no such row
	double handed_over;    // the share of packets that go to another worker
	double mpps;           // million packets a second, of all workers together
	double longest_turn_us; // churn: of 64 packets, the least of the windows' longest; 0: not measured
	unsigned n_services;
	struct cost_service services[COST_SERVICES];
};

#define BED_HEAD 128u // bytes of a frame that the work may change

// A packet as it is received.
struct bed_sample {
	uint8_t head[BED_HEAD];
	uint32_t session;
	uint16_t bytes, user_bytes;
};

struct bed_conf {
	uint32_t n_sessions, max_mbufs;
	unsigned
		n_workers; // 2: packets are for sessions of worker 1, unless bed_fill_part() says more
	unsigned memory_mb;
	bool huge;
	bool bare;                  // neither QERs nor a URR
	bool stats;                 // turns are timed by the worker, and are samples at times
	uint32_t n_pdrs, n_filters; // as in struct cost_row
	uint32_t n_flows;           // 0: sessions have no flows
	bool churn;                 // they end before they are used again
	bool tcp; // all are TCP, their connections established, and tcp_check follows them
	bool nat; // they are translated
};

struct bed {
	struct bed_conf conf;
	struct rig *rig;
	uint32_t n_sessions; // of the owner
	uint32_t n_mbufs, max_mbufs;
	uint32_t window_packets; // least of a window
	unsigned owner;          // the worker whose sessions packets are for, or BED_ANY
	struct rig_session *sessions;
	struct rte_mbuf **mbufs;
	struct bed_sample *samples;
	uint8_t *ifaces; // [n_mbufs]: where each is received
	struct turn turn;
	uint64_t sent[SIDES], sent_bytes[SIDES]; // user packets that were worked on
	uint64_t interrupted;                    // batches left out, ever
};

// Memory that a bed of this size needs, in MB; conf->memory_mb is not looked at.
unsigned bed_memory_mb(const struct bed_conf *conf);
struct bed *bed_new(const struct bed_conf *conf);
// Sees that all that was sent was counted, and frees.
void bed_free(struct bed *bed);

// Packet number i, another each time, whose bytes are put into its mbuf by bed_restore().
void bed_packet_make(struct bed *bed, uint32_t i);
void bed_restore(struct bed *bed, uint32_t i);

// Makes n_mbufs packets (a multiple of BED_BATCH) of random sessions.
#define BED_BATCH 64u
void bed_fill(struct bed *bed, enum cost_direction direction, uint32_t n_mbufs);
// Makes those of from..to for sessions of this worker, or of any; bed_fill() has said how many there are.
#define BED_ANY UINT_MAX
void bed_fill_part(struct bed *bed, enum cost_direction direction, uint32_t from, uint32_t to,
		   unsigned owner);
// Sees that the sessions of all packets were metered, where their worker has worked on them all.
void bed_check_meters(const struct bed *bed);

// As a port's receive function leaves packets at..at+n in the turn's array.
void bed_receive(struct bed *bed, uint32_t at, unsigned n);
// What worker w has queued for its ports must be n packets, at..at+n, worked on; puts them back as they were.
void bed_take(struct bed *bed, struct worker *w, uint32_t at, unsigned n);

// Finished frames: without a tunnel on N6, with one on N3, and their TTL one less. Ends the program where not.
void bed_frames_check(const struct worker_tx *tx, bool tunnelled);

// Times of batches, summed up. One in which the system took the CPU away does not count for anything, since no packet
// takes as long as that; where all seem to be so (under an emulator), all count.
#define BED_CYCLES_MOST 2000u // a packet
struct bed_sum {
	uint64_t cycles, packets;         // of batches that count
	uint64_t all_cycles, all_packets; // of all
	uint64_t interrupted;             // batches that do not count
};
void bed_sum_add(struct bed_sum *sum, uint64_t cycles, unsigned n);
double bed_sum_mean(const struct bed_sum *sum); // cycles a packet

// One window of W at worker w: cycles a packet.
double bed_window(struct bed *bed, struct worker *w);
// The parts of W at worker w: of a window whose batches are all samples.
void bed_services(struct bed *bed, struct worker *w, struct cost_row *row);

// The windows of W, and of handoff from worker 0 to worker 1 (rows[0] the receiver's, rows[1] the owner's), each on
// one of `cpus`. n_mbufs is a multiple of BED_CHUNK.
#define BED_CHUNK 1024u
void cost_work(struct bed *bed, unsigned windows, struct cost_row *row);
// The windows of W with flows: packets of as many flows as the bed has, visited in random order (cost_flows.c).
void cost_flows(struct bed *bed, unsigned windows, struct cost_row *row);
void cost_handoff(struct bed *bed, unsigned windows, const cpu_set_t *cpus,
		  struct cost_row rows[2]);
// The windows of W by all of the bed's workers at once, on a CPU each (cost_workers.c), which must be there. The packets
// are shared out evenly in their order: the first half is received by worker 0.
#define COST_WORKERS_MOST 2
void cost_workers(struct bed *bed, unsigned windows, const cpu_set_t *cpus, struct cost_row *row);
// Puts the thread on the n-th of these CPUs, if there are so many.
void cost_pin(const cpu_set_t *cpus, unsigned n);

// Loops that have nothing to do with Sluice: cycles for a packet's header copied between cold buffers, and for
// a lookup in an rte_hash of 65,536 keys.
struct cost_references {
	struct summary memcpy_cycles, hash_cycles;
};
void cost_references(unsigned windows, struct cost_references *ret);
