// Octets for tests of parsers: written as hexadecimal, and in blocks of just their size.
// A failure ends the test that called.

#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/CUnit.h>

// Reads hexadecimal, blanks allowed; gives the number of octets.
static inline size_t hex_read(const char *hex, uint8_t *ret_data, size_t size)
{
	size_t len = 0;

	while (*hex) {
		if (*hex == ' ') {
			hex++;
			continue;
		}
		CU_ASSERT_FATAL(len < size);
		ret_data[len++] = (uint8_t)strtoul((char[]){hex[0], hex[1], 0}, NULL, 16);
		hex += 2;
	}
	return len;
}

// A copy on the heap, so that a sanitizer sees the first octet read or written beyond. To be freed.
static inline uint8_t *octets_copy(const void *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	CU_ASSERT_FATAL(copy != NULL);
	memcpy(copy, data, len);
	return copy;
}
