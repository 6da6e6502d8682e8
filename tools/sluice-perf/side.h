// The traffic side as the engines ndr and soak have it in common: its options, the sessions, the ports.
// One thread.

#pragma once

#include "n4.h"
#include "options.h"
#include "traffic.h"

struct side_options {
	const char *ports[TRAFFIC_WAYS];
	struct addr smf, upf, gnb, n3, dn, n6, server, ue_base, ue6_base;
	const char *network;
	uint32_t forwarder; // SIDE_ bits
	uint32_t ways;
	uint64_t ues, flows, cpu, wait_s, catch_up_ms;
	uint64_t more_sessions; // beyond the UEs'; no option
	bool huge;
};

enum { SIDE_UPF = 1, SIDE_IO = 2 };

// The rows of these, a table of its own.
extern const struct option_row side_rows[];
extern const unsigned side_n_rows;

struct side {
	struct n4 *n4; // NULL with SIDE_IO
	struct traffic *traffic;
	double established_s; // what the sessions took
};

// Opens the ports, establishes the sessions and sees that packets pass. Ends the program if they do not.
void side_open(const struct side_options *o, struct side *ret);
void side_close(struct side *side);
