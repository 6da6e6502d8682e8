// A usage has reached a mark: what the worker does, and what it tells the control thread (TS 29.244 5.2.2).
//
// One ring of events for each worker, the control thread consumes. What an event says has been taken out of the
// usage: it is counted nowhere else. With the ring full a usage keeps its counts and tries again with its next
// packet, so nothing is lost.

#pragma once

#include "session/usage.h"
#include "worker/worker.h"

struct usage_event {
	uint32_t slot, version; // of the session
	uint16_t serial;        // of its URR (rules/model.h)
	uint8_t hits;           // USAGE_HIT_ bits
	uint8_t spare[5];
	struct usage_counts counts; // zero unless the hits take or tell them
};

// Worker: the grant of this usage of the packet's session is used up.
void usage_mark(struct worker *w, const struct pkt *p, unsigned number) __attribute__((cold));
// Worker: counts a packet at the usages that its PDR lists: those that count it when it is delivered, or those that
// count it before QoS enforcement.
void usage_count_listed(struct worker *w, const struct pkt *p, bool before) __attribute__((cold));

// Worker: counts a packet that a URR of its PDR counts as dropped, if it is a downlink one (PDR_F_DROPS).
void usage_count_dropped(struct worker *w, const struct pkt *p) __attribute__((cold));

// Worker: tells what the session's usages have counted for which its next block asks that (USAGE_F_SPLIT), and takes it
// where the block would. False: the ring is full; call it again.
bool usage_splits_tell(struct worker *w, uint32_t slot, struct policy *next);

// Control thread: up to n events of this worker.
unsigned usage_events_take(struct worker *w, struct usage_event *ret, unsigned n);
