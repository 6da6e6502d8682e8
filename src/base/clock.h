// Time for the control plane: a monotonic clock and the wall clock, which tests stop and move.
//
// Any thread may read. Stopping and warping are for tests, before other threads run.

#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_SEC 1000000000ull

// Nanoseconds of CLOCK_MONOTONIC; its zero means nothing.
uint64_t clock_now_ns(void);

// Seconds since 1970, UTC, and nanoseconds.
time_t clock_wall_s(void);
uint64_t clock_wall_ns(void);

// A wall time for people, "2026-12-01T12:31:48Z", or "" for one that no calendar has. Gives buf.
#define CLOCK_UTC_STRLEN 32
char *clock_utc_str(char buf[CLOCK_UTC_STRLEN], time_t wall_s);

// The wall clock in seconds since 1900 modulo 2^32, as PFCP time stamps count (TS 29.244 8.2.3).
uint32_t clock_ntp_s(void);

// The same count for any wall time, and back. Stamps without the high bit are of the era that
// begins in 2036 (RFC 5905 section 6).
uint32_t clock_ntp_from_wall(time_t wall_s);
time_t clock_wall_from_ntp(uint32_t ntp_s);

// Both clocks stand still until clock_start(); only clock_warp_ns() moves them.
void clock_stop(void);

// Both clocks run on from where they stand.
void clock_start(void);

// Moves both clocks, stopped or not, forward or (negative) back.
void clock_warp_ns(int64_t delta_ns);
