// What commands look at: the parts of the daemon, as app gives them.
//
// Control thread. Every part may be absent (NULL, 0): then commands show it as empty. All parts
// outlive the server; none is changed by a command.

#pragma once

#include <stdint.h>

struct config;
struct iface;
struct n4;
struct neigh;
struct service_order;
struct stats;
struct worker;

struct ctl_view {
	const char *version; // of this build
	uint64_t start_ns;   // clock_now_ns() when the daemon was ready
	struct worker *const *workers;
	unsigned n_workers;
	const struct stats *control; // of the control thread
	struct iface *const *ifaces; // in the order of the configuration
	unsigned n_ifaces;
	const struct neigh *neigh;
	struct n4 *n4;
	const struct config *config;
	const struct service_order *services;
};
