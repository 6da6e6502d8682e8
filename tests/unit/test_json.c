// base/json: commas, escapes and numbers, to a strbuf and to a FILE. Bad UTF-8 stands in the table
// by the rule that it breaks.

#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "unit.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void write_sample(struct json *j)
{
	json_object_open(j, NULL);
	json_str(j, "name", "sluice");
	json_uint(j, "max", UINT64_MAX);
	json_int(j, "min", INT64_MIN);
	json_bool(j, "up", true);
	json_bool(j, "down", false);
	json_null(j, "none");
	json_str(j, "absent", NULL);
	json_hex(j, "mac", "\x00\xfe\x1a", 3);
	json_printf(j, "ratio", "%d/%d", 1, 2);
	json_array_open(j, "list");
	json_int(j, NULL, 1);
	json_object_open(j, NULL);
	json_object_close(j);
	json_array_open(j, NULL);
	json_array_close(j);
	json_str(j, NULL, "");
	json_array_close(j);
	json_double(j, "last", 0.5);
	json_object_close(j);
}

static const char sample[] = "{\"name\":\"sluice\",\"max\":18446744073709551615,"
			     "\"min\":-9223372036854775808,\"up\":true,\"down\":false,"
			     "\"none\":null,\"absent\":null,\"mac\":\"00fe1a\",\"ratio\":\"1/2\","
			     "\"list\":[1,{},[],\"\"],\"last\":0.5}";

static void test_sample(void)
{
	struct strbuf s = {0};
	struct json j;

	json_init(&j, &s);
	CU_ASSERT_FALSE(json_is_complete(&j));
	write_sample(&j);
	CU_ASSERT_TRUE(json_is_complete(&j));
	CU_ASSERT_STRING_EQUAL(strbuf_text(&s), sample);
	strbuf_fini(&s);
}

static void test_file(void)
{
	struct json j;
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	json_init_file(&j, f);
	write_sample(&j);
	fclose(f);
	CU_ASSERT_STRING_EQUAL(text, sample);
	free(text);
}

static void test_strings(void)
{
	static const struct {
		const char *text, *json;
	} rows[] = {
		{"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"\n\t\r\x01\x1f", "\"\\n\\t\\u000d\\u0001\\u001f\""},
		{"\x7f", "\"\\u007f\""},
		{"/", "\"/\""},
		{"caf\xc3\xa9", "\"caf\xc3\xa9\""},
		{"\xe2\x82\xac", "\"\xe2\x82\xac\""},
		{"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
		{"\xed\x9f\xbf", "\"\xed\x9f\xbf\""},                     // U+D7FF
		{"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},             // U+10FFFF
		{"\xc3", "\"\\ufffd\""},                                  // cut short
		{"\xe2\x82", "\"\\ufffd\\ufffd\""},                       // cut short
		{"\xc3(", "\"\\ufffd(\""},                                // no second byte
		{"\xe2\x82(", "\"\\ufffd\\ufffd(\""},                     // no third byte
		{"\x80", "\"\\ufffd\""},                                  // no first byte
		{"\xc0\xaf", "\"\\ufffd\\ufffd\""},                       // overlong
		{"\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\""},            // overlong
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            // surrogate
		{"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, // above U+10FFFF
		{"\xff", "\"\\ufffd\""},
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct strbuf s = {0};
		struct json j;

		json_init(&j, &s);
		json_str(&j, NULL, rows[i].text);
		CU_ASSERT_STRING_EQUAL(strbuf_text(&s), rows[i].json);
		strbuf_fini(&s);
	}
}

static void test_key_and_nul(void)
{
	struct strbuf s = {0};
	struct json j;

	json_init(&j, &s);
	json_object_open(&j, NULL);
	json_str_n(&j, "a\"b", "x\0y", 3);
	json_object_close(&j);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&s), "{\"a\\\"b\":\"x\\u0000y\"}");
	strbuf_fini(&s);
}

static void test_doubles(void)
{
	static const struct {
		double n;
		const char *json;
	} rows[] = {
		{0, "0"},
		{0.1, "0.1"},
		{-2.5, "-2.5"},
		{1e300, "1e+300"},
		{1.0 / 3, "0.33333333333333331"},
		{NAN, "null"},
		{INFINITY, "null"},
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct strbuf s = {0};
		struct json j;

		json_init(&j, &s);
		json_double(&j, NULL, rows[i].n);
		CU_ASSERT_STRING_EQUAL(strbuf_text(&s), rows[i].json);
		strbuf_fini(&s);
	}
}

static void test_deep(void)
{
	struct strbuf s = {0};
	struct json j;

	json_init(&j, &s);
	for (unsigned i = 0; i < JSON_DEPTH_MAX; i++)
		json_array_open(&j, NULL);
	json_int(&j, NULL, 1);
	json_int(&j, NULL, 2);
	for (unsigned i = 0; i < JSON_DEPTH_MAX; i++)
		json_array_close(&j);
	CU_ASSERT_TRUE(json_is_complete(&j));
	CU_ASSERT_EQUAL(s.len, 2 * JSON_DEPTH_MAX + 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(strbuf_text(&s), "[[1,2]]"));
	strbuf_fini(&s);
}

static CU_TestInfo tests[] = {
	{"all kinds of values", test_sample},
	{"to a file", test_file},
	{"strings", test_strings},
	{"keys, and a NUL inside", test_key_and_nul},
	{"doubles", test_doubles},
	{"the deepest nesting", test_deep},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("json")
