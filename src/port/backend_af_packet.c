// Backend af_packet: net_af_packet, a socket a worker, the kernel spreads packets by flow.
//
// Works on every device and asks for nothing but privileges; the kernel goes on seeing every
// packet. The driver's sockets are found by what is new among our descriptors, for two things it
// leaves undone: not receiving what the host itself sends or what is for another MAC, and counting
// what its rings lost.
// Control thread.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/if_packet.h>

#include "base/log.h"
#include "port/backend.h"

#define FRAME_OVERHEAD 96    // TPACKET2 header and address before the frame, and its Ethernet
#define FRAME_MIN 2048u      // the kernel puts IPv4 fragments together before it picks a socket
#define FRAMES_PER_BLOCK 64u // 64 frames of a multiple of 64 bytes are whole pages
#define MIN_FRAMES 512u
#define MAX_SOCKETS 1024

static int packet_check(struct port *port, struct port_error *err)
{
	if (!netdev_capable(CAP_NET_RAW) || !netdev_capable(CAP_NET_ADMIN))
		return port_fail(
			err, -EPERM,
			"%s: mode af_packet needs the capabilities CAP_NET_RAW and "
			"CAP_NET_ADMIN: run as root, or give them (AmbientCapabilities= in the service)",
			port->conf.device);
	return backend_netdev_check(port, err);
}

static void devargs_str(const struct port *port, char *buf, size_t size)
{
	unsigned least = RTE_ALIGN((unsigned)port->mtu + FRAME_OVERHEAD, 64u);
	unsigned frame = RTE_MAX(least, FRAME_MIN);
	unsigned count = RTE_ALIGN(RTE_MAX(port->conf.rx_desc, MIN_FRAMES), FRAMES_PER_BLOCK);

	snprintf(buf, size, "iface=%s,qpairs=%u,framesz=%u,blocksz=%u,framecnt=%u",
		 port->conf.device, port->n_workers, frame, frame * FRAMES_PER_BLOCK, count);
}

// Only what came in for us: to our MAC, broadcast or multicast. PACKET_IGNORE_OUTGOING has no
// effect on the sockets of a fanout group, a filter has.
static int filter_set(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, PACKET_OTHERHOST, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	struct sock_fprog prog = {.len = RTE_DIM(code), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) ? -errno : 0;
}

// The AF_PACKET sockets that are open now and were not before.
static int sockets_find(struct port *port, const int *before, unsigned n_before,
			struct port_error *err)
{
	int now[MAX_SOCKETS];
	unsigned n = netdev_sockets(AF_PACKET, now, MAX_SOCKETS);

	for (unsigned i = 0; i < n && port->n_sockets < RTE_DIM(port->sockets); i++) {
		bool old = false;

		for (unsigned k = 0; k < n_before; k++)
			old |= before[k] == now[i];
		if (old)
			continue;
		port->sockets[port->n_sockets++] = now[i];
		int ret = filter_set(now[i]);
		if (ret)
			return port_fail(err, ret, "%s: the socket takes no filter: %s",
					 port->conf.device, strerror(-ret));
	}
	if (port->n_sockets < port->n_workers)
		return port_fail(err, -ENOENT,
				 "%s: the driver's sockets are not among /proc/self/fd; is "
				 "/proc mounted?",
				 port->conf.device);
	return 0;
}

static void advise_forwarding(const struct port *port, enum addr_family family)
{
	const char *device = port->conf.device;
	int version = (int)family;

	if (netdev_forwards(device, family))
		log_warn("%s: the host forwards IPv%d from it and would forward Sluice's packets a "
			 "second time: 'sysctl -w net.ipv%d.conf.%s.forwarding=0'",
			 device, version, version, device);
}

static int packet_open(struct port *port, struct rte_mempool *mp[], struct port_error *err)
{
	int before[MAX_SOCKETS];
	unsigned n_before = netdev_sockets(AF_PACKET, before, MAX_SOCKETS);
	char name[64], args[512];
	uint16_t ethdev;
	int ret;

	devargs_str(port, args, sizeof(args));
	snprintf(name, sizeof(name), "net_af_packet_%.15s", port->conf.device);
	ret = backend_vdev_probe(name, args, &ethdev, err);
	if (ret)
		return ret;
	ret = sockets_find(port, before, n_before, err);
	if (!ret)
		ret = queue_setup(port, ethdev, port->n_workers, mp, err);
	if (ret) {
		backend_ethdev_close(ethdev);
		return ret;
	}
	port->ethdevs[port->n_ethdevs++] = ethdev;
	for (unsigned i = 0; i < port->n_workers; i++)
		port->queues[i] = (struct port_queue){ethdev, (uint16_t)i};
	port->caps |= IFACE_HOST_SEES_ALL | IFACE_PARTIAL_CKSUM;
	port->allmulti = netdev_allmulti_open(port->ifindex);
	backend_netdev_advise(port);
	advise_forwarding(port, ADDR_V4);
	advise_forwarding(port, ADDR_V6);
	return 0;
}

// The kernel's count restarts at each question.
static uint64_t packet_drops(struct port *port)
{
	for (unsigned i = 0; port->started && i < port->n_sockets; i++) {
		struct tpacket_stats stats = {0};
		socklen_t len = sizeof(stats);

		if (!getsockopt(port->sockets[i], SOL_PACKET, PACKET_STATISTICS, &stats, &len))
			port->ring_drops += stats.tp_drops;
	}
	return port->ring_drops;
}

static void packet_stopping(struct port *port)
{
	packet_drops(port);
	port->n_sockets = 0; // the driver closes them as it stops
}

static void packet_close(struct port *port)
{
	for (unsigned i = 0; i < port->n_ethdevs; i++)
		backend_ethdev_close(port->ethdevs[i]);
	port->n_ethdevs = 0;
	if (port->allmulti >= 0)
		close(port->allmulti);
}

static void packet_describe(const struct port *port, char *buf, size_t size)
{
	snprintf(buf, size, "AF_PACKET ring, the host sees every packet too");
}

const struct backend backend_af_packet = {
	.name = "af_packet",
	.check = packet_check,
	.open = packet_open,
	.stopping = packet_stopping,
	.close = packet_close,
	.describe = packet_describe,
	.drops = packet_drops,
};
