// Time for the control plane, see clock.h.
//
// A reading is the system's clock plus an offset, or, while stopped, a stored instant.

#include "base/clock.h"

#include <stdbool.h>

#define NTP_UNIX_OFFSET 2208988800ull // seconds from 1900 to 1970

static bool stopped;
static uint64_t now_ns[2];    // while stopped: monotonic, wall
static uint64_t offset_ns[2]; // while running: added to the system's; wraps when negative

static const clockid_t clocks[2] = {CLOCK_MONOTONIC, CLOCK_REALTIME};

static uint64_t clock_system_ns(unsigned which)
{
	struct timespec t;

	clock_gettime(clocks[which], &t);
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static uint64_t clock_read_ns(unsigned which)
{
	return stopped ? now_ns[which] : clock_system_ns(which) + offset_ns[which];
}

uint64_t clock_now_ns(void)
{
	return clock_read_ns(0);
}

uint64_t clock_wall_ns(void)
{
	return clock_read_ns(1);
}

time_t clock_wall_s(void)
{
	return (time_t)(clock_wall_ns() / NS_PER_SEC);
}

char *clock_utc_str(char buf[CLOCK_UTC_STRLEN], time_t wall_s)
{
	struct tm tm;

	if (!gmtime_r(&wall_s, &tm) ||
	    strftime(buf, CLOCK_UTC_STRLEN, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		buf[0] = '\0';
	return buf;
}

uint32_t clock_ntp_s(void)
{
	return clock_ntp_from_wall(clock_wall_s());
}

uint32_t clock_ntp_from_wall(time_t wall_s)
{
	return (uint32_t)((uint64_t)wall_s + NTP_UNIX_OFFSET);
}

time_t clock_wall_from_ntp(uint32_t ntp_s)
{
	uint64_t era = ntp_s & 0x80000000u ? 0 : 1ull << 32;

	return (time_t)(era + ntp_s - NTP_UNIX_OFFSET);
}

void clock_stop(void)
{
	for (unsigned i = 0; i < 2; i++)
		now_ns[i] = clock_read_ns(i);
	stopped = true;
}

void clock_start(void)
{
	if (!stopped)
		return;
	for (unsigned i = 0; i < 2; i++)
		offset_ns[i] = now_ns[i] - clock_system_ns(i);
	stopped = false;
}

void clock_warp_ns(int64_t delta_ns)
{
	for (unsigned i = 0; i < 2; i++) {
		now_ns[i] += (uint64_t)delta_ns;
		offset_ns[i] += (uint64_t)delta_ns;
	}
}
