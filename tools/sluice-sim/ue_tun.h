// The TUN device that stands for the UEs: it has all their addresses, and what the kernel sends from
// one of them goes up in that UE's tunnel.
//
// One thread, the event loop's. Needs CAP_NET_ADMIN. The device is gone when its file is closed.

#pragma once

#include <stdint.h>

struct sim;
struct ue;
struct ue_tun;

// Makes the device and sets it up. NULL: the reason was printed.
struct ue_tun *ue_tun_new(struct sim *sim);
void ue_tun_free(struct ue_tun *tun);

// Adds or removes a UE's addresses: 0, or -errno.
int ue_tun_address_add(struct ue_tun *tun, const struct ue *ue);
int ue_tun_address_del(struct ue_tun *tun, const struct ue *ue);

// A packet for a UE: 0, or -errno when the kernel did not take it.
int ue_tun_write(struct ue_tun *tun, const void *packet, uint32_t len);
