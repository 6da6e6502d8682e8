// A connection to the daemon: requests go out, answers come back (sluice/ctl.h).
//
// Used by one thread. Waiting is bounded, so a daemon that hangs does not hang us.

#pragma once

#include <stddef.h>

#include "sluice/ctl.h"

struct client {
	const char *path;
	int fd; // -1: not connected
};

struct answer {
	enum ctl_status status;
	char *text; // heap, with a NUL behind it; may be empty
	size_t len;
};

// 0 or -errno.
int client_open(struct client *client, const char *path);
void client_close(struct client *client);

// Asks in this form (CTL_FORM_) and waits for the answer. 0 or -errno: -E2BIG or -EINVAL for words
// that make no request, else the connection is broken and closed, and the next call opens another.
int client_ask(struct client *client, const char *form, const char *words,
	       struct answer *ret_answer);
void answer_free(struct answer *answer);
