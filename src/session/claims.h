// Claims: the IPv6 prefixes that are UEs' own, so that no two sessions have overlapping ones; but for the /64s of dense
// pools, which the locators keep by themselves (session/locator.c).
//
// Control thread only. The locators find a packet's session by its longest prefix, which two sessions may
// well share by intent: framed routes overlap. Addresses of UEs must not, of whatever lengths they are, since
// a UE may send from all of its prefix. An ordered list with random levels (a skip list): each operation
// looks at a number of claims that grows with the logarithm of all.

#pragma once

#include <stdint.h>

#include "base/addr.h"
#include "packet/pkt.h"

struct claims;

// NULL without memory.
struct claims *claims_new(void);
void claims_free(struct claims *claims);

// -EEXIST: another session has this prefix, one around it, or one within it; or the same session has it
// already. -ENOMEM. Nothing is changed then.
int claims_add(struct claims *claims, unsigned iface, const struct prefix *prefix,
	       struct session_ref ref);
// -ENOENT when the prefix is not claimed.
int claims_del(struct claims *claims, unsigned iface, const struct prefix *prefix);
// Whether any session claims the prefix, one around it, or one within it.
bool claims_overlap(const struct claims *claims, unsigned iface, const struct prefix *prefix);
// The same, but for the claims of one session.
bool claims_overlap_others(const struct claims *claims, unsigned iface, const struct prefix *prefix,
			   struct session_ref but);
