// The data path in process: workers, neighbours and ring ports, driven turn by turn by one test thread.
//
// Interface RIG_N3 is the access side, RIG_N6 the core side; each has one queue pair a worker, made of rings
// that the test fills and empties. Nothing runs by itself: rig_turn() gives each worker one turn and the
// control thread one look at its rings, so a test decides what happens before what. Time is the clock's
// (base/clock.h), which tests stop and move.

#pragma once

#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include "rules/compile.h"
#include "rules/model.h"
#include "session/slots.h"
#include "worker/control.h"

#define RIG_N3 0
#define RIG_N6 1
#define RIG_IFACES 2
#define RIG_NIS 4 // network instances, all on RIG_N6; rules of rig_rules_new() have the first
#define RIG_FRAME_MAX 2048
#define RIG_BUFFER_PACKETS 64
#define RIG_BUFFER_BYTES 65536
#define RIG_BUFFER_MS 10000
#define RIG_BUFFER_ALL_PACKETS 256
#define RIG_BUFFER_ALL_BYTES 262144
#define RIG_TOLD 64
#define RIG_EMBRYONIC_MS 5000
#define RIG_ESTABLISHED_MS 120000
#define RIG_TCP_ESTABLISHED_MS 7440000
#define RIG_TCP_CLOSING_MS 240000

#define RIG_N3_ADDR "10.10.3.1"
#define RIG_N3_ADDR6 "fd00:3::1"
#define RIG_GNB "10.10.3.2"
#define RIG_GNB6 "fd00:3::2" // with rig_conf.v6: w.x.y.z of the rules is fd00:y::z then
#define RIG_N4_ADDR "10.10.4.1"
#define RIG_N6_ADDR "10.10.6.1"
#define RIG_N6_ADDR6 "fd00:6::1"
#define RIG_DN "10.10.6.2" // also the gateway
#define RIG_DN6 "fd00:6::2"
#define RIG_SERVER "192.0.2.10" // behind the gateway
#define RIG_SERVER6 "2001:db8:ffff::10"
#define RIG_POOL "10.45.0.0/16"
#define RIG_POOL6 "2001:db8::/44"

// What else a network instance says of its sessions' flows.
struct rig_ni {
	uint64_t services;
	struct flow_profile_conf flow_profile; // times of 0: RIG_EMBRYONIC_MS and so on
};

struct rig_conf {
	unsigned n_workers;
	uint32_t n_slots, n_tunnels;   // a worker
	uint32_t handoff_ring;         // 0: 1024
	uint32_t punt_ring, mail_ring; // 0: 256
	uint32_t nat_ring;             // 0: 1024
	unsigned n_peers;              // 0: 64
	unsigned hold_packets;         // 0: 8
	struct gtpu_path_conf path;    // echoes: none but when asked for
	uint16_t vlans[RIG_IFACES];    // 0: untagged
	const char *ue_range;          // the pool, around RIG_POOL; NULL: that
	bool no_gateway;               // N6 has no gateway
	bool v6;                       // N3 has no IPv4 address: tunnels are over IPv6
	bool no_udp6_cksum;            // these are sent without UDP checksums
	uint32_t answers;              // Error Indications, and notifications, at once and a second
	enum ue_to_ue ue_to_ue;        // UE_TO_UE_DIRECT but when asked for
	uint32_t icmp;                 // ICMP errors at once and a second
	struct gather_limits gather;   // datagrams 0: nothing is gathered
	bool fragment_outer;           // cut tunnels' packets, not users'
	uint16_t mtus[RIG_IFACES];     // 0: 1500
	bool one_device;             // both interfaces share the queues of one, and differ by VLAN
	const struct service *extra; // a service beside those of the tree
	bool policies; // forwarding policies 1, by RIG_HOP and RIG_HOP6, and 2, by RIG_HOP2
	uint64_t (*chain)(void *ctx, bool up, unsigned needs); // NULL: service_chain
	uint64_t services;                                     // for the flows of all sessions
	struct rig_ni nis[RIG_NIS - 1];                        // of the further network instances
	bool redirects;                                        // FARs may redirect
	uint32_t flows, flow_margin;                           // 0: 256, and none
	uint32_t flows_per_session;                            // 0: 256
	const struct acl *acl; // [RIG_NIS], or one if there are no further ones; NULL: none asks
	const struct nat_pool_conf *nat;       // of all sessions; NULL: no address is translated
	struct flow_profile_conf flow_profile; // of all sessions; times as in struct rig_ni
	unsigned mbufs;                        // 0: 8192
	struct buffer_limits buffers;          // of 0: RIG_BUFFER_
	unsigned buffer_mbufs;                 // 0: as many as may be held
	unsigned memory_mb;                    // 0: 512
	bool huge;                             // hugepages if there are any
	uint32_t sample_every; // turns, one of which is a sample (worker/profile.h); 0: hardly any
};

// Usage of all URRs together.
struct rig_usage {
	uint64_t events, thresholds, quotas, drops;
	uint64_t bytes[SIDES], packets[SIDES];
};

struct rig {
	struct rig_conf conf;
	struct control control;
	struct locator *locator;
	struct rule_arena arena;
	struct slots *slots;
	struct nat_pools nat;
	struct flow_profile_conf profiles[RIG_NIS];
	struct teid_scheme teids;
	struct rte_mempool *pool;
	struct rte_rcu_qsbr *qsbr;
	struct rte_ring *rx[RIG_IFACES][MAX_WORKERS]; // the test fills
	struct rte_ring *tx[RIG_IFACES][MAX_WORKERS]; // the test empties
	uint16_t ports[RIG_IFACES];
	uint64_t sent, received;     // frames by the test
	struct session_counts ended; // what the sessions that were closed had counted
	struct rig_usage usage;      // what was reported, and what closed sessions had not
	struct rte_mempool *buffer_pools[MAX_WORKERS];
	unsigned n_told; // events of downlink data, the first of them kept
	struct buffer_event told[RIG_TOLD];
};

#define RIG_TUNNELS 4

// A tunnel with a record of its own.
struct rig_tunnel {
	uint32_t record, teid;
	bool given; // the SMF chose the TEID
};

// One session of the rig, and what it was made of.
struct rig_session {
	struct slot slot;
	uint32_t teid;     // ours, for uplink
	uint32_t gnb_teid; // the gNB's, for downlink
	uint16_t peer;     // of the down line
	uint16_t place_peers[SESSION_PLACES];
	uint32_t rules; // place in the arena
	struct addr ue_v4, ue_v6;
	unsigned n_tunnels;
	struct rig_tunnel tunnels[RIG_TUNNELS]; // beyond the one of the up line
};

// Starts EAL once in the process. Ends the process with a message on failure, as do all makers here: a test
// cannot go on.
void rig_die(const char *what) __attribute__((noreturn));
// The address that is written so.
struct addr rig_addr(const char *text);
struct rig *rig_new(const struct rig_conf *conf);
void rig_free(struct rig *rig);

// The ordinary rules of session number n: two PDRs a direction, the first with a filter (UDP to port 5000 of the
// data network), QFI 1 and 2, FORW both ways. Freed by rules_free().
struct rules *rig_rules_new(uint32_t n);

// Rules that differ from the ordinary ones in one thing. Freed by rules_free().
enum rig_variant {
	RIG_ORDINARY,
	RIG_GATE_UP, // the uplink gate of both QERs is closed
	RIG_GATE_DOWN,
	RIG_FAR_DROP,
	RIG_FAR_BUFFER,
	RIG_NO_PDR,       // only the PDRs with a filter
	RIG_NO_QFI,       // QERs without QFI
	RIG_RQI,          // downlink packets tell of reflective QoS
	RIG_DSCP,         // downlink tunnels are marked EF
	RIG_TUNNEL_UP,    // tunnel 2, from the access side
	RIG_GIVEN,        // the same, its TEID chosen by the SMF
	RIG_GIVEN_LINE,   // tunnel 1 is the SMF's
	RIG_TUNNEL_DOWN,  // tunnel 2, from the core side: to the gNB
	RIG_PLACE,        // what the filter says goes to another gNB
	RIG_RELAY,        // all uplink goes into a tunnel towards another UPF
	RIG_SOLICIT,      // router solicitations go to the CP function
	RIG_SOLICIT_LOST, // the same, but no route leads there
	RIG_RATE,         // each QER has an MBR, of RIG_RATE_BPS
	RIG_RATES,        // beside it a third QER on all PDRs, which has no place in the line
	RIG_PACKET_RATE,  // each QER allows a packet a minute
	RIG_USAGE,        // a URR on all PDRs, counted in the line, threshold RIG_THRESHOLD
	RIG_USAGES,       // three URRs on all PDRs, the second with a threshold up, the third down
	RIG_QUOTA,        // a URR on all PDRs with a quota of RIG_QUOTA_BYTES
	RIG_STEER,        // downlink of the filter goes to N6 again
	RIG_COPIES,       // duplicates of both directions: to RIG_LI by GTP-U, to RIG_LI_UDP by UDP
	RIG_COPIES_DROP,  // the same, and the packets themselves are dropped
	RIG_COPIES_HELD,  // the same, and they are held
	RIG_UDP,          // uplink leaves in a UDP tunnel to RIG_UDP_END
	RIG_MARK,         // uplink is marked EF
	RIG_POLICY,       // uplink goes to RIG_HOP, RIG_HOP6, with a duplicate to RIG_HOP2 if IPv4
	RIG_VARIANTS
};
struct rules *rig_variant_new(enum rig_variant variant, uint32_t n);
#define RIG_RATE_BPS 1000000
#define RIG_THRESHOLD 3000
#define RIG_QUOTA_BYTES 20000
#define RIG_GNB2 "10.10.3.3"
#define RIG_SMF "10.10.3.4" // takes router solicitations
#define RIG_SMF_LOST "10.10.9.9"
#define RIG_LI "10.10.3.5"
#define RIG_LI_UDP "10.10.6.5"
#define RIG_LI_PORT 4711
#define RIG_UDP_END "192.0.2.20" // behind the gateway
#define RIG_UDP_PORT 4712
#define RIG_HOP "10.10.6.7"
#define RIG_HOP6 "fd00:6::7"
#define RIG_HOP2 "10.10.6.8"
#define RIG_GNB2_TEID 0x22000000u // each plus the session's number
#define RIG_RELAY_TEID 0x33000000u
#define RIG_SMF_TEID 0x44000000u
#define RIG_GIVEN_TEID 0x77000000u
#define RIG_LI_TEID 0x66000000u

// Session number n (from 0): UE addresses number n + 1 of the pools, beyond the pools for large n. `rules` NULL:
// the ordinary ones. Tunnels of the rules but a chosen number 1 get records.
void rig_session_add(struct rig *rig, uint32_t n, const struct rules *rules,
		     struct rig_session *ret);
// Gives the session other rules, with the same tunnels of its own. Settles.
void rig_session_change(struct rig *rig, struct rig_session *s, const struct rules *rules);
// The command to its owner that gives a session these rules of the arena, and a tunnel in its down line: for tests that
// post it themselves.
struct mail *rig_session_mail(const struct rig_session *s, uint32_t rules,
			      struct session_place line_out);
void rig_session_del(struct rig *rig, struct rig_session *s);
// The halves of rig_session_del(), for tests of what happens between: 1 takes it out of the locators and
// posts the command, 2 gives the slot back.
void rig_session_close(struct rig *rig, struct rig_session *s);
void rig_session_forget(struct rig *rig, struct rig_session *s);

// Writes the link address of an interface of any rig.
void rig_mac(unsigned iface, uint8_t mac[6]);
void rig_send(struct rig *rig, unsigned iface, unsigned worker, const void *frame, size_t bytes);
void rig_send_mbuf(struct rig *rig, unsigned iface, unsigned worker, struct rte_mbuf *mbuf);
// The next frame that any worker sent by this interface: its length, 0 for none.
size_t rig_recv(struct rig *rig, unsigned iface, void *frame);
// One turn of each worker, then the control thread. Returns the packets worked on.
unsigned rig_turn(struct rig *rig);
// Turns until nothing moves any more.
void rig_settle(struct rig *rig);
// Answers the ARP and ND questions that were sent; other frames are kept for rig_recv(). Settles.
void rig_resolve(struct rig *rig);
// The answer of the neighbour with this link address to such a question: its length, 0 if the frame is none.
size_t rig_answer(const uint8_t *question, const uint8_t mac[ETH_MAC_BYTES], uint8_t *answer);

// The bit of a service of the order, in a chain; 0: it is none of those.
uint64_t rig_service_mask(const struct service *service);
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
	uint8_t tos;
	const char *dn; // the other end; NULL: RIG_SERVER or RIG_SERVER6
};

// An uplink G-PDU of the session, or a downlink packet for it, with right checksums. Give the length.
size_t rig_frame_up(const struct rig *rig, const struct rig_session *s, const struct rig_flow *flow,
		    uint8_t *frame);
// Where the user packet starts in a frame of a tunnel, sent or received.
uint32_t rig_user_at(const struct rig *rig, uint8_t qfi);
// Puts Ethernet, IP and UDP headers of the gNB before a GTP-U message of `bytes` that is in its place,
// rig_gtpu_at() in the frame. Gives the frame's length.
size_t rig_outer_write(const struct rig *rig, uint16_t sport, size_t bytes, uint8_t *frame);
uint32_t rig_gtpu_at(const struct rig *rig);
size_t rig_frame_down(const struct rig *rig, const struct rig_session *s,
		      const struct rig_flow *flow, uint8_t *frame);
// An uplink G-PDU with a router solicitation from `source`.
size_t rig_frame_solicit(const struct rig *rig, const struct rig_session *s, const char *source,
			 uint8_t *frame);
// The gNB's Error Indication about its tunnel with this TEID, or one that says nothing.
size_t rig_frame_error(const struct rig *rig, uint32_t teid, bool says, uint8_t *frame);
