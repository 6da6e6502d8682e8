// config: whole files. What is wrong with them, where; the sample in the tree; random mutations.
// Every error is compared to the letter, with its line and column.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "unit.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define CPUS 4
#define MUTATIONS 4000

static struct config config;
static struct config_errors errs;

static int load(const char *text, size_t len)
{
	return config_load_text("t", text, len, CPUS, &config, &errs);
}

static char *show(const struct config *c)
{
	static char *text; // the stream keeps pointers to both
	static size_t len;
	FILE *f = open_memstream(&text, &len);

	config_show(c, f);
	fclose(f);
	return text;
}

static char *sample(size_t *ret_len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_len);

	config_sample_write(f);
	fclose(f);
	return text;
}

// The lines of a good file; a bad one replaces some of them.
#define NODE "node: {id: 192.0.2.10}\n"  // line 1
#define MODE "mode: af_xdp\n"            // line 2
#define WORKERS "workers: {cpus: [1]}\n" // line 3
#define N4 "n4: {address: 192.0.2.10}\n" // line 4
#define TOP NODE MODE WORKERS N4
#define ACCESS                                                                                     \
	"interfaces:\n"                    /* line 5 */                                            \
	"  - name: access\n"               /* line 6 */                                            \
	"    device: eth1\n"               /* line 7 */                                            \
	"    roles: [n3]\n"                /* line 8 */                                            \
	"    addresses: [192.0.2.10/24]\n" // line 9
#define CORE                                                                                       \
	"  - name: core\n"                    /* line 10 */                                        \
	"    device: eth2\n"                  /* line 11 */                                        \
	"    roles: [n6]\n"                   /* line 12 */                                        \
	"    addresses: [198.51.100.10/24]\n" // line 13
#define NI                                                                                         \
	"network_instances:\n"  /* line 14 */                                                      \
	"  - name: internet\n"  /* line 15 */                                                      \
	"    interface: core\n" // line 16

static const struct {
	const char *text;
	const char *errors[6]; // all of them, in order
} files[] = {
	{TOP ACCESS CORE NI, {NULL}},
	{"",
	 {"t:1:1: node.id: is missing", "t:1:1: mode: is missing",
	  "t:1:1: workers.cpus: is missing", "t:1:1: interfaces: is missing",
	  "t:1:1: n4.address: is missing"}},
	{"# nothing\n---\n",
	 {"t:3:1: node.id: is missing", "t:3:1: mode: is missing",
	  "t:3:1: workers.cpus: is missing", "t:3:1: interfaces: is missing",
	  "t:3:1: n4.address: is missing"}},
	{"hello\n", {"t:1:1: expected keys with values"}},
	{NODE MODE WORKERS
	 "n4: {address: 192.0.2.10, peers: [192.0.2.0/24], smfs: [192.0.2.4]}\n" ACCESS CORE NI,
	 {NULL}},
	{NODE MODE WORKERS
	 "n4: {address: 192.0.2.10, peers: [192.0.2.0/24], smfs: [192.0.3.4]}\n" ACCESS CORE NI,
	 {"t:4:57: n4.smfs[0]: is not among n4.peers"}},
	{NODE MODE WORKERS
	 "n4: {address: 192.0.2.10, smfs: [192.0.2.4, 192.0.2.5], associations: 1}\n" ACCESS CORE
		 NI,
	 {"t:4:71: n4.associations: 1 is too few for the 2 SMFs of n4.smfs"}},
	{"- a\n", {"t:1:1: expected keys with values"}},
	{TOP "x: [\n",
	 {"t:6:1: not YAML: did not find expected node content, "
	  "while parsing a flow node"}},
	{TOP "\tx: 1\n",
	 {"t:5:1: not YAML: found character that cannot start any token, "
	  "while scanning for the next token"}},
	{TOP "x: \x01\n", {"t:5:4: not YAML: control characters are not allowed"}},
	{TOP "x: \xff\n", {"t:5:4: not YAML: invalid leading UTF-8 octet"}},
	{TOP "x: *nobody\n", {"t:5:4: not YAML: found undefined alias"}},
	{TOP ACCESS CORE NI "---\nnode: {}\n", {"t:18:1: a second document; only one is read"}},
	{TOP ACCESS CORE NI "nodes: {}\n",
	 {"t:17:1: unknown key \"nodes\"; did you mean "
	  "\"node\"?"}},
	{TOP ACCESS CORE NI "zebra: {}\n", {"t:17:1: unknown key \"zebra\""}},
	{TOP ACCESS CORE NI "[a]: 1\n", {"t:17:1: expected a single value, found a list"}},
	{TOP ACCESS CORE NI "mode: vdev\n", {"t:17:1: mode: stands here for the second time"}},
	{TOP ACCESS CORE NI "gtpu: {echo_ms: 0, echo_ms: 1}\n",
	 {"t:17:20: gtpu.echo_ms: stands here for the second time"}},
	{TOP ACCESS CORE NI "gtpu: 7\n", {"t:17:7: gtpu: expected keys with values"}},
	{TOP ACCESS CORE NI "gtpu:\ncli: ~\n", {NULL}},
	{TOP "interfaces: []\n", {"t:5:13: interfaces: must not be empty"}},
	{TOP "interfaces:\n", {"t:5:12: interfaces: must not be empty"}},
	{TOP "interfaces: {name: access}\n", {"t:5:13: interfaces: expected a list"}},
	{TOP "interfaces: [7]\n", {"t:5:14: interfaces[0]: expected keys with values"}},
	{TOP ACCESS "  - {}\n" NI,
	 {"t:10:5: interfaces[1].name: is missing", "t:10:5: interfaces[1].device: is missing",
	  "t:10:5: interfaces[1].roles: is missing",
	  "t:10:5: interfaces[1].addresses: is missing"}},
	// CPUs
	{NODE MODE "workers: {cpus: [1, 3-4, 1]}\n" N4 ACCESS CORE NI,
	 {"t:3:21: workers.cpus[1]: there is no CPU 4: this host has 0..3",
	  "t:3:26: workers.cpus[2]: CPU 1 is named twice"}},
	{NODE MODE "workers: {cpus: 3-5}\n" N4 ACCESS CORE NI,
	 {"t:3:17: workers.cpus: there is no CPU 4: this host has 0..3",
	  "t:3:17: workers.cpus: there is no CPU 5: this host has 0..3"}},
	{NODE MODE "workers: {cpus: [3-1, x, -1]}\n" N4 ACCESS CORE NI,
	 {"t:3:18: workers.cpus[0]: \"3-1\" is neither a CPU's number nor a range such as 2-5",
	  "t:3:23: workers.cpus[1]: \"x\" is neither a CPU's number nor a range such as 2-5",
	  "t:3:26: workers.cpus[2]: \"-1\" is neither a CPU's number nor a range such as 2-5"}},
	{NODE MODE "workers: {cpus: 0-64}\n" N4 ACCESS CORE NI,
	 {"t:3:17: workers.cpus: more than 64 CPUs"}},
	{NODE MODE "workers: {cpus: 1024}\n" N4 ACCESS CORE NI,
	 {"t:3:17: workers.cpus: CPU 1024 is not in 0..1023"}},
	{TOP ACCESS CORE NI "eal: {main_cpu: 1}\n", {"t:17:17: eal.main_cpu: CPU 1 has a worker"}},
	{TOP ACCESS CORE NI "eal: {main_cpu: 4}\n",
	 {"t:17:17: eal.main_cpu: there is no CPU 4: this host has 0..3"}},
	// Sizes
	{TOP ACCESS CORE NI "sessions: {mbufs: 4607}\n",
	 {"t:17:19: sessions.mbufs: a worker's rings of these interfaces need 4608 or more"}},
	{TOP ACCESS CORE NI "sessions: {mbufs: 4608}\n", {NULL}},
	{TOP ACCESS CORE NI "sessions: {max: 16000000}\n",
	 {"t: eal.memory_mb: 512 is too little: 1 x 22528 mbufs and 16000000 sessions need more than "
	  "2006"}},
	{TOP ACCESS CORE NI "eal: {memory_mb: 2000}\nsessions: {max: 16000000}\n",
	 {"t:17:18: eal.memory_mb: 2000 is too little: 1 x 22528 mbufs and 16000000 sessions need "
	  "more than 2006"}},
	{TOP ACCESS CORE NI "flows: {max: 16000000}\n", {NULL}},
	{TOP ACCESS CORE NI "    services: [acl]\n    acl: [allow ip from any to assigned]\n",
	 {NULL}},
	{TOP ACCESS CORE NI "    acl: [allow ip from any to assigned]\n",
	 {"t:17:11: network_instances[0].acl[0]: acl is asked only where services has acl"}},
	{TOP ACCESS CORE NI "    services: [acl]\n",
	 {"t:17:15: network_instances[0].services: service acl needs rows in acl: without any all "
	  "would be denied"}},
	{TOP ACCESS CORE NI "    services: [acl]\n    acl: [allow ip from any to assigned]\n"
			    "    on_icmp_error: pass\n",
	 {"t:19:20: network_instances[0].on_icmp_error: pass would let packets through that acl "
	  "denies"}},
	{TOP ACCESS CORE NI
	 "    services: [tcp_check]\n    on_icmp_error: pass\n    on_overflow: flow\n",
	 {"t:19:18: network_instances[0].on_overflow: no flow can be made where there may be no "
	  "more; say drop or pass"}},
	{TOP ACCESS CORE NI "    services: [acl]\n    acl: [allow all]\n",
	 {"t:18:11: network_instances[0].acl[0]: \"allow all\" too short"}},
	{TOP ACCESS CORE NI "    services: [nat]\n    nat_pool: 203.0.113.0/28\n", {NULL}},
	{TOP ACCESS CORE NI "    services: [nat]\n",
	 {"t:17:15: network_instances[0].services: service nat needs nat_pool: the addresses that UEs "
	  "have outside"}},
	{TOP ACCESS CORE NI "    services: [nat]\n    nat_pool: 203.0.113.0/28\n"
			    "    on_overflow: pass\n",
	 {"t:19:18: network_instances[0].on_overflow: pass would let packets leave with their UE's "
	  "own address"}},
	{TOP ACCESS CORE NI "    nat_pool: 203.0.113.0/28\n",
	 {"t:17:15: network_instances[0].nat_pool: nat_pool is used only where services has nat"}},
	{TOP ACCESS CORE NI "    services: [nat]\n    nat_pool: 198.51.0.0/20\n",
	 {"t:18:15: network_instances[0].nat_pool: must be an IPv4 prefix of 22 bits or more"}},
	{TOP ACCESS CORE NI "    services: [nat]\n    nat_pool: \"2001:db8::/64\"\n",
	 {"t:18:15: network_instances[0].nat_pool: must be an IPv4 prefix of 22 bits or more"}},
	{TOP ACCESS CORE NI
	 "    services: [nat]\n    nat_pool: 203.0.113.0/28\n    nat_port_high: 1500\n",
	 {"t:19:20: network_instances[0].nat_port_high: no whole block of 512 ports lies in 1024 to "
	  "1500"}},
	{TOP ACCESS CORE NI "    services: [l4_lifecycle]\nflows: {max: 16000000}\n",
	 {"t: eal.memory_mb: 512 is too little: 1 x 22528 mbufs and 65536 sessions with flows need "
	  "more than 4076"}},
	{TOP ACCESS CORE NI
	 "    services: [tcp_check]\nflows: {max: 16000000}\n", // 32 bytes a flow more
	 {"t: eal.memory_mb: 512 is too little: 1 x 22528 mbufs and 65536 sessions with flows need "
	  "more than 4565"}},
	{TOP ACCESS CORE NI
	 "    services: [nat]\n    nat_pool: 203.0.112.0/22\n" // 114 a flow, 52 a session, the pool
	 "flows: {max: 16000000}\n",
	 {"t: eal.memory_mb: 512 is too little: 1 x 22528 mbufs and 65536 sessions with flows need "
	  "more than 5876"}},
	// Interfaces
	{TOP ACCESS "  - {name: access, device: eth2, roles: n9, addresses: 10.0.0.1/24}\n",
	 {"t:10:12: interfaces[1].name: \"access\" is the name of another interface"}},
	{TOP ACCESS "  - {name: b, device: eth1, roles: n9, addresses: 10.0.0.1/24}\n",
	 {"t:10:23: interfaces[1].device: interface \"access\" has this device; two need "
	  "different VLANs"}},
	{TOP ACCESS "  - {name: b, device: eth1, vlan: 7, roles: n9, addresses: 10.0.0.1/24}\n",
	 {NULL}},
	{TOP ACCESS "  - {name: b, device: eth2, roles: n9, addresses: 192.0.2.10/25}\n",
	 {"t:10:51: interfaces[1].addresses: interface \"access\" has the address 192.0.2.10"}},
	{TOP ACCESS
	 "  - {name: b, device: eth2, roles: n9, addresses: [10.0.0.1/24, 10.0.0.1/8]}\n",
	 {"t:10:65: interfaces[1].addresses[1]: 10.0.0.1 is named twice"}},
	{TOP ACCESS "  - {name: b, device: eth2, roles: n9, addresses: [10.0.0.0/24, "
		    "10.0.0.255/24, 224.0.0.1/24, 0.0.0.0/0, 10.0.0.1]}\n",
	 {"t:10:52: interfaces[1].addresses[0]: is the network address of its subnet",
	  "t:10:65: interfaces[1].addresses[1]: is the broadcast address of its subnet",
	  "t:10:80: interfaces[1].addresses[2]: is not the address of a host",
	  "t:10:94: interfaces[1].addresses[3]: is not the address of a host",
	  "t:10:105: interfaces[1].addresses[4]: \"10.0.0.1\" needs a prefix length, such as "
	  "10.0.0.1/24"}},
	{TOP ACCESS
	 "  - {name: b, device: eth2, roles: n9, addresses: [10.0.0.0/31, 10.0.0.9/32]}\n",
	 {NULL}},
	{TOP ACCESS "  - {name: b, device: eth2, roles: n3, addresses: [\"2001:db8::1/64\"]}\n",
	 {NULL}},
	{TOP ACCESS "  - {name: b, device: eth2, roles: n3, addresses: [\"fe80::1/64\"]}\n",
	 {"t:10:52: interfaces[1].addresses[0]: an n3 interface needs an IPv4 address, or an IPv6 one "
	  "that is not link-local"}},
	{TOP ACCESS
	 "  - {name: b, device: e, roles: n9, mtu: 1279, addresses: [\"2001:db8::1/64\"]}\n",
	 {"t:10:42: interfaces[1].mtu: IPv6 needs an mtu of 1280 or more"}},
	{TOP ACCESS "  - {name: b, device: eth2, roles: [n9, n9], addresses: 10.0.0.1/24}\n",
	 {"t:10:41: interfaces[1].roles[1]: \"n9\" is named twice"}},
	{TOP ACCESS
	 "  - {name: b, device: eth2, roles: n9, mode: native, addresses: 10.0.0.1/24}\n",
	 {"t:10:23: interfaces[1].device: mode native wants a PCI address such as "
	  "\"0000:3b:00.0\""}},
	{TOP ACCESS "  - {name: b, device: eth2, roles: n9, mode: vdev, addresses: 10.0.0.1/24}\n",
	 {"t:10:23: interfaces[1].device: mode vdev wants a DPDK device such as "
	  "\"net_virtio_user0,path=...\""}},
	{TOP ACCESS "  - {name: b, device: \"3b:00.0\", roles: n9, mode: native, "
		    "addresses: 10.0.0.1/24}\n",
	 {NULL}},
	{NODE MODE
	 "workers: {cpus: [1], idle: sleep}\n" N4 ACCESS
	 "  - {name: b, device: \"0000:3b:00.0\", roles: n9, mode: native, addresses: 10.0.0.1/24}\n",
	 {"t:3:28: workers.idle: sleep is not for mode native, which interface \"b\" has"}},
	// Network instances
	{TOP ACCESS CORE,
	 {"t:12:12: interfaces[1].roles: role n6 needs a network instance that "
	  "leads there"}},
	{TOP ACCESS CORE "network_instances: [{name: a, interface: access}]\n",
	 {"t:14:42: network_instances[0].interface: interface \"access\" has not the role n6"}},
	{TOP ACCESS CORE NI "  - {name: INTERNET, interface: core}\n",
	 {"t:17:12: network_instances[1].name: \"internet\" is the name of another one"}},
	{TOP ACCESS CORE NI "    pools: [10.45.0.0/16, 10.45.9.0/24, 10.46.0.0/16]\n",
	 {"t:17:27: network_instances[0].pools[1]: overlaps pool 10.45.0.0/16 of \"internet\" on "
	  "the same interface"}},
	{TOP ACCESS CORE NI "    pools: 10.45.9.0/24\n"
			    "  - {name: ims, interface: core, pools: 10.45.0.0/16}\n",
	 {"t:18:41: network_instances[1].pools: overlaps pool 10.45.9.0/24 of \"internet\" on "
	  "the same interface"}},
	{TOP ACCESS CORE "  - {name: c2, device: e, roles: n6, addresses: 10.9.0.1/24}\n"
			 "network_instances:\n"
			 "  - {name: a, interface: core, pools: 10.45.0.0/16}\n"
			 "  - {name: b, interface: c2, pools: 10.45.0.0/16}\n",
	 {NULL}},
	{TOP ACCESS CORE NI "    pools: [10.45.0.1/16, \"2001:db8::/65\", 224.0.0.0/8]\n",
	 {"t:17:13: network_instances[0].pools[0]: \"10.45.0.1/16\" has bits beyond its length; "
	  "did you mean 10.45.0.0/16?",
	  "t:17:27: network_instances[0].pools[1]: a UE has a /64: an IPv6 pool is no longer than "
	  "that",
	  "t:17:44: network_instances[0].pools[2]: are no addresses for UEs"}},
	{TOP ACCESS CORE NI "    pools: 198.51.100.0/24\n",
	 {"t:17:12: network_instances[0].pools: holds the address 198.51.100.10 of interface "
	  "\"core\""}},
	{TOP ACCESS CORE NI "    pools: [10.0.0.0/8, \"2001:db8::/40\"]\n", {NULL}},
	{TOP ACCESS CORE NI "    pools: [10.0.0.0/8, \"2001:db8::/32\", 11.0.0.0/8]\n", {NULL}},
	{TOP ACCESS CORE NI "    pools: [10.0.0.0/8, 11.0.0.0/8, 12.0.0.0/8, 16.0.0.0/6]\n",
	 {"t:17:37: network_instances[0].pools[2]: all pools together have more than 33554432 "
	  "addresses and /64s"}},
	{TOP ACCESS CORE NI "    pools: \"::/0\"\n",
	 {"t:17:12: network_instances[0].pools: is everything: no pool"}},
	// One fault, one error: what hangs on it is not blamed.
	{TOP ACCESS "  - {name: CORE, device: eth2, roles: n6, addresses: 10.0.0.1/24}\n"
		    "network_instances: [{name: a, interface: core}]\n",
	 {"t:10:12: interfaces[1].name: \"CORE\" may have a-z, 0-9, '_' and '-' only"}},
	{NODE "mode: nativ\n" WORKERS N4 ACCESS CORE NI,
	 {"t:2:7: mode: \"nativ\" is not one of af_xdp, af_packet, native, vdev; did you mean "
	  "\"native\"?"}},
	{NODE MODE "workers: {cpus: []}\n" N4 ACCESS CORE NI "sessions: {mbufs: 4608}\n",
	 {"t:3:17: workers.cpus: must not be empty"}},
};

static void test_files(void)
{
	for (size_t i = 0; i < N(files); i++) {
		size_t n = 0;
		int rc = load(files[i].text, strlen(files[i].text));
		bool ok;

		while (n < N(files[i].errors) && files[i].errors[n])
			n++;
		ok = rc == (n ? -EINVAL : 0) && errs.total == n && errs.n == n;
		for (size_t k = 0; k < n && ok; k++)
			ok = strcmp(errs.list[k].text, files[i].errors[k]) == 0;
		if (!ok) {
			printf("\n--- row %zu gave %u errors:\n", i, errs.total);
			config_errors_print(&errs, stdout);
			printf("--- of:\n%s", files[i].text);
		}
		CU_ASSERT(ok);
	}
}

static void test_many_errors(void)
{
	char text[4096] = "node: {}\n", *printed, *more;
	size_t len;
	FILE *f;

	for (unsigned i = 0; i < 50; i++)
		snprintf(text + strlen(text), 32, "unknown%u: 1\n", i);
	CU_ASSERT_EQUAL(load(text, strlen(text)), -EINVAL);
	CU_ASSERT_EQUAL(errs.n, CONFIG_ERRORS_MAX);
	CU_ASSERT_EQUAL(errs.total, 55);
	for (uint32_t i = 1; i < errs.n; i++)
		CU_ASSERT(errs.list[i - 1].line <= errs.list[i].line);

	f = open_memstream(&printed, &len);
	config_errors_print(&errs, f);
	fclose(f);
	more = strstr(printed, "\nand 35 more\n");
	CU_ASSERT_PTR_NOT_NULL(more);
	free(printed);
}

// Lists that are too long, of values and of maps.
static void test_long_lists(void)
{
	static char text[65536];
	struct {
		const char *head, *item, *tail, *error;
		unsigned max;
	} rows[] = {
		{TOP "interfaces: [{name: a, device: b, roles: n6, addresses: [", "10.0.%u.1/24",
		 "]}]\nnetwork_instances: [{name: n, interface: a}]\n",
		 "interfaces[0].addresses[8]: more than 8", CONFIG_IFACE_ADDRESSES_MAX},
		{TOP "interfaces: [",
		 "{name: i%u, device: d%u, roles: n9, addresses: 10.0.%u.1/24}", "]\n",
		 "interfaces[16]: more than 16", CONFIG_IFACES_MAX},
		{TOP ACCESS CORE NI "    pools: [", "10.%u.0.0/16", "]\n",
		 "network_instances[0].pools[16]: more than 16", CONFIG_NI_POOLS_MAX},
		{TOP ACCESS CORE "network_instances: [", "{name: n%u, interface: core}", "]\n",
		 "network_instances[64]: more than 64", CONFIG_NIS_MAX},
		{NODE MODE WORKERS ACCESS CORE NI "n4:\n  address: 192.0.2.10\n  peers: [",
		 "192.0.3.%u", "]\n", "n4.peers[64]: more than 64", CONFIG_N4_PEERS_MAX},
	};

	for (size_t i = 0; i < N(rows); i++) {
		for (unsigned extra = 0; extra < 2; extra++) {
			size_t n = (size_t)snprintf(text, sizeof(text), "%s", rows[i].head);

			for (unsigned k = 0; k < rows[i].max + extra; k++) {
				if (k)
					n += (size_t)sprintf(text + n, ", ");
				for (const char *c = rows[i].item; *c; c++) {
					if (strncmp(c, "%u", 2) == 0)
						n += (size_t)sprintf(text + n, "%u", k), c++;
					else
						text[n++] = *c;
				}
			}
			strcpy(text + n, rows[i].tail);
			CU_ASSERT_EQUAL(load(text, strlen(text)), extra ? -EINVAL : 0);
			CU_ASSERT_EQUAL(errs.total, extra);
			CU_ASSERT(!extra || strstr(errs.list[0].text, rows[i].error));
			if (!extra)
				config_errors_print(&errs, stdout);
		}
	}
}

// Behind NAT flows that only the UE speaks in have the time that mappings must have, unless it is said.
static void test_nat_time(void)
{
	static const char text[] = TOP ACCESS CORE
		"network_instances:\n"
		"  - {name: a, interface: core, services: [nat], nat_pool: 203.0.113.0/28}\n"
		"  - {name: b, interface: core, services: [nat], nat_pool: 203.0.113.16/28,\n"
		"     embryonic_ms: 7000}\n"
		"  - {name: c, interface: core, services: [l4_lifecycle]}\n";

	CU_ASSERT_EQUAL(load(text, strlen(text)), 0);
	config_errors_print(&errs, stdout);
	CU_ASSERT_EQUAL(config.nis[0].embryonic_ms, 240000);
	CU_ASSERT_EQUAL(config.nis[1].embryonic_ms, 7000);
	CU_ASSERT_EQUAL(config.nis[2].embryonic_ms, 5000);
}

static void test_sample(void)
{
	size_t len;
	char *text = sample(&len);

	CU_ASSERT_EQUAL(load(text, len), 0);
	config_errors_print(&errs, stdout);
	CU_ASSERT_STRING_EQUAL(config.ifaces[1].name, "core");
	CU_ASSERT_EQUAL(config.nis[0].iface, 1);
	CU_ASSERT_EQUAL(config.nis[0].n_pools, 2);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		CU_ASSERT(strlen(line) <= 100);
	free(text);
}

// Behind "#" stands what may be said: with every "#key" made "key", the sample still loads.
static void test_sample_uncommented(void)
{
	size_t len, n = 0;
	char *text = sample(&len), *all = malloc(len + 1);
	unsigned keys = 0;

	CU_ASSERT_FATAL(all != NULL);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '#' && text[i + 1] >= 'a' && text[i + 1] <= 'z')
			keys++;
		else
			all[n++] = text[i];
	}
	CU_ASSERT(keys > 30);
	CU_ASSERT_EQUAL(load(all, n), 0);
	config_errors_print(&errs, stdout);
	free(all);
	free(text);
}

// When a key changes: sluiced --sample >config/sluice.yaml
static void test_sample_in_tree(void)
{
	const char *golden = getenv("TEST_GOLDEN");
	char path[4096], *text, *stored;
	size_t len, n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/../../config/sluice.yaml", golden ? golden : ".");
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	text = sample(&len);
	stored = calloc(1, len + 2);
	CU_ASSERT_FATAL(stored != NULL);
	n = fread(stored, 1, len + 1, f);
	CU_ASSERT(n == len && memcmp(stored, text, len) == 0);
	fclose(f);
	free(stored);
	free(text);
}

static void test_show_loads_again(void)
{
	size_t len;
	char *text = sample(&len), *first, *second;

	CU_ASSERT_EQUAL_FATAL(load(text, len), 0);
	first = show(&config);
	CU_ASSERT_EQUAL_FATAL(load(first, strlen(first)), 0);
	second = show(&config);
	CU_ASSERT_STRING_EQUAL(first, second);
	free(second);
	free(first);
	free(text);
}

static void test_untouched_on_error(void)
{
	static struct config before;

	memset(&config, 0x5a, sizeof(config));
	before = config;
	CU_ASSERT_EQUAL(load("mode: x\n", 8), -EINVAL);
	CU_ASSERT_EQUAL(memcmp(&config, &before, sizeof(config)), 0);
}

static void test_from_disk(void)
{
	char path[] = "/tmp/test_config_XXXXXX", want[160];
	int fd = mkstemp(path);
	char *big = calloc(1, (1 << 20) + 1);
	ssize_t n;

	CU_ASSERT_FATAL(fd >= 0 && big != NULL);
	n = write(fd, "mode: q\n", 8);
	CU_ASSERT_EQUAL(n, 8);
	CU_ASSERT_EQUAL(config_load(path, &config, &errs), -EINVAL);
	CU_ASSERT_EQUAL(errs.total, 5);
	snprintf(want, sizeof(want), "%s:1:7: mode: \"q\" is not one of", path);
	CU_ASSERT_PTR_NOT_NULL(strstr(errs.list[4].text, want));

	memset(big, '#', (1 << 20) + 1);
	n = pwrite(fd, big, (1 << 20) + 1, 0);
	CU_ASSERT_EQUAL(n, (1 << 20) + 1);
	CU_ASSERT_EQUAL(config_load(path, &config, &errs), -EINVAL);
	snprintf(want, sizeof(want), "%s: larger than 1048576 bytes", path);
	CU_ASSERT_STRING_EQUAL(errs.list[0].text, want);
	free(big);
	close(fd);

	unlink(path);
	CU_ASSERT_EQUAL(config_load(path, &config, &errs), -ENOENT);
	snprintf(want, sizeof(want), "%s: cannot be read: No such file or directory", path);
	CU_ASSERT_STRING_EQUAL(errs.list[0].text, want);
	CU_ASSERT_EQUAL(config_load("/", &config, &errs), -EISDIR);
	CU_ASSERT_EQUAL(errs.total, 1);
}

static uint32_t seed = 12345;

static uint32_t chance(size_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((seed >> 8) % (n ? n : 1));
}

// Changes a text of len bytes in place, with room for size; gives its new length.
static size_t mutate(char *text, size_t len, size_t size)
{
	static const char *const tokens[] = {"[",           "]",   "{",    "}",         ": ",
					     "- ",          "#",   "\n",   "\"",        "~",
					     "&a ",         "*a",  "!!x ", "---\n",     "-1",
					     "99999999999", "\t",  "\xff", "0.0.0.0/0", "::/0",
					     ",",           "|\n", "? "};
	size_t at = chance(len), n = chance(40);
	const char *token = tokens[chance(N(tokens))];

	switch (chance(4)) {
	case 0:
		text[at] = (char)chance(256);
		return len;
	case 1: // take some out
		n = n < len - at ? n : len - at;
		memmove(text + at, text + at + n, len - at - n);
		return len - n;
	case 2: // put a token in
		n = strlen(token);
		if (len + n > size)
			return len;
		memmove(text + at + n, text + at, len - at);
		memcpy(text + at, token, n);
		return len + n;
	default: // say some twice
		n = n < len - at ? n : len - at;
		if (len + n > size)
			return len;
		memmove(text + at + n, text + at, len - at);
		return len + n;
	}
}

// No file breaks the loader; what it takes can be shown and taken again; what it does not has a
// reason. Comments are left out, so that most changes hit something.
static void test_mutations(void)
{
	size_t len, size = 8192, good = 0, bad = 0;
	char *text = sample(&len), *file = malloc(size), *shown, *again;
	char *keys;

	CU_ASSERT_EQUAL_FATAL(load(text, len), 0);
	keys = show(&config);
	CU_ASSERT_FATAL(file != NULL && strlen(keys) < size);
	for (unsigned i = 0; i < MUTATIONS; i++) {
		size_t n = strlen(keys);

		memcpy(file, keys, n);
		for (unsigned k = 1 + chance(4); k > 0 && n > 0; k--)
			n = mutate(file, n, size);
		if (load(file, n) < 0) {
			bad++;
			CU_ASSERT_FATAL(errs.n > 0 && errs.total >= errs.n && *errs.list[0].text);
			continue;
		}
		good++;
		CU_ASSERT_FATAL(errs.total == 0);
		shown = show(&config);
		CU_ASSERT_EQUAL_FATAL(load(shown, strlen(shown)), 0);
		again = show(&config);
		CU_ASSERT_FATAL(strcmp(shown, again) == 0);
		free(again);
		free(shown);
	}
	CU_ASSERT(good > 20 && bad > 20);
	free(keys);
	free(file);
	free(text);
}

static CU_TestInfo tests[] = {
	{"files and their errors", test_files},
	{"more errors than are kept", test_many_errors},
	{"lists that are too long", test_long_lists},
	{"times with NAT", test_nat_time},
	{"the sample loads", test_sample},
	{"the sample with all keys", test_sample_uncommented},
	{"the sample in the tree", test_sample_in_tree},
	{"show loads again", test_show_loads_again},
	{"an error leaves no trace", test_untouched_on_error},
	{"from disk", test_from_disk},
	{"random mutations", test_mutations},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("config_file")
