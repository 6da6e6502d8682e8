// What a session's rules mean for its flows: which services the configuration gives them, and with what limits.
//
// Control thread; a part of rules/compile.c.

#pragma once

#include "rules/compile.h"

// The services for the flows of a session, and the profile that limits and times them (worker/flows.h): those of
// its network instance. None and 0 where it has to do with none; one that `redirects` has flows in any case. `order`
// has its PDRs, those from the access side first, each side in the order of trial.
uint8_t compile_flow(const struct rules *rules, const struct compile_conf *conf,
		     const struct pdr_rule *const order[], unsigned n_pdrs, bool redirects,
		     uint64_t *ret_services);
