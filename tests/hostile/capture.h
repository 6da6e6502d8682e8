// PFCP messages of a capture file: Ethernet and IPv4 without options, as tests/golden has them. For senders
// that damage what was said once (storm.c).

#pragma once

#include <stddef.h>

#include "mutate.h"

#define CAPTURE_MESSAGES_MAX 1024

// Puts the messages that the SMF (127.0.0.4) said into the pool, up to `most`; how many. Their bytes are
// never freed. A file that cannot be read ends the program.
size_t capture_read(const char *path, struct mutate_msg *pool, size_t most);
