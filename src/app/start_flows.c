// From the configuration to the flows of a worker (upf.h).
//
// Control thread, at start and after the end. What is said of all flows together is shared out evenly among the workers, as sessions
// are; rounding up keeps the sum in reach.

#include "app/upf.h"
#include "base/log.h"
#include "pipeline/pipeline.h"

static_assert(CONFIG_NIS_MAX <= FLOW_PROFILES, "each network instance is a profile");

// The bits of the words of network_instances.services, by the words' bits. What redirects comes with the rules of
// sessions (service_chain()).
static const uint64_t services[] = {
	SERVICE_MASK(l4_lifecycle),
	SERVICE_MASK(acl),
	0,
	SERVICE_MASK(tcp_check) | SERVICE_MASK(l4_lifecycle), // for flows of other protocols
	SERVICE_MASK(nat_in) | SERVICE_MASK(nat_out) | SERVICE_MASK(l4_lifecycle),
};

uint64_t upf_flow_services(const struct config_ni *ni)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < RTE_DIM(services); i++)
		bits |= ni->services >> i & 1 ? services[i] : 0;
	return bits ? bits | SERVICE_MASK(flow) : 0;
}

static uint32_t share(const struct upf *upf, uint32_t all)
{
	return (all + upf->n_workers - 1) / upf->n_workers;
}

static void profile_fill(const struct upf *upf, const struct config_ni *ni,
			 struct flow_profile_conf *ret)
{
	*ret = (struct flow_profile_conf){
		.timeout_ms =
			{
				[FLOW_EMBRYONIC] = ni->embryonic_ms,
				[FLOW_ESTABLISHED] = ni->established_ms,
				[FLOW_TCP_ESTABLISHED] = ni->tcp_established_ms,
				[FLOW_TCP_CLOSING] = ni->tcp_closing_ms,
			},
		.most = share(upf, ni->flows),
		.rate = share(upf, ni->flow_rate),
		.tcp_pick_up = ni->tcp_pick_up,
		.handlers =
			{
				[FLOW_CASE_UNKNOWN_PROTOCOL] = (uint8_t)ni->on_unknown_protocol,
				[FLOW_CASE_ICMP_ERROR] = (uint8_t)ni->on_icmp_error,
				[FLOW_CASE_OVERFLOW] = (uint8_t)ni->on_overflow,
			},
	};
}

void upf_flows_fill(struct upf *upf, struct flows_conf *ret)
{
	const struct config *c = &upf->config;
	uint32_t n = share(upf, c->flows.max);
	bool has_flows = false;
	uint64_t asked = 0;

	for (unsigned i = 0; i < c->n_nis; i++) {
		has_flows |= c->nis[i].services != 0;
		asked |= upf_flow_services(&c->nis[i]);
		profile_fill(upf, &c->nis[i], &upf->flow_profiles[i]);
	}
	*ret = (struct flows_conf){
		.n = has_flows ? n : 0,
		.per_session = c->flows.per_session,
		.margin = (uint32_t)((uint64_t)n * c->flows.margin_percent / 100),
		.profiles = upf->flow_profiles,
		.n_profiles = c->n_nis,
		.services = dispatch_order()->for_flows,
		.not_of_errors = dispatch_order()->not_of_errors,
		.asked = asked,
		.made = dispatch_order()->made,
		.gone = dispatch_order()->gone,
		.words = dispatch_order()->words,
		.state_bytes = dispatch_order()->state_bytes,
	};
}

static void nat_pool_fill(const struct config_ni *ni, struct nat_pool_conf *ret)
{
	static const enum nat_filter filters[] = {
		[CONFIG_NAT_FILTER_ENDPOINT] = NAT_FILTER_NONE,
		[CONFIG_NAT_FILTER_ADDRESS] = NAT_FILTER_ADDRESS,
		[CONFIG_NAT_FILTER_PORT] = NAT_FILTER_PORT,
	};

	*ret = (struct nat_pool_conf){
		.addrs = ni->nat_pool[0],
		.iface = (uint8_t)ni->iface,
		.port_low = (uint16_t)ni->nat_port_low,
		.port_high = (uint16_t)ni->nat_port_high,
		.block_ports = (uint16_t)ni->nat_block_ports,
		.blocks_per_session = (uint8_t)ni->nat_blocks,
		.map_by_remote = ni->nat_mapping == CONFIG_NAT_MAP_ADDRESS,
		.filter = filters[ni->nat_filtering],
		.log_blocks = ni->nat_log_blocks,
	};
}

int upf_nat_make(struct upf *upf)
{
	for (unsigned i = 0; i < upf->config.n_nis; i++) {
		const struct config_ni *ni = &upf->config.nis[i];
		struct nat_pool_conf conf;

		if (!ni->n_nat_pool)
			continue;
		nat_pool_fill(ni, &conf);
		if (nat_pool_init(&upf->nat.pools[i], &conf) != 0) {
			log_error("network_instances: %s: no memory for nat_pool: raise "
				  "eal.memory_mb",
				  ni->name);
			return -1;
		}
		upf->nat.n = i + 1;
		locator_outside_add(upf->locator, ni->iface, &conf.addrs);
	}
	return 0;
}

void upf_nat_free(struct upf *upf)
{
	for (unsigned i = 0; i < upf->nat.n; i++)
		nat_pool_fini(&upf->nat.pools[i]);
}

int upf_acls_make(struct upf *upf)
{
	for (unsigned i = 0; i < upf->config.n_nis; i++) {
		const struct config_ni *ni = &upf->config.nis[i];

		for (unsigned k = 0; k < ni->n_acl; k++)
			if (acl_add(&upf->acls[i], ni->acl[k]) != 0) {
				log_error("network_instances: %s: acl: too long a list, or no "
					  "memory for it",
					  ni->name);
				return -1;
			}
	}
	return 0;
}

void upf_acls_free(struct upf *upf)
{
	for (unsigned i = 0; i < RTE_DIM(upf->acls); i++)
		acl_fini(&upf->acls[i]);
}
