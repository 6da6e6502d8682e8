// The keys of a forwarding policy (TS 29.244 8.2.23), see schema.h. Constant: any thread.
//
// That next hops are neighbours on the policy's interface is checked with the whole file (check.c).

#include "config/config.h"
#include "config/schema_row.h"

static const char *schema_check_policy_name(const char *text)
{
	return *text ? NULL : "must not be empty";
}

const struct schema_key schema_policy[] = {
	{.name = "name",
	 .type = SCHEMA_TEXT,
	 .required = true,
	 FIELD(config_policy, name),
	 .check = schema_check_policy_name,
	 .sample = {"inspection"},
	 .help = "The Forwarding Policy Identifier that SMFs write; capitals matter."},
	{.name = "network_instance",
	 .type = SCHEMA_TEXT,
	 FIELD(config_policy, network_instance),
	 .def_text = "the first",
	 .shown = "internet",
	 .help = "By whose interface and routes packets leave, whatever the FAR's network instance "
		 "is."},
	{.name = "next_hop",
	 .type = SCHEMA_ADDR,
	 FIELD(config_policy, next_hop),
	 .family = ADDR_V4,
	 .sample = {"198.51.100.7"},
	 .help = "The neighbour that all IPv4 packets go to, wherever they are addressed. Without it "
		 "they go as that network's routes say."},
	{.name = "next_hop6",
	 .type = SCHEMA_ADDR,
	 FIELD(config_policy, next_hop6),
	 .family = ADDR_V6,
	 .shown = "\"2001:db8:1::7\"",
	 .help = "The same for IPv6; it may be link-local."},
	{0},
};
