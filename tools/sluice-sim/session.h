// The messages of a PDU session, as an Open5GS SMF sends them (TS 29.244 7.5.2 to 7.5.6).
//
// Pure: they write into a request that is open (smf_request_begin) and read answers.

#pragma once

#include "pfcp/codec.h"
#include "pfcp/writer.h"

struct sim;
struct ue;
struct tunnel;

// The IEs of an establishment: four PDRs, three FARs, a URR, a QER and a BAR.
void session_establishment_put(const struct sim *sim, const struct ue *ue, struct pfcp_writer *w);

// Update FAR: the way down is this gNB's tunnel; after a path switch the old one is told by an End
// Marker. Or there is none: buffer, and notify.
void session_forward_put(const struct sim *sim, const struct tunnel *to, bool path_switch,
			 struct pfcp_writer *w);
void session_buffer_put(struct pfcp_writer *w);

// Takes the UPF's F-SEID and its uplink tunnel over IPv4 or IPv6 from an establishment's answer into
// the UE. -EBADMSG and in text what is missing; the F-SEID is taken if it is there.
int session_established_take(const struct pfcp_msg *answer, bool v6, struct ue *ue, char *text,
			     size_t size);
