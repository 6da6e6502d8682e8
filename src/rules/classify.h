// The first of many alternatives that a packet matches: sets of alternatives by field, for rules of a
// direction that are too many to walk (rules/compile_block.c decides).
//
// An alternative is one filter of a PDR, or a PDR without filters; they are numbered in the order in which a
// walk tries them. The values of a field fall into classes: all values of a class suit the same
// alternatives, whose set is the class's row. What is in the rows of all of a packet's fields matches it,
// and the lowest number is the answer. So the cost is bounded by the number of fields and alternatives, and
// the memory by their product, however the rules overlap: nothing is cut, and nothing is there twice.
//
// A row has a bit for each chunk of 64 alternatives, and for each chunk the number of one of the few words
// that occur there: 64 alternatives have at most 128 ends of ranges, and so one octet holds it. Of at most 64
// alternatives, the row's bits are the alternatives themselves.
//
// Made by the control thread (rules/classify_make.c) as a part of a ruleset's block, read by workers.

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "packet/pkt.h"
#include "rules/ruleset.h"

#define CLASSIFY_CHUNK 64      // alternatives: the bits of a word
#define CLASSIFY_MAX_CHUNKS 64 // the bits of a row's `live`
#define CLASSIFY_MAX_ALTERNATIVES (CLASSIFY_CHUNK * CLASSIFY_MAX_CHUNKS)

// What of a packet is compared. A classifier has only the fields that some alternative restricts.
enum class_kind {
	CLASS_TUNNEL,
	CLASS_QFI, // CLASSIFY_QFI_NONE where the packet brings none
	CLASS_PROTO,
	CLASS_TOS,
	CLASS_L4,     // FILTER_F_FRAG and so on: CLASSIFY_L4_ bits
	CLASS_REMOTE, // of IPv4
	CLASS_LOCAL,
	CLASS_REMOTE_PORT,
	CLASS_LOCAL_PORT,
	CLASS_SPI,
	CLASS_FLOW_LABEL,
	CLASS_REMOTE_HIGH, // of IPv6, the two halves
	CLASS_REMOTE_LOW,
	CLASS_LOCAL_HIGH,
	CLASS_LOCAL_LOW,
	CLASS_KINDS
};

#define CLASSIFY_QFI_NONE 64
#define CLASSIFY_L4_FRAGMENT 0x01 // a fragment, but not the first
#define CLASSIFY_L4_SETUP 0x02
#define CLASSIFY_L4_ESTABLISHED 0x04
#define CLASSIFY_L4_KEYS 8

// All places are offsets from the classifier, in 8 bytes. Of a field of less than 256 values `classes` is
// indexed by the value, of the others by the number of bounds that are not above it.
struct class_field {
	uint8_t kind; // enum class_kind
	uint8_t spare;
	uint16_t n_bounds; // where classes begin, but the first: uint32_t, of IPv6 halves uint64_t
	uint16_t absent;   // row of packets that do not have the field: ports, SPI
	uint16_t width;    // words in a chunk
	uint32_t bounds_at;
	uint32_t classes_at; // uint16_t: the row of each class
	uint32_t rows_at;
	uint32_t words_at; // uint64_t
};
static_assert(sizeof(struct class_field) == 24, "no hidden octets: blocks are compared as bytes");

struct class_row {
	uint64_t
		live; // chunks where the row has alternatives; if there are no chunks, the alternatives
	uint8_t words[]; // of each chunk, its word among the field's
};

// The alternatives of one direction that packets of one family can match.
struct classifier {
	uint16_t n_fields;
	uint16_t n_chunks;  // 0: at most 64 alternatives
	uint16_t row_bytes; // of struct class_row, with its words
	uint16_t n_alternatives;
	uint32_t owners_at; // uint16_t: the PDR of each alternative, by index in the block
	uint32_t spare;
	struct class_field fields[];
};
static_assert(sizeof(struct classifier) == 16, "fields follow without a gap");

// Where a block's classifiers are: behind its filters, on a cache line of its own.
struct classifiers {
	uint32_t at
		[2]
		[2]; // [up][IPv6], in RULESET_UNIT from here; 0: no alternative is for these packets
	uint32_t spare[12];
};
static_assert(sizeof(struct classifiers) == RULESET_UNIT, "classifiers start on cache lines");

static inline const struct classifiers *ruleset_classifiers(const struct ruleset *rs)
{
	return (const struct classifiers *)(const void *)ruleset_filter(rs, rs->n_filters);
}

// The PDR of a packet among those that are not walked; NULL where none matches. Any thread; `user` is the
// user's IP header.
const struct pdr *ruleset_classify(const struct ruleset *rs, bool up, const struct pkt *p,
				   const uint8_t *user);
