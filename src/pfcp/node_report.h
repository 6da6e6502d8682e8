// Node Reports of ours: GTP-U paths that failed or recovered (TS 29.244 6.2.9, 7.4.5, TS 23.527 5.4).
//
// Control thread only. What changes is noted by peer, the latest state of each, and told in bounded messages,
// at most once a second, to every SMF that has sessions with tunnels to the peer. Each message is a transaction
// (T1, N1); one that is not accepted is counted and logged, and not sent again: the next change is.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

struct n4;
struct node_reports;

// NULL without memory.
struct node_reports *node_reports_new(void);
void node_reports_free(struct node_reports *reports);

// The path to this peer (its index, as sessions hold it) has failed, or has recovered.
void node_report_path(struct n4 *n4, uint16_t peer, const struct addr *addr, bool up);

// Sends what is due.
void node_report_tick(struct n4 *n4);
