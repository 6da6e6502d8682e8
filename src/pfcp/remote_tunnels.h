// Which session sends to a tunnel of a gNB or another UPF, for those that say that they do not know it: a GTP-U
// Error Indication becomes a session report with the remote F-TEID (TS 29.281 7.3.1, TS 29.244 5.10, 7.5.8.4).
//
// Control thread only. One table of all tunnels that a FAR forwards to, by TEID and address. It is kept only
// where such reports are wanted. Indications cannot be trusted, so each can do no more than have a session's
// SMF told once a second.

#pragma once

#include "base/addr.h"
#include "pfcp/n4.h"

struct n4_session;
struct remote_tunnels;
struct rules;

// NULL without memory. For about so many tunnels.
struct remote_tunnels *remote_tunnels_new(uint32_t n);
void remote_tunnels_free(struct remote_tunnels *table);

// The session's rules were `old` and are `rules` now; NULL: none.
void remote_tunnels_given(struct n4 *n4, struct n4_session *session, const struct rules *old,
			  const struct rules *rules);

// A peer says that it has no tunnel with this TEID at its address.
void n4_error_indication(struct n4 *n4, uint32_t teid, const struct addr *peer);
