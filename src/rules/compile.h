// From a session's checked rules to what a worker needs: one shared block, and what is the session's own.
//
// Control thread. The block is canonical: sessions with like rules give equal bytes, whatever their
// addresses and tunnels are, so that the arena keeps it once (rules/arena.h).

#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "rules/fault.h"
#include "rules/model.h"
#include "rules/ruleset.h"

// What the rules of one direction need done; the services' layer makes a chain of it.
enum compile_needs {
	NEEDS_DECAP = 1 << 0, // a PDR removes a GTP-U header
	NEEDS_ENCAP = 1 << 1, // a FAR sends into a tunnel
	NEEDS_ROUTE = 1 << 2, // a FAR sends plain IP
	NEEDS_SOURCE_CHECK =
		1 << 3, // up: the session's UE addresses are known and not all PDRs take any source
	NEEDS_GATE = 1 << 4,      // a QER closes a gate
	NEEDS_METER = 1 << 5,     // a QER limits the rate
	NEEDS_USAGE = 1 << 6,     // a URR measures
	NEEDS_BUFFER = 1 << 7,    // a FAR buffers
	NEEDS_QUOTA = 1 << 8,     // a URR has a quota, or counts before rates are enforced
	NEEDS_COPIES = 1 << 9,    // a FAR duplicates
	NEEDS_REDIRECT = 1 << 10, // a FAR redirects: of both directions, since answers are led back
};

#define COMPILE_IFACE_NONE 0xff

// What happens to packets from one UE of a network instance to another.
enum ue_to_ue {
	UE_TO_UE_DIRECT, // they go to the other's session
	UE_TO_UE_ROUTE,  // they leave by the network instance's interface as all others do
	UE_TO_UE_DROP,
};

struct compile_ni {
	uint8_t iface;     // its N6 interface, or COMPILE_IFACE_NONE
	uint8_t ue_to_ue;  // enum ue_to_ue
	uint64_t services; // that the configuration gives the flows of its sessions
	bool redirects;    // its FARs may redirect
};

struct compile_conf {
	const struct compile_ni *nis; // the network instances
	uint16_t n_nis;
	uint16_t
		default_ni; // stands for a Network Instance not given; RULES_NI_NONE: there is none
	uint8_t default_iface; // the first N6 interface, where there is no default network instance
	const uint8_t *policy_ifaces; // N6 interface of each forwarding policy
	uint64_t (*chain)(void *ctx, bool up, unsigned needs); // needs: NEEDS_ bits
	void *chain_ctx;
	unsigned walk_max; // alternatives of a direction that are walked, more are classified; 0:
			   // COMPILE_WALK_MAX
	// The flow descriptions of an application (struct pdi), any of which its traffic matches: *ret_n of them,
	// valid until control returns to its loop. None: nothing is its traffic. NULL: there are no applications.
	const struct sdf *(*app_flows)(void *ctx, uint16_t app, unsigned *ret_n);
	void *app_ctx;
};

// A tunnel that the session sends to. Two are the same when all of it is. A FAR may give its far end in both
// families (TS 29.244 8.2.56): then either leads there.
struct tunnel_out {
	uint32_t teid;      // of GTP-U, host order
	struct addr v4, v6; // ADDR_NONE: not given
	uint16_t ni;
	uint16_t udp_port;   // the far end's, of plain UDP; 0: it is GTP-U
	uint8_t iface_value; // enum interface_value of the FAR's destination
	uint8_t iface;       // of plain UDP: the N6 interface that it leaves by
};

// Where a FAR with an outer header sends to.
struct tunnel_out tunnel_out_of(const struct far_rule *far);
// Whether both are tunnels to one far end.
bool tunnel_out_same_end(const struct tunnel_out *a, const struct tunnel_out *b);

// Where packets to a prefix of the UE, or to one behind it, are looked up.
struct ue_key {
	struct prefix prefix; // all beyond its length zero
	uint8_t iface;        // N6 interface that they come in by
	bool framed;          // a route behind the UE
};

#define COMPILED_MAX_SOURCES (RULES_MAX_UES + RULES_MAX_FRAMED)
#define COMPILED_MAX_UE_KEYS (2 * COMPILED_MAX_SOURCES) // as long as few are on several interfaces

struct compiled {
	struct ruleset *rs; // heap memory of ruleset_bytes()
	bool has_line;
	struct tunnel_out line; // FAR_TO_LINE: the one that most down PDRs send to
	uint8_t n_places;
	struct tunnel_out places[RULESET_MAX_PLACES]; // FAR_TO_PLACE, FAR_TO_UDP
	// The source check's addresses: of the UE, the first of each family. Where a session has further ones, an
	// IPv6 prefix that is no /64, or framed routes, the block lists all that it may send from.
	struct in_addr ue_v4;  // 0: none
	struct in6_addr ue_v6; // its /64, or one in its prefix; all zero: none
	uint8_t n_ue_keys;
	struct ue_key ue_keys[COMPILED_MAX_UE_KEYS];
};

// `rules` has passed rules_check(), and its tunnels are given. 0, or -EINVAL with the fault; then *ret is
// untouched.
int rules_compile(const struct rules *rules, const struct compile_conf *conf, struct compiled *ret,
		  struct pfcp_fault *fault);
void compiled_fini(struct compiled *compiled);
