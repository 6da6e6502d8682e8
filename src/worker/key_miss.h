// Keys that led nowhere: the last one of each kind, to tell people what the packets were that a session or flow was
// looked for in vain. How many there were the drop reasons say.
//
// Worker; the control thread asks by mail (MAIL_KEYS_LOOK). A kind's next one is kept a millisecond later at the
// earliest, so that a flood of them costs a comparison each.

#pragma once

#include "session/key_kind.h"

struct worker;
struct pkt;

struct key_miss {
	struct flow_key key;
	uint64_t at; // rules/meter.h's units; 0: there was none. Asked for: how long ago
	bool v6;
};

// The packet's key of this kind leads to no session.
void key_missed(struct worker *w, const struct pkt *p, enum key_kind_own kind)
	__attribute__((cold));
// No flow has this key, nor is made for it.
void key_missed_flow(struct worker *w, const struct flow_key *key, bool v6) __attribute__((cold));

void key_misses_look(const struct worker *w, struct key_miss ret[KEY_KINDS]);
