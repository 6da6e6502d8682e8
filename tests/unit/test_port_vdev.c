// Ports on DPDK's virtual devices: open, share, refuse, close.
//
// In process and without a network.

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "port/backend.h"
#include "port/port.h"
#include "unit.h"

#define MBUFS 1023

static struct rte_mempool *pools[2];

static unsigned first_cpu(void)
{
	cpu_set_t set;
	unsigned cpu = 0;

	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

static void test_eal_refusals(void)
{
	struct eal_conf conf = {.memory_mb = 64, .hugepages = EAL_HUGEPAGES_OFF, .main_cpu = -1};
	struct port_error err;

	CU_ASSERT_EQUAL(eal_start(&conf, &err), -EINVAL);
	conf.n_cpus = 1;
	conf.cpus[0] = CPU_SETSIZE;
	CU_ASSERT_EQUAL(eal_start(&conf, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is not among the CPUs"));
	conf.n_cpus = 2;
	conf.cpus[0] = conf.cpus[1] = (uint16_t)first_cpu();
	CU_ASSERT_EQUAL(eal_start(&conf, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "named twice"));
	conf.n_cpus = 1;
	conf.main_cpu = CPU_SETSIZE;
	CU_ASSERT_EQUAL(eal_start(&conf, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "main CPU"));
	conf.main_cpu = -1;
	conf.hugepages = EAL_HUGEPAGES_ON;
	conf.memory_mb = UINT32_MAX;
	CU_ASSERT_EQUAL(eal_start(&conf, &err), -ENOMEM);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "vm.nr_hugepages"));
}

static void test_eal_start(void)
{
	struct eal_conf conf = {
		.memory_mb = 64,
		.hugepages = EAL_HUGEPAGES_OFF,
		.n_cpus = 1,
		.main_cpu = -1,
		.file_prefix = "test_port",
	};
	struct port_error err;

	conf.cpus[0] = (uint16_t)first_cpu();
	CU_ASSERT_EQUAL_FATAL(eal_start(&conf, &err), 0);
	CU_ASSERT_EQUAL(eal_start(&conf, &err), -EALREADY);
	for (unsigned i = 0; i < 2; i++) {
		pools[i] = port_mempool_new(i ? "b" : "a", MBUFS, 1500, 0, &err);
		CU_ASSERT_PTR_NOT_NULL_FATAL(pools[i]);
		CU_ASSERT_EQUAL(pools[i]->nb_mem_chunks, 1);
		CU_ASSERT_EQUAL(pools[i]->populated_size, MBUFS);
		CU_ASSERT_EQUAL(rte_pktmbuf_priv_size(pools[i]), 64);
	}
	CU_ASSERT_PTR_NULL(port_mempool_new("big", 10000000, 1500, 0, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "memory_mb"));
	CU_ASSERT_PTR_NULL(port_mempool_new("wide", 16, UINT16_MAX, 0, &err));
}

// An AF_XDP socket takes the pool's memory for buffers side by side.
static void test_buffers_side_by_side(void)
{
	size_t size = pools[0]->header_size + pools[0]->elt_size + pools[0]->trailer_size;
	struct rte_mbuf *all[MBUFS];
	uintptr_t low = UINTPTR_MAX, high = 0;

	CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(pools[0], all, MBUFS), 0);
	for (unsigned i = 0; i < MBUFS; i++) {
		low = RTE_MIN(low, (uintptr_t)all[i]);
		high = RTE_MAX(high, (uintptr_t)all[i]);
		CU_ASSERT_EQUAL(rte_mbuf_iova_get(all[i]), (uintptr_t)all[i]->buf_addr);
	}
	CU_ASSERT_EQUAL(high - low, (MBUFS - 1) * size);
	rte_pktmbuf_free_bulk(all, MBUFS);
}

static struct port_conf vdev_conf(const char *name, const char *device)
{
	struct port_conf conf = {.mode = PORT_VDEV, .rx_desc = 256, .tx_desc = 256, .mtu = 1600};

	snprintf(conf.name, sizeof(conf.name), "%s", name);
	snprintf(conf.device, sizeof(conf.device), "%s", device);
	return conf;
}

static void test_open_and_reopen(void)
{
	struct port_conf conf = vdev_conf("n3", "net_null0,size=64");
	struct prefix ue = {.addr = addr_v4(10), .len = 8};
	struct port_counters counters;
	struct port_error err;

	conf.is_n3 = true;
	for (int round = 0; round < 3; round++) {
		struct iface *iface = port_open(&conf, 2, pools, &err);
		struct rte_mbuf *m[4];

		CU_ASSERT_PTR_NOT_NULL_FATAL(iface);
		CU_ASSERT_EQUAL(port_start(iface, &err), 0);
		CU_ASSERT_EQUAL(iface->n_workers, 2);
		CU_ASSERT_EQUAL(iface->rx[0].port_id, iface->rx[1].port_id);
		CU_ASSERT_EQUAL(iface->rx[1].queue_id, 1);
		CU_ASSERT_EQUAL(port_copies_fd(iface), -1);
		CU_ASSERT_EQUAL(port_ue_prefix_add(iface, &ue), 0);
		unsigned n = rte_eth_rx_burst(iface->rx[1].port_id, iface->rx[1].queue_id, m, 4);
		CU_ASSERT_EQUAL(n, 4);
		CU_ASSERT_PTR_EQUAL(n ? m[0]->pool : NULL, pools[1]);
		CU_ASSERT_EQUAL(rte_eth_tx_burst(iface->tx[0].port_id, iface->tx[0].queue_id, m,
						 (uint16_t)n),
				4);
		CU_ASSERT_EQUAL(port_counters_get(iface, &counters), 0);
		CU_ASSERT_EQUAL(counters.rx_packets, 4);
		CU_ASSERT_EQUAL(counters.tx_packets, 4);
		port_stop(iface);
		port_close(iface);
	}
}

// A capture file as the port's two sides: what is in the one comes in, what is sent is found in the other.
static void test_pcap(void)
{
	const char *golden = getenv("TEST_GOLDEN");
	char folder[] = "/tmp/test_port_XXXXXX", device[256], sent[64];
	struct port_conf conf;
	struct port_error err;
	struct rte_mbuf *m[64];
	uint64_t bytes = 0;
	FILE *file;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	snprintf(sent, sizeof(sent), "%s/sent.pcap", folder);
	snprintf(device, sizeof(device), "net_pcap0,rx_pcap=%s/open5gs-assoc.pcap,tx_pcap=%s",
		 golden ? golden : "tests/golden", sent);
	conf = vdev_conf("n3", device);
	struct iface *iface = port_open(&conf, 1, pools, &err);

	CU_ASSERT_PTR_NOT_NULL_FATAL(iface);
	CU_ASSERT_EQUAL(port_start(iface, &err), 0);
	unsigned n = rte_eth_rx_burst(iface->rx[0].port_id, iface->rx[0].queue_id, m, 64);

	CU_ASSERT_EQUAL(n, 18); // as tests/golden/open5gs-assoc.txt counts them
	for (unsigned i = 0; i < n; i++)
		bytes += m[i]->pkt_len;
	CU_ASSERT_EQUAL(
		rte_eth_tx_burst(iface->tx[0].port_id, iface->tx[0].queue_id, m, (uint16_t)n), n);
	port_stop(iface);
	port_close(iface);
	file = fopen(sent, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fseek(file, 0, SEEK_END);
	CU_ASSERT_EQUAL((uint64_t)ftell(file),
			24 + 16 * n + bytes); // headers of the file and of each
	fclose(file);
	remove(sent);
	remove(folder);
}

static void test_vlans_share(void)
{
	struct port_conf conf = vdev_conf("n3", "net_null0"), other = vdev_conf("n6", "net_null0");
	struct iface *n3, *n6;
	struct port_error err;

	n3 = port_open(&conf, 1, pools, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(n3);
	CU_ASSERT_PTR_NULL(port_open(&other, 1, pools, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "same VLAN"));
	other.vlan = 7;
	other.mode = PORT_AF_PACKET;
	CU_ASSERT_PTR_NULL(port_open(&other, 1, pools, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "different modes"));
	other.mode = PORT_VDEV;
	n6 = port_open(&other, 1, pools, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(n6);
	CU_ASSERT_EQUAL(n3->rx[0].port_id, n6->rx[0].port_id);
	CU_ASSERT_EQUAL(port_start(n3, &err), 0);
	CU_ASSERT_EQUAL(port_start(n6, &err), 0);
	port_close(n3);
	CU_ASSERT_EQUAL(rte_eth_dev_count_avail(), 1);
	port_close(n6); // which stops it too
	CU_ASSERT_EQUAL(rte_eth_dev_count_avail(), 0);
}

static void test_refusals(void)
{
	static const struct {
		const char *device;
		unsigned workers;
		uint16_t mtu;
		const char *text;
	} rows[] = {
		{"", 1, 1600, "driver0,key=value"},
		{",x=1", 1, 1600, "driver0,key=value"},
		{"net_nonesuch0", 1, 1600, "no such virtual device"},
		{"net_null0,nonesuch=1", 1, 1600, "no such virtual device"},
		{"net_pcap0,rx_pcap=/nonexistent,tx_pcap=/dev/null", 1, 1600, "no such virtual"},
		{"net_null0", 1, 600, "too small for a tunnel"},
		{"net_null0", 0, 1600, "not a configuration"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct port_conf conf = vdev_conf("n3", rows[i].device);
		struct port_error err = {""};

		conf.is_n3 = true;
		conf.mtu = rows[i].mtu;
		CU_ASSERT_PTR_NULL(port_open(&conf, rows[i].workers, pools, &err));
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i].text));
		CU_ASSERT_EQUAL(rte_eth_dev_count_avail(), 0);
	}
}

static void test_eal_stop(void)
{
	rte_mempool_free(pools[0]);
	rte_mempool_free(pools[1]);
	eal_stop();
	eal_stop();
}

static CU_TestInfo tests[] = {
	{"eal refusals", test_eal_refusals},
	{"eal start", test_eal_start},
	{"buffers side by side", test_buffers_side_by_side},
	{"open and reopen", test_open_and_reopen},
	{"capture files", test_pcap},
	{"vlans share", test_vlans_share},
	{"refusals", test_refusals},
	{"eal stop", test_eal_stop},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("port_vdev")
