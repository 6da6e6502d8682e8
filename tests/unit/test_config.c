// config: every key's default, ends of its range, wrong types and misspellings; whole files that
// are wrong, with the place of each error; the sample file; and files mutated at random.

#include "config/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"
#include "unit.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT_MAX 16384

static struct config config;
static struct config_errors errs;

static void check(bool ok, const char *row)
{
	if (!ok) {
		printf("\n  row: %s\n", row);
		config_errors_print(&errs, stdout);
	}
	CU_ASSERT(ok);
}

static int load(const char *text)
{
	return config_load_text("t", text, strlen(text), 1024, &config, &errs);
}

static char *show(void)
{
	static char *text; // the stream keeps pointers to both
	static size_t len;
	FILE *f = open_memstream(&text, &len);

	config_show(&config, f);
	fclose(f);
	return text;
}

// A small whole configuration, as section, key, value. Rows of the tests below replace or add one.

struct setting {
	const char *section, *key, *value;
};

static const struct setting base[] = {
	{"node", "id", "192.0.2.10"},
	{"eal", "memory_mb", "1048576"}, // room for the upper ends of all ranges
	{"mode", "", "af_packet"},
	{"workers", "cpus", "[0]"},
	{"interfaces", "name", "access"},
	{"interfaces", "device", "eth1"},
	{"interfaces", "roles", "[n3, n6]"},
	{"interfaces", "addresses", "[192.0.2.10/24]"},
	{"interfaces", "rx_descriptors", "64"},
	{"interfaces", "tx_descriptors", "64"},
	{"network_instances", "name", "internet"},
	{"network_instances", "interface", "access"},
	{"predefined_rules", "name", "web"},
	{"predefined_rules", "flows", "[permit out 6 from any 80 to assigned]"},
	{"predefined_rules", "action", "forward"},
	{"predefined_rules", "network_instance", "internet"},
	{"forwarding_policies", "name", "inspection"},
	{"forwarding_policies", "network_instance", "internet"},
	{"applications", "name", "web"},
	{"applications", "flow", "permit out ip from 192.0.2.1 to assigned"},
	{"n4", "address", "192.0.2.10"},
};

static const char *const sections[] = {"node",
				       "log",
				       "eal",
				       "mode",
				       "workers",
				       "sessions",
				       "flows",
				       "interfaces",
				       "network_instances",
				       "predefined_rules",
				       "applications",
				       "forwarding_policies",
				       "n4",
				       "gtpu",
				       "icmp",
				       "reassembly",
				       "cli"};

static bool is_list(const char *section)
{
	return strcmp(section, "interfaces") == 0 || strcmp(section, "network_instances") == 0 ||
	       strcmp(section, "predefined_rules") == 0 || strcmp(section, "applications") == 0 ||
	       strcmp(section, "forwarding_policies") == 0;
}

static void add(char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(char *text, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + n, TEXT_MAX - n, fmt, args);
	va_end(args);
}

static bool same_key(const struct setting *a, const struct setting *b)
{
	return strcmp(a->section, b->section) == 0 && strcmp(a->key, b->key) == 0;
}

// The base with one setting replaced or added; a NULL value takes it away.
static void build(char *text, const struct setting *with)
{
	text[0] = '\0';
	for (size_t s = 0; s < N(sections); s++) {
		bool list = is_list(sections[s]);
		const char *comma = "";

		if (strcmp(sections[s], "mode") == 0) {
			add(text, "mode: %s\n",
			    strcmp(with->section, "mode") ? base[2].value : with->value);
			continue;
		}
		add(text, "%s: %s{", sections[s], list ? "[" : "");
		for (size_t i = 0; i < N(base); i++) {
			if (strcmp(base[i].section, sections[s]) != 0 || same_key(&base[i], with))
				continue;
			add(text, "%s%s: %s", comma, base[i].key, base[i].value);
			comma = ", ";
		}
		if (strcmp(with->section, sections[s]) == 0 && with->value)
			add(text, "%s%s: %s", comma, with->key, with->value);
		add(text, "}%s\n", list ? "]" : "");
	}
}

static int load_with(const char *section, const char *key, const char *value)
{
	struct setting with = {section, key, value};
	static char text[TEXT_MAX];

	build(text, &with);
	return load(text);
}

// Whether there is exactly one error, and it is this key's.
static bool only_error(const char *section, const char *key, const char *message)
{
	char want[400];

	snprintf(want, sizeof(want), ": %s%s%s%s: %s", section, is_list(section) ? "[0]" : "",
		 *key ? "." : "", key, message);
	return errs.total == 1 && strstr(errs.list[0].text, want);
}

// What `show` says of a key, to the end of its line; "" when it says nothing.
static const char *shown(const char *section, const char *key)
{
	static char value[400];
	char *text = show(), *at, want[64];

	value[0] = '\0';
	snprintf(want, sizeof(want), "\n%s:", section);
	at = strncmp(text, want + 1, strlen(want + 1)) == 0 ? text : strstr(text, want);
	if (at && *key) {
		snprintf(want, sizeof(want), " %s: ", key);
		at = strstr(at, want);
	}
	if (at)
		sscanf(at + strlen(want), " %399[^\n]", value);
	free(text);
	return value;
}

static bool shows(const char *section, const char *key, const char *value)
{
	return strcmp(shown(section, key), value) == 0;
}

static void test_base(void)
{
	CU_ASSERT_EQUAL(load_with("log", "level", "info"), 0);
	CU_ASSERT_EQUAL(errs.total, 0);
	CU_ASSERT_STRING_EQUAL(config.node.id, "192.0.2.10");
	CU_ASSERT_EQUAL(config.node.id_addr.family, ADDR_V4);
	CU_ASSERT_EQUAL(config.mode, CONFIG_MODE_AF_PACKET);
	CU_ASSERT_EQUAL(config.n_ifaces, 1);
	CU_ASSERT_EQUAL(config.ifaces[0].mode, CONFIG_MODE_AF_PACKET);
	CU_ASSERT_EQUAL(config.ifaces[0].roles, CONFIG_ROLE_N3 | CONFIG_ROLE_N6);
	CU_ASSERT_EQUAL(config.ifaces[0].n_addresses, 1);
	CU_ASSERT_EQUAL(config.ifaces[0].addresses[0].len, 24);
	CU_ASSERT_EQUAL(config.ifaces[0].gateway.family, ADDR_NONE);
	CU_ASSERT_EQUAL(config.n_nis, 1);
	CU_ASSERT_EQUAL(config.nis[0].iface, 0);
	CU_ASSERT_EQUAL(config.nis[0].n_pools, 0);
	CU_ASSERT_EQUAL(config.workers.n_cpus, 1);
	CU_ASSERT_EQUAL(config.n4.n_peers, 0);
	CU_ASSERT_TRUE(config.gtpu.error_indication);
}

static const struct {
	const char *section, *key;
	long long def, min, max;
	bool pow2;
} ints[] = {
	{"eal", "memory_mb", 512, 64, 1048576, false},
	{"eal", "main_cpu", -1, -1, 1023, false},
	{"workers", "burst", 32, 8, 64, false},
	{"sessions", "max", 65536, 64, 16000000, false},
	{"sessions", "tunnels", 65536, 0, 16000000, false},
	{"sessions", "hashed", 65536, 1, 16000000, false},
	{"sessions", "pdrs", 256, 1, 256, false},
	{"sessions", "filters", 16, 1, 16, false},
	{"sessions", "peers", 4096, 16, 65535, false},
	{"sessions", "routes", 8192, 0, 1000000, false},
	{"sessions", "reuse_s", 60, 0, 86400, false},
	{"sessions", "handoff_ring", 1024, 64, 65536, true},
	{"sessions", "hold_packets", 32, 0, 1024, false},
	{"sessions", "rate_burst_us", 200000, 0, 10000000, false},
	{"sessions", "mbufs", 16384, 1024, 16777216, false},
	{"sessions", "buffer_packets", 64, 0, 65535, false},
	{"sessions", "buffer_bytes", 131072, 0, 1073741824, false},
	{"sessions", "buffer_ms", 30000, 100, 3600000, false},
	{"sessions", "buffer_all_packets", 4096, 0, 1048576, false},
	{"sessions", "buffer_all_bytes", 4194304, 0, 2147483647, false},
	{"flows", "max", 65536, 64, 16000000, false},
	{"flows", "per_session", 4096, 1, 16000000, false},
	{"flows", "margin_percent", 5, 0, 50, false},
	{"network_instances", "flows", 0, 0, 16000000, false},
	{"network_instances", "flow_rate", 0, 0, 100000000, false},
	{"network_instances", "nat_port_low", 1024, 1, 65535, false},
	{"network_instances", "nat_port_high", 65535, 1, 65535, false},
	{"network_instances", "nat_block_ports", 512, 64, 4096, true},
	{"network_instances", "nat_blocks", 4, 1, 8, false},
	{"network_instances", "embryonic_ms", 5000, 100, 86400000, false},
	{"network_instances", "established_ms", 120000, 100, 86400000, false},
	{"network_instances", "tcp_established_ms", 7440000, 100, 86400000, false},
	{"network_instances", "tcp_closing_ms", 240000, 100, 86400000, false},
	{"interfaces", "vlan", 0, 0, 4094, false},
	{"interfaces", "mtu", 1500, 576, 9600, false},
	{"interfaces", "rx_descriptors", 1024, 64, 32768, true},
	{"interfaces", "tx_descriptors", 1024, 64, 32768, true},
	{"interfaces", "busy_budget", 0, 0, 512, false},
	{"predefined_rules", "precedence", 0, 0, 65535, false},
	{"n4", "port", 8805, 1, 65535, false},
	{"n4", "t1_ms", 3000, 100, 60000, false},
	{"n4", "n1", 3, 1, 10, false},
	{"n4", "heartbeat_ms", 10000, 0, 600000, false},
	{"n4", "setup_retry_ms", 60000, 1000, 3600000, false},
	{"n4", "path_failure_ms", 60000, 0, 604800000, false},
	{"n4", "release_s", 0, 0, 3600, false},
	{"n4", "associations", 64, 1, 10000, false},
	{"n4", "associations_per_address", 16, 1, 10000, false},
	{"n4", "requests_per_peer", 1024, 16, 65536, false},
	{"n4", "reports", 65536, 16, 16777216, false},
	{"n4", "traffic_stop_s", 30, 1, 86400, false},
	{"n4", "applications", 256, 0, 4096, false},
	{"n4", "application_pfds", 64, 1, 255, false},
	{"n4", "pfd_bytes", 4194304, 4096, 1073741824, false},
	{"n4", "requests", 262144, 64, 4194304, false},
	{"n4", "answers_mb", 128, 1, 65536, false},
	{"n4", "waiting_mb", 64, 1, 65536, false},
	{"n4", "own_requests", 65536, 16, 1048576, false},
	{"log", "burst", 10, 1, 1000, false},
	{"n4", "overload_percent", 0, 0, 100, false},
	{"n4", "overload_requests", 0, 0, 10000000, false},
	{"gtpu", "echo_ms", 0, 0, 3600000, false},
	{"gtpu", "echo_t3_ms", 3000, 100, 60000, false},
	{"gtpu", "echo_n3", 3, 1, 10, false},
	{"gtpu", "error_rate", 100, 1, 1000000, false},
	{"gtpu", "error_quiet_ms", 30000, 0, 3600000, false},
	{"icmp", "error_rate", 1000, 0, 1000000, false},
	{"reassembly", "datagrams", 256, 0, 65536, false},
	{"reassembly", "per_session", 16, 1, 65536, false},
	{"reassembly", "fragments", 1024, 2, 65536, false},
	{"reassembly", "timeout_ms", 2000, 10, 60000, false},
};

static void test_ints(void)
{
	for (size_t i = 0; i < N(ints); i++) {
		const char *section = ints[i].section, *key = ints[i].key;
		char text[32], want[64];
		long long outside[2] = {ints[i].min - 1, ints[i].max + 1};
		long long inside[2] = {ints[i].min, ints[i].max};

		snprintf(text, sizeof(text), "%lld", ints[i].def);
		check(load_with(section, key, NULL) == 0 && shows(section, key, text), key);
		for (unsigned k = 0; k < 2; k++) {
			snprintf(text, sizeof(text), "%lld", inside[k]);
			check(load_with(section, key, text) == 0 && shows(section, key, text), key);

			snprintf(text, sizeof(text), "%lld", outside[k]);
			snprintf(want, sizeof(want), "%lld is not in %lld..%lld", outside[k],
				 ints[i].min, ints[i].max);
			check(load_with(section, key, text) == -EINVAL &&
				      only_error(section, key, want),
			      key);
		}
		snprintf(text, sizeof(text), "%lld", ints[i].max - 1);
		check((load_with(section, key, text) == 0) == !ints[i].pow2, key);
		check(!ints[i].pow2 || strstr(errs.list[0].text, "is not a power of two"), key);
	}
}

static void test_wrong_types(void)
{
	static const char *const words[] = {"many", "1.5", "1e3", "0x10", "010",
					    "1 2",  "+1",  "--1", "-",    "9223372036854775808"};
	char want[100];

	for (size_t i = 0; i < N(ints); i++) {
		const char *section = ints[i].section, *key = ints[i].key;

		for (size_t w = 0; w < N(words); w++) {
			snprintf(want, sizeof(want), "\"%s\" is not a whole number", words[w]);
			check(load_with(section, key, words[w]) == -EINVAL &&
				      only_error(section, key, want),
			      key);
		}
		check(load_with(section, key, "[1]") == -EINVAL &&
			      only_error(section, key, "expected a single value, found a list"),
		      key);
		check(load_with(section, key, "{a: 1}") == -EINVAL &&
			      only_error(section, key, "expected a single value, found a map"),
		      key);
		check(load_with(section, key, "") == -EINVAL &&
			      only_error(section, key, "has no value"),
		      key);
	}
}

// Values, and how they are shown; or, where shown is NULL, the error.
static const struct {
	const char *section, *key, *value, *shown, *error;
} values[] = {
	{"node", "id", "upf1.example.org", "upf1.example.org", NULL},
	{"node", "id", "\"2001:db8::1\"", "\"2001:db8::1\"", NULL},
	{"node", "id", "192.0.2.300", NULL, "is neither an address nor a domain name"},
	{"node", "id", "-upf", NULL, "is neither an address nor a domain name"},
	{"node", "id", "upf..org", NULL, "is neither an address nor a domain name"},
	{"node", "id", "0.0.0.0", NULL, "is not the address of a node"},
	{"node", "id", "\"\"", NULL, "is neither an address nor a domain name"},
	{"node", "id", "\"a\\0b\"", NULL, "has a NUL character"},
	{"node", "id", NULL, NULL, "is missing"},
	{"node", "name", NULL, "sluice", NULL},
	{"node", "name", "edge-7", "edge-7", NULL},
	{"node", "name", "edge_7", NULL, "is not a name of letters, digits, '-' and '.'"},
	{"node", "name", "\"a\\tb\"", NULL, "is not printable ASCII"},
	{"node", "name", "null", NULL, "has no value"},
	{"node", "name", "\"null\"", "\"null\"", NULL},
	{"node", "name", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL,
	 "is longer than 63 characters"},
	{"log", "level", NULL, "info", NULL},
	{"log", "level", "error", "error", NULL},
	{"log", "level", "warn", "warn", NULL},
	{"log", "level", "debug", "debug", NULL},
	{"log", "level", "dbug", NULL, "did you mean \"debug\"?"},
	{"log", "level", "loud", NULL, "\"loud\" is not one of error, warn, info, debug"},
	{"eal", "hugepages", NULL, "auto", NULL},
	{"eal", "hugepages", "on", "on", NULL},
	{"eal", "hugepages", "off", "off", NULL},
	{"eal", "hugepages", "yes", NULL, "\"yes\" is not one of off, on, auto"},
	{"eal", "file_prefix", NULL, "sluice", NULL},
	{"eal", "file_prefix", "a/b", NULL, "may have letters, digits, '_' and '-' only"},
	{"mode", "", "af_xdp", "af_xdp", NULL},
	{"mode", "", "xdp", NULL, "is not one of af_xdp, af_packet, native, vdev"},
	{"mode", "", "", NULL, "has no value"},
	{"mode", "", "native", NULL, NULL}, // the device is not a PCI address
	{"workers", "cpus", "7", "[7]", NULL},
	{"workers", "cpus", "2-5", "[2, 3, 4, 5]", NULL},
	{"workers", "cpus", "[9, 2-3]", "[9, 2, 3]", NULL},
	{"workers", "cpus", "[0-63]", NULL, NULL}, // the list is long: looked at below
	{"workers", "cpus", "[]", NULL, "must not be empty"},
	{"workers", "cpus", "", NULL, "has no value"},
	{"workers", "cpus", NULL, NULL, "is missing"},
	{"workers", "idle", NULL, "poll", NULL},
	{"workers", "idle", "sleep", "sleep", NULL},
	{"interfaces", "name", "Access", NULL, "may have a-z, 0-9, '_' and '-' only"},
	{"interfaces", "name", "abcdefghijklmnop", NULL, "is longer than 15 characters"},
	{"interfaces", "device", "eth1/2", NULL, "mode af_packet wants the name of a network"},
	{"interfaces", "device", "\"\"", NULL, "must not be empty"},
	{"interfaces", "mode", NULL, "af_packet", NULL},
	{"interfaces", "mode", "af_xdp", "af_xdp", NULL},
	{"interfaces", "mode", "native", NULL, NULL},
	{"interfaces", "roles", NULL, NULL, "is missing"},
	{"interfaces", "roles", "[]", NULL, "must not be empty"},
	{"interfaces", "addresses", NULL, NULL, "is missing"},
	{"interfaces", "gateway", NULL, "", NULL},
	{"interfaces", "gateway", "192.0.2.1", "192.0.2.1", NULL},
	{"interfaces", "gateway", "\"fe80::1\"", NULL, "is not an IPv4 address"},
	{"interfaces", "gateway", "192.0.3.1", NULL, "is in none of the interface's subnets"},
	{"interfaces", "gateway", "192.0.2.10", NULL, "is the interface's own address"},
	{"interfaces", "gateway6", "fe80::1", "\"fe80::1\"", NULL},
	{"interfaces", "gateway6", "192.0.2.1", NULL, "is not an IPv6 address"},
	{"interfaces", "gateway6", "2001:db8::1", NULL, "is in none of the interface's subnets"},
	{"interfaces", "xdp", NULL, "auto", NULL},
	{"interfaces", "xdp", "generic", "generic", NULL},
	{"interfaces", "xdp", "native", "native", NULL},
	{"interfaces", "zero_copy", NULL, "auto", NULL},
	{"interfaces", "zero_copy", "on", "on", NULL},
	{"network_instances", "name", "\"a b\"", NULL, "must be a name without spaces"},
	{"network_instances", "interface", "core", NULL, "no interface is named \"core\""},
	{"network_instances", "pools", NULL, "[]", NULL},
	{"network_instances", "pools", "", "[]", NULL},
	{"network_instances", "pools", "10.45.0.0/16", "[10.45.0.0/16]", NULL},
	{"network_instances", "pools", "[\"2001:db8::/64\"]", "[\"2001:db8::/64\"]", NULL},
	{"applications", "name", "\"\"", NULL, "must not be empty"},
	{"applications", "flow", NULL, NULL, "is missing"},
	{"applications", "flow", "deny out ip from any to any", NULL,
	 "action deny is not allowed (TS 29.212 5.4.2)"},
	{"predefined_rules", "name", NULL, NULL, "is missing"},
	{"predefined_rules", "name", "\"\"", NULL, "must not be empty"},
	{"predefined_rules", "name", "Web 2", "\"Web 2\"", NULL},
	{"predefined_rules", "flows", NULL, NULL, "is missing"},
	{"predefined_rules", "flows", "[]", NULL, "must not be empty"},
	{"predefined_rules", "flows", "permit out ip from any to assigned",
	 "[\"permit out ip from any to assigned\"]", NULL},
	{"predefined_rules", "flows",
	 "[permit out 6 from any to any, \"permit out 17 from 2001:db8::/32 53 to assigned\"]",
	 "[\"permit out 6 from any to any\", \"permit out 17 from 2001:db8::/32 53 to assigned\"]",
	 NULL},
	{"predefined_rules", "flows", "[permit out ip from any to any, permit in ip]", NULL,
	 "flows[1]: is not a flow description: direction in is not allowed"},
	{"predefined_rules", "flows",
	 "[permit out 1 from any to any, permit out 1 from any to any, permit out 1 from any to any, permit out 1 from any to any, permit out 1 from any to any, permit out 1 from any to any, permit out 1 from any to any, permit out 1 from any to any, permit out 1 from any to any]",
	 NULL, "flows[8]: more than 8"},
	{"predefined_rules", "action", "forward", "forward", NULL},
	{"predefined_rules", "action", NULL, NULL, "has no effect without action forward"},
	{"predefined_rules", "action", "drop", NULL, "has no effect without action forward"},
	{"predefined_rules", "network_instance", NULL, "\"\"", NULL},
	{"predefined_rules", "network_instance", "Internet", "Internet", NULL},
	{"predefined_rules", "network_instance", "ims", NULL,
	 "no network instance is named \"ims\""},
	{"forwarding_policies", "name", NULL, NULL, "is missing"},
	{"forwarding_policies", "name", "\"\"", NULL, "must not be empty"},
	{"forwarding_policies", "network_instance", NULL, "\"\"", NULL},
	{"forwarding_policies", "network_instance", "ims", NULL,
	 "no network instance is named \"ims\""},
	{"forwarding_policies", "next_hop", NULL, "", NULL},
	{"forwarding_policies", "next_hop", "192.0.2.7", "192.0.2.7", NULL},
	{"forwarding_policies", "next_hop", "\"fe80::1\"", NULL, "is not an IPv4 address"},
	{"forwarding_policies", "next_hop", "192.0.3.1", NULL,
	 "is in none of the interface's subnets"},
	{"forwarding_policies", "next_hop", "192.0.2.10", NULL, "is the interface's own address"},
	{"forwarding_policies", "next_hop6", "fe80::7", "\"fe80::7\"", NULL},
	{"forwarding_policies", "next_hop6", "2001:db8::7", NULL,
	 "is in none of the interface's subnets"},
	{"n4", "address", NULL, NULL, "is missing"},
	{"n4", "address", "\"::1\"", "\"::1\"", NULL},
	{"n4", "address", "192.0.2", NULL, "\"192.0.2\" is not an IP address"},
	{"n4", "address", "0.0.0.0", "0.0.0.0", NULL},
	{"n4", "address", "224.0.0.1", NULL, "is not an address of a host"},
	{"n4", "other_addresses", NULL, "[]", NULL},
	{"n4", "other_addresses", "[\"2001:db8::7\", 192.0.2.8]", "[\"2001:db8::7\", 192.0.2.8]",
	 NULL},
	{"n4", "other_addresses", "[192.0.2.8/32]", NULL, "\"192.0.2.8/32\" is not an IP address"},
	{"n4", "other_addresses", "[192.0.2.8, 192.0.2.8]", NULL, "192.0.2.8 is named twice"},
	{"n4", "other_addresses", "[0.0.0.0]", NULL, "exclude each other"},
	{"n4", "other_addresses", "[\"ff02::1\"]", NULL, "is not an address of a host"},
	{"n4", "smfs", NULL, "[]", NULL},
	{"n4", "smfs", "192.0.2.9", "[192.0.2.9]", NULL},
	{"n4", "smfs", "[smf.example.org]", NULL, "is not an IP address"},
	{"n4", "smfs", "[\"::9\"]", NULL, "no n4 address is of its family"},
	{"n4", "smfs", "[0.0.0.0]", NULL, "is not the address of a host"},
	{"n4", "peers", NULL, "[]", NULL},
	{"n4", "peers", "[192.0.2.1, 198.51.100.0/24]", "[192.0.2.1/32, 198.51.100.0/24]", NULL},
	{"n4", "on_path_failure", NULL, "keep", NULL},
	{"n4", "on_path_failure", "drop", "drop", NULL},
	{"n4", "on_path_failure", "drop_after", "drop_after", NULL},
	{"gtpu", "error_indication", NULL, "true", NULL},
	{"gtpu", "error_indication", "no", "false", NULL},
	{"gtpu", "udp6_checksum", NULL, "true", NULL},
	{"gtpu", "udp6_checksum", "no", "false", NULL},
	{"gtpu", "error_indication", "maybe", NULL, "\"maybe\" is neither true nor false"},
	{"gtpu", "error_indication", "TRUE", NULL, "\"TRUE\" is neither true nor false"},
	{"network_instances", "ue_to_ue", NULL, "direct", NULL},
	{"network_instances", "ue_to_ue", "route", "route", NULL},
	{"network_instances", "ue_to_ue", "drop", "drop", NULL},
	{"network_instances", "tcp_pick_up", NULL, "true", NULL},
	{"network_instances", "tcp_pick_up", "no", "false", NULL},
	{"network_instances", "on_unknown_protocol", NULL, "drop", NULL},
	{"network_instances", "on_unknown_protocol", "flow", "flow", NULL},
	{"network_instances", "on_icmp_error", "pass", "pass", NULL},
	{"network_instances", "on_overflow", "pass", "pass", NULL},
	{"gtpu", "fragment", NULL, "inner", NULL},
	{"gtpu", "fragment", "outer", "outer", NULL},
	{"gtpu", "error_report", NULL, "true", NULL},
	{"gtpu", "error_report", "no", "false", NULL},
	{"cli", "socket", NULL, "/run/sluice/ctl.sock", NULL},
	{"cli", "socket", "ctl.sock", NULL, "must be an absolute path"},
	{"cli", "group", NULL, "\"\"", NULL},
	{"cli", "group", "sluice", "sluice", NULL},
	{"cli", "group", "a:b", NULL, "is not the name of a group"},
};

static void test_values(void)
{
	for (size_t i = 0; i < N(values); i++) {
		const char *section = values[i].section, *key = values[i].key;
		int rc = load_with(section, key, values[i].value);
		char row[100];

		snprintf(row, sizeof(row), "%s.%s: %s", section, key,
			 values[i].value ? values[i].value : "(none)");
		if (values[i].shown) {
			check(rc == 0 && shows(section, key, values[i].shown), row);
			continue;
		}
		if (strcmp(row, "workers.cpus: [0-63]") == 0) {
			check(rc == 0 && config.workers.n_cpus == 64 &&
				      config.sessions.mbufs == 16384, // of each
			      row);
			continue;
		}
		check(rc == -EINVAL && errs.total >= 1, row);
		if (values[i].error)
			check(errs.total == 1 && strstr(errs.list[0].text, values[i].error), row);
		else
			check(strstr(errs.list[0].text, "mode native wants a PCI address"), row);
	}
}

// Each key of the table with a letter too many is unknown, and the right one is suggested.
static void misspell(const struct schema_key *keys, const char *section, unsigned *count)
{
	for (const struct schema_key *key = keys; key->name; key++) {
		char wrong[64], want[200];

		if (key->children) {
			misspell(key->children, key->name, count);
			continue;
		}
		if (*section == '\0')
			continue; // "mode" has a test of its own
		snprintf(wrong, sizeof(wrong), "%sz", key->name);
		snprintf(want, sizeof(want), "%s%s: unknown key \"%s\"; did you mean \"%s\"?",
			 section, is_list(section) ? "[0]" : "", wrong, key->name);
		check(load_with(section, wrong, "1") == -EINVAL && errs.total == 1 &&
			      strstr(errs.list[0].text, want),
		      wrong);
		(*count)++;
	}
}

static void test_misspelt(void)
{
	unsigned count = 0;

	misspell(schema_top, "", &count);
	CU_ASSERT(count >= 40);
}

// Every row has what the tools that walk it need, and every key stands in a test above.
static void test_schema(void)
{
	unsigned n_ints = 0;

	for (const struct schema_key *top = schema_top; top->name; top++) {
		unsigned n = 0;

		CU_ASSERT_PTR_NOT_NULL(top->help);
		CU_ASSERT((top->type == SCHEMA_MAP || top->type == SCHEMA_LIST) ==
			  (top->children != NULL));
		for (const struct schema_key *key = top->children; key && key->name; key++, n++) {
			check(key->help && strlen(key->help) < 400, key->name);
			check(!key->required || key->sample[0], key->name);
			check(key->required || key->sample[0] || key->def || key->shown, key->name);
			check(key->type != SCHEMA_INT || key->size == 4, key->name);
			check(key->type != SCHEMA_ENUM || (key->size == 4 && key->words),
			      key->name);
			n_ints += key->type == SCHEMA_INT;
		}
		CU_ASSERT(n < 32); // a bit each while a map is read
	}
	CU_ASSERT_EQUAL(n_ints, N(ints));
}

static CU_TestInfo tests[] = {
	{"a small configuration", test_base},
	{"numbers: default, ends, outside", test_ints},
	{"numbers: wrong types", test_wrong_types},
	{"other values", test_values},
	{"misspelt keys", test_misspelt},
	{"the table itself", test_schema},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("config")
