// From a request's rules to the owner worker's table, and back: how a session changes (TS 29.244 5.2.1).
//
// Control thread only. The rules are checked and compiled as a whole, everything that they need is taken,
// and only then is the owner told. What can fail fails before; then all is given back and the session is as
// it was. When the owner has switched, the new rules take the model's place and what only the old ones
// needed is given back. Inside pfcp/ only.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pfcp/fteid.h"
#include "pfcp/n4_session.h"
#include "pfcp/usage.h"
#include "rules/compile.h"
#include "worker/mailbox.h"

// A change under way.
struct n4_change {
	struct n4 *n4;
	struct n4_session *session; // open; NULL: it, or the context, has ended meanwhile
	struct n4_request *rq;      // that asked for it; NULL: none did
	struct rules *rules;        // what the session is to have; NULL: it ends
	struct n4_holding holding;
	struct fteid_change tunnels;
	uint64_t cp_seid; // what these are to be
	struct addr cp_addr;
	unsigned n_end_markers; // of tunnels that are no longer sent to (SNDEM)
	struct n4_end_marker {
		struct tunnel_out to;
		uint16_t peer; // held until the owner has sent it; PEER_NONE: not yet
	} end_markers[MAIL_END_MARKERS];
	bool drop_buffer; // what is held goes before the rules change
	struct usage_change usage;
	struct policy *policy; // what the owner had of meters and usage until the change, or NULL
	unsigned mails;        // not back yet
	void (*done)(struct n4_change
			     *change); // the session has changed; the change is freed afterwards
};

// A change of the session on behalf of `rq`, which may be NULL; `rules` becomes the change's. NULL without
// memory: then it has been freed. The session is open for as long as there is the change.
struct n4_change *n4_change_new(struct n4 *n4, struct n4_session *session, struct n4_request *rq,
				struct rules *rules);
// Frees one that was not begun.
void n4_change_free(struct n4_change *change);

// Has an End Marker sent where this FAR of the session sends to so far, if the change makes it send elsewhere.
void n4_change_mark_end(struct n4_change *change, uint32_t far);

// Begins a change to other rules. 0: `done` will be called. -EINVAL with the fault: nothing was changed or
// kept, and the change is the caller's.
int n4_change_begin(struct n4_change *change, struct pfcp_fault *fault);
// Begins the end of the session: no packet finds it from now on. When `done` is called all that it held has
// been given back, its slot too. -ENOMEM: it stays as it is.
int n4_change_end(struct n4_change *change);

bool app_rules_name(const struct rules *rules); // any application
// The session is to have rules, which have been compiled, or no longer has them but has `left` (NULL: none): keeps
// account of the applications that they name (app_sessions.c). Who names any has its renewal.
void app_rules_taken(struct n4 *n4, struct n4_session *session, const struct rules *rules);
void app_rules_given(struct n4 *n4, struct n4_session *session, const struct rules *rules,
		     const struct rules *left);
// Marks a bounded number of the sessions that name applications whose PFDs have changed.
void app_sessions_tick(struct n4 *n4);

// Gives back all that the session and a change of it hold, without waiting for its owner: the context ends.
// The change's request is discarded; `done` will not be called.
void n4_session_abandon(struct n4 *n4, struct n4_session *session);
