// Asking the daemon over its socket (client.h).
//
// The answer's length comes first, so it is read whole, whatever it holds.

#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_S 30
#define ANSWER_MAX (256u << 20)

int client_open(struct client *client, const char *path)
{
	const struct timeval wait = {.tv_sec = WAIT_S};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, err;

	client->path = path;
	client->fd = -1;
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	client->fd = fd;
	return 0;
}

void client_close(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

static int send_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

static int receive_all(int fd, char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = recv(fd, bytes, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (n == 0)
			return -ECONNRESET;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

// The line before the answer: "STATUS LENGTH".
static int receive_status(int fd, unsigned *ret_status, size_t *ret_len)
{
	char line[CTL_STATUS_LINE_MAX];
	size_t n = 0;
	int end = 0;

	do {
		int err = n + 1 < sizeof(line) ? receive_all(fd, line + n, 1) : -EPROTO;

		if (err < 0)
			return err;
	} while (line[n++] != '\n');
	line[n - 1] = '\0';
	if (sscanf(line, "%u %zu%n", ret_status, ret_len, &end) != 2 || line[end] ||
	    *ret_status > CTL_USAGE || *ret_len > ANSWER_MAX)
		return -EPROTO;
	return 0;
}

static int receive_answer(int fd, struct answer *ret_answer)
{
	unsigned status = 0;
	size_t len = 0;
	int err = receive_status(fd, &status, &len);
	char *text;

	if (err < 0)
		return err;
	text = malloc(len + 1);
	if (!text)
		return -ENOMEM;
	err = receive_all(fd, text, len);
	if (err < 0) {
		free(text);
		return err;
	}
	text[len] = '\0';
	*ret_answer = (struct answer){.status = (enum ctl_status)status, .text = text, .len = len};
	return 0;
}

int client_ask(struct client *client, const char *form, const char *words,
	       struct answer *ret_answer)
{
	char line[CTL_LINE_MAX + 1]; // one for snprintf's NUL
	int n = snprintf(line, sizeof(line), "%s %s\n", form, words);
	int err = 0;

	if (n < 0 || (size_t)n >= sizeof(line))
		return -E2BIG;
	if (strchr(words, '\n'))
		return -EINVAL;
	if (client->fd < 0)
		err = client_open(client, client->path);
	if (err < 0)
		return err;
	// A daemon that has too many clients says so without reading: there is an answer all the same.
	err = send_all(client->fd, line, (size_t)n);
	if (err == 0 || err == -EPIPE)
		err = receive_answer(client->fd, ret_answer);
	if (err < 0)
		client_close(client);
	return err;
}

void answer_free(struct answer *answer)
{
	free(answer->text);
	answer->text = NULL;
}
