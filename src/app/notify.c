// sd_notify, where it was built in (notify.h); otherwise nothing happens.
//
// Control thread.

#include "app/notify.h"

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>

static void notify(const char *state)
{
	sd_notify(0, state);
}
#else
static void notify(const char *state)
{
}
#endif

void notify_ready(void)
{
	notify("READY=1");
}

void notify_stopping(void)
{
	notify("STOPPING=1");
}
