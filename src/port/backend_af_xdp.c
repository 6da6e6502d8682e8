// Backend af_xdp: net_af_xdp, one virtual device and one AF_XDP socket for each worker's queue, fed
// by our XDP program (steer.bpf.c), so that the host keeps its own traffic. Control thread.
//
// The driver opens sockets through libxdp, which wants to know the XDP program of the device:
//  - with CAP_SYS_ADMIN it may look the attached program up, and takes ours for its own by its
//    name. So ours is attached first, and the driver puts its sockets into our map;
//  - without, it cannot look. So the driver is given a program that passes everything
//    (idle.bpf.c), which it attaches itself and we take off again after each socket; then we find
//    the sockets among our descriptors, put them into our map and attach our program at the start.
// One virtual device a queue works everywhere; a device of several queues does not, on veth.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/capability.h>
#include <linux/if_xdp.h>

#include <idle.skel.h>

#include <rte_ethdev.h>

#include "base/log.h"
#include "port/backend.h"
#include "port/steer.h"
#include "port/steer_map.h"
#include "port/xsk_busy.h"

#define MAX_SOCKETS 1024
#define XDP_HEADROOM 256 // the kernel's, in every frame
#define ETHER_BYTES (RTE_ETHER_HDR_LEN + 4)
#define XDP_MAX_MTU 3400 // what port_mempool_new's buffers leave of a page, rounded

static int check_queues(const struct port *port, struct port_error *err)
{
	const char *device = port->conf.device;
	unsigned queues, n = port->n_workers;
	bool combined;
	int ret = netdev_queues(device, &queues, &combined);

	if (ret)
		return port_fail(err, ret, "%s: its queues cannot be asked for: %s", device,
				 strerror(-ret));
	if (n > STEER_MAX_QUEUES)
		return port_fail(err, -EINVAL,
				 "%s: %u workers, and mode af_xdp has %d queues at most", device, n,
				 STEER_MAX_QUEUES);
	if (queues >= n)
		return 0;
	if (combined)
		return port_fail(err, -EINVAL,
				 "%s has %u queue%s for %u workers: 'ethtool -L %s combined %u', "
				 "or configure fewer workers",
				 device, queues, queues > 1 ? "s" : "", n, device, n);
	return port_fail(
		err, -EINVAL,
		"%s has %u queue%s for %u workers: 'ethtool -L %s rx %u tx %u', or "
		"create it with 'ip link add … numrxqueues %u numtxqueues %u', or configure fewer workers",
		device, queues, queues > 1 ? "s" : "", n, device, n, n, n, n);
}

static int check_privileges(const struct port *port, struct port_error *err)
{
	bool bpf = netdev_capable(CAP_BPF) || netdev_capable(CAP_SYS_ADMIN);

	if (netdev_capable(CAP_NET_RAW) && netdev_capable(CAP_NET_ADMIN) && bpf)
		return 0;
	return port_fail(
		err, -EPERM,
		"%s: mode af_xdp needs the capabilities CAP_NET_RAW, CAP_NET_ADMIN, "
		"CAP_BPF and CAP_IPC_LOCK: run as root, or give them (AmbientCapabilities= in the service)",
		port->conf.device);
}

static int xdp_check(struct port *port, struct port_error *err)
{
	int ret = check_privileges(port, err);

	if (!ret)
		ret = backend_netdev_check(port, err);
	return ret ? ret : check_queues(port, err);
}

// The driver makes each mempool a UMEM: one chunk of memory, which the kernel pins.
static int check_memory(const struct port *port, struct rte_mempool *mp[], struct port_error *err)
{
	const char *device = port->conf.device;
	unsigned need = XDP_HEADROOM + ETHER_BYTES + port->mtu;
	struct rlimit limit = {0};
	uint64_t bytes = 0;

	for (unsigned i = 0; i < port->n_workers; i++) {
		unsigned room = rte_pktmbuf_data_room_size(mp[i]) - RTE_PKTMBUF_HEADROOM;
		size_t size = mp[i]->header_size + mp[i]->elt_size + mp[i]->trailer_size;

		if (mp[i]->nb_mem_chunks != 1)
			return port_fail(
				err, -ENOMEM,
				"%s: AF_XDP needs packet memory in one piece, which a native "
				"port without an IOMMU takes away: bind that to vfio-pci",
				device);
		if (room < need || size > (size_t)getpagesize())
			return port_fail(
				err, -EINVAL,
				"%s: an AF_XDP buffer is a page, and with MTU %u it is not "
				"enough, or not used: set mtu: below %u on all interfaces",
				device, port->mtu, XDP_MAX_MTU + 1);
		bytes += mp[i]->populated_size * size;
	}
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (!netdev_capable(CAP_IPC_LOCK) && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < bytes)
		return port_fail(
			err, -EPERM,
			"%s: AF_XDP must lock %llu MB of memory and the limit is %llu MB: "
			"give CAP_IPC_LOCK, or 'ulimit -l unlimited' (LimitMEMLOCK=infinity in the service)",
			device, (unsigned long long)(bytes >> 20) + 1,
			(unsigned long long)(limit.rlim_cur >> 20));
	return 0;
}

// The idle program as a file that the driver can open: a descriptor, or -errno.
static int idle_file_open(void)
{
	size_t size;
	const void *elf = idle_skel__elf_bytes(&size);
	int fd = memfd_create("idle.bpf.o", 0);

	if (fd < 0)
		return -errno;
	if (write(fd, elf, size) != (ssize_t)size) {
		close(fd);
		return -EIO;
	}
	return fd;
}

// The AF_XDP socket that was opened since `before`, or -1.
static int socket_find(const int *before, unsigned n_before)
{
	int now[MAX_SOCKETS];
	unsigned n = netdev_sockets(AF_XDP, now, MAX_SOCKETS);

	for (unsigned i = 0; i < n; i++) {
		bool old = false;

		for (unsigned k = 0; k < n_before; k++)
			old |= before[k] == now[i];
		if (!old)
			return now[i];
	}
	return -1;
}

static int socket_open(struct port *port, unsigned queue, uint16_t ethdev, struct rte_mempool *mp,
		       struct port_error *err)
{
	int ret = xsk_queue_wait(port->conf.device, queue) ? 0 : -EBUSY;

	if (!ret) {
		eal_log_quiet(true);
		ret = queue_setup(port, ethdev, 1, &mp, err);
		eal_log_quiet(false);
	}
	if (ret == -EBUSY)
		return port_fail(err, ret,
				 "%s: a queue of it belongs to another process's AF_XDP socket: "
				 "stop it first",
				 port->conf.device);
	return ret;
}

// The driver's part: its device for this queue, with its socket open. A device whose socket failed
// is left alone: the driver would free what it has freed. The process ends anyway.
static int queue_probe(struct port *port, unsigned queue, int idle_fd, struct rte_mempool *mp,
		       struct port_error *err)
{
	const struct port_conf *conf = &port->conf;
	char name[64], args[512], prog[64] = "";
	uint16_t ethdev;
	int ret;

	if (idle_fd >= 0)
		snprintf(prog, sizeof(prog), ",xdp_prog=/proc/self/fd/%d", idle_fd);
	snprintf(name, sizeof(name), "net_af_xdp_%.15s_%u", conf->device, queue);
	snprintf(args, sizeof(args), "iface=%s,start_queue=%u,queue_count=1,busy_budget=%u%s%s",
		 conf->device, queue, conf->busy_budget,
		 conf->zero_copy == PORT_ZERO_COPY_OFF ? ",force_copy=1" : "", prog);
	ret = backend_vdev_probe(name, args, &ethdev, err);
	if (ret)
		return ret;
	ret = socket_open(port, queue, ethdev, mp, err);
	if (idle_fd >= 0)
		bpf_xdp_detach(port->ifindex, 0, NULL);
	if (ret)
		return ret;
	port->ethdevs[port->n_ethdevs++] = ethdev;
	port->queues[queue] = (struct port_queue){ethdev, 0};
	return 0;
}

static int queue_open(struct port *port, unsigned queue, int idle_fd, struct rte_mempool *mp,
		      struct port_error *err)
{
	int before[MAX_SOCKETS];
	unsigned n_before = netdev_sockets(AF_XDP, before, MAX_SOCKETS);
	struct xdp_options options = {0};
	socklen_t len = sizeof(options);
	int ret = queue_probe(port, queue, idle_fd, mp, err);

	if (ret)
		return ret;
	int fd = socket_find(before, n_before);
	if (fd < 0)
		return port_fail(err, -ENOENT,
				 "%s: the socket of queue %u is not among /proc/self/fd; is /proc "
				 "mounted?",
				 port->conf.device, queue);
	ret = steer_socket_set(port->steer, queue, fd);
	if (ret)
		return port_fail(err, ret,
				 "%s: the socket of queue %u does not go into the XDP map: %s",
				 port->conf.device, queue, strerror(-ret));
	if (!getsockopt(fd, SOL_XDP, XDP_OPTIONS, &options, &len))
		port->zero_copy = options.flags & XDP_OPTIONS_ZEROCOPY;
	port->sockets[port->n_sockets++] = fd;
	return 0;
}

static void xdp_close(struct port *port)
{
	if (port->steer)
		steer_detach(port->steer); // before the driver looks for a program to take off
	for (unsigned i = 0; i < port->n_ethdevs; i++)
		backend_ethdev_close(port->ethdevs[i]);
	port->n_ethdevs = port->n_sockets = 0;
	steer_close(port->steer);
	port->steer = NULL;
	if (port->allmulti >= 0)
		close(port->allmulti);
	port->allmulti = -1;
}

static int xdp_attach(struct port *port, struct port_error *err)
{
	struct port_error why;
	int ret;

	if (port->xdp != NETDEV_XDP_NONE)
		return 0;
	ret = steer_attach(port->steer, port->conf.xdp, &port->xdp, &why);
	return ret ? port_fail(err, ret, "%s: %.480s", port->conf.device, why.text) : 0;
}

static int queues_open(struct port *port, struct rte_mempool *mp[], struct port_error *err)
{
	int idle_fd = -1, ret = 0;

	if (netdev_capable(CAP_SYS_ADMIN)) {
		ret = xdp_attach(port, err);
	} else {
		idle_fd = idle_file_open();
		if (idle_fd < 0)
			ret = port_fail(err, idle_fd, "%s: no memory file: %s", port->conf.device,
					strerror(-idle_fd));
	}
	for (unsigned i = 0; !ret && i < port->n_workers; i++)
		ret = queue_open(port, i, idle_fd, mp[i], err);
	if (idle_fd >= 0)
		close(idle_fd);
	return ret;
}

static int xdp_open(struct port *port, struct rte_mempool *mp[], struct port_error *err)
{
	const char *device = port->conf.device;
	struct netdev netdev;
	int ret = check_memory(port, mp, err);

	if (!ret)
		ret = steer_evict(device, err);
	if (ret)
		return ret;
	ret = netdev_get(device, &netdev);
	if (ret)
		return port_fail(err, ret, "%s: %s", device, strerror(-ret));
	ret = steer_open(&netdev, &port->steer, err);
	if (ret)
		return ret;
	ret = queues_open(port, mp, err);
	if (!ret && port->conf.zero_copy == PORT_ZERO_COPY_ON && !port->zero_copy)
		ret = port_fail(err, -EOPNOTSUPP,
				"%s: driver %s has no zero-copy here: set zero_copy: auto", device,
				netdev.kind[0] ? netdev.kind : port->driver);
	if (ret) {
		xdp_close(port);
		return ret;
	}
	port->caps |= IFACE_PARTIAL_CKSUM;
	port->allmulti = netdev_allmulti_open(port->ifindex);
	backend_netdev_advise(port);
	return 0;
}

static void xdp_stopping(struct port *port)
{
	steer_detach(port->steer);
	port->xdp = NETDEV_XDP_NONE;
}

static void xdp_describe(const struct port *port, char *buf, size_t size)
{
	snprintf(buf, size, "%s XDP, %s", port->xdp == NETDEV_XDP_GENERIC ? "generic" : "native",
		 port->zero_copy ? "zero-copy" : "copy mode");
}

const struct backend backend_af_xdp = {
	.name = "af_xdp",
	.check = xdp_check,
	.open = xdp_open,
	.started = xdp_attach,
	.stopping = xdp_stopping,
	.close = xdp_close,
	.describe = xdp_describe,
};
