// The socket of sluicectl and its clients (server.h). Control thread.
//
// A client is a libevent bufferevent. Its input is bounded by the watermark, and is not read while a
// command is under way; its output is the one answer that it may have.

#include "ctl/server.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "base/log.h"
#include "config/config.h"
#include "ctl/commands.h"

#define RETRY_S 1 // after accept() has failed for want of something
#define SOCKET_MODE 0660

struct client {
	LIST_ENTRY(client) next;
	struct ctl *ctl;
	struct bufferevent *bev;
	struct call *call; // waits for a worker, or NULL
	bool eof;          // will send nothing more
	bool last;         // is to be closed when its answer is written
};

struct ctl {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *retry;
	struct ctl_view view;
	LIST_HEAD(, client) clients;
	unsigned n_clients;
	struct sockaddr_un addr;
	struct stat file; // the socket as we made it
};

// --- a client ---

static void client_close(struct client *client)
{
	if (client->call)
		call_abandon(client->call);
	LIST_REMOVE(client, next);
	client->ctl->n_clients--;
	bufferevent_free(client->bev);
	free(client);
}

static void client_write(struct client *client, enum ctl_status status, const char *text,
			 size_t len)
{
	struct evbuffer *out = bufferevent_get_output(client->bev);

	// What has no room is not half there: the client is closed, which says it too.
	if (evbuffer_add_printf(out, "%d %zu\n", (int)status, len) < 0 ||
	    (len && evbuffer_add(out, text, len) < 0))
		client->last = true;
}

static void client_answer(struct client *client, struct call *call)
{
	client_write(client, call->reply.status, strbuf_text(&call->reply.out),
		     call->reply.out.len);
	call_free(call);
}

static bool client_is_busy(const struct client *client)
{
	return client->call || evbuffer_get_length(bufferevent_get_output(client->bev)) > 0;
}

static void client_call_ended(struct call *call, void *ctx)
{
	struct client *client = ctx;

	client->call = NULL;
	client_answer(client, call);
	if (client->last && !client_is_busy(client))
		client_close(client);
}

static void client_call(struct client *client, enum reply_form form, const char *words)
{
	struct call *call = call_new(&client->ctl->view, form, words, strlen(words));

	if (!call)
		client->last = true;
	else if (call_run(call, client_call_ended, client))
		client_answer(client, call);
	else
		client->call = call;
}

static void answer_text(struct client *client, const char *words)
{
	client_call(client, REPLY_TEXT, words);
}

static void answer_json(struct client *client, const char *words)
{
	client_call(client, REPLY_JSON, words);
}

static void answer_complete(struct client *client, const char *words)
{
	struct strbuf offers = {0};

	commands_complete(&client->ctl->view, words, strlen(words), &offers);
	client_write(client, CTL_OK, strbuf_text(&offers), offers.len);
	strbuf_fini(&offers);
}

static void answer_prompt(struct client *client, const char *words)
{
	const struct config *config = client->ctl->view.config;
	const char *name = config && config->node.name[0] ? config->node.name : "sluice";

	client_write(client, CTL_OK, name, strlen(name));
}

static const struct {
	const char *form;
	void (*answer)(struct client *client, const char *words);
} forms[] = {
	{CTL_FORM_TEXT, answer_text},
	{CTL_FORM_JSON, answer_json},
	{CTL_FORM_COMPLETE, answer_complete},
	{CTL_FORM_PROMPT, answer_prompt},
};

static void client_line(struct client *client, const char *line, size_t len)
{
	static const char not_a_line[] = "not a request\n";

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t n = strlen(forms[i].form);

		if (strlen(line) != len) // a NUL in it
			break;
		if (strncmp(line, forms[i].form, n) == 0 && (line[n] == ' ' || line[n] == '\0')) {
			forms[i].answer(client, line + n + (line[n] == ' '));
			return;
		}
	}
	client_write(client, CTL_USAGE, not_a_line, sizeof(not_a_line) - 1);
}

// Reads on only when the next line may be served: libevent would call on_read() again and again for
// a full input that is left alone.
static void client_listen(struct client *client)
{
	if (client_is_busy(client))
		bufferevent_disable(client->bev, EV_READ);
	else if (!client->eof)
		bufferevent_enable(client->bev, EV_READ);
}

// Serves the next line, one an event, so that clients take turns; closes a client that is done.
static void client_serve(struct client *client)
{
	static const char too_long[] = "line too long\n";
	struct evbuffer *in = bufferevent_get_input(client->bev);
	size_t len;
	char *line;

	if (client_is_busy(client))
		return;
	line = client->last ? NULL : evbuffer_readln(in, &len, EVBUFFER_EOL_LF);
	if (line && len < CTL_LINE_MAX) {
		client_line(client, line, len);
	} else if (line || (!client->last && evbuffer_get_length(in) >= CTL_LINE_MAX)) {
		client->last = true;
		client_write(client, CTL_USAGE, too_long, sizeof(too_long) - 1);
	} else if (client->eof) {
		client->last = true;
	}
	free(line);
	if (client->last && !client_is_busy(client))
		client_close(client);
	else
		client_listen(client);
}

static void on_read(struct bufferevent *bev, void *ctx)
{
	client_serve(ctx);
}

static void on_written(struct bufferevent *bev, void *ctx)
{
	client_serve(ctx);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
	struct client *client = ctx;

	if ((what & BEV_EVENT_EOF) && (what & BEV_EVENT_READING)) {
		client->eof = true;
		client_serve(client);
	} else {
		client_close(client); // it is gone, or did not read its answer in time
	}
}

static struct client *client_new(struct ctl *ctl, evutil_socket_t fd)
{
	const struct timeval stall = {.tv_sec = CTL_STALL_S};
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->ctl = ctl;
	client->bev = bufferevent_socket_new(ctl->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!client->bev) {
		free(client);
		return NULL;
	}
	bufferevent_setcb(client->bev, on_read, on_written, on_event, client);
	bufferevent_set_timeouts(client->bev, NULL, &stall);
	bufferevent_setwatermark(client->bev, EV_READ, 0, CTL_LINE_MAX);
	bufferevent_enable(client->bev, EV_READ | EV_WRITE);
	LIST_INSERT_HEAD(&ctl->clients, client, next);
	ctl->n_clients++;
	return client;
}

// --- the socket ---

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *addr,
		      int len, void *ctx)
{
	static const char refusal[] = "1 17\ntoo many clients\n";
	struct ctl *ctl = ctx;

	if (ctl->n_clients >= CTL_CLIENTS_MAX) {
		// A fresh socket has room for this; what is not taken is not missed.
		if (send(fd, refusal, sizeof(refusal) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			log_debug("ctl: a client could not be told that there are too many");
		log_warn_limited("ctl: more than %d clients", CTL_CLIENTS_MAX);
		close(fd);
	} else if (!client_new(ctl, fd)) {
		log_warn_limited("ctl: no memory for a client");
		close(fd);
	}
}

// Without file descriptors accept() would fail again at once: it is left alone for a while.
static void on_accept_failed(struct evconnlistener *listener, void *ctx)
{
	const struct timeval wait = {.tv_sec = RETRY_S};
	struct ctl *ctl = ctx;

	log_warn_limited("ctl: accept: %s", strerror(errno));
	if (evtimer_add(ctl->retry, &wait) == 0)
		evconnlistener_disable(listener);
}

static void on_retry(evutil_socket_t fd, short what, void *ctx)
{
	struct ctl *ctl = ctx;

	evconnlistener_enable(ctl->listener);
}

// Removes what a dead daemon left. -EADDRINUSE when somebody listens there, -EEXIST when it is
// something else than a socket.
static int leftover_remove(const struct sockaddr_un *addr)
{
	struct stat file;
	int fd, taken;

	if (lstat(addr->sun_path, &file) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(file.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	taken = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 || errno == EAGAIN;
	close(fd);
	if (taken)
		return -EADDRINUSE;
	return unlink(addr->sun_path) < 0 ? -errno : 0;
}

static int group_lookup(const char *name, gid_t *ret_gid)
{
	struct group group, *found = NULL;
	char buf[4096];
	int err;

	if (!name || !*name) {
		*ret_gid = (gid_t)-1;
		return 0;
	}
	err = getgrnam_r(name, &group, buf, sizeof(buf), &found);
	if (!found) {
		log_error("ctl: cli.group: no group \"%s\"", name);
		return err ? -err : -ENOENT;
	}
	*ret_gid = group.gr_gid;
	return 0;
}

// The socket in the file system, which nobody else may use at any moment. A descriptor or -errno.
static int socket_bind(struct ctl *ctl, gid_t gid)
{
	const char *path = ctl->addr.sun_path;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask;
	int err;

	if (fd < 0)
		return -errno;
	mask = umask(0777 & ~(mode_t)SOCKET_MODE);
	err = bind(fd, (struct sockaddr *)&ctl->addr, sizeof(ctl->addr)) < 0 ? -errno : 0;
	umask(mask);
	if (err == 0 && ((gid != (gid_t)-1 && chown(path, (uid_t)-1, gid) < 0) ||
			 lstat(path, &ctl->file) < 0)) {
		err = -errno;
		unlink(path);
	}
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int socket_open(struct ctl *ctl, const struct ctl_conf *conf)
{
	gid_t gid;
	int err;

	ctl->addr.sun_family = AF_UNIX;
	if (strlen(conf->path) >= sizeof(ctl->addr.sun_path)) {
		log_error("ctl: %s: longer than a socket's name may be", conf->path);
		return -ENAMETOOLONG;
	}
	strcpy(ctl->addr.sun_path, conf->path);
	err = group_lookup(conf->group, &gid);
	if (err < 0)
		return err;
	err = leftover_remove(&ctl->addr);
	if (err == 0)
		err = socket_bind(ctl, gid);
	if (err == -EADDRINUSE)
		log_error("ctl: %s: another daemon answers there", conf->path);
	else if (err < 0)
		log_error("ctl: %s: %s", conf->path, strerror(-err));
	return err;
}

struct ctl *ctl_start(struct event_base *base, const struct ctl_conf *conf,
		      const struct ctl_view *view)
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));
	int fd;

	if (!ctl)
		return NULL;
	ctl->base = base;
	ctl->view = *view;
	LIST_INIT(&ctl->clients);
	fd = socket_open(ctl, conf);
	if (fd < 0) {
		free(ctl);
		errno = -fd;
		return NULL;
	}
	signal(SIGPIPE, SIG_IGN);
	ctl->retry = evtimer_new(base, on_retry, ctl);
	ctl->listener = evconnlistener_new(base, on_accept, ctl,
					   LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
					   CTL_CLIENTS_MAX, fd);
	if (!ctl->listener || !ctl->retry) {
		log_error("ctl: %s: cannot listen", conf->path);
		if (!ctl->listener)
			close(fd);
		ctl_stop(ctl);
		errno = ENOMEM;
		return NULL;
	}
	evconnlistener_set_error_cb(ctl->listener, on_accept_failed);
	return ctl;
}

// Whether the file is still ours: another daemon may have put its own there.
static bool socket_is_ours(const struct ctl *ctl)
{
	struct stat now;

	return lstat(ctl->addr.sun_path, &now) == 0 && now.st_ino == ctl->file.st_ino &&
	       now.st_dev == ctl->file.st_dev;
}

void ctl_stop(struct ctl *ctl)
{
	if (!ctl)
		return;
	while (!LIST_EMPTY(&ctl->clients))
		client_close(LIST_FIRST(&ctl->clients));
	if (socket_is_ours(ctl))
		unlink(ctl->addr.sun_path);
	if (ctl->listener)
		evconnlistener_free(ctl->listener);
	if (ctl->retry)
		event_free(ctl->retry);
	free(ctl);
}

unsigned ctl_clients(const struct ctl *ctl)
{
	return ctl->n_clients;
}
