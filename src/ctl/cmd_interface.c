// show interfaces, show interface NAME: what carries the packets, and how it does. Control thread.
//
// The columns of the table are those that tell whether an interface works; the rest is shown for
// one of them.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "ctl/cmd.h"
#include "port/port.h"

static const struct {
	uint32_t bit;
	const char *name;
} caps[] = {
	{IFACE_RSS, "rss"},
	{IFACE_HOST_SEES_ALL, "host_sees_all"},
	{IFACE_PARTIAL_CKSUM, "partial_cksum"},
};

static const struct config_iface *conf_lookup(const struct ctl_view *view, const char *name)
{
	for (uint32_t i = 0; view->config && i < view->config->n_ifaces; i++)
		if (strcmp(view->config->ifaces[i].name, name) == 0)
			return &view->config->ifaces[i];
	return NULL;
}

static void roles_put(struct reply *r, const char *key, const struct config_iface *conf)
{
	static const char *const roles[] = {"n3", "n6", "n9"}; // by bit, CONFIG_ROLE_*

	reply_list_open(r, key);
	for (unsigned i = 0; conf && i < sizeof(roles) / sizeof(roles[0]); i++)
		if (conf->roles >> i & 1)
			reply_str(r, NULL, roles[i]);
	reply_list_close(r);
}

static void addresses_put(struct reply *r, const char *key, const struct config_iface *conf)
{
	char text[PREFIX_STRLEN];

	reply_list_open(r, key);
	for (uint32_t i = 0; conf && i < conf->n_addresses; i++)
		reply_str(r, NULL, prefix_str(text, &conf->addresses[i]));
	reply_list_close(r);
}

static void mac_put(struct reply *r, const char *key, const struct rte_ether_addr *mac)
{
	const uint8_t *b = mac->addr_bytes;

	reply_printf(r, key, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
}

static const char *carrier_str(bool carrier)
{
	return carrier ? "up" : "down";
}

bool cmd_show_interfaces(struct call *call)
{
	static const char *const columns[] = {
		"name",       "device",
		"mode",       "roles",
		"addresses",  "carrier",
		"mtu",        "rx_packets",
		"tx_packets", "rx_missed",
		"rx_errors",  "tx_errors",
		"rx_no_mbuf", "netdev_rx_dropped",
		NULL,
	};
	const struct ctl_view *view = call->view;
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_table_open(r, "interfaces", columns);
	for (unsigned i = 0; i < view->n_ifaces; i++) {
		struct iface *iface = view->ifaces[i];
		const struct config_iface *conf = conf_lookup(view, iface->name);
		struct port_counters n = {0};

		port_counters_get(iface, &n);
		reply_row(r);
		reply_str(r, NULL, iface->name);
		reply_str(r, NULL, iface->device);
		reply_str(r, NULL, port_mode_str(iface->mode));
		roles_put(r, NULL, conf);
		addresses_put(r, NULL, conf);
		reply_str(r, NULL, carrier_str(port_carrier(iface)));
		reply_uint(r, NULL, iface->mtu);
		reply_uint(r, NULL, n.rx_packets);
		reply_uint(r, NULL, n.tx_packets);
		reply_uint(r, NULL, n.rx_missed);
		reply_uint(r, NULL, n.rx_errors);
		reply_uint(r, NULL, n.tx_errors);
		reply_uint(r, NULL, n.rx_no_mbuf);
		reply_uint(r, NULL, n.netdev_rx_dropped);
	}
	reply_table_close(r);
	reply_object_close(r);
	return true;
}

static void counters_put(struct reply *r, struct iface *iface)
{
	struct port_counters n = {0};

	port_counters_get(iface, &n);
	reply_counts_open(r, "counters");
	reply_count(r, "rx_packets", n.rx_packets, "packets received");
	reply_count(r, "rx_bytes", n.rx_bytes, "bytes of those packets");
	reply_count(r, "tx_packets", n.tx_packets, "packets sent");
	reply_count(r, "tx_bytes", n.tx_bytes, "bytes of those packets");
	reply_count(r, "rx_missed", n.rx_missed, "packets that found no room in a ring");
	reply_count(r, "rx_errors", n.rx_errors, "packets received broken");
	reply_count(r, "tx_errors", n.tx_errors, "packets that were not sent");
	reply_count(r, "rx_no_mbuf", n.rx_no_mbuf, "packets without a buffer for them");
	reply_count(r, "netdev_rx_dropped", n.netdev_rx_dropped,
		    "received and dropped by the kernel's device, its own traffic too");
	reply_count(r, "netdev_tx_dropped", n.netdev_tx_dropped,
		    "not sent by the kernel's device, its own traffic too");
	reply_counts_close(r);
}

static void queues_put(struct reply *r, const struct iface *iface)
{
	static const char *const columns[] = {
		"worker", "rx_port", "rx_queue", "tx_port", "tx_queue", NULL,
	};

	reply_table_open(r, "queues", columns);
	for (unsigned i = 0; i < iface->n_workers; i++) {
		reply_row(r);
		reply_uint(r, NULL, i);
		reply_uint(r, NULL, iface->rx[i].port_id);
		reply_uint(r, NULL, iface->rx[i].queue_id);
		reply_uint(r, NULL, iface->tx[i].port_id);
		reply_uint(r, NULL, iface->tx[i].queue_id);
	}
	reply_table_close(r);
}

static void gateways_put(struct reply *r, const struct config_iface *conf)
{
	char text[ADDR_STRLEN];

	reply_list_open(r, "gateways");
	if (conf && conf->gateway.family != ADDR_NONE)
		reply_str(r, NULL, addr_str(text, &conf->gateway));
	if (conf && conf->gateway6.family != ADDR_NONE)
		reply_str(r, NULL, addr_str(text, &conf->gateway6));
	reply_list_close(r);
}

static void iface_put(struct reply *r, const struct ctl_view *view, struct iface *iface)
{
	const struct config_iface *conf = conf_lookup(view, iface->name);

	reply_object_open(r, NULL);
	reply_str(r, "name", iface->name);
	reply_str(r, "device", iface->device);
	reply_str(r, "mode", port_mode_str(iface->mode));
	reply_str(r, "driver", iface->driver);
	reply_str(r, "backend", iface->text);
	reply_str(r, "carrier", carrier_str(port_carrier(iface)));
	roles_put(r, "roles", conf);
	addresses_put(r, "addresses", conf);
	gateways_put(r, conf);
	mac_put(r, "mac", &iface->mac);
	reply_uint(r, "mtu", iface->mtu);
	if (iface->vlan)
		reply_uint(r, "vlan", iface->vlan);
	else
		reply_null(r, "vlan");
	reply_list_open(r, "caps");
	for (unsigned i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		if (iface->caps & caps[i].bit)
			reply_str(r, NULL, caps[i].name);
	reply_list_close(r);
	queues_put(r, iface);
	counters_put(r, iface);
	reply_object_close(r);
}

bool cmd_show_interface(struct call *call)
{
	const char *name = call->args[0].word;

	for (unsigned i = 0; i < call->view->n_ifaces; i++) {
		struct iface *iface = call->view->ifaces[i];

		if (strcmp(iface->name, name) == 0) {
			iface_put(&call->reply, call->view, iface);
			return true;
		}
	}
	reply_fail(&call->reply, CTL_FAILED, "no interface \"%.64s\"", name);
	return true;
}

void cmd_interface_offer(const struct ctl_view *view, struct strbuf *to, const char *prefix)
{
	for (unsigned i = 0; i < view->n_ifaces; i++)
		command_offer(to, view->ifaces[i]->name, prefix);
}
