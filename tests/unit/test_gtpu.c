// GTP-U: what parse() does not see. Writers of headers and messages, and the Error Indication's reader.
// Every input is allocated to its exact length, for AddressSanitizer.

#include <errno.h>
#include <stdlib.h>

#include "unit.h"

#include "packet/gtpu.h"
#include "packet/l4.h"

static void test_gpdu_write(void)
{
	static const struct {
		uint8_t qfi;
		bool rqi;
		uint32_t bytes;
		uint8_t want[16];
	} rows[] = {
		{PKT_QFI_NONE, false, 8, {0x30, 0xff, 0, 100, 1, 2, 3, 4}},
		{PKT_QFI_NONE, true, 8, {0x30, 0xff, 0, 100, 1, 2, 3, 4}},
		{9, false, 16, {0x34, 0xff, 0, 108, 1, 2, 3, 4, 0, 0, 0, 0x85, 1, 0, 9, 0}},
		{63, true, 16, {0x34, 0xff, 0, 108, 1, 2, 3, 4, 0, 0, 0, 0x85, 1, 0, 0x7f, 0}},
		{0, true, 16, {0x34, 0xff, 0, 108, 1, 2, 3, 4, 0, 0, 0, 0x85, 1, 0, 0x40, 0}},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t got[16], qfi;
		uint32_t payload;
		memset(got, 0xee, sizeof(got));
		CU_ASSERT_EQUAL(gtpu_gpdu_write(got, 0x01020304, 100, rows[i].qfi, rows[i].rqi),
				rows[i].bytes);
		CU_ASSERT(!memcmp(got, rows[i].want, rows[i].bytes));
		if (rows[i].bytes == 8)
			continue;
		// The general walk reads what the writer wrote.
		CU_ASSERT_EQUAL(gtpu_extensions_walk(got, sizeof(got), &payload, &qfi), DROP_NONE);
		CU_ASSERT(payload == 16 && qfi == rows[i].qfi);
	}
}

static void test_messages(void)
{
	static const uint8_t echo[] = {0x32, 1, 0, 4, 0, 0, 0, 0, 0xab, 0xcd, 0, 0};
	static const uint8_t end[] = {0x30, 254, 0, 0, 1, 2, 3, 4};
	uint8_t got[GTPU_MESSAGE_BYTES_MAX];

	CU_ASSERT_EQUAL(gtpu_echo_request_build(got, 0xabcd), sizeof(echo));
	CU_ASSERT(!memcmp(got, echo, sizeof(echo)));
	CU_ASSERT_EQUAL(gtpu_end_marker_build(got, 0x01020304), sizeof(end));
	CU_ASSERT(!memcmp(got, end, sizeof(end)));
}

// Both families: what is built, fits and is read back.
static void test_error_indication(void)
{
	static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 9};
	const struct addr peers[] = {addr_v4(RTE_BE32(0x0a000009)), addr_v6(v6)};

	for (unsigned i = 0; i < 2; i++) {
		uint8_t message[GTPU_MESSAGE_BYTES_MAX], qfi;
		uint32_t payload = 0, teid = 0;
		struct addr peer;
		uint32_t bytes = gtpu_error_indication_build(message, 0xdeadbeef, &peers[i], 4000);
		CU_ASSERT(bytes <= sizeof(message));
		CU_ASSERT_EQUAL(be16_get(message + 2), bytes - GTPU_BYTES);
		CU_ASSERT_EQUAL(gtpu_extensions_walk(message, bytes, &payload, &qfi), DROP_NONE);
		CU_ASSERT_EQUAL(payload, 16);
		CU_ASSERT_EQUAL(gtpu_error_indication_decode(message + payload, bytes - payload,
							     &teid, &peer),
				0);
		CU_ASSERT_EQUAL(teid, 0xdeadbeef);
		CU_ASSERT(addr_eq(&peer, &peers[i]));
	}
}

static void test_error_indication_decode(void)
{
	static const struct {
		int error;
		uint32_t len;
		uint8_t data[32];
	} rows[] = {
		{0, 12, {16, 0, 0, 0, 7, 133, 0, 4, 10, 0, 0, 9}},
		{0, 12, {133, 0, 4, 10, 0, 0, 9, 16, 0, 0, 0, 7}},        // any order
		{0, 14, {14, 0, 16, 0, 0, 0, 7, 133, 0, 4, 10, 0, 0, 9}}, // recovery before
		{0,
		 18,
		 {16, 0, 0, 0, 7, 133, 0, 4, 10, 0, 0, 9, 255, 0, 3, 0, 1, 2}}, // private after
		{0, 16, {16, 0, 0, 0, 7, 133, 0, 4, 10, 0, 0, 9, 141, 2, 1, 2}},
		{0,
		 17,
		 {16, 0, 0, 0, 7, 133, 0, 4, 10, 0, 0, 9, 16, 0, 0, 0, 8}}, // the first counts
		{-EBADMSG, 0, {0}},
		{-EBADMSG, 5, {16, 0, 0, 0, 7}},                               // no peer
		{-EBADMSG, 7, {133, 0, 4, 10, 0, 0, 9}},                       // no TEID
		{-EBADMSG, 10, {16, 0, 0, 0, 7, 133, 0, 2, 10, 0}},            // address of 2
		{-EBADMSG, 12, {16, 0, 0, 0, 7, 133, 0, 5, 10, 0, 0, 9}},      // beyond the end
		{-EBADMSG, 13, {16, 0, 0, 0, 7, 133, 0, 5, 10, 0, 0, 9, 9}},   // address of 5
		{-EBADMSG, 13, {16, 0, 0, 0, 7, 133, 0, 4, 10, 0, 0, 9, 255}}, // cut off
		{-EBADMSG,
		 13,
		 {16, 0, 0, 0, 7, 133, 0, 4, 10, 0, 0, 9, 77}}, // fixed length unknown
		{-EBADMSG, 15, {16, 0, 0, 0, 7, 133, 0, 4, 10, 0, 0, 9, 255, 255, 255}},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint32_t len = 0; len <= rows[i].len; len++) {
			uint8_t *data = malloc(len ? len : 1); // exact, for ASan
			uint32_t teid = 99;
			struct addr peer = {0};
			memcpy(data, rows[i].data, len);
			int error = gtpu_error_indication_decode(data, len, &teid, &peer);
			free(data);
			if (len == rows[i].len)
				CU_ASSERT_EQUAL(error, rows[i].error);
			CU_ASSERT(error ? teid == 99 && !peer.family
					: teid == 7 && peer.family == ADDR_V4);
		}
	}
}

// A UDP header of eight octets, then the message; without a sequence number it answers nothing.
static void test_echo_response_decode(void)
{
	static const struct {
		int error;
		uint32_t len; // of the message
		uint32_t payload;
		uint8_t recovery;
		uint8_t data[24];
	} rows[] = {
		{0, 14, 12, 7, {0x32, 2, 0, 6, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 14, 7}},
		{0, 12, 12, 0, {0x32, 2, 0, 4, 0, 0, 0, 0, 0x12, 0x34, 0, 0}},
		{0,
		 19,
		 12,
		 9,
		 {0x32, 2, 0, 11, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 255, 0, 2, 0, 1, 14, 9}},
		{-EBADMSG, 14, 12, 0, {0x34, 2, 0, 6, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 14, 7}},
		{-EBADMSG, 10, 8, 0, {0x30, 2, 0, 2, 0, 0, 0, 0, 14, 7}},
		{-EBADMSG, 13, 12, 0, {0x32, 2, 0, 5, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 14}},
		{-EBADMSG, 15, 12, 0, {0x32, 2, 0, 7, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 255, 0, 2}},
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		uint32_t bytes = UDP_BYTES + rows[i].len;
		uint8_t *frame =
			calloc(1, bytes); // of its size, so that a sanitizer sees a byte too many
		struct pkt p = {.user = (uint16_t)(UDP_BYTES + rows[i].payload),
				.user_bytes = (uint16_t)(rows[i].len - rows[i].payload)};
		uint16_t sequence = 0;
		uint8_t recovery = 0;

		memcpy(frame + UDP_BYTES, rows[i].data, rows[i].len);
		CU_ASSERT_EQUAL(gtpu_echo_response_decode(frame, &p, &sequence, &recovery),
				rows[i].error);
		if (rows[i].error == 0)
			CU_ASSERT(sequence == 0x1234 && recovery == rows[i].recovery);
		free(frame);
	}
}

static CU_TestInfo tests[] = {
	{"G-PDU headers", test_gpdu_write},
	{"Echo Request, End Marker", test_messages},
	{"Error Indication, both ways", test_error_indication},
	{"Error Indication, read", test_error_indication_decode},
	{"Echo Response, read", test_echo_response_decode},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("gtpu")
