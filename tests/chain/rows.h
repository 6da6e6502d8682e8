// The rows that most chain tests of flows go over: each combination of one and two workers, IPv4 and IPv6, up and down.
//
// The test's thread.

#pragma once

#include <stdbool.h>

struct row {
	unsigned workers;
	bool v6, up;
};

static inline void rows_each(void (*fn)(const struct row *row))
{
	for (unsigned i = 0; i < 8; i++) {
		const struct row row = {.workers = 1 + i % 2, .v6 = i / 2 % 2, .up = i / 4};

		fn(&row);
	}
}
