// The N4 sockets: UDP, one for each address that the configuration names (TS 29.244 6.1). One of them may be
// a wildcard: the kernel then says which address a datagram came to, and an answer leaves from there.
//
// Control thread only, driven by its event loop, which it also gives a timer for n4_tick(). Datagrams of any
// size come and go whole; the kernel puts fragments together and makes them.

#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct event_base;
struct n4;
struct n4_endpoint;

// NULL with errno set and the reason logged; nothing is open then.
struct n4_endpoint *n4_endpoint_open(struct n4 *n4, struct event_base *base);
void n4_endpoint_close(struct n4_endpoint *ep);

// The `send` of struct n4: 0, or -errno. `ctx` is the endpoint. The datagram leaves in this turn of the event loop or, out
// of it, at the begin of the next one; should the socket not take it, n4_send_lost() is told.
int n4_endpoint_send(void *ctx, const struct addr *local, const struct endpoint *to,
		     const uint8_t *bytes, size_t len);

// The address that socket i is bound to: 0, or -ENOENT behind the last.
int n4_endpoint_local(const struct n4_endpoint *ep, unsigned i, struct endpoint *ret_local);
