// Put the link header on and queue the frame for its interface.
//
// Runs on the owner. A tunnelled packet already has its link header. A peer whose link address is not known
// yet sends its packets to the control thread, where they wait for the answer (neigh/).

#pragma once

#include "service/leave.h"
#include "worker/user_count.h"

static inline void output_one(struct worker *w, struct pkt *p)
{
	const struct peer *peer = &w->peers[p->peer];

	if (peer->kind == PEER_PLAIN && !leave_link(w, p, peer))
		return;
	user_count(w, p); // nothing but the port can still refuse it
	leave_send(w, p, peer);
}
