// PFCP associations, by Node ID (TS 29.244 6.2.6 to 6.2.8), with heartbeats and path failure (6.2.2, 6.2.3).
//
// Control thread only. An association is made by its SMF's request, or by ours (pfcp/call.h). Its Node ID
// stays its owner's while the owner answers: another address that claims it is refused, after the owner has
// been asked. There is a limit to associations, in all and for one address. How one is released gracefully
// stands in pfcp/release.h.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <time.h>

#include "base/addr.h"
#include "pfcp/n4.h"
#include "pfcp/node_id.h"
#include "pfcp/smf_set.h"
#include "pfcp/xact.h"

struct n4_session;
LIST_HEAD(n4_session_list, n4_session);

// Goes on with a request that has waited.
typedef void (*assoc_then_fn)(struct n4 *n4, struct n4_request *rq);

enum assoc_state {
	ASSOC_UP,
	ASSOC_LOST,   // path failure: its sessions are kept, it may come back
	ASSOC_ENDING, // its sessions are being ended; requests of it get 72
};

struct assoc {
	struct n4 *n4;
	LIST_ENTRY(assoc) next;
	struct node_id id;
	struct smf_set set;   // the other SMFs that may speak for it
	struct endpoint addr; // where it asked from; heartbeats go to this address, port 8805
	struct addr local;    // our address that it asked; requests of ours leave from there
	enum assoc_state state;
	uint32_t recovery;    // its Recovery Time Stamp
	uint64_t cp_features; // CP Function Features, first octet low; absent bits are 0
	bool by_us;           // it was our request that set it up
	time_t since_s;       // wall clock, when it was set up
	uint64_t heard_ns;    // when it last proved to be alive
	uint64_t lost_ns;     // ASSOC_LOST: since when
	uint64_t heartbeat_due_ns;
	uint32_t heartbeat; // our request that waits for an answer, 0: none
	// Graceful release (pfcp/release.h).
	bool releasing;      // no new sessions; the others go on until the SMF or time ends them
	uint64_t release_ns; // when it ends at the latest; UINT64_MAX: left to the SMF
	bool awaited;        // we asked for the release, and the SMF is expected to do it
	uint32_t update;     // that request of ours while it waits for an answer, 0: none
	uint64_t requests, heartbeats_rx, heartbeats_tx, path_failures;
	struct xact_list xacts; // its requests, kept or in progress
	// A setup that claims its Node ID from another address, while the owner is asked; or NULL.
	struct n4_request *claim;
	assoc_then_fn claim_then;
	// The request that waits until it has ended; or NULL.
	struct n4_request *ending;
	assoc_then_fn ending_then;
	// Written by the session half.
	struct n4_session_list sessions;
	uint32_t n_sessions;
	struct n4_session *next_end; // of those that are to end, where it goes on; or NULL
	void (*sessions_gone)(struct n4 *n4,
			      void *ctx); // called when the last one has ended; or NULL
	void *sessions_gone_ctx;
};

// NULL without memory.
struct assoc_table *assoc_table_new(void);
// Frees every association, without a word to its peer. Before the transactions.
void assoc_table_free(struct n4 *n4);

// A new association of the sender of a setup. NULL: too many, in all or for this address, or no memory.
struct assoc *assoc_add(struct n4 *n4, const struct node_id *id, const struct endpoint *from);

// What a setup, of either side, tells of the peer.
struct assoc_setup {
	struct endpoint addr; // of the peer
	struct addr local;    // of ours
	uint32_t recovery;
	uint64_t cp_features;
};

// The association is set up, for the first time or again.
void assoc_set_up(struct assoc *assoc, const struct assoc_setup *setup);

// The association with this Node ID, or NULL.
struct assoc *assoc_lookup(const struct n4 *n4, const struct node_id *id);

// An association of an address, or NULL, and whether the address has no other.
struct assoc *assoc_lookup_addr(const struct n4 *n4, const struct addr *addr, bool *ret_only);

// Our address that an association of this peer was set up with; ADDR_NONE: there is none.
struct addr assoc_local(const struct n4 *n4, const struct addr *peer);

// Whether a message from `from` may change the association itself: it comes from the address that set it up,
// from another of its SMF set, or from one that the configuration names among the peers.
bool assoc_speaks(const struct n4 *n4, const struct assoc *assoc, const struct endpoint *from);

// What a Recovery Time Stamp of the peer tells.
enum assoc_life {
	ASSOC_LIFE_SAME,
	ASSOC_LIFE_LATER,   // the peer has restarted
	ASSOC_LIFE_EARLIER, // the message is old, or the peer's clock was set back
};
enum assoc_life assoc_life(const struct assoc *assoc, uint32_t recovery);

// The peer has proved to be alive: a lost one is up again.
void assoc_heard(struct assoc *assoc);

// The peer was found to have restarted: its sessions and association end.
void assoc_restarted(struct n4 *n4, struct assoc *assoc);

// Ends its sessions, then the association, then calls `then` for `rq` (both may be NULL), which is
// discarded when another request waits already.
void assoc_end(struct n4 *n4, struct assoc *assoc, struct n4_request *rq, assoc_then_fn then);

// Asks the owner of a Node ID whether it lives, on behalf of `rq`, which claims it. Refused at once (false)
// when the owner was heard of within T1 or another claim waits; otherwise `rq` waits: `then` is called for
// it when the association has gone, and it is refused when the owner answers.
bool assoc_claim(struct n4 *n4, struct assoc *assoc, struct n4_request *rq, assoc_then_fn then);

// Sends the heartbeats that are due, and ends what has been lost or released for long enough.
void assoc_tick(struct n4 *n4);

// Calls `fn` for every association, in no order, until it gives false.
void assoc_each(const struct n4 *n4, bool (*fn)(void *ctx, const struct assoc *assoc), void *ctx);
uint32_t assoc_count(const struct n4 *n4);
const char *assoc_state_str(const struct assoc *assoc); // "up", "releasing", "lost", "ending"
