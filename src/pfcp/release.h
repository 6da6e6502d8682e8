// Graceful release of associations (TS 29.244 6.2.7, 6.2.8, 8.2.77, 8.2.78).
//
// Control thread only. While an association is being released its sessions go on, and new ones are refused. It
// ends by the SMF's Association Release Request, or when the period is over (assoc_tick). It begins when the SMF
// gives a period in an Association Update Request, or when the daemon is to stop and asks for it (n4_leave in
// pfcp/n4.h), since it is always the SMF that releases. Final usage reports (EPFAR) are not offered.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pfcp/codec.h"

struct assoc;

// What an Association Update Request says of a release. A period of 0, or an empty one, takes it back; a release asked for without
// a period, and an infinite one, last until the SMF releases.
void release_asked(struct assoc *assoc, const struct pfcp_msg *msg);

// Whether a request of this type is refused, with the fault, since its association is being released.
bool release_refuses(const struct assoc *assoc, uint8_t type, struct pfcp_fault *fault);

// Milliseconds until it ends, UINT64_MAX: as long as the SMF likes. Only while assoc->releasing.
uint64_t release_left_ms(const struct assoc *assoc);
