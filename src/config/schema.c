// The table of all configuration keys, see schema.h. Constant: any thread.
//
// A new key is a row here and a field in config.h; reading, defaults, the sample file and `show
// config` follow from the row.

#include "config/schema.h"

#include <ctype.h>
#include <string.h>

#include "config/config.h"

#define WORDS(...)                                                                                 \
	.words = (const char *const[])                                                             \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

_Static_assert(sizeof(struct config) < UINT16_MAX, "offsets fit");
_Static_assert(sizeof(enum config_mode) == 4 && sizeof(enum log_level) == 4, "enums are 4 bytes");

#define MODE_NAMES "af_xdp", "af_packet", "native", "vdev" // by enum config_mode
#define MODES WORDS(MODE_NAMES)
#define TRISTATE WORDS("off", "on", "auto") // by enum config_tristate

// Every byte of text is a letter, a digit or one of `others`.
static bool schema_only(const char *text, const char *others)
{
	for (; *text; text++) {
		if (!isalnum((unsigned char)*text) && strchr(others, *text) == NULL)
			return false;
	}
	return true;
}

// Labels of letters, digits and inner hyphens (RFC 1123 2.1), with dots between.
static bool schema_is_name(const char *text)
{
	size_t label = 0; // its length so far

	for (const char *c = text;; c++) {
		if (*c == '.' || *c == '\0') {
			if (label == 0 || label > 63 || c[-1] == '-')
				return false;
			if (*c == '\0')
				return true;
			label = 0;
			continue;
		}
		if (!isalnum((unsigned char)*c) && (*c != '-' || label == 0))
			return false;
		label++;
	}
}

static const char *schema_check_node_id(const char *text)
{
	struct addr addr;

	if (addr_parse(text, &addr) == 0) {
		if (addr_is_unspecified(&addr) || addr_is_multicast(&addr))
			return "is not the address of a node";
		return NULL;
	}
	// What has digits only was meant to be an address.
	if (!schema_is_name(text) || strspn(text, "0123456789.") == strlen(text))
		return "is neither an address nor a domain name";
	return NULL;
}

static const char *schema_check_name(const char *text)
{
	return schema_is_name(text) ? NULL : "is not a name of letters, digits, '-' and '.'";
}

static const char *schema_check_iface_name(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) &&
		    strchr("_-", *c) == NULL)
			return "may have a-z, 0-9, '_' and '-' only";
	}
	return *text ? NULL : "must not be empty";
}

static const char *schema_check_device(const char *text)
{
	return *text ? NULL : "must not be empty";
}

static const char *schema_check_ni_name(const char *text)
{
	return *text && strchr(text, ' ') == NULL ? NULL : "must be a name without spaces";
}

static const char *schema_check_file_prefix(const char *text)
{
	return *text && schema_only(text, "_-") ? NULL
						: "may have letters, digits, '_' and '-' only";
}

static const char *schema_check_path(const char *text)
{
	return *text == '/' && text[1] ? NULL : "must be an absolute path";
}

static const char *schema_check_group(const char *text)
{
	return schema_only(text, "_-.") ? NULL : "is not the name of a group";
}

static const struct schema_key schema_node[] = {
	{.name = "id",
	 .type = SCHEMA_TEXT,
	 .required = true,
	 FIELD(config_node, id),
	 .check = schema_check_node_id,
	 .sample = {"203.0.113.10"},
	 .help = "The Node ID that SMFs see: an address, or a domain name."},
	{.name = "name",
	 .type = SCHEMA_TEXT,
	 FIELD(config_node, name),
	 .def = "sluice",
	 .check = schema_check_name,
	 .help = "A name for people: in logs, metrics and the CLI's prompt."},
	{0},
};

static const struct schema_key schema_log[] = {
	{.name = "level",
	 .type = SCHEMA_ENUM,
	 FIELD(config_log, level),
	 .def = "info",
	 WORDS("error", "warn", "info", "debug"),
	 .help = "The least important lines to log."},
	{0},
};

static const struct schema_key schema_eal[] = {
	{.name = "hugepages",
	 .type = SCHEMA_ENUM,
	 FIELD(config_eal, hugepages),
	 .def = "auto",
	 TRISTATE,
	 .help = "Hugepages for packets and tables; auto takes them where there are any."},
	{.name = "memory_mb",
	 .type = SCHEMA_INT,
	 FIELD(config_eal, memory_mb),
	 .min = 64,
	 .max = 1048576,
	 .def = "512",
	 .help = "Memory for packets and tables, in MiB."},
	{.name = "file_prefix",
	 .type = SCHEMA_TEXT,
	 FIELD(config_eal, file_prefix),
	 .def = "sluice",
	 .check = schema_check_file_prefix,
	 .help = "Sets the files of this DPDK process apart from those of others on the host."},
	{.name = "main_cpu",
	 .type = SCHEMA_INT,
	 FIELD(config_eal, main_cpu),
	 .min = -1,
	 .max = 1023,
	 .def = "-1",
	 .help = "The CPU of the control thread; -1: any that no worker has."},
	{0},
};

static const struct schema_key schema_workers[] = {
	{.name = "cpus",
	 .type = SCHEMA_CPUS,
	 .required = true,
	 LIST(config_workers, cpus, n_cpus),
	 .sample = {"[1]"},
	 .help = "One worker on each of these CPUs: numbers, or ranges such as 2-5."},
	{.name = "idle",
	 .type = SCHEMA_ENUM,
	 FIELD(config_workers, idle),
	 .def = "poll",
	 WORDS("poll", "sleep"),
	 .help = "What a worker without packets does. With sleep it leaves the CPU to others, at "
		 "the price of some latency; not in mode native."},
	{.name = "burst",
	 .type = SCHEMA_INT,
	 FIELD(config_workers, burst),
	 .min = 8,
	 .max = 64,
	 .def = "32",
	 .help = "Packets taken from a queue at a time."},
	{0},
};

static const struct schema_key schema_sessions[] = {
	{.name = "max",
	 .type = SCHEMA_INT,
	 FIELD(config_sessions, max),
	 .min = 64,
	 .max = 16000000,
	 .def = "65536",
	 .help = "PFCP sessions."},
	{.name = "tunnels",
	 .type = SCHEMA_INT,
	 FIELD(config_sessions, tunnels),
	 .min = 0,
	 .max = 16000000,
	 .same = "max",
	 .shown = "65536",
	 .help = "Local F-TEIDs beyond one a session, of all sessions together."},
	{.name = "pdrs",
	 .type = SCHEMA_INT,
	 FIELD(config_sessions, pdrs),
	 .min = 1,
	 .max = 256,
	 .def = "256",
	 .help = "PDRs of one session."},
	{.name = "filters",
	 .type = SCHEMA_INT,
	 FIELD(config_sessions, filters),
	 .min = 1,
	 .max = 16,
	 .def = "16",
	 .help = "SDF filters of one PDR."},
	{.name = "peers",
	 .type = SCHEMA_INT,
	 FIELD(config_sessions, peers),
	 .min = 16,
	 .max = 65535,
	 .def = "4096",
	 .help = "gNBs, UPFs and next hops."},
	{.name = "handoff_ring",
	 .type = SCHEMA_INT,
	 FIELD(config_sessions, handoff_ring),
	 .min = 64,
	 .max = 65536,
	 .pow2 = true,
	 .def = "1024",
	 .help = "Packets on their way from one worker to another, for each pair of workers."},
	{.name = "hold_packets",
	 .type = SCHEMA_INT,
	 FIELD(config_sessions, hold_packets),
	 .min = 0,
	 .max = 1024,
	 .def = "32",
	 .help = "Packets held for a neighbour whose MAC address is not yet known."},
	{.name = "rate_burst_us",
	 .type = SCHEMA_INT,
	 FIELD(config_sessions, rate_burst_us),
	 .min = 0,
	 .max = 10000000,
	 .def = "10000",
	 .help = "What a QER's rate lets pass at once, as microseconds at that rate; always one packet."},
	{.name = "mbufs",
	 .type = SCHEMA_INT,
	 FIELD(config_sessions, mbufs),
	 .min = 1024,
	 .max = 16777216,
	 .def_text = "16384, or more where a worker's rings need more",
	 .shown = "16384",
	 .help = "Packet buffers of each worker."},
	{0},
};

static const struct schema_key schema_iface[] = {
	{.name = "name",
	 .type = SCHEMA_TEXT,
	 .required = true,
	 FIELD(config_iface, name),
	 .check = schema_check_iface_name,
	 .sample = {"access", "core"},
	 .help = "What this file, the CLI and metrics call it: a-z, 0-9, '_', '-', 15 at most."},
	{.name = "device",
	 .type = SCHEMA_TEXT,
	 .required = true,
	 FIELD(config_iface, device),
	 .check = schema_check_device,
	 .sample = {"eth1", "eth2"},
	 .help = "A network device; in mode native a PCI address such as \"0000:3b:00.0\"; in mode "
		 "vdev DPDK device arguments such as \"net_virtio_user0,path=/run/x.sock\"."},
	{.name = "roles",
	 .type = SCHEMA_FLAGS,
	 .required = true,
	 FIELD(config_iface, roles),
	 WORDS("n3", "n6", "n9"),
	 .sample = {"[n3]", "[n6]"},
	 .help = "What the interface is for: n3 to gNBs, n9 to other UPFs, n6 to the data network."},
	{.name = "addresses",
	 .type = SCHEMA_PREFIXES,
	 .required = true,
	 LIST(config_iface, addresses, n_addresses),
	 .need_len = true,
	 .sample = {"[192.0.2.10/24]", "[198.51.100.10/24, \"2001:db8:1::10/64\"]"},
	 .help = "Sluice's own addresses, each with the length of its subnet. An n3 interface "
		 "needs an IPv4 address."},
	{.name = "gateway",
	 .type = SCHEMA_ADDR,
	 FIELD(config_iface, gateway),
	 .family = ADDR_V4,
	 .sample = {"192.0.2.1", "198.51.100.1"},
	 .help = "The next hop for IPv4 destinations outside the subnets."},
	{.name = "gateway6",
	 .type = SCHEMA_ADDR,
	 FIELD(config_iface, gateway6),
	 .family = ADDR_V6,
	 .sample = {NULL, "\"2001:db8:1::1\""},
	 .shown = "fe80::1",
	 .help = "The same for IPv6; it may be link-local."},
	{.name = "mode",
	 .type = SCHEMA_ENUM,
	 FIELD(config_iface, mode),
	 MODES,
	 .def_text = "the file's mode",
	 .shown = "af_packet",
	 .help = "Overrides the file's mode for this interface."},
	{.name = "vlan",
	 .type = SCHEMA_INT,
	 FIELD(config_iface, vlan),
	 .min = 0,
	 .max = 4094,
	 .def = "0",
	 .help = "802.1Q VLAN; 0: untagged."},
	{.name = "mtu",
	 .type = SCHEMA_INT,
	 FIELD(config_iface, mtu),
	 .min = 576,
	 .max = 9600,
	 .def = "1500",
	 .help = "Bytes of an IP packet, a tunnel's headers included."},
	{.name = "rx_descriptors",
	 .type = SCHEMA_INT,
	 FIELD(config_iface, rx_descriptors),
	 .min = 64,
	 .max = 32768,
	 .pow2 = true,
	 .def = "1024",
	 .help = "Length of each receive queue."},
	{.name = "tx_descriptors",
	 .type = SCHEMA_INT,
	 FIELD(config_iface, tx_descriptors),
	 .min = 64,
	 .max = 32768,
	 .pow2 = true,
	 .def = "1024",
	 .help = "Length of each transmit queue."},
	{.name = "xdp",
	 .type = SCHEMA_ENUM,
	 FIELD(config_iface, xdp),
	 .def = "auto",
	 WORDS("auto", "native", "generic"),
	 .help = "Mode af_xdp: in the driver (native), in the kernel's stack (generic, slower), or "
		 "the first that works."},
	{.name = "zero_copy",
	 .type = SCHEMA_ENUM,
	 FIELD(config_iface, zero_copy),
	 .def = "auto",
	 TRISTATE,
	 .help = "Mode af_xdp: packets without a copy; on refuses to start without."},
	{.name = "busy_budget",
	 .type = SCHEMA_INT,
	 FIELD(config_iface, busy_budget),
	 .min = 0,
	 .max = 512,
	 .def = "0",
	 .help = "Mode af_xdp: packets the kernel handles when a worker polls; 0: no busy polling."},
	{0},
};

static const struct schema_key schema_ni[] = {
	{.name = "name",
	 .type = SCHEMA_TEXT,
	 .required = true,
	 FIELD(config_ni, name),
	 .check = schema_check_ni_name,
	 .sample = {"internet"},
	 .help = "The Network Instance (DNN) as SMFs write it; capitals do not matter."},
	{.name = "interface",
	 .type = SCHEMA_TEXT,
	 .required = true,
	 FIELD(config_ni, interface),
	 .check = schema_check_iface_name,
	 .sample = {"core"},
	 .help = "The interface, of role n6, that leads to this network."},
	{.name = "pools",
	 .type = SCHEMA_PREFIXES,
	 LIST(config_ni, pools, n_pools),
	 .need_len = true,
	 .need_network = true,
	 .sample = {"[10.45.0.0/16, \"2001:db8:cafe::/48\"]"},
	 .help = "Ranges of UE addresses: found fastest, and what Sluice gives out where an SMF "
		 "leaves the choice to it. A UE has one IPv4 address, or an IPv6 /64."},
	{0},
};

static const struct schema_key schema_n4[] = {
	{.name = "address",
	 .type = SCHEMA_ADDR,
	 .required = true,
	 FIELD(config_n4, address),
	 .sample = {"203.0.113.10"},
	 .help = "The address that SMFs reach, of this host's kernel."},
	{.name = "port",
	 .type = SCHEMA_INT,
	 FIELD(config_n4, port),
	 .min = 1,
	 .max = 65535,
	 .def = "8805",
	 .help = "The UDP port."},
	{.name = "peers",
	 .type = SCHEMA_PREFIXES,
	 LIST(config_n4, peers, n_peers),
	 .need_network = true,
	 .shown = "[]",
	 .help = "The only SMFs to talk to, addresses or prefixes. Empty: anyone."},
	{.name = "t1_ms",
	 .type = SCHEMA_INT,
	 FIELD(config_n4, t1_ms),
	 .min = 100,
	 .max = 60000,
	 .def = "3000",
	 .help = "Milliseconds until a request without an answer is sent again (T1)."},
	{.name = "n1",
	 .type = SCHEMA_INT,
	 FIELD(config_n4, n1),
	 .min = 1,
	 .max = 10,
	 .def = "3",
	 .help = "How often a request is sent before it has failed (N1)."},
	{.name = "heartbeat_ms",
	 .type = SCHEMA_INT,
	 FIELD(config_n4, heartbeat_ms),
	 .min = 0,
	 .max = 600000,
	 .def = "10000",
	 .help = "Milliseconds between heartbeats; 0: send none."},
	{.name = "on_path_failure",
	 .type = SCHEMA_ENUM,
	 FIELD(config_n4, on_path_failure),
	 .def = "keep",
	 WORDS("keep", "drop"),
	 .help = "What becomes of the sessions of an SMF that does not answer heartbeats."},
	{.name = "associations",
	 .type = SCHEMA_INT,
	 FIELD(config_n4, associations),
	 .min = 1,
	 .max = 10000,
	 .def = "64",
	 .help = "SMFs at a time."},
	{.name = "requests_per_peer",
	 .type = SCHEMA_INT,
	 FIELD(config_n4, requests_per_peer),
	 .min = 16,
	 .max = 65536,
	 .def = "1024",
	 .help = "Requests of one SMF whose answers are kept for when it asks again."},
	{.name = "reports",
	 .type = SCHEMA_INT,
	 FIELD(config_n4, reports),
	 .min = 16,
	 .max = 16777216,
	 .def = "65536",
	 .help = "Session reports that wait for an SMF to take them."},
	{.name = "applications",
	 .type = SCHEMA_INT,
	 FIELD(config_n4, applications),
	 .min = 0,
	 .max = 4096,
	 .def = "256",
	 .help = "Applications with PFDs (packet flow descriptions), those of this file counted."},
	{.name = "application_pfds",
	 .type = SCHEMA_INT,
	 FIELD(config_n4, application_pfds),
	 .min = 1,
	 .max = 255,
	 .def = "64",
	 .help = "Flow descriptions, URLs and domain names of one application."},
	{.name = "pfd_bytes",
	 .type = SCHEMA_INT,
	 FIELD(config_n4, pfd_bytes),
	 .min = 4096,
	 .max = 1073741824,
	 .def = "4194304",
	 .help = "Memory for all PFDs that SMFs have given."},
	{0},
};

static const struct schema_key schema_gtpu[] = {
	{.name = "echo_ms",
	 .type = SCHEMA_INT,
	 FIELD(config_gtpu, echo_ms),
	 .min = 0,
	 .max = 3600000,
	 .def = "0",
	 .help = "Milliseconds between Echo Requests to each gNB and UPF; 0: send none. TS 29.281 "
		 "7.2.1 wants no less than 60000."},
	{.name = "error_indication",
	 .type = SCHEMA_BOOL,
	 FIELD(config_gtpu, error_indication),
	 .def = "true",
	 .help = "Whether a packet for an unknown TEID is answered."},
	{0},
};

static const struct schema_key schema_cli[] = {
	{.name = "socket",
	 .type = SCHEMA_TEXT,
	 FIELD(config_cli, socket),
	 .def = "/run/sluice/ctl.sock",
	 .check = schema_check_path,
	 .help = "The unix socket that sluicectl connects to."},
	{.name = "group",
	 .type = SCHEMA_TEXT,
	 FIELD(config_cli, group),
	 .def = "",
	 .check = schema_check_group,
	 .help = "The group that may use it besides the daemon's user; empty: the daemon's own."},
	{0},
};

const struct schema_key schema_top[] = {
	{.name = "node",
	 .type = SCHEMA_MAP,
	 FIELD(config, node),
	 .children = schema_node,
	 .help = "Who this UPF is."},
	{.name = "log",
	 .type = SCHEMA_MAP,
	 FIELD(config, log),
	 .children = schema_log,
	 .help = "Logs go to stderr, or to the journal behind it."},
	{.name = "eal",
	 .type = SCHEMA_MAP,
	 FIELD(config, eal),
	 .children = schema_eal,
	 .help = "DPDK's environment."},
	{.name = "mode",
	 .type = SCHEMA_ENUM,
	 .required = true,
	 FIELD(config, mode),
	 MODES,
	 .sample = {"af_xdp"},
	 .help = "How packets enter and leave. af_xdp: fast, and the host keeps its own traffic on "
		 "the NIC. af_packet: works everywhere. native: a NIC's own DPDK driver. vdev: any "
		 "DPDK virtual device."},
	{.name = "workers",
	 .type = SCHEMA_MAP,
	 FIELD(config, workers),
	 .children = schema_workers,
	 .help = "The threads that forward."},
	{.name = "sessions",
	 .type = SCHEMA_MAP,
	 FIELD(config, sessions),
	 .children = schema_sessions,
	 .help = "How much there is room for; taken at start."},
	{.name = "interfaces",
	 .type = SCHEMA_LIST,
	 .required = true,
	 LIST(config, ifaces, n_ifaces),
	 .children = schema_iface,
	 .help = "N3, N6 and N9. Two interfaces may share a device if their VLANs differ; one "
		 "interface may have several roles."},
	{.name = "network_instances",
	 .type = SCHEMA_LIST,
	 LIST(config, nis, n_nis),
	 .children = schema_ni,
	 .help = "The data networks. The first is meant where an SMF names none."},
	{.name = "applications",
	 .type = SCHEMA_LIST,
	 LIST(config, apps, n_apps),
	 .children = schema_application,
	 .help = "Flow descriptions of applications that rules may name (Application ID). Those that an "
		 "SMF gives an application take the place of these."},
	{.name = "n4",
	 .type = SCHEMA_MAP,
	 FIELD(config, n4),
	 .children = schema_n4,
	 .help = "PFCP, towards the SMFs."},
	{.name = "gtpu",
	 .type = SCHEMA_MAP,
	 FIELD(config, gtpu),
	 .children = schema_gtpu,
	 .help = "GTP-U, towards gNBs and other UPFs."},
	{.name = "cli",
	 .type = SCHEMA_MAP,
	 FIELD(config, cli),
	 .children = schema_cli,
	 .help = "sluicectl's way in."},
	{0},
};

const char *config_mode_str(enum config_mode mode)
{
	static const char *const names[] = {MODE_NAMES};

	return names[mode];
}
