// Damage to PFCP messages, as a peer that is broken or hostile would do it: bits, numbers, lengths, the
// order of IEs, IEs twice, left out, nested and cut off, and pieces of one message in another.
//
// Knows the shape of a message (TS 29.244 7.2.2, 8.1.1) and nothing of Sluice's codec: a value is taken for
// a group when it reads as one. The same state gives the same damage, so that a seed is enough to see it
// again. For tests/fuzz and the sender of the smoke tests (storm.c).

#pragma once

#include <stddef.h>
#include <stdint.h>

#define MUTATE_HEADER_S 0x01
#define MUTATE_MSG_MAX 60000 // octets that a datagram takes anywhere

struct mutate_msg {
	const uint8_t *bytes;
	size_t len;
};

struct mutate {
	uint64_t state;                // the seed; not 0
	const struct mutate_msg *pool; // messages that pieces are taken from
	size_t n_pool;
};

uint64_t mutate_next(struct mutate *m);
// A number from 0 to n - 1.
uint32_t mutate_below(struct mutate *m, uint32_t n);

// Damages the message in place, once; it may become longer, up to `room`. The length afterwards.
size_t mutate_once(struct mutate *m, uint8_t *bytes, size_t len, size_t room);

// What gets a damaged message past the checks of its header: the length of the datagram's only message, and
// a SEID and a sequence number. Messages that are too short for one are left without.
void mutate_length_set(uint8_t *bytes, size_t len);
void mutate_seid_set(uint8_t *bytes, size_t len, uint64_t seid);
void mutate_seq_set(uint8_t *bytes, size_t len, uint32_t seq);
