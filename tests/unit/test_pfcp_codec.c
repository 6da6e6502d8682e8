// The PFCP codec's values: every IE of the tables round trip and cut off at every length, the structs
// against octets written out by hand, and the values that are to be refused.

#include <arpa/inet.h>
#include <string.h>

#include "pfcp/codec.h"
#include "pfcp/codec_layout.h"
#include "octets.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void tables_are_whole(void)
{
	unsigned ies = 0, groups = 0, fields = 0;

	for (unsigned type = 0; type < PFCP_IE_COUNT; type++) {
		const struct pfcp_ie_info *info = pfcp_ie_info_lookup((uint16_t)type);

		if (info == NULL)
			continue;
		ies++;
		CU_ASSERT(info->title[0] != '\0' && info->clause[1] == '.');
		if (pfcp_layout_lookup((uint16_t)type)) {
			CU_ASSERT_EQUAL(info->members_count, 0);
			CU_ASSERT(pfcp_layout_lookup((uint16_t)type)->count > 0);
			fields++;
		} else {
			CU_ASSERT(info->members_count > 0);
			groups++;
		}
		if (info->kind == PFCP_KIND_FLAGS)
			CU_ASSERT(pfcp_flag_names_get((uint16_t)type)->count > 0);
		if (info->kind == PFCP_KIND_ENUM)
			CU_ASSERT(pfcp_value_names_get((uint16_t)type)->mask != 0);
		for (unsigned i = 0; i < info->members_count; i++)
			CU_ASSERT(pfcp_ie_info_lookup(info->members[i].type) != NULL);
	}
	CU_ASSERT_EQUAL(ies, 319); // 1 to 321, less 116 and 273
	CU_ASSERT_EQUAL(groups, 102);
	CU_ASSERT_EQUAL(fields, 217);
	CU_ASSERT(pfcp_ie_info_lookup(0) == NULL && pfcp_ie_info_lookup(116) == NULL);
	CU_ASSERT(pfcp_ie_info_lookup(322) == NULL && pfcp_ie_info_lookup(0xffff) == NULL);
}

// Random values for the fields of a layout. Numbers get as many bits as their place has.
static void values_fill(const struct pfcp_layout *layout, const uint8_t noise[64],
			struct pfcp_value values[PFCP_FIELDS_MAX])
{
	static const uint8_t bits[PFCP_WIRE_BYTES] = {
		[PFCP_WIRE_U8] = 8,     [PFCP_WIRE_U16] = 16,   [PFCP_WIRE_U24] = 24,
		[PFCP_WIRE_U32] = 32,   [PFCP_WIRE_U64] = 64,   [PFCP_WIRE_I32] = 32,
		[PFCP_WIRE_I64] = 64,   [PFCP_WIRE_HEX16] = 16, [PFCP_WIRE_HEX24] = 24,
		[PFCP_WIRE_HEX32] = 32, [PFCP_WIRE_HEX64] = 64, [PFCP_WIRE_TYPE] = 16,
		[PFCP_WIRE_TIME] = 32,  [PFCP_WIRE_TIMER] = 8,  [PFCP_WIRE_KBPS] = 40,
		[PFCP_WIRE_COUNT] = 16, [PFCP_WIRE_FLAGS] = 64,
	};
	uint64_t count = 0;
	uint64_t always = 0; // flags that stand for a count: items need it

	for (unsigned i = 0; i < layout->count; i++)
		if (layout->fields[i].role == PFCP_ROLE_COUNT)
			always |= layout->fields[i].mask;
	for (unsigned i = 0; i < layout->count; i++) {
		const struct pfcp_field *f = &layout->fields[i];
		uint16_t len = (uint16_t)(random_next() % 12 + 1);

		values[i] = (struct pfcp_value){.present = true};
		if (f->wire == PFCP_WIRE_NEXT || f->wire == PFCP_WIRE_SPARE)
			continue;
		if (f->wire == PFCP_WIRE_BITS) {
			unsigned mask = f->arg ? f->arg
					       : 7; // 7: every enumerated kind has three bits
			values[i].number = (random_next() & mask) >> __builtin_ctz(mask);
		} else if (!pfcp_wire_is_octets(f->wire)) {
			// No octet is zero: flags come back in as many octets as they were written.
			values[i].number = (random_next() | 0x0101010101010101ull) >>
					   (64 - bits[f->wire]);
		}
		if (f->role == PFCP_ROLE_FLAGS)
			values[i].number |= always;
		if (f->role == PFCP_ROLE_COUNT)
			count = values[i].number %= 4;
		if (f->wire == PFCP_WIRE_KBPS)
			values[i].number *= 1000;
		if (!pfcp_wire_is_octets(f->wire))
			continue;
		if (f->wire == PFCP_WIRE_ADDRESS6)
			len = random_next() & 1 ? 4 : 16;
		values[i].data = noise;
		values[i].len = (uint16_t)(f->wire == PFCP_WIRE_BYTES   ? f->arg
					   : f->wire == PFCP_WIRE_IP4   ? 4
					   : f->wire == PFCP_WIRE_IP6   ? 16
					   : f->wire == PFCP_WIRE_MAC   ? 6
					   : f->wire == PFCP_WIRE_ITEMS ? f->arg * count
									: len);
	}
}

static size_t value_write(uint16_t type, const struct pfcp_value values[PFCP_FIELDS_MAX],
			  uint8_t *buf, size_t size)
{
	struct pfcp_writer w;

	pfcp_writer_init(&w, buf, size);
	pfcp_fields_encode(&w, pfcp_layout_lookup(type), type, values);
	CU_ASSERT_FATAL(!w.failed);
	return w.len;
}

// A value that was cut off is refused by its length, or is a whole value of its own: it is written again
// as the octets that were left (flags may get zeros behind them).
static void cut_check(uint16_t type, const uint8_t *wire, size_t len, unsigned *refused)
{
	struct pfcp_value values[PFCP_FIELDS_MAX];
	uint8_t *cut = octets_copy(wire, len);
	struct pfcp_ie ie = {.type = type, .len = (uint16_t)len, .data = cut};
	struct pfcp_fault fault = {0};
	uint8_t again[256];
	size_t again_len;

	if (pfcp_ie_check(&ie, &fault) < 0) {
		CU_ASSERT_EQUAL(fault.cause, PFCP_CAUSE_INVALID_LENGTH);
		CU_ASSERT_EQUAL(fault.offending_ie, type);
		++*refused;
	} else {
		CU_ASSERT_EQUAL(pfcp_fields_decode(pfcp_layout_lookup(type), type,
						   pfcp_ie_members(&ie), values),
				0);
		again_len = value_write(type, values, again, sizeof(again));
		CU_ASSERT(again_len == len ||
			  (again_len > len && pfcp_flag_names_get(type)->count));
		CU_ASSERT_EQUAL(memcmp(again, cut, len), 0);
	}
	free(cut);
}

static bool ie_ends_anywhere(const struct pfcp_layout *layout)
{
	const struct pfcp_field *last = &layout->fields[layout->count - 1];

	return last->when == PFCP_WHEN_TAIL || last->wire >= PFCP_WIRE_TEXT ||
	       last->wire == PFCP_WIRE_FLAGS || last->wire == PFCP_WIRE_COUNT;
}

static void every_ie_comes_back(void)
{
	uint8_t noise[64], wire[256], again[256];
	struct pfcp_value values[PFCP_FIELDS_MAX], read[PFCP_FIELDS_MAX];
	unsigned tried = 0;

	for (unsigned i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(i * 7 + 1);
	for (unsigned n = 0; n < 317 * 100; n++) {
		uint16_t type = (uint16_t)(n % PFCP_IE_COUNT);
		const struct pfcp_layout *layout = pfcp_layout_lookup(type);
		unsigned refused = 0;
		size_t len;

		if (layout == NULL)
			continue;
		tried++;
		values_fill(layout, noise, values);
		len = value_write(type, values, wire, sizeof(wire));
		CU_ASSERT_EQUAL(pfcp_fields_decode(layout, type, pfcp_cursor_of(wire, len), read),
				0);
		for (unsigned i = 0; i < layout->count; i++) {
			CU_ASSERT(!read[i].present || read[i].number == values[i].number);
			CU_ASSERT(!read[i].present || read[i].len == values[i].len);
		}
		CU_ASSERT_EQUAL(value_write(type, read, again, sizeof(again)), len);
		CU_ASSERT_EQUAL(memcmp(wire, again, len), 0);
		for (size_t cut = 0; cut < len; cut++)
			cut_check(type, wire, cut, &refused);
		if (!ie_ends_anywhere(layout))
			CU_ASSERT_EQUAL(refused, len);
	}
	CU_ASSERT(tried > 20000);
}

// The structs against octets: what 3GPP's figures give for these members.
#define V4(text)                                                                                   \
	{                                                                                          \
		.s_addr = inet_addr(text)                                                          \
	}
#define V6_DB8_1                                                                                   \
	{                                                                                          \
		.s6_addr = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 }                                    \
	}
#define HEX_DB8_1 "20010db8000000000000000000000001"
#define TEXT(text)                                                                                 \
	{                                                                                          \
		(const uint8_t *)(text), sizeof(text) - 1                                          \
	}

#define VECTOR(name, IE, expected, ...)                                                            \
	do {                                                                                       \
		struct pfcp_##name in = {__VA_ARGS__};                                             \
		vector_check(PFCP_IE_##IE, expected, &in, sizeof(in),                              \
			     (decode_fn *)pfcp_##name##_decode, (encode_fn *)pfcp_##name##_encode, \
			     NULL);                                                                \
	} while (0)
#define VECTOR_SHARED(name, IE, expected, ...)                                                     \
	do {                                                                                       \
		struct pfcp_##name in = {__VA_ARGS__};                                             \
		vector_check(PFCP_IE_##IE, expected, &in, sizeof(in),                              \
			     (decode_fn *)pfcp_##name##_decode, NULL,                              \
			     (encode_shared_fn *)pfcp_##name##_encode);                            \
	} while (0)

typedef int decode_fn(const struct pfcp_ie *ie, void *ret, struct pfcp_fault *fault);
typedef void encode_fn(struct pfcp_writer *w, const void *value);
typedef void encode_shared_fn(struct pfcp_writer *w, uint16_t type, const void *value);

static unsigned vectors;

// Writes the struct and compares; reads the octets and writes what was read; refuses what is cut off.
static void vector_check(uint16_t type, const char *expected, const void *in, size_t size,
			 decode_fn *decode, encode_fn *encode, encode_shared_fn *encode_shared)
{
	uint8_t want[256], buf[256], out[512];
	size_t len = hex_read(expected, want, sizeof(want));
	const void *sources[] = {in, out};

	vectors++;
	CU_ASSERT_FATAL(size <= sizeof(out));
	for (unsigned i = 0; i < LENGTH(sources); i++) {
		struct pfcp_ie ie = {.type = type, .len = (uint16_t)len, .data = want};
		struct pfcp_fault fault = {0};
		struct pfcp_writer w;

		pfcp_writer_init(&w, buf, sizeof(buf));
		if (encode)
			encode(&w, sources[i]);
		else
			encode_shared(&w, type, sources[i]);
		CU_ASSERT(!w.failed);
		CU_ASSERT_EQUAL(w.len, len + 4);
		CU_ASSERT_EQUAL(buf[0] << 8 | buf[1], type);
		CU_ASSERT_EQUAL(buf[2] << 8 | buf[3], (int)len);
		CU_ASSERT_EQUAL(memcmp(buf + 4, want, len), 0);
		memset(out, 0xff, sizeof(out));
		CU_ASSERT_EQUAL(decode(&ie, out, &fault), 0);
		CU_ASSERT_EQUAL(fault.cause, 0);
	}
	for (size_t cut = 0; cut < len; cut++) {
		uint8_t *octets = octets_copy(want, cut);
		struct pfcp_ie ie = {.type = type, .len = (uint16_t)cut, .data = octets};
		struct pfcp_fault fault = {0};

		memset(out, 0xff, sizeof(out));
		if (decode(&ie, out, &fault) < 0) {
			CU_ASSERT_EQUAL(fault.offending_ie, type);
			CU_ASSERT_EQUAL(out[0], 0xff); // not touched on failure
		}
		free(octets);
	}
}

static void structs_are_on_the_wire(void)
{
	VECTOR(f_teid, F_TEID, "03 0a000001 7f000001" HEX_DB8_1, .flags = 3, .teid = 0x0a000001,
	       .v4 = V4("127.0.0.1"), .v6 = V6_DB8_1);
	VECTOR(f_teid, F_TEID, "0f05", .flags = 0xf, .choose_id = 5);
	VECTOR(f_teid, F_TEID, "05", .flags = 5);
	VECTOR(f_seid, F_SEID, "02 00000000000004ea 7f000004", .flags = 2, .seid = 0x4ea,
	       .v4 = V4("127.0.0.4"));
	VECTOR(f_seid, F_SEID, "03 ffffffffffffffff 7f000004" HEX_DB8_1, .flags = 3,
	       .seid = UINT64_MAX, .v4 = V4("127.0.0.4"), .v6 = V6_DB8_1);
	VECTOR(node_id, NODE_ID, "00 7f000004", .type = PFCP_NODE_ID_IPV4, .v4 = V4("127.0.0.4"));
	VECTOR(node_id, NODE_ID, "01" HEX_DB8_1, .type = PFCP_NODE_ID_IPV6, .v6 = V6_DB8_1);
	VECTOR(node_id, NODE_ID, "02 03757066 03353467", .type = PFCP_NODE_ID_FQDN,
	       .fqdn = TEXT("\003upf\00354g"));
	VECTOR(ue_ip_address, UE_IP_ADDRESS, "06 0a2d0002", .flags = 6, .v4 = V4("10.45.0.2"));
	VECTOR(ue_ip_address, UE_IP_ADDRESS, "0b 0a2d0002" HEX_DB8_1 "04", .flags = 0x0b,
	       .v4 = V4("10.45.0.2"), .v6 = V6_DB8_1, .delegation_bits = 4);
	VECTOR(ue_ip_address, UE_IP_ADDRESS, "41" HEX_DB8_1 "38", .flags = 0x41, .v6 = V6_DB8_1,
	       .prefix_len = 56);
	VECTOR(ue_ip_address, UE_IP_ADDRESS, "30", .flags = 0x30);
	VECTOR(sdf_filter, SDF_FILTER, "1000 00000001", .flags = 0x10, .id = 1);
	VECTOR(sdf_filter, SDF_FILTER, "1f00 0003 616263 b8fc 01020304 0fffff 00000009",
	       .flags = 0x1f, .description = TEXT("abc"), .tos = 0xb8fc, .spi = 0x01020304,
	       .flow_label = 0xfffff, .id = 9);
	VECTOR(outer_header_creation, OUTER_HEADER_CREATION, "0100 0a000001 7f000032",
	       .description = PFCP_OUTER_HEADER_CREATION_GTPU_UDP_IPV4, .teid = 0x0a000001,
	       .v4 = V4("127.0.0.50"));
	VECTOR(outer_header_creation, OUTER_HEADER_CREATION, "0301 0a000001 7f000032" HEX_DB8_1,
	       .description = PFCP_OHC_GTPU | PFCP_OUTER_HEADER_CREATION_N19, .teid = 0x0a000001,
	       .v4 = V4("127.0.0.50"), .v6 = V6_DB8_1);
	VECTOR(outer_header_creation, OUTER_HEADER_CREATION, "c800" HEX_DB8_1 "0868 070123 07ffff",
	       .description = PFCP_OUTER_HEADER_CREATION_UDP_IPV6 |
			      PFCP_OUTER_HEADER_CREATION_C_TAG | PFCP_OUTER_HEADER_CREATION_S_TAG,
	       .v6 = V6_DB8_1, .port = 2152, .c_tag = 0x070123, .s_tag = 0x07ffff);
	VECTOR(outer_header_removal, OUTER_HEADER_REMOVAL, "06", .description = 6);
	VECTOR(outer_header_removal, OUTER_HEADER_REMOVAL, "0001", .deletion = 1);
	VECTOR(gate_status, GATE_STATUS, "04", .up = 1);
	VECTOR(gate_status, GATE_STATUS, "01", .down = 1);
	VECTOR_SHARED(bit_rates, MBR, "000000c350 00000186a0", .up_bps = 50000000,
		      .down_bps = 100000000);
	VECTOR_SHARED(bit_rates, GBR, "ffffffffff 0000000000", .up_bps = 1099511627775000ull);
	VECTOR_SHARED(volume, VOLUME_THRESHOLD, "01 0000000006400000", .flags = 1,
		      .total = 104857600);
	VECTOR_SHARED(volume, VOLUME_QUOTA, "07 0000000000000003 0000000000000001 0000000000000002",
		      .flags = 7, .total = 3, .up = 1, .down = 2);
	VECTOR_SHARED(volume, SUBSEQUENT_VOLUME_THRESHOLD, "04 ffffffffffffffff", .flags = 4,
		      .down = UINT64_MAX);
	VECTOR_SHARED(volume, SUBSEQUENT_VOLUME_QUOTA, "02 0000000000000005", .flags = 2, .up = 5);
	VECTOR(volume_measurement, VOLUME_MEASUREMENT,
	       "3f 0000000000000003 0000000000000001 0000000000000002 0000000000000006 "
	       "0000000000000004 0000000000000005",
	       .flags = 0x3f, .total = 3, .up = 1, .down = 2, .total_packets = 6, .up_packets = 4,
	       .down_packets = 5);
	VECTOR(dropped_threshold, DROPPED_DL_TRAFFIC_THRESHOLD, "02 0000000000000100", .flags = 2,
	       .bytes = 256);
	VECTOR(redirect, REDIRECT_INFORMATION, "02 000a 687474703a2f2f612f62", .type = 2,
	       .server = TEXT("http://a/b"));
	VECTOR(redirect, REDIRECT_INFORMATION, "08 0001 61 0002 6262 1f90", .type = 8,
	       .server = TEXT("a"), .other_server = TEXT("bb"), .port = 8080);
	VECTOR(forwarding_policy, FORWARDING_POLICY, "03 616263", .id = TEXT("abc"));
	VECTOR(header_enrichment, HEADER_ENRICHMENT, "00 01 61 02 6262", .name = TEXT("a"),
	       .value = TEXT("bb"));
	VECTOR(remote_peer, REMOTE_GTP_U_PEER, "0e 7f000001 0001 00 0002 0161", .flags = 0xe,
	       .v4 = V4("127.0.0.1"), .destination = TEXT("\0"), .network_instance = TEXT("\001a"));
	VECTOR(downlink_data_service, DOWNLINK_DATA_SERVICE_INFORMATION, "03 2e 09", .flags = 3,
	       .ppi = 46, .qfi = 9);
}

static void other_structs_are_on_the_wire(void)
{
	VECTOR(packet_rate, PACKET_RATE, "05 01 0064 02 00c8", .flags = 5, .up_unit = 1, .up = 100,
	       .more_up_unit = 2, .more_up = 200);
	VECTOR(packet_rate, PACKET_RATE, "07 01 0001 02 0002 03 0003 04 0004", .flags = 7,
	       .up_unit = 1, .up = 1, .down_unit = 2, .down = 2, .more_up_unit = 3, .more_up = 3,
	       .more_down_unit = 4, .more_down = 4);
	VECTOR(packet_rate_status, PACKET_RATE_STATUS, "06 0001 0002 0000000100000000", .flags = 6,
	       .down = 1, .more_down = 2, .validity = 1ull << 32);
	VECTOR(dl_flow_marking, DL_FLOW_LEVEL_MARKING, "03 b8fc 0105", .flags = 3, .tos = 0xb8fc,
	       .service_class = 0x0105);
	VECTOR(fq_csid, FQ_CSID, "02 7f000001 0001 0002 05", .count = 2, .v4 = V4("127.0.0.1"),
	       .ids = TEXT("\0\1\0\2"), .node_type = 5);
	VECTOR(fq_csid, FQ_CSID, "11" HEX_DB8_1 "0007 02", .type = 1, .count = 1, .v6 = V6_DB8_1,
	       .ids = TEXT("\0\7"), .node_type = 2);
	VECTOR(failed_rule, FAILED_RULE_ID, "00 ffff", .type = RULE_PDR, .id = 65535);
	VECTOR(failed_rule, FAILED_RULE_ID, "03 ffffffff", .type = RULE_URR, .id = UINT32_MAX);
	VECTOR(failed_rule, FAILED_RULE_ID, "04 07", .type = RULE_BAR, .id = 7);
	VECTOR_SHARED(cp_address, ALTERNATIVE_SMF_IP_ADDRESS, "03 7f000001" HEX_DB8_1, .flags = 3,
		      .v4 = V4("127.0.0.1"), .v6 = V6_DB8_1);
	VECTOR_SHARED(cp_address, CP_PFCP_ENTITY_IP_ADDRESS, "02 7f000001", .flags = 2,
		      .v4 = V4("127.0.0.1"));
	VECTOR_SHARED(cp_address, CP_IP_ADDRESS, "01" HEX_DB8_1, .flags = 1, .v6 = V6_DB8_1);
	VECTOR(source_ip_address, SOURCE_IP_ADDRESS, "06 7f000001 18", .flags = 6,
	       .v4 = V4("127.0.0.1"), .prefix_len = 24);
	VECTOR(s_nssai, S_NSSAI, "01 ffffff", .sst = 1, .sd = 0xffffff);
	VECTOR(pool_identity, UE_IP_ADDRESS_POOL_IDENTITY, "0002 7031", .id = TEXT("p1"));
	VECTOR(number_of_addresses, NUMBER_OF_UE_IP_ADDRESSES, "03 00000005 00000006", .flags = 3,
	       .v4 = 5, .v6 = 6);
	VECTOR(pfd_contents, PFD_CONTENTS, "c3 00 0001 61 0002 6262 0003 000161 0004 00026262",
	       .flags = 0xc3, .flow = TEXT("a"), .url = TEXT("bb"), .more_urls = TEXT("\0\1a"),
	       .more_domains = TEXT("\0\2bb"));
	VECTOR(flow_information, FLOW_INFORMATION, "02 0001 61", .direction = 2,
	       .description = TEXT("a"));
	VECTOR(time_quota_mechanism, TIME_QUOTA_MECHANISM, "01 0000003c", .type = 1,
	       .interval_s = 60);
	VECTOR(multiplier, MULTIPLIER, "fffffffffffffffe ffffffff", .digits = -2, .exponent = -1);
	VECTOR(user_id, USER_ID, "09 02 21f3 03 614062", .flags = 9, .imsi = TEXT("\x21\xf3"),
	       .nai = TEXT("a@b"));
	VECTOR(offending_ie_information, OFFENDING_IE_INFORMATION, "0054 0100", .type = 84,
	       .value = TEXT("\1\0"));
	VECTOR_SHARED(mac_addresses, MAC_ADDRESSES_DETECTED, "01 020000000001 00 03 040010",
		      .count = 1, .macs = TEXT("\2\0\0\0\0\1"), .s_tag = TEXT("\4\0\x10"));
	VECTOR_SHARED(mac_addresses, MAC_ADDRESSES_REMOVED, "01 020000000001", .count = 1,
		      .macs = TEXT("\2\0\0\0\0\1"));
	CU_ASSERT_EQUAL(vectors, 59);
}

// What each IE is refused for; 0: accepted.
static const struct {
	uint16_t type;
	const char *hex;
	uint8_t cause;
} refusals[] = {
	{PFCP_IE_OUTER_HEADER_CREATION, "", 68},
	{PFCP_IE_OUTER_HEADER_CREATION, "0100", 68},
	{PFCP_IE_OUTER_HEADER_CREATION, "010000", 68},
	{PFCP_IE_OUTER_HEADER_CREATION, "0100 00000001 7f0000", 68},
	{PFCP_IE_OUTER_HEADER_CREATION, "0200 00000001 20010db8", 68},
	{PFCP_IE_OUTER_HEADER_CREATION, "0400 7f000001", 68},
	{PFCP_IE_OUTER_HEADER_CREATION, "0000", 69},
	{PFCP_IE_OUTER_HEADER_CREATION, "0500 00000001 7f000001 0868", 69},
	{PFCP_IE_OUTER_HEADER_CREATION, "0c00 7f000001" HEX_DB8_1 "0868", 69},
	{PFCP_IE_OUTER_HEADER_CREATION, "0001", 0},
	{PFCP_IE_OUTER_HEADER_CREATION, "0100 00000001 7f000001 99", 0},
	{PFCP_IE_SDF_FILTER, "01", 68},
	{PFCP_IE_SDF_FILTER, "0100", 68},
	{PFCP_IE_SDF_FILTER, "0100 0005 61626364", 68},
	{PFCP_IE_SDF_FILTER, "0100 fffe 61626364", 68},
	{PFCP_IE_SDF_FILTER, "0100 7fff 61626364", 68},
	{PFCP_IE_SDF_FILTER, "0800 0fff", 68},
	{PFCP_IE_SDF_FILTER, "0000", 69},
	{PFCP_IE_SDF_FILTER, "0100 0000", 0},
	{PFCP_IE_MBR, "000000c350 000001", 68},
	{PFCP_IE_MBR, "", 68},
	{PFCP_IE_GBR, "000000c350 00000186", 68},
	{PFCP_IE_VOLUME_THRESHOLD, "00", 69},
	{PFCP_IE_VOLUME_THRESHOLD, "f8", 69},
	{PFCP_IE_VOLUME_THRESHOLD, "01 00000000064000", 68},
	{PFCP_IE_VOLUME_QUOTA, "00", 69},
	{PFCP_IE_SUBSEQUENT_VOLUME_QUOTA, "03 0000000000000001 00", 68},
	{PFCP_IE_F_TEID, "00 00000001", 69},
	{PFCP_IE_F_TEID, "04", 69},
	{PFCP_IE_F_TEID, "09 00000001 7f000001 05", 69},
	{PFCP_IE_F_TEID, "0f", 68},
	{PFCP_IE_F_TEID, "01 00000001 7f0000", 68},
	{PFCP_IE_F_TEID, "01 000000", 68},
	{PFCP_IE_F_SEID, "00 0000000000000001", 69},
	{PFCP_IE_F_SEID, "02 00000000000001", 68},
	{PFCP_IE_F_SEID, "02 0000000000000001 7f0000", 68},
	{PFCP_IE_NODE_ID, "03 7f000001", 69},
	{PFCP_IE_NODE_ID, "02", 69},
	{PFCP_IE_NODE_ID, "00 7f0000", 68},
	{PFCP_IE_NODE_ID, "01 7f000001", 68},
	{PFCP_IE_UE_IP_ADDRESS, "00", 69},
	{PFCP_IE_UE_IP_ADDRESS, "12 0a000001", 69},
	{PFCP_IE_UE_IP_ADDRESS, "21" HEX_DB8_1, 69},
	{PFCP_IE_UE_IP_ADDRESS, "49" HEX_DB8_1 "0440", 69},
	{PFCP_IE_UE_IP_ADDRESS, "41" HEX_DB8_1 "81", 69},
	{PFCP_IE_UE_IP_ADDRESS, "42 0a000001 18", 69},
	{PFCP_IE_UE_IP_ADDRESS, "41" HEX_DB8_1, 68},
	{PFCP_IE_OUTER_HEADER_REMOVAL, "09", 69},
	{PFCP_IE_OUTER_HEADER_REMOVAL, "", 68},
	{PFCP_IE_OUTER_HEADER_REMOVAL, "08", 0},
	{PFCP_IE_REDIRECT_INFORMATION, "00 0009 31", 68},
	{PFCP_IE_REDIRECT_INFORMATION, "04 0001 31", 68},
	{PFCP_IE_REDIRECT_INFORMATION, "09 0000", 69},
	{PFCP_IE_FORWARDING_POLICY, "04 616263", 68},
	{PFCP_IE_PACKET_RATE, "04", 69},
	{PFCP_IE_DROPPED_DL_TRAFFIC_THRESHOLD, "00", 69},
	{PFCP_IE_REMOTE_GTP_U_PEER, "00", 69},
	{PFCP_IE_FAILED_RULE_ID, "00 01", 68},
	{PFCP_IE_FAILED_RULE_ID, "07 01", 69},
	{PFCP_IE_S_NSSAI, "01 ffff", 68},
	{PFCP_IE_APPLY_ACTION, "", 68},
	{PFCP_IE_APPLY_ACTION, "00", 69},
	{PFCP_IE_APPLY_ACTION, "03", 69},
	{PFCP_IE_APPLY_ACTION, "0600", 69},
	{PFCP_IE_APPLY_ACTION, "08", 69},
	{PFCP_IE_APPLY_ACTION, "0a00", 69},
	{PFCP_IE_APPLY_ACTION, "0001", 69},
	{PFCP_IE_APPLY_ACTION, "02", 0},
	{PFCP_IE_APPLY_ACTION, "0c00", 0},
	{PFCP_IE_APPLY_ACTION, "0101", 0},
	{PFCP_IE_MEASUREMENT_METHOD, "00", 69},
	{PFCP_IE_REPORT_TYPE, "00", 69},
	{PFCP_IE_CAUSE, "00", 69},
	{PFCP_IE_PDN_TYPE, "00", 69},
	{PFCP_IE_PDN_TYPE, "06", 69},
	{PFCP_IE_PDN_TYPE, "03", 0},
	{PFCP_IE_REPORTING_TRIGGERS, "02", 68},
	{PFCP_IE_PDR_ID, "", 68},
	{PFCP_IE_PDR_ID, "01", 68},
	{PFCP_IE_URR_ID, "ffffff", 68},
	{PFCP_IE_RECOVERY_TIME_STAMP, "", 68},
	{PFCP_IE_RECOVERY_TIME_STAMP, "e81fdc", 68},
	{PFCP_IE_UP_FUNCTION_FEATURES, "", 68},
	{PFCP_IE_DESTINATION_INTERFACE, "0f", 0},
};

static void values_are_refused(void)
{
	unsigned refused = 0;

	for (unsigned i = 0; i < LENGTH(refusals); i++) {
		uint8_t data[64], *octets;
		size_t len = hex_read(refusals[i].hex, data, sizeof(data));
		struct pfcp_ie ie = {.type = refusals[i].type, .len = (uint16_t)len};
		struct pfcp_fault fault = {0};
		uint64_t number;
		union {
#define SIZE(name, IE) struct pfcp_##name name;
			PFCP_TYPED(SIZE)
#define SIZE_SHARED(name) struct pfcp_##name name;
			PFCP_TYPED_SHARED(SIZE_SHARED)
		} any;
		int rc;

		ie.data = octets = octets_copy(data, len);
		switch (ie.type) {
#define CASE(name, IE)                                                                             \
	case PFCP_IE_##IE:                                                                         \
		rc = pfcp_##name##_decode(&ie, &any.name, &fault);                                 \
		break;
			PFCP_TYPED(CASE)
		case PFCP_IE_MBR:
		case PFCP_IE_GBR:
			rc = pfcp_bit_rates_decode(&ie, &any.bit_rates, &fault);
			break;
		case PFCP_IE_VOLUME_THRESHOLD:
		case PFCP_IE_VOLUME_QUOTA:
		case PFCP_IE_SUBSEQUENT_VOLUME_QUOTA:
			rc = pfcp_volume_decode(&ie, &any.volume, &fault);
			break;
		default:
			rc = pfcp_uint_decode(&ie, &number, &fault);
		}
		if (fault.cause != refusals[i].cause)
			fprintf(stderr, "row %u: cause %u\n", i, fault.cause);
		CU_ASSERT_EQUAL(fault.cause, refusals[i].cause);
		CU_ASSERT_EQUAL(rc, refusals[i].cause ? -EINVAL : 0);
		CU_ASSERT_EQUAL(fault.offending_ie, refusals[i].cause ? ie.type : 0);
		CU_ASSERT(!refusals[i].cause || fault.text[0]);
		refused += refusals[i].cause != 0;
		free(octets);
	}
	CU_ASSERT(refused > 70);
}

static void numbers_are_read(void)
{
	static const struct {
		uint16_t type;
		const char *hex;
		uint64_t number;
	} rows[] = {
		{PFCP_IE_PDR_ID, "ffff", 65535},
		{PFCP_IE_FAR_ID, "ffffffff", 0xffffffff},
		{PFCP_IE_BAR_ID, "07", 7},
		{PFCP_IE_PRECEDENCE, "0000ffff", 65535},
		{PFCP_IE_SOURCE_INTERFACE, "f3", 3}, // spare bits are not looked at
		{PFCP_IE_DESTINATION_INTERFACE, "0f", 15},
		{PFCP_IE_3GPP_INTERFACE_TYPE, "cb", 11},
		{PFCP_IE_QFI, "c9", 9},
		{PFCP_IE_PAGING_POLICY_INDICATOR, "fd", 5},
		{PFCP_IE_RQI, "01", 1},
		{PFCP_IE_APPLY_ACTION, "02", PFCP_APPLY_ACTION_FORW},
		{PFCP_IE_APPLY_ACTION, "0c00", PFCP_APPLY_ACTION_BUFF | PFCP_APPLY_ACTION_NOCP},
		{PFCP_IE_REPORTING_TRIGGERS, "0280",
		 PFCP_REPORTING_TRIGGERS_VOLTH | PFCP_REPORTING_TRIGGERS_QUVTI},
		{PFCP_IE_REPORTING_TRIGGERS, "020002",
		 PFCP_REPORTING_TRIGGERS_VOLTH | PFCP_REPORTING_TRIGGERS_UPINT},
		{PFCP_IE_USAGE_REPORT_TRIGGER, "000800", PFCP_USAGE_REPORT_TRIGGER_TERMR},
		{PFCP_IE_UP_FUNCTION_FEATURES, "10", PFCP_UP_FUNCTION_FEATURES_FTUP},
		{PFCP_IE_UP_FUNCTION_FEATURES, "1021",
		 PFCP_UP_FUNCTION_FEATURES_FTUP | PFCP_UP_FUNCTION_FEATURES_EMPU |
			 PFCP_UP_FUNCTION_FEATURES_FRRT},
		{PFCP_IE_UP_FUNCTION_FEATURES, "10000000 0008",
		 PFCP_UP_FUNCTION_FEATURES_FTUP | PFCP_UP_FUNCTION_FEATURES_L2TP},
		{PFCP_IE_UP_FUNCTION_FEATURES, "10000000000020 00 ffff",
		 PFCP_UP_FUNCTION_FEATURES_FTUP | PFCP_UP_FUNCTION_FEATURES_UPIDP},
		{PFCP_IE_CP_FUNCTION_FEATURES, "00", 0},
		{PFCP_IE_PFCPSMREQ_FLAGS, "02", PFCP_PFCPSMREQ_FLAGS_SNDEM},
		{PFCP_IE_PFCPSEREQ_FLAGS, "01", PFCP_PFCPSEREQ_FLAGS_RESTI},
		{PFCP_IE_RECOVERY_TIME_STAMP, "e81fdc30", 0xe81fdc30},
		{PFCP_IE_DL_BUFFERING_SUGGESTED_PACKET_COUNT, "05", 5},
		{PFCP_IE_DL_BUFFERING_SUGGESTED_PACKET_COUNT, "0105", 261},
		{PFCP_IE_ADDITIONAL_USAGE_REPORTS_INFORMATION, "8003",
		 PFCP_ADDITIONAL_REPORTS_AURI | 3},
		{PFCP_IE_OFFENDING_IE, "0054", 84},
		{PFCP_IE_TRANSPORT_LEVEL_MARKING, "b8fc", 0xb8fc},
	};

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		uint8_t data[16];
		size_t len = hex_read(rows[i].hex, data, sizeof(data));
		struct pfcp_ie ie = {.type = rows[i].type, .len = (uint16_t)len, .data = data};
		struct pfcp_fault fault = {0};
		uint64_t number = 0;

		CU_ASSERT_EQUAL(pfcp_uint_decode(&ie, &number, &fault), 0);
		CU_ASSERT_EQUAL(number, rows[i].number);
	}
}

static void numbers_are_written(void)
{
	static const struct {
		uint16_t type;
		uint64_t number;
		const char *hex; // NULL: it has no room
	} rows[] = {
		{PFCP_IE_PDR_ID, 2, "0038 0002 0002"},
		{PFCP_IE_PDR_ID, 65536, NULL},
		{PFCP_IE_CAUSE, 73, "0013 0001 49"},
		{PFCP_IE_USAGE_REPORT_TRIGGER, PFCP_USAGE_REPORT_TRIGGER_PERIO, "003f 0003 010000"},
		{PFCP_IE_USAGE_REPORT_TRIGGER, PFCP_USAGE_REPORT_TRIGGER_EVEQU, "003f 0003 000001"},
		{PFCP_IE_UP_FUNCTION_FEATURES, PFCP_UP_FUNCTION_FEATURES_FTUP, "002b 0002 1000"},
		{PFCP_IE_UP_FUNCTION_FEATURES, PFCP_UP_FUNCTION_FEATURES_UPIDP,
		 "002b 0008 0000000000002000"},
		{PFCP_IE_APPLY_ACTION, PFCP_APPLY_ACTION_FORW, "002c 0002 0200"},
		{PFCP_IE_PFCPSMREQ_FLAGS, 0, "0031 0001 00"},
		{PFCP_IE_REPORT_TYPE, PFCP_REPORT_TYPE_DLDR | PFCP_REPORT_TYPE_USAR,
		 "0027 0001 03"},
		{PFCP_IE_QFI, 63, "007c 0001 3f"},
		{PFCP_IE_QFI, 64, NULL},
		{PFCP_IE_METRIC, 100, "0035 0001 64"},
		{PFCP_IE_TUNNEL_PREFERENCE, 0x010203, "0119 0003 010203"},
	};

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		uint8_t want[16], buf[16];
		struct pfcp_writer w;

		pfcp_writer_init(&w, buf, sizeof(buf));
		pfcp_uint_encode(&w, rows[i].type, rows[i].number);
		CU_ASSERT_EQUAL(w.failed, rows[i].hex == NULL);
		if (rows[i].hex == NULL)
			continue;
		CU_ASSERT_EQUAL(w.len, hex_read(rows[i].hex, want, sizeof(want)));
		CU_ASSERT_EQUAL(memcmp(buf, want, w.len), 0);
	}
}

static void names_have_one_form(void)
{
	static const struct {
		const char *in;
		size_t len;
		const char *text; // NULL: refused
	} rows[] = {
		{"", 0, ""},
		{"internet", 8, "internet"},
		{"\010internet", 9, "internet"},
		{"\010InterNet", 9, "internet"},
		{"\010internet\0", 10, "internet"},
		{"\003ims\006mnc001\006mcc999\004gprs", 23, "ims.mnc001.mcc999.gprs"},
		{"ims.mnc001.mcc999.gprs", 22, "ims.mnc001.mcc999.gprs"},
		{"IMS.", 4, "ims"},
		{"a", 1, "a"},
		{"1abc", 4, "1abc"},
		{"a..b", 4, NULL},
		{"a..", 3, NULL},
		{".a", 2, NULL},
		{".", 1, NULL},
		{"\001a\000\001b", 5, NULL},
		{"\003a.b", 4, NULL},
		{"\011internet", 9, NULL},
		{"inter net", 9, NULL},
		{"inter\0net", 9, NULL},
		{"\0", 1, NULL},
		{"\xc3\xa4", 2, NULL},
	};
	uint8_t labels[PFCP_NAME_MAX];
	char text[PFCP_NAME_MAX];
	char longest[300];

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		int rc = pfcp_name_text((const uint8_t *)rows[i].in, rows[i].len, text,
					sizeof(text));

		CU_ASSERT_EQUAL(rc, rows[i].text ? 0 : -EINVAL);
		if (rows[i].text)
			CU_ASSERT_STRING_EQUAL(text, rows[i].text);
	}
	memset(longest, 'x', sizeof(longest));
	CU_ASSERT_EQUAL(pfcp_name_text((uint8_t *)longest, 255, text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(pfcp_name_text((uint8_t *)longest, 256, text, sizeof(text)), -EINVAL);
	CU_ASSERT_EQUAL(pfcp_name_text((uint8_t *)longest, 5, text, 5), -EINVAL);
	CU_ASSERT_EQUAL(pfcp_name_text((uint8_t *)longest, 4, text, 5), 0);
	CU_ASSERT_EQUAL(pfcp_name_labels("upf.5gc", labels, sizeof(labels)), 8);
	CU_ASSERT_EQUAL(memcmp(labels, "\003upf\0035gc", 8), 0);
	CU_ASSERT_EQUAL(pfcp_name_labels("", labels, sizeof(labels)), 0);
	CU_ASSERT_EQUAL(pfcp_name_labels("a..b", labels, sizeof(labels)), -EINVAL);
	CU_ASSERT_EQUAL(pfcp_name_labels("abc", labels, 3), -EINVAL);
	longest[64] = '\0';
	CU_ASSERT_EQUAL(pfcp_name_labels(longest, labels, sizeof(labels)), -EINVAL);
}

static void timers_last_long_enough(void)
{
	CU_ASSERT_EQUAL(pfcp_timer_seconds(0x01), 2);
	CU_ASSERT_EQUAL(pfcp_timer_seconds(0x21), 60);
	CU_ASSERT_EQUAL(pfcp_timer_seconds(0x41), 600);
	CU_ASSERT_EQUAL(pfcp_timer_seconds(0x62), 7200);
	CU_ASSERT_EQUAL(pfcp_timer_seconds(0x81), 36000);
	CU_ASSERT_EQUAL(pfcp_timer_seconds(0xa3), 180); // a unit without a meaning
	CU_ASSERT_EQUAL(pfcp_timer_seconds(0xe5), PFCP_TIMER_INFINITE);
	for (uint32_t s = 0; s < 2000000; s += s / 50 + 1)
		CU_ASSERT(pfcp_timer_seconds(pfcp_timer_octet(s)) >= s);
	CU_ASSERT_EQUAL(pfcp_timer_octet(62), 31);
	CU_ASSERT_EQUAL(pfcp_timer_octet(63), 0x22);
	CU_ASSERT_EQUAL(pfcp_timer_octet(PFCP_TIMER_INFINITE), 0xe0);
}

static CU_TestInfo tests[] = {
	{"tables are whole", tables_are_whole},
	{"every IE comes back", every_ie_comes_back},
	{"structs are on the wire", structs_are_on_the_wire},
	{"other structs are on the wire", other_structs_are_on_the_wire},
	{"values are refused", values_are_refused},
	{"numbers are read", numbers_are_read},
	{"numbers are written", numbers_are_written},
	{"names have one form", names_have_one_form},
	{"timers last long enough", timers_last_long_enough},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("pfcp codec")
