// Inside port/: what a backend implements, and the device behind one or more interfaces.
//
// A backend turns a device's configuration into ethdev ports with a queue for each worker. It
// checks first and names the cure; after check() nothing should fail that could be foreseen.
// Control thread.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/netdev.h"
#include "port/port.h"

struct steer;

// One device: its ethdev ports and the interfaces on it.
struct port {
	const struct backend *backend;
	struct port_conf conf; // of the interface that opened it
	unsigned n_workers;
	struct port_queue queues[MAX_WORKERS];
	unsigned n_ethdevs;
	uint16_t ethdevs[MAX_WORKERS];
	bool started;
	unsigned n_ifaces;
	struct iface *ifaces[PORT_MAX_IFACES];

	struct rte_ether_addr mac;
	uint16_t mtu;
	uint32_t caps;   // enum iface_cap
	char driver[64]; // the kernel's for a netdev, else DPDK's

	int ifindex;        // af_xdp, af_packet; else 0
	int allmulti;       // the socket of netdev_allmulti_open, or -1
	unsigned n_sockets; // the driver's own, one a queue (af_packet: and one more)
	int sockets[MAX_WORKERS + 1];

	struct steer *steer; // af_xdp only, as are those below
	enum netdev_xdp xdp;
	bool zero_copy;

	uint64_t ring_drops; // af_packet: what its sockets have reported so far
};

struct backend {
	const char *name;

	// Whether it can work, without changing anything. Sets what the netdev tells in port.
	int (*check)(struct port *port, struct port_error *err);

	// Make the ethdev ports and set up their queues; on failure leave nothing behind.
	int (*open)(struct port *port, struct rte_mempool *mp[], struct port_error *err);

	// Around starting and stopping the ethdev ports; NULL: nothing to do.
	int (*started)(struct port *port, struct port_error *err);
	void (*stopping)(struct port *port);

	void (*close)(struct port *port);

	// A few words on what was got, after the driver's name.
	void (*describe)(const struct port *port, char *buf, size_t size);

	// Drops that ethdev does not know of, added to rx_missed; NULL: none.
	uint64_t (*drops)(struct port *port);
};

extern const struct backend backend_af_xdp;
extern const struct backend backend_af_packet;
extern const struct backend backend_native;
extern const struct backend backend_vdev;

// Shared by af_xdp and af_packet: the device is there, up, has the queues and the MTU.
int backend_netdev_check(struct port *port, struct port_error *err);

// Warnings about settings of the device and of its veth peer that break packets.
void backend_netdev_advise(const struct port *port);

// Probe one virtual device; gives its ethdev port.
int backend_vdev_probe(const char *name, const char *args, uint16_t *ret_port,
		       struct port_error *err);

// Close an ethdev port and remove the device behind it.
void backend_ethdev_close(uint16_t ethdev);

// Configure one ethdev port with n queues each way, and RSS as it has it, and set them
// up with a mempool each. Sets port's mac and caps, and mtu and driver where check() has not.
int queue_setup(struct port *port, uint16_t ethdev, unsigned n, struct rte_mempool *mp[],
		struct port_error *err);
