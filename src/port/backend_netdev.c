// What af_xdp and af_packet have in common: a device that stays the kernel's.
//
// Control thread.

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "port/backend.h"

int backend_netdev_check(struct port *port, struct port_error *err)
{
	const struct port_conf *conf = &port->conf;
	const char *device = conf->device;
	struct netdev netdev;
	int ret = netdev_get(device, &netdev);

	if (ret)
		return port_fail(err, ret, "%s: no such network device: 'ip link' lists them%s",
				 device,
				 strchr(device, ':') ? "; a PCI address needs mode: native" : "");
	if (conf->mtu > netdev.mtu)
		return port_fail(err, -EINVAL,
				 "%s: its MTU is %u and mtu: %u is configured: 'ip link set dev "
				 "%s mtu %u'",
				 device, netdev.mtu, conf->mtu, device, conf->mtu);
	if (!(netdev.flags & IFF_UP)) {
		ret = netdev_up(device);
		if (ret)
			return port_fail(
				err, ret,
				"%s is down and cannot be brought up (%s): 'ip link set dev %s "
				"up'",
				device, strerror(-ret), device);
		log_info("%s: was down, brought up", device);
	}
	port->ifindex = netdev.index;
	port->mac = netdev.mac;
	port->mtu = conf->mtu ? conf->mtu : (uint16_t)RTE_MIN(netdev.mtu, (uint32_t)UINT16_MAX);
	netdev_driver(device, port->driver, sizeof(port->driver));
	return 0;
}

// Senders in this kernel leave checksums and tags to a device that is none.
static void advise_veth(const struct port *port, const struct netdev *netdev)
{
	const char *device = port->conf.device;
	char peer[IFNAMSIZ];

	if (!netdev->peer_here || !if_indextoname((unsigned)netdev->peer, peer)) {
		log_info(
			"%s: its veth peer is in another network namespace: packets that are sent there "
			"arrive with unfinished checksums unless 'ethtool -K <peer> tx off' is said there",
			device);
		return;
	}
	if (netdev_feature_on(peer, NETDEV_TX_CKSUM))
		log_warn(
			"%s: its veth peer %s leaves checksums unfinished, and they would be forwarded so: "
			"'ethtool -K %s tx off'",
			device, peer, peer);
	if (port->conf.vlan && netdev_feature_on(peer, NETDEV_TX_VLAN))
		log_warn(
			"%s: its veth peer %s does not write VLAN tags into the frame: 'ethtool -K %s txvlan "
			"off'",
			device, peer, peer);
}

void backend_netdev_advise(const struct port *port)
{
	const struct port_conf *conf = &port->conf;
	const char *device = conf->device;
	struct netdev netdev;

	if (netdev_get(device, &netdev))
		return;
	if (!strcmp(netdev.kind, "veth")) {
		advise_veth(port, &netdev);
		return;
	}
	if (conf->mode == PORT_AF_XDP && conf->vlan && netdev_feature_on(device, NETDEV_RX_VLAN))
		log_warn(
			"%s: the device cuts VLAN tags off before XDP sees them: 'ethtool -K %s rxvlan off'",
			device, device);
	if (conf->mode == PORT_AF_PACKET &&
	    (netdev_feature_on(device, NETDEV_GRO) || netdev_feature_on(device, NETDEV_LRO)))
		log_warn(
			"%s: the kernel joins packets to larger ones that cannot be forwarded: 'ethtool -K %s "
			"gro off lro off'",
			device, device);
}
