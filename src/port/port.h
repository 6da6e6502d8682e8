// Interfaces, whatever carries them: opened from the configuration, started, watched, closed.
//
// An interface is what the configuration names (n3, n6, …). Behind it stand one or more ethdev
// ports; rx[i] and tx[i] say which (port, queue) worker i polls and sends to. Interfaces that name
// one device with different VLANs share its ports and queues, so a worker that collects its queues
// must take each once. All functions are the control thread's; workers may read struct iface, which
// does not change once it is open (but for carrier).

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_ether.h>
#include <rte_mempool.h>

#include "base/addr.h"
#include "port/eal.h"

#define PORT_MAX_ADDRS 32 // local addresses of one interface in its configuration
#define PORT_MAX_IFACES 8 // interfaces (VLANs) of one device
#define PORT_MIN_INNER_MTU 576
#define PORT_TUNNEL_BYTES 44  // IPv4 20, UDP 8, GTP-U 8, its options 4, PDU Session Container 4
#define PORT_TUNNEL6_BYTES 64 // the same over IPv6

enum port_mode {
	PORT_AF_XDP,
	PORT_AF_PACKET,
	PORT_NATIVE,
	PORT_VDEV,
};

enum port_xdp {
	PORT_XDP_AUTO, // native where the driver has it, else generic
	PORT_XDP_NATIVE,
	PORT_XDP_GENERIC,
};

enum port_zero_copy {
	PORT_ZERO_COPY_AUTO,
	PORT_ZERO_COPY_ON, // refuse to start without
	PORT_ZERO_COPY_OFF,
};

struct port_conf {
	char name[16];
	char device[256]; // netdev name; PCI address (native); devargs (vdev)
	enum port_mode mode;
	uint16_t mtu;  // 0: what the device has
	uint16_t vlan; // 0: untagged
	uint16_t rx_desc, tx_desc;
	uint16_t inner_mtu; // of the UEs' packets, to judge an N3 interface's MTU; 0: 1500
	enum port_xdp xdp;
	enum port_zero_copy zero_copy;
	uint32_t busy_budget; // AF_XDP preferred busy poll; 0: off
	bool is_n3;           // GTP-U comes in here
	bool is_n6;           // traffic for the UEs comes in here
	unsigned n_addrs;
	struct addr addrs[PORT_MAX_ADDRS];
};

struct port_queue {
	uint16_t port_id, queue_id;
};

// What the pipeline may rely on. It asks these and never the mode.
enum iface_cap {
	IFACE_RSS = 1 << 0,           // packets are spread over the queues by a hash of the NIC's
	IFACE_HOST_SEES_ALL = 1 << 1, // the kernel gets every packet too
	IFACE_PARTIAL_CKSUM = 1 << 2, // a local sender may leave its checksum to the device
};

struct iface {
	char name[16];
	char device[256];
	enum port_mode mode;
	struct rte_ether_addr mac;
	uint16_t mtu, vlan;
	bool is_n3, is_n6;
	bool carrier;  // control thread writes, as of the last port_carrier()
	uint32_t caps; // enum iface_cap
	unsigned n_workers;
	char driver[64];
	char text[384]; // what the backend got, for people
	struct port_queue rx[MAX_WORKERS], tx[MAX_WORKERS];
	struct port *port;
};

struct port_counters {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
	uint64_t rx_missed; // no room in a ring, whoever noticed: PMD, AF_XDP or AF_PACKET socket
	uint64_t rx_errors, tx_errors, rx_no_mbuf;
	uint64_t netdev_rx_dropped,
		netdev_tx_dropped; // by the kernel's device, its own traffic too
};

// n mbufs for packets of this MTU in every mode, with the AF_XDP kernel's headroom and 64 bytes of
// private area. NULL with the reason in err. One memory chunk, as an AF_XDP socket needs it.
struct rte_mempool *port_mempool_new(const char *name, unsigned n, uint16_t mtu, unsigned cache,
				     struct port_error *err);

// Open an interface with a queue for each worker; queue i takes its mbufs from mp[i]. The steering
// maps get conf's addresses. NULL with the reason and the cure in err; nothing is left behind.
struct iface *port_open(const struct port_conf *conf, unsigned n_workers, struct rte_mempool *mp[],
			struct port_error *err);

// Let traffic in. Interfaces of one device start and stop together: once one is started they run
// until one is stopped, and that is for good: some drivers close their sockets then.
int port_start(struct iface *iface, struct port_error *err);
void port_stop(struct iface *iface);

// The last interface of a device closes its ports. The interface is gone afterwards.
void port_close(struct iface *iface);

// What traffic is Sluice's on this interface. May be called at any time between open and close; a
// mode that takes every packet accepts and ignores it. -errno when a map is full.
int port_ue_prefix_add(struct iface *iface, const struct prefix *prefix);
int port_ue_prefix_del(struct iface *iface, const struct prefix *prefix);
int port_local_addr_add(struct iface *iface, const struct addr *addr);
int port_local_addr_del(struct iface *iface, const struct addr *addr);

// Copies of ARP and ND frames that both the host and Sluice need: answers to an address that the
// two share, and announcements. port_copies_fd gives a descriptor to watch for reading, or -1
// where there is none; port_copies_read calls fn for each frame that waits.
typedef void (*port_copy_fn)(void *arg, const uint8_t *frame, uint16_t len);
int port_copies_fd(const struct iface *iface);
void port_copies_read(struct iface *iface, port_copy_fn fn, void *arg);

bool port_carrier(struct iface *iface);
int port_counters_get(struct iface *iface, struct port_counters *ret_counters);
void port_describe(const struct iface *iface, FILE *out);
const char *port_mode_str(enum port_mode mode);
