// EAL for unit tests of what needs its memory: without hugepages, devices and files.
//
// Started once a process, by whichever test comes first.

#pragma once

#include <stdbool.h>

#include <rte_eal.h>

#include "unit.h"

// With so many MB.
static inline void unit_eal(const char *memory_mb)
{
	static bool ready;
	char *argv[] = {"test",     "--no-huge",      "-m",          (char *)memory_mb,
			"--no-pci", "--no-telemetry", "--no-shconf", "--log-level=lib.*:error",
			NULL};

	if (ready)
		return;
	CU_ASSERT_FATAL(rte_eal_init(sizeof(argv) / sizeof(argv[0]) - 1, argv) >= 0);
	ready = true;
}
