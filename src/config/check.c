// Checks across the keys of a configuration, and the values that follow from others.
//
// Each check leaves out what is not there or was refused already, so that one fault seldom gives
// two errors. Runs once, after the file was read.

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "config/load.h"
#include "rules/sdf.h"
#include "service/flow_handler.h"

#define MBUFS_DEFAULT 16384
#define MBUFS_PER_WORKER 512 // in a worker's cache and on its way, beyond what rings hold
#define IPV6_MTU_MIN 1280    // RFC 8200 section 5

static void check_node(struct load *l)
{
	struct config_node *node = &l->config->node;

	if (addr_parse(node->id, &node->id_addr) < 0)
		node->id_addr = (struct addr){0};
}

static void check_cpus(struct load *l)
{
	const struct config_workers *workers = &l->config->workers;
	const int32_t *main_cpu = &l->config->eal.main_cpu;

	for (uint32_t i = 0; i < workers->n_cpus; i++) {
		if (workers->cpus[i] >= l->n_cpus)
			load_error_at(l, &workers->cpus[i], "workers.cpus",
				      "there is no CPU %u: this host has 0..%u", workers->cpus[i],
				      l->n_cpus - 1);
		if (*main_cpu == workers->cpus[i])
			load_error_at(l, main_cpu, "eal.main_cpu", "CPU %d has a worker",
				      *main_cpu);
	}
	if (*main_cpu >= 0 && (unsigned)*main_cpu >= l->n_cpus)
		load_error_at(l, main_cpu, "eal.main_cpu",
			      "there is no CPU %d: this host has 0..%u", *main_cpu, l->n_cpus - 1);
}

// Every interface has its own mode or the file's.
static void check_modes(struct load *l)
{
	struct config *c = l->config;

	for (uint32_t i = 0; i < c->n_ifaces; i++) {
		if (!load_is_set(l, &c->ifaces[i].mode))
			c->ifaces[i].mode = c->mode;
		if (c->workers.idle == CONFIG_IDLE_SLEEP && c->ifaces[i].mode == CONFIG_MODE_NATIVE)
			load_error_at(l, &c->workers.idle, "workers.idle",
				      "sleep is not for mode native, which interface \"%s\" has",
				      c->ifaces[i].name);
	}
}

// "dddd:bb:dd.f" or "bb:dd.f" in hexadecimal.
static bool check_is_pci(const char *text)
{
	static const char *const shapes[] = {"xxxx:xx:xx.x", "xx:xx.x"};

	for (unsigned i = 0; i < 2; i++) {
		const char *shape = shapes[i], *t = text;

		while (*t && (*shape == 'x' ? isxdigit((unsigned char)*t) != 0 : *shape == *t)) {
			shape++;
			t++;
		}
		if (*t == '\0' && *shape == '\0')
			return true;
	}
	return false;
}

static void check_device(struct load *l, const struct config_iface *iface)
{
	const char *device = iface->device, *mode = config_mode_str(iface->mode);

	if (*device == '\0' || !(load_is_set(l, &iface->mode) || load_is_set(l, &l->config->mode)))
		return;
	if (iface->mode == CONFIG_MODE_NATIVE && !check_is_pci(device))
		load_error_at(l, device, "interfaces",
			      "mode %s wants a PCI address such as \"0000:3b:00.0\"", mode);
	else if (iface->mode == CONFIG_MODE_VDEV && strncmp(device, "net_", 4) != 0)
		load_error_at(l, device, "interfaces",
			      "mode %s wants a DPDK device such as \"net_virtio_user0,path=...\"",
			      mode);
	else if (iface->mode <= CONFIG_MODE_AF_PACKET &&
		 (strlen(device) > 15 || strpbrk(device, "/: ,")))
		load_error_at(l, device, "interfaces",
			      "mode %s wants the name of a network device such as \"eth1\"", mode);
}

static void check_addresses(struct load *l, const struct config_iface *iface)
{
	bool v6 = false, tunnels = false;

	for (uint32_t i = 0; i < iface->n_addresses; i++) {
		const struct prefix *p = &iface->addresses[i];
		bool v4_subnet = p->addr.family == ADDR_V4 && p->len < 31;
		uint32_t host = v4_subnet ? ~0u >> p->len & __builtin_bswap32(p->addr.v4) : 1;

		v6 |= p->addr.family == ADDR_V6;
		tunnels |= p->addr.family == ADDR_V4 || !addr_is_link_local(&p->addr);
		if (addr_is_unspecified(&p->addr) || addr_is_multicast(&p->addr))
			load_error_at(l, p, "interfaces", "is not the address of a host");
		else if (host == 0 || (v4_subnet && host == ~0u >> p->len))
			load_error_at(l, p, "interfaces", "is the %s address of its subnet",
				      host == 0 ? "network" : "broadcast");
	}
	if ((iface->roles & CONFIG_ROLE_N3) && iface->n_addresses && !tunnels)
		load_error_at(
			l, iface->addresses, "interfaces",
			"an n3 interface needs an IPv4 address, or an IPv6 one that is not link-local");
	if (v6 && iface->mtu < IPV6_MTU_MIN)
		load_error_at(l, &iface->mtu, "interfaces", "IPv6 needs an mtu of %d or more",
			      IPV6_MTU_MIN);
}

// A neighbour of the interface. An IPv6 one may be link-local, which every interface reaches.
static void check_neighbour(struct load *l, const struct config_iface *iface,
			    const struct addr *gateway, const char *section)
{
	bool within = gateway->family == ADDR_V6 && addr_is_link_local(gateway);

	if (gateway->family == ADDR_NONE || iface->n_addresses == 0)
		return;
	for (uint32_t i = 0; i < iface->n_addresses; i++) {
		within |= prefix_contains(&iface->addresses[i], gateway);
		if (addr_eq(&iface->addresses[i].addr, gateway))
			load_error_at(l, gateway, section, "is the interface's own address");
	}
	if (!within)
		load_error_at(l, gateway, section,
			      "is in none of the interface's subnets (addresses)");
}

// What two interfaces must not share; b stands after a.
static void check_iface_pair(struct load *l, const struct config_iface *a,
			     const struct config_iface *b)
{
	char buf[ADDR_STRLEN];

	if (*a->name && strcmp(a->name, b->name) == 0)
		load_error_at(l, b->name, "interfaces", "\"%s\" is the name of another interface",
			      b->name);
	if (*a->device && strcmp(a->device, b->device) == 0 && a->vlan == b->vlan)
		load_error_at(l, b->device, "interfaces",
			      "interface \"%s\" has this device; two need different VLANs",
			      a->name);
	for (uint32_t i = 0; i < a->n_addresses; i++) {
		for (uint32_t j = 0; j < b->n_addresses; j++) {
			const struct addr *addr = &b->addresses[j].addr;

			if (addr_eq(&a->addresses[i].addr, addr))
				load_error_at(l, &b->addresses[j], "interfaces",
					      "interface \"%s\" has the address %s", a->name,
					      addr_str(buf, addr));
		}
	}
}

static void check_ifaces(struct load *l)
{
	struct config *c = l->config;
	char buf[ADDR_STRLEN];

	for (uint32_t i = 0; i < c->n_ifaces; i++) {
		const struct config_iface *iface = &c->ifaces[i];

		check_device(l, iface);
		check_addresses(l, iface);
		check_neighbour(l, iface, &iface->gateway, "interfaces");
		check_neighbour(l, iface, &iface->gateway6, "interfaces");
		for (uint32_t j = 0; j < i; j++)
			check_iface_pair(l, &c->ifaces[j], iface);
		for (uint32_t a = 1; a < iface->n_addresses; a++) {
			for (uint32_t b = 0; b < a; b++) {
				const struct addr *addr = &iface->addresses[a].addr;

				if (addr_eq(addr, &iface->addresses[b].addr))
					load_error_at(l, &iface->addresses[a], "interfaces",
						      "%s is named twice", addr_str(buf, addr));
			}
		}
	}
}

// Finds the interface that a network instance leads through; false when there is none.
static bool check_ni_iface(struct load *l, struct config_ni *ni)
{
	struct config *c = l->config;
	bool complete = c->n_ifaces > 0;

	for (uint32_t i = 0; i < c->n_ifaces; i++) {
		complete &= c->ifaces[i].name[0] != '\0';
		if (*ni->interface == '\0' || strcmp(c->ifaces[i].name, ni->interface) != 0)
			continue;
		ni->iface = i;
		if (c->ifaces[i].roles && (c->ifaces[i].roles & CONFIG_ROLE_N6) == 0)
			load_error_at(l, ni->interface, "network_instances",
				      "interface \"%s\" has not the role n6", ni->interface);
		return true;
	}
	if (complete && *ni->interface)
		load_error_at(l, ni->interface, "network_instances", "no interface is named \"%s\"",
			      ni->interface);
	return false;
}

// How many UEs a pool has room for: IPv4 addresses, or IPv6 /64s. More than fits counts as 2^63.
static uint64_t check_pool_entries(const struct prefix *pool)
{
	unsigned bits = (pool->addr.family == ADDR_V4 ? 32u : 64u) - pool->len;

	return 1ull << (bits < 63 ? bits : 63);
}

static void check_pool(struct load *l, const struct config_ni *ni, const struct prefix *pool,
		       uint64_t *entries)
{
	const struct config_iface *iface = &l->config->ifaces[ni->iface];
	char buf[ADDR_STRLEN];

	if (pool->addr.family == ADDR_V6 && pool->len > 64) {
		load_error_at(l, pool, "network_instances",
			      "a UE has a /64: an IPv6 pool is no longer than that");
		return;
	}
	if (addr_is_multicast(&pool->addr) || addr_is_link_local(&pool->addr))
		load_error_at(l, pool, "network_instances", "are no addresses for UEs");
	for (uint32_t i = 0; i < iface->n_addresses; i++) {
		if (prefix_contains(pool, &iface->addresses[i].addr))
			load_error_at(l, pool, "network_instances",
				      "holds the address %s of interface \"%s\"",
				      addr_str(buf, &iface->addresses[i].addr), iface->name);
	}
	if (*entries > CONFIG_POOL_ENTRIES_MAX)
		return; // said already
	if (pool->len == 0)
		load_error_at(l, pool, "network_instances", "is everything: no pool");
	if (check_pool_entries(pool) > CONFIG_POOL_DENSE_MAX)
		return; // looked up by hash
	*entries += check_pool_entries(pool);
	if (*entries > CONFIG_POOL_ENTRIES_MAX)
		load_error_at(l, pool, "network_instances",
			      "all pools together have more than %u addresses and /64s",
			      CONFIG_POOL_ENTRIES_MAX);
}

// Pool p of an instance against all before it that lead through the same interface.
static void check_pool_overlap(struct load *l, uint32_t n, uint32_t p)
{
	const struct config_ni *nis = l->config->nis;
	const struct prefix *pool = &nis[n].pools[p];
	char buf[PREFIX_STRLEN];

	for (uint32_t i = 0; i <= n; i++) {
		if (strcmp(nis[i].interface, nis[n].interface) != 0)
			continue;
		for (uint32_t q = 0; q < (i == n ? p : nis[i].n_pools); q++) {
			if (!prefix_overlaps(&nis[i].pools[q], pool))
				continue;
			load_error_at(l, pool, "network_instances",
				      "overlaps pool %s of \"%s\" on the same interface",
				      prefix_str(buf, &nis[i].pools[q]), nis[i].name);
			return;
		}
	}
}

// A list without the service would look as if it were asked; a list that is empty on purpose denies all.
static void check_acl(struct load *l, const struct config_ni *ni)
{
	bool asked = ni->services & CONFIG_SERVICE_ACL;

	if (ni->n_acl && !asked)
		load_error_at(l, ni->acl, "network_instances",
			      "acl is asked only where services has acl");
	if (asked && !load_is_set(l, ni->acl))
		load_error_at(l, &ni->services, "network_instances",
			      "service acl needs rows in acl: without any all would be denied");
}

// Redirection alone is to change nothing for packets that are not redirected.
static void handlers_default(struct load *l, struct config_ni *ni)
{
	if (ni->services != CONFIG_SERVICE_REDIRECT)
		return;
	if (!load_is_set(l, &ni->on_unknown_protocol))
		ni->on_unknown_protocol = FLOW_HANDLER_flow;
	if (!load_is_set(l, &ni->on_icmp_error))
		ni->on_icmp_error = FLOW_HANDLER_flow;
}

// What passes by the services passes by the list, and by the translation, too.
static void check_handlers(struct load *l, const struct config_ni *ni)
{
	const uint32_t *handlers[] = {&ni->on_unknown_protocol, &ni->on_icmp_error,
				      &ni->on_overflow};

	for (unsigned i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		if (*handlers[i] != FLOW_HANDLER_pass)
			continue;
		if (ni->services & CONFIG_SERVICE_ACL)
			load_error_at(l, handlers[i], "network_instances",
				      "pass would let packets through that acl denies");
		if (ni->services & CONFIG_SERVICE_NAT)
			load_error_at(l, handlers[i], "network_instances",
				      "pass would let packets leave with their UE's own address");
	}
	if (ni->on_overflow == FLOW_HANDLER_flow)
		load_error_at(l, &ni->on_overflow, "network_instances",
			      "no flow can be made where there may be no more; say drop or pass");
}

static void check_nis(struct load *l)
{
	struct config *c = l->config;
	uint64_t entries = 0;

	for (uint32_t i = 0; i < c->n_nis; i++) {
		struct config_ni *ni = &c->nis[i];
		bool found = check_ni_iface(l, ni);

		for (uint32_t j = 0; j < i && *ni->name; j++) {
			if (strcasecmp(c->nis[j].name, ni->name) == 0)
				load_error_at(l, ni->name, "network_instances",
					      "\"%s\" is the name of another one", c->nis[j].name);
		}
		check_acl(l, ni);
		handlers_default(l, ni);
		check_handlers(l, ni);
		load_check_nat(l, ni, found);
		for (uint32_t p = 0; p < ni->n_pools && found; p++) {
			check_pool(l, ni, &ni->pools[p], &entries);
			check_pool_overlap(l, i, p);
		}
	}
	for (uint32_t i = 0; i < c->n_ifaces && c->n_nis == 0; i++) {
		if (c->ifaces[i].roles & CONFIG_ROLE_N6)
			load_error_at(l, &c->ifaces[i].roles, "network_instances",
				      "role n6 needs a network instance that leads there");
	}
}

static void check_flows(struct load *l, const struct config_predefined *rule)
{
	struct sdf sdf;
	const char *why;

	for (uint32_t i = 0; i < rule->n_flows; i++)
		if (sdf_parse(rule->flows[i], strlen(rule->flows[i]), &sdf, &why) != 0)
			load_error_at(l, rule->flows[i], "predefined_rules",
				      "is not a flow description: %s", why);
}

// Finds a network instance by name; an empty one is the first. False: there is none.
static bool check_ni_name(struct load *l, const char *name, const char *section, uint32_t *ret_ni)
{
	const struct config *c = l->config;
	bool complete = true; // each that was said has its name

	*ret_ni = 0;
	if (*name == '\0')
		return c->n_nis > 0;
	for (uint32_t i = 0; i < c->n_nis; i++) {
		if (strcasecmp(c->nis[i].name, name) == 0) {
			*ret_ni = i;
			return true;
		}
		complete &= c->nis[i].name[0] != '\0';
	}
	if (complete)
		load_error_at(l, name, section, "no network instance is named \"%s\"", name);
	return false;
}

// Finds the network instance that a rule forwards to.
static void check_rule_ni(struct load *l, struct config_predefined *rule)
{
	if (*rule->network_instance != '\0' && rule->action != CONFIG_ACTION_FORWARD)
		load_error_at(l, rule->network_instance, "predefined_rules",
			      "has no effect without action forward");
	else
		check_ni_name(l, rule->network_instance, "predefined_rules", &rule->ni);
}

static void check_predefined(struct load *l)
{
	struct config *c = l->config;

	for (uint32_t i = 0; i < c->n_predefined; i++) {
		struct config_predefined *rule = &c->predefined[i];

		check_flows(l, rule);
		check_rule_ni(l, rule);
		for (uint32_t j = 0; j < i && *rule->name; j++)
			if (strcmp(c->predefined[j].name, rule->name) == 0)
				load_error_at(l, rule->name, "predefined_rules",
					      "\"%s\" is the name of another one", rule->name);
	}
}

static void check_policies(struct load *l)
{
	struct config *c = l->config;

	for (uint32_t i = 0; i < c->n_policies; i++) {
		struct config_policy *policy = &c->policies[i];
		const struct config_iface *iface;

		for (uint32_t j = 0; j < i && *policy->name; j++)
			if (strcmp(c->policies[j].name, policy->name) == 0)
				load_error_at(l, policy->name, "forwarding_policies",
					      "\"%s\" is the name of another one", policy->name);
		if (!check_ni_name(l, policy->network_instance, "forwarding_policies", &policy->ni))
			continue;
		iface = &c->ifaces[c->nis[policy->ni].iface];
		check_neighbour(l, iface, &policy->next_hop, "forwarding_policies");
		check_neighbour(l, iface, &policy->next_hop6, "forwarding_policies");
	}
}

// Buffers for every ring of a worker to be full, and some to work with.
static void check_mbufs(struct load *l)
{
	struct config *c = l->config;
	uint64_t need = MBUFS_PER_WORKER;

	for (uint32_t i = 0; i < c->n_ifaces; i++)
		need += c->ifaces[i].rx_descriptors + c->ifaces[i].tx_descriptors;
	if (!load_is_set(l, &c->sessions.mbufs))
		c->sessions.mbufs = (uint32_t)(need > MBUFS_DEFAULT ? need : MBUFS_DEFAULT);
	else if (c->sessions.mbufs < need)
		load_error_at(l, &c->sessions.mbufs, "sessions.mbufs",
			      "a worker's rings of these interfaces need %llu or more",
			      (unsigned long long)need);
}

// Listening on an address of its own beside the wildcard of its family would take the same port twice.
static void check_n4_pair(struct load *l, const struct addr *a, const struct prefix *other)
{
	char buf[ADDR_STRLEN];

	if (addr_eq(a, &other->addr))
		load_error_at(l, other, "n4.other_addresses", "%s is named twice",
			      addr_str(buf, a));
	else if (a->family == other->addr.family &&
		 (addr_is_unspecified(a) || addr_is_unspecified(&other->addr)))
		load_error_at(l, other, "n4.other_addresses",
			      "an address and all addresses of its family exclude each other");
}

static void check_n4_smf(struct load *l, const struct prefix *smf)
{
	const struct config_n4 *n4 = &l->config->n4;
	bool family = n4->address.family == smf->addr.family, allowed = n4->n_peers == 0;

	for (uint32_t i = 0; i < n4->n_other_addresses; i++)
		family |= n4->other_addresses[i].addr.family == smf->addr.family;
	for (uint32_t i = 0; i < n4->n_peers; i++)
		allowed |= prefix_contains(&n4->peers[i], &smf->addr);
	if (addr_is_unspecified(&smf->addr) || addr_is_multicast(&smf->addr))
		load_error_at(l, smf, "n4.smfs", "is not the address of a host");
	else if (!family)
		load_error_at(l, smf, "n4.smfs",
			      "no n4 address is of its family: name one in n4.other_addresses");
	else if (!allowed)
		load_error_at(l, smf, "n4.smfs", "is not among n4.peers");
}

static void check_n4(struct load *l)
{
	const struct config_n4 *n4 = &l->config->n4;

	if (addr_is_multicast(&n4->address))
		load_error_at(l, &n4->address, "n4.address", "is not an address of a host");
	for (uint32_t i = 0; i < n4->n_other_addresses; i++) {
		if (addr_is_multicast(&n4->other_addresses[i].addr))
			load_error_at(l, &n4->other_addresses[i], "n4.other_addresses",
				      "is not an address of a host");
		check_n4_pair(l, &n4->address, &n4->other_addresses[i]);
		for (uint32_t j = 0; j < i; j++)
			check_n4_pair(l, &n4->other_addresses[j].addr, &n4->other_addresses[i]);
	}
	for (uint32_t i = 0; i < n4->n_smfs; i++)
		check_n4_smf(l, &n4->smfs[i]);
	if (n4->n_smfs > n4->associations)
		load_error_at(l, &n4->associations, "n4.associations",
			      "%u is too few for the %u SMFs of n4.smfs", n4->associations,
			      n4->n_smfs);
}

void load_check(struct load *l)
{
	check_node(l);
	check_cpus(l);
	check_modes(l);
	check_ifaces(l);
	check_nis(l);
	check_predefined(l);
	check_policies(l);
	check_mbufs(l);
	load_check_memory(l);
	check_n4(l);
}
