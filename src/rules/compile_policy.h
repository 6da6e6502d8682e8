// What a PDR's QERs and URRs make of it, see compile_policy.c.
// Control thread; inside rules/ only.

#pragma once

#include "rules/model.h"
#include "rules/ruleset.h"

// Fills the PDR's meters, usages, QFI, gates and marks. Returns the needs that follow (NEEDS_).
unsigned compile_policy(const struct rules *rules, const struct pdr_rule *rule, struct pdr *pdr);
// The families of user packets that it is for (PDR_V4, PDR_V6), by the addresses of its UE.
uint8_t compile_families(const struct pdr_rule *rule);
// What doing as the FAR says needs (NEEDS_).
unsigned compile_far_needs(const struct far *far);
// Whether user packets go from tunnel to tunnel towards the SMF or another gNB: they may come from addresses
// that are not the UE's (a router solicitation's is link-local).
bool compile_relays(const struct pdr_rule *rule, const struct far_rule *far);
// Fills what the BAR says of a FAR that buffers.
void compile_buffering(const struct rules *rules, const struct far_rule *rule, struct far *far);
