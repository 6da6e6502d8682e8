// The peers (session/peer.h) of the tunnels that a session's FARs send to.
//
// Control thread only; inside pfcp/.

#pragma once

#include "pfcp/n4_session.h"
#include "rules/compile.h"

// The peer of a tunnel, one reference taken. 0, -ENETUNREACH or -ENOSPC (neigh/neigh.h).
int far_peer_take(struct n4 *n4, const struct tunnel_out *to, uint16_t *ret_peer);
// Gives it back, if it is one.
void far_peer_give(struct n4 *n4, uint16_t *peer);

// Takes those of all tunnels of the compiled rules into `holding`. 0, or -EINVAL with the fault and none taken.
int far_peers_take(struct n4 *n4, const struct rules *rules, const struct compiled *compiled,
		   struct n4_holding *holding, struct pfcp_fault *fault);
void far_peers_give(struct n4 *n4, struct n4_holding *holding);
