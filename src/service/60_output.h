// Put the link header on and queue the frame for its interface.
//
// Runs on the owner. A tunnelled packet already has its link header. A plain one that is too long for its interface
// is cut where it may be; the sender of any other is told.

#pragma once

#include "service/leave.h"
#include "worker/user_count.h"

// A plain packet that does not fit.
void output_too_big(struct worker *w, struct pkt *p, const struct peer *peer) __attribute__((cold));

static inline void output_one(struct worker *w, struct pkt *p)
{
	const struct peer *peer = &w->peers[p->peer];

	if (peer->kind == PEER_PLAIN) {
		if (unlikely(p->user_bytes > peer->mtu)) {
			output_too_big(w, p, peer);
			return;
		}
		if (!peer_link(w, p, peer))
			return;
	}
	user_count(w, p); // nothing but the port can still refuse it
	peer_out(w, p, peer);
}
