// One value of the configuration: from text by its schema row, back to text, and what kinds there
// are in words.
//
// The same functions read the file, apply defaults, print `show config` and write the sample.

#pragma once

#include <stdio.h>

#include "config/schema.h"

#define VALUE_WHY_LEN 200
#define VALUE_QUOTED_LEN 64

// Puts text into the field of key in map (the struct that the row's offset is of); lists get one
// more element (SCHEMA_CPUS: one a CPU). 0, or -EINVAL with the reason in why and the field as it
// was.
int value_set(const struct schema_key *key, void *map, const char *text, char why[VALUE_WHY_LEN]);

bool value_is_list(const struct schema_key *key);

// The integer in the field of a SCHEMA_INT, SCHEMA_ENUM or SCHEMA_FLAGS.
int64_t value_int_get(const struct schema_key *key, const void *map);

uint32_t value_count(const struct schema_key *key, const void *map); // elements of a list

// Prints the value as YAML, on one line.
void value_print(const struct schema_key *key, const void *map, FILE *out);

// Prints what values there are, such as "8..64" or "one of poll, sleep"; nothing where help says.
void value_kinds_print(const struct schema_key *key, FILE *out);

// The text in quotes, shortened and with '?' for what is not printable ASCII: for messages.
const char *value_quoted(char buf[VALUE_QUOTED_LEN], const char *text);
