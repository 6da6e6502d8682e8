// base/log: what a line looks like, on a terminal and for the journal, and what floods cost.
// Lines are caught in memory or a temporary file; time is stopped and moved.

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "unit.h"

static char *text; // of the stream under test
static size_t text_len;
static FILE *out;

static void capture(void)
{
	out = open_memstream(&text, &text_len);
	CU_ASSERT_FATAL(out != NULL);
	log_init(out);
}

static void release(void)
{
	log_init(NULL);
	fclose(out);
	free(text);
	text = NULL;
}

static unsigned count(const char *what)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		n++;
	return n;
}

static void test_line(void)
{
	int year;

	capture();
	log_level_set(LOG_LEVEL_INFO);
	log_info("session %d is up", 7);
	CU_ASSERT(sscanf(text, "%d-%*d-%*dT%*d:%*d:%*d.%*dZ info:", &year) == 1 && year > 2000);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "Z info: session 7 is up\n"));
	release();
}

static void test_levels(void)
{
	capture();
	log_level_set(LOG_LEVEL_WARN);
	log_error("a");
	log_warn("b");
	log_info("c");
	log_debug("d");
	log_info_limited("e");
	CU_ASSERT_EQUAL(count("\n"), 2);
	CU_ASSERT_EQUAL(count("error: a\n"), 1);
	CU_ASSERT_EQUAL(count("warn: b\n"), 1);
	release();
}

static void test_parse(void)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	enum log_level level = LOG_LEVEL_DEBUG;

	for (unsigned i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(log_level_parse(names[i], &level), 0);
		CU_ASSERT_EQUAL(level, i);
		CU_ASSERT_STRING_EQUAL(log_level_str(level), names[i]);
		log_level_set(level);
		CU_ASSERT_EQUAL(log_level_get(), level);
	}
	CU_ASSERT_EQUAL(log_level_parse("verbose", &level), -EINVAL);
	CU_ASSERT_EQUAL(level, LOG_LEVEL_DEBUG);
}

static void test_clean(void)
{
	capture();
	log_level_set(LOG_LEVEL_INFO);
	log_info("name %s.", "a\nb\033[2J\x7f\xc3\xa9");
	CU_ASSERT_EQUAL(count("\n"), 1);
	CU_ASSERT_EQUAL(count("name a\\x0ab\\x1b[2J\\x7f\\xc3\\xa9.\n"), 1);
	release();
}

static void test_long(void)
{
	char big[5000];

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	capture();
	log_info("%s", big);
	CU_ASSERT(text_len < 1200);
	CU_ASSERT_EQUAL(count("x...\n"), 1);
	memset(big, '\n', sizeof(big) - 1); // escapes make it longer still
	log_info("%s", big);
	CU_ASSERT(text_len < 2400);
	CU_ASSERT_EQUAL(count("\n"), 2);
	release();
}

static void test_journal(void)
{
	char stream[64], line[200] = "";
	FILE *f = tmpfile();
	struct stat st;

	CU_ASSERT_FATAL(f != NULL && fstat(fileno(f), &st) == 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_init(f);
	log_level_set(LOG_LEVEL_DEBUG);
	log_error("to the journal");
	log_debug("also");
	rewind(f);
	CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), f));
	CU_ASSERT_STRING_EQUAL(line, "<3>to the journal\n");
	CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), f));
	CU_ASSERT_STRING_EQUAL(line, "<7>also\n");

	setenv("JOURNAL_STREAM", "1:1", 1); // another stream's: ours is no journal
	rewind(f);
	log_init(f);
	log_error("not there");
	rewind(f);
	CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), f));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "Z error: not there\n"));
	unsetenv("JOURNAL_STREAM");
	log_init(NULL);
	fclose(f);
}

static void flood(unsigned lines)
{
	for (unsigned i = 0; i < lines; i++)
		log_warn_limited("flood");
}

static void test_limited(void)
{
	capture();
	log_level_set(LOG_LEVEL_INFO);
	clock_stop();
	flood(100);
	CU_ASSERT_EQUAL(count("warn: flood\n"), LOG_LIMIT_BURST);
	CU_ASSERT_EQUAL(count("suppressed"), 0);

	log_warn_limited("another place has its own allowance");
	CU_ASSERT_EQUAL(count("another place"), 1);

	clock_warp_ns((int64_t)NS_PER_SEC);
	flood(5);
	CU_ASSERT_EQUAL(count("warn: flood\n"), LOG_LIMIT_BURST + 1);
	CU_ASSERT_EQUAL(count("warn: 90 more like this suppressed\n"), 1);

	clock_warp_ns(3600 * (int64_t)NS_PER_SEC);
	flood(100);
	CU_ASSERT_EQUAL(count("warn: flood\n"), 2 * LOG_LIMIT_BURST + 1);
	CU_ASSERT_EQUAL(count("warn: 4 more like this suppressed\n"), 1);
	CU_ASSERT_EQUAL(log_suppressed(), 90 + 4 + 90);

	log_burst_set(3);
	clock_warp_ns(3600 * (int64_t)NS_PER_SEC);
	flood(100);
	CU_ASSERT_EQUAL(count("warn: flood\n"), 2 * LOG_LIMIT_BURST + 1 + 3);
	log_burst_set(LOG_LIMIT_BURST);
	clock_start();
	release();
}

static CU_TestInfo tests[] = {
	{"a line", test_line},           {"levels", test_levels},
	{"names of levels", test_parse}, {"control characters", test_clean},
	{"long messages", test_long},    {"the journal", test_journal},
	{"rate limit", test_limited},    CU_TEST_INFO_NULL,
};

UNIT_MAIN("log")
