// SMF sets: several SMFs that may speak for the same sessions (TS 29.244 5.22, 8.2.129, 8.2.131).
//
// Control thread only. With one association for the set (SSET) its setup lists the addresses of the other SMFs; where
// each SMF has its own (MPAS), those of one SMF Set ID belong together. Whoever is neither a session's owner nor of
// its set gets 65, as if there were no such session. What an SMF says of its set is believed: where that must not be
// said by anyone, the configuration names those who may speak to us (n4.peers).

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "pfcp/codec.h"

struct assoc;
struct n4;
struct n4_session;

#define SMF_SET_ADDRS 32 // of one association

struct smf_set {
	char id[PFCP_NAME_MAX]; // "": none
	unsigned n_addrs;
	struct addr addrs[SMF_SET_ADDRS]; // of the other SMFs
};

// Reads SMF Set ID and Alternative SMF IP Addresses of an association's setup or update into `set`: what is
// absent stays. -EINVAL with the fault, and `set` as it was.
int smf_set_decode(const struct pfcp_msg *msg, struct smf_set *set, struct pfcp_fault *fault);

bool smf_set_has(const struct smf_set *set, const struct addr *addr);

// Whether the SMFs of two associations are of one set.
bool smf_set_same(const struct assoc *a, const struct assoc *b);

// Whether a message from this address may concern the session: it is its owner's, or of the owner's set.
bool smf_set_speaks(const struct n4 *n4, const struct n4_session *session, const struct addr *from);

// An address as a struct addr: IPv4 where there are both. ADDR_NONE where there is neither.
struct addr smf_set_addr(const struct pfcp_cp_address *address);
