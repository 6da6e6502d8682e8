// Whether a session's rules hold together, checked as a whole after a change.
//
// Control thread. What single IEs may say is the decoder's to check; here stands what follows from several
// of them, and what this user plane can do (TS 29.244 5.2.1, 7.5.2, 7.5.4, 8.2).

#pragma once

#include <stdint.h>

#include "rules/fault.h"
#include "rules/model.h"

// Of one session; neither goes beyond what model.h allows.
struct rules_limits {
	uint16_t pdrs;   // rules of each kind
	uint8_t filters; // SDF filters in one PDR
};

// 0, or -EINVAL with the fault.
int rules_check(const struct rules *rules, const struct rules_limits *limits,
		struct pfcp_fault *fault);
