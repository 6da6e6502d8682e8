// From the rules as given to those that hold now: PDRs by their time, and predefined rules (TS 29.244 5.19, 5.2.1).
//
// Control thread. A predefined rule says which packets, and may say what happens to them; the PDR that activates it
// says where they come from, to whom they belong, and how it ranks. So a PDR with predefined rules stands for one PDR
// for each of them, with the rule's filters in the place of its own, and one more with its own filters if it has any.
// Without an active rule and without own filters it takes no packets: never all of its endpoint's.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "rules/fault.h"
#include "rules/model.h"
#include "rules/sdf.h"

#define PREDEFINED_MAX_RULES 32 // in the configuration
#define PREDEFINED_MAX_FILTERS 8
#define PREDEFINED_NAME_LEN 64

enum predefined_action {
	PREDEFINED_FAR,  // what the PDR's FAR says
	PREDEFINED_DROP, // dropped, whatever the FAR says
	PREDEFINED_FORWARD, // to a network instance, where the PDR names no FAR; from the access side only
};

// One rule of the configuration.
struct predefined_rule {
	char name[PREDEFINED_NAME_LEN];
	uint32_t precedence; // among the rules of one PDR, lower first; else by place in the list
	enum predefined_action action;
	uint16_t ni; // PREDEFINED_FORWARD; RULES_NI_NONE: the default one
	uint8_t n_filters;
	struct sdf filters[PREDEFINED_MAX_FILTERS];
};

// The place of the rule with this name, or -1.
int predefined_lookup(const struct predefined_rule *list, unsigned n, const void *name, size_t len);

// Whether the PDR takes packets at this time, as far as its times say.
bool pdr_is_due(const struct pdr_rule *pdr, time_t now_s);

// The next time after `now_s` at which a PDR's times change something. False: there is none.
bool rules_next_edge(const struct rules *rules, time_t now_s, time_t *ret_s);

// The rules that hold at `now_s`, to be compiled and freed; *ret NULL: just those given. 0, or -EINVAL with the
// fault.
int rules_expand(const struct rules *rules, const struct predefined_rule *list, time_t now_s,
		 struct rules **ret, struct pfcp_fault *fault);
