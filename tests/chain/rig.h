// The data path in process: workers, neighbours and ring ports, driven turn by turn by one test thread.
//
// Interface RIG_N3 is the access side, RIG_N6 the core side; each has one queue pair a worker, made of rings
// that the test fills and empties. Nothing runs by itself: rig_turn() gives each worker one turn and the
// control thread one look at its rings, so a test decides what happens before what. Time is the clock's
// (base/clock.h), which tests stop and move.

#pragma once

#include <rte_mbuf.h>

#include "rules/compile.h"
#include "rules/model.h"
#include "session/slots.h"
#include "worker/control.h"

#define RIG_N3 0
#define RIG_N6 1
#define RIG_IFACES 2
#define RIG_FRAME_MAX 2048

#define RIG_N3_ADDR "10.10.3.1"
#define RIG_GNB "10.10.3.2"
#define RIG_N6_ADDR "10.10.6.1"
#define RIG_N6_ADDR6 "fd00:6::1"
#define RIG_DN "10.10.6.2" // also the gateway
#define RIG_DN6 "fd00:6::2"
#define RIG_SERVER "192.0.2.10" // behind the gateway
#define RIG_SERVER6 "2001:db8:ffff::10"
#define RIG_POOL "10.45.0.0/16"
#define RIG_POOL6 "2001:db8::/44"

struct rig_conf {
	unsigned n_workers;
	uint32_t n_slots, n_tunnels; // a worker
	uint32_t handoff_ring;       // 0: 1024
	unsigned mbufs;              // 0: 8192
	unsigned memory_mb;          // 0: 512
	bool huge;                   // hugepages if there are any
};

struct rig {
	struct rig_conf conf;
	struct control control;
	struct locator *locator;
	struct rule_arena arena;
	struct slots *slots;
	struct teid_scheme teids;
	struct rte_mempool *pool;
	struct rte_ring *rx[RIG_IFACES][MAX_WORKERS]; // the test fills
	struct rte_ring *tx[RIG_IFACES][MAX_WORKERS]; // the test empties
	uint16_t ports[RIG_IFACES];
	uint64_t sent, received; // frames by the test
};

// One session of the rig, and what it was made of.
struct rig_session {
	struct slot slot;
	uint32_t teid;     // ours, for uplink
	uint32_t gnb_teid; // the gNB's, for downlink
	uint16_t peer;
	uint32_t rules; // place in the arena
	struct addr ue_v4, ue_v6;
};

// Starts EAL once in the process. Ends the process with a message on failure, as do all makers here: a test
// cannot go on.
void rig_die(const char *what) __attribute__((noreturn));
struct rig *rig_new(const struct rig_conf *conf);
void rig_free(struct rig *rig);

// The ordinary rules of session number n: two PDRs a direction, the first with a filter (UDP to port 5000 of the
// data network), QFI 1 and 2, FORW both ways. Freed by rules_free().
struct rules *rig_rules_new(uint32_t n);
// Session number n (from 0): UE addresses number n + 1 of the pools. `rules` NULL: the ordinary ones.
void rig_session_add(struct rig *rig, uint32_t n, const struct rules *rules, struct rig_session *ret);
void rig_session_del(struct rig *rig, struct rig_session *s);
// The halves of rig_session_del(), for tests of what happens between: 1 takes it out of the locators and
// posts the command, 2 gives the slot back.
void rig_session_close(struct rig *rig, struct rig_session *s);
void rig_session_forget(struct rig *rig, struct rig_session *s);

void rig_send(struct rig *rig, unsigned iface, unsigned worker, const void *frame, size_t bytes);
// The next frame that any worker sent by this interface: its length, 0 for none.
size_t rig_recv(struct rig *rig, unsigned iface, void *frame);
// One turn of each worker, then the control thread. Returns the packets worked on.
unsigned rig_turn(struct rig *rig);
// Turns until nothing moves any more.
void rig_settle(struct rig *rig);
// Answers the ARP and ND questions that were sent; other frames are kept for rig_recv(). Settles.
void rig_resolve(struct rig *rig);

uint64_t rig_drops(const struct rig *rig, enum drop reason); // of all threads
uint64_t rig_count(const struct rig *rig, enum counter counter);
// Whether every packet is accounted for, in all threads; says what is missing if not.
bool rig_accounted(const struct rig *rig);

// Every counter and drop that is not 0, on stderr: where packets went.
void rig_show(const struct rig *rig);

// --- frames ----------------------------------------------------------------------------------------------

struct rig_flow {
	uint8_t proto; // IPPROTO_UDP or IPPROTO_TCP
	uint16_t ue_port, dn_port;
	uint8_t ttl;
	uint16_t payload; // bytes after the L4 header
	uint8_t qfi;
	bool v6;
};

// An uplink G-PDU of the session, or a downlink packet for it, with right checksums. Give the length.
size_t rig_frame_up(const struct rig *rig, const struct rig_session *s, const struct rig_flow *flow,
		    uint8_t *frame);
size_t rig_frame_down(const struct rig *rig, const struct rig_session *s, const struct rig_flow *flow,
		      uint8_t *frame);
