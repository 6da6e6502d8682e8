// Configuring an ethdev port: queues, RSS, MTU, whatever its driver.
//
// Control thread.

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "base/log.h"
#include "port/backend.h"

#define RSS_FIELDS (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_SCTP)

// No offload is asked for: workers mend checksums by what they change, in lines that they have anyway, and send packets
// of one buffer; and i40e, ice and ixgbe take their vectorized ways of sending only where none is on.
static void conf_fill(struct port *port, unsigned n, const struct rte_eth_dev_info *info,
		      struct rte_eth_conf *conf)
{
	uint64_t rss = RSS_FIELDS & info->flow_type_rss_offloads;

	if (n > 1 && rss) {
		conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf->rx_adv_conf.rss_conf.rss_hf = rss;
		port->caps |= IFACE_RSS;
	}
}

// Where the kernel has no say, the MTU is the driver's.
static int mtu_set(struct port *port, uint16_t ethdev, const struct rte_eth_dev_info *info,
		   struct port_error *err)
{
	const char *device = port->conf.device;
	uint16_t mtu = port->conf.mtu;
	int ret;

	if (port->ifindex)
		return 0;
	if (mtu && (mtu < info->min_mtu || mtu > info->max_mtu))
		return port_fail(err, -EINVAL,
				 "%s: MTU %u is outside what the driver %s can do (%u to %u)",
				 device, mtu, info->driver_name, info->min_mtu, info->max_mtu);
	// Drivers without a notion of MTU (ring, pcap) carry what the mbufs hold.
	ret = mtu ? rte_eth_dev_set_mtu(ethdev, mtu) : 0;
	if (ret && ret != -ENOTSUP)
		return port_fail(err, ret, "%s: the driver %s refuses MTU %u: %s", device,
				 info->driver_name, mtu, rte_strerror(-ret));
	if (mtu)
		port->mtu = mtu;
	else
		rte_eth_dev_get_mtu(ethdev, &port->mtu);
	return 0;
}

int queue_setup(struct port *port, uint16_t ethdev, unsigned n, struct rte_mempool *mp[],
		struct port_error *err)
{
	const char *device = port->conf.device;
	uint16_t rx_desc = port->conf.rx_desc, tx_desc = port->conf.tx_desc;
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(ethdev, &info);

	if (ret)
		return port_fail(err, ret, "%s: the driver does not describe itself: %s", device,
				 rte_strerror(-ret));
	if (info.max_rx_queues < n || info.max_tx_queues < n)
		return port_fail(err, -EINVAL,
				 "%s: driver %s has %u rx and %u tx queues for %u workers; give "
				 "the device more queues, or configure fewer workers",
				 device, info.driver_name, info.max_rx_queues, info.max_tx_queues,
				 n);
	if (!port->driver[0])
		snprintf(port->driver, sizeof(port->driver), "%s", info.driver_name);
	conf_fill(port, n, &info, &conf);
	ret = rte_eth_dev_configure(ethdev, (uint16_t)n, (uint16_t)n, &conf);
	if (ret)
		return port_fail(err, ret, "%s: driver %s does not take %u queues: %s", device,
				 info.driver_name, n, rte_strerror(-ret));
	ret = mtu_set(port, ethdev, &info, err);
	if (ret)
		return ret;
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(ethdev, &rx_desc, &tx_desc);
	if (ret)
		return port_fail(err, ret, "%s: driver %s has no ring of %u and %u descriptors",
				 device, info.driver_name, port->conf.rx_desc, port->conf.tx_desc);
	if (rx_desc != port->conf.rx_desc || tx_desc != port->conf.tx_desc)
		log_debug("%s: rings of %u and %u descriptors", device, rx_desc, tx_desc);
	for (unsigned i = 0; i < n; i++) {
		int socket = rte_eth_dev_socket_id(ethdev);
		unsigned node = socket < 0 ? 0 : (unsigned)socket;

		errno = 0;
		ret = rte_eth_tx_queue_setup(ethdev, (uint16_t)i, tx_desc, node, NULL);
		if (!ret)
			ret = rte_eth_rx_queue_setup(ethdev, (uint16_t)i, rx_desc, node, NULL,
						     mp[i]);
		if (ret)
			return port_fail(err, errno == EBUSY ? -EBUSY : ret,
					 "%s: driver %s cannot set up queue %u: %s", device,
					 info.driver_name, i,
					 errno ? strerror(errno) : rte_strerror(-ret));
	}
	return rte_eth_macaddr_get(ethdev, &port->mac);
}
