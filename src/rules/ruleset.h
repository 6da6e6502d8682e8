// A session's rules compiled for a worker: one immutable block, replaced whole.
//
// Sessions whose rules are alike share one block, so nothing in it speaks of one session: tunnels,
// meters and usage stand in the session's lines, and a FAR names its tunnel by place. Made by the control
// thread (rules/compile.c) in the arena (rules/arena.h), read by the owners of the sessions that use it.
//
// Layout: struct ruleset, n_up + n_down struct pdr (up first, each by precedence), then those of directions
// that are classified; all of them once more, if the flags say so, for packets beyond a quota; n_fars struct far; n_filters struct filter on cache lines of their own, of PDRs that are
// walked, then struct redirect and the session's sources in their likeness; struct classifiers, if the flags say so, and what they lead to. All that is not said is zero, so
// that like rules give like bytes. Nobody writes to a block that workers can see: its users are counted in
// the arena.

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "packet/pkt.h"

// What a PDR allows of the user packet's family.
#define PDR_V4 0x01
#define PDR_V6 0x02
// Flags of struct pdr.
#define PDR_F_DECAP 0x01 // Outer Header Removal was given
#define PDR_F_ANY_SOURCE                                                                           \
	0x02               // up: the user's source address is not checked (to CP-function, relayed)
#define PDR_F_GATE_UP 0x04 // a QER closes the uplink gate
#define PDR_F_GATE_DOWN 0x08
#define PDR_F_RQI 0x10 // Reflective QoS is to be indicated
#define PDR_F_DROPS                                                                                \
	0x20 // a URR counts the downlink packets that are dropped for want of a reachable UE

// Which meters and usage a PDR's packets have (session/policy.h): those of the line by bit, others are listed.
#define PDR_POLICY_METER_0 0x01 // of the first place
#define PDR_POLICY_METER_1 0x02
#define PDR_POLICY_METERS 0x04     // `meters` lists further ones
#define PDR_POLICY_USAGE_LINE 0x08 // of the first place, where that is counted in the line
#define PDR_POLICY_USAGES 0x10     // `usages` lists further ones
#define PDR_NO_PLACE 0xff

struct pdr {
	uint64_t qfis;     // bit per QFI that matches; all ones: any, also none
	uint8_t families;  // PDR_V4 | PDR_V6
	uint8_t tunnel;    // the session's tunnel that it must come by; 0: in no tunnel
	uint8_t n_filters; // 0: every packet matches
	uint8_t flags;
	uint16_t first_filter;
	uint16_t far;   // index in the block
	uint16_t id;    // PDR ID, for reports
	uint8_t qfi;    // to write into the PDU Session Container; PKT_QFI_NONE: none
	uint8_t policy; // PDR_POLICY_ bits
	uint8_t meters
		[4]; // by number in the session (session/policy.h); PDR_NO_PLACE: none further
	uint8_t usages[4]; // likewise
	uint32_t serial;   // in the block's first place: of the block (ruleset_serial())
};
static_assert(sizeof(struct pdr) == 32, "two PDRs a cache line");

// Where a FAR sends to.
enum far_to {
	FAR_TO_NOWHERE, // no Forwarding Parameters
	FAR_TO_ROUTE,   // plain IP, by route of interface `iface`
	FAR_TO_LINE,    // GTP-U tunnel in the session's down line
	FAR_TO_PLACE,   // GTP-U tunnel number `place` in the session's cold record
	FAR_TO_UDP,     // the same, a tunnel of plain UDP towards N6
	FAR_TO_STEERED, // plain IP, marked with `dscp`, by forwarding policy `place` or, if that is 0, by
			// route of interface `iface`
};

#define RULESET_MAX_PLACES 6 // tunnels that one session sends to besides the one in its down line

// A FAR that PDRs of both directions name stands here once for each, since only the down line has a tunnel. The
// destinations of its duplicates follow it, as FARs of the same id.
struct far {
	uint8_t action; // APPLY_ bits (rules/model.h)
	uint8_t to;     // enum far_to; NOWHERE unless the action is FORW
	uint8_t iface;  // FAR_TO_ROUTE, FAR_TO_STEERED
	uint8_t place;  // FAR_TO_PLACE, FAR_TO_UDP, FAR_TO_STEERED
	uint8_t dscp; // of the header that is put on, or of the packet where none is; FAR_DSCP_COPY:
		      // the user packet's
	uint8_t flags;
	union {
		uint16_t
			buffer_packets; // BUFF: that its BAR lets a session hold, if FAR_F_BUFFER_PACKETS
		uint16_t redirect; // FORW: number of struct redirect, if FAR_F_REDIRECT
	};
	uint32_t id;       // FAR ID, for reports
	uint32_t buffer_s; // BUFF: for how long, if FAR_F_BUFFER_TIME; all ones: no end
};
static_assert(sizeof(struct far) == 16, "four FARs a cache line");

#define FAR_DSCP_COPY 0xff
#define FAR_F_UP 0x01 // counts as uplink traffic: leaves away from the access side
#define FAR_F_BUFFER_PACKETS 0x02
#define FAR_F_BUFFER_TIME 0x04
// FAR_TO_ROUTE, FAR_TO_STEERED, up: what is for another UE of that network goes to its session, or ends. Neither: it
// is routed.
#define FAR_F_UE_DIRECT 0x08
#define FAR_F_UE_DROP 0x10
#define FAR_F_COPY 0x20 // the next FAR of the block is where a copy of its packets goes, and so on
#define FAR_F_REDIRECT 0x40 // up: its packets go to another destination than they were sent to

// One alternative of an SDF filter, "remote" being the network's side and "local" the UE's, so that both
// directions use the same (TS 29.244 5.2.1A.2A). Port lists are spread over several filters.
#define FILTER_F_PROTO 0x01
#define FILTER_F_PORTS 0x02 // port ranges are given: packets without ports do not match
#define FILTER_F_TOS 0x04
#define FILTER_F_SPI 0x08
#define FILTER_F_FLOW_LABEL 0x10
#define FILTER_F_FRAG 0x20        // a fragment, but not the first
#define FILTER_F_ESTABLISHED 0x40 // TCP with ACK or RST
#define FILTER_F_SETUP 0x80       // TCP with SYN and without ACK
#define FILTER_F_RARE                                                                              \
	(FILTER_F_TOS | FILTER_F_SPI | FILTER_F_FLOW_LABEL | FILTER_F_FRAG |                       \
	 FILTER_F_ESTABLISHED | FILTER_F_SETUP)

struct filter {
	uint8_t family; // 0: both, and then no address is given
	uint8_t flags;
	uint8_t proto;
	uint8_t tos, tos_mask;
	uint8_t remote_bits, local_bits; // IPv6 prefix lengths
	uint8_t spare;
	uint16_t remote_low, remote_high, local_low, local_high; // host order, ends included
	uint32_t spi;
	uint32_t flow_label;
	union {
		struct {
			rte_be32_t remote, remote_mask, local, local_mask;
		} v4;
		struct {
			uint8_t remote[16], local[16]; // zero beyond their bits
		} v6;
	};
	uint64_t spare2;
};
static_assert(sizeof(struct filter) == 64, "a filter a cache line");

// Where a FAR redirects to. These stand among the filters, before the last ones, which are sources.
struct redirect {
	uint8_t families; // PDR_V4, PDR_V6: of which it has an address; none: packets keep theirs
	uint8_t spare;
	uint16_t port; // host order; 0: packets keep theirs
	rte_be32_t v4;
	uint8_t v6[16];
	uint8_t spare2[40];
};
static_assert(sizeof(struct redirect) == sizeof(struct filter), "in the place of a filter");

#define RULESET_F_ANY_SOURCE 0x01  // some up PDR has PDR_F_ANY_SOURCE
#define RULESET_F_CLASSIFY_UP 0x02 // up PDRs are not walked but classified (rules/classify.h)
#define RULESET_F_CLASSIFY_DOWN 0x04
#define RULESET_F_RARE_UP                                                                          \
	0x08 // more than a packet's flow and tunnel decides which up PDR it matches
#define RULESET_F_RARE_DOWN 0x10
#define RULESET_F_QUOTA_FARS 0x20 // behind all PDRs stand their likes with FARs for quota action
#define RULESET_UNIT 64           // bytes: blocks are whole cache lines

struct ruleset {
	uint64_t chain_up, chain_down; // services that its packets visit
	uint32_t units : 20;           // of the whole block, in RULESET_UNIT
	uint32_t
		n_sources : 6; // the last filters: what the session may send from beside the line's UE addresses
	uint32_t flags : 6;
	uint16_t n_up, n_down; // PDRs that are walked
	uint16_t n_fars : 10;
	uint16_t profile : 6; // of its sessions' flows (worker/flows.h): the network instance
	uint16_t n_filters : 15;
	uint16_t
		gathers : 1; // fragments wait for each other: a filter asks what only a whole packet says
	uint16_t fars_at, filters_at; // offsets from the start of the block, in 16 bytes
	struct pdr pdrs[];
};
static_assert(sizeof(struct ruleset) == 32,
	      "the first PDR shares the header's cache line, no PDR is cut");

static inline size_t ruleset_bytes(const struct ruleset *rs)
{
	return (size_t)rs->units * RULESET_UNIT;
}

// Tells a block from all others that have been in the arena, also in its place, so that whoever remembers what he
// found in a block can tell whether it is still the one. Stands behind the header, where a block without PDRs has
// room for one too.
static inline uint32_t ruleset_serial(const struct ruleset *rs)
{
	return rs->pdrs[0].serial;
}

static inline const struct far *ruleset_far(const struct ruleset *rs, unsigned i)
{
	return (const struct far *)(const void *)((const uint8_t *)rs + 16u * rs->fars_at) + i;
}

// What stands for a PDR while a quota of it is used up (RULESET_F_QUOTA_FARS).
static inline const struct pdr *ruleset_quota_pdr(const struct ruleset *rs, const struct pdr *pdr)
{
	size_t pdrs = (16u * rs->fars_at - sizeof(struct ruleset)) / sizeof(struct pdr);

	return pdr + pdrs / 2;
}

static inline const struct filter *ruleset_filter(const struct ruleset *rs, unsigned i)
{
	return (const struct filter *)(const void *)((const uint8_t *)rs + 16u * rs->filters_at) +
	       i;
}

// Number `i` is the last but so many.
static inline const struct redirect *ruleset_redirect(const struct ruleset *rs, unsigned i)
{
	return (const struct redirect *)(const void *)ruleset_filter(
		rs, rs->n_filters - rs->n_sources - 1u - i);
}
