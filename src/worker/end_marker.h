// End Markers: the last message into a tunnel that a session leaves (TS 29.281 7.3.2, TS 23.501 5.6.3).
//
// Worker, between bursts: what it sent into the tunnel before is ahead of it in the same queue.

#pragma once

#include "worker/worker.h"

void end_marker_send(struct worker *w, struct session_place to);
