// Random numbers, see rand.h. Any thread.
//
// getrandom(2) without flags waits until the kernel's pool is ready, once after boot.

#include "base/rand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define DRAWN 256 // octets by one system call
#define FEW 16    // what asks for more has a system call of its own

static _Thread_local uint8_t drawn[DRAWN];
static _Thread_local size_t left; // of them, at the front

static void draw(void *buf, size_t len)
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

void rand_bytes(void *buf, size_t len)
{
	if (len > FEW) {
		draw(buf, len);
		return;
	}
	if (left < len) {
		draw(drawn, sizeof(drawn));
		left = sizeof(drawn);
	}
	left -= len;
	memcpy(buf, drawn + left, len);
	memset(drawn + left, 0, len); // nobody is to find it here
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
