// Interfaces: opened, started, watched, closed, whatever the mode (port.h).
//
// Control thread. Devices that several interfaces share are counted here.

#include "port/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "base/log.h"
#include "port/backend.h"
#include "port/steer.h"
#include "port/steer_map.h"

static const struct backend *const backends[] = {
	[PORT_AF_XDP] = &backend_af_xdp,
	[PORT_AF_PACKET] = &backend_af_packet,
	[PORT_NATIVE] = &backend_native,
	[PORT_VDEV] = &backend_vdev,
};

// Devices that are open; a handful.
#define MAX_PORTS 32
static struct port *ports[MAX_PORTS];

const char *port_mode_str(enum port_mode mode)
{
	return mode < RTE_DIM(backends) ? backends[mode]->name : "unknown";
}

static struct port *port_find(const char *device)
{
	for (unsigned i = 0; i < MAX_PORTS; i++)
		if (ports[i] && !strcmp(ports[i]->conf.device, device))
			return ports[i];
	return NULL;
}

// Another interface on a device that is open: by its VLAN, and with the same way in.
static int port_share_check(const struct port *port, const struct port_conf *conf,
			    unsigned n_workers, struct port_error *err)
{
	if (port->conf.mode != conf->mode || port->n_workers != n_workers)
		return port_fail(err, -EINVAL,
				 "%s: interfaces %s and %s name this device with different modes",
				 conf->device, port->conf.name, conf->name);
	if (port->n_ifaces == PORT_MAX_IFACES)
		return port_fail(err, -ENOSPC, "%s: more than %d interfaces name this device",
				 conf->device, PORT_MAX_IFACES);
	for (unsigned i = 0; i < port->n_ifaces; i++)
		if (port->ifaces[i]->vlan == conf->vlan)
			return port_fail(
				err, -EINVAL,
				"%s: interfaces %s and %s name this device and the same VLAN: "
				"give them different vlan:, or make them one with both roles",
				conf->device, port->ifaces[i]->name, conf->name);
	return 0;
}

static struct port *port_new(const struct port_conf *conf, unsigned n_workers,
			     struct rte_mempool *mp[], struct port_error *err)
{
	struct port *port = NULL;
	unsigned slot = 0;

	while (slot < MAX_PORTS && ports[slot])
		slot++;
	if (slot == MAX_PORTS || !(port = calloc(1, sizeof(*port)))) {
		port_fail(err, -ENOMEM, "%s: no room for one more device", conf->device);
		return NULL;
	}
	port->backend = backends[conf->mode];
	port->conf = *conf;
	port->n_workers = n_workers;
	port->allmulti = -1;
	if (port->backend->check(port, err) || port->backend->open(port, mp, err)) {
		free(port);
		return NULL;
	}
	ports[slot] = port;
	return port;
}

static void port_free(struct port *port)
{
	for (unsigned i = 0; i < MAX_PORTS; i++)
		if (ports[i] == port)
			ports[i] = NULL;
	port->backend->close(port);
	free(port);
}

// Of a tunnel's headers on this interface: over IPv6 only where there is nothing else.
static unsigned tunnel_bytes(const struct port_conf *conf)
{
	for (unsigned i = 0; i < conf->n_addrs; i++)
		if (conf->addrs[i].family == ADDR_V4)
			return PORT_TUNNEL_BYTES;
	return conf->n_addrs ? PORT_TUNNEL6_BYTES : PORT_TUNNEL_BYTES;
}

// An N3 interface must carry the tunnel; one that only fits smaller packets is worth a warning.
static int mtu_judge(const struct port_conf *conf, uint16_t mtu, struct port_error *err)
{
	unsigned inner = conf->inner_mtu ? conf->inner_mtu : RTE_ETHER_MTU;
	unsigned tunnel = tunnel_bytes(conf);

	if (!conf->is_n3)
		return 0;
	if (mtu < PORT_MIN_INNER_MTU + tunnel)
		return port_fail(err, -EINVAL,
				 "%s: MTU %u of %s is too small for a tunnel: it must be at least "
				 "%u ('ip link set dev %s mtu %u')",
				 conf->name, mtu, conf->device, PORT_MIN_INNER_MTU + tunnel,
				 conf->device, inner + tunnel);
	if (mtu < inner + tunnel)
		log_warn(
			"%s: MTU %u of %s does not carry UE packets of %u bytes in a tunnel; give it %u ('ip "
			"link set dev %s mtu %u'), or tell the UEs %u",
			conf->name, mtu, conf->device, inner, inner + tunnel, conf->device,
			inner + tunnel, mtu - tunnel);
	return 0;
}

static struct iface *iface_new(const struct port_conf *conf, struct port *port)
{
	struct iface *iface = calloc(1, sizeof(*iface));

	if (!iface)
		return NULL;
	memcpy(iface->name, conf->name, sizeof(iface->name));
	memcpy(iface->device, conf->device, sizeof(iface->device));
	memcpy(iface->driver, port->driver, sizeof(iface->driver));
	memcpy(iface->rx, port->queues, sizeof(iface->rx));
	memcpy(iface->tx, port->queues, sizeof(iface->tx));
	iface->mode = conf->mode;
	iface->mac = port->mac;
	iface->mtu = port->mtu;
	if (conf->mtu && conf->mtu < port->mtu)
		iface->mtu = conf->mtu;
	iface->vlan = conf->vlan;
	iface->is_n3 = conf->is_n3;
	iface->is_n6 = conf->is_n6;
	iface->caps = port->caps;
	iface->n_workers = port->n_workers;
	iface->port = port;
	port->ifaces[port->n_ifaces++] = iface;
	return iface;
}

struct iface *port_open(const struct port_conf *conf, unsigned n_workers, struct rte_mempool *mp[],
			struct port_error *err)
{
	struct port *port = port_find(conf->device);
	struct iface *iface = NULL;
	bool shared = port;

	if (!n_workers || n_workers > MAX_WORKERS || conf->n_addrs > PORT_MAX_ADDRS ||
	    conf->mode >= RTE_DIM(backends)) {
		port_fail(err, -EINVAL, "%s: not a configuration for a port", conf->name);
		return NULL;
	}
	if (shared ? port_share_check(port, conf, n_workers, err) != 0
		   : !(port = port_new(conf, n_workers, mp, err)))
		return NULL;
	if (!mtu_judge(conf, conf->mtu && conf->mtu < port->mtu ? conf->mtu : port->mtu, err)) {
		iface = iface_new(conf, port);
		if (!iface)
			port_fail(err, -ENOMEM, "%s: no memory", conf->name);
	}
	if (!iface) {
		if (!shared)
			port_free(port);
		return NULL;
	}
	for (unsigned i = 0; i < conf->n_addrs; i++) {
		int ret = port_local_addr_add(iface, &conf->addrs[i]);
		if (ret) {
			port_fail(err, ret, "%s: the XDP map does not take an address: %s",
				  conf->name, strerror(-ret));
			port_close(iface);
			return NULL;
		}
	}
	port_carrier(iface);
	return iface;
}

static void iface_text_fill(struct iface *iface)
{
	char got[96];

	iface->port->backend->describe(iface->port, got, sizeof(got));
	snprintf(iface->text, sizeof(iface->text), "%s, driver %s, %u queue%s%s, MTU %u", got,
		 iface->driver, iface->n_workers, iface->n_workers > 1 ? "s" : "",
		 iface->caps & IFACE_RSS ? " with RSS" : "", iface->mtu);
}

static int port_run(struct port *port, struct port_error *err)
{
	for (unsigned i = 0; i < port->n_ethdevs; i++) {
		int ret = rte_eth_dev_start(port->ethdevs[i]);

		if (!ret)
			continue;
		while (i--)
			rte_eth_dev_stop(port->ethdevs[i]);
		return port_fail(err, ret, "%s: driver %s does not start: %s", port->conf.device,
				 port->driver, rte_strerror(-ret));
	}
	port->started = true;
	int ret = port->backend->started ? port->backend->started(port, err) : 0;
	if (ret)
		port_stop(port->ifaces[0]);
	return ret;
}

int port_start(struct iface *iface, struct port_error *err)
{
	int ret = iface->port->started ? 0 : port_run(iface->port, err);

	if (ret)
		return ret;
	iface_text_fill(iface);
	log_info("interface %s: %s on %s%s%s", iface->name, port_mode_str(iface->mode),
		 iface->device, iface->text[0] ? ": " : "", iface->text);
	return 0;
}

void port_stop(struct iface *iface)
{
	struct port *port = iface->port;

	if (!port->started)
		return;
	if (port->backend->stopping)
		port->backend->stopping(port);
	for (unsigned i = 0; i < port->n_ethdevs; i++)
		rte_eth_dev_stop(port->ethdevs[i]);
	port->started = false;
}

void port_close(struct iface *iface)
{
	struct port *port = iface->port;
	unsigned k = 0;

	for (unsigned i = 0; i < port->n_ifaces; i++)
		if (port->ifaces[i] != iface)
			port->ifaces[k++] = port->ifaces[i];
	port->n_ifaces = k;
	free(iface);
	if (k)
		return;
	if (port->started) {
		struct iface last = {.port = port};
		port_stop(&last);
	}
	port_free(port);
}

int port_ue_prefix_add(struct iface *iface, const struct prefix *prefix)
{
	if (!iface->port->steer)
		return 0;
	return steer_prefix_set(iface->port->steer, iface->vlan, prefix);
}

int port_ue_prefix_del(struct iface *iface, const struct prefix *prefix)
{
	if (!iface->port->steer)
		return 0;
	return steer_prefix_del(iface->port->steer, iface->vlan, prefix);
}

int port_local_addr_add(struct iface *iface, const struct addr *addr)
{
	const struct port *port = iface->port;
	uint32_t flags = STEER_OWN;
	char text[ADDR_STRLEN];

	if (port->ifindex && !iface->vlan && netdev_has_addr(iface->device, addr)) {
		flags = STEER_SHARED | (iface->is_n3 ? STEER_GTPU : 0);
		if (port->steer)
			log_info("%s: address %s is the host's too: %s; the host keeps the rest",
				 iface->name, addr_str(text, addr),
				 iface->is_n3 ? "GTP-U goes to Sluice" : "nothing goes to Sluice");
		else
			log_warn(
				"%s: address %s is the host's too, and the host will answer what comes for "
				"Sluice: take it off ('ip addr del %s dev %s')",
				iface->name, addr_str(text, addr), text, iface->device);
	}
	return port->steer ? steer_addr_set(port->steer, iface->vlan, addr, flags) : 0;
}

int port_local_addr_del(struct iface *iface, const struct addr *addr)
{
	if (!iface->port->steer)
		return 0;
	return steer_addr_del(iface->port->steer, iface->vlan, addr);
}

int port_copies_fd(const struct iface *iface)
{
	return iface->port->steer ? steer_copies_fd(iface->port->steer) : -1;
}

void port_copies_read(struct iface *iface, port_copy_fn fn, void *arg)
{
	if (iface->port->steer)
		steer_copies_read(iface->port->steer, fn, arg);
}

bool port_carrier(struct iface *iface)
{
	struct rte_eth_link link = {0};
	struct netdev netdev;

	if (iface->port->ifindex)
		iface->carrier = !netdev_get(iface->device, &netdev) && netdev.carrier;
	else
		iface->carrier = !rte_eth_link_get_nowait(iface->port->ethdevs[0], &link) &&
				 link.link_status == RTE_ETH_LINK_UP;
	return iface->carrier;
}

int port_counters_get(struct iface *iface, struct port_counters *ret_counters)
{
	struct port *port = iface->port;
	struct port_counters sum = {0};
	struct netdev netdev;

	for (unsigned i = 0; i < port->n_ethdevs; i++) {
		struct rte_eth_stats stats;
		int ret = rte_eth_stats_get(port->ethdevs[i], &stats);

		if (ret)
			return ret;
		sum.rx_packets += stats.ipackets;
		sum.rx_bytes += stats.ibytes;
		sum.tx_packets += stats.opackets;
		sum.tx_bytes += stats.obytes;
		sum.rx_missed += stats.imissed;
		sum.rx_errors += stats.ierrors;
		sum.tx_errors += stats.oerrors;
		sum.rx_no_mbuf += stats.rx_nombuf;
	}
	if (port->backend->drops)
		sum.rx_missed += port->backend->drops(port);
	if (port->ifindex && !netdev_get(iface->device, &netdev)) {
		sum.netdev_rx_dropped = netdev.rx_dropped;
		sum.netdev_tx_dropped = netdev.tx_dropped;
	}
	*ret_counters = sum;
	return 0;
}

void port_describe(const struct iface *iface, FILE *out)
{
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	rte_ether_format_addr(mac, sizeof(mac), &iface->mac);
	fprintf(out, "%s: %s on %s, MAC %s", iface->name, port_mode_str(iface->mode), iface->device,
		mac);
	if (iface->vlan)
		fprintf(out, ", VLAN %u", iface->vlan);
	fprintf(out, ", %s, %s\n", iface->carrier ? "carrier" : "no carrier", iface->text);
	for (unsigned i = 0; i < iface->n_workers; i++)
		fprintf(out, "  worker %u: port %u queue %u\n", i, iface->rx[i].port_id,
			iface->rx[i].queue_id);
}
