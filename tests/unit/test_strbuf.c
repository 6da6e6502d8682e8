// base/strbuf, and base/rand beside it: the small helpers. Growing is tried at every length, since
// each has its own path through the doubling.

#include "base/strbuf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "unit.h"

static void test_add(void)
{
	struct strbuf s = {0};

	CU_ASSERT_STRING_EQUAL(strbuf_text(&s), "");
	strbuf_add_str(&s, "abc");
	strbuf_add_char(&s, '-');
	strbuf_printf(&s, "%03d", 7);
	strbuf_add(&s, "xyz", 2);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&s), "abc-007xy");
	CU_ASSERT_EQUAL(s.len, 9);
	strbuf_clear(&s);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&s), "");
	strbuf_fini(&s);
	CU_ASSERT_PTR_NULL(s.text);
}

// Each length passes through each way of growing.
static void test_grow(void)
{
	struct strbuf s = {0};
	char want[400];

	for (size_t n = 0; n < sizeof(want); n++) {
		memset(want, 'a', n);
		want[n] = '\0';
		strbuf_clear(&s);
		strbuf_printf(&s, "%s", want);
		CU_ASSERT(s.len == n && strcmp(strbuf_text(&s), want) == 0);
		strbuf_fini(&s);
		strbuf_add(&s, want, n);
		CU_ASSERT(s.len == n && strcmp(strbuf_text(&s), want) == 0);
	}
	strbuf_fini(&s);
}

static void test_consume(void)
{
	struct strbuf s = {0};

	strbuf_consume(&s, 3);
	strbuf_add_str(&s, "abcdef");
	strbuf_consume(&s, 2);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&s), "cdef");
	strbuf_consume(&s, 100);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&s), "");
	CU_ASSERT_EQUAL(s.len, 0);
	strbuf_fini(&s);
}

static void test_steal(void)
{
	struct strbuf s = {0};
	char *text = strbuf_steal(&s);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_STRING_EQUAL(text, "");
	free(text);
	strbuf_add_str(&s, "kept");
	text = strbuf_steal(&s);
	CU_ASSERT_STRING_EQUAL(text, "kept");
	CU_ASSERT_EQUAL(s.len, 0);
	free(text);
}

static void test_failed(void)
{
	struct strbuf s = {0};

	strbuf_add_str(&s, "kept");
	strbuf_add(&s, "", SIZE_MAX); // cannot be had: nothing is read
	CU_ASSERT_TRUE(s.failed);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&s), "kept");
	CU_ASSERT_PTR_NULL(strbuf_steal(&s));
	CU_ASSERT_FALSE(s.failed);
}

static void test_rand(void)
{
	uint8_t bytes[4096];
	uint64_t or = 0, and = UINT64_MAX;
	unsigned ones = 0;

	for (unsigned i = 0; i < 64; i++) {
		uint64_t n = rand_u64();

		or |= n;
		and &= n;
	}
	CU_ASSERT(or == UINT64_MAX && and == 0); // fails once in 2^57 runs

	rand_bytes(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		ones += (unsigned)__builtin_popcount(bytes[i]);
	CU_ASSERT(ones > 15000 && ones < 17768); // 15 standard deviations about 16384
	CU_ASSERT(rand_u32() != rand_u32() || rand_u32() != rand_u32());
}

static CU_TestInfo tests[] = {
	{"add", test_add},     {"grow", test_grow},        {"consume", test_consume},
	{"steal", test_steal}, {"no memory", test_failed}, {"random numbers", test_rand},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("strbuf")
