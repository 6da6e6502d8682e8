// From a session's QERs and URRs to the block of meters and usage that its owner gets (session/policy.h).
//
// Control thread.

#pragma once

#include <stdbool.h>

#include "rules/model.h"
#include "session/policy.h"

// Whether the owner's block serves these rules as well: no QER, no URR and no quota has changed.
bool policy_serves(const struct rules *old, const struct rules *rules);

// What a block of rules that have their places has. False: they need none.
bool policy_form_of(const struct rules *rules, struct policy_form *ret_form);
// The block of rules that have their places, NULL where they need none. -ENOMEM.
int policy_of_rules(const struct rules *rules, struct policy **ret_policy);
