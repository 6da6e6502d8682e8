// What a fuzz target holds to be true: when it is not, the fuzzer stops there, says where, and keeps the
// input that brought it about.

#pragma once

#include <stdio.h>
#include <stdlib.h>

#define must(holds)                                                                                \
	do {                                                                                       \
		if (!(holds)) {                                                                    \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #holds);        \
			abort();                                                                   \
		}                                                                                  \
	} while (0)
