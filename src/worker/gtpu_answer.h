// Dropping a GTP-U message and telling its sender why (TS 29.281 7.3.1, 7.2.3).
//
// Worker. The answer is made of the packet's buffer: the packet counts as dropped, the answer as made. How
// many are sent is bounded (limit.h), since anyone may ask for them.

#pragma once

#include "worker/worker.h"

// A G-PDU that leads to no session: an Error Indication, but for TEID 0, which nobody is given. Other messages
// get none.
void gtpu_drop_unknown(struct worker *w, struct pkt *p, enum drop reason) __attribute__((cold));

// A message with an extension header that must be understood and is not: which ones are.
void gtpu_drop_extension(struct worker *w, struct pkt *p) __attribute__((cold));
