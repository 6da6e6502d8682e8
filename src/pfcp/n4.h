// N4: the PFCP endpoint of the UPF (TS 29.244), its context and the seam between its two halves.
//
// Control thread only. The node half (endpoint, xact, assoc, handle_node) owns sockets, transactions and
// associations; the session half (n4_session, handle_session, apply) owns sessions. A datagram comes in by
// n4_datagram(), becomes a struct n4_request, is handed to the handler of its row in dispatch.c, and ends in
// exactly one n4_answer() or n4_discard(), at once or when a worker has acknowledged.

#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/addr.h"
#include "pfcp/codec.h"
#include "pfcp/load.h"
#include "pfcp/node_id.h"
#include "pfcp/writer.h"
#include "rules/compile.h"
#include "rules/model.h"

struct assoc;
struct assoc_table;
struct call_table;
struct event_base;
struct locator;
struct n4;
struct n4_endpoint;
struct n4_request;
struct n4_sessions; // of the session half
struct neigh;
struct pfd_table;
struct node_reports;
struct predefined_rule;
struct rule_arena;
struct slots;
struct ue_pools;
struct worker;
struct xact_in;
struct xact_table;

#define N4_LISTEN_MAX 8

// What happens to the sessions of a peer that no longer answers heartbeats.
enum n4_path_failure {
	N4_PATH_KEEP,      // they stay; the peer may come back with the same recovery time stamp
	N4_PATH_END,       // they end with the association
	N4_PATH_END_AFTER, // the same, unless the peer comes back within path_failure_ms
};

// What the configuration says of N4. Copied by n4_new().
struct n4_conf {
	struct endpoint listen[N4_LISTEN_MAX]; // family ADDR_NONE: not used
	struct node_id node_id;                // ours, in the form that answers carry
	const struct prefix *peers;            // who may speak to us
	unsigned n_peers;                      // 0: anyone
	uint32_t t1_ms;                        // wait for an answer before a request is sent again
	uint32_t n1;                           // sends of a request in all
	uint32_t heartbeat_s;                  // 0: we send none
	enum n4_path_failure path_failure;
	uint32_t path_failure_ms;
	const struct prefix *smfs; // those that we set associations up with, each a whole address
	unsigned n_smfs;
	uint32_t setup_retry_ms; // the longest wait between two attempts at that
	uint32_t recovery;       // our Recovery Time Stamp, NTP seconds; 0: this second
	uint32_t max_assocs;
	uint32_t max_assocs_per_addr;
	uint32_t max_sessions;
	uint32_t max_pdrs;     // a session
	uint32_t max_filters;  // SDF filters of a PDR
	uint16_t max_unpacked; // sessions whose rules stay unpacked for a while after a change
	uint32_t seid_rest_s;  // a SEID is not given again before
	uint32_t max_answers;  // stored answers and requests in progress, in all
	uint32_t max_answers_per_peer; // of them, for one address
	uint64_t max_answer_bytes;     // memory of transactions above which the oldest answers go
	uint64_t max_waiting_bytes;    // memory of requests in progress
	uint32_t max_requests;         // requests of ours without an answer yet
	uint32_t max_reports;          // session reports that wait, of all sessions
	uint32_t traffic_stop_s;       // a silence of so long is the end of traffic (STOPT)
	bool error_reports;            // SMFs are told of Error Indications
	uint32_t max_apps;             // applications with PFDs
	uint32_t max_app_pfds;         // flow descriptions, URLs and so on of one application
	uint64_t max_pfd_bytes;        // memory of all PFDs that CP functions have given
	struct load_conf load;         // what is too much
};

// The values used where the configuration says nothing.
void n4_conf_init(struct n4_conf *conf);

// Roles of an interface, as bits.
#define N4_ROLE_N3 0x01
#define N4_ROLE_N6 0x02
#define N4_ROLE_N9 0x04

struct n4_iface {
	const char *name;
	uint8_t roles; // N4_ROLE_ bits
	bool has_v4, has_v6;
	struct in_addr v4;
	struct in6_addr v6;
};

// Whether all addresses of the F-TEID, of which there is one at least, are the interface's.
static inline bool n4_iface_is_local(const struct n4_iface *iface, const struct fteid *fteid)
{
	bool v4 = iface->has_v4 && iface->v4.s_addr == fteid->v4.s_addr;
	bool v6 = iface->has_v6 && memcmp(&iface->v6, &fteid->v6, sizeof(fteid->v6)) == 0;

	return (v4 || !fteid->has_v4) && (v6 || !fteid->has_v6) && (fteid->has_v4 || fteid->has_v6);
}

// A network instance (TS 29.244 8.2.4); its index is its place in n4_env.nis.
struct n4_ni {
	const char *name;
	uint8_t iface;              // of its N6 side: the address space of its UEs
	const struct prefix *pools; // of its UEs' addresses
	unsigned n_pools;
	enum ue_to_ue ue_to_ue;
	bool redirects;    // its FARs may redirect
	uint64_t services; // bits that the flows of its sessions have in their chains
};

// A forwarding policy (TS 29.244 8.2.23); its number is its place in n4_env.policies, from 1.
struct n4_policy {
	const char *name;
	uint8_t iface; // N6 interface that packets leave by
};

// The parts of the daemon that sessions are made in. All outlive the context.
struct n4_env {
	struct slots *slots;
	struct locator *locator;
	struct ue_pools *ue_pools; // NULL: no UE address is picked here
	struct rule_arena *arena;
	struct neigh *neigh;
	struct worker **workers;
	unsigned n_workers;
	const struct n4_iface *ifaces;
	unsigned n_ifaces;
	const struct n4_ni *nis;
	unsigned n_nis;
	unsigned default_ni; // of rules that name none
	const struct n4_policy *policies;
	unsigned n_policies; // 255 at most
	const struct predefined_rule *predefined;
	unsigned n_predefined;
	// The chain of a direction for rules with these needs (rules/compile.h); service_chain() but in tests.
	uint64_t (*chain)(void *ctx, bool up, unsigned needs);
	void *chain_ctx;
	// Says that a prefix of a UE, or one behind it, outside of the configured pools is in use, or no longer.
	// May be NULL.
	void (*ue_prefix)(void *ctx, unsigned iface, const struct prefix *prefix, bool add);
	void *ue_prefix_ctx;
	struct pfd_table *pfds; // n4_new() makes it
};

// The session half, as the node half sees it (pfcp/handle_session.c gives one; tests give others).
//
// establish, modify and del get requests whose mandatory parts decoded and whose sender has an association
// (rq->assoc). One that returns 0 has taken the request: it ends it by n4_answer() or n4_discard(), then or
// later. One that returns -errno has not, and the request is discarded and counted.
struct n4_session_ops {
	int (*init)(struct n4 *n4);  // sets n4->sessions. 0, or -errno
	void (*fini)(struct n4 *n4); // ends every request that waits, too
	int (*establish)(struct n4 *n4, struct n4_request *rq);
	int (*modify)(struct n4 *n4, struct n4_request *rq);
	int (*del)(struct n4 *n4, struct n4_request *rq); // Session Deletion Request
	// Answers a session request that the node half refuses: `fault` says why (72: no association; what
	// the decoder found). rq->msg holds what did decode. Ends the request, at once.
	void (*refuse)(struct n4 *n4, struct n4_request *rq, const struct pfcp_fault *fault);
	// Does what time has made due for sessions. May be NULL.
	void (*tick)(struct n4 *n4);
	// Session Set Deletion and Modification Requests of an association; both end the request.
	void (*end_set)(struct n4 *n4, struct n4_request *rq);
	void (*change_set)(struct n4 *n4, struct n4_request *rq);
	// Ends the sessions of the association that this setup does not ask to retain (TS 29.244 6.2.6.2.2). True
	// when there are any: `then` is called for the request when they have gone; false: it can go on.
	bool (*retain)(struct n4 *n4, struct assoc *assoc, struct n4_request *rq,
		       void (*then)(struct n4 *n4, struct n4_request *rq));
	// The association of the session with this SEID of ours, or NULL.
	struct assoc *(*owner)(struct n4 *n4, uint64_t seid);
	// Ends every session of the association and every request of it that waits; `done` is called once
	// when the last is gone, possibly before this returns. No further request of the association
	// arrives in between, and no reference to it may be kept afterwards.
	void (*end_all)(struct n4 *n4, struct assoc *assoc, void (*done)(struct n4 *n4, void *ctx),
			void *ctx);
};

extern const struct n4_session_ops n4_session_ops; // pfcp/handle_session.c

// Everything that is counted once for the context: N4_COUNTER(name, what a person reads).
#define N4_COUNTERS(N4_COUNTER)                                                                    \
	N4_COUNTER(rx, "datagrams received")                                                       \
	N4_COUNTER(rx_bytes, "bytes of those datagrams")                                           \
	N4_COUNTER(tx, "datagrams sent")                                                           \
	N4_COUNTER(tx_bytes, "bytes of those datagrams")                                           \
	N4_COUNTER(tx_failed, "datagrams that the socket did not take")                            \
	N4_COUNTER(duplicates, "repeated requests that got the stored answer")                     \
	N4_COUNTER(duplicates_waiting, "repeated requests whose answer is still being worked on")  \
	N4_COUNTER(retransmissions, "requests of ours that were sent again")                       \
	N4_COUNTER(timeouts, "requests of ours that nobody answered")                              \
	N4_COUNTER(overload_refused, "new sessions refused because of overload")                   \
	N4_COUNTER(node_reports_failed, "Node Reports of ours that were not sent or not accepted") \
	N4_COUNTER(path_failures, "peers that stopped to answer heartbeats")                       \
	N4_COUNTER(peer_restarts, "peers that came back with a later recovery time stamp")         \
	N4_COUNTER(path_drops, "associations that ended since the peer did not come back in time") \
	N4_COUNTER(takeovers_refused, "attempts to take the Node ID of a living peer")             \
	N4_COUNTER(reports_lost, "session reports that there was no room for")                     \
	N4_COUNTER(reports_refused, "session reports that an SMF did not accept")                  \
	N4_COUNTER(pfds_full, "PFD requests refused: as many as are allowed")                      \
	N4_COUNTER(assocs_full, "setups refused: as many associations as are allowed")             \
	N4_COUNTER(setups_failed, "setups of ours that were refused or not answered")              \
	N4_COUNTER(release_refused, "sessions refused: the association is being released")         \
	N4_COUNTER(release_expired, "associations whose graceful release period ran out")          \
	N4_COUNTER(answers_evicted, "stored answers given up early, to make room")                 \
	N4_COUNTER(requests_full, "requests of ours not sent: too many have no answer yet")        \
	N4_COUNTER(discard_peer, "discarded: the sender is not among the peers allowed")           \
	N4_COUNTER(discard_header, "discarded: header that cannot be trusted")                     \
	N4_COUNTER(discard_version, "discarded: another version, answered as such")                \
	N4_COUNTER(discard_malformed, "discarded: IEs that do not decode")                         \
	N4_COUNTER(discard_type, "discarded: unknown message type")                                \
	N4_COUNTER(discard_unasked, "discarded: a response nobody asked for")                      \
	N4_COUNTER(discard_stale, "discarded: of an earlier life of the peer")                     \
	N4_COUNTER(discard_full, "discarded: no room for a further request")                       \
	N4_COUNTER(discard_bundle, "discarded: the rest of a datagram with too many messages")     \
	N4_COUNTER(discard_handler, "discarded: its handler could not serve it")

enum n4_counter {
#define N4_COUNTER(name, text) N4_COUNT_##name,
	N4_COUNTERS(N4_COUNTER)
#undef N4_COUNTER
		N4_COUNTER_TYPES
};

struct n4_counters {
	uint64_t counter[N4_COUNTER_TYPES];
	uint64_t rx[256];        // messages understood, by type
	uint64_t tx[256];        // messages sent, by type; an answer sent again counts again
	uint64_t causes_tx[256]; // answers made, by cause
	uint64_t causes_rx[256]; // answers received, by cause
};

const char *n4_counter_str(enum n4_counter counter);
const char *n4_counter_help(enum n4_counter counter);

struct n4 {
	struct n4_conf conf;
	struct n4_env env;
	const struct n4_session_ops *ops;
	struct n4_counters counters;
	uint32_t recovery; // our Recovery Time Stamp, NTP seconds
	struct assoc_table *assocs;
	struct xact_table *xacts;
	struct call_table *calls;
	bool leaving;      // the daemon is to stop: no new associations
	uint64_t leave_ns; // when it stops at the latest
	struct node_reports *reports;
	struct load load;
	struct n4_endpoint *endpoint; // NULL: not open
	struct n4_sessions *sessions;
	uint64_t waiting_bytes; // memory of requests in progress
	struct addr local; // where the datagram that is being taken came to; ADDR_NONE: not known
	// Where datagrams leave to, from our address `local` (ADDR_NONE: any of ours); the endpoint's,
	// or a test's. 0, or -errno.
	int (*send)(void *ctx, const struct addr *local, const struct endpoint *to,
		    const uint8_t *bytes, size_t len);
	void *send_ctx;
	uint8_t out[PFCP_MSG_MAX]; // where answers are put together; valid until the next one is
};

// A request of a peer, from its arrival to its answer.
struct n4_request {
	struct n4 *n4;
	struct assoc *assoc;  // of its sender; NULL: none, which only `refuse` sees
	struct endpoint from; // who gets the answer
	struct addr local;    // our address that it asked, and that answers
	uint64_t cp_features; // of its association
	uint32_t seq;
	uint8_t type;
	bool keep;            // node half: its answer is kept for duplicates
	bool retained;        // node half: a setup that has kept sessions as it was asked to
	struct xact_in *xact; // node half: its transaction, or NULL
	struct pfcp_msg msg;  // decoded; points into bytes
	size_t len;
	uint8_t bytes[]; // the message: valid until n4_answer() or n4_discard()
};

// NULL without memory. `ops` is &n4_session_ops but in tests. No socket yet.
struct n4 *n4_new(const struct n4_conf *conf, const struct n4_env *env,
		  const struct n4_session_ops *ops);
void n4_free(struct n4 *n4);

// Opens the sockets and the timer. 0, or -errno (logged, with the address). Nothing is read or sent before the
// second of our Recovery Time Stamp has come: a daemon that takes the second after its start then never has
// the same stamp as the one that it replaces, however fast it follows.
int n4_start(struct n4 *n4, struct event_base *base);
void n4_stop(struct n4 *n4);

// The daemon is to stop: asks every SMF to release its association within the period (TS 29.244 6.2.7.3). No
// association and no session is accepted from now on; those that there are go on.
void n4_leave(struct n4 *n4, uint32_t period_s);
// Whether there is nothing left to wait for after n4_leave().
bool n4_has_left(const struct n4 *n4);

// Takes one datagram, which came to n4->local. `bytes` may be reused afterwards.
void n4_datagram(struct n4 *n4, const struct endpoint *from, const uint8_t *bytes, size_t len);

// Does what time has made due: retransmissions, heartbeats, expiry of stored answers.
void n4_tick(struct n4 *n4);

// Begins the answer to a request, of type rq->type + 1 and with its sequence number, in n4->out: only one is
// open at a time. `seid` goes into the header of session messages.
void n4_answer_begin(struct n4_request *rq, struct pfcp_writer *ret_w, uint64_t seid);

// Closes the answer, sends it, keeps it for duplicates, and frees the request.
void n4_answer(struct n4_request *rq, struct pfcp_writer *w);

// Ends a request without an answer and frees it; `why` is counted.
void n4_discard(struct n4_request *rq, enum n4_counter why);

// Sends a message to a peer from an address of ours, counted; what the socket does not take is lost, as on
// any network.
void n4_send(struct n4 *n4, const struct addr *local, const struct endpoint *to,
	     const uint8_t *bytes, size_t len);

// The endpoint's: the socket did not take what n4_send() gave it.
void n4_send_lost(struct n4 *n4, const uint8_t *bytes, size_t len);

static inline void n4_count(struct n4 *n4, enum n4_counter counter)
{
	n4->counters.counter[counter]++;
}
