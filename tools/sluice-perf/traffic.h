// The traffic side: GTP-U up on one port, plain IP down on the other, for N UEs times M flows, and what comes back.
//
// One thread. A packet's payload says which flow it is of, its number in that flow, and when it was sent. Each that
// comes back is held against what its flow says it must be: the UE's address, the tunnel and QFI of the way down,
// TTL and lengths, ports, and its number. Loss is what did not come back. Addresses are answered for (ARP), and so
// are Echo Requests.
//
// With `reflected` the other side is no UPF but forwards frames as they are, from each port to the other.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "histogram.h"

#define TRAFFIC_SIZES_MAX 16
#define TRAFFIC_PORTS 16      // of each way
#define TRAFFIC_SIZE_LEAST 64 // of a user's Ethernet frame, its checksum included
#define TRAFFIC_SIZE_MOST 1518

enum traffic_way { TRAFFIC_UP, TRAFFIC_DOWN, TRAFFIC_WAYS };

struct n4;

struct traffic_conf {
	// DPDK device arguments or PCI addresses: the gNB's port, the data network's. A device with several queues is
	// several ports, separated by ';'.
	const char *ports[TRAFFIC_WAYS];
	struct addr gnb, n3; // the ends of the tunnels
	struct addr dn, n6;  // the data network's gateway, and the UPF's address there
	struct addr server;  // behind the gateway: what UEs talk to
	struct addr ue_base;
	uint32_t ues, flows; // flows of each UE
	unsigned cpu;
	double catch_up_s; // what was missed for longer is not sent later
	bool huge;
	bool reflected;
};

enum traffic_fault {
	TRAFFIC_FOREIGN,   // no packet of ours
	TRAFFIC_MALFORMED, // a packet of ours, but not as it must be
	TRAFFIC_WRONG_UE,  // another UE's address or tunnel
	TRAFFIC_WRONG_QFI,
	TRAFFIC_DUPLICATE,
	TRAFFIC_REORDERED, // in its flow
	TRAFFIC_FAULTS
};
extern const char *const traffic_fault_names[TRAFFIC_FAULTS];

struct traffic_count {
	uint64_t sent, received;
	uint64_t faults[TRAFFIC_FAULTS]; // all but FOREIGN and REORDERED are not received
	struct histogram cycles;         // TSC, from sent to received
};

struct traffic_trial {
	double pps;       // asked for, of all ways together
	double seconds;   // of sending
	unsigned ways;    // a bit for each
	unsigned n_sizes; // frames take these in turn
	uint16_t sizes[TRAFFIC_SIZES_MAX];
};

struct traffic_result {
	double asked_pps, offered_pps, received_pps;
	double seconds;                 // of sending
	uint64_t start_ns, end_ns;      // CLOCK_MONOTONIC
	uint64_t sent, received, wrong; // of all ways; wrong: faults but FOREIGN and REORDERED
	struct traffic_count way[TRAFFIC_WAYS];
};

struct traffic;

// Starts EAL and the ports. Ends the program with a message on failure, as do the others here.
struct traffic *traffic_new(const struct traffic_conf *conf);
// The sessions give the TEIDs for the way up; finds the UPF's link addresses. Not with `reflected`.
void traffic_attach(struct traffic *t, const struct n4 *sessions);
void traffic_free(struct traffic *t);

// Sends until most packets come back. False: they did not, within some seconds.
bool traffic_warm(struct traffic *t, unsigned ways);
// One trial. `idle` is called between bursts, often.
void traffic_run(struct traffic *t, const struct traffic_trial *trial, void (*idle)(void *ctx),
		 void *ctx, struct traffic_result *ret);
uint64_t traffic_tsc_hz(void);

// Lost packets as a share of those sent.
double traffic_loss(const struct traffic_result *result);

// --- between traffic.c and its parts ------------------------------------------------------------------------

// traffic_frame.c: the bytes. Pure.
struct traffic_stamp {
	uint16_t mark; // the trial's, so that what comes late is known
	uint32_t flow; // number over all UEs, and the way in the top bit
	uint32_t number;
	uint64_t tsc;
} __attribute__((packed));
_Static_assert(sizeof(struct traffic_stamp) == 18, "all that the least UDP datagram has room for");

struct traffic_ends {
	uint8_t mac[TRAFFIC_WAYS][6];  // ours
	uint8_t peer[TRAFFIC_WAYS][6]; // the other side's
};

#define TRAFFIC_DOWN_BIT 0x80000000u // in a stamp's flow

// Where a frame's stamp stands.
uint32_t traffic_stamp_at(enum traffic_way way);
// Writes the headers of a frame, for the way up in the tunnel of the PDR that the flow is for (even flows: the first); gives its length without the Ethernet checksum.
uint32_t traffic_frame_write(const struct traffic_conf *conf, const struct traffic_ends *ends,
			     enum traffic_way way, uint32_t flow, uint32_t teid, uint16_t size,
			     uint8_t *frame);
// What a frame is that came by the port of the other way (or, reflected, of any). On TRAFFIC_FAULTS it is as it
// must be; *ret_stamp is filled unless it is foreign.
enum traffic_fault traffic_frame_read(const struct traffic_conf *conf, enum traffic_way way,
				      const uint8_t *frame, uint32_t bytes,
				      struct traffic_stamp *ret_stamp);

// The numbers that a flow has shown.
struct traffic_seen {
	uint32_t next; // one above the highest
	uint64_t last; // bit i: next - 1 - i was seen
};
// TRAFFIC_FAULTS when the number is the next or a later one.
enum traffic_fault traffic_seen_take(struct traffic_seen *seen, uint32_t number);
