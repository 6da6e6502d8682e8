// The whole of a running sluice-sim, and how it tells what happens.
//
// One thread: everything is done in callbacks of the event loop. Progress goes to stdout, complaints
// to stderr.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>

#include "options.h"
#include "ue.h"

// What is counted: SIM_COUNTER(name, "text").
#define SIM_COUNTERS(X)                                                                            \
	X(up_packets, "up packets")                                                                \
	X(up_bytes, "up bytes")                                                                    \
	X(down_packets, "down packets")                                                            \
	X(down_bytes, "down bytes")                                                                \
	X(not_sent, "up, but not sent")                                                            \
	X(no_ue, "up, from no UE's address")                                                       \
	X(malformed, "malformed GTP-U")                                                            \
	X(unknown_teid, "down, unknown TEID")                                                      \
	X(wrong_ue, "down, in another UE's tunnel")                                                \
	X(not_delivered, "down, not taken by the device")                                          \
	X(echo_requests, "echo requests")                                                          \
	X(end_markers, "end markers")                                                              \
	X(error_indications, "error indications")                                                  \
	X(reports, "session reports")                                                              \
	X(retransmissions, "PFCP retransmissions")

struct sim_counters {
#define SIM_COUNTER(name, text) uint64_t name;
	SIM_COUNTERS(SIM_COUNTER)
#undef SIM_COUNTER
};

struct sim {
	struct options options;
	struct event_base *base;
	struct smf *smf;
	struct gnb *gnbs; // options.n_gnbs
	struct ue_tun *tun;
	struct ue *ues; // options.ues
	struct ue_list ready;
	uint32_t seid_tag; // upper half of our SEIDs: those of another run are not ours
	struct scenario *scenario;
	struct sim_counters counters;
	bool failed; // exit status 1
};

// A line of progress.
void sim_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// The same about one UE: only while there are few, or with --log debug.
void sim_say_ue(const struct sim *sim, const struct ue *ue, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

// The counters that are not 0.
void sim_say_counters(const struct sim *sim);

// Leaves the event loop at once; with status 1 when it `failed`.
void sim_stop(struct sim *sim, bool failed);
