// The XDP program of one device: load, attach, fill its maps, read its copies.
//
// Attached through a BPF link, which the kernel undoes when the process ends however it ends.
// Control thread. Functions give 0 or -errno.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/netdev.h"
#include "port/port.h"

struct steer;

// Load the program for this device; nothing is attached yet.
int steer_open(const struct netdev *netdev, struct steer **ret_steer, struct port_error *err);
void steer_close(struct steer *steer); // detaches; NULL is fine

// ret_xdp says whether it became native or generic.
int steer_attach(struct steer *steer, enum port_xdp wanted, enum netdev_xdp *ret_xdp,
		 struct port_error *err);
void steer_detach(struct steer *steer);

// The AF_XDP socket that takes a queue's packets.
int steer_socket_set(struct steer *steer, uint32_t queue, int fd);

// flags: STEER_OWN, or STEER_SHARED with or without STEER_GTPU (steer_map.h).
int steer_addr_set(struct steer *steer, uint16_t vlan, const struct addr *addr, uint32_t flags);
int steer_addr_del(struct steer *steer, uint16_t vlan, const struct addr *addr);
int steer_prefix_set(struct steer *steer, uint16_t vlan, const struct prefix *prefix);
int steer_prefix_del(struct steer *steer, uint16_t vlan, const struct prefix *prefix);

int steer_copies_fd(const struct steer *steer);
void steer_copies_read(struct steer *steer, port_copy_fn fn, void *arg);

// Make room for our program: take away what a killed daemon left attached, wait for what is going
// away by itself, refuse what belongs to somebody else.
int steer_evict(const char *name, struct port_error *err);
