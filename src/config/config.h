// The daemon's configuration as plain values, and what loads, prints and documents it.
//
// A file becomes a struct config whole, or a list of everything that is wrong with it; there is no
// state in between. The keys, their ranges, defaults and help stand in schema.c. Control thread.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/addr.h"
#include "base/log.h"

#define CONFIG_IFACES_MAX 16
#define CONFIG_IFACE_ADDRESSES_MAX 8 // as many as the data path tells from those of UEs
#define CONFIG_NIS_MAX 64
#define CONFIG_NI_POOLS_MAX 16
#define CONFIG_ACL_MAX 64 // rows
#define CONFIG_APPLICATIONS_MAX 32
#define CONFIG_CPUS_MAX 64
#define CONFIG_N4_PEERS_MAX 64
#define CONFIG_N4_SMFS_MAX 64
#define CONFIG_N4_ADDRESSES_MAX 7 // beside n4.address
#define CONFIG_PREDEFINED_MAX 32
#define CONFIG_FLOWS_MAX 8 // of a predefined rule
#define CONFIG_POLICIES_MAX 32

// What all UE pools may hold together, but for those of more than 2^24, which need no memory: IPv4 addresses and
// IPv6 /64s, 8 bytes each.
#define CONFIG_POOL_DENSE_MAX (1u << 24)
#define CONFIG_POOL_ENTRIES_MAX (1u << 25)

enum config_mode {
	CONFIG_MODE_AF_XDP,
	CONFIG_MODE_AF_PACKET,
	CONFIG_MODE_NATIVE,
	CONFIG_MODE_VDEV,
};

enum config_tristate {
	CONFIG_OFF,
	CONFIG_ON,
	CONFIG_AUTO,
};

enum config_idle {
	CONFIG_IDLE_POLL,
	CONFIG_IDLE_SLEEP,
};

enum config_xdp {
	CONFIG_XDP_AUTO,
	CONFIG_XDP_NATIVE,
	CONFIG_XDP_GENERIC,
};

enum config_ue_to_ue {
	CONFIG_UE_TO_UE_DIRECT,
	CONFIG_UE_TO_UE_ROUTE,
	CONFIG_UE_TO_UE_DROP,
};

enum config_fragment {
	CONFIG_FRAGMENT_INNER,
	CONFIG_FRAGMENT_OUTER,
};

enum config_path_failure {
	CONFIG_PATH_FAILURE_KEEP,
	CONFIG_PATH_FAILURE_DROP,
	CONFIG_PATH_FAILURE_DROP_AFTER,
};

// Bits of config_iface.roles.
#define CONFIG_ROLE_N3 (1u << 0)
#define CONFIG_ROLE_N6 (1u << 1)
#define CONFIG_ROLE_N9 (1u << 2)

struct config_node {
	char id[254];        // the Node ID as written
	struct addr id_addr; // the same when it is an address; ADDR_NONE: id is an FQDN
	char name[64];
};

struct config_log {
	enum log_level level;
	uint32_t burst;
};

struct config_eal {
	enum config_tristate hugepages;
	uint32_t memory_mb;
	char file_prefix[32];
	int32_t main_cpu; // -1: any
};

struct config_workers {
	uint16_t cpus[CONFIG_CPUS_MAX];
	uint32_t n_cpus; // at least 1
	enum config_idle idle;
	uint32_t burst;
};

struct config_sessions {
	uint32_t max;
	uint32_t tunnels;
	uint32_t hashed;
	uint32_t pdrs;    // of a session
	uint32_t filters; // of a PDR
	uint32_t peers;
	uint32_t routes;        // framed ones, and UE prefixes that are no /64
	uint32_t reuse_s;       // a UE address or SEID rests at least
	uint32_t handoff_ring;  // a power of two
	uint32_t rate_burst_us; // of QERs
	uint32_t hold_packets;  // for a neighbour that is not resolved
	uint32_t mbufs;
	uint32_t buffer_packets; // held for one session's UE
	uint32_t buffer_bytes;
	uint32_t buffer_ms;
	uint32_t buffer_all_packets; // of a worker; 0: none are held
	uint32_t buffer_all_bytes;
};

struct config_iface {
	char name[16];
	char device[256];
	enum config_mode mode;                               // its own, or the file's
	uint32_t roles;                                      // CONFIG_ROLE_*
	struct prefix addresses[CONFIG_IFACE_ADDRESSES_MAX]; // with their host bits
	uint32_t n_addresses;
	struct addr gateway;  // ADDR_NONE: none
	struct addr gateway6; // ADDR_NONE: none
	uint32_t vlan;        // 0: untagged
	uint32_t mtu;
	uint32_t rx_descriptors;
	uint32_t tx_descriptors;
	enum config_xdp xdp;
	enum config_tristate zero_copy;
	uint32_t busy_budget;
};

// Bits of config_ni.services.
#define CONFIG_SERVICE_L4_LIFECYCLE (1u << 0)
#define CONFIG_SERVICE_ACL (1u << 1)
#define CONFIG_SERVICE_REDIRECT (1u << 2) // for those of sessions that an SMF redirects
#define CONFIG_SERVICE_TCP_CHECK (1u << 3)
#define CONFIG_SERVICE_NAT (1u << 4)

enum config_nat_mapping {
	CONFIG_NAT_MAP_ENDPOINT,
	CONFIG_NAT_MAP_ADDRESS,
};

enum config_nat_filtering {
	CONFIG_NAT_FILTER_ENDPOINT,
	CONFIG_NAT_FILTER_ADDRESS,
	CONFIG_NAT_FILTER_PORT,
};

struct config_ni {
	char name[101];
	char interface[16];
	uint32_t iface; // its index in config.ifaces
	struct prefix pools[CONFIG_NI_POOLS_MAX];
	uint32_t n_pools;
	enum config_ue_to_ue ue_to_ue;
	uint32_t services;  // for flows, CONFIG_SERVICE_*; 0: its sessions have no flows
	uint32_t flows;     // at a time; 0: as many as there are
	uint32_t flow_rate; // made a second; 0: any number
	uint32_t embryonic_ms;
	uint32_t established_ms;
	uint32_t tcp_established_ms;
	uint32_t tcp_closing_ms;
	bool tcp_pick_up;
	uint32_t on_unknown_protocol, on_icmp_error, on_overflow; // enum flow_handler
	char acl[CONFIG_ACL_MAX][160];                            // each parses (rules/acl.h)
	uint32_t n_acl;
	struct prefix nat_pool[1];
	uint32_t n_nat_pool; // 0: its UEs are not behind NAT
	uint32_t nat_port_low, nat_port_high;
	uint32_t nat_block_ports;
	uint32_t nat_blocks; // of a session
	enum config_nat_mapping nat_mapping;
	enum config_nat_filtering nat_filtering;
	bool nat_log_blocks;
};

struct config_flows {
	uint32_t max;
	uint32_t per_session;
	uint32_t margin_percent;
};

// One flow description of an application, which may have several.
struct config_application {
	char name[64];
	char flow[160];
};

enum config_action {
	CONFIG_ACTION_FAR,
	CONFIG_ACTION_DROP,
	CONFIG_ACTION_FORWARD,
};

struct config_predefined {
	char name[64];
	char flows[CONFIG_FLOWS_MAX][256]; // each parses (rules/sdf.h)
	uint32_t n_flows;
	uint32_t precedence;
	enum config_action action;
	char network_instance[101]; // "": the first
	uint32_t ni;                // its index in config.nis
};

struct config_policy {
	char name[64];
	char network_instance[101];      // "": the first
	uint32_t ni;                     // its index in config.nis
	struct addr next_hop, next_hop6; // ADDR_NONE: as that network's routes say
};

struct config_n4 {
	struct addr address;
	struct prefix other_addresses[CONFIG_N4_ADDRESSES_MAX]; // each a whole address
	uint32_t n_other_addresses;
	uint32_t port;
	struct prefix peers[CONFIG_N4_PEERS_MAX];
	uint32_t n_peers;                       // 0: anyone
	struct prefix smfs[CONFIG_N4_SMFS_MAX]; // each a whole address
	uint32_t n_smfs;
	uint32_t setup_retry_ms;
	uint32_t t1_ms;
	uint32_t n1;
	uint32_t heartbeat_ms; // 0: off
	enum config_path_failure on_path_failure;
	uint32_t path_failure_ms;
	uint32_t release_s; // 0: no graceful release
	uint32_t associations;
	uint32_t associations_per_address;
	uint32_t requests_per_peer;
	uint32_t reports; // that wait
	uint32_t traffic_stop_s;
	uint32_t applications;
	uint32_t application_pfds;
	uint32_t pfd_bytes;
	uint32_t requests;
	uint32_t answers_mb;
	uint32_t waiting_mb;
	uint32_t own_requests;
	uint32_t overload_percent;  // 0: off
	uint32_t overload_requests; // 0: off
};

struct config_gtpu {
	uint32_t echo_ms; // 0: off
	uint32_t echo_t3_ms;
	uint32_t echo_n3;
	bool error_indication;
	uint32_t error_rate; // a second and worker
	uint32_t error_quiet_ms;
	bool udp6_checksum;
	bool error_report;
	enum config_fragment fragment;
};

struct config_icmp {
	uint32_t error_rate; // a second and worker; 0: none
};

struct config_reassembly {
	uint32_t datagrams;   // of a worker, of each kind; 0: none
	uint32_t per_session; // of these
	uint32_t fragments;   // of a worker, of each kind
	uint32_t timeout_ms;
};

struct config_cli {
	char socket[108]; // what sun_path takes
	char group[33];   // "": the daemon's own
};

struct config {
	struct config_node node;
	struct config_log log;
	struct config_eal eal;
	enum config_mode mode;
	struct config_workers workers;
	struct config_sessions sessions;
	struct config_flows flows;
	struct config_iface ifaces[CONFIG_IFACES_MAX];
	uint32_t n_ifaces;                    // at least 1
	struct config_ni nis[CONFIG_NIS_MAX]; // the first is the default one
	uint32_t n_nis;
	struct config_application apps[CONFIG_APPLICATIONS_MAX];
	uint32_t n_apps;
	struct config_predefined predefined[CONFIG_PREDEFINED_MAX];
	uint32_t n_predefined;
	struct config_policy policies[CONFIG_POLICIES_MAX];
	uint32_t n_policies;
	struct config_n4 n4;
	struct config_gtpu gtpu;
	struct config_icmp icmp;
	struct config_reassembly reassembly;
	struct config_cli cli;
};

// Packet buffers of a worker for fragments that wait, beside sessions.mbufs.
static inline uint32_t config_fragment_mbufs(const struct config *config)
{
	return config->reassembly.datagrams ? 2 * config->reassembly.fragments : 0;
}

#define CONFIG_ERRORS_MAX 20
#define CONFIG_ERROR_LEN 320

struct config_error {
	uint32_t line, column;       // from 1; 0: of the file as a whole
	char text[CONFIG_ERROR_LEN]; // "file:line:column: key: message"
};

struct config_errors {
	uint32_t total; // may exceed what is kept
	uint32_t n;
	struct config_error list[CONFIG_ERRORS_MAX]; // in the file's order
};

// 0; or -EINVAL with every error of the file in errs; or what reading it failed with, also in
// errs. *ret is written on success only. Both structs are large: keep them off small stacks.
int config_load(const char *path, struct config *ret, struct config_errors *errs);

// The same for a text that `name` names in errors. n_cpus is how many CPUs there are, numbered
// from 0; 0 asks the system.
int config_load_text(const char *name, const char *text, size_t len, unsigned n_cpus,
		     struct config *ret, struct config_errors *errs);

// One line an error, and how many more there are.
void config_errors_print(const struct config_errors *errs, FILE *out);

// The commented sample with every key: config/sluice.yaml.
void config_sample_write(FILE *out);

// All keys with the values in effect, as a file that loads to the same.
void config_show(const struct config *config, FILE *out);

const char *config_mode_str(enum config_mode mode);
