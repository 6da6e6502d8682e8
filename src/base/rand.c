// Random numbers, see rand.h. Any thread.
//
// getrandom(2) without flags waits until the kernel's pool is ready, once after boot.

#include "base/rand.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void rand_bytes(void *buf, size_t len)
{
	uint8_t *at = buf;

	while (len > 0) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			abort(); // guessable SEIDs would be worse than no service
		at += n;
		len -= (size_t)n;
	}
}

uint32_t rand_u32(void)
{
	uint32_t n;

	rand_bytes(&n, sizeof(n));
	return n;
}

uint64_t rand_u64(void)
{
	uint64_t n;

	rand_bytes(&n, sizeof(n));
	return n;
}
