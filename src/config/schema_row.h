// How the rows of schema tables are written (schema.h), for the files that hold one: schema.c and those of long
// ones, schema_<name>.c. Inside of config/ only.

#pragma once

#include <stddef.h>

#include "config/schema.h"

// Where a row's value stands: offset and size of a field of its map's struct.
#define FIELD(type, field)                                                                         \
	.offset = offsetof(struct type, field), .size = sizeof(((struct type *)0)->field)

// The same for a list, with its count.
#define LIST(type, field, count)                                                                   \
	FIELD(type, field),                                                                        \
		.n_offset = offsetof(struct type, count),                                          \
		.item_size = sizeof(((struct type *)0)->field[0]),                                 \
		.n_max = sizeof(((struct type *)0)->field) / sizeof(((struct type *)0)->field[0])

// Bounds and default of a number.
#define RANGE(least, most, value) .min = (least), .max = (most), .def = (value)

// The words of an enumeration, by their values.
#define WORDS(...)                                                                                 \
	.words = (const char *const[])                                                             \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

// Tables that stand in files of their own.
extern const struct schema_key schema_application[]; // an element of `applications`
extern const struct schema_key schema_flows[];
extern const struct schema_key schema_n4[];
extern const struct schema_key schema_ni[]; // an element of `network_instances`
extern const struct schema_key schema_gtpu[];
extern const struct schema_key schema_policy[]; // an element of `forwarding_policies`
extern const struct schema_key schema_icmp[];
extern const struct schema_key schema_predefined[];
extern const struct schema_key schema_reassembly[];
