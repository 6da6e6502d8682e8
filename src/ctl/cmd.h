// The handlers of all commands, a file a noun: cmd_<noun>.c. For the table in command_table.c.
//
// Control thread. Each gets a call whose arguments have been checked, and fills its reply.

#pragma once

#include "ctl/commands.h"

command_fn cmd_help;
command_fn cmd_show_version;
command_fn cmd_show_interfaces;
command_fn cmd_show_interface;
command_fn cmd_show_workers;
command_fn cmd_show_cycles;
command_fn cmd_show_sessions;
command_fn cmd_show_session;
command_fn cmd_show_drops;
command_fn cmd_show_counters;
command_fn cmd_show_neighbours;
command_fn cmd_show_peers;
command_fn cmd_show_pools;
command_fn cmd_show_associations;
command_fn cmd_show_applications;
command_fn cmd_show_pfcp_counters;
command_fn cmd_show_pfcp_resources;
command_fn cmd_show_services;
command_fn cmd_show_predefined_rules;
command_fn cmd_show_config;
command_fn cmd_show_flows;
command_fn cmd_show_nat;
command_fn cmd_show_keys;
command_fn cmd_clear_flow;
command_fn cmd_clear_flows;

// The SEID of the session that has this slot of the worker, as a value of a row; none while it ends (cmd_session.c).
void cmd_session_seid(struct call *call, unsigned worker, uint32_t slot);
// The names of the interfaces (cmd_interface.c).
void cmd_interface_offer(const struct ctl_view *view, struct strbuf *to, const char *prefix);
