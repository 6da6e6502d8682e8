// Starting DPDK's environment: memory, lcores, and its log lines in ours.
//
// Control thread only, once in the life of the process. The control thread becomes EAL's main
// lcore (0); worker i is lcore i + 1, pinned to the i-th configured CPU. No device is probed here
// but the PCI devices that are named: ports are made from the configuration by port.h.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MAX_WORKERS 64
#define EAL_MAX_PCI 16

// What is wrong and how to cure it, in one line for the operator.
struct port_error {
	char text[512];
};

// Fills the text and gives the code back, so that a check can end with it.
int port_fail(struct port_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

enum eal_hugepages {
	EAL_HUGEPAGES_AUTO, // if enough of them are free
	EAL_HUGEPAGES_ON,
	EAL_HUGEPAGES_OFF,
};

struct eal_conf {
	enum eal_hugepages hugepages;
	uint32_t memory_mb;
	char file_prefix[32];
	unsigned n_cpus; // one worker each
	uint16_t cpus[MAX_WORKERS];
	int32_t main_cpu; // of the control thread; -1: those that no worker has
	unsigned n_pci;   // addresses of the native ports, each once
	char pci[EAL_MAX_PCI][32];
};

// 0, or -errno with the reason in err. Fails when called twice.
int eal_start(const struct eal_conf *conf, struct port_error *err);
void eal_stop(void);

// While quiet, what DPDK calls errors is logged as debug: for what is tried again.
void eal_log_quiet(bool quiet);

// The lcore id of a worker, for rte_eal_remote_launch().
static inline unsigned eal_worker_lcore(unsigned worker)
{
	return worker + 1;
}

// Megabytes in free huge pages of all sizes, counted below sysfs (in life
// "/sys/kernel/mm/hugepages").
uint64_t eal_hugepages_free_mb(const char *sysfs);
