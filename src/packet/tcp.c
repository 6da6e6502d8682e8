// TCP options, see tcp.h.
// Any thread, pure.

#include "packet/tcp.h"

enum {
	OPTION_END = 0,
	OPTION_NONE = 1,
	OPTION_SCALE = 3,
};

#define SCALE_BYTES 3

uint8_t tcp_scale(const struct tcp_head *tcp)
{
	const uint8_t *at = (const uint8_t *)tcp + TCP_BYTES;
	const uint8_t *end = (const uint8_t *)tcp + tcp_head_bytes(tcp);

	while (at < end && *at != OPTION_END) {
		if (*at == OPTION_NONE) {
			at++;
			continue;
		}
		if (end - at < 2 || at[1] < 2 || at[1] > end - at)
			break;
		if (*at == OPTION_SCALE && at[1] == SCALE_BYTES)
			return at[2] < TCP_SCALE_MOST ? at[2] : TCP_SCALE_MOST; // RFC 7323 2.3
		at += at[1];
	}
	return TCP_SCALE_NONE;
}
