// The IEs by which a PDI says whose packets it is for (pfcp/decode_ue.c): rows of the tables of decode_pdr.c.
//
// Control thread only. Each takes a struct pdr_rule, as struct decode_row says. Inside pfcp/ only.

#pragma once

#include "pfcp/decode.h"

int decode_ue_ip(struct decode *d, void *rule, const struct pfcp_ie *first);
int decode_ue_pool(struct decode *d, void *rule, const struct pfcp_ie *ie);
int decode_framed(struct decode *d, void *rule, const struct pfcp_ie *first);
int decode_framed_routing(struct decode *d, void *rule, const struct pfcp_ie *ie);
