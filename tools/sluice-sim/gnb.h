// gNBs: the far end of N3. User packets in GTP-U, path messages (TS 29.281, TS 38.415).
//
// Packets go in batches, a system call for many. One thread, the event loop's.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

struct event;
struct gnb_batch;
struct sim;
struct ue;

struct gnb {
	struct sim *sim;
	struct addr addr;
	int fd;
	struct event *readable;
	struct gnb_batch *batch;
};

#define GNB_BATCH 64
#define GNB_HEADROOM 16 // before a packet that goes up: its GTP-U header

// Opens the sockets of all gNBs of the options. NULL: the reason was printed.
struct gnb *gnbs_new(struct sim *sim);
void gnbs_free(struct sim *sim);

// Sends a UE's packet to the UPF, at the next gnbs_flush() at the latest; packet[-GNB_HEADROOM] on is
// written to, and all stays in use until then.
void gnb_up(struct sim *sim, const struct ue *ue, uint8_t *packet, uint32_t len);
void gnbs_flush(struct sim *sim);
