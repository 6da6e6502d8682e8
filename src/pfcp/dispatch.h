// From a datagram to the handler of its message (TS 29.244 6.4, 7.2, 7.6).
//
// Control thread only. The one table of what Sluice does with each message; adding a message is a row.

#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pfcp/n4.h"

// Takes the datagrams of n4_datagram().
void dispatch_datagram(struct n4 *n4, const struct endpoint *from, const uint8_t *bytes,
		       size_t len);
