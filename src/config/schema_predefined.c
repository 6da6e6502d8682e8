// The keys of a predefined rule, see schema.h. Constant: any thread.
//
// What a rule can say is what is done with it (rules/expand.h); there is no key without effect.

#include "config/config.h"
#include "config/schema_row.h"

static const char *schema_check_rule_name(const char *text)
{
	return *text ? NULL : "must not be empty";
}

const struct schema_key schema_predefined[] = {
	{.name = "name",
	 .type = SCHEMA_TEXT,
	 .required = true,
	 FIELD(config_predefined, name),
	 .check = schema_check_rule_name,
	 .sample = {"web"},
	 .help = "What SMFs call it; capitals matter."},
	{.name = "flows",
	 .type = SCHEMA_TEXTS,
	 .required = true,
	 LIST(config_predefined, flows, n_flows),
	 .sample = {"[\"permit out tcp from any 80,443 to assigned\"]"},
	 .help = "Flow descriptions (TS 29.212 5.4.2) of its packets, any of them. The network's "
		 "side comes first, for both directions."},
	{.name = "precedence",
	 .type = SCHEMA_INT,
	 FIELD(config_predefined, precedence),
	 .min = 0,
	 .max = 65535,
	 .def = "0",
	 .help = "Its rank among the predefined rules of one PDR, lower first; equal ones as "
		 "listed here. Among other PDRs the SMF's precedence decides."},
	{.name = "action",
	 .type = SCHEMA_ENUM,
	 FIELD(config_predefined, action),
	 .def = "far",
	 WORDS("far", "drop", "forward"),
	 .sample = {"forward"},
	 .help = "far: what the FAR of the PDR says. drop: whatever it says. forward: to a "
		 "network instance, uplink only, where the PDR names no FAR."},
	{.name = "network_instance",
	 .type = SCHEMA_TEXT,
	 FIELD(config_predefined, network_instance),
	 .def_text = "the first",
	 .shown = "internet",
	 .help = "Where action forward sends to."},
	{0},
};
