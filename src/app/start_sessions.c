// From the configuration to tables, workers and N4 (upf.h).
//
// Control thread. Everything is sized once, here; nothing grows later but the rules' arena, which is only reserved.

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "app/upf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "pfcp/downlink.h"
#include "pfcp/node_report.h"
#include "pfcp/pfd.h"
#include "pfcp/remote_tunnels.h"
#include "pfcp/usage.h"
#include "pipeline/pipeline.h"
#include "worker/profile.h"

static_assert(CONFIG_POLICIES_MAX <= ROUTE_POLICIES, "every policy has its place");
static_assert(CONFIG_IFACE_ADDRESSES_MAX <= PARSE_LOCAL_MAX &&
		      CONFIG_IFACE_ADDRESSES_MAX <= NEIGH_ADDRS,
	      "every address that may be configured is served");

#define ARENA_BYTES_EACH 1024 // of address space for a session's rules, were none alike
#define ARENA_BYTES_MORE (64u << 20)
#define MAIL_RING 4096
#define PUNT_RING 1024
#define USAGE_RING 4096
#define BUFFER_RING 1024
#define NAT_RING 4096

static int no_memory(const char *what)
{
	log_error("no memory for %s: raise eal.memory_mb or lower sessions.max", what);
	return -1;
}

static int qsbr_make(struct upf *upf)
{
	upf->qsbr = rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(MAX_WORKERS), RTE_CACHE_LINE_SIZE);
	if (!upf->qsbr || rte_rcu_qsbr_init(upf->qsbr, MAX_WORKERS) != 0)
		return no_memory("quiescent states");
	for (unsigned i = 0; i < upf->n_workers; i++)
		rte_rcu_qsbr_thread_register(upf->qsbr, i);
	return 0;
}

static int locator_make(struct upf *upf)
{
	const struct config *c = &upf->config;

	upf->locator = locator_new(c->sessions.hashed, c->sessions.routes, upf->qsbr);
	if (!upf->locator)
		return no_memory("locators");
	for (unsigned i = 0; i < c->n_nis; i++)
		for (unsigned k = 0; k < c->nis[i].n_pools; k++) {
			char text[PREFIX_STRLEN];

			if (locator_pool_add(upf->locator, c->nis[i].iface, &c->nis[i].pools[k]) ==
			    0)
				continue;
			log_info(
				"%s: pool %s is looked up by hash: it is not one of the first %d of "
				"its interface, or too large",
				c->nis[i].name, prefix_str(text, &c->nis[i].pools[k]),
				LOCATOR_POOLS);
		}
	return 0;
}

// Addresses of the interface's own nets, which no UE is to get though a pool may hold them.
static int pool_exceptions_make(struct upf *upf, unsigned iface)
{
	const struct config_iface *c = &upf->config.ifaces[iface];
	const struct addr gateways[] = {c->gateway, c->gateway6};

	for (unsigned i = 0; i < RTE_DIM(gateways); i++)
		if (gateways[i].family != ADDR_NONE &&
		    ue_pools_except(upf->ue_pools, iface, &gateways[i]) != 0)
			return -1;
	for (unsigned i = 0; i < c->n_addresses; i++) {
		const struct prefix *own = &c->addresses[i];
		struct addr net = addr_mask(&own->addr, own->len), last = net;

		if (own->addr.family == ADDR_V4 && own->len < 31)
			last.v4 |= rte_cpu_to_be_32(UINT32_MAX >> own->len);
		if (ue_pools_except(upf->ue_pools, iface, &own->addr) != 0 ||
		    ue_pools_except(upf->ue_pools, iface, &net) != 0 ||
		    ue_pools_except(upf->ue_pools, iface, &last) != 0)
			return -1;
	}
	return 0;
}

static int ue_pools_make(struct upf *upf)
{
	const struct config *c = &upf->config;
	const struct ue_pools_conf conf = {
		.rest_ns = c->sessions.reuse_s * NS_PER_SEC,
		.fresh_first = c->sessions.max,
	};

	upf->ue_pools = ue_pools_new(&conf);
	if (!upf->ue_pools)
		return no_memory("UE pools");
	for (unsigned i = 0; i < c->n_nis; i++)
		for (unsigned k = 0; k < c->nis[i].n_pools; k++)
			if (ue_pools_add(upf->ue_pools, i, c->nis[i].iface, &c->nis[i].pools[k],
					 rand_u64()) != 0)
				return no_memory("UE pools");
	for (unsigned i = 0; i < c->n_ifaces; i++)
		if (pool_exceptions_make(upf, i) != 0)
			return no_memory("UE pools");
	return 0;
}

static void neigh_iface_fill(const struct config_iface *c, const struct iface *iface,
			     struct neigh_iface *ret)
{
	*ret = (struct neigh_iface){
		.vlan = iface->vlan,
		.mtu = iface->mtu,
		.access = c->roles & (CONFIG_ROLE_N3 | CONFIG_ROLE_N9),
		.gateway_v4 = c->gateway,
		.gateway_v6 = c->gateway6,
	};
	memcpy(ret->mac, iface->mac.addr_bytes, ETH_MAC_BYTES);
	for (unsigned i = 0; i < c->n_addresses && i < NEIGH_ADDRS; i++)
		ret->addrs[ret->n_addrs++] = c->addresses[i];
}

static void path_changed(void *ctx, uint16_t peer, const struct addr *addr, bool up)
{
	struct upf *upf = ctx;

	node_report_path(upf->n4, peer, addr, up);
}

static int neigh_make(struct upf *upf)
{
	const struct config *c = &upf->config;
	struct neigh_conf conf = {
		.n_ifaces = upf->n_ifaces,
		.n_peers = (uint16_t)c->sessions.peers,
		.hold_packets = (uint16_t)c->sessions.hold_packets,
		.path = {.echo_ms = c->gtpu.echo_ms,
			 .t3_ms = c->gtpu.echo_t3_ms,
			 .n3 = c->gtpu.echo_n3,
			 .changed = path_changed,
			 .ctx = upf},
		.udp6_cksum = c->gtpu.udp6_checksum,
		.n4 = c->n4.address,
		.stats = &upf->control.stats,
		.io = control_neigh_io(&upf->control),
	};

	for (unsigned i = 0; i < upf->n_ifaces; i++)
		neigh_iface_fill(&c->ifaces[i], upf->ifaces[i], &conf.ifaces[i]);
	for (unsigned i = 0; i < c->n_policies; i++)
		conf.policies[conf.n_policies++] = (struct neigh_policy){
			.iface = (uint8_t)c->nis[c->policies[i].ni].iface,
			.next_hop_v4 = c->policies[i].next_hop,
			.next_hop_v6 = c->policies[i].next_hop6,
		};
	upf->control.mbufs = upf->pools[0];
	upf->control.neigh = neigh_new(&conf);
	return upf->control.neigh ? 0 : no_memory("neighbours");
}

static void parse_conf_fill(const struct config_iface *c, const struct iface *iface, unsigned index,
			    struct parse_conf *ret)
{
	*ret = (struct parse_conf){
		.vlan_tci_id = iface->vlan,
		.mtu = iface->mtu,
		.iface = (uint8_t)index,
		.access = c->roles & (CONFIG_ROLE_N3 | CONFIG_ROLE_N9),
		.core = c->roles & CONFIG_ROLE_N6,
	};
	for (unsigned i = 0; i < c->n_addresses; i++)
		parse_local_add(ret, &c->addresses[i].addr, ret->access);
}

static int worker_make(struct upf *upf, unsigned id, const struct teid_scheme *teids,
		       uint32_t n_slots, uint32_t n_tunnels)
{
	const struct config *c = &upf->config;
	struct worker_conf conf = {
		.id = id,
		.n_workers = upf->n_workers,
		.n_slots = n_slots,
		.n_tunnels = n_tunnels,
		.n_peers = c->sessions.peers,
		.punt_ring = PUNT_RING,
		.mail_ring = MAIL_RING,
		.burst = c->workers.burst,
		.meter_burst_us = c->sessions.rate_burst_us,
		.usage_ring = USAGE_RING,
		.buffer_ring = BUFFER_RING,
		.nat_ring = NAT_RING,
		.buffer_limits =
			{
				.packets = c->sessions.buffer_packets,
				.bytes = c->sessions.buffer_bytes,
				.ms = c->sessions.buffer_ms,
				.all_packets = c->sessions.buffer_all_packets,
				.all_bytes = c->sessions.buffer_all_bytes,
			},
		.buffer_pool = upf->buffer_pools[id],
		.sleep = c->workers.idle == CONFIG_IDLE_SLEEP,
		.sample_every = PROFILE_EVERY,
		.error_rate = c->gtpu.error_indication ? c->gtpu.error_rate : 0,
		.error_quiet_ms = c->gtpu.error_quiet_ms,
		.extension_rate = c->gtpu.error_rate,
		.icmp_rate = c->icmp.error_rate,
		.gather_limits = {.datagrams = c->reassembly.datagrams,
				  .of_one = c->reassembly.per_session,
				  .pieces = c->reassembly.fragments,
				  .ms = c->reassembly.timeout_ms},
		.gather_seed = upf->gather_seed,
		.fragment_outer = c->gtpu.fragment == CONFIG_FRAGMENT_OUTER,
		.socket = (int)rte_lcore_to_socket_id(eal_worker_lcore(id)),
		.arena = &upf->arena,
		.locator = upf->locator,
		.teids = teids,
		.pool = upf->pools[id],
		.qsbr = upf->qsbr,
	};

	upf_flows_fill(upf, &conf.flows);
	conf.acls = upf->acls;
	conf.nat = upf->nat.n ? &upf->nat : NULL;
	upf->control.workers[id] = worker_new(&conf);
	if (!upf->control.workers[id])
		return no_memory("a worker's tables");
	for (unsigned i = 0; i < upf->n_ifaces; i++) {
		struct parse_conf parse;

		parse_conf_fill(&c->ifaces[i], upf->ifaces[i], i, &parse);
		worker_iface_add(upf->control.workers[id], i, &parse, &upf->ifaces[i]->mac,
				 upf->ifaces[i]->rx[id], upf->ifaces[i]->tx[id]);
	}
	return 0;
}

// Slots and tunnels are shared out evenly; rounding up keeps the configured sum in reach.
static int workers_make(struct upf *upf)
{
	const struct config *c = &upf->config;
	uint32_t n_slots = (c->sessions.max + upf->n_workers - 1) / upf->n_workers;
	uint32_t n_tunnels = (c->sessions.tunnels + upf->n_workers - 1) / upf->n_workers;
	uint32_t key[TEID_KEY_WORDS];
	struct teid_scheme teids;

	rand_bytes(key, sizeof(key));
	upf->gather_seed = (uint32_t)rand_u64();
	if (teid_scheme_init(&teids, upf->n_workers, n_slots + n_tunnels, key) != 0) {
		log_error(
			"sessions.max and sessions.tunnels: too many for 32-bit TEIDs with %u workers",
			upf->n_workers);
		return -1;
	}
	upf->slots = slots_new(upf->n_workers, n_slots, n_tunnels, &teids);
	if (!upf->slots)
		return no_memory("slots");
	for (unsigned i = 0; i < upf->n_workers; i++) {
		if (worker_make(upf, i, &teids, n_slots, n_tunnels) != 0)
			return -1;
		upf->control.n_workers++;
	}
	control_listen(&upf->control);
	if (workers_connect(upf->control.workers, upf->n_workers, c->sessions.handoff_ring) != 0)
		return no_memory("handoff rings");
	return 0;
}

// --- N4 --------------------------------------------------------------------------------------------------

// A UE address outside the pools: the port is told, so that its packets come up.
static void ue_prefix(void *ctx, unsigned iface, const struct prefix *prefix, bool add)
{
	struct upf *upf = ctx;
	int rc = add ? port_ue_prefix_add(upf->ifaces[iface], prefix)
		     : port_ue_prefix_del(upf->ifaces[iface], prefix);

	if (rc != 0)
		log_warn_limited("%s: cannot %s a UE address: %s", upf->ifaces[iface]->name,
				 add ? "steer" : "forget", strerror(-rc));
}

static void n4_ifaces_fill(struct upf *upf)
{
	static const enum ue_to_ue ue_to_ue[] = {
		[CONFIG_UE_TO_UE_DIRECT] = UE_TO_UE_DIRECT,
		[CONFIG_UE_TO_UE_ROUTE] = UE_TO_UE_ROUTE,
		[CONFIG_UE_TO_UE_DROP] = UE_TO_UE_DROP,
	};

	for (unsigned i = 0; i < upf->n_ifaces; i++) {
		const struct config_iface *c = &upf->config.ifaces[i];
		struct n4_iface *ni = &upf->n4_ifaces[i];

		ni->name = c->name;
		ni->roles = (uint8_t)((c->roles & CONFIG_ROLE_N3 ? N4_ROLE_N3 : 0) |
				      (c->roles & CONFIG_ROLE_N6 ? N4_ROLE_N6 : 0) |
				      (c->roles & CONFIG_ROLE_N9 ? N4_ROLE_N9 : 0));
		for (unsigned k = 0; k < c->n_addresses; k++) {
			const struct addr *addr = &c->addresses[k].addr;

			if (addr->family == ADDR_V4 && !ni->has_v4) {
				ni->has_v4 = true;
				ni->v4.s_addr = addr->v4;
			} else if (addr->family == ADDR_V6 && !ni->has_v6 &&
				   !addr_is_link_local(addr)) {
				ni->has_v6 = true;
				memcpy(&ni->v6, addr->v6, sizeof(ni->v6));
			}
		}
	}
	for (unsigned i = 0; i < upf->config.n_nis; i++)
		upf->n4_nis[i] = (struct n4_ni){
			.ue_to_ue = ue_to_ue[upf->config.nis[i].ue_to_ue],
			.name = upf->config.nis[i].name,
			.iface = (uint8_t)upf->config.nis[i].iface,
			.pools = upf->config.nis[i].pools,
			.n_pools = upf->config.nis[i].n_pools,
			.redirects = upf->config.nis[i].services & CONFIG_SERVICE_REDIRECT,
			.services = upf_flow_services(&upf->config.nis[i]),
		};
}

// What the configuration says of applications. Its flow descriptions have been parsed before, one by one.
static int apps_make(struct upf *upf)
{
	for (unsigned i = 0; i < upf->config.n_apps; i++) {
		const struct config_application *app = &upf->config.apps[i];
		const char *why = "more flow descriptions than one PDR can match";
		int rc = pfd_own_add(upf->n4->env.pfds, app->name, app->flow, &why);

		if (rc == -ENOMEM)
			return no_memory("applications");
		if (rc != 0) {
			log_error("applications: %s: %s", app->name, why);
			return -1;
		}
	}
	return 0;
}

static_assert(CONFIG_PREDEFINED_MAX == PREDEFINED_MAX_RULES &&
		      CONFIG_FLOWS_MAX == PREDEFINED_MAX_FILTERS &&
		      sizeof(((struct config_predefined *)0)->name) ==
			      sizeof(((struct predefined_rule *)0)->name),
	      "every rule of the configuration has room");

// The configuration has been checked: names fit and flows parse.
static void predefined_fill(struct upf *upf, struct n4_env *env)
{
	static const enum predefined_action actions[] = {
		[CONFIG_ACTION_FAR] = PREDEFINED_FAR,
		[CONFIG_ACTION_DROP] = PREDEFINED_DROP,
		[CONFIG_ACTION_FORWARD] = PREDEFINED_FORWARD,
	};
	const char *why;

	for (unsigned i = 0; i < upf->config.n_predefined; i++) {
		const struct config_predefined *c = &upf->config.predefined[i];
		struct predefined_rule *rule = &upf->predefined[i];

		memcpy(rule->name, c->name, sizeof(rule->name)); // ended by a NUL, as checked
		rule->precedence = c->precedence;
		rule->action = actions[c->action];
		rule->ni = (uint16_t)c->ni;
		for (unsigned k = 0; k < c->n_flows; k++)
			if (sdf_parse(c->flows[k], strlen(c->flows[k]),
				      &rule->filters[rule->n_filters], &why) == 0)
				rule->n_filters++;
	}
	env->predefined = upf->predefined;
	env->n_predefined = upf->config.n_predefined;
}

static void policies_fill(struct upf *upf, struct n4_env *env)
{
	for (unsigned i = 0; i < upf->config.n_policies; i++)
		upf->n4_policies[i] = (struct n4_policy){
			.name = upf->config.policies[i].name,
			.iface = (uint8_t)upf->config.nis[upf->config.policies[i].ni].iface,
		};
	env->policies = upf->n4_policies;
	env->n_policies = upf->config.n_policies;
}

// A URR has reached a mark.
static void used(void *ctx, unsigned worker, const struct usage_event *event)
{
	const struct upf *upf = ctx;

	n4_usage_event(upf->n4, worker, event);
}

// Packets wait for a UE.
static void buffered(void *ctx, unsigned worker, const struct buffer_event *event)
{
	const struct upf *upf = ctx;

	n4_downlink_data(upf->n4, worker, event);
}

static void tunnel_lost(void *ctx, uint32_t teid, const struct addr *peer)
{
	struct upf *upf = ctx;

	n4_error_indication(upf->n4, teid, peer);
}

static int n4_make(struct upf *upf)
{
	static const enum n4_path_failure path_failures[] = {
		[CONFIG_PATH_FAILURE_KEEP] = N4_PATH_KEEP,
		[CONFIG_PATH_FAILURE_DROP] = N4_PATH_END,
		[CONFIG_PATH_FAILURE_DROP_AFTER] = N4_PATH_END_AFTER,
	};
	const struct config *c = &upf->config;
	struct n4_env env = {
		.slots = upf->slots,
		.locator = upf->locator,
		.ue_pools = upf->ue_pools,
		.arena = &upf->arena,
		.neigh = upf->control.neigh,
		.workers = upf->control.workers,
		.n_workers = upf->n_workers,
		.ifaces = upf->n4_ifaces,
		.n_ifaces = upf->n_ifaces,
		.nis = upf->n4_nis,
		.n_nis = c->n_nis,
		.chain = service_chain,
		.ue_prefix = ue_prefix,
		.ue_prefix_ctx = upf,
	};
	struct n4_conf conf;

	n4_ifaces_fill(upf);
	predefined_fill(upf, &env);
	policies_fill(upf, &env);
	n4_conf_init(&conf);
	conf.listen[0] = (struct endpoint){.addr = c->n4.address, .port = (uint16_t)c->n4.port};
	for (unsigned i = 0; i < c->n4.n_other_addresses; i++)
		conf.listen[1 + i] = (struct endpoint){.addr = c->n4.other_addresses[i].addr,
						       .port = (uint16_t)c->n4.port};
	conf.recovery = upf->recovery;
	if (node_id_parse(c->node.id, &conf.node_id) != 0) {
		log_error("node.id: %s is neither an address nor a domain name", c->node.id);
		return -1;
	}
	conf.peers = c->n4.peers;
	conf.n_peers = c->n4.n_peers;
	conf.t1_ms = c->n4.t1_ms;
	conf.n1 = c->n4.n1;
	conf.heartbeat_s = (c->n4.heartbeat_ms + 999) / 1000; // 0 alone means none
	conf.path_failure = path_failures[c->n4.on_path_failure];
	conf.path_failure_ms = c->n4.path_failure_ms;
	conf.smfs = c->n4.smfs;
	conf.n_smfs = c->n4.n_smfs;
	conf.setup_retry_ms = c->n4.setup_retry_ms;
	conf.max_assocs = c->n4.associations;
	conf.max_assocs_per_addr = c->n4.associations_per_address;
	conf.max_answers = c->n4.requests;
	conf.max_answer_bytes = (uint64_t)c->n4.answers_mb << 20;
	conf.max_waiting_bytes = (uint64_t)c->n4.waiting_mb << 20;
	conf.max_requests = c->n4.own_requests;
	conf.max_sessions = c->sessions.max;
	conf.load.overload_percent = c->n4.overload_percent;
	conf.load.overload_requests = c->n4.overload_requests;
	conf.max_pdrs = c->sessions.pdrs;
	conf.max_filters = c->sessions.filters;
	conf.seid_rest_s = c->sessions.reuse_s;
	conf.max_answers_per_peer = c->n4.requests_per_peer;
	conf.max_reports = c->n4.reports;
	conf.traffic_stop_s = c->n4.traffic_stop_s;
	conf.error_reports = c->gtpu.error_report;
	conf.max_apps = c->n4.applications;
	conf.max_app_pfds = c->n4.application_pfds;
	conf.max_pfd_bytes = c->n4.pfd_bytes;
	upf->n4 = n4_new(&conf, &env, &n4_session_ops);
	if (!upf->n4)
		return no_memory("N4");
	upf->control.usage = used;
	upf->control.usage_ctx = upf;
	upf->control.buffered = buffered;
	upf->control.buffered_ctx = upf;
	upf->control.tunnel_lost = tunnel_lost;
	upf->control.tunnel_lost_ctx = upf;
	upf_nat_log_start(upf);
	return apps_make(upf);
}

int upf_sessions_make(struct upf *upf)
{
	const struct config *c = &upf->config;
	unsigned n_services;
	const struct service *const *services = service_registry(&n_services);
	char why[256];

	if (dispatch_init(services, n_services, why, sizeof(why)) != 0) {
		log_error("services: %s", why);
		return -1;
	}
	if (upf_acls_make(upf) != 0)
		return -1;
	if (rule_arena_init(&upf->arena,
			    (size_t)c->sessions.max * ARENA_BYTES_EACH + ARENA_BYTES_MORE) != 0)
		return no_memory("rules");
	if (qsbr_make(upf) != 0 || locator_make(upf) != 0 || upf_nat_make(upf) != 0 ||
	    ue_pools_make(upf) != 0 || workers_make(upf) != 0 || neigh_make(upf) != 0)
		return -1;
	for (unsigned i = 0; i < upf->n_workers; i++)
		upf->control.workers[i]->routes = neigh_routes(upf->control.neigh);
	return n4_make(upf);
}

void upf_sessions_free(struct upf *upf)
{
	control_drain(&upf->control); // what N4 and the CLI wait for
	upf->control.usage = NULL;
	upf->control.buffered = NULL;
	upf->control.tunnel_lost = NULL;
	n4_free(upf->n4);
	upf->n4 = NULL;
	control_drain(&upf->control); // what the end of the sessions told the workers
	neigh_free(upf->control.neigh);
	workers_disconnect(upf->control.workers, upf->control.n_workers);
	for (unsigned i = 0; i < upf->control.n_workers; i++)
		worker_free(upf->control.workers[i]);
	slots_free(upf->slots);
	locator_free(upf->locator);
	ue_pools_free(upf->ue_pools);
	rule_arena_fini(&upf->arena);
	upf_acls_free(upf);
	upf_nat_free(upf);
	rte_free(upf->qsbr);
}

int upf_workers_launch(struct upf *upf)
{
	for (unsigned i = 0; i < upf->n_workers; i++)
		if (rte_eal_remote_launch(pipeline_loop, upf->control.workers[i],
					  eal_worker_lcore(i)) != 0) {
			log_error("worker %u: its lcore does not start", i);
			return -1;
		}
	upf->launched = true;
	return 0;
}

void upf_workers_stop(struct upf *upf)
{
	for (unsigned i = 0; i < upf->control.n_workers; i++)
		__atomic_store_n(&upf->control.workers[i]->stop, true, __ATOMIC_RELAXED);
	if (upf->launched)
		rte_eal_mp_wait_lcore();
	upf->launched = false;
}
