// Duplicates of user packets (TS 29.244 5.2.1, 8.2.26: DUPL): what duplicate and buffer share.
//
// Runs on the owner. Each is a packet of its own from the worker's pool, as it came in: its TTL is the user's, and no
// URR counts it. One that is held has its duplicates made when it comes, not when it leaves.

#pragma once

#include "service/service.h"

// A duplicate to each destination that follows the FAR in its block, unless the packet has had them. The packet
// itself goes on, also where no buffer is free for a duplicate, which is then only counted.
void copy_once(struct worker *w, const struct pkt *p, const struct far *far) __attribute__((cold));
