// Whether the memory can hold what the configuration asks for (load.h).
//
// Control thread, at start. What is counted is the least that must be there; the rest shows when tables are made.

#include "config/load.h"

#include "session/tcp_conn.h"
#include "worker/flows.h"
#include "worker/nat.h"

#define MBUF_BYTES 2432   // 2048 of data and 128 before it, and the mbuf with its private area
#define SESSION_BYTES 128 // a cache line for each direction

static uint32_t services_of(const struct config *c)
{
	uint32_t services = 0;

	for (uint32_t i = 0; i < c->n_nis; i++)
		services |= c->nis[i].services;
	return services;
}

static uint32_t share(const struct config *c, uint32_t all)
{
	return (all + c->workers.n_cpus - 1) / c->workers.n_cpus;
}

// Of all workers. What was refused as a pool counts nothing.
static uint64_t nat_pools_need(const struct config *c)
{
	uint64_t need = 0;

	for (uint32_t i = 0; i < c->n_nis; i++) {
		const struct config_ni *ni = &c->nis[i];
		const struct nat_pool_conf pool = {.addrs = ni->nat_pool[0],
						   .port_low = (uint16_t)ni->nat_port_low,
						   .port_high = (uint16_t)ni->nat_port_high,
						   .block_ports = (uint16_t)ni->nat_block_ports};

		if (!ni->n_nat_pool || pool.addrs.addr.family != ADDR_V4 ||
		    pool.addrs.len < NAT_POOL_LEN_MIN || pool.block_ports < NAT_BLOCK_MIN)
			continue;
		need += nat_pool_bytes(&pool) +
			c->workers.n_cpus * nat_ports_bytes(&pool, c->workers.n_cpus);
	}
	return need;
}

static uint64_t flows_need(const struct config *c)
{
	uint32_t services = services_of(c), n = share(c, c->flows.max);
	uint32_t n_slots = share(c, c->sessions.max);
	uint64_t need = flows_bytes(n, n_slots);

	if (services == 0)
		return 0;
	if (services & CONFIG_SERVICE_TCP_CHECK)
		need += flow_state_bytes(n, sizeof(struct tcp_conn));
	if (services & CONFIG_SERVICE_NAT)
		need += nat_bytes(n, n_slots);
	return c->workers.n_cpus * need + nat_pools_need(c);
}

void load_check_memory(struct load *l)
{
	const struct config *c = l->config;
	uint64_t mbufs = (uint64_t)c->sessions.mbufs + c->sessions.buffer_all_packets +
			 config_fragment_mbufs(c);
	uint64_t flows = c->workers.n_cpus ? flows_need(c) : 0;
	uint64_t need = c->workers.n_cpus * mbufs * MBUF_BYTES +
			(uint64_t)c->sessions.max * SESSION_BYTES + flows;
	uint64_t need_mb = (need >> 20) + 1;

	if (c->eal.memory_mb < need_mb)
		load_error_at(l, &c->eal.memory_mb, "eal.memory_mb",
			      "%u is too little: %u x %llu mbufs and %u sessions%s need more than "
			      "%llu",
			      c->eal.memory_mb, c->workers.n_cpus, (unsigned long long)mbufs,
			      c->sessions.max, flows ? " with flows" : "",
			      (unsigned long long)need_mb);
}
