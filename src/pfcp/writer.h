// Writing PFCP into a buffer of the caller's (TS 29.244 7.2, 8.1, 8.2).
//
// What does not fit, or cannot be written (a text longer than its length octets can say), sets `failed`
// and writes nothing further; pfcp_msg_end then gives 0, so one check at the end is enough. Groups and
// messages are marked at their begin and get their length at their end. Any thread, no heap.
//
//	size_t group;
//
//	pfcp_writer_init(&w, buf, sizeof(buf));
//	pfcp_msg_begin(&w, PFCP_SESSION_MODIFICATION_RESPONSE, seid, seq);
//	group = pfcp_group_begin(&w, PFCP_IE_CREATED_PDR);
//	pfcp_uint_encode(&w, PFCP_IE_PDR_ID, 1);
//	pfcp_f_teid_encode(&w, &f_teid);
//	pfcp_group_end(&w, group);
//	len = pfcp_msg_end(&w);

#pragma once

#include <stddef.h>

#include "pfcp/ie.h"
#include "rules/model.h"

struct pfcp_writer {
	uint8_t *data;
	size_t size;
	size_t len;
	size_t msg; // where the message that is open began
	bool failed;
};

void pfcp_writer_init(struct pfcp_writer *w, void *data, size_t size);

// Opens a message; the type says whether it has a SEID. pfcp_msg_end gives the octets of the message, 0
// when it failed.
void pfcp_msg_begin(struct pfcp_writer *w, uint8_t type, uint64_t seid, uint32_t seq);
size_t pfcp_msg_end(struct pfcp_writer *w);

// Opens an IE whose value is what is written until its end; the mark goes from one to the other.
size_t pfcp_group_begin(struct pfcp_writer *w, uint16_t type);
void pfcp_group_end(struct pfcp_writer *w, size_t mark);

// A number, flags, an enumerated value, a time or a timer's octet, in the octets that its row of ie.def
// says; flags in as many as Release 17 has, features in as many as they need.
void pfcp_uint_encode(struct pfcp_writer *w, uint16_t type, uint64_t value);

// Text and octets as they are.
void pfcp_octets_encode(struct pfcp_writer *w, uint16_t type, const void *data, size_t len);

// A dotted name as labels; "" as an empty value.
void pfcp_name_encode(struct pfcp_writer *w, uint16_t type, const char *text);

// The labels alone, for members of structs (Node ID): their number of octets, or -EINVAL.
int pfcp_name_labels(const char *text, uint8_t *ret_labels, size_t size);

// void pfcp_<struct>_encode(w, value); structs that serve several IEs take the type before the value.
#define PFCP_DECLARE(name, IE)                                                                     \
	void pfcp_##name##_encode(struct pfcp_writer *w, const struct pfcp_##name *name);
#define PFCP_DECLARE_SHARED(name)                                                                  \
	void pfcp_##name##_encode(struct pfcp_writer *w, uint16_t type,                            \
				  const struct pfcp_##name *name);
PFCP_TYPED(PFCP_DECLARE)
PFCP_TYPED_SHARED(PFCP_DECLARE_SHARED)
#undef PFCP_DECLARE
#undef PFCP_DECLARE_SHARED

// What a UPF's answers and reports are made of.

// Cause; Offending IE and Failed Rule ID where the fault has them. A fault without a cause is acceptance.
void pfcp_fault_encode(struct pfcp_writer *w, const struct pfcp_fault *fault);

// Created PDR or Updated PDR; NULL for what was not picked.
void pfcp_created_pdr_encode(struct pfcp_writer *w, uint16_t type, uint16_t pdr_id,
			     const struct pfcp_f_teid *f_teid,
			     const struct pfcp_ue_ip_address *ue_ip_address);
void pfcp_created_endpoint_encode(struct pfcp_writer *w, uint8_t endpoint_id,
				  const struct pfcp_f_teid *f_teid,
				  const struct pfcp_ue_ip_address *ue_ip_address);

void pfcp_load_control_encode(struct pfcp_writer *w, uint32_t seq, uint8_t metric_percent);
void pfcp_overload_control_encode(struct pfcp_writer *w, uint32_t seq, uint8_t reduction_percent,
				  uint32_t validity_s, uint8_t oci_flags);

// Times are NTP seconds, 0: not given.
struct pfcp_usage_report {
	uint32_t urr_id;
	uint32_t seqn;
	uint32_t trigger; // PFCP_USAGE_REPORT_TRIGGER_ bits
	uint32_t start, end, first_packet, last_packet;
	bool has_duration;
	bool has_query_reference;
	uint8_t usage_information; // PFCP_USAGE_INFORMATION_ bits, 0: not given
	uint32_t duration_s;
	uint32_t query_reference;
	struct pfcp_volume_measurement volume; // flags 0: not given
	uint8_t n_events;
	uint32_t events[RULES_MAX_EVENTS]; // when they were
};

// type: USAGE_REPORT_MODIFICATION, USAGE_REPORT_DELETION or USAGE_REPORT.
void pfcp_usage_report_encode(struct pfcp_writer *w, uint16_t type,
			      const struct pfcp_usage_report *report);

// service may be NULL.
void pfcp_downlink_data_report_encode(struct pfcp_writer *w, const uint16_t *pdr_ids, size_t count,
				      const struct pfcp_downlink_data_service *service);
void pfcp_error_indication_report_encode(struct pfcp_writer *w, const struct pfcp_f_teid *remote);

// type: USER_PLANE_PATH_FAILURE_REPORT, USER_PLANE_PATH_RECOVERY_REPORT or PEER_UP_RESTART_REPORT.
void pfcp_path_report_encode(struct pfcp_writer *w, uint16_t type,
			     const struct pfcp_remote_peer *peers, size_t count);

// type: PACKET_RATE_STATUS_REPORT_MODIFICATION or PACKET_RATE_STATUS_REPORT_DELETION.
void pfcp_packet_rate_report_encode(struct pfcp_writer *w, uint16_t type, uint32_t qer_id,
				    const struct pfcp_packet_rate_status *status);
