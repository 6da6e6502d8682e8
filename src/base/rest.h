// Numbers that rest: given back, and not to be used again for a time.
//
// A queue, first in, first out, in which each number stands once and can be looked up: of UE addresses and
// SEIDs that had a holder a moment ago, so that what still speaks of him meets nobody. Memory is that of
// the numbers that rest. Owned by one thread.

#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rest;

// `most` numbers at a time, or any number for 0; the oldest goes when one more is added. NULL without memory.
struct rest *rest_new(uint32_t most);
void rest_free(struct rest *rest);

// Puts a number at the end of the queue, also one that stands in it already. -ENOMEM: it does not rest.
int rest_add(struct rest *rest, uint64_t number, uint64_t now_ns);
bool rest_has(const struct rest *rest, uint64_t number);
// -ENOENT when it is not there.
int rest_del(struct rest *rest, uint64_t number);
// Takes out the oldest if it was added at `until_ns` or before. -EAGAIN when it was not, or there is none.
int rest_take(struct rest *rest, uint64_t until_ns, uint64_t *ret_number);
uint32_t rest_count(const struct rest *rest);
