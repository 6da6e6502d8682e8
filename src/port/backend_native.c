// Backend native: a NIC's own driver by PCI address (i40e first), RSS on what the NIC offers.
//
// The device must be bound to a driver that hands it to user space, but for NICs whose drivers
// share it with the kernel (mlx4, mlx5, mana). EAL was given the address at start. Control thread.

#include "port/backend_native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "port/backend.h"

#define FRAME_BYTES (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN) // beside the MTU

static const char *const user_drivers[] = {
	"vfio-pci", "uio_pci_generic", "igb_uio", "mlx5_core", "mlx4_core", "mana", NULL,
};

// The name of the driver that a device is bound to: 0 or -errno.
static int driver_name(const char *sysfs, const char *pci, char *buf, size_t size)
{
	char path[512], link[512];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s/driver", sysfs, pci);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return -errno;
	link[n] = '\0';
	snprintf(buf, size, "%.63s", strrchr(link, '/') ? strrchr(link, '/') + 1 : link);
	return 0;
}

static void first_entry(const char *path, char *buf, size_t size)
{
	struct dirent *entry;
	DIR *dir = opendir(path);

	buf[0] = '\0';
	while (dir && !buf[0] && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			snprintf(buf, size, "%.31s", entry->d_name);
	if (dir)
		closedir(dir);
}

int native_pci_check(const char *sysfs, const char *pci, struct port_error *err)
{
	char path[512], driver[64], netdev[32];
	unsigned domain, bus, device, function;
	int end = 0;

	if (sscanf(pci, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 ||
	    pci[end])
		return port_fail(err, -EINVAL,
				 "'%s' is not a PCI address like 0000:01:00.0: 'lspci -D' lists "
				 "them",
				 pci);
	snprintf(path, sizeof(path), "%s/%s", sysfs, pci);
	if (access(path, F_OK))
		return port_fail(err, -ENODEV, "%s: no such PCI device: 'lspci -D' lists them",
				 pci);
	if (driver_name(sysfs, pci, driver, sizeof(driver)) != 0)
		return port_fail(
			err, -ENODEV,
			"%s: no driver is bound to this device: "
			"'modprobe vfio-pci; driverctl set-override %s vfio-pci', or dpdk-devbind.py -b "
			"vfio-pci %s",
			pci, pci, pci);
	for (const char *const *d = user_drivers; *d; d++)
		if (!strcmp(driver, *d))
			return 0;
	snprintf(path, sizeof(path), "%s/%s/net", sysfs, pci);
	first_entry(path, netdev, sizeof(netdev));
	return port_fail(
		err, -EBUSY,
		"%s: the kernel's driver %s has this device%s%s: bind it with "
		"'dpdk-devbind.py -b vfio-pci %s' (the host loses it), or set mode: af_xdp%s%s",
		pci, driver, netdev[0] ? " as " : "", netdev, pci, netdev[0] ? " and device: " : "",
		netdev);
}

bool native_pci_is_uio(const char *sysfs, const char *pci)
{
	char driver[64];

	return driver_name(sysfs, pci, driver, sizeof(driver)) == 0 &&
	       (!strcmp(driver, "uio_pci_generic") || !strcmp(driver, "igb_uio"));
}

int native_pci_claim(const char *sysfs, const char *pci, struct port_error *err)
{
	char path[512];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/%s", sysfs, pci);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	ret = -errno;
	if (fd >= 0)
		close(fd);
	if (ret == -EWOULDBLOCK)
		return port_fail(err, -EBUSY, "%s: another sluiced uses this device", pci);
	return port_fail(err, ret, "%s: cannot be claimed: %s", path, strerror(-ret));
}

static int native_check(struct port *port, struct port_error *err)
{
	return native_pci_check(NATIVE_PCI_SYSFS, port->conf.device, err);
}

static int native_open(struct port *port, struct rte_mempool *mp[], struct port_error *err)
{
	const char *pci = port->conf.device;
	uint16_t ethdev;
	int ret;

	// EAL probed at start what it was told then; for all others it is time now.
	if (rte_eth_dev_get_port_by_name(pci, &ethdev)) {
		ret = rte_dev_probe(pci);
		if (ret && ret != -EEXIST)
			return port_fail(
				err, ret,
				"%s: no DPDK driver takes this device: %s; see that the IOMMU is "
				"on (intel_iommu=on or amd_iommu=on), that /dev/vfio is this user's, and "
				"that no other process has the device",
				pci, rte_strerror(-ret));
		ret = rte_eth_dev_get_port_by_name(pci, &ethdev);
		if (ret)
			return port_fail(err, ret, "%s: DPDK has no network driver for this device",
					 pci);
	}
	ret = queue_setup(port, ethdev, port->n_workers, mp, err);
	if (ret) {
		backend_ethdev_close(ethdev);
		return ret;
	}
	rte_eth_allmulticast_enable(ethdev); // neighbour solicitation; where it cannot, it is on
	port->ethdevs[port->n_ethdevs++] = ethdev;
	for (unsigned i = 0; i < port->n_workers; i++)
		port->queues[i] = (struct port_queue){ethdev, (uint16_t)i};
	return 0;
}

// Other drivers let all VLANs in until they are told of one; virtio's devices let none in.
static int vlans_let_in(const struct port *port, struct port_error *err)
{
	uint16_t ethdev = port->ethdevs[0];
	int ret = 0;

	if (strcmp(port->driver, "net_virtio") != 0)
		return 0;
	for (unsigned i = 0; i < port->n_ifaces && !ret; i++) {
		uint16_t vlan = port->ifaces[i]->vlan;

		if (!vlan)
			continue;
		ret = rte_eth_dev_set_vlan_offload(ethdev, RTE_ETH_VLAN_FILTER_OFFLOAD);
		if (ret == -ENOTSUP)
			return 0; // the device looks at no tag
		if (!ret)
			ret = rte_eth_dev_vlan_filter(ethdev, vlan, 1);
		if (ret)
			port_fail(err, ret, "%s: the device does not let VLAN %u in: %s",
				  port->conf.device, vlan, rte_strerror(-ret));
	}
	return ret;
}

// A driver that takes longer frames in several buffers may use less of a buffer than there is, but not less than the
// largest power of two: net_e1000_em knows no other sizes.
static int frames_fit(const struct port *port, struct port_error *err)
{
	struct rte_eth_rxq_info queue;
	uint32_t room;

	if (rte_eth_rx_queue_info_get(port->ethdevs[0], 0, &queue) != 0 || !queue.scattered_rx)
		return 0;
	room = rte_align32prevpow2(rte_pktmbuf_data_room_size(queue.mp) - RTE_PKTMBUF_HEADROOM);
	if ((uint32_t)port->mtu + FRAME_BYTES <= room)
		return 0;
	return port_fail(
		err, -EINVAL,
		"%s: driver %s would take frames of MTU %u in pieces, which Sluice drops: set mtu "
		"to %u or less",
		port->conf.device, port->driver, port->mtu, room - FRAME_BYTES);
}

static int native_started(struct port *port, struct port_error *err)
{
	int ret = frames_fit(port, err);

	return ret ? ret : vlans_let_in(port, err);
}

static void native_close(struct port *port)
{
	for (unsigned i = 0; i < port->n_ethdevs; i++)
		backend_ethdev_close(port->ethdevs[i]);
	port->n_ethdevs = 0;
}

static void native_describe(const struct port *port, char *buf, size_t size)
{
	snprintf(buf, size, "own driver");
}

const struct backend backend_native = {
	.name = "native",
	.check = native_check,
	.open = native_open,
	.started = native_started,
	.close = native_close,
	.describe = native_describe,
};
