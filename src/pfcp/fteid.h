// Local F-TEIDs of a session: which tunnel each PDR gets its packets by (TS 29.244 5.5, 8.2.3).
//
// Control thread only. A tunnel of a CHOOSE ID stays for the session's life, since the SMF expects the same
// TEID for the same id; others go with the last PDR that names them. Inside pfcp/ only.

#pragma once

#include <stdint.h>

#include "pfcp/n4.h"
#include "rules/model.h"
#include "session/session.h"
#include "session/slots.h"

// What an assignment changed, as bits by tunnel number.
struct fteid_change {
	uint32_t taken;   // new in `rules`
	uint32_t dropped; // of the model before it, no longer in `rules`
};

// Gives each PDR of `rules` that has an F-TEID its tunnel, and takes out tunnels that no PDR needs; these
// are still held until fteid_give(). 0, or -EINVAL with the fault and nothing taken.
int fteid_assign(struct n4 *n4, const struct slot *slot, struct rules *rules,
		 struct fteid_change *ret, struct pfcp_fault *fault);

// Gives back the tunnels with these numbers.
void fteid_give(struct n4 *n4, const struct slot *slot, const struct rules *rules,
		uint32_t numbers);

// The numbers of all tunnels of `rules`.
uint32_t fteid_numbers(const struct rules *rules);

// The TEID that belongs into the session's up line; 0: none does.
uint32_t fteid_of_line(const struct rules *rules);

// Whether the tunnel has a record of its own, and what the owner is to write there.
bool fteid_has_record(const struct tunnel_rule *tunnel);
struct tunnel fteid_record(const struct slot *slot, const struct tunnel_rule *tunnel);
