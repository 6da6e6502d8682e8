// PFCP messages: headers that lie, IEs that do, what must be there, and what a UPF writes read back.
// Inputs that broke other UPFs are among the rows.

#include <arpa/inet.h>
#include <string.h>

#include "pfcp/codec.h"
#include "pfcp/writer.h"
#include "octets.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void headers_are_read(void)
{
	static const struct {
		const char *hex;
		int rc;
		uint8_t type;
		uint32_t seq;
		uint64_t seid;
		size_t ies; // octets
	} rows[] = {
		{"2001000c 00000100 00600004 eeb81eaf", 0, 1, 1, 0, 8},
		{"20010004 ffffff00", 0, 1, 0xffffff, 0, 0},
		{"2136000c 0000000000000751 00000b00", 0, 54, 11, 0x751, 0},
		{"2138000c ffffffffffffffff 00000b00", 0, 56, 11, UINT64_MAX, 0},
		{"", -EBADMSG},
		{"20010004 ffffff", -EBADMSG},                    // no room for a header
		{"21360004 000001 00", -EBADMSG},                 // nor for one with a SEID
		{"2136000b 0000000000000751 00000b00", -EBADMSG}, // length within the header
		{"20010003 00000100", -EBADMSG},
		{"2001000d 00000100 00600004 eeb81eaf", -EBADMSG}, // longer than the datagram
		{"2001000b 00000100 00600004 eeb81eaf", -EBADMSG}, // shorter
		{"2001ffff 00000100 00600004 eeb81eaf", -EBADMSG},
		{"2801000c 00000100 00600004 eeb81eaf", -EBADMSG}, // spare bits
		{"3001000c 00000100 00600004 eeb81eaf", -EBADMSG},
		{"2401000c 00000100 00600004 eeb81eaf", -EBADMSG}, // announces another message
		{"2105000c 0000000000000001 00000100", -EBADMSG},  // an association with a SEID
		{"20360004 00000100", -EBADMSG},                   // a session without one
		{"4001000c 00000700 00600004 eeb81eaf", -EPROTONOSUPPORT, 1, 7},
		{"0001000c 00000700 00600004 eeb81eaf", -EPROTONOSUPPORT, 1, 7},
		{"2012 0004 00000700", -ENOMSG, 18, 7},
		{"20ff 0004 00000700", -ENOMSG, 255, 7},
		{"2000 0004 00000700", -ENOMSG, 0, 7},
	};

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		uint8_t data[64];
		size_t len = hex_read(rows[i].hex, data, sizeof(data));
		uint8_t *octets = octets_copy(data, len);
		struct pfcp_cursor datagram = pfcp_cursor_of(octets, len);
		struct pfcp_msg msg;
		int rc = pfcp_msg_decode(&datagram, &msg);

		CU_ASSERT_EQUAL(rc, rows[i].rc);
		if (rc != -EBADMSG) {
			CU_ASSERT_EQUAL(msg.type, rows[i].type);
			CU_ASSERT_EQUAL(msg.seq, rows[i].seq);
		}
		if (rc == 0) {
			CU_ASSERT_EQUAL(msg.seid, rows[i].seid);
			CU_ASSERT_EQUAL(pfcp_cursor_left(&msg.ies), rows[i].ies);
			CU_ASSERT_EQUAL(pfcp_cursor_left(&datagram), 0);
		}
		free(octets);
	}
}

static void bundles_and_priorities_are_read(void)
{
	uint8_t data[64];
	size_t len = hex_read("2401000c 00000100 00600004 eeb81eaf"
			      "2738000c 0000000000000001 00000250"
			      "2001000c 00000300 00600004 eeb81eaf",
			      data, sizeof(data));
	struct pfcp_cursor datagram = pfcp_cursor_of(data, len);
	struct pfcp_msg msg;

	CU_ASSERT_EQUAL(pfcp_msg_decode(&datagram, &msg), 0);
	CU_ASSERT(msg.more && msg.seq == 1 && !msg.has_priority);
	CU_ASSERT_EQUAL(pfcp_msg_decode(&datagram, &msg), 0);
	CU_ASSERT(msg.more && msg.seq == 2 && msg.seid == 1);
	CU_ASSERT(msg.has_priority && msg.priority == 5);
	CU_ASSERT_EQUAL(pfcp_msg_decode(&datagram, &msg), 0);
	CU_ASSERT(!msg.more && msg.seq == 3);
	CU_ASSERT_EQUAL(pfcp_cursor_left(&datagram), 0);
}

// Headers for check_rows: their lengths are set by the loop.
#define HEARTBEAT "20010000 00000100 "
#define SETUP "20050000 00000100 "
#define SETUP_RESPONSE "20060000 00000100 "
#define ESTABLISH "21320000 0000000000000000 00000100 "
#define MODIFY "21340000 0000000000000001 00000100 "
#define MODIFY_RESPONSE "21350000 0000000000000001 00000100 "
#define REPORT_RESPONSE "21390000 0000000000000001 00000100 "
#define NODE "003c 0005 00 7f000001 "
#define TIME "0060 0004 eeb81eaf "
#define SEID "0039 000d 02 0000000000000001 7f000001 "
#define PDR "0001 0017 0038 0002 0001 001d 0004 00000001 0002 0005 0014 0001 00 "
#define FAR "0003 000d 006c 0004 00000001 002c 0001 02 "

static const struct {
	const char *hex;
	uint8_t cause; // 0: nothing wrong
	uint16_t ie;
	uint16_t unknown, vendor, unexpected, repeated;
} check_rows[] = {
	{HEARTBEAT TIME, 0},
	{HEARTBEAT "0060 0000", 68, PFCP_IE_RECOVERY_TIME_STAMP},
	{HEARTBEAT "0060 0003 e81fe7", 68, PFCP_IE_RECOVERY_TIME_STAMP},
	{HEARTBEAT "", 66, PFCP_IE_RECOVERY_TIME_STAMP},
	{HEARTBEAT "ffff 0000 0060 0004 e81fdc30", 68, 0xffff},
	{HEARTBEAT "ffff 0001 00 0060 0004 e81fdc30", 68, 0xffff},
	{HEARTBEAT "8001 0002 28af" TIME, 0, 0, .vendor = 1},
	{HEARTBEAT "8001 0005 28af 010203 8002 0002 0001" TIME, 0, 0, .vendor = 2},
	{HEARTBEAT TIME "0060 0005 e81fdc30", 68, PFCP_IE_RECOVERY_TIME_STAMP},
	{HEARTBEAT TIME "ffff", 68, 0xffff},
	{HEARTBEAT TIME "00", 68, 0},
	{HEARTBEAT TIME "0060 00", 68, PFCP_IE_RECOVERY_TIME_STAMP},
	{HEARTBEAT TIME "0142 0000 0074 0001 00 0000 0000", 0, 0, .unknown = 3},
	{HEARTBEAT TIME "0015 0000", 0, 0, .unexpected = 1}, // an F-TEID; not for us to judge
	{HEARTBEAT TIME TIME "0060 0000", 0, 0, .repeated = 2},
	{SETUP NODE TIME, 0},
	{SETUP NODE TIME "0059 0001 00 002b 000a ffffffffffffffffffff", 0},
	{SETUP TIME, 66, PFCP_IE_NODE_ID},
	{SETUP NODE, 66, PFCP_IE_RECOVERY_TIME_STAMP},
	{SETUP "003c 0004 00 7f0000" TIME, 68, PFCP_IE_NODE_ID},
	{SETUP "003c 0000" TIME, 68, PFCP_IE_NODE_ID},
	{SETUP_RESPONSE NODE "0013 0001 01", 66, PFCP_IE_RECOVERY_TIME_STAMP},
	{SETUP_RESPONSE NODE "0013 0001 49", 0}, // a refusal may lack the rest
	{SETUP_RESPONSE NODE, 66, PFCP_IE_CAUSE},
	{ESTABLISH NODE SEID PDR FAR, 0},
	{ESTABLISH NODE SEID PDR PDR FAR, 0},
	{ESTABLISH SEID PDR FAR, 66, PFCP_IE_NODE_ID},
	{ESTABLISH NODE PDR FAR, 66, PFCP_IE_F_SEID},
	{ESTABLISH NODE SEID FAR, 66, PFCP_IE_CREATE_PDR},
	{ESTABLISH NODE SEID PDR, 66, PFCP_IE_CREATE_FAR},
	{ESTABLISH NODE SEID PDR "0003 0008 006c 0004 00000001", 66, PFCP_IE_APPLY_ACTION},
	{ESTABLISH NODE SEID PDR "0003 0000", 66, PFCP_IE_FAR_ID},
	{ESTABLISH NODE SEID FAR "0001 000e 0038 0002 0001 001d 0004 00000001", 66, PFCP_IE_PDI},
	{ESTABLISH NODE SEID FAR "0001 0012 0038 0002 0001 001d 0004 00000001 0002 0000", 66,
	 PFCP_IE_SOURCE_INTERFACE},
	{ESTABLISH NODE SEID FAR "0001 000e 0038 0003 0001 001d 0004 00000001", 68,
	 0x1d00}, // what follows is read askew
	{ESTABLISH NODE SEID FAR "0001 0006 0038 0004 0001", 68, PFCP_IE_PDR_ID},
	{ESTABLISH NODE SEID FAR "0001 0005 0038 0001 00", 68, PFCP_IE_PDR_ID},
	{ESTABLISH NODE SEID FAR "0001 00ff 0038 0002 0001", 68, PFCP_IE_CREATE_PDR},
	{ESTABLISH NODE SEID FAR "0001 0001 00", 68, PFCP_IE_CREATE_PDR},
	{ESTABLISH NODE SEID PDR FAR "008d 0002 0105", 68, PFCP_IE_USER_ID},
	{MODIFY "", 0},
	{MODIFY "0009 0004 0038 0000", 68, PFCP_IE_PDR_ID},
	{MODIFY "0009 0006 0038 0002 0001", 0},
	// An empty IE in an update takes it away; in what is made new it is wrong (5.6.3).
	{MODIFY "000a 0010 006c 0004 00000001 000b 0004 0054 0000", 0},
	{MODIFY "0003 0015 006c 0004 00000001 002c 0001 02 0004 0004 0054 0000", 68,
	 PFCP_IE_OUTER_HEADER_CREATION},
	{MODIFY "000d 000c 0051 0004 00000001 001f 0000", 0},
	{MODIFY "000d 000d 0051 0004 00000001 001f 0001 01", 68, PFCP_IE_VOLUME_THRESHOLD},
	{MODIFY "0098 0000", 0},
	{MODIFY_RESPONSE "", 66, PFCP_IE_CAUSE},
	{MODIFY_RESPONSE "0013 0001 01", 0},
	{MODIFY_RESPONSE "0013 0000", 68, PFCP_IE_CAUSE},
	{REPORT_RESPONSE "", 66, PFCP_IE_CAUSE},
	{REPORT_RESPONSE "0013 0001 41", 0},
};

static void messages_are_checked(void)
{
	unsigned refused = 0;

	for (unsigned i = 0; i < LENGTH(check_rows); i++) {
		uint8_t data[256];
		size_t len = hex_read(check_rows[i].hex, data, sizeof(data));
		struct pfcp_fault fault = {0};
		struct pfcp_cursor datagram;
		struct pfcp_msg msg;
		uint8_t *octets;

		data[2] = (uint8_t)((len - 4) >> 8);
		data[3] = (uint8_t)(len - 4);
		octets = octets_copy(data, len);
		datagram = pfcp_cursor_of(octets, len);
		CU_ASSERT_EQUAL_FATAL(pfcp_msg_decode(&datagram, &msg), 0);
		CU_ASSERT_EQUAL(pfcp_msg_check(&msg, &fault), check_rows[i].cause ? -EINVAL : 0);
		if (fault.cause != check_rows[i].cause || fault.offending_ie != check_rows[i].ie)
			fprintf(stderr, "row %u: %u %u %s\n", i, fault.cause, fault.offending_ie,
				fault.text);
		CU_ASSERT_EQUAL(fault.cause, check_rows[i].cause);
		CU_ASSERT_EQUAL(fault.offending_ie, check_rows[i].ie);
		CU_ASSERT(!fault.has_rule);
		CU_ASSERT_EQUAL(msg.unknown, check_rows[i].unknown);
		CU_ASSERT_EQUAL(msg.vendor, check_rows[i].vendor);
		CU_ASSERT_EQUAL(msg.unexpected, check_rows[i].unexpected);
		CU_ASSERT_EQUAL(msg.repeated, check_rows[i].repeated);
		refused += check_rows[i].cause != 0;
		free(octets);
	}
	CU_ASSERT(refused > 25);
}

// Every message of the table without IEs is refused for its first mandatory one, or is right.
static void every_message_needs_its_ies(void)
{
	unsigned refused = 0, right = 0;

	for (unsigned type = 0; type <= UINT8_MAX; type++) {
		const struct pfcp_msg_info *info = pfcp_msg_info_lookup((uint8_t)type);
		struct pfcp_fault fault = {0};
		struct pfcp_cursor datagram;
		struct pfcp_writer w;
		struct pfcp_msg msg;
		uint8_t buf[32];
		unsigned i = 0;

		if (info == NULL)
			continue;
		pfcp_writer_init(&w, buf, sizeof(buf));
		pfcp_msg_begin(&w, (uint8_t)type, 1, 0x123456);
		datagram = pfcp_cursor_of(buf, pfcp_msg_end(&w));
		CU_ASSERT_EQUAL(pfcp_cursor_left(&datagram), info->session ? 16 : 8);
		CU_ASSERT_EQUAL_FATAL(pfcp_msg_decode(&datagram, &msg), 0);
		CU_ASSERT(msg.type == type && msg.seq == 0x123456 && msg.info == info);
		CU_ASSERT_EQUAL(msg.seid, info->session ? 1 : 0);
		while (i < info->members_count && info->members[i].presence != PFCP_MANDATORY)
			i++;
		if (i == info->members_count) {
			CU_ASSERT_EQUAL(pfcp_msg_check(&msg, &fault), 0);
			right++;
		} else {
			CU_ASSERT_EQUAL(pfcp_msg_check(&msg, &fault), -EINVAL);
			CU_ASSERT_EQUAL(fault.cause, PFCP_CAUSE_MANDATORY_MISSING);
			CU_ASSERT_EQUAL(fault.offending_ie, info->members[i].type);
			refused++;
		}
	}
	CU_ASSERT_EQUAL(right, 4); // PFD management, version not supported, modification, deletion
	CU_ASSERT_EQUAL(refused, 21);
}

static const struct pfcp_f_teid sample_f_teid = {
	.flags = PFCP_F_TEID_V4, .teid = 0x0a000001, .v4 = {.s_addr = 0x0100007f}};

static void session_response_write(struct pfcp_writer *w)
{
	const struct pfcp_ue_ip_address ue = {.flags = PFCP_UE_IP_ADDRESS_V4,
					      .v4 = {.s_addr = 0x02002d0a}};
	const struct pfcp_fault fault = {.cause = PFCP_CAUSE_RULE_FAILURE,
					 .offending_ie = PFCP_IE_SDF_FILTER,
					 .has_rule = true,
					 .rule_type = RULE_PDR,
					 .rule_id = 7};
	const struct pfcp_usage_report report = {
		.urr_id = 1,
		.seqn = 2,
		.trigger = PFCP_USAGE_REPORT_TRIGGER_IMMER,
		.start = 3,
		.end = 4,
		.has_duration = true,
		.duration_s = 5,
		.first_packet = 6,
		.last_packet = 7,
		.usage_information = PFCP_USAGE_INFORMATION_BEF,
		.has_query_reference = true,
		.query_reference = 8,
		.volume = {.flags = 7, .total = 9, .up = 4, .down = 5}};
	const struct pfcp_packet_rate_status rate = {.flags = PFCP_PACKET_RATE_STATUS_UL, .up = 3};

	pfcp_msg_begin(w, PFCP_SESSION_MODIFICATION_RESPONSE, 0x66c, 5);
	pfcp_fault_encode(w, &fault);
	pfcp_created_pdr_encode(w, PFCP_IE_CREATED_PDR, 2, &sample_f_teid, &ue);
	pfcp_created_pdr_encode(w, PFCP_IE_UPDATED_PDR, 3, NULL, &ue);
	pfcp_load_control_encode(w, 1, 50);
	pfcp_overload_control_encode(w, 1, 20, 60, PFCP_OCI_FLAGS_AOCI);
	pfcp_usage_report_encode(w, PFCP_IE_USAGE_REPORT_MODIFICATION, &report);
	pfcp_uint_encode(w, PFCP_IE_ADDITIONAL_USAGE_REPORTS_INFORMATION,
			 PFCP_ADDITIONAL_REPORTS_AURI | 2);
	pfcp_created_endpoint_encode(w, 9, &sample_f_teid, NULL);
	pfcp_packet_rate_report_encode(w, PFCP_IE_PACKET_RATE_STATUS_REPORT_MODIFICATION, 4, &rate);
}

static void report_request_write(struct pfcp_writer *w)
{
	const uint16_t pdrs[] = {1, 2};
	const struct pfcp_downlink_data_service service = {
		.flags = PFCP_DOWNLINK_DATA_SERVICE_INFORMATION_QFII, .qfi = 9};
	const struct pfcp_usage_report report = {.urr_id = 1};

	pfcp_msg_begin(w, PFCP_SESSION_REPORT_REQUEST, 0x66c, 6);
	pfcp_uint_encode(w, PFCP_IE_REPORT_TYPE,
			 PFCP_REPORT_TYPE_DLDR | PFCP_REPORT_TYPE_USAR | PFCP_REPORT_TYPE_ERIR |
				 PFCP_REPORT_TYPE_UPIR);
	pfcp_downlink_data_report_encode(w, pdrs, LENGTH(pdrs), &service);
	pfcp_usage_report_encode(w, PFCP_IE_USAGE_REPORT, &report);
	pfcp_error_indication_report_encode(w, &sample_f_teid);
}

static void node_report_write(struct pfcp_writer *w)
{
	const struct pfcp_remote_peer peers[] = {{.flags = PFCP_REMOTE_GTP_U_PEER_V4,
						  .v4 = {.s_addr = 0x0100007f}},
						 {.flags = PFCP_REMOTE_GTP_U_PEER_V6}};
	const struct pfcp_node_id id = {.type = PFCP_NODE_ID_IPV4, .v4 = {.s_addr = 0x0100007f}};

	pfcp_msg_begin(w, PFCP_NODE_REPORT_REQUEST, 0, 7);
	pfcp_node_id_encode(w, &id);
	pfcp_uint_encode(w, PFCP_IE_NODE_REPORT_TYPE,
			 PFCP_NODE_REPORT_TYPE_UPFR | PFCP_NODE_REPORT_TYPE_UPRR);
	pfcp_path_report_encode(w, PFCP_IE_USER_PLANE_PATH_FAILURE_REPORT, peers, LENGTH(peers));
	pfcp_path_report_encode(w, PFCP_IE_USER_PLANE_PATH_RECOVERY_REPORT, peers, 1);
}

static void (*const writes[])(struct pfcp_writer *w) = {session_response_write,
							report_request_write, node_report_write};

// What the UPF writes is right by the tables, and every IE stands where 3GPP has it.
static void what_we_write_is_right(void)
{
	for (unsigned i = 0; i < LENGTH(writes); i++) {
		uint8_t buf[1024];
		struct pfcp_fault fault = {0};
		struct pfcp_cursor datagram;
		struct pfcp_writer w;
		struct pfcp_msg msg;
		size_t len;

		pfcp_writer_init(&w, buf, sizeof(buf));
		writes[i](&w);
		len = pfcp_msg_end(&w);
		CU_ASSERT(len > 40 && len == w.len);
		datagram = pfcp_cursor_of(buf, len);
		CU_ASSERT_EQUAL_FATAL(pfcp_msg_decode(&datagram, &msg), 0);
		CU_ASSERT_EQUAL(pfcp_msg_check(&msg, &fault), 0);
		CU_ASSERT_EQUAL(msg.unknown + msg.vendor + msg.unexpected + msg.repeated, 0);
	}
}

// No buffer is too small to be safe: nothing is written beyond it and the message is not sent.
static void small_buffers_fail(void)
{
	for (unsigned i = 0; i < LENGTH(writes); i++) {
		uint8_t whole[1024];
		struct pfcp_writer w;
		size_t len;

		pfcp_writer_init(&w, whole, sizeof(whole));
		writes[i](&w);
		len = pfcp_msg_end(&w);
		for (size_t size = 0; size <= len; size++) {
			uint8_t *buf = octets_copy(whole, size);

			pfcp_writer_init(&w, buf, size);
			writes[i](&w);
			CU_ASSERT_EQUAL(pfcp_msg_end(&w), size < len ? 0 : len);
			CU_ASSERT(w.len <= size);
			free(buf);
		}
	}
}

static void what_is_too_long_fails(void)
{
	static uint8_t buf[200000], text[65536];
	const struct pfcp_sdf_filter filter = {.flags = PFCP_SDF_FILTER_FD,
					       .description = {text, 65535}};
	const struct pfcp_forwarding_policy policy = {.id = {text, 256}};
	const struct pfcp_fq_csid csid = {.count = 2, .ids = {text, 2}};
	struct pfcp_writer w;

	pfcp_writer_init(&w, buf, sizeof(buf));
	pfcp_octets_encode(&w, PFCP_IE_APPLICATION_ID, text, 65535);
	CU_ASSERT(!w.failed);
	pfcp_sdf_filter_encode(&w, &filter); // the text fits its length, the IE does not
	CU_ASSERT(w.failed);
	pfcp_writer_init(&w, buf, sizeof(buf));
	pfcp_octets_encode(&w, PFCP_IE_APPLICATION_ID, text, 65536);
	CU_ASSERT(w.failed);
	pfcp_writer_init(&w, buf, sizeof(buf));
	pfcp_forwarding_policy_encode(&w, &policy);
	CU_ASSERT(w.failed);
	pfcp_writer_init(&w, buf, sizeof(buf));
	pfcp_fq_csid_encode(&w, &csid);
	CU_ASSERT(w.failed);
	pfcp_writer_init(&w, buf, sizeof(buf));
	pfcp_name_encode(&w, PFCP_IE_NETWORK_INSTANCE, "a..b");
	CU_ASSERT(w.failed);
	pfcp_writer_init(&w, buf, sizeof(buf));
	pfcp_msg_begin(&w, PFCP_HEARTBEAT_REQUEST, 0, 1);
	pfcp_octets_encode(&w, PFCP_IE_APPLICATION_ID, text, 40000);
	pfcp_octets_encode(&w, PFCP_IE_APPLICATION_ID, text, 40000);
	CU_ASSERT_EQUAL(pfcp_msg_end(&w), 0);
}

static void ies_are_found(void)
{
	uint8_t data[64];
	size_t len = hex_read(NODE TIME "0060 0004 00000002 003c 00ff", data, sizeof(data));
	struct pfcp_cursor ies = pfcp_cursor_of(data, len);
	struct pfcp_ie ie = {0};

	CU_ASSERT_EQUAL(pfcp_ie_find(ies, PFCP_IE_RECOVERY_TIME_STAMP, &ie), 0);
	CU_ASSERT(ie.len == 4 && ie.data == data + 13); // the first of the two
	CU_ASSERT_EQUAL(pfcp_ie_find(ies, PFCP_IE_CAUSE, &ie), -EBADMSG);
	CU_ASSERT_EQUAL(ie.type, PFCP_IE_RECOVERY_TIME_STAMP); // untouched
	ies.end -= 4;
	CU_ASSERT_EQUAL(pfcp_ie_find(ies, PFCP_IE_CAUSE, &ie), -ENOENT);
}

static CU_TestInfo tests[] = {
	{"headers are read", headers_are_read},
	{"bundles and priorities are read", bundles_and_priorities_are_read},
	{"messages are checked", messages_are_checked},
	{"every message needs its IEs", every_message_needs_its_ies},
	{"what we write is right", what_we_write_is_right},
	{"small buffers fail", small_buffers_fail},
	{"what is too long fails", what_is_too_long_fails},
	{"IEs are found", ies_are_found},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("pfcp msg")
