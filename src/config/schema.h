// The table of all configuration keys: one row gives type, range, default, help and sample.
//
// The loader, the sample file and `show config` walk these rows; a key exists nowhere else. Rows
// of a map end with a row without a name.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum schema_type {
	SCHEMA_MAP,      // children
	SCHEMA_LIST,     // of maps (children)
	SCHEMA_INT,      // min..max; stored in 2 or 4 bytes
	SCHEMA_BOOL,     // stored as bool
	SCHEMA_ENUM,     // one of words; stored as its index, 4 bytes
	SCHEMA_FLAGS,    // list of words; stored as a bit each, 4 bytes
	SCHEMA_TEXT,     // printable ASCII; stored with its NUL
	SCHEMA_ADDR,     // struct addr
	SCHEMA_TEXTS,    // list of texts, each stored as a SCHEMA_TEXT is
	SCHEMA_PREFIXES, // list of struct prefix
	SCHEMA_CPUS,     // list of numbers and ranges "2-5", uint16_t each, none twice
};

// Says what is wrong with a text, or NULL.
typedef const char *(*schema_check_fn)(const char *text);

struct schema_key {
	const char *name;
	enum schema_type type;
	bool required;   // a list must then have an element
	uint32_t offset; // in the struct of its map, or of its list's element
	uint32_t size;   // of the field

	int64_t min, max;     // SCHEMA_INT
	bool pow2;            // SCHEMA_INT: a power of two
	const char *def;      // default, as it would be written; NULL: zeros
	const char *same;     // default is this key's value, of the same map
	const char *def_text; // what to say of a default that is neither

	const char *const *words; // SCHEMA_ENUM, SCHEMA_FLAGS; ended by NULL
	schema_check_fn check;    // SCHEMA_TEXT, SCHEMA_TEXTS

	uint8_t family;     // SCHEMA_ADDR: only this one; 0: either
	bool need_len;      // SCHEMA_PREFIXES: "/len" must be there
	bool need_network;  // SCHEMA_PREFIXES: no bits beyond the length
	bool whole;         // SCHEMA_PREFIXES: addresses, without a length
	uint32_t n_offset;  // lists: the count of elements, uint32_t
	uint16_t item_size; // lists: of an element
	uint16_t n_max;     // lists: elements at most

	const struct schema_key *children; // SCHEMA_MAP (offsets in the same struct), SCHEMA_LIST
	const char *help;                  // sentences
	const char *sample[2]; // values in the sample file; inside a list one an element
	const char *shown;     // the sample's value behind "#", where there is no def
};

// The file's top level.
extern const struct schema_key schema_top[];
