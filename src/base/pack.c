// Structs as few bytes, see pack.h.
//
// Eight octets make a group. A group is a bit for each of its octets that is not zero, then these octets; groups
// of nothing but zeros are a zero octet and their number.

#include "base/pack.h"

#include <stdlib.h>
#include <string.h>

#define GROUP 8
#define RUN_MAX 255 // groups of zeros that one number counts
#define ROOM_LEAST 4096

static bool room_make(struct packer *p, size_t more)
{
	size_t room = p->room ? p->room : ROOM_LEAST;
	uint8_t *bytes;

	if (p->failed || p->n + more <= p->room)
		return !p->failed;
	while (room < p->n + more)
		room *= 2;
	bytes = realloc(p->bytes, room);
	p->failed = bytes == NULL;
	if (bytes == NULL)
		return false;
	p->bytes = bytes;
	p->room = room;
	return true;
}

// The octets from `at` on, as many as the struct has there, in memory's order; those beyond it are zero.
static uint64_t group_at(const void *item, size_t at, size_t size)
{
	uint64_t word = 0;

	if (size - at >= GROUP)
		memcpy(&word, (const uint8_t *)item + at, GROUP);
	else
		memcpy(&word, (const uint8_t *)item + at, size - at);
	return word;
}

static void group_put(struct packer *p, uint64_t word)
{
	uint8_t *mask = &p->bytes[p->n++];
	uint8_t octets[GROUP];

	memcpy(octets, &word, GROUP);
	*mask = 0;
	for (unsigned i = 0; i < GROUP; i++) {
		if (octets[i] == 0)
			continue;
		*mask |= (uint8_t)(1u << i);
		p->bytes[p->n++] = octets[i];
	}
}

static void run_put(struct packer *p, unsigned *run)
{
	if (*run == 0)
		return;
	p->bytes[p->n++] = 0;
	p->bytes[p->n++] = (uint8_t)*run;
	*run = 0;
}

void packer_fini(struct packer *p)
{
	free(p->bytes);
	*p = (struct packer){0};
}

void pack_begin(struct packer *p)
{
	p->n = 0;
	p->failed = false;
}

void pack_put(struct packer *p, const void *item, const void *like, size_t size)
{
	unsigned run = 0;

	// A group takes a ninth octet at most, or two when it is the only one of zeros.
	if (!room_make(p, size + 2 * (size / GROUP + 1)))
		return;
	for (size_t at = 0; at < size; at += GROUP) {
		uint64_t word = group_at(item, at, size);

		if (like)
			word ^= group_at(like, at, size);
		if (word == 0 && run < RUN_MAX) {
			run++;
			continue;
		}
		run_put(p, &run);
		if (word == 0)
			run = 1;
		else
			group_put(p, word);
	}
	run_put(p, &run);
}

static uint64_t group_get(struct unpacker *u, uint8_t mask)
{
	uint8_t octets[GROUP] = {0};
	uint64_t word;

	for (; mask; mask &= (uint8_t)(mask - 1))
		octets[__builtin_ctz(mask)] = *u->at++;
	memcpy(&word, octets, GROUP);
	return word;
}

void unpack_get(struct unpacker *u, void *item, const void *like, size_t size)
{
	unsigned run = 0;

	for (size_t at = 0; at < size; at += GROUP) {
		uint64_t word = like ? group_at(like, at, size) : 0;
		size_t left = size - at;

		if (run == 0) {
			uint8_t mask = *u->at++;

			if (mask == 0)
				run = *u->at++;
			else
				word ^= group_get(u, mask);
		}
		run -= run > 0;
		memcpy((uint8_t *)item + at, &word, left < GROUP ? left : GROUP);
	}
}
