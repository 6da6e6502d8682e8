// base/addr: what parses, what does not, and that printing gives back what was parsed; then masks,
// overlaps and kinds, a row a case.

#include "base/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "unit.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

struct text_row {
	const char *text;
	const char *printed; // NULL: refused
};

static void check(bool ok, const char *text)
{
	if (!ok)
		printf("\n  row: %s", text);
	CU_ASSERT(ok);
}

static void test_addr_parse(void)
{
	static const struct text_row rows[] = {
		{"192.0.2.1", "192.0.2.1"},
		{"0.0.0.0", "0.0.0.0"},
		{"255.255.255.255", "255.255.255.255"},
		{"2001:DB8:0:0::1", "2001:db8::1"},
		{"::", "::"},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.1"},
		{"fe80::1", "fe80::1"},
		{"", NULL},
		{"192.0.2", NULL},
		{"192.0.2.256", NULL},
		{"192.0.2.1 ", NULL},
		{"192.0.2.1/32", NULL},
		{"fe80::1%eth0", NULL},
		{"2001:db8::1::", NULL},
		{"host", NULL},
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct addr a = {.family = 99};
		char buf[ADDR_STRLEN];
		int rc = addr_parse(rows[i].text, &a);

		if (rows[i].printed == NULL) {
			check(rc == -EINVAL && a.family == 99, rows[i].text);
			continue;
		}
		check(rc == 0 && strcmp(addr_str(buf, &a), rows[i].printed) == 0, rows[i].text);
	}
}

static void test_prefix_parse(void)
{
	static const struct text_row rows[] = {
		{"10.45.0.0/16", "10.45.0.0/16"},
		{"10.45.0.1/16", "10.45.0.1/16"},
		{"0.0.0.0/0", "0.0.0.0/0"},
		{"192.0.2.1", "192.0.2.1/32"},
		{"192.0.2.1/32", "192.0.2.1/32"},
		{"::/0", "::/0"},
		{"2001:db8::/128", "2001:db8::/128"},
		{"2001:db8::1", "2001:db8::1/128"},
		{"2001:db8::/129", NULL},
		{"192.0.2.1/33", NULL},
		{"192.0.2.1/", NULL},
		{"192.0.2.1/-1", NULL},
		{"192.0.2.1/08", NULL},
		{"192.0.2.1/8x", NULL},
		{"192.0.2.1/4294967304", NULL},
		{"/8", NULL},
		{"", NULL},
		{"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa/8", NULL},
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct prefix p = {.len = 99};
		char buf[PREFIX_STRLEN];
		int rc = prefix_parse(rows[i].text, &p);

		if (rows[i].printed == NULL) {
			check(rc == -EINVAL && p.len == 99, rows[i].text);
			continue;
		}
		check(rc == 0 && strcmp(prefix_str(buf, &p), rows[i].printed) == 0, rows[i].text);
	}
}

static void test_endpoint_parse(void)
{
	static const struct text_row rows[] = {
		{"192.0.2.1:8805", "192.0.2.1:8805"},
		{"192.0.2.1", "192.0.2.1:7"},
		{"[2001:db8::1]:65535", "[2001:db8::1]:65535"},
		{"[2001:db8::1]", "[2001:db8::1]:7"},
		{"2001:db8::1", "[2001:db8::1]:7"},
		{"::1", "[::1]:7"},
		{"192.0.2.1:0", "192.0.2.1:0"},
		{"192.0.2.1:65536", NULL},
		{"192.0.2.1:", NULL},
		{"192.0.2.1:1:2", NULL},
		{"[192.0.2.1]:1", NULL},
		{"[2001:db8::1", NULL},
		{"[2001:db8::1]x", NULL},
		{"[2001:db8::1]:", NULL},
		{"[]:1", NULL},
		{":1", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct endpoint e = {.port = 99}, again = {0};
		struct sockaddr_storage sa;
		char buf[ENDPOINT_STRLEN];
		int rc = endpoint_parse(rows[i].text, 7, &e);

		if (rows[i].printed == NULL) {
			check(rc == -EINVAL && e.port == 99, rows[i].text);
			continue;
		}
		check(rc == 0 && strcmp(endpoint_str(buf, &e), rows[i].printed) == 0, rows[i].text);
		check(endpoint_to_sockaddr(&e, &sa) > 0, rows[i].text);
		check(endpoint_from_sockaddr((struct sockaddr *)&sa, &again) == 0 &&
			      endpoint_eq(&e, &again) && memcmp(&e, &again, sizeof(e)) == 0,
		      rows[i].text);
	}
}

static void test_sockaddr_other(void)
{
	struct sockaddr_storage sa = {.ss_family = AF_UNIX};
	struct endpoint e = {0};

	CU_ASSERT_EQUAL(endpoint_from_sockaddr((struct sockaddr *)&sa, &e), -EAFNOSUPPORT);
	CU_ASSERT_EQUAL(endpoint_to_sockaddr(&e, &sa), 0);
}

static void test_prefix_contains(void)
{
	static const struct {
		const char *prefix, *addr;
		bool contains;
	} rows[] = {
		{"10.45.0.0/16", "10.45.255.255", true},
		{"10.45.0.0/16", "10.46.0.0", false},
		{"10.45.7.1/16", "10.45.0.0", true},
		{"0.0.0.0/0", "255.0.0.1", true},
		{"0.0.0.0/0", "::", false},
		{"192.0.2.1/32", "192.0.2.1", true},
		{"192.0.2.1/32", "192.0.2.0", false},
		{"192.0.2.128/25", "192.0.2.127", false},
		{"192.0.2.128/25", "192.0.2.129", true},
		{"2001:db8:cafe::/48", "2001:db8:cafe:ffff::1", true},
		{"2001:db8:cafe::/48", "2001:db8:caff::", false},
		{"2001:db8::/63", "2001:db8:0:1::", true},
		{"2001:db8::/63", "2001:db8:0:2::", false},
		{"::/0", "ffff::", true},
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct prefix p, single;
		struct addr a;

		CU_ASSERT_FATAL(prefix_parse(rows[i].prefix, &p) == 0);
		CU_ASSERT_FATAL(addr_parse(rows[i].addr, &a) == 0);
		check(prefix_contains(&p, &a) == rows[i].contains, rows[i].prefix);

		single = (struct prefix){.addr = a, .len = addr_bits(&a)};
		check(prefix_overlaps(&p, &single) == rows[i].contains, rows[i].prefix);
		check(prefix_overlaps(&single, &p) == rows[i].contains, rows[i].prefix);
	}
}

static void test_addr_mask(void)
{
	static const struct {
		const char *prefix, *net;
	} rows[] = {
		{"10.45.255.255/17", "10.45.128.0"},
		{"10.45.1.1/0", "0.0.0.0"},
		{"10.45.1.1/32", "10.45.1.1"},
		{"ffff::ffff/127", "ffff::fffe"},
		{"ffff:ffff::/0", "::"},
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct prefix p;
		struct addr net, want;

		CU_ASSERT_FATAL(prefix_parse(rows[i].prefix, &p) == 0);
		CU_ASSERT_FATAL(addr_parse(rows[i].net, &want) == 0);
		net = addr_mask(&p.addr, p.len);
		check(addr_eq(&net, &want), rows[i].prefix);
		check(prefix_is_network(&p) == addr_eq(&p.addr, &want), rows[i].prefix);
	}
}

static void test_addr_kinds(void)
{
	static const struct {
		const char *text;
		bool unspecified, multicast, link_local;
	} rows[] = {
		{"0.0.0.0", true, false, false},     {"::", true, false, false},
		{"224.0.0.1", false, true, false},   {"239.255.255.255", false, true, false},
		{"240.0.0.1", false, false, false},  {"ff02::1", false, true, false},
		{"169.254.1.1", false, false, true}, {"fe80::1", false, false, true},
		{"febf::1", false, false, true},     {"fec0::1", false, false, false},
		{"192.0.2.1", false, false, false},
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct addr a;

		CU_ASSERT_FATAL(addr_parse(rows[i].text, &a) == 0);
		check(addr_is_unspecified(&a) == rows[i].unspecified, rows[i].text);
		check(addr_is_multicast(&a) == rows[i].multicast, rows[i].text);
		check(addr_is_link_local(&a) == rows[i].link_local, rows[i].text);
	}
}

static void test_addr_order(void)
{
	static const char *const sorted[] = {"0.0.0.1", "1.0.0.0", "192.0.2.1", "::1",
					     "2001:db8::"};
	struct addr none = {0};

	for (size_t i = 0; i < N(sorted); i++) {
		for (size_t j = 0; j < N(sorted); j++) {
			struct addr a, b;
			int cmp;

			CU_ASSERT_FATAL(addr_parse(sorted[i], &a) == 0);
			CU_ASSERT_FATAL(addr_parse(sorted[j], &b) == 0);
			cmp = addr_cmp(&a, &b);
			check((cmp > 0) - (cmp < 0) == (i > j) - (i < j), sorted[i]);
			check(addr_eq(&a, &b) == (i == j), sorted[i]);
			check(addr_cmp(&none, &a) < 0, sorted[i]);
		}
	}
	CU_ASSERT_TRUE(addr_eq(&none, &none));
	CU_ASSERT_FALSE(addr_is_unspecified(&none));
}

static void test_none_str(void)
{
	char buf[ENDPOINT_STRLEN];
	struct endpoint e = {0};
	struct prefix p = {0};

	CU_ASSERT_STRING_EQUAL(addr_str(buf, &e.addr), "none");
	CU_ASSERT_STRING_EQUAL(endpoint_str(buf, &e), "none");
	CU_ASSERT_STRING_EQUAL(prefix_str(buf, &p), "none");
}

static CU_TestInfo tests[] = {
	{"addr_parse", test_addr_parse},
	{"prefix_parse", test_prefix_parse},
	{"endpoint_parse", test_endpoint_parse},
	{"sockaddr of another family", test_sockaddr_other},
	{"prefix_contains, prefix_overlaps", test_prefix_contains},
	{"addr_mask, prefix_is_network", test_addr_mask},
	{"kinds of addresses", test_addr_kinds},
	{"addr_cmp", test_addr_order},
	{"none prints", test_none_str},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("addr")
