// Waiting until the kernel has let go of a queue that an AF_XDP socket had.
//
// It does so in the background when the socket's process has ended. A driver must not meet a queue before: net_af_xdp
// that fails to open a socket goes on, when it is asked again, where its fill ring was, and the kernel finds nothing
// there but the first buffer, again and again.
//
// Control thread; sleeps.

#pragma once

#include <stdbool.h>

// Waits for up to 3 s. False: another socket has the queue still. True also where that cannot be found out. Needs
// CAP_NET_RAW.
bool xsk_queue_wait(const char *device, unsigned queue);
