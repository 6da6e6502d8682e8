// The part of the native backend that comes before EAL, and that a test calls without a NIC.
//
// Control thread.

#pragma once

#include <stdbool.h>

#include "port/eal.h"

#define NATIVE_PCI_SYSFS "/sys/bus/pci/devices"

// Whether DPDK can take this PCI device: it exists and is bound to a driver for user space. Looks
// below sysfs (in life NATIVE_PCI_SYSFS). 0, or -errno with the cure in err.
int native_pci_check(const char *sysfs, const char *pci, struct port_error *err);

// Whether its driver lets it reach physical addresses only, which DPDK knows of huge pages alone. So for
// one that has passed native_pci_check().
bool native_pci_is_uio(const char *sysfs, const char *pci);

// Claims this PCI device for as long as the descriptor that is given back is open: a uio driver gives one
// device to several processes, and DPDK resets what it finds. It is a lock on the device's folder in sysfs, which
// another sluiced looks at, if its network namespace is the same. -EBUSY: another has it.
int native_pci_claim(const char *sysfs, const char *pci, struct port_error *err);
