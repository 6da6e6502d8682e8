// The main() of a chain test: as unit.h, for tests that drive the data path in process (rig.h).
//
// Each test makes its rig, and ends it by rig_end(), which asserts that every packet is accounted for.

#pragma once

#include "../unit/unit.h"
#include "rig.h"

// The accounting identity holds, and what is left is given back.
static inline void rig_end(struct rig *rig)
{
	rig_settle(rig);
	CU_ASSERT_TRUE(rig_accounted(rig));
	rig_free(rig);
}
