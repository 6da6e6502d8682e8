// From the configuration to running ports: DPDK's environment, buffers, interfaces (upf.h).
//
// Control thread. What cannot work ends here with a line that says what to do.

#include <stdio.h>
#include <string.h>

#include "app/upf.h"
#include "base/log.h"

static int fail(const struct port_error *err)
{
	log_error("%s", err->text);
	return -1;
}

static enum eal_hugepages hugepages(enum config_tristate t)
{
	switch (t) {
	case CONFIG_OFF:
		return EAL_HUGEPAGES_OFF;
	case CONFIG_ON:
		return EAL_HUGEPAGES_ON;
	case CONFIG_AUTO:
		break;
	}
	return EAL_HUGEPAGES_AUTO;
}

// Several interfaces may be on one device.
static void pci_add(struct eal_conf *conf, const char *pci)
{
	for (unsigned i = 0; i < conf->n_pci; i++)
		if (!strcmp(conf->pci[i], pci))
			return;
	if (conf->n_pci < EAL_MAX_PCI)
		snprintf(conf->pci[conf->n_pci++], sizeof(conf->pci[0]), "%.31s", pci);
}

static void eal_conf_fill(const struct config *c, struct eal_conf *ret)
{
	*ret = (struct eal_conf){
		.hugepages = hugepages(c->eal.hugepages),
		.memory_mb = c->eal.memory_mb,
		.n_cpus = c->workers.n_cpus,
		.main_cpu = c->eal.main_cpu,
	};
	snprintf(ret->file_prefix, sizeof(ret->file_prefix), "%s", c->eal.file_prefix);
	memcpy(ret->cpus, c->workers.cpus, c->workers.n_cpus * sizeof(ret->cpus[0]));
	for (unsigned i = 0; i < c->n_ifaces; i++)
		if (c->ifaces[i].mode == CONFIG_MODE_NATIVE)
			pci_add(ret, c->ifaces[i].device);
}

static enum port_mode port_mode(enum config_mode mode)
{
	switch (mode) {
	case CONFIG_MODE_AF_XDP:
		return PORT_AF_XDP;
	case CONFIG_MODE_AF_PACKET:
		return PORT_AF_PACKET;
	case CONFIG_MODE_NATIVE:
		return PORT_NATIVE;
	case CONFIG_MODE_VDEV:
		break;
	}
	return PORT_VDEV;
}

static void port_conf_fill(const struct config_iface *c, struct port_conf *ret)
{
	*ret = (struct port_conf){
		.mode = port_mode(c->mode),
		.mtu = (uint16_t)c->mtu,
		.vlan = (uint16_t)c->vlan,
		.rx_desc = (uint16_t)c->rx_descriptors,
		.tx_desc = (uint16_t)c->tx_descriptors,
		.xdp = c->xdp == CONFIG_XDP_NATIVE    ? PORT_XDP_NATIVE
		       : c->xdp == CONFIG_XDP_GENERIC ? PORT_XDP_GENERIC
						      : PORT_XDP_AUTO,
		.zero_copy = c->zero_copy == CONFIG_ON    ? PORT_ZERO_COPY_ON
			     : c->zero_copy == CONFIG_OFF ? PORT_ZERO_COPY_OFF
							  : PORT_ZERO_COPY_AUTO,
		.busy_budget = c->busy_budget,
		.is_n3 = c->roles & (CONFIG_ROLE_N3 | CONFIG_ROLE_N9),
		.is_n6 = c->roles & CONFIG_ROLE_N6,
		.n_addrs = c->n_addresses,
	};
	snprintf(ret->name, sizeof(ret->name), "%s", c->name);
	snprintf(ret->device, sizeof(ret->device), "%s", c->device);
	for (unsigned i = 0; i < c->n_addresses; i++)
		ret->addrs[i] = c->addresses[i].addr;
}

// Apart from the ports' own, so that packets that wait never take the ports' last buffers.
static int buffer_pool_make(struct upf *upf, unsigned worker, uint32_t mtu, struct port_error *err)
{
	uint32_t packets = upf->config.sessions.buffer_all_packets;
	char name[32];

	if (packets == 0)
		return 0;
	snprintf(name, sizeof(name), "buffers%u", worker);
	upf->buffer_pools[worker] = port_mempool_new(name, packets, (uint16_t)mtu, 0, err);
	return upf->buffer_pools[worker] ? 0 : -1;
}

static int pools_make(struct upf *upf, struct port_error *err)
{
	const struct config *c = &upf->config;
	uint32_t mtu = 0;

	for (unsigned i = 0; i < c->n_ifaces; i++)
		mtu = c->ifaces[i].mtu > mtu ? c->ifaces[i].mtu : mtu;
	for (unsigned i = 0; i < c->workers.n_cpus; i++) {
		char name[32];

		snprintf(name, sizeof(name), "packets%u", i);
		upf->pools[i] = port_mempool_new(name, c->sessions.mbufs + config_fragment_mbufs(c),
						 (uint16_t)mtu, 256, err);
		if (!upf->pools[i] || buffer_pool_make(upf, i, mtu, err) != 0)
			return -1;
	}
	return 0;
}

// What the interface's UEs are reached by goes up to Sluice, all else stays with the host.
static int steer_pools(struct upf *upf)
{
	const struct config *c = &upf->config;

	for (unsigned i = 0; i < c->n_nis; i++) {
		const struct config_ni *ni = &c->nis[i];
		int rc = 0;

		for (unsigned k = 0; k < ni->n_pools && rc == 0; k++)
			rc = port_ue_prefix_add(upf->ifaces[ni->iface], &ni->pools[k]);
		if (rc == 0 && ni->n_nat_pool)
			rc = port_ue_prefix_add(upf->ifaces[ni->iface], &ni->nat_pool[0]);
		if (rc != 0) {
			log_error("%s: cannot steer the pools of %s: %s", ni->interface, ni->name,
				  strerror(-rc));
			return -1;
		}
	}
	return 0;
}

int upf_ports_open(struct upf *upf)
{
	const struct config *c = &upf->config;
	struct port_error err = {0};
	struct eal_conf eal;

	upf->n_workers = c->workers.n_cpus;
	eal_conf_fill(c, &eal);
	if (eal_start(&eal, &err) != 0 || pools_make(upf, &err) != 0)
		return fail(&err);
	for (unsigned i = 0; i < c->n_ifaces; i++) {
		struct port_conf conf;

		port_conf_fill(&c->ifaces[i], &conf);
		upf->ifaces[i] = port_open(&conf, upf->n_workers, upf->pools, &err);
		if (!upf->ifaces[i])
			return fail(&err);
		upf->n_ifaces++;
	}
	return steer_pools(upf);
}

int upf_ports_start(struct upf *upf)
{
	struct port_error err = {0};

	for (unsigned i = 0; i < upf->n_ifaces; i++)
		if (port_start(upf->ifaces[i], &err) != 0)
			return fail(&err);
	return 0;
}

void upf_ports_close(struct upf *upf)
{
	for (unsigned i = 0; i < upf->n_ifaces; i++)
		port_stop(upf->ifaces[i]);
	for (unsigned i = 0; i < upf->n_ifaces; i++)
		port_close(upf->ifaces[i]);
	upf->n_ifaces = 0;
	for (unsigned i = 0; i < upf->n_workers; i++) {
		rte_mempool_free(upf->pools[i]);
		rte_mempool_free(upf->buffer_pools[i]);
	}
}
