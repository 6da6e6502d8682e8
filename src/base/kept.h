// Addresses that many things name: each is kept once, and named by a pointer.
//
// For records that stand a million times and have few different addresses among them, as those of SMFs and gNBs. Equal
// addresses have equal pointers. One set for the process; control thread only.

#pragma once

#include "base/addr.h"

// The address, with one user more; it stays where it is until the last one gives it back. NULL without memory.
const struct addr *kept_take(const struct addr *addr);
// NULL is nothing.
void kept_give(const struct addr *addr);
// The address if anybody has it, with no user more; or NULL.
const struct addr *kept_lookup(const struct addr *addr);
