// Every IE that TS 29.244 allows in a rule is one of three: read and done, harmless to leave out, or refused by its
// name. None is accepted and forgotten: a rule without it would not be the one that the SMF asked for.

#include "pfcp/codec.h"
#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

enum fate {
	DONE,     // read, with tests of its own
	HARMLESS, // changes nothing of what happens to packets: `why`
	REFUSED,  // all that has no row
};

struct member {
	uint16_t group, type;
	enum fate fate;
	const char *why;
};

#define READ(group, type)                                                                          \
	{                                                                                          \
		PFCP_IE_##group, PFCP_IE_##type, DONE, NULL                                        \
	}
#define SAFE(group, type, why)                                                                     \
	{                                                                                          \
		PFCP_IE_##group, PFCP_IE_##type, HARMLESS, why                                     \
	}

#define RAT "only says by which radio usage is to be reported, which is not offered"
#define BEHIND "names the network behind the interface; where to send is said by others"

static const struct member members[] = {
	READ(CREATE_PDR, PDR_ID),
	READ(CREATE_PDR, PRECEDENCE),
	READ(CREATE_PDR, PDI),
	READ(CREATE_PDR, OUTER_HEADER_REMOVAL),
	READ(CREATE_PDR, FAR_ID),
	READ(CREATE_PDR, URR_ID),
	READ(CREATE_PDR, QER_ID),
	READ(CREATE_PDR, ACTIVATE_PREDEFINED_RULES),
	READ(CREATE_PDR, ACTIVATION_TIME),
	READ(CREATE_PDR, DEACTIVATION_TIME),
	SAFE(CREATE_PDR, RAT_TYPE, RAT),

	READ(UPDATE_PDR, PDR_ID),
	READ(UPDATE_PDR, PRECEDENCE),
	READ(UPDATE_PDR, PDI),
	READ(UPDATE_PDR, OUTER_HEADER_REMOVAL),
	READ(UPDATE_PDR, FAR_ID),
	READ(UPDATE_PDR, URR_ID),
	READ(UPDATE_PDR, QER_ID),
	READ(UPDATE_PDR, ACTIVATE_PREDEFINED_RULES),
	READ(UPDATE_PDR, DEACTIVATE_PREDEFINED_RULES),
	READ(UPDATE_PDR, ACTIVATION_TIME),
	READ(UPDATE_PDR, DEACTIVATION_TIME),
	SAFE(UPDATE_PDR, RAT_TYPE, RAT),

	READ(PDI, SOURCE_INTERFACE),
	READ(PDI, F_TEID),
	READ(PDI, NETWORK_INSTANCE),
	READ(PDI, UE_IP_ADDRESS),
	READ(PDI, TRAFFIC_ENDPOINT_ID),
	READ(PDI, SDF_FILTER),
	READ(PDI, QFI),
	READ(PDI, 3GPP_INTERFACE_TYPE),
	READ(PDI, FRAMED_ROUTE),
	READ(PDI, FRAMED_ROUTING),
	READ(PDI, FRAMED_IPV6_ROUTE),

	READ(CREATE_FAR, FAR_ID),
	READ(CREATE_FAR, APPLY_ACTION),
	READ(CREATE_FAR, FORWARDING_PARAMETERS),
	READ(CREATE_FAR, DUPLICATING_PARAMETERS),
	READ(CREATE_FAR, BAR_ID),
	READ(UPDATE_FAR, FAR_ID),
	READ(UPDATE_FAR, APPLY_ACTION),
	READ(UPDATE_FAR, UPDATE_FORWARDING_PARAMETERS),
	READ(UPDATE_FAR, UPDATE_DUPLICATING_PARAMETERS),
	READ(UPDATE_FAR, BAR_ID),

	READ(FORWARDING_PARAMETERS, DESTINATION_INTERFACE),
	READ(FORWARDING_PARAMETERS, NETWORK_INSTANCE),
	READ(FORWARDING_PARAMETERS, OUTER_HEADER_CREATION),
	READ(FORWARDING_PARAMETERS, TRANSPORT_LEVEL_MARKING),
	READ(FORWARDING_PARAMETERS, FORWARDING_POLICY),
	READ(FORWARDING_PARAMETERS, REDIRECT_INFORMATION),
	READ(FORWARDING_PARAMETERS, TRAFFIC_ENDPOINT_ID),
	SAFE(FORWARDING_PARAMETERS, 3GPP_INTERFACE_TYPE, BEHIND),
	READ(UPDATE_FORWARDING_PARAMETERS, DESTINATION_INTERFACE),
	READ(UPDATE_FORWARDING_PARAMETERS, NETWORK_INSTANCE),
	READ(UPDATE_FORWARDING_PARAMETERS, OUTER_HEADER_CREATION),
	READ(UPDATE_FORWARDING_PARAMETERS, TRANSPORT_LEVEL_MARKING),
	READ(UPDATE_FORWARDING_PARAMETERS, FORWARDING_POLICY),
	READ(UPDATE_FORWARDING_PARAMETERS, REDIRECT_INFORMATION),
	READ(UPDATE_FORWARDING_PARAMETERS, TRAFFIC_ENDPOINT_ID),
	READ(UPDATE_FORWARDING_PARAMETERS, PFCPSMREQ_FLAGS),
	SAFE(UPDATE_FORWARDING_PARAMETERS, 3GPP_INTERFACE_TYPE, BEHIND),

	READ(DUPLICATING_PARAMETERS, DESTINATION_INTERFACE),
	READ(DUPLICATING_PARAMETERS, OUTER_HEADER_CREATION),
	READ(DUPLICATING_PARAMETERS, TRANSPORT_LEVEL_MARKING),
	READ(DUPLICATING_PARAMETERS, FORWARDING_POLICY),
	READ(UPDATE_DUPLICATING_PARAMETERS, DESTINATION_INTERFACE),
	READ(UPDATE_DUPLICATING_PARAMETERS, OUTER_HEADER_CREATION),
	READ(UPDATE_DUPLICATING_PARAMETERS, TRANSPORT_LEVEL_MARKING),
	READ(UPDATE_DUPLICATING_PARAMETERS, FORWARDING_POLICY),

	READ(CREATE_QER, QER_ID),
	READ(CREATE_QER, QER_CORRELATION_ID),
	READ(CREATE_QER, GATE_STATUS),
	READ(CREATE_QER, MBR),
	READ(CREATE_QER, GBR),
	READ(CREATE_QER, PACKET_RATE),
	READ(CREATE_QER, QFI),
	READ(CREATE_QER, RQI),
	READ(CREATE_QER, PAGING_POLICY_INDICATOR),
	READ(CREATE_QER, AVERAGING_WINDOW),
	READ(UPDATE_QER, QER_ID),
	READ(UPDATE_QER, QER_CORRELATION_ID),
	READ(UPDATE_QER, GATE_STATUS),
	READ(UPDATE_QER, MBR),
	READ(UPDATE_QER, GBR),
	READ(UPDATE_QER, PACKET_RATE),
	READ(UPDATE_QER, QFI),
	READ(UPDATE_QER, RQI),
	READ(UPDATE_QER, PAGING_POLICY_INDICATOR),
	READ(UPDATE_QER, AVERAGING_WINDOW),

	READ(CREATE_URR, URR_ID),
	READ(CREATE_URR, MEASUREMENT_METHOD),
	READ(CREATE_URR, REPORTING_TRIGGERS),
	READ(CREATE_URR, MEASUREMENT_PERIOD),
	READ(CREATE_URR, VOLUME_THRESHOLD),
	READ(CREATE_URR, VOLUME_QUOTA),
	READ(CREATE_URR, TIME_THRESHOLD),
	READ(CREATE_URR, TIME_QUOTA),
	READ(CREATE_URR, QUOTA_HOLDING_TIME),
	READ(CREATE_URR, QUOTA_VALIDITY_TIME),
	READ(CREATE_URR, MONITORING_TIME),
	READ(CREATE_URR, SUBSEQUENT_VOLUME_THRESHOLD),
	READ(CREATE_URR, SUBSEQUENT_TIME_THRESHOLD),
	READ(CREATE_URR, SUBSEQUENT_VOLUME_QUOTA),
	READ(CREATE_URR, SUBSEQUENT_TIME_QUOTA),
	READ(CREATE_URR, SUBSEQUENT_EVENT_THRESHOLD),
	READ(CREATE_URR, SUBSEQUENT_EVENT_QUOTA),
	READ(CREATE_URR, ADDITIONAL_MONITORING_TIME),
	READ(CREATE_URR, DROPPED_DL_TRAFFIC_THRESHOLD),
	READ(CREATE_URR, INACTIVITY_DETECTION_TIME),
	READ(CREATE_URR, EVENT_THRESHOLD),
	READ(CREATE_URR, EVENT_QUOTA),
	READ(CREATE_URR, LINKED_URR_ID),
	READ(CREATE_URR, FAR_ID),
	READ(CREATE_URR, MEASUREMENT_INFORMATION),
	READ(UPDATE_URR, URR_ID),
	READ(UPDATE_URR, MEASUREMENT_METHOD),
	READ(UPDATE_URR, REPORTING_TRIGGERS),
	READ(UPDATE_URR, MEASUREMENT_PERIOD),
	READ(UPDATE_URR, VOLUME_THRESHOLD),
	READ(UPDATE_URR, VOLUME_QUOTA),
	READ(UPDATE_URR, TIME_THRESHOLD),
	READ(UPDATE_URR, TIME_QUOTA),
	READ(UPDATE_URR, QUOTA_HOLDING_TIME),
	READ(UPDATE_URR, QUOTA_VALIDITY_TIME),
	READ(UPDATE_URR, MONITORING_TIME),
	READ(UPDATE_URR, SUBSEQUENT_VOLUME_THRESHOLD),
	READ(UPDATE_URR, SUBSEQUENT_TIME_THRESHOLD),
	READ(UPDATE_URR, SUBSEQUENT_VOLUME_QUOTA),
	READ(UPDATE_URR, SUBSEQUENT_TIME_QUOTA),
	READ(UPDATE_URR, SUBSEQUENT_EVENT_THRESHOLD),
	READ(UPDATE_URR, SUBSEQUENT_EVENT_QUOTA),
	READ(UPDATE_URR, ADDITIONAL_MONITORING_TIME),
	READ(UPDATE_URR, DROPPED_DL_TRAFFIC_THRESHOLD),
	READ(UPDATE_URR, INACTIVITY_DETECTION_TIME),
	READ(UPDATE_URR, EVENT_THRESHOLD),
	READ(UPDATE_URR, EVENT_QUOTA),
	READ(UPDATE_URR, LINKED_URR_ID),
	READ(UPDATE_URR, FAR_ID),
	READ(UPDATE_URR, MEASUREMENT_INFORMATION),

	READ(CREATE_BAR, BAR_ID),
	READ(CREATE_BAR, DOWNLINK_DATA_NOTIFICATION_DELAY),
	READ(CREATE_BAR, SUGGESTED_BUFFERING_PACKETS_COUNT),
	READ(UPDATE_BAR, BAR_ID),
	READ(UPDATE_BAR, DOWNLINK_DATA_NOTIFICATION_DELAY),
	READ(UPDATE_BAR, SUGGESTED_BUFFERING_PACKETS_COUNT),

	READ(CREATE_TRAFFIC_ENDPOINT, TRAFFIC_ENDPOINT_ID),
	READ(CREATE_TRAFFIC_ENDPOINT, F_TEID),
	READ(CREATE_TRAFFIC_ENDPOINT, NETWORK_INSTANCE),
	READ(CREATE_TRAFFIC_ENDPOINT, UE_IP_ADDRESS),
	READ(CREATE_TRAFFIC_ENDPOINT, QFI),
	READ(CREATE_TRAFFIC_ENDPOINT, 3GPP_INTERFACE_TYPE),
	SAFE(CREATE_TRAFFIC_ENDPOINT, RAT_TYPE, RAT),
	READ(UPDATE_TRAFFIC_ENDPOINT, TRAFFIC_ENDPOINT_ID),
	READ(UPDATE_TRAFFIC_ENDPOINT, F_TEID),
	READ(UPDATE_TRAFFIC_ENDPOINT, NETWORK_INSTANCE),
	READ(UPDATE_TRAFFIC_ENDPOINT, UE_IP_ADDRESS),
	READ(UPDATE_TRAFFIC_ENDPOINT, QFI),
	READ(UPDATE_TRAFFIC_ENDPOINT, 3GPP_INTERFACE_TYPE),
	SAFE(UPDATE_TRAFFIC_ENDPOINT, RAT_TYPE, RAT),
};

static const struct member *member_lookup(uint16_t group, uint16_t type)
{
	for (unsigned i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (members[i].group == group && members[i].type == type)
			return &members[i];
	return NULL;
}

// --- writing ---------------------------------------------------------------------------------------------

// IEs whose flags or enumerations do not allow the zeros that stand for all others.
static const struct {
	uint16_t type;
	const char *hex;
} values[] = {
	{PFCP_IE_F_TEID, "0015000901000000017f000007"},
	{PFCP_IE_OUTER_HEADER_CREATION, "0054000a0100000000017f000032"},
	{PFCP_IE_SOURCE_INTERFACE, "0014000101"},
	{PFCP_IE_HEADER_ENRICHMENT, "006200050001610162"},
	{PFCP_IE_TIME_QUOTA_MECHANISM, "007300050000000001"},
};

// An IE of this type with the least that it may hold; a group with its mandatory members.
static void put_least(uint16_t type)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(type);
	size_t mark;

	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (values[i].type == type) {
			put_hex(values[i].hex);
			return;
		}
	mark = ie_begin(type);
	for (unsigned i = 0; i < info->members_count; i++)
		if (info->members[i].presence == PFCP_MANDATORY)
			put_least(info->members[i].type);
	if (!info->members_count)
		for (unsigned i = 0; i < (info->least ? info->least : 1u); i++)
			put(0, 1);
	ie_end(mark);
}

// A rule of each kind, as text, with one more IE in one of its groups.
#define ENDPOINT_9 "0083000109"

static void put_more(uint16_t group, uint16_t here, uint16_t type)
{
	if (group == here)
		put_least(type);
}

static void put_groups(bool update, uint16_t group, uint16_t type)
{
	size_t mark, inner;

	mark = ie_begin(update ? PFCP_IE_UPDATE_PDR : PFCP_IE_CREATE_PDR);
	put_hex("003800020009 001d000400000050");
	inner = ie_begin(PFCP_IE_PDI);
	put_hex("0014000101" ENDPOINT_9);
	put_more(group, PFCP_IE_PDI, type);
	ie_end(inner);
	put_hex("006c000400000009");
	put_more(group, update ? PFCP_IE_UPDATE_PDR : PFCP_IE_CREATE_PDR, type);
	ie_end(mark);

	mark = ie_begin(update ? PFCP_IE_UPDATE_FAR : PFCP_IE_CREATE_FAR);
	put_hex("006c000400000009 002c000102");
	inner = ie_begin(update ? PFCP_IE_UPDATE_FORWARDING_PARAMETERS
				: PFCP_IE_FORWARDING_PARAMETERS);
	put_hex("002a000101");
	put_more(group,
		 update ? PFCP_IE_UPDATE_FORWARDING_PARAMETERS : PFCP_IE_FORWARDING_PARAMETERS,
		 type);
	ie_end(inner);
	inner = ie_begin(update ? PFCP_IE_UPDATE_DUPLICATING_PARAMETERS
				: PFCP_IE_DUPLICATING_PARAMETERS);
	put_hex("002a000104 0054000a0100000000017f000032");
	put_more(group,
		 update ? PFCP_IE_UPDATE_DUPLICATING_PARAMETERS : PFCP_IE_DUPLICATING_PARAMETERS,
		 type);
	ie_end(inner);
	put_more(group, update ? PFCP_IE_UPDATE_FAR : PFCP_IE_CREATE_FAR, type);
	ie_end(mark);

	mark = ie_begin(update ? PFCP_IE_UPDATE_QER : PFCP_IE_CREATE_QER);
	put_hex("006d000400000009" QER_OPEN);
	put_more(group, update ? PFCP_IE_UPDATE_QER : PFCP_IE_CREATE_QER, type);
	ie_end(mark);

	mark = ie_begin(update ? PFCP_IE_UPDATE_URR : PFCP_IE_CREATE_URR);
	put_hex("0051000400000009" URR_VOLUME);
	put_more(group, update ? PFCP_IE_UPDATE_URR : PFCP_IE_CREATE_URR, type);
	ie_end(mark);

	mark = ie_begin(update ? PFCP_IE_UPDATE_BAR : PFCP_IE_CREATE_BAR);
	put_hex("0058000109");
	put_more(group, update ? PFCP_IE_UPDATE_BAR : PFCP_IE_CREATE_BAR, type);
	ie_end(mark);

	mark = ie_begin(update ? PFCP_IE_UPDATE_TRAFFIC_ENDPOINT : PFCP_IE_CREATE_TRAFFIC_ENDPOINT);
	put_hex(update ? ENDPOINT_9 "005d0005060a2d0008" : ENDPOINT_9 "005d0005060a2d0009");
	put_more(group, update ? PFCP_IE_UPDATE_TRAFFIC_ENDPOINT : PFCP_IE_CREATE_TRAFFIC_ENDPOINT,
		 type);
	ie_end(mark);
}

// --- each ------------------------------------------------------------------------------------------------

static const struct {
	uint16_t group;
	bool update; // stands in an update
	int kind;    // of the Failed Rule ID
} groups[] = {
	{PFCP_IE_CREATE_PDR, false, 0},
	{PFCP_IE_UPDATE_PDR, true, 0},
	{PFCP_IE_PDI, false, 0},
	{PFCP_IE_PDI, true, 0},
	{PFCP_IE_CREATE_FAR, false, 1},
	{PFCP_IE_UPDATE_FAR, true, 1},
	{PFCP_IE_FORWARDING_PARAMETERS, false, 1},
	{PFCP_IE_UPDATE_FORWARDING_PARAMETERS, true, 1},
	{PFCP_IE_DUPLICATING_PARAMETERS, false, 1},
	{PFCP_IE_UPDATE_DUPLICATING_PARAMETERS, true, 1},
	{PFCP_IE_CREATE_QER, false, 2},
	{PFCP_IE_UPDATE_QER, true, 2},
	{PFCP_IE_CREATE_URR, false, 3},
	{PFCP_IE_UPDATE_URR, true, 3},
	{PFCP_IE_CREATE_BAR, false, 4},
	{PFCP_IE_UPDATE_BAR, true, 4},
	{PFCP_IE_CREATE_TRAFFIC_ENDPOINT, false, -1},
	{PFCP_IE_UPDATE_TRAFFIC_ENDPOINT, true, -1},
};

static bool is_right(const struct member *m, uint16_t type, int kind, uint32_t place,
		     uint32_t place_now)
{
	if (m && m->fate == HARMLESS)
		return answer_cause() == 1 && place == place_now;
	return answer_cause() == 73 && answer_number(40) == type && failed_kind() == kind &&
	       failed_id() == (kind < 0 ? -1 : 9);
}

// `seid` has the rules of put_groups(), which compile to `place`.
static unsigned check_group(unsigned g, uint64_t seid, uint32_t place)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(groups[g].group);
	unsigned refused = 0;

	for (unsigned i = 0; i < info->members_count; i++) {
		uint16_t type = info->members[i].type;
		const struct member *m = member_lookup(groups[g].group, type);
		uint64_t other = 0;
		bool right;

		if (m && m->fate == DONE)
			continue;
		if (groups[g].update)
			msg_begin(52, seid);
		else
			establish_begin(100);
		put_groups(groups[g].update, groups[g].group, type);
		msg_send();
		if (!groups[g].update && answer_cause() == 1)
			other = up_seid();
		right = is_right(m, type, groups[g].kind, place,
				 session_of(other ? other : seid)->holding.rules);
		if (!right)
			fprintf(stderr, "\n  %s in %s%s: cause %u, IE %u, rule %d %d\n",
				pfcp_ie_info_lookup(type)->title, info->title,
				groups[g].update ? " (update)" : "", answer_cause(),
				(unsigned)answer_number(40), failed_kind(), (int)failed_id());
		CU_ASSERT(right);
		refused += !m;
		if (other)
			delete_session(other);
	}
	return refused;
}

static void test_members(void)
{
	struct kit_counts before, after;
	unsigned refused = 0;
	uint64_t seid;
	uint32_t place;

	kit_open(&conf);
	establish_begin(1);
	put_groups(false, 0, 0);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	seid = up_seid();
	place = session_of(seid)->holding.rules;
	msg_begin(52, seid); // so that establishments may have the UE's address
	put_hex("0081000e" ENDPOINT_9 "005d0005060a2d0008");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	before = kit_counts();
	for (unsigned g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		refused += check_group(g, seid, place);
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	CU_ASSERT(refused > 60);
	kit_close();
}

// Every row is of an IE that 3GPP allows there, and says why if it is left out.
static void test_table(void)
{
	for (unsigned i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct member *m = &members[i];
		const struct pfcp_ie_info *info = pfcp_ie_info_lookup(m->group);
		bool found = false;

		for (unsigned k = 0; k < info->members_count; k++)
			found |= info->members[k].type == m->type;
		CU_ASSERT(found);
		CU_ASSERT(m == member_lookup(m->group, m->type)); // once
		CU_ASSERT((m->fate == HARMLESS) == (m->why != NULL));
	}
}

static CU_TestInfo tests[] = {
	{"refused or harmless", test_members},
	{"the table", test_table},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_members")
