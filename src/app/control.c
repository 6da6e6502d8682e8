// What the control thread does in turns: rings of the workers, time, signals (upf.h).
//
// Workers make no system call, so nothing wakes this thread for them: a timer looks at their rings every
// millisecond, less often while they are quiet, and while a command is under way the loop looks without waiting.

#include <sched.h>
#include <signal.h>

#include <event2/event.h>

#include "app/notify.h"
#include "app/upf.h"
#include "base/log.h"

#define POLL_US 1000
#define POLL_QUIET_US 4000
#define QUIET_LOOKS 64 // without anything, before the next ones are further apart
#define NEIGH_TICK_US 100000

// --- neighbours ------------------------------------------------------------------------------------------

// Frames that the host's kernel got and that both need (port.h).
struct copy_arg {
	struct upf *upf;
	unsigned iface;
};

static void copy_frame(void *arg, const uint8_t *frame, uint16_t len)
{
	const struct copy_arg *copy = arg;

	neigh_learn_frame(copy->upf->control.neigh, copy->iface, frame, len);
}

static void on_copies(evutil_socket_t fd, short what, void *ctx)
{
	struct upf *upf = ctx;

	for (unsigned i = 0; i < upf->n_ifaces; i++) {
		struct copy_arg arg = {.upf = upf, .iface = i};

		if (port_copies_fd(upf->ifaces[i]) == fd)
			port_copies_read(upf->ifaces[i], copy_frame, &arg);
	}
}

// --- time and signals ------------------------------------------------------------------------------------

// A look takes a CPU from others for some microseconds, which nobody needs a thousand times a second.
static void poll_pace(struct upf *upf)
{
	bool heard = upf->control.heard != upf->heard;
	struct timeval every = {.tv_usec = heard ? POLL_US : POLL_QUIET_US};
	bool was_quiet = upf->quiet_looks >= QUIET_LOOKS;

	upf->heard = upf->control.heard;
	upf->quiet_looks = heard ? 0 : upf->quiet_looks + !was_quiet;
	if (was_quiet != (upf->quiet_looks >= QUIET_LOOKS))
		event_add(upf->timers[0], &every);
}

// Wakes the loop, which polls the workers itself.
static void on_poll(evutil_socket_t fd, short what, void *ctx)
{
	struct upf *upf = ctx;

	poll_pace(upf);
	if (upf->leaving && !upf->stop && n4_has_left(upf->n4)) {
		log_info("stopping: nothing is left to wait for");
		upf->stop = true;
	}
}

static void carrier_watch(struct upf *upf, unsigned i)
{
	bool up = port_carrier(upf->ifaces[i]);

	if (up == upf->carrier[i])
		return;
	upf->carrier[i] = up;
	if (up)
		log_info("%s: carrier is back", upf->ifaces[i]->name);
	else
		log_warn("%s: no carrier", upf->ifaces[i]->name);
}

static void on_neigh_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct upf *upf = ctx;

	neigh_tick(upf->control.neigh);
	upf_nat_log_lost(upf);
	for (unsigned i = 0; i < upf->n_ifaces; i++)
		carrier_watch(upf, i);
}

static void on_signal(evutil_socket_t signo, short what, void *ctx)
{
	struct upf *upf = ctx;
	uint32_t period_s = upf->config.n4.release_s;

	if (period_s == 0 || upf->leaving) {
		log_info("stopping: signal %d", (int)signo);
		upf->stop = true;
		return;
	}
	log_info("stopping: signal %d: SMFs have %u s to release their associations", (int)signo,
		 period_s);
	upf->leaving = true;
	notify_stopping();
	n4_leave(upf->n4, period_s);
}

static struct event *timer_new(struct upf *upf, event_callback_fn fn, long us)
{
	const struct timeval every = {.tv_usec = us};
	struct event *timer = event_new(upf->base, -1, EV_PERSIST, fn, upf);

	if (timer && event_add(timer, &every) != 0) {
		event_free(timer);
		return NULL;
	}
	return timer;
}

static struct event *signal_new(struct upf *upf, int signo)
{
	struct event *event = evsignal_new(upf->base, signo, on_signal, upf);

	if (event)
		event_add(event, NULL);
	return event;
}

int upf_control_start(struct upf *upf)
{
	upf->timers[0] = timer_new(upf, on_poll, POLL_US);
	upf->timers[1] = timer_new(upf, on_neigh_tick, NEIGH_TICK_US);
	upf->signals[0] = signal_new(upf, SIGTERM);
	upf->signals[1] = signal_new(upf, SIGINT);
	if (!upf->timers[0] || !upf->timers[1] || !upf->signals[0] || !upf->signals[1]) {
		log_error("no memory for the event loop");
		return -1;
	}
	for (unsigned i = 0; i < upf->n_ifaces; i++) {
		int fd = port_copies_fd(upf->ifaces[i]);

		upf->carrier[i] = true; // what is not so is told at the first look
		if (fd < 0)
			continue;
		upf->copies[i] = event_new(upf->base, fd, EV_READ | EV_PERSIST, on_copies, upf);
		if (upf->copies[i])
			event_add(upf->copies[i], NULL);
	}
	return 0;
}

void upf_control_stop(struct upf *upf)
{
	struct event **const lists[] = {upf->timers, upf->signals, upf->copies};
	const unsigned sizes[] = {RTE_DIM(upf->timers), RTE_DIM(upf->signals),
				  RTE_DIM(upf->copies)};

	for (unsigned i = 0; i < RTE_DIM(lists); i++)
		for (unsigned k = 0; k < sizes[i]; k++)
			if (lists[i][k]) {
				event_free(lists[i][k]);
				lists[i][k] = NULL;
			}
}

void upf_run(struct upf *upf)
{
	while (!upf->stop) {
		bool owed = control_poll(&upf->control);

		event_base_loop(upf->base, owed ? EVLOOP_NONBLOCK : EVLOOP_ONCE);
		if (owed)
			sched_yield(); // the worker may share this CPU
	}
}
