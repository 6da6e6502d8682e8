// What flows, NAT and their tables are said to take (config/check_memory.c) is what they take of DPDK's memory, for numbers on
// both sides of where the buckets of an index double.

#include <stdlib.h>

#include <rte_malloc.h>

#include "eal.h"
#include "session/tcp_conn.h"
#include "worker/flows.h"
#include "worker/nat.h"

#define EACH                                                                                       \
	256 // bytes of the heap for each piece of memory, at most: its head, and what aligns it
#define SLOTS 1000

static size_t allocated(void)
{
	struct rte_malloc_socket_stats stats;

	CU_ASSERT_EQUAL_FATAL(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.heap_allocsz_bytes;
}

// `pieces` were made since `before`.
static void check(size_t before, size_t said, unsigned pieces)
{
	size_t taken = allocated() - before;

	CU_ASSERT_TRUE(taken >= said);
	CU_ASSERT_TRUE(taken <= said + pieces * EACH);
	if (taken < said || taken > said + pieces * EACH)
		printf("\n%zu bytes were taken, %zu said\n", taken, said);
}

static const uint32_t numbers[] = {64, 1000, 16384, 16385, 100000};

static void test_flows(void)
{
	const struct flow_profile_conf profile = {.timeout_ms = {1000, 1000, 1000, 1000}};
	uint32_t state_bytes[FLOW_SERVICES] = {[3] = sizeof(struct tcp_conn)};
	static struct flows flows;

	unit_eal("512");
	for (unsigned i = 0; i < RTE_DIM(numbers); i++)
		for (unsigned states = 0; states < 2; states++) {
			const struct flows_conf conf = {.n = numbers[i],
							.profiles = &profile,
							.n_profiles = 1,
							.asked = states ? 1u << 3 : 0,
							.state_bytes = state_bytes};
			size_t before = allocated(), said = flows_bytes(numbers[i], SLOTS);

			if (states)
				said += flow_state_bytes(numbers[i], sizeof(struct tcp_conn));
			CU_ASSERT_EQUAL_FATAL(flows_init(&flows, &conf, SLOTS, 0, SOCKET_ID_ANY),
					      0);
			check(before, said, 13);
			flows_fini(&flows);
			CU_ASSERT_EQUAL(allocated(), before);
		}
}

static void nat_row(uint32_t n, uint8_t len, uint16_t block_ports, unsigned n_workers)
{
	struct nat_pool_conf conf = {.addrs = {.addr = addr_v4(RTE_BE32(0xc6336400)), .len = len},
				     .port_low = 1024,
				     .port_high = UINT16_MAX,
				     .block_ports = block_ports,
				     .blocks_per_session = 1};
	struct nat_pools *pools = calloc(1, sizeof(*pools));
	struct nat *nat = calloc(1, sizeof(*nat));
	size_t before = allocated();

	CU_ASSERT_FATAL(pools && nat);
	pools->n = 1;
	CU_ASSERT_EQUAL_FATAL(nat_pool_init(&pools->pools[0], &conf), 0);
	check(before, nat_pool_bytes(&conf), 1);
	before = allocated();
	CU_ASSERT_EQUAL_FATAL(nat_init(nat, pools, 0, n_workers, n, SLOTS, SOCKET_ID_ANY), 0);
	check(before, nat_bytes(n, SLOTS) + nat_ports_bytes(&conf, n_workers), 11);
	nat_fini(nat);
	CU_ASSERT_EQUAL(allocated(), before);
	nat_pool_fini(&pools->pools[0]);
	free(nat);
	free(pools);
}

static void test_nat(void)
{
	unit_eal("512");
	for (unsigned i = 0; i < RTE_DIM(numbers); i++)
		for (unsigned n_workers = 1; n_workers <= 3; n_workers++) {
			nat_row(numbers[i], 32, 512, n_workers);
			nat_row(numbers[i], 28, 64, n_workers);
			nat_row(numbers[i], 24, 4096, n_workers);
		}
}

static CU_TestInfo tests[] = {
	{"flows", test_flows},
	{"NAT", test_nat},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("memory of flows")
