// Questions to the kernel about a network device, and the few things we change on it.
//
// By netlink and ioctl rather than sysfs, which may show another network namespace than ours.
// Control thread. Functions give 0 or -errno unless said otherwise.

#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "base/addr.h"

enum netdev_xdp {
	NETDEV_XDP_NONE,
	NETDEV_XDP_NATIVE,
	NETDEV_XDP_GENERIC,
	NETDEV_XDP_OTHER, // in hardware, or several at once
};

struct netdev {
	char name[IFNAMSIZ];
	int index;
	struct rte_ether_addr mac;
	uint32_t mtu;
	uint32_t flags; // IFF_*
	bool carrier;
	char kind[16];  // "veth", "bond", …; empty for a NIC
	int peer;       // of a veth, its index; 0 for others
	bool peer_here; // the peer is in our network namespace
	enum netdev_xdp xdp;
	uint32_t xdp_prog_id;
	uint64_t rx_dropped, tx_dropped;
};

// Offloads that matter to a packet that is not the kernel's own.
enum netdev_feature {
	NETDEV_TX_CKSUM,
	NETDEV_RX_VLAN, // the tag is cut off before XDP sees the frame
	NETDEV_TX_VLAN,
	NETDEV_GRO,
	NETDEV_LRO,
};

// -ENODEV when there is no such device.
int netdev_get(const char *name, struct netdev *ret_netdev);

// Of the answer to a RTM_GETLINK request; separate so that a test can feed it bytes.
int netdev_decode(const void *msg, size_t len, struct netdev *ret_netdev);

// Queues in use: combined, or the smaller of rx and tx; 1 where the driver does not say.
int netdev_queues(const char *name, unsigned *ret_queues, bool *ret_combined);

bool netdev_feature_on(const char *name, enum netdev_feature feature);
void netdev_driver(const char *name, char *buf, size_t size);
bool netdev_has_addr(const char *name, const struct addr *addr);
bool netdev_forwards(const char *name, enum addr_family family);
int netdev_up(const char *name);

// A socket that keeps the device receiving all multicast (neighbour solicitation for addresses
// that the kernel does not have) for as long as it is open. The descriptor, or -errno.
int netdev_allmulti_open(int index);

// Whether this process has the capability (CAP_NET_ADMIN, …) in effect.
bool netdev_capable(int cap);

// Sockets of this process in a protocol family, to tell which one a library has just opened.
// Fills up to max descriptors and gives their number.
unsigned netdev_sockets(int family, int *ret_fds, unsigned max);
