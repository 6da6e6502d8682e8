// Backend vdev: a virtual device by its devargs, as virtio_user, vhost or memif; tests use null,
// ring and pcap. Control thread.

#include <errno.h>
#include <string.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include "port/backend.h"

int backend_vdev_probe(const char *name, const char *args, uint16_t *ret_port,
		       struct port_error *err)
{
	int ret = rte_vdev_init(name, args);

	if (ret == -EEXIST)
		return port_fail(err, ret, "%s: a virtual device of this name exists already",
				 name);
	if (ret)
		return port_fail(err, ret,
				 "%s: no such virtual device, or it does not take '%s' (%s); "
				 "log level debug shows what the driver says",
				 name, args, rte_strerror(ret < 0 ? -ret : ret));
	ret = rte_eth_dev_get_port_by_name(name, ret_port);
	if (ret) {
		rte_vdev_uninit(name);
		return port_fail(err, ret, "%s: the virtual device is not a network port", name);
	}
	return 0;
}

void backend_ethdev_close(uint16_t ethdev)
{
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(ethdev, &info);

	rte_eth_dev_close(ethdev);
	if (!ret && info.device)
		rte_dev_remove(info.device);
}

static int vdev_check(struct port *port, struct port_error *err)
{
	size_t name_len = strcspn(port->conf.device, ",");

	if (!name_len || name_len >= RTE_DEV_NAME_MAX_LEN)
		return port_fail(err, -EINVAL, "%s: '%s' is not 'driver0,key=value,…'",
				 port->conf.name, port->conf.device);
	return 0;
}

static int vdev_open(struct port *port, struct rte_mempool *mp[], struct port_error *err)
{
	const char *device = port->conf.device;
	size_t name_len = strcspn(device, ",");
	const char *args = device + name_len + (device[name_len] == ',');
	char name[RTE_DEV_NAME_MAX_LEN];
	uint16_t ethdev;
	int ret;

	snprintf(name, sizeof(name), "%.*s", (int)name_len, device);
	ret = backend_vdev_probe(name, args, &ethdev, err);
	if (ret)
		return ret;
	ret = queue_setup(port, ethdev, port->n_workers, mp, err);
	if (ret) {
		backend_ethdev_close(ethdev);
		return ret;
	}
	port->ethdevs[port->n_ethdevs++] = ethdev;
	for (unsigned i = 0; i < port->n_workers; i++)
		port->queues[i] = (struct port_queue){ethdev, (uint16_t)i};
	return 0;
}

static void vdev_close(struct port *port)
{
	for (unsigned i = 0; i < port->n_ethdevs; i++)
		backend_ethdev_close(port->ethdevs[i]);
	port->n_ethdevs = 0;
}

static void vdev_describe(const struct port *port, char *buf, size_t size)
{
	snprintf(buf, size, "virtual device");
}

const struct backend backend_vdev = {
	.name = "vdev",
	.check = vdev_check,
	.open = vdev_open,
	.close = vdev_close,
	.describe = vdev_describe,
};
