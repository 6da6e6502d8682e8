// The traffic side as the engines ndr and soak have it in common: its options, the sessions, the ports.
// One thread.

#pragma once

#include "n4.h"
#include "options.h"
#include "traffic.h"

struct side_options {
	const char *ports[TRAFFIC_WAYS];
	struct addr smf, upf, gnb, n3, dn, n6, server, ue_base;
	const char *network;
	uint32_t forwarder; // SIDE_ bits
	uint32_t ways;
	uint64_t ues, flows, cpu, more_sessions;
	bool huge;
};

enum { SIDE_UPF = 1, SIDE_IO = 2 };

// The rows of an engine's table for these, at `base` in its struct.
#define SIDE_AT(base, member) ((base) + offsetof(struct side_options, member))
#define SIDE_ROWS(base)                                                                                     \
	{"n3-port", OPTION_TEXT, SIDE_AT(base, ports[TRAFFIC_UP]), .operand = "DEVICE",                     \
	 .help = "the gNB's port: DPDK device arguments, as net_af_xdp0,iface=g3; more queues behind ';'"}, \
		{"n6-port", OPTION_TEXT, SIDE_AT(base, ports[TRAFFIC_DOWN]), .operand = "DEVICE",           \
		 .help = "the data network's port"},                                                        \
		{"forwarder",                                                                               \
		 OPTION_WORDS,                                                                              \
		 SIDE_AT(base, forwarder),                                                                  \
		 .def = "upf",                                                                              \
		 .words = {"upf", "io"},                                                                    \
		 .operand = "WHAT",                                                                         \
		 .help = "what is measured; io: frames pass as they are, as testpmd has it"},               \
		{"smf",                                                                                     \
		 OPTION_ADDR,                                                                               \
		 SIDE_AT(base, smf),                                                                        \
		 .def = "10.10.4.2",                                                                        \
		 .operand = "ADDRESS",                                                                      \
		 .help = "our own address for PFCP"},                                                       \
		{"n4",                                                                                      \
		 OPTION_ADDR,                                                                               \
		 SIDE_AT(base, upf),                                                                        \
		 .def = "10.10.4.1",                                                                        \
		 .operand = "ADDRESS",                                                                      \
		 .help = "the UPF's address for PFCP"},                                                     \
		{"gnb",                                                                                     \
		 OPTION_ADDR,                                                                               \
		 SIDE_AT(base, gnb),                                                                        \
		 .def = "10.10.3.2",                                                                        \
		 .operand = "ADDRESS",                                                                      \
		 .help = "the gNB's address"},                                                              \
		{"n3",                                                                                      \
		 OPTION_ADDR,                                                                               \
		 SIDE_AT(base, n3),                                                                         \
		 .def = "10.10.3.1",                                                                        \
		 .operand = "ADDRESS",                                                                      \
		 .help = "the UPF's address there"},                                                        \
		{"dn",                                                                                      \
		 OPTION_ADDR,                                                                               \
		 SIDE_AT(base, dn),                                                                         \
		 .def = "10.10.6.2",                                                                        \
		 .operand = "ADDRESS",                                                                      \
		 .help = "the data network's gateway"},                                                     \
		{"n6",                                                                                      \
		 OPTION_ADDR,                                                                               \
		 SIDE_AT(base, n6),                                                                         \
		 .def = "10.10.6.1",                                                                        \
		 .operand = "ADDRESS",                                                                      \
		 .help = "the UPF's address there"},                                                        \
		{"server",                                                                                  \
		 OPTION_ADDR,                                                                               \
		 SIDE_AT(base, server),                                                                     \
		 .def = "192.0.2.10",                                                                       \
		 .operand = "ADDRESS",                                                                      \
		 .help = "whom the UEs talk to"},                                                           \
		{"ue-base",                                                                                 \
		 OPTION_ADDR,                                                                               \
		 SIDE_AT(base, ue_base),                                                                    \
		 .def = "10.45.0.1",                                                                        \
		 .operand = "ADDRESS",                                                                      \
		 .help = "the first UE's address; the others follow"},                                      \
		{"dnn",                                                                                     \
		 OPTION_TEXT,                                                                               \
		 SIDE_AT(base, network),                                                                    \
		 .def = "internet",                                                                         \
		 .operand = "NAME",                                                                         \
		 .help = "the network instance"},                                                           \
		{"ues",   OPTION_NUMBER, SIDE_AT(base, ues), 1,                                             \
		 4000000, "1024",        .operand = "N",     .help = "UEs, each with a session"},           \
		{"flows", OPTION_NUMBER, SIDE_AT(base, flows), 1,                                           \
		 1000,    "2",           .operand = "N",       .help = "flows of each UE"},                 \
		{"direction",                                                                               \
		 OPTION_WORDS,                                                                              \
		 SIDE_AT(base, ways),                                                                       \
		 .def = "up,down",                                                                          \
		 .words = {"up", "down"},                                                                   \
		 .operand = "WAY,..",                                                                       \
		 .help = "of the packets"},                                                                 \
		{"cpu", OPTION_NUMBER, SIDE_AT(base, cpu), 0,                                               \
		 1023,  "0",           .operand = "N",     .help = "where the traffic side runs"},          \
	{                                                                                                   \
		"huge", OPTION_FLAG, SIDE_AT(base, huge), .help = "packets in huge pages"                   \
	}

struct side {
	struct n4 *n4; // NULL with SIDE_IO
	struct traffic *traffic;
};

// Establishes the sessions, opens the ports and sees that packets pass. Ends the program if they do not.
void side_open(const struct side_options *o, struct side *ret);
void side_close(struct side *side);
