// What must hold of the NAT of network instances: a pool where it is asked for, of addresses that nobody else has, and
// a whole block of ports (load.h); and the time that its mappings have if nothing is said.
//
// Control thread, at start.

#include "config/load.h"

#include <string.h>

#include "session/nat_pool.h"

// While only the UE has spoken: UDP wants 2 minutes (RFC 4787 REQ-5), echo 1 (RFC 5508 REQ-2), TCP 4 (RFC 5382 REQ-5).
#define NAT_EMBRYONIC_MS 240000

static bool same_iface(const struct config_ni *a, const struct config_ni *b)
{
	return strcmp(a->interface, b->interface) == 0;
}

static void check_overlaps(struct load *l, const struct config_ni *ni, const struct prefix *pool)
{
	const struct config *c = l->config;
	char buf[PREFIX_STRLEN];

	for (uint32_t i = 0; i < c->n_nis; i++) {
		const struct config_ni *other = &c->nis[i];

		if (!same_iface(ni, other))
			continue;
		for (uint32_t k = 0; k < other->n_pools; k++)
			if (prefix_overlaps(&other->pools[k], pool))
				load_error_at(
					l, pool, "network_instances",
					"overlaps pool %s of \"%s\": UEs have those addresses",
					prefix_str(buf, &other->pools[k]), other->name);
		if (other < ni && other->n_nat_pool && prefix_overlaps(&other->nat_pool[0], pool))
			load_error_at(l, pool, "network_instances",
				      "overlaps nat_pool of \"%s\" on the same interface",
				      other->name);
	}
}

static void check_nat_pool(struct load *l, const struct config_ni *ni)
{
	const struct config_iface *iface = &l->config->ifaces[ni->iface];
	const struct prefix *pool = &ni->nat_pool[0];
	char buf[ADDR_STRLEN];

	if (pool->addr.family != ADDR_V4 || pool->len < NAT_POOL_LEN_MIN) {
		load_error_at(l, pool, "network_instances",
			      "must be an IPv4 prefix of %d bits or more", NAT_POOL_LEN_MIN);
		return;
	}
	if (addr_is_multicast(&pool->addr) || addr_is_link_local(&pool->addr))
		load_error_at(l, pool, "network_instances", "are no addresses for UEs");
	for (uint32_t i = 0; i < iface->n_addresses; i++)
		if (prefix_contains(pool, &iface->addresses[i].addr))
			load_error_at(l, pool, "network_instances",
				      "holds the address %s of interface \"%s\"",
				      addr_str(buf, &iface->addresses[i].addr), iface->name);
	check_overlaps(l, ni, pool);
}

void load_check_nat(struct load *l, struct config_ni *ni, bool iface_found)
{
	bool asked = ni->services & CONFIG_SERVICE_NAT;
	uint32_t block = ni->nat_block_ports, first;

	if (ni->n_nat_pool && !asked)
		load_error_at(l, ni->nat_pool, "network_instances",
			      "nat_pool is used only where services has nat");
	if (asked && !ni->n_nat_pool)
		load_error_at(l, &ni->services, "network_instances",
			      "service nat needs nat_pool: the addresses that UEs have outside");
	if (asked && !load_is_set(l, &ni->embryonic_ms))
		ni->embryonic_ms = NAT_EMBRYONIC_MS;
	if (!asked || !ni->n_nat_pool)
		return;
	if (iface_found)
		check_nat_pool(l, ni);
	if (nat_blocks_within(ni->nat_port_low, ni->nat_port_high, block, &first) == 0)
		load_error_at(l, &ni->nat_port_high, "network_instances",
			      "no whole block of %u ports lies in %u to %u", block,
			      ni->nat_port_low, ni->nat_port_high);
}
