// Downlink data that waits for its UE: telling the SMF, and what it says to that (TS 29.244 5.2.4, 7.5.8.2, 7.5.9).
//
// Control thread. A worker says that the first packet of a FAR waits (worker/buffer.h); after the delay that the
// FAR's BAR gives, the session's SMF is told, if the packet's FAR buffers still. A report that nobody took makes the
// worker tell again. The answer to one may update the BAR, or say to drop what waits.

#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buffer_event;
struct n4;
struct n4_session;
struct pfcp_msg;

// A worker's word. Sessions that have gone meanwhile are no fault.
void n4_downlink_data(struct n4 *n4, unsigned worker, const struct buffer_event *event);

// For the session half alone.
void n4_downlink_init(struct n4 *n4);
void n4_downlink_free(struct n4 *n4, struct n4_session *session);
// Reports what is due.
void n4_downlink_tick(struct n4 *n4);
// A Session Modification Request says to drop what waits (PFCPSMReq-Flags).
bool n4_downlink_drops(const struct pfcp_msg *request);
