// The part of the native backend that comes before EAL, and that a test calls without a NIC.
//
// Control thread.

#pragma once

#include "port/eal.h"

#define NATIVE_PCI_SYSFS "/sys/bus/pci/devices"

// Whether DPDK can take this PCI device: it exists and is bound to a driver for user space. Looks
// below sysfs (in life NATIVE_PCI_SYSFS). 0, or -errno with the cure in err.
int native_pci_check(const char *sysfs, const char *pci, struct port_error *err);
