// sluice-perf's command lines: values, ranges, lists and what is wrong; and the summary of windows.
// One thread, without EAL.

#include "options.h"
#include "summary.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

struct values {
	bool flag;
	uint64_t number;
	struct number_list numbers;
	double decimal;
	const char *text;
	struct addr addr;
	uint32_t words;
};

#define AT(member) offsetof(struct values, member)
#define N(a) (sizeof(a) / sizeof((a)[0]))

static const struct option_row rows[] = {
	{"flag", OPTION_FLAG, AT(flag), .help = "a flag"},
	{"number", OPTION_NUMBER, AT(number), 2, 100, "7", .operand = "N", .help = "a number"},
	{"numbers", OPTION_NUMBERS, AT(numbers), 1, 9, "1,2", .operand = "N,…", .help = "numbers"},
	{"decimal", OPTION_DECIMAL, AT(decimal), 0, 10, "0.5", .operand = "N", .help = "a decimal"},
	{"text", OPTION_TEXT, AT(text), .operand = "TEXT", .help = "a text"},
	{"addr", OPTION_ADDR, AT(addr), .operand = "ADDRESS", .help = "an address"},
	{"words", OPTION_WORDS, AT(words), .def = "b", .words = {"a", "b", "c"}, .operand = "W,…",
	 .help = "words"},
};

static int parse(struct values *to, const char *line)
{
	static char copy[512];
	char *argv[32] = {"engine"}, *save = NULL;
	const struct option_table tables[] = {{rows, 3, to}, {rows + 3, N(rows) - 3, to}};
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	memset(to, 0, sizeof(*to));
	return options_parse(tables, N(tables), "engine", argc, argv);
}

static void test_defaults(void)
{
	struct values v;

	CU_ASSERT_EQUAL(parse(&v, ""), 0);
	CU_ASSERT_FALSE(v.flag);
	CU_ASSERT_EQUAL(v.number, 7);
	CU_ASSERT_EQUAL(v.numbers.n, 2);
	CU_ASSERT_EQUAL(v.numbers.at[1], 2);
	CU_ASSERT_EQUAL(v.decimal, 0.5);
	CU_ASSERT_PTR_NULL(v.text);
	CU_ASSERT_EQUAL(v.addr.family, ADDR_NONE);
	CU_ASSERT_EQUAL(v.words, 2);
}

static void test_values(void)
{
	struct values v;

	CU_ASSERT_EQUAL(parse(&v, "--number 100 --flag --numbers=9,1,5 --text x=y --decimal 2.25 "
				  "--addr 192.0.2.1 --words c,a --number=2"),
			0);
	CU_ASSERT_TRUE(v.flag);
	CU_ASSERT_EQUAL(v.number, 2);
	CU_ASSERT_EQUAL(v.numbers.n, 3);
	CU_ASSERT_EQUAL(v.numbers.at[0], 9);
	CU_ASSERT_EQUAL(v.numbers.at[2], 5);
	CU_ASSERT_EQUAL(v.decimal, 2.25);
	CU_ASSERT_STRING_EQUAL(v.text, "x=y");
	CU_ASSERT_EQUAL(v.addr.family, ADDR_V4);
	CU_ASSERT_EQUAL(v.words, 5);
}

static const char *const wrong[] = {
	"--number 1",
	"--number 101",
	"--number",
	"--number x",
	"--number 7x",
	"--number -7",
	"--number 18446744073709551616",
	"--numbers 1,10",
	"--numbers ,",
	"--numbers 1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8",
	"--decimal 10.5",
	"--decimal nan",
	"--text",
	"--addr 2001:db8::1",
	"--addr 192.0.2",
	"--words d",
	"--words a,d",
	"--words",
	"--flag=1",
	"--flg",
	"word",
};

static void test_wrong(void)
{
	struct values v;

	for (unsigned i = 0; i < N(wrong); i++)
		if (parse(&v, wrong[i]) != -EINVAL)
			CU_FAIL(wrong[i]);
	CU_ASSERT_EQUAL(parse(&v, "--help"), 1);
}

static void test_summary(void)
{
	double odd[] = {5, 1, 4, 2, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
	struct summary s = summary_of(odd, 5);

	CU_ASSERT_TRUE(s.min == 1 && s.median == 3 && s.max == 5);
	s = summary_of(even, 4);
	CU_ASSERT_TRUE(s.min == 1 && s.median == 3 && s.max == 4);
	s = summary_of(one, 1);
	CU_ASSERT_TRUE(s.min == 7 && s.median == 7 && s.max == 7);
}

static CU_TestInfo tests[] = {
	{"defaults", test_defaults}, {"values", test_values}, {"wrong", test_wrong},
	{"summary", test_summary},   CU_TEST_INFO_NULL,
};

UNIT_MAIN("perf_options")
