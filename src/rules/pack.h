// The rules of a session while nobody looks at them: packed (base/pack.h).
//
// Control thread. Most sessions rest most of the time, and a packed model is about an eighth of one that can be
// read. What was fresh is packed as such: the rules are to be settled before (rules/model.h).

#pragma once

#include "base/pack.h"
#include "rules/model.h"

// Puts them behind what the packer has.
void rules_pack(struct packer *p, const struct rules *rules);
// Rules equal to those that were packed; NULL without memory, and then the reader is anywhere.
struct rules *rules_unpack(struct unpacker *u);
