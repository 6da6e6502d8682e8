// Asking the control server in tests: one call in process, or raw bytes over its socket.
//
// The event loop runs when a test says so, on its own thread, and never waits.

#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "ctl/commands.h"
#include "ctl/server.h"
#include "unit.h"

#define KIT_ROUNDS 64 // turns of the event loop that finish whatever can be

struct ctl_kit {
	struct event_base *base;
	struct ctl *ctl;
	char dir[32];
	char path[64];
};

static struct ctl_kit ctl_kit;

static inline void ctl_kit_open(const struct ctl_view *view)
{
	struct ctl_conf conf = {.path = ctl_kit.path};

	log_level_set(LOG_LEVEL_ERROR);
	strcpy(ctl_kit.dir, "/tmp/test_ctl.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(ctl_kit.dir));
	snprintf(ctl_kit.path, sizeof(ctl_kit.path), "%s/ctl.sock", ctl_kit.dir);
	ctl_kit.base = event_base_new();
	ctl_kit.ctl = ctl_start(ctl_kit.base, &conf, view);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ctl_kit.ctl);
}

static inline void ctl_kit_close(void)
{
	ctl_stop(ctl_kit.ctl);
	event_base_free(ctl_kit.base);
	CU_ASSERT_EQUAL(rmdir(ctl_kit.dir), 0); // empty: the socket has gone
}

static inline void ctl_kit_run(void)
{
	for (int i = 0; i < KIT_ROUNDS; i++)
		event_base_loop(ctl_kit.base, EVLOOP_NONBLOCK);
}

static inline int peer_open(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(addr.sun_path, ctl_kit.path);
	CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ctl_kit_run();
	return fd;
}

// How many bytes the server took, after the loop has run.
static inline size_t peer_send(int fd, const void *bytes, size_t len)
{
	ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

	ctl_kit_run();
	return n < 0 ? 0 : (size_t)n;
}

// What has arrived, as text, up to a megabyte; ret_end says whether the server has closed.
static inline char *peer_read(int fd, bool *ret_end)
{
	static char buf[1 << 20];
	size_t len = 0;
	ssize_t n = 1;

	while (len < sizeof(buf) - 1 && (n = recv(fd, buf + len, sizeof(buf) - 1 - len, 0)) > 0) {
		len += (size_t)n;
		ctl_kit_run();
	}
	*ret_end = n == 0 || (n < 0 && errno == ECONNRESET);
	buf[len] = '\0';
	return buf;
}

// The answer to one request, taken apart. NULL: none, or it is not whole.
static inline const char *peer_ask(int fd, const char *request, int *ret_status)
{
	size_t len;
	bool end;
	char *text;
	int skip = 0;

	peer_send(fd, request, strlen(request));
	text = peer_read(fd, &end);
	if (sscanf(text, "%d %zu%n", ret_status, &len, &skip) != 2 || text[skip] != '\n')
		return NULL;
	return strlen(text + skip + 1) == len ? text + skip + 1 : NULL;
}

// Runs a line in process; the reply is valid until the next call.
static inline const struct reply *call_line(const struct ctl_view *view, enum reply_form form,
					    const char *line)
{
	static struct call *call;

	call_free(call);
	call = call_new(view, form, line, strlen(line));
	CU_ASSERT_PTR_NOT_NULL_FATAL(call);
	CU_ASSERT_TRUE_FATAL(call_run(call, NULL, NULL));
	return &call->reply;
}

// Whether text is what a file of tests/golden holds; prints it where it is not.
static inline bool golden_is(const char *name, const char *text)
{
	static char want[1 << 16];
	char path[512];
	size_t len = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", getenv("TEST_GOLDEN"), name);
	file = fopen(path, "r");
	if (file) {
		len = fread(want, 1, sizeof(want) - 1, file);
		fclose(file);
	}
	want[len] = '\0';
	if (strcmp(want, text) == 0)
		return true;
	printf("\n--- not %s:\n%s---\n", name, text);
	return false;
}
