// What the XDP program and the daemon agree on: the maps' keys and values.
//
// Included by steer.bpf.c (clang -target bpf) and steer.c. IPv4 addresses are IPv4-mapped
// (::ffff:a.b.c.d), so that one map serves both families. VLANs stand in network order, so that a
// longest-prefix key can begin with them; untagged and priority-tagged frames are VLAN 0.

#pragma once

#include <linux/types.h>

#define STEER_MAX_QUEUES 64
#define STEER_MAX_ADDRS 4096
#define STEER_MAX_PREFIXES 65536
#define STEER_COPY_BYTES 124
#define STEER_VLAN_BITS 16
#define STEER_V4_BITS 96 // bits before the IPv4 address in its mapped form

// Value in local_addrs.
#define STEER_OWN 1u    // Sluice's alone: everything to it goes up
#define STEER_SHARED 2u // the host's too: it keeps what is not GTP-U
#define STEER_GTPU 4u   // shared, and GTP-U goes up

struct steer_addr {
	__be16 vlan;
	__u16 zero;
	__u8 addr[16];
};

struct steer_prefix {
	__u32 len; // STEER_VLAN_BITS included
	__be16 vlan;
	__u8 addr[16];
	__u16 zero;
};

struct steer_copy {
	__u32 len;
	__u8 frame[STEER_COPY_BYTES];
};
