// The groups that a UPF's answers and reports are made of (TS 29.244 7.4.5, 7.5.3, 7.5.5, 7.5.7, 7.5.8).
// See pfcp/writer.h.

#include "pfcp/codec.h"
#include "pfcp/writer.h"

void pfcp_fault_encode(struct pfcp_writer *w, const struct pfcp_fault *fault)
{
	pfcp_uint_encode(w, PFCP_IE_CAUSE, fault->cause ? fault->cause : PFCP_CAUSE_ACCEPTED);
	if (fault->offending_ie != PFCP_IE_NONE)
		pfcp_uint_encode(w, PFCP_IE_OFFENDING_IE, fault->offending_ie);
	if (fault->has_rule)
		pfcp_failed_rule_encode(w, &(struct pfcp_failed_rule){.type = fault->rule_type,
								      .id = fault->rule_id});
}

static void allocated_put(struct pfcp_writer *w, const struct pfcp_f_teid *f_teid,
			  const struct pfcp_ue_ip_address *ue_ip_address)
{
	if (f_teid)
		pfcp_f_teid_encode(w, f_teid);
	if (ue_ip_address)
		pfcp_ue_ip_address_encode(w, ue_ip_address);
}

void pfcp_created_pdr_encode(struct pfcp_writer *w, uint16_t type, uint16_t pdr_id,
			     const struct pfcp_f_teid *f_teid,
			     const struct pfcp_ue_ip_address *ue_ip_address)
{
	size_t group = pfcp_group_begin(w, type);

	pfcp_uint_encode(w, PFCP_IE_PDR_ID, pdr_id);
	allocated_put(w, f_teid, ue_ip_address);
	pfcp_group_end(w, group);
}

void pfcp_created_endpoint_encode(struct pfcp_writer *w, uint8_t endpoint_id,
				  const struct pfcp_f_teid *f_teid,
				  const struct pfcp_ue_ip_address *ue_ip_address)
{
	size_t group = pfcp_group_begin(w, PFCP_IE_CREATED_TRAFFIC_ENDPOINT);

	pfcp_uint_encode(w, PFCP_IE_TRAFFIC_ENDPOINT_ID, endpoint_id);
	allocated_put(w, f_teid, ue_ip_address);
	pfcp_group_end(w, group);
}

void pfcp_load_control_encode(struct pfcp_writer *w, uint32_t seq, uint8_t metric_percent)
{
	size_t group = pfcp_group_begin(w, PFCP_IE_LOAD_CONTROL_INFORMATION);

	pfcp_uint_encode(w, PFCP_IE_SEQUENCE_NUMBER, seq);
	pfcp_uint_encode(w, PFCP_IE_METRIC, metric_percent);
	pfcp_group_end(w, group);
}

void pfcp_overload_control_encode(struct pfcp_writer *w, uint32_t seq, uint8_t reduction_percent,
				  uint32_t validity_s, uint8_t oci_flags)
{
	size_t group = pfcp_group_begin(w, PFCP_IE_OVERLOAD_CONTROL_INFORMATION);

	pfcp_uint_encode(w, PFCP_IE_SEQUENCE_NUMBER, seq);
	pfcp_uint_encode(w, PFCP_IE_METRIC, reduction_percent);
	pfcp_uint_encode(w, PFCP_IE_TIMER, pfcp_timer_octet(validity_s));
	if (oci_flags)
		pfcp_uint_encode(w, PFCP_IE_OCI_FLAGS, oci_flags);
	pfcp_group_end(w, group);
}

static void time_put(struct pfcp_writer *w, uint16_t type, uint32_t ntp_s)
{
	if (ntp_s)
		pfcp_uint_encode(w, type, ntp_s);
}

void pfcp_usage_report_encode(struct pfcp_writer *w, uint16_t type,
			      const struct pfcp_usage_report *report)
{
	size_t group = pfcp_group_begin(w, type);

	pfcp_uint_encode(w, PFCP_IE_URR_ID, report->urr_id);
	pfcp_uint_encode(w, PFCP_IE_UR_SEQN, report->seqn);
	pfcp_uint_encode(w, PFCP_IE_USAGE_REPORT_TRIGGER, report->trigger);
	time_put(w, PFCP_IE_START_TIME, report->start);
	time_put(w, PFCP_IE_END_TIME, report->end);
	if (report->volume.flags)
		pfcp_volume_measurement_encode(w, &report->volume);
	if (report->has_duration)
		pfcp_uint_encode(w, PFCP_IE_DURATION_MEASUREMENT, report->duration_s);
	time_put(w, PFCP_IE_TIME_OF_FIRST_PACKET, report->first_packet);
	time_put(w, PFCP_IE_TIME_OF_LAST_PACKET, report->last_packet);
	if (report->usage_information)
		pfcp_uint_encode(w, PFCP_IE_USAGE_INFORMATION, report->usage_information);
	for (unsigned i = 0; i < report->n_events; i++)
		pfcp_uint_encode(w, PFCP_IE_TIME_STAMP, report->events[i]);
	if (report->has_query_reference)
		pfcp_uint_encode(w, PFCP_IE_QUERY_URR_REFERENCE, report->query_reference);
	pfcp_group_end(w, group);
}

void pfcp_downlink_data_report_encode(struct pfcp_writer *w, const uint16_t *pdr_ids, size_t count,
				      const struct pfcp_downlink_data_service *service)
{
	size_t group = pfcp_group_begin(w, PFCP_IE_DOWNLINK_DATA_REPORT);

	for (size_t i = 0; i < count; i++)
		pfcp_uint_encode(w, PFCP_IE_PDR_ID, pdr_ids[i]);
	if (service)
		pfcp_downlink_data_service_encode(w, service);
	pfcp_group_end(w, group);
}

void pfcp_error_indication_report_encode(struct pfcp_writer *w, const struct pfcp_f_teid *remote)
{
	size_t group = pfcp_group_begin(w, PFCP_IE_ERROR_INDICATION_REPORT);

	pfcp_f_teid_encode(w, remote);
	pfcp_group_end(w, group);
}

void pfcp_path_report_encode(struct pfcp_writer *w, uint16_t type,
			     const struct pfcp_remote_peer *peers, size_t count)
{
	size_t group = pfcp_group_begin(w, type);

	for (size_t i = 0; i < count; i++)
		pfcp_remote_peer_encode(w, &peers[i]);
	pfcp_group_end(w, group);
}

void pfcp_packet_rate_report_encode(struct pfcp_writer *w, uint16_t type, uint32_t qer_id,
				    const struct pfcp_packet_rate_status *status)
{
	size_t group = pfcp_group_begin(w, type);

	pfcp_uint_encode(w, PFCP_IE_QER_ID, qer_id);
	pfcp_packet_rate_status_encode(w, status);
	pfcp_group_end(w, group);
}
