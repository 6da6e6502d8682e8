// The rules of a session as its SMF gave them, for `show session` (TS 29.244 7.5.2). Control thread.
//
// Each kind of rule is a table of the reply, with the names of TS 29.244.

#pragma once

#include <stdbool.h>

struct addr;
struct n4;
struct reply;
struct rules;
struct urr_volumes;

// All tables, into the object that is open.
void rules_put(struct reply *r, const struct n4 *n4, const struct rules *rules);

// The UE addresses that the PDRs name, each once, as one value.
void rules_put_ues(struct reply *r, const char *key, const struct rules *rules);

// The total, and the volumes up and down, as three values; none where they are not given.
void rules_put_volumes(struct reply *r, const struct urr_volumes *volumes);

// Whether a PDR names this UE address, or the prefix that it is in.
bool rules_have_ue(const struct rules *rules, const struct addr *ue);
