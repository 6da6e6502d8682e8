// Mailbox: commands of the control thread to a worker, and their answers.
//
// One single-producer single-consumer ring each way and worker, of pointers to struct mail. The control
// thread makes a mail and owns it again once it has come back; between, it is the worker's. The worker
// carries out a bounded number between two bursts, in order; one that takes longer goes on in the next turn, and
// those behind it wait for it. A mail cannot fail for want of room: the control thread keeps a queue for what the
// ring does not take.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/peer.h"
#include "session/session.h"
#include "worker/buffer.h"
#include "worker/flows_look.h"
#include "worker/key_miss.h"
#include "worker/nat_look.h"

struct worker;

#define MAIL_TUNNELS 16 // tunnel records that one mail may write

#define MAIL_END_MARKERS (SESSION_PLACES + 1) // as many as a session has tunnels to send to

enum mail_type {
	MAIL_SESSION_SET,   // image, tunnels, policy: install or replace a session
	MAIL_POLICY_SET,    // image.slot, image.version, policy: that alone
	MAIL_SESSION_CLEAR, // image.slot, image.version, tunnels: end it; counts are answered
	MAIL_SESSION_COUNT, // image.slot: counts are answered; image.version: policy, if any, is filled
	MAIL_BUFFER_DROP,  // image.slot, image.version: drop the packets held
	MAIL_BUFFER_AGAIN, // the same: the SMF was not told of them after all
	MAIL_PEER_SET,     // peer: write the worker's copy
	MAIL_FLOWS_LOOK,   // flows: a page of them
	MAIL_FLOW_CLEAR,   // flows.id: end this one
	MAIL_FLOWS_CLEAR,  // flows: end these
	MAIL_NAT_LOOK,     // nat: a page of blocks
	MAIL_KEYS_LOOK,    // misses: the last key of each kind that led nowhere
	MAIL_NOTHING,      // only comes back: every mail before it has been carried out
};

struct mail {
	enum mail_type type;
	int result; // written by the worker: 0 or -errno
	union {
		struct {
			struct session_image image;
			uint32_t n_tunnels; // records to write; a `check` of 0 frees the record
			struct {
				uint32_t record;
				struct tunnel tunnel;
			} tunnels[MAIL_TUNNELS];
			// Tunnels that get an End Marker (TS 29.281 7.3.2) before the session is replaced.
			uint32_t n_end_markers;
			struct session_place end_markers[MAIL_END_MARKERS];
			// A new block of meters and usage, which may be NULL, if policy_new says that there
			// is one; the worker gives the old one back in its place. CLEAR gives it back too.
			// COUNT copies the session's into one of the same form.
			bool policy_new;
			bool buffer_drop; // SET: first drops the packets held
			struct policy *policy;
			struct session_counts counts; // written by the worker
			struct buffer_counts buffer;  // COUNT: likewise
		} session;
		struct {
			uint16_t index;
			struct peer peer;
		} peer;
		struct flows_look flows;
		struct nat_look nat;
		struct key_miss *misses; // [KEY_KINDS]
	};
	// Called on the control thread when the mail is back; it owns the mail then. NULL: just freed.
	void (*done)(struct mail *mail, void *ctx);
	void *ctx;
	struct mail *next; // the control thread's queue
};

// Control thread. A zeroed mail, NULL without memory. Free with free() if it is not posted.
struct mail *mail_new(enum mail_type type, void (*done)(struct mail *, void *), void *ctx);
// Never fails; the mail comes back through mailbox_collect.
void mail_post(struct worker *w, struct mail *mail);
// Runs `done` of every mail that has come back from `w`, posts what was queued. Returns how many came back.
unsigned mailbox_collect(struct worker *w);
// Whether any mail posted to `w` is not back, and how many.
bool mailbox_owes(const struct worker *w);
unsigned mailbox_outstanding(const struct worker *w);

// Worker. Carries out at most `most` mails.
void mailbox_run(struct worker *w, unsigned most);
