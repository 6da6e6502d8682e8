// PFCP sessions, as the control thread knows them: SEIDs, the rules as given, and what they hold.
//
// Control thread only. A session is known by its SEID, which is random, so that no peer can guess another's
// (TS 29.244 5.6.1 leaves it to us). One request at a time changes a session (pfcp/apply.h); further ones
// wait in order. The other half of a session, which packets need, is its owner worker's (session/session.h).

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <time.h>

#include "base/addr.h"
#include "base/pack.h"
#include "base/timers.h"
#include "pfcp/n4.h"
#include "port/eal.h"
#include "rules/compile.h"
#include "rules/model.h"
#include "rules/pack.h"
#include "session/session.h"
#include "session/slots.h"

#define N4_SESSION_WAITING_MAX 16 // requests that may wait for a session's turn

struct n4_change;
struct n4_downlink;   // pfcp/downlink.c
struct n4_inactivity; // pfcp/inactivity.c
struct n4_reporting;  // pfcp/report.c
struct n4_usage;      // pfcp/usage.c
struct pfcp_msg;
struct session_batch;
struct session_set;
struct rest;

// What a session's rules hold outside of the model: taken before the owner is told, given back after it has
// switched to others.
struct n4_holding {
	uint32_t rules; // place in the arena, 0: none
	uint16_t line_peer;
	uint16_t place_peers[SESSION_PLACES];
	uint8_t n_ue_keys;
	struct ue_key *ue_keys; // heap; of a session: while it is open
};

struct n4_waiting {
	STAILQ_ENTRY(n4_waiting) next;
	struct n4_request *rq;
};
STAILQ_HEAD(n4_waiting_list, n4_waiting);

// What a session has whose rules name applications or times, or that was once due for a change of its own.
struct n4_renewal {
	struct n4_session *session;
	bool due;                       // what its rules compile to has changed
	TAILQ_ENTRY(n4_renewal) of_due; // while it is
	// While its rules, or those of a change under way, name applications: up to which generation of their PFDs
	// it has been compiled or marked (pfcp/app_sessions.c); 0: they name none.
	TAILQ_ENTRY(n4_renewal) of_apps;
	uint64_t apps_generation;
	time_t edge_s;    // its rules' next edge in time, wall clock
	uint32_t edge_at; // its place in the heap of edges, from 1; 0: there is none
};

// There may be a million: what has a size stands without gaps, and what only some need is apart.
struct n4_session {
	uint64_t seid;    // ours; the peer's requests carry it
	uint64_t cp_seid; // the peer's; our answers carry it
	const struct addr
		*cp_addr; // of its CP F-SEID: reports go there. Kept (base/kept.h), as the next
	const struct addr *made_by; // where its establishment came from
	struct n4_session *next;    // in the bucket of its SEID
	struct n4_session *next_cp; // in that of its CP F-SEID
	struct assoc *assoc;
	LIST_ENTRY(n4_session) of_assoc;
	struct slot slot;
	uint32_t packed_bytes;
	uint8_t *packed; // its rules and what belongs to them, while nobody has it open; or NULL
	struct rules_pattern *pattern; // that they are packed against, or NULL
	struct rules *rules;    // while it is open: what the owner has; NULL until it first has any
	struct n4_usage *usage; // while it is open, or has a timer; NULL: it never had a URR
	struct session_set *set; // the sets that it is in; NULL: none (pfcp/session_set.h)
	struct n4_holding holding;
	struct n4_change *change; // under way, or NULL
	struct n4_waiting_list waiting;
	struct n4_reporting *reporting;   // NULL: it never had a report
	struct n4_downlink *downlink;     // NULL: no packet ever waited for its UE
	struct n4_inactivity *inactivity; // NULL: its SMF does not ask for it
	struct session_batch *batch;      // that it ends with, or NULL
	struct n4_request *successor;     // then done: an establishment with its CP F-SEID; or NULL
	struct n4_renewal *renewal; // NULL: its rules have never been compiled anew, nor are to be
	uint32_t since_s;           // wall clock
	uint16_t recent; // its place among those that were changed lately, from 1; 0: none
	uint8_t n_open;  // who has it open: a change, and those on the stack
	uint8_t n_waiting : 7;
	// Its association or a set of it ends, or it has a successor: it goes as soon as no change is under way.
	bool ending : 1;
};
static_assert(sizeof(struct n4_session) <= 240, "what is added here, a million sessions pay for");

// A session at rest is packed: its rules, its UE addresses and the records of its URRs take a tenth of their room.
// Changes of a session often follow each other, so the latest few (n4_conf.max_unpacked) do not rest yet.
// Whoever reads `rules`, `usage` or `holding.ue_keys` has it open meanwhile; a change under way has, too.
// False without memory. Sessions that have no rules yet open as well.
bool n4_session_open(struct n4_session *session);
void n4_session_close(struct n4_session *session);
// Whether its owner has rules of it.
bool n4_session_has_rules(const struct n4_session *session);
// A copy of its rules, without opening it; it has some. NULL without memory.
struct rules *n4_session_rules(const struct n4_session *session);

// NULL for a SEID that no session has.
struct n4_session *n4_session_lookup(const struct n4 *n4, uint64_t seid);
uint32_t n4_session_count(const struct n4 *n4);
// Calls `fn` for every session that its owner has, in no order, until it gives false. `fn` may not change any.
void n4_session_each(const struct n4 *n4, bool (*fn)(void *ctx, const struct n4_session *session),
		     void *ctx);
// The same, for the sessions from the one with this SEID on (its place, when it has gone): a page at a time.
void n4_session_each_from(const struct n4 *n4, uint64_t seid,
			  bool (*fn)(void *ctx, const struct n4_session *session), void *ctx);

// What the session's rules compile to has changed outside of its requests (time, an application's PFDs): as
// soon as no change is under way its own rules are compiled and given to its owner again. Many a session may
// be marked at once: each tick does a bounded number. Should it fail, the session keeps what it has, logged.
void n4_session_refresh(struct n4 *n4, struct n4_session *session);
static inline bool n4_session_is_due(const struct n4_session *session)
{
	return session->renewal && session->renewal->due;
}

// The session that stands in this slot of a worker's table, or NULL.
struct n4_session *n4_session_at(const struct n4 *n4, unsigned worker, uint32_t slot);

// The rest is for the session half alone.

TAILQ_HEAD(n4_renewal_list, n4_renewal);
TAILQ_HEAD(n4_reporting_list, n4_reporting);
TAILQ_HEAD(n4_downlink_list, n4_downlink);

struct n4_sessions {
	struct n4_session **buckets;
	uint32_t mask; // number of buckets less one
	uint32_t n;
	uint32_t n_changes;                 // under way
	struct n4_renewal_list due;         // sessions that are to be refreshed, in order
	struct n4_renewal_list of_apps;     // whose rules name applications, by apps_generation
	struct n4_reporting_list reporting; // sessions with reports to send
	struct n4_downlink_list downlinks;  // sessions whose SMF is to be told of packets that wait
	uint32_t n_reports;                 // of all sessions
	// Reads what an accepted report's answer says; NULL: nobody.
	void (*report_accepted)(struct n4 *n4, struct n4_session *session,
				const struct pfcp_msg *answer);
	// A request with reports was refused or not answered; what is of the moment alone has been forgotten.
	void (*report_failed)(struct n4 *n4, struct n4_session *session);
	struct n4_session **by_slot[MAX_WORKERS]; // [n_slots] of each worker
	struct n4_session **cp_buckets;           // by CP F-SEID, as many
	uint64_t cp_keys[2];                      // random: peers choose what is hashed
	struct n4_renewal **edges; // a heap, earliest first (edges.c); room for all sessions
	uint32_t n_edges;
	struct rest *seids;                    // of sessions that ended a short while ago
	struct timers silent;                  // of the sessions that are watched for silence
	struct timers usages;                  // of those with URRs
	struct remote_tunnels *remote_tunnels; // NULL: nobody wants to know
	struct compile_conf compile;
	struct packer packer;
	struct rules_patterns patterns;
	struct n4_session *
		*recent; // [conf.max_unpacked], a ring: closed, or open again, and not packed
	uint16_t recent_next;
	struct compile_ni *nis; // what compile points to
	uint8_t *policy_ifaces; // likewise
};

int n4_sessions_init(struct n4 *n4);
// The session has its slot; it gives it back.
void n4_slot_set(struct n4 *n4, struct n4_session *session);
void n4_slot_clear(struct n4 *n4, const struct n4_session *session);
void n4_sessions_fini(struct n4 *n4);

// A session of the association, with `seid` if that is not 0 and no session has it, else a random one that no
// session had for n4_conf.seid_rest_s. NULL
// without memory. It has no slot yet.
struct n4_session *n4_session_new(struct n4 *n4, struct assoc *assoc, uint64_t seid);
// Gives it to another association, of the same SMF set.
void n4_session_move(struct n4_session *session, struct assoc *assoc);
// Gives it this CP F-SEID. -ENOMEM: it keeps the one that it has.
int n4_session_cp_set(struct n4 *n4, struct n4_session *session, uint64_t cp_seid,
		      const struct addr *cp_addr);
// A session of the association with this CP F-SEID, or NULL.
struct n4_session *n4_session_cp_lookup(const struct n4 *n4, const struct assoc *assoc,
					uint64_t cp_seid, const struct addr *cp_addr);

// The session's, made where there is none: NULL without memory. It goes with the session.
struct n4_renewal *n4_renewal_get(struct n4_session *session);
void n4_renewal_free(struct n4 *n4, struct n4_session *session);
// Whether rules like these need one.
bool n4_renewal_needed(const struct rules *rules);

// Edges in time: when PDRs become active or inactive, the session is refreshed (edges.c). After each change of
// its rules its next edge is noted anew; before it is freed there must be none.
int session_edges_init(struct n4_sessions *table, uint32_t max_sessions); // 0, or -ENOMEM
void session_edge_note(struct n4 *n4, struct n4_session *session);
void session_edge_forget(struct n4 *n4, struct n4_session *session);
void session_edges_tick(struct n4 *n4);

void n4_session_packed_free(struct n4_session *session);
// Takes it off its association and frees it; what it held has been given back.
void n4_session_free(struct n4 *n4, struct n4_session *session);
