// The table of commands: names, arguments, help and handlers (commands.h).
// Control thread.

#include "ctl/cmd.h"

// The argument of commands that show pages.
#define LIMIT                                                                                      \
	{                                                                                          \
		.keyword = "limit", .name = "N", .type = COMMAND_NUMBER, .max = CTL_ROWS_MAX       \
	}

const struct command commands[] = {
	{
		.words = "help",
		.args = {{.name = "WORD", .optional = true}},
		.help = "lists the commands, or those with this word",
		.run = cmd_help,
	},
	{
		.words = "show version",
		.help = "version, process and uptime",
		.run = cmd_show_version,
	},
	{
		.words = "show interfaces",
		.help = "interfaces with their state and packets",
		.run = cmd_show_interfaces,
	},
	{
		.words = "show interface",
		.args = {{.name = "NAME", .offer = cmd_interface_offer}},
		.help = "everything about one interface",
		.run = cmd_show_interface,
	},
	{
		.words = "show workers",
		.help = "workers with their load",
		.run = cmd_show_workers,
	},
	{
		.words = "show cycles",
		.help = "where the workers' time goes, by stage and service, from samples",
		.run = cmd_show_cycles,
	},
	{
		.words = "show sessions",
		.args = {{.keyword = "from", .name = "SEID", .type = COMMAND_SEID},
			 LIMIT,
			 {.keyword = "ue", .name = "ADDRESS", .type = COMMAND_ADDR}},
		.help = "PFCP sessions, a page at a time",
		.run = cmd_show_sessions,
	},
	{
		.words = "show session",
		.args = {{.name = "SEID", .type = COMMAND_SEID}},
		.help = "rules, tunnels and traffic of a session; 0x1f, 1f or decimal 31",
		.run = cmd_show_session,
	},
	{
		.words = "show flows",
		.args = {{.keyword = "from", .name = "ID", .type = COMMAND_SEID},
			 LIMIT,
			 {.keyword = "ue", .name = "ADDRESS", .type = COMMAND_ADDR}},
		.help = "flows of all sessions or of a UE's, a page at a time",
		.run = cmd_show_flows,
	},
	{
		.words = "show nat",
		.args = {{.keyword = "from", .name = "NEXT", .type = COMMAND_SEID}, LIMIT},
		.help = "blocks of outside ports that UEs behind NAT have, and how many of them are used",
		.run = cmd_show_nat,
	},
	{
		.words = "show keys",
		.help = "kinds of keys that lead to sessions and flows, and the last one of each that led nowhere",
		.run = cmd_show_keys,
	},
	{
		.words = "show drops",
		.help = "packets dropped, by reason, of all threads",
		.run = cmd_show_drops,
	},
	{
		.words = "show counters",
		.help = "counters and drops of each thread",
		.run = cmd_show_counters,
	},
	{
		.words = "show neighbours",
		.help = "next hops and their link addresses",
		.run = cmd_show_neighbours,
	},
	{
		.words = "show peers",
		.help = "gNBs and UPFs that tunnels go to, and whether they answer Echo Requests",
		.run = cmd_show_peers,
	},
	{
		.words = "show pools",
		.help = "pools of UE addresses, and what is left of them",
		.run = cmd_show_pools,
	},
	{
		.words = "show associations",
		.help = "PFCP associations",
		.run = cmd_show_associations,
	},
	{
		.words = "show applications",
		.args = {{.keyword = "from",
			  .name = "NUMBER",
			  .type = COMMAND_NUMBER,
			  .max = UINT16_MAX},
			 LIMIT},
		.help = "applications with their PFDs, a page at a time",
		.run = cmd_show_applications,
	},
	{
		.words = "show pfcp counters",
		.help = "PFCP messages by type and cause, and what went wrong",
		.run = cmd_show_pfcp_counters,
	},
	{
		.words = "show pfcp resources",
		.help = "what peers make the UPF keep: sessions, rules, tunnels, requests, answers",
		.run = cmd_show_pfcp_resources,
	},
	{
		.words = "show predefined-rules",
		.help = "rules of the configuration that SMFs activate by name",
		.run = cmd_show_predefined_rules,
	},
	{
		.words = "show services",
		.help = "services in the order of a packet's way",
		.run = cmd_show_services,
	},
	{
		.words = "show config",
		.help = "the configuration in effect, with all its defaults",
		.run = cmd_show_config,
	},
	{
		.words = "clear flow",
		.args = {{.name = "ID", .type = COMMAND_SEID}},
		.help = "ends one flow",
		.run = cmd_clear_flow,
	},
	{
		.words = "clear flows",
		.args = {{.keyword = "ue", .name = "ADDRESS", .type = COMMAND_ADDR}},
		.help = "ends the flows of a UE's session, or of all",
		.run = cmd_clear_flows,
	},
	{0},
};
