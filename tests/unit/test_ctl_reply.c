// ctl/reply: one description, compared to the letter in both forms; hostile texts; no memory.
// Each row of the table fills a reply as a handler would.

#include "ctl/reply.h"

#include <string.h>

#include "unit.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void put_object(struct reply *r)
{
	reply_object_open(r, NULL);
	reply_str(r, "name", "sluice");
	reply_str(r, "absent", NULL);
	reply_uint(r, "pid", 7);
	reply_bool(r, "up", true);
	reply_double(r, "share_percent", 12.5);
	reply_seid(r, "seid", 0xabc);
	reply_list_open(r, "roles");
	reply_str(r, NULL, "n3");
	reply_uint(r, NULL, 6);
	reply_list_close(r);
	reply_list_open(r, "none");
	reply_list_close(r);
	reply_object_close(r);
}

static const char *const table_columns[] = {"worker", "name", "rx_packets", NULL};

static void put_table_rows(struct reply *r, const char *key, unsigned n)
{
	reply_table_open(r, key, table_columns);
	for (unsigned i = 0; i < n; i++) {
		reply_row(r);
		reply_uint(r, NULL, i);
		reply_str(r, NULL, i ? "b" : "long name");
		if (i)
			reply_uint(r, NULL, 1000000 * i);
		else
			reply_null(r, NULL);
	}
	reply_table_close(r);
}

static void put_table(struct reply *r)
{
	reply_object_open(r, NULL);
	put_table_rows(r, "workers", 2);
	reply_uint(r, "total", 2);
	reply_object_close(r);
}

static void put_empty_table(struct reply *r)
{
	reply_object_open(r, NULL);
	put_table_rows(r, "workers", 0);
	reply_object_close(r);
}

static void put_nested(struct reply *r)
{
	reply_object_open(r, NULL);
	reply_uint(r, "id", 1);
	put_table_rows(r, "pdrs", 1);
	put_table_rows(r, "fars", 0);
	reply_uint(r, "last", 2);
	reply_object_close(r);
}

static void put_array(struct reply *r)
{
	reply_object_open(r, NULL);
	reply_array_open(r, "workers");
	for (unsigned i = 0; i < 2; i++) {
		reply_object_open(r, NULL);
		reply_uint(r, "worker", i);
		reply_counts_open(r, "counters");
		reply_count(r, "rx", 10 * i, "packets");
		reply_count(r, "tx_bytes", 5 * i, "bytes");
		reply_counts_close(r);
		reply_object_close(r);
	}
	reply_array_close(r);
	reply_object_open(r, "control");
	reply_counts_open(r, "drops");
	reply_count(r, "runt", 3, "too short");
	reply_counts_close(r);
	reply_object_close(r);
	reply_object_close(r);
}

static void put_counts(struct reply *r)
{
	reply_counts_open(r, NULL);
	reply_count(r, "runt", 3, "too short");
	reply_count(r, "no_pdr", 0, "no rule");
	reply_count(r, "no_route", 12345, "no way");
	reply_counts_close(r);
}

static void put_hostile(struct reply *r)
{
	reply_object_open(r, NULL);
	reply_str(r, "esc", "a\x1b[31m\n\"\\");
	reply_str(r, "bad_utf8", "\xff\xc3\xa9");
	reply_object_close(r);
}

static void put_failure(struct reply *r)
{
	put_object(r);
	reply_fail(r, CTL_FAILED, "no \"%s\"\x1b", "x");
}

// A handler may find out late, with things open.
static void put_late_failure(struct reply *r)
{
	reply_object_open(r, NULL);
	reply_table_open(r, "workers", table_columns);
	reply_row(r);
	reply_fail(r, CTL_FAILED, "gone");
}

static const struct {
	void (*put)(struct reply *r);
	const char *text, *json;
	enum ctl_status status;
} rows[] = {
	{put_object,
	 "name           sluice\n"
	 "absent         -\n"
	 "pid            7\n"
	 "up             yes\n"
	 "share_percent  12.5\n"
	 "seid           0x0000000000000abc\n"
	 "roles          n3, 6\n"
	 "none           -\n",
	 "{\"name\":\"sluice\",\"absent\":null,\"pid\":7,\"up\":true,\"share_percent\":12.5,"
	 "\"seid\":\"0x0000000000000abc\",\"roles\":[\"n3\",6],\"none\":[]}\n",
	 CTL_OK},
	{put_table,
	 "WORKER  NAME       RX_PACKETS\n"
	 "     0  long name           -\n"
	 "     1  b             1000000\n"
	 "\n"
	 "total  2\n",
	 "{\"workers\":[{\"worker\":0,\"name\":\"long name\",\"rx_packets\":null},"
	 "{\"worker\":1,\"name\":\"b\",\"rx_packets\":1000000}],\"total\":2}\n",
	 CTL_OK},
	{put_empty_table, "none\n", "{\"workers\":[]}\n", CTL_OK},
	{put_nested,
	 "id  1\n"
	 "\n"
	 "pdrs:\n"
	 "  WORKER  NAME       RX_PACKETS\n"
	 "       0  long name  -\n"
	 "\n"
	 "fars:\n"
	 "  none\n"
	 "\n"
	 "last  2\n",
	 "{\"id\":1,\"pdrs\":[{\"worker\":0,\"name\":\"long name\",\"rx_packets\":null}],"
	 "\"fars\":[],\"last\":2}\n",
	 CTL_OK},
	{put_array,
	 "worker  0\n"
	 "\n"
	 "counters:\n"
	 "  none\n"
	 "\n"
	 "worker  1\n"
	 "\n"
	 "counters:\n"
	 "  rx        10  packets\n"
	 "  tx_bytes   5  bytes\n"
	 "\n"
	 "control:\n"
	 "  drops:\n"
	 "    runt  3  too short\n",
	 "{\"workers\":[{\"worker\":0,\"counters\":{\"rx\":0,\"tx_bytes\":0}},"
	 "{\"worker\":1,\"counters\":{\"rx\":10,\"tx_bytes\":5}}],"
	 "\"control\":{\"drops\":{\"runt\":3}}}\n",
	 CTL_OK},
	{put_counts,
	 "runt          3  too short\n"
	 "no_route  12345  no way\n",
	 "{\"runt\":3,\"no_pdr\":0,\"no_route\":12345}\n", CTL_OK},
	{put_hostile,
	 "esc       a\\x1b[31m\\x0a\"\\\n"
	 "bad_utf8  \\xff\\xc3\\xa9\n",
	 "{\"esc\":\"a\\u001b[31m\\n\\\"\\\\\",\"bad_utf8\":\"\\ufffd\xc3\xa9\"}\n", CTL_OK},
	{put_failure, "no \"x\"\\x1b\n", "{\"error\":\"no \\\"x\\\"\\u001b\"}\n", CTL_FAILED},
	{put_late_failure, "gone\n", "{\"error\":\"gone\"}\n", CTL_FAILED},
};

static void check(unsigned row, enum reply_form form, const char *want)
{
	struct reply r;

	reply_init(&r, form);
	rows[row].put(&r);
	reply_finish(&r);
	CU_ASSERT_EQUAL(r.status, rows[row].status);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&r.out), want);
	if (strcmp(strbuf_text(&r.out), want) != 0)
		printf("\nrow %u:\n%s", row, strbuf_text(&r.out));
	reply_fini(&r);
}

static void test_both_forms(void)
{
	for (unsigned i = 0; i < N(rows); i++) {
		check(i, REPLY_TEXT, rows[i].text);
		check(i, REPLY_JSON, rows[i].json);
	}
}

static void test_lines(void)
{
	struct reply r;

	reply_init(&r, REPLY_TEXT);
	reply_lines(&r, "a: 1\nb: 2\n");
	reply_finish(&r);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&r.out), "a: 1\nb: 2\n");
	reply_fini(&r);
}

// What a buffer lost is not half an answer: it is a failure.
static void test_no_memory(void)
{
	static const char *const want[] = {
		[REPLY_TEXT] = "out of memory\n",
		[REPLY_JSON] = "{\"error\":\"out of memory\"}\n",
	};

	for (enum reply_form form = REPLY_TEXT; form <= REPLY_JSON; form++) {
		struct reply r;

		reply_init(&r, form);
		put_table(&r);
		r.out.failed = true;
		reply_finish(&r);
		CU_ASSERT_EQUAL(r.status, CTL_FAILED);
		CU_ASSERT_STRING_EQUAL(strbuf_text(&r.out), want[form]);
		reply_fini(&r);
	}
}

static CU_TestInfo tests[] = {
	{"both forms", test_both_forms},
	{"lines", test_lines},
	{"no memory", test_no_memory},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("ctl_reply")
