// The text of framed routes (rules/framed.h): what is read, what is refused, and that no octet beyond the text
// counts. Pure functions.

#include "rules/framed.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

static const struct {
	const char *text;
	uint8_t family;
	const char *prefix; // NULL: refused
} rows[] = {
	{"192.168.77.0/24", 4, "192.168.77.0/24"},
	{"192.168.77.0/24 10.45.0.2", 4, "192.168.77.0/24"},
	{"192.168.77.0/24 0.0.0.0 1", 4, "192.168.77.0/24"},
	{" 192.168.77.0/24\t10.45.0.2  1 2 3 4 5 ", 4, "192.168.77.0/24"},
	{"192.168.77.9/24", 4, "192.168.77.0/24"},
	{"10.9.8.7", 4, "10.0.0.0/8"},
	{"172.20.1.1 0.0.0.0", 4, "172.20.0.0/16"},
	{"192.0.2.9", 4, "192.0.2.0/24"},
	{"192.0.2.9/32", 4, "192.0.2.9/32"},
	{"128.0.0.0/1", 4, "128.0.0.0/1"},
	{"2001:db8:77::/48", 6, "2001:db8:77::/48"},
	{"2001:db8:0:106::/64 2001:db8::106:a00:20ff:fe99:a998 1", 6, "2001:db8:0:106::/64"},
	{"2001:db8::1/128 ::", 6, "2001:db8::1/128"},
	{"2001:db8:77::/48", 4, NULL},
	{"192.168.77.0/24", 6, NULL},
	{"2001:db8:77::", 6, NULL},
	{"", 4, NULL},
	{"   ", 4, NULL},
	{"aaaaaaaa", 4, NULL},
	{"192.168.77.0/33", 4, NULL},
	{"192.168.77.0/", 4, NULL},
	{"192.168.77/24", 4, NULL},
	{"192.168.77.0/24 gateway", 4, NULL},
	{"192.168.77.0/24 1", 4, NULL},
	{"192.168.77.0/24 fe80::1", 4, NULL},
	{"192.168.77.0/24 0.0.0.0 one", 4, NULL},
	{"192.168.77.0/24 0.0.0.0 -1", 4, NULL},
	{"192.168.77.0/24 0.0.0.0 99999999999", 4, NULL},
	{"0.0.0.0/0", 4, NULL},
	{"::/0", 6, NULL},
	{"0.0.0.0/8", 4, NULL},
	{"224.0.0.0/4", 4, NULL},
	{"ff00::/8", 6, NULL},
	{"fe80::/64", 6, NULL},
	{"169.254.1.0/24", 4, NULL},
};

static void table(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct prefix got, expected;
		const char *why = NULL;
		int rc = framed_parse(rows[i].text, strlen(rows[i].text), rows[i].family, &got,
				      &why);
		bool good = rc == (rows[i].prefix ? 0 : -EINVAL);

		if (good && rows[i].prefix)
			good = prefix_parse(rows[i].prefix, &expected) == 0 &&
			       prefix_eq(&got, &expected);
		else if (good)
			good = why != NULL;
		if (!good)
			printf("\n\"%s\": %d\n", rows[i].text, rc);
		CU_ASSERT_TRUE(good);
	}
}

static void octets(void)
{
	char text[FRAMED_TEXT_MAX + 1];
	struct prefix got;
	const char *why;

	memset(text, ' ', sizeof(text));
	memcpy(text, "10.0.0.0/8", 10);
	CU_ASSERT_EQUAL(framed_parse(text, FRAMED_TEXT_MAX, 4, &got, &why), 0);
	CU_ASSERT_EQUAL(framed_parse(text, FRAMED_TEXT_MAX + 1, 4, &got, &why), -EINVAL);
	CU_ASSERT_EQUAL(framed_parse(text, 0, 4, &got, &why), -EINVAL);
	text[12] = '\0';
	CU_ASSERT_EQUAL(framed_parse(text, 20, 4, &got, &why), -EINVAL);
	CU_ASSERT_EQUAL(framed_parse(text, 10, 4, &got, &why), 0); // needs no NUL behind it
}

static CU_TestInfo tests[] = {
	{"texts", table},
	{"octets", octets},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("framed routes")
