// The rows that the XDP program compares before it asks its maps.
//
// Most of a device's packets go to one address, or to the pool of its network instance. The first few addresses
// and prefixes that were set stand in rows; what stands there, or does not, changes nothing but the time. An
// address is more than the prefix that it is in, so addresses come first, and prefixes only while all addresses
// have a row.
//
// Control thread.

#pragma once

#include "port/steer_map.h"

struct steer_quick_list {
	struct steer_quick *shown; // where the program reads; it may be running
	struct steer_quick_row addrs[STEER_QUICK_ROWS], prefixes[STEER_QUICK_ROWS];
	unsigned n_addrs, n_prefixes;
	unsigned n_more; // addresses without a row
};

// `flags` are those of local_addrs. Each address and prefix is added once, then changed or removed.
void steer_quick_addr_add(struct steer_quick_list *list, const struct steer_addr *key, __u32 flags);
void steer_quick_addr_change(struct steer_quick_list *list, const struct steer_addr *key,
			     __u32 flags);
void steer_quick_addr_del(struct steer_quick_list *list, const struct steer_addr *key);
void steer_quick_prefix_add(struct steer_quick_list *list, const struct steer_prefix *key);
void steer_quick_prefix_del(struct steer_quick_list *list, const struct steer_prefix *key);
