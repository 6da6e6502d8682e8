// NAT pools made, see nat_pool.h.
// Control thread.

#include "session/nat_pool.h"

#include <errno.h>

#include <rte_common.h>
#include <rte_malloc.h>

int nat_pool_init(struct nat_pool *pool, const struct nat_pool_conf *conf)
{
	uint32_t ports = conf->block_ports, first;

	*pool = (struct nat_pool){.iface = conf->iface,
				  .blocks_per_session = conf->blocks_per_session,
				  .map_by_remote = conf->map_by_remote,
				  .filter = conf->filter,
				  .log_blocks = conf->log_blocks};
	if (conf->addrs.addr.family != ADDR_V4 || conf->addrs.len < NAT_POOL_LEN_MIN ||
	    !rte_is_power_of_2(ports) || ports < NAT_BLOCK_MIN || ports > NAT_BLOCK_MAX ||
	    conf->blocks_per_session == 0 || conf->blocks_per_session > NAT_BLOCKS_MAX)
		return -EINVAL;
	pool->shift = (uint8_t)rte_log2_u32(ports);
	pool->n_blocks = (uint16_t)nat_blocks_within(conf->port_low, conf->port_high, ports,
						     &first);
	pool->first = (uint16_t)first;
	if (pool->n_blocks == 0)
		return -EINVAL;
	pool->n_addrs = 1u << (32 - conf->addrs.len);
	pool->base = rte_be_to_cpu_32(conf->addrs.addr.v4) & ~(pool->n_addrs - 1);
	pool->refs = rte_zmalloc("nat_pool",
				 (size_t)pool->n_addrs * (65536u >> pool->shift) *
					 sizeof(struct session_ref),
				 RTE_CACHE_LINE_SIZE);
	return pool->refs ? 0 : -ENOMEM;
}

void nat_pool_fini(struct nat_pool *pool)
{
	rte_free(pool->refs);
	*pool = (struct nat_pool){0};
}
