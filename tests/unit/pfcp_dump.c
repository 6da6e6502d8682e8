// Speaks our PFCP codec on the command line, so that other implementations can judge it.
//
//	pfcp_dump messages   what a UPF sends, one message a line: title, TAB, hexadecimal
//	pfcp_dump ies        every IE that is not a group, one a line: type, TAB, TLV in hexadecimal
//	pfcp_dump decode     messages as hexadecimal on stdin, a line each; prints each and a verdict
//
// Used by tests/smoke/test_codec_judge.py.

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pfcp/codec.h"
#include "pfcp/codec_layout.h"
#include "pfcp/print.h"
#include "pfcp/writer.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const struct pfcp_node_id node_v4 = {.type = PFCP_NODE_ID_IPV4, .v4 = {0x0700007f}};
static const struct pfcp_node_id node_fqdn = {.type = PFCP_NODE_ID_FQDN,
					      .fqdn = {(const uint8_t *)"\003upf\007example", 12}};
static const struct pfcp_f_seid f_seid = {
	.flags = PFCP_F_SEID_V4, .seid = 0x0123456789abcdef, .v4 = {0x0700007f}};
static const struct pfcp_f_teid f_teid = {.flags = PFCP_F_TEID_V4 | PFCP_F_TEID_V6,
					  .teid = 0xfa17,
					  .v4 = {0x0700007f},
					  .v6 = {{{0x20, 0x01, 0x0d, 0xb8, [15] = 7}}}};
static const struct pfcp_ue_ip_address ue_ip = {
	.flags = PFCP_UE_IP_ADDRESS_V4 | PFCP_UE_IP_ADDRESS_SD, .v4 = {0x02002d0a}};
static const struct pfcp_fault accepted;

static const struct pfcp_usage_report report = {.urr_id = 1,
						.seqn = 2,
						.trigger = PFCP_USAGE_REPORT_TRIGGER_VOLTH,
						.start = 0xeeb81e00,
						.end = 0xeeb81e7f,
						.first_packet = 0xeeb81e01,
						.last_packet = 0xeeb81e02,
						.has_duration = true,
						.duration_s = 127,
						.volume = {.flags = 0x3f,
							   .total = 3000,
							   .up = 1000,
							   .down = 2000,
							   .total_packets = 30,
							   .up_packets = 10,
							   .down_packets = 20}};

static void heartbeat(struct pfcp_writer *w)
{
	pfcp_msg_begin(w, PFCP_HEARTBEAT_RESPONSE, 0, 1);
	pfcp_uint_encode(w, PFCP_IE_RECOVERY_TIME_STAMP, 0xeeb81eaf);
}

static void association_setup(struct pfcp_writer *w)
{
	pfcp_msg_begin(w, PFCP_ASSOCIATION_SETUP_RESPONSE, 0, 2);
	pfcp_node_id_encode(w, &node_fqdn);
	pfcp_fault_encode(w, &accepted);
	pfcp_uint_encode(w, PFCP_IE_RECOVERY_TIME_STAMP, 0xeeb81eaf);
	pfcp_uint_encode(w, PFCP_IE_UP_FUNCTION_FEATURES,
			 PFCP_UP_FUNCTION_FEATURES_FTUP | PFCP_UP_FUNCTION_FEATURES_EMPU |
				 PFCP_UP_FUNCTION_FEATURES_FRRT | PFCP_UP_FUNCTION_FEATURES_MNOP);
}

static void association_update(struct pfcp_writer *w)
{
	pfcp_msg_begin(w, PFCP_ASSOCIATION_UPDATE_REQUEST, 0, 3);
	pfcp_node_id_encode(w, &node_v4);
	pfcp_uint_encode(w, PFCP_IE_PFCP_ASSOCIATION_RELEASE_REQUEST,
			 PFCP_PFCP_ASSOCIATION_RELEASE_REQUEST_SARR);
	pfcp_uint_encode(w, PFCP_IE_GRACEFUL_RELEASE_PERIOD, pfcp_timer_octet(120));
}

static void association_release(struct pfcp_writer *w)
{
	pfcp_msg_begin(w, PFCP_ASSOCIATION_RELEASE_RESPONSE, 0, 4);
	pfcp_node_id_encode(w, &node_v4);
	pfcp_fault_encode(w, &accepted);
}

static void version_not_supported(struct pfcp_writer *w)
{
	pfcp_msg_begin(w, PFCP_VERSION_NOT_SUPPORTED_RESPONSE, 0, 5);
}

static void node_report(struct pfcp_writer *w)
{
	const struct pfcp_remote_peer peer = {.flags = PFCP_REMOTE_GTP_U_PEER_V4,
					      .v4 = {0x3200007f}};

	pfcp_msg_begin(w, PFCP_NODE_REPORT_REQUEST, 0, 6);
	pfcp_node_id_encode(w, &node_v4);
	pfcp_uint_encode(w, PFCP_IE_NODE_REPORT_TYPE, PFCP_NODE_REPORT_TYPE_UPFR);
	pfcp_path_report_encode(w, PFCP_IE_USER_PLANE_PATH_FAILURE_REPORT, &peer, 1);
}

static void pfd_management(struct pfcp_writer *w)
{
	pfcp_msg_begin(w, PFCP_PFD_MANAGEMENT_RESPONSE, 0, 7);
	pfcp_fault_encode(w, &(struct pfcp_fault){.cause = PFCP_CAUSE_MANDATORY_MISSING,
						  .offending_ie = PFCP_IE_APPLICATION_ID});
}

static void session_set_deletion(struct pfcp_writer *w)
{
	pfcp_msg_begin(w, PFCP_SESSION_SET_DELETION_RESPONSE, 0, 8);
	pfcp_node_id_encode(w, &node_v4);
	pfcp_fault_encode(w, &accepted);
}

static void session_establishment(struct pfcp_writer *w)
{
	pfcp_msg_begin(w, PFCP_SESSION_ESTABLISHMENT_RESPONSE, 0x4ea, 9);
	pfcp_node_id_encode(w, &node_v4);
	pfcp_fault_encode(w, &accepted);
	pfcp_f_seid_encode(w, &f_seid);
	pfcp_created_pdr_encode(w, PFCP_IE_CREATED_PDR, 2, &f_teid, &ue_ip);
	pfcp_load_control_encode(w, 1, 50);
	pfcp_overload_control_encode(w, 1, 20, 60, PFCP_OCI_FLAGS_AOCI);
	pfcp_created_endpoint_encode(w, 9, &f_teid, NULL);
}

static void session_modification(struct pfcp_writer *w)
{
	pfcp_msg_begin(w, PFCP_SESSION_MODIFICATION_RESPONSE, 0x4ea, 10);
	pfcp_fault_encode(w, &accepted);
	pfcp_usage_report_encode(w, PFCP_IE_USAGE_REPORT_MODIFICATION, &report);
	pfcp_uint_encode(w, PFCP_IE_ADDITIONAL_USAGE_REPORTS_INFORMATION,
			 PFCP_ADDITIONAL_REPORTS_AURI | 2);
	pfcp_created_pdr_encode(w, PFCP_IE_UPDATED_PDR, 3, &f_teid, NULL);
}

static void session_refusal(struct pfcp_writer *w)
{
	const struct pfcp_fault fault = {.cause = PFCP_CAUSE_RULE_FAILURE,
					 .offending_ie = PFCP_IE_SDF_FILTER,
					 .has_rule = true,
					 .rule_type = RULE_FAR,
					 .rule_id = 0x01020304};

	pfcp_msg_begin(w, PFCP_SESSION_MODIFICATION_RESPONSE, 0x4ea, 11);
	pfcp_fault_encode(w, &fault);
}

static void session_deletion(struct pfcp_writer *w)
{
	pfcp_msg_begin(w, PFCP_SESSION_DELETION_RESPONSE, 0x4ea, 12);
	pfcp_fault_encode(w, &accepted);
	pfcp_usage_report_encode(w, PFCP_IE_USAGE_REPORT_DELETION, &report);
}

static void session_report(struct pfcp_writer *w)
{
	const uint16_t pdrs[] = {1, 2};
	const struct pfcp_downlink_data_service service = {
		.flags = PFCP_DOWNLINK_DATA_SERVICE_INFORMATION_QFII, .qfi = 9};
	const struct pfcp_f_teid remote = {
		.flags = PFCP_F_TEID_V4, .teid = 0x0a000001, .v4 = {0x3200007f}};

	pfcp_msg_begin(w, PFCP_SESSION_REPORT_REQUEST, 0x4ea, 13);
	pfcp_uint_encode(w, PFCP_IE_REPORT_TYPE,
			 PFCP_REPORT_TYPE_DLDR | PFCP_REPORT_TYPE_USAR | PFCP_REPORT_TYPE_ERIR);
	pfcp_downlink_data_report_encode(w, pdrs, LENGTH(pdrs), &service);
	pfcp_usage_report_encode(w, PFCP_IE_USAGE_REPORT, &report);
	pfcp_error_indication_report_encode(w, &remote);
}

static void (*const messages[])(struct pfcp_writer *w) = {
	heartbeat,
	association_setup,
	association_update,
	association_release,
	version_not_supported,
	node_report,
	pfd_management,
	session_set_deletion,
	session_establishment,
	session_modification,
	session_refusal,
	session_deletion,
	session_report,
};

static void hex_print(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		printf("%02x", data[i]);
	printf("\n");
}

static int messages_dump(void)
{
	for (unsigned i = 0; i < LENGTH(messages); i++) {
		uint8_t buf[2048];
		struct pfcp_writer w;
		size_t len;

		pfcp_writer_init(&w, buf, sizeof(buf));
		messages[i](&w);
		len = pfcp_msg_end(&w);
		if (len == 0)
			return 1;
		printf("%s\t", pfcp_msg_type_str(buf[1]));
		hex_print(buf, len);
	}
	return 0;
}

// Octets that make sense where a field wants some that do.
static void octets_fill(const struct pfcp_field *f, uint16_t least, struct pfcp_value *value)
{
	static const uint8_t octets[] = {10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	static const uint8_t digits[] = {0x99, 0x99, 0x07, 0x89};
	static const uint8_t labels[] = "\003upf";

	value->data = octets;
	switch (f->wire) {
	case PFCP_WIRE_NAME:
		value->data = labels;
		value->len = 4;
		break;
	case PFCP_WIRE_BCD8:
		value->data = digits;
		value->len = 4;
		break;
	case PFCP_WIRE_BYTES: // the short ones are PLMNs
		if (f->arg <= sizeof(digits))
			value->data = digits;
		value->len = f->arg;
		break;
	case PFCP_WIRE_ITEMS:
		value->len = f->arg;
		break;
	case PFCP_WIRE_OCTETS8: // a tag, among others
		value->len = 3;
		break;
	case PFCP_WIRE_IP6:
		value->len = 16;
		break;
	case PFCP_WIRE_MAC:
		value->len = 6;
		break;
	case PFCP_WIRE_OCTETS:
		value->len = least > 4 ? least : 4;
		break;
	default:
		value->len = 4;
	}
}

// Flags that take fields away, and those of PFD Contents that hold lists of their own.
static bool flag_is_left_out(const char *name)
{
	static const char *const names[] = {"CH", "CHID", "A", "AFD", "AURL", "ADNP"};

	for (unsigned i = 0; i < LENGTH(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

// A value in which every field is there: all other flags that have a name are set.
static void value_fill(const struct pfcp_layout *layout, uint16_t type,
		       struct pfcp_value values[PFCP_FIELDS_MAX])
{
	for (unsigned i = 0; i < layout->count; i++) {
		const struct pfcp_field *f = &layout->fields[i];
		const struct pfcp_flag_names *names = pfcp_flag_names_get(f->names ? f->names
										   : type);

		values[i] = (struct pfcp_value){.number = f->wire == PFCP_WIRE_KBPS ? 1000 : 1};
		if (pfcp_wire_is_octets(f->wire))
			octets_fill(f, pfcp_ie_info_lookup(type)->least, &values[i]);
		if (f->role != PFCP_ROLE_FLAGS && f->wire != PFCP_WIRE_FLAGS)
			continue;
		values[i].number = 0;
		for (unsigned n = 0; n < names->count; n++)
			if (!flag_is_left_out(names->flags[n].name))
				values[i].number |= 1ull << names->flags[n].bit;
	}
}

static int ies_dump(void)
{
	for (uint16_t type = 1; type < PFCP_IE_COUNT; type++) {
		const struct pfcp_layout *layout = pfcp_layout_lookup(type);
		struct pfcp_value values[PFCP_FIELDS_MAX];
		uint8_t buf[512];
		struct pfcp_writer w;
		size_t mark;

		if (layout == NULL)
			continue;
		pfcp_writer_init(&w, buf, sizeof(buf));
		value_fill(layout, type, values);
		mark = pfcp_group_begin(&w, type);
		pfcp_fields_encode(&w, layout, type, values);
		pfcp_group_end(&w, mark);
		if (w.failed)
			return 1;
		printf("%u\t", type);
		hex_print(buf, w.len);
	}
	return 0;
}

static void message_decode(const uint8_t *data, size_t len)
{
	struct pfcp_cursor datagram = pfcp_cursor_of(data, len);
	struct pfcp_fault fault = {0};
	static char text[65536];
	struct pfcp_msg msg;

	pfcp_datagram_print(data, len, text, sizeof(text));
	printf("%s", text);
	if (pfcp_msg_decode(&datagram, &msg) < 0)
		printf("= discarded\n");
	else if (pfcp_msg_check(&msg, &fault) < 0)
		printf("= cause %u ie %u: %s\n", fault.cause, fault.offending_ie, fault.text);
	else
		printf("= right unknown=%u vendor=%u unexpected=%u repeated=%u\n", msg.unknown,
		       msg.vendor, msg.unexpected, msg.repeated);
}

static int stdin_decode(void)
{
	static char line[2 * PFCP_MSG_MAX + 2];
	static uint8_t data[PFCP_MSG_MAX];

	while (fgets(line, sizeof(line), stdin)) {
		size_t len = strcspn(line, "\n") / 2;

		for (size_t i = 0; i < len; i++)
			data[i] = (uint8_t)strtoul((char[]){line[2 * i], line[2 * i + 1], 0}, NULL,
						   16);
		message_decode(data, len);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "messages") == 0)
		return messages_dump();
	if (argc == 2 && strcmp(argv[1], "ies") == 0)
		return ies_dump();
	if (argc == 2 && strcmp(argv[1], "decode") == 0)
		return stdin_decode();
	fprintf(stderr, "usage: pfcp_dump messages|ies|decode\n");
	return 2;
}
