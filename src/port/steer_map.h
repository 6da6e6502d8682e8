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

#define STEER_QUICK_ROWS 8

// Value in local_addrs.
#define STEER_OWN 1u    // Sluice's alone: everything to it goes up
#define STEER_SHARED 2u // the host's too: it keeps what is not GTP-U
#define STEER_GTPU 4u   // shared, and GTP-U goes up
// Of a UE prefix, among the quick rows: everything goes up.
#define STEER_UE 8u

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

// The first few addresses and prefixes once more, to be compared without a call to a map (steer_quick.h).
struct steer_quick_row {
	__u64 addr[2], mask[2];
	__u32 flags; // 0: the row is not used
	__be16 vlan;
	__u16 zero;
};

struct steer_quick {
	__u32 change; // odd while rows are written
	__u32 zero;
	struct steer_quick_row rows[STEER_QUICK_ROWS];
};

// The flags of the first row that `addr` is of; 0: none, or they are being written, and the maps know.
// Loads must keep their order, as they do on x86.
static inline __attribute__((always_inline)) __u32 steer_quick_find(
	const volatile struct steer_quick *quick, __be16 vlan, const __u64 addr[2])
{
	__u32 change = quick->change, flags = 0;

	if (change & 1)
		return 0;
#pragma GCC unroll 8
	for (int i = 0; i < STEER_QUICK_ROWS && !flags; i++) {
		const volatile struct steer_quick_row *row = &quick->rows[i];

		if (!((addr[0] ^ row->addr[0]) & row->mask[0]) &&
		    !((addr[1] ^ row->addr[1]) & row->mask[1]) && vlan == row->vlan)
			flags = row->flags;
	}
	return quick->change == change ? flags : 0;
}
