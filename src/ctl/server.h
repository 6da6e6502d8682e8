// The server of sluicectl: a unix socket, its clients, and their commands (sluice/ctl.h).
//
// Control thread, in its event loop; nothing here waits. A client has one command under way: the
// next line is looked at when the answer has been written, so neither one that floods nor one that
// does not read costs more than its buffers. SIGPIPE is ignored from the start on, since a client
// may be gone when its answer is written.

#pragma once

#include "ctl/view.h"

struct ctl;
struct event_base;

struct ctl_conf {
	const char *path;  // of the socket; its folder must exist
	const char *group; // who may use it besides our user; "" or NULL: our own group
};

// Listens. NULL with errno, and the reason in the log. A socket that a dead daemon left is taken
// over; EADDRINUSE when a living one answers. `view` is copied, what it points to is not.
struct ctl *ctl_start(struct event_base *base, const struct ctl_conf *conf,
		      const struct ctl_view *view);

// Closes all clients and removes the socket. Before the event base goes and before the parts of
// the view do; a command that waits for a worker then ends without its client, in that worker's
// mailbox_collect(). NULL is none.
void ctl_stop(struct ctl *ctl);

unsigned ctl_clients(const struct ctl *ctl);
