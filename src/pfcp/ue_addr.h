// UE addresses that the UPF picks: which PDRs share one, and when it goes back (TS 29.244 5.21.3).
//
// Control thread only. A session gets one address for all its PDRs that ask for the like (pool, family, prefix
// length), and keeps it as long as any PDR has it. What it holds stands in its rules (struct picked_ue); which
// packets lead to it is the locator's matter (pfcp/apply.c). Inside pfcp/ only.

#pragma once

#include "pfcp/n4.h"
#include "rules/model.h"

// Gives each PDR of `rules` that asks for an address its own. 0, or -EINVAL with the fault and nothing taken.
int ue_addr_assign(struct n4 *n4, struct rules *rules, struct pfcp_fault *fault);
// The change of rules failed: gives back what the assignment took.
void ue_addr_undo(struct n4 *n4, struct rules *rules);
// The session has changed to these rules: gives back what none of their PDRs has any more.
void ue_addr_commit(struct n4 *n4, struct rules *rules);
// The session ends.
void ue_addr_give(struct n4 *n4, const struct rules *rules);
