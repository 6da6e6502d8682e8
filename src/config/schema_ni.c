// The keys of network instances and of their flows (schema.h). Constant: any thread.
//
// One row a key, as in schema.c.

#include "config/config.h"
#include "config/schema_check.h"
#include "config/schema_row.h"
#include "rules/acl.h"
#include "session/nat_pool.h"

static const char *schema_check_acl(const char *text)
{
	struct sdf sdf;
	bool allow;

	return acl_row_parse(text, &allow, &sdf);
}

static const char *const handlers[] = {
#define HANDLER(name, text) #name,
#include "service/flow_handler.def"
#undef HANDLER
	NULL};

const struct schema_key schema_ni[] = {
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
		 "leaves the choice to it. A UE has one IPv4 address, or an IPv6 prefix."},
	{.name = "ue_to_ue",
	 .type = SCHEMA_ENUM,
	 FIELD(config_ni, ue_to_ue),
	 .def = "direct",
	 WORDS("direct", "route", "drop"),
	 .help = "What its UEs send to others behind the same interface. direct: it goes to the other's "
		 "session, by the rules of both. route: it leaves by the interface, for what is there to "
		 "decide. drop: it ends."},
	{.name = "services",
	 .type = SCHEMA_FLAGS,
	 FIELD(config_ni, services),
	 WORDS("l4_lifecycle", "acl", "redirect", "tcp_check", "nat"),
	 .shown = "[tcp_check, acl, nat]",
	 .help = "What is done for the flows of its sessions, in an order of its own (show services). "
		 "l4_lifecycle: a flow lives as long as it is used. acl: none begins that the list of that name "
		 "does not allow. redirect: where an SMF redirects traffic. tcp_check: TCP connections are "
		 "followed, and what belongs to none is dropped. nat: outside, UEs have addresses of nat_pool. "
		 "Both include l4_lifecycle."},
	{.name = "acl",
	 .type = SCHEMA_TEXTS,
	 LIST(config_ni, acl, n_acl),
	 .check = schema_check_acl,
	 .shown = "[\"deny tcp from any 25 to assigned\", \"allow ip from any to assigned\"]",
	 .help = "Rows of \"allow\" or \"deny\" and a flow description (TS 29.212 5.4.2, without its \"permit "
		 "out\"), from the network's side to the UE's, for both directions. The first that matches a "
		 "packet decides; what none matches is denied. Once a packet of a flow is allowed, so is "
		 "all of the flow."},
	{.name = "nat_pool",
	 .type = SCHEMA_PREFIXES,
	 LIST(config_ni, nat_pool, n_nat_pool),
	 .need_len = true,
	 .need_network = true,
	 .shown = "203.0.113.0/28",
	 .help = "The IPv4 addresses that its UEs have outside with service nat. The network must route them "
		 "to Sluice."},
	{.name = "nat_port_low",
	 .type = SCHEMA_INT,
	 FIELD(config_ni, nat_port_low),
	 RANGE(1, 65535, "1024"),
	 .help = "The first of the ports, and echo identifiers, that are used of each address."},
	{.name = "nat_port_high",
	 .type = SCHEMA_INT,
	 FIELD(config_ni, nat_port_high),
	 RANGE(1, 65535, "65535"),
	 .help = "The last of them."},
	{.name = "nat_block_ports",
	 .type = SCHEMA_INT,
	 FIELD(config_ni, nat_block_ports),
	 RANGE(NAT_BLOCK_MIN, NAT_BLOCK_MAX, "512"),
	 .pow2 = true,
	 .help = "Ports that a UE gets at a time, of each protocol. Blocks are shared out among the workers."},
	{.name = "nat_blocks",
	 .type = SCHEMA_INT,
	 FIELD(config_ni, nat_blocks),
	 RANGE(1, NAT_BLOCKS_MAX, "4"),
	 .help = "Blocks that a UE may have at a time, all of one address. What needs more is dropped."},
	{.name = "nat_mapping",
	 .type = SCHEMA_ENUM,
	 FIELD(config_ni, nat_mapping),
	 .def = "endpoint_independent",
	 WORDS("endpoint_independent", "address_dependent"),
	 .help = "Whether a UE's port is one port outside for all that it speaks to, or another one for each "
		 "address (RFC 4787 4.1)."},
	{.name = "nat_filtering",
	 .type = SCHEMA_ENUM,
	 FIELD(config_ni, nat_filtering),
	 .def = "endpoint_independent",
	 WORDS("endpoint_independent", "address_dependent", "address_and_port_dependent"),
	 .help = "Who may send to a port that a UE has opened outside: anybody, addresses that it has sent to "
		 "from there, or addresses and ports (RFC 4787 5)."},
	{.name = "nat_log_blocks",
	 .type = SCHEMA_BOOL,
	 FIELD(config_ni, nat_log_blocks),
	 .def = "true",
	 .help = "A line of the log, of level info, for each block of ports that a UE gets, and one when it "
		 "gives it back: UE, session, address and ports outside, times. Without these nobody can tell "
		 "later whose a packet was (RFC 6888 4). Larger blocks make fewer lines."},
	{.name = "flows",
	 .type = SCHEMA_INT,
	 FIELD(config_ni, flows),
	 RANGE(0, 16000000, "0"),
	 .help = "Flows of its sessions at a time; 0: as many as there is room for."},
	{.name = "flow_rate",
	 .type = SCHEMA_INT,
	 FIELD(config_ni, flow_rate),
	 RANGE(0, 100000000, "0"),
	 .help = "Flows that its sessions begin a second; 0: any number."},
	{.name = "embryonic_ms",
	 .type = SCHEMA_INT,
	 FIELD(config_ni, embryonic_ms),
	 RANGE(100, 86400000, "5000"),
	 .help = "Milliseconds that a flow lives unused while only one side has spoken. With nat the default is "
		 "240000 (RFC 4787 and RFC 5382 REQ-5, RFC 5508 REQ-2), and what the network begins has 5000 at "
		 "most until the UE answers."},
	{.name = "established_ms",
	 .type = SCHEMA_INT,
	 FIELD(config_ni, established_ms),
	 RANGE(100, 86400000, "120000"),
	 .help = "The same once both have (RFC 4787 REQ-5 wants no less than 120000)."},
	{.name = "tcp_established_ms",
	 .type = SCHEMA_INT,
	 FIELD(config_ni, tcp_established_ms),
	 RANGE(100, 86400000, "7440000"),
	 .help = "The same of a TCP connection (RFC 5382 REQ-5 wants no less than 7440000)."},
	{.name = "tcp_closing_ms",
	 .type = SCHEMA_INT,
	 FIELD(config_ni, tcp_closing_ms),
	 RANGE(100, 86400000, "240000"),
	 .help = "The same once an end has closed or reset it, with tcp_check (RFC 5382 REQ-5 wants no less "
		 "than 240000)."},
	{.name = "tcp_pick_up",
	 .type = SCHEMA_BOOL,
	 FIELD(config_ni, tcp_pick_up),
	 .def = "true",
	 .help = "Whether tcp_check takes connections whose beginning it has not seen, as after a restart. "
		 "Otherwise their segments are dropped, also those of connections that were silent for "
		 "longer than their flow lives."},
	{.name = "on_unknown_protocol",
	 .type = SCHEMA_ENUM,
	 FIELD(config_ni, on_unknown_protocol),
	 .def = "drop",
	 .words = handlers,
	 .help = "With services, packets of protocols other than TCP, UDP, UDP-Lite, SCTP and ICMP. drop: they "
		 "end. pass: they go on, but by none of the services. flow: all of one protocol between two "
		 "hosts is a flow (and the default with redirect alone)."},
	{.name = "on_icmp_error",
	 .type = SCHEMA_ENUM,
	 FIELD(config_ni, on_icmp_error),
	 .def = "drop",
	 .words = handlers,
	 .help = "The same for ICMP errors that are about nothing a flow has sent; the others belong to it."},
	{.name = "on_overflow",
	 .type = SCHEMA_ENUM,
	 FIELD(config_ni, on_overflow),
	 .def = "drop",
	 .words = handlers,
	 .help = "The same for packets that would begin a flow where there may be no more; drop or pass."},
	{0},
};

const struct schema_key schema_flows[] = {
	{.name = "max",
	 .type = SCHEMA_INT,
	 FIELD(config_flows, max),
	 RANGE(64, 16000000, "65536"),
	 .help = "Flows of all sessions, shared evenly among the workers. They take memory only where a "
		 "network instance has services."},
	{.name = "per_session",
	 .type = SCHEMA_INT,
	 FIELD(config_flows, per_session),
	 RANGE(1, 16000000, "4096"),
	 .help = "Flows of one session. What would be one more is dropped."},
	{.name = "margin_percent",
	 .type = SCHEMA_INT,
	 FIELD(config_flows, margin_percent),
	 RANGE(0, 50, "5"),
	 .help = "Share of max that is kept free: below it flows end to make room, the oldest first of "
		 "those where only one side has spoken, then those used least recently. 0: none do, "
		 "and new ones are dropped."},
	{0},
};
