// Traffic endpoints of a session, and what the PDRs that name them get from them (TS 29.244 5.2.1A.2).
//
// Control thread. This is the one place where a PDR's PDI is completed: all others read `pdr->pdi` and need not
// know where its parts came from.

#pragma once

#include "rules/fault.h"
#include "rules/model.h"

// The first PDR that names the endpoint, NULL: none does.
const struct pdr_rule *rules_endpoint_user(const struct rules *rules, uint8_t id);

// Whether its F-TEID is of the access side: as its tunnel is, or before it has one, as PDRs from the access side
// name it or not.
bool rules_endpoint_is_up(const struct rules *rules, const struct endpoint_rule *endpoint);

// Removes every PDR that names the endpoint. FARs are no longer linked to it.
void rules_endpoint_users_del(struct rules *rules, uint8_t id);

// Writes the endpoints' parts into the PDRs that name them. An endpoint's F-TEID is of one side only: PDRs of the
// other side get the rest. 0, or -EINVAL with the fault: an endpoint that does not exist, QFIs in both.
int rules_endpoints_resolve(struct rules *rules, struct pfcp_fault *fault);
