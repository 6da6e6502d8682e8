// SDF filters: the text form of TS 29.212 5.4.2 / RFC 6733 4.3.1 (IPFilterRule) and the other parts of the
// SDF Filter IE (TS 29.244 8.2.5), parsed.
//
// Control thread. A filter that does not parse is an error, never a match-all; so is one that says more
// than is honoured ("!", options), since leaving that out would let more packets match.

#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define SDF_MAX_PORTS 8 // ranges on each side

// Options of the text that are honoured (RFC 6733 4.3.1); all others are refused.
#define SDF_OPTION_FRAG 0x01        // a fragment, but not the first
#define SDF_OPTION_ESTABLISHED 0x02 // TCP with ACK or RST
#define SDF_OPTION_SETUP 0x04       // TCP with SYN and without ACK

struct sdf_port_range {
	uint16_t low, high;
};

struct sdf_side {
	bool any;      // the address is "any"
	bool assigned; // the address is "assigned": the UE's
	struct prefix prefix;
	uint8_t n_ports;
	struct sdf_port_range ports[SDF_MAX_PORTS];
};

// One SDF Filter. `from` is the remote side and `to` the UE's, as the text says for "permit out", also for
// uplink PDRs (TS 29.244 5.2.1A.2A).
struct sdf {
	bool has_flow, has_tos, has_spi, has_flow_label, has_bid;
	uint8_t options; // SDF_OPTION_ bits
	bool any_proto;  // "ip"
	uint8_t proto;
	uint8_t tos, tos_mask;
	uint32_t spi, flow_label, bid;
	struct sdf_side from, to;
};

// Whether it has nothing but a BID: then it stands for the filter of the session that has this BID and a
// Flow Description (TS 29.244 8.2.5).
static inline bool sdf_is_reference(const struct sdf *sdf)
{
	return sdf->has_bid && !sdf->has_flow && !sdf->has_tos && !sdf->has_spi &&
	       !sdf->has_flow_label;
}

// Whether ports are read of packets of this protocol (packet/l4.c): the others match no filter with ports.
bool sdf_proto_has_ports(uint8_t proto);

// Parses a Flow Description of `len` bytes, not NUL-terminated, into the flow part of `sdf`. 0, or -EINVAL
// with a reason in `ret_why` (static text). Bounded: 1,024 bytes, 64 tokens.
int sdf_parse(const char *text, size_t len, struct sdf *sdf, const char **ret_why);

// The filter as text, for `show session`, cut to `size`. A Flow Description is printed so that it parses
// again to the same; the other parts follow it.
#define SDF_STRLEN 448
void sdf_str(const struct sdf *sdf, char *buf, size_t size);
