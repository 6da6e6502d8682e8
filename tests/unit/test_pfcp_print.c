// The captures in tests/golden: read whole, printed like the reference, and mutated.
//
// The reference (*.txt) was made by another decoder; types, lengths and order must agree. Mutated
// messages must be read, checked, decoded and printed without a fault of ours: run with sanitizers.

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "octets.h"
#include "pfcp/codec.h"
#include "pfcp/print.h"
#include "random.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char *const captures[] = {
	"open5gs-assoc", "open5gs-errind",        "open5gs-framed", "open5gs-gbr",
	"open5gs-idle",  "open5gs-ipv4",          "open5gs-ipv4v6", "open5gs-ipv6",
	"open5gs-multi", "open5gs-noftup-ipv4v6", "open5gs-uerel",
};

#define PCAP_HEADER 24
#define RECORD_HEADER 16
#define ETHERNET 14
#define UDP 8
#define DATAGRAMS_MAX 512

struct datagram {
	uint8_t *data;
	size_t len;
};

static struct datagram datagrams[DATAGRAMS_MAX];
static unsigned datagrams_count;

static uint8_t *file_read(const char *name, const char *suffix, size_t *ret_len)
{
	char path[512];
	uint8_t *data = NULL;
	long len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s", getenv("TEST_GOLDEN"), name, suffix);
	f = fopen(path, "rb");
	CU_ASSERT_FATAL(f != NULL && fseek(f, 0, SEEK_END) == 0);
	len = ftell(f);
	rewind(f);
	data = calloc(1, (size_t)len + 1);
	CU_ASSERT_FATAL(data != NULL && fread(data, 1, (size_t)len, f) == (size_t)len);
	fclose(f);
	*ret_len = (size_t)len;
	return data;
}

static uint32_t le32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

// Appends the PFCP datagrams of a capture: little-endian pcap, Ethernet, IPv4, UDP.
static void capture_read(const char *name)
{
	size_t len, at = PCAP_HEADER;
	uint8_t *pcap = file_read(name, "pcap", &len);

	CU_ASSERT_EQUAL_FATAL(le32(pcap), 0xa1b2c3d4);
	CU_ASSERT_EQUAL_FATAL(le32(pcap + 20), 1); // LINKTYPE_ETHERNET
	while (at + RECORD_HEADER + ETHERNET + 20 + UDP <= len) {
		const uint8_t *ip = pcap + at + RECORD_HEADER + ETHERNET;
		const uint8_t *udp = ip + (ip[0] & 0xf) * 4;
		size_t octets = le32(pcap + at + 8);

		at += RECORD_HEADER + octets;
		CU_ASSERT_FATAL(at <= len);
		if (ip[0] >> 4 != 4 || ip[9] != IPPROTO_UDP || (udp[2] << 8 | udp[3]) != PFCP_PORT)
			if ((udp[0] << 8 | udp[1]) != PFCP_PORT)
				continue;
		octets = (size_t)(udp[4] << 8 | udp[5]) - UDP;
		CU_ASSERT_FATAL(udp + UDP + octets <= pcap + at);
		CU_ASSERT_FATAL(datagrams_count < DATAGRAMS_MAX);
		datagrams[datagrams_count++] = (struct datagram){octets_copy(udp + UDP, octets),
								 octets};
	}
	CU_ASSERT_EQUAL(at, len);
	free(pcap);
}

static void captures_drop(void)
{
	while (datagrams_count)
		free(datagrams[--datagrams_count].data);
}

// Type and length of every IE of a text, as "type:len " in a row; "#len " for each message. Reads both
// the reference and what we print: IEs stand on indented lines.
static void shape_of(const char *text, char *ret_shape, size_t size)
{
	size_t len = 0;

	while (*text) {
		size_t line = strcspn(text, "\n");
		const char *length = memmem(text, line, "len=", 4);
		const char *type = memmem(text, line, "[", 1);

		CU_ASSERT_FATAL(length != NULL && len + 32 < size);
		if (*text == ' ')
			len += (size_t)snprintf(ret_shape + len, size - len, "%ld:%ld ",
						strtol(type + 1, NULL, 10),
						strtol(length + 4, NULL, 10));
		else
			len += (size_t)snprintf(ret_shape + len, size - len, "#%ld ",
						strtol(length + 4, NULL, 10));
		text += line + (text[line] == '\n');
	}
}

static char printed[1 << 16], shape[1 << 16], reference_shape[1 << 16];

static void captures_read_and_print(void)
{
	for (unsigned c = 0; c < LENGTH(captures); c++) {
		size_t len, at = 0;
		char *reference = (char *)file_read(captures[c], "txt", &len);

		capture_read(captures[c]);
		CU_ASSERT(datagrams_count >= 10);
		for (unsigned i = 0; i < datagrams_count; i++) {
			struct pfcp_cursor cursor = pfcp_cursor_of(datagrams[i].data,
								   datagrams[i].len);
			struct pfcp_fault fault = {0};
			struct pfcp_msg msg;

			CU_ASSERT_EQUAL_FATAL(pfcp_msg_decode(&cursor, &msg), 0);
			CU_ASSERT_EQUAL(pfcp_msg_check(&msg, &fault), 0);
			CU_ASSERT_EQUAL(msg.unknown, 0);
			CU_ASSERT_EQUAL(msg.vendor, 0);
			CU_ASSERT_EQUAL(msg.unexpected, 0);
			CU_ASSERT_EQUAL(msg.repeated, 0);
			at += pfcp_datagram_print(datagrams[i].data, datagrams[i].len, printed + at,
						  sizeof(printed) - at);
		}
		captures_drop();
		CU_ASSERT(strstr(printed, "BROKEN") == NULL);
		CU_ASSERT(strchr(printed, '?') == NULL); // every number has a name
		shape_of(printed, shape, sizeof(shape));
		shape_of(reference, reference_shape, sizeof(reference_shape));
		CU_ASSERT_STRING_EQUAL(shape, reference_shape);
		free(reference);
	}
}

static void lines_say_what_is_there(void)
{
	static const struct {
		const char *hex;
		const char *text;
	} rows[] = {
		{"2138 0022 000000000000066c 00000200 0027000104 0063000d 0015000901 0a000001 7f000032",
		 "Session Report Request [56] seid=0x66c seq=2 len=38\n"
		 "  Report Type [39] len=1: ERIR\n"
		 "  Error Indication Report [99] len=13\n"
		 "    F-TEID [21] len=9: flags=V4 teid=167772161 v4=127.0.0.50\n"},
		{"2135 0004 00000100", "not PFCP (header): 2135000400000100\n"},
		{"20c8 0004 00000100", "not PFCP (message type): 20c8000400000100\n"},
		{"4001 0004 00000100", "not PFCP (version): 4001000400000100\n"},
		{"2001 0015 00000100 0060 0004 eeb81eaf 8001 0005 28af aabbcc",
		 "Heartbeat Request [1] seq=1 len=25\n"
		 "  Recovery Time Stamp [96] len=4: 2026-11-30T16:11:27Z\n"
		 "  Vendor IE [32769] len=3 enterprise=10415: aabbcc\n"},
		{"2001 0012 00000100 0060 0003 eeb81e 0060 ffff aabbcc",
		 "Heartbeat Request [1] seq=1 len=22\n"
		 "  Recovery Time Stamp [96] len=3: BROKEN eeb81e\n"
		 "  Recovery Time Stamp [96] BROKEN 0060ffffaabbcc\n"},
		{"2134 0072 0000000000000001 00000100"
		 "0017 000b 0100 0007 70610a00227f80"
		 "0016 0009 08 696e7465726e6574 0054 000a 0100 0a000001 7f000032"
		 "001a 000a 000000c350 00000186a0 0013 0001 49 0028 0002 0054 0070 0001 22"
		 "0072 0003 00 0007 008d 0005 01 03 21 43 f5 002c 0002 0c00 0099 0000 0060 0000",
		 "Session Modification Request [52] seid=0x1 seq=1 len=118\n"
		 "  SDF Filter [23] len=11: flags=FD description=\"pa\\x0a\\x00\\x22\\x7f\\x80\"\n"
		 "  Network Instance [22] len=9: \"internet\"\n"
		 "  Outer Header Creation [84] len=10: description=GTPU_UDP_IPV4 teid=167772161 "
		 "v4=127.0.0.50\n"
		 "  MBR [26] len=10: up_bps=50000 kb/s down_bps=100000 kb/s\n"
		 "  Cause [19] len=1: 73 (Rule creation/modification Failure)\n"
		 "  Offending IE [40] len=2: 84 (Outer Header Creation)\n"
		 "  Graceful Release Period [112] len=1: 120 s\n"
		 "  Failed Rule ID [114] len=3: type=0 (PDR) id=7\n"
		 "  User ID [141] len=5: flags=IMSIF imsi=12345\n"
		 "  Apply Action [44] len=2: BUFF|NOCP\n"
		 "  Framed-Route [153] len=0: \"\"\n"
		 "  Recovery Time Stamp [96] len=0: empty\n"},
	};

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		uint8_t data[256];
		size_t len = hex_read(rows[i].hex, data, sizeof(data));

		CU_ASSERT_EQUAL(pfcp_datagram_print(data, len, printed, sizeof(printed)),
				strlen(rows[i].text));
		CU_ASSERT_STRING_EQUAL(printed, rows[i].text);
		if (strcmp(printed, rows[i].text) != 0)
			fprintf(stderr, "%s", printed);
	}
	CU_ASSERT_STRING_EQUAL(pfcp_cause_str(65), "Session context not found");
	CU_ASSERT_STRING_EQUAL(pfcp_cause_str(200), "?");
	CU_ASSERT_STRING_EQUAL(pfcp_ie_type_str(84), "Outer Header Creation");
	CU_ASSERT_STRING_EQUAL(pfcp_msg_type_str(99), "?");
}

// The text is cut off, terminated and never beyond its buffer, whatever the size.
static void small_texts_are_cut(void)
{
	size_t whole;

	capture_read("open5gs-ipv4");
	whole = pfcp_datagram_print(datagrams[6].data, datagrams[6].len, printed, sizeof(printed));
	CU_ASSERT(whole > 1000);
	for (size_t size = 0; size <= whole + 1; size += size < 200 ? 1 : 97) {
		char *text = (char *)octets_copy(printed, size);
		size_t len = pfcp_datagram_print(datagrams[6].data, datagrams[6].len, text, size);

		CU_ASSERT_EQUAL(len, size == 0 ? 0 : size - 1 < whole ? size - 1 : whole);
		CU_ASSERT(size == 0 || (text[len] == '\0' && memcmp(text, printed, len) == 0));
		free(text);
	}
	captures_drop();
}

static uint64_t random_state = 0x2545f4914f6cdd1dull;

static uint64_t random_next(void)
{
	return random_step(&random_state);
}

static size_t mutate(uint8_t *data, size_t len)
{
	static const uint8_t telling[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe, 0x0f, 0x10};

	for (unsigned n = (unsigned)(random_next() % 6) + 1; n > 0 && len > 0; n--) {
		size_t at = random_next() % len;

		switch (random_next() % 6) {
		case 0:
			data[at] ^= (uint8_t)(1u << random_next() % 8);
			break;
		case 1:
			data[at] = telling[random_next() % sizeof(telling)];
			break;
		case 2:
			data[at] = (uint8_t)random_next();
			break;
		case 3: // a piece said again elsewhere
			memmove(data + at, data + random_next() % len, (len - at) / 8);
			break;
		case 4:
			len = at;
			break;
		default: // the types of IEs are what leads into new code
			if (at + 1 < len) {
				data[at] = (uint8_t)(random_next() % 2);
				data[at + 1] = (uint8_t)random_next();
			}
		}
	}
	if (len >= 4 && random_next() % 4) { // most with a length that passes the header
		data[2] = (uint8_t)((len - 4) >> 8);
		data[3] = (uint8_t)(len - 4);
	}
	return len;
}

static unsigned decoded;

#define TRY(name, IE)                                                                              \
	case PFCP_IE_##IE: {                                                                       \
		struct pfcp_##name name;                                                           \
		decoded += pfcp_##name##_decode(ie, &name, &fault) == 0;                           \
		break;                                                                             \
	}

static void ie_try(const struct pfcp_ie *ie)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(ie->type);
	struct pfcp_fault fault;
	char name[PFCP_NAME_MAX];
	uint64_t number;

	switch (ie->type) {
		PFCP_TYPED(TRY)
	default:
		if (info == NULL)
			break;
		if (info->kind == PFCP_KIND_NAME)
			decoded += pfcp_name_decode(ie, name, sizeof(name), &fault) == 0;
		else if (info->kind >= PFCP_KIND_U8 && info->kind <= PFCP_KIND_TIMER)
			decoded += pfcp_uint_decode(ie, &number, &fault) == 0;
	}
}

static void ies_try(struct pfcp_cursor ies, unsigned depth)
{
	struct pfcp_ie ie;

	while (depth < PFCP_DEPTH_MAX && pfcp_ie_next(&ies, &ie) > 0) {
		ie_try(&ie);
		if (pfcp_ie_is_group(&ie))
			ies_try(pfcp_ie_members(&ie), depth + 1);
	}
}

static void mutations_do_no_harm(void)
{
	static uint8_t scratch[2048];
	char text[4096];
	unsigned headers = 0, right = 0, wrong = 0;

	for (unsigned c = 0; c < LENGTH(captures); c++)
		capture_read(captures[c]);
	for (unsigned n = 0; n < 200000; n++) {
		const struct datagram *d = &datagrams[random_next() % datagrams_count];
		struct pfcp_fault fault = {0};
		struct pfcp_cursor cursor;
		struct pfcp_msg msg;
		uint8_t *data;
		size_t len;

		CU_ASSERT_FATAL(d->len <= sizeof(scratch));
		memcpy(scratch, d->data, d->len);
		len = mutate(scratch, d->len);
		data = octets_copy(scratch, len);
		cursor = pfcp_cursor_of(data, len);
		if (pfcp_msg_decode(&cursor, &msg) == 0) {
			headers++;
			if (pfcp_msg_check(&msg, &fault) == 0)
				right++;
			else
				wrong += fault.cause >= PFCP_CAUSE_MANDATORY_MISSING &&
					 fault.cause <= PFCP_CAUSE_MANDATORY_INCORRECT;
			ies_try(msg.ies, 0);
		}
		CU_ASSERT(pfcp_datagram_print(data, len, text, sizeof(text)) == strlen(text));
		free(data);
	}
	captures_drop();
	CU_ASSERT_EQUAL(right + wrong, headers); // every fault has a cause
	CU_ASSERT(headers > 50000 && right > 5000 && wrong > 20000 && decoded > 500000);
}

static CU_TestInfo tests[] = {
	{"captures read and print", captures_read_and_print},
	{"lines say what is there", lines_say_what_is_there},
	{"small texts are cut", small_texts_are_cut},
	{"mutations do no harm", mutations_do_no_harm},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("pfcp print")
