// Structs as few bytes: what rests in memory in great numbers and is seldom looked at.
//
// Octets that are zero are left out, and so are those that are what another struct has at the same place. So an
// array of items that are much alike takes little more than its first. Nothing is known of the fields: pointers
// are kept as they are, so what they point to is the caller's to pack. One thread; bytes never leave the process.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Takes structs in order, in memory of its own that is used again and again. All zero at first.
struct packer {
	uint8_t *bytes;
	size_t n, room;
	bool failed; // there was no memory: what was put since the last pack_begin() is lost
};

// Gives them back in the same order.
struct unpacker {
	const uint8_t *at;
};

void packer_fini(struct packer *p);

// Forgets what was put.
void pack_begin(struct packer *p);

// Adds a struct of `size` bytes, by what it differs in from `like`; NULL: from one that is all zero.
void pack_put(struct packer *p, const void *item, const void *like, size_t size);

// Reads the next struct; `like` must be equal to what it was put with, and may be `item` itself.
void unpack_get(struct unpacker *u, void *item, const void *like, size_t size);
