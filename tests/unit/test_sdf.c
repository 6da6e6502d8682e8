// The parser of Flow Descriptions: every form that SMFs send, every one that must be refused, and that no
// damaged text is taken for more than it says (cases of TS 29.212 5.4.2 and RFC 6733 4.3.1).

#include <stdlib.h>

#include "unit.h"

#include "rules_kit.h"

struct good_row {
	const char *text;
	const char *printed; // as sdf_str gives it
};

static const struct good_row good_rows[] = {
	{"permit out ip from any to assigned", "permit out ip from any to assigned"},
	{"permit out 17 from 10.0.0.0/24 1000-2000 to assigned 5060,5061",
	 "permit out udp from 10.0.0.0/24 1000-2000 to assigned 5060,5061"},
	{"permit out udp from 192.0.2.20 49459 to any",
	 "permit out udp from 192.0.2.20/32 49459 to any"},
	{"permit out 58 from ff02::2/128 to assigned",
	 "permit out icmp6 from ff02::2/128 to assigned"},
	{"permit out ip from 2001:db8::/32 to assigned",
	 "permit out ip from 2001:db8::/32 to assigned"},
	{"permit out 41 from 192.0.2.4 to any", "permit out ipv6 from 192.0.2.4/32 to any"},
	{"permit out ip from any to any", "permit out ip from any to any"},
	{"permit out ip from any to assigned   ", "permit out ip from any to assigned"},
	{" permit\tout  ip from any to assigned\t", "permit out ip from any to assigned"},
	{"PERMIT OUT IP FROM ANY TO ASSIGNED", "permit out ip from any to assigned"},
	{"permit out ip from 0.0.0.0/0 to assigned", "permit out ip from 0.0.0.0/0 to assigned"},
	{"permit out ip from ::/0 to assigned", "permit out ip from ::/0 to assigned"},
	{"permit out 6 from any 80 to assigned", "permit out tcp from any 80 to assigned"},
	{"permit out 17 from 2001:db8:1::/48 1000-2000 to assigned",
	 "permit out udp from 2001:db8:1::/48 1000-2000 to assigned"},
	{"permit out 132 from 10.8.0.0/16 to assigned 3868",
	 "permit out sctp from 10.8.0.0/16 to assigned 3868"},
	{"permit out ip from any 443 to assigned", "permit out ip from any 443 to assigned"},
	{"permit out tcp from any 0-65535 to assigned 1,2,3-4,5,6,7,8,9",
	 "permit out tcp from any 0-65535 to assigned 1,2,3-4,5,6,7,8,9"},
	{"permit out icmp from any to 10.45.0.2", "permit out icmp from any to 10.45.0.2/32"},
	{"permit out ipv6-icmp from any to assigned", "permit out icmp6 from any to assigned"},
	{"permit out icmpv6 from fe80::/10 to any", "permit out icmp6 from fe80::/10 to any"},
	{"permit out esp from 198.51.100.1 to assigned",
	 "permit out esp from 198.51.100.1/32 to assigned"},
	{"permit out ah from any to assigned", "permit out ah from any to assigned"},
	{"permit out gre from any to assigned", "permit out gre from any to assigned"},
	{"permit out 200 from any to assigned", "permit out 200 from any to assigned"},
	{"permit out 255 from any to assigned", "permit out 255 from any to assigned"},
	{"permit out ip from any to assigned frag", "permit out ip from any to assigned frag"},
	{"permit out 6 from any 80 to assigned established  ",
	 "permit out tcp from any 80 to assigned established"},
	{"permit out tcp from any to any 80 setup", "permit out tcp from any to any 80 setup"},
};

static void test_good(void)
{
	for (unsigned i = 0; i < sizeof(good_rows) / sizeof(good_rows[0]); i++) {
		struct sdf sdf = {.has_bid = true, .bid = 7}, again = sdf;
		const char *why = "none";
		char text[SDF_STRLEN];

		if (sdf_parse(good_rows[i].text, strlen(good_rows[i].text), &sdf, &why) != 0)
			printf("\n%s: %s\n", good_rows[i].text, why);
		CU_ASSERT_TRUE(sdf.has_flow);
		CU_ASSERT_TRUE(sdf.has_bid && sdf.bid == 7);
		sdf.has_bid = false;
		sdf_str(&sdf, text, sizeof(text));
		CU_ASSERT_STRING_EQUAL(text, good_rows[i].printed);
		CU_ASSERT_EQUAL(sdf_parse(text, strlen(text), &again, &why), 0);
		again.has_bid = false;
		CU_ASSERT_EQUAL(memcmp(&sdf, &again, sizeof(sdf)), 0);
	}
}

static void test_fields(void)
{
	struct sdf sdf = kit_sdf("permit out 17 from 10.0.0.0/24 1000-2000 to assigned 5060,5061");

	CU_ASSERT_FALSE(sdf.any_proto);
	CU_ASSERT_EQUAL(sdf.proto, 17);
	CU_ASSERT_EQUAL(sdf.from.prefix.addr.family, ADDR_V4);
	CU_ASSERT_EQUAL(sdf.from.prefix.len, 24);
	CU_ASSERT_EQUAL(sdf.from.n_ports, 1);
	CU_ASSERT_EQUAL(sdf.from.ports[0].low, 1000);
	CU_ASSERT_EQUAL(sdf.from.ports[0].high, 2000);
	CU_ASSERT_TRUE(sdf.to.assigned);
	CU_ASSERT_EQUAL(sdf.to.n_ports, 2);
	CU_ASSERT_EQUAL(sdf.to.ports[1].low, 5061);
	CU_ASSERT_EQUAL(sdf.to.ports[1].high, 5061);
}

struct bad_row {
	const char *text;
	const char *why; // a part of the reason
};

static const struct bad_row bad_rows[] = {
	{"", "empty"},
	{"     ", "empty"},
	{"aaaaaaaa", "permit"},
	{"permit", "out"},
	{"permit out", "short"},
	{"permit out ip", "short"},
	{"permit out ip from any to", "short"},
	{"permit out ip from any", "short"},
	{"deny out ip from any to any", "deny"},
	{"permit in ip from any to any", "direction in"},
	{"permit both ip from any to any", "out"},
	{"permit out frobnicate from any to any", "unknown protocol"},
	{"permit out 256 from any to any", "unknown protocol"},
	{"permit out -1 from any to any", "unknown protocol"},
	{"permit out 17x from any to any", "unknown protocol"},
	{"permit out 0 from any to any", "protocol 0"},
	{"permit out ip form any to any", "from"},
	{"permit out ip from any two any", "to"},
	{"permit out ip from !10.0.0.0/8 to any", "!"},
	{"permit out ip from any to !assigned", "!"},
	{"permit out ip from 10.0.0.0/33 to any", "address"},
	{"permit out ip from 10.0.0/8 to any", "address"},
	{"permit out ip from 300.0.0.1 to any", "address"},
	{"permit out ip from 2001:db8::/129 to any", "address"},
	{"permit out ip from 2001:db8:::1 to any", "address"},
	{"permit out ip from 2001:0db8:0000:0000:0000:0000:0000:0001:aaaaaaaaaaaaaaaaa to any",
	 "address"},
	{"permit out ip from 10.0.0.1 to 2001:db8::1", "IPv6 on the other"},
	{"permit out ip from assigned to any", "remote"},
	{"permit out 1 from 2001:db8::1 to assigned", "family"},
	{"permit out icmp6 from 10.0.0.1 to assigned", "family"},
	{"permit out tcp from any 70000 to any", "port"},
	{"permit out tcp from any 80- to any", "range"},
	{"permit out tcp from any 90-80 to any", "range"},
	{"permit out tcp from any 80, to any", "port"},
	{"permit out tcp from any 80,,81 to any", "port"},
	{"permit out tcp from any 80;81 to any", "port"},
	{"permit out tcp from any http to any", "to"},
	{"permit out tcp from any 1,2,3,4,5,6,7,8,9 to any", "more than 8"},
	{"permit out tcp from any 80 81 to any", "to"},
	{"permit out esp from any 80 to any", "ports"},
	{"permit out 58 from any to any 80", "ports"},
	{"permit out dccp from any 80 to any", "ports"},
	{"permit out udp from any to any 80 frag", "frag"},
	{"permit out tcp from any to any frag setup", "frag"},
	{"permit out tcp from any to any setup established", "together"},
	{"permit out tcp from any to any setup setup", "twice"},
	{"permit out udp from any to any established", "another protocol"},
	{"permit out ip from any to any setup", "another protocol"},
	{"permit out ip from any to any ipoptions ssrr", "ipoptions"},
	{"permit out tcp from any to any tcpoptions mss", "tcpoptions"},
	{"permit out tcp from any to any tcpflags syn,!ack", "tcpflags"},
	{"permit out icmp from any to any icmptypes 8", "icmptypes"},
	{"permit out ip from any to any bogus", "too many"},
	{"permit out ip from any to any\n", "printable"},
	{"permit out ip from any to \x80ny", "printable"},
};

// Refused with a reason, and nothing is written.
static void refused(const char *text, size_t len, const char *part)
{
	struct sdf sdf, before;
	const char *why = NULL;

	memset(&sdf, 0x5a, sizeof(sdf));
	before = sdf;
	CU_ASSERT_EQUAL(sdf_parse(text, len, &sdf, &why), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(why);
	if (strstr(why, part) == NULL)
		printf("\n%s: %s\n", text, why);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, part));
	CU_ASSERT_EQUAL(memcmp(&sdf, &before, sizeof(sdf)), 0);
}

static void test_bad(void)
{
	for (unsigned i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++)
		refused(bad_rows[i].text, strlen(bad_rows[i].text), bad_rows[i].why);
}

static void test_bad_bytes(void)
{
	static const char nul_inside[] = "permit out ip\0 from any to assigned";
	static const char nul_behind[] = "permit out ip from any to assigned";
	char text[4000];

	refused(nul_inside, sizeof(nul_inside) - 1, "printable");
	refused(nul_behind, sizeof(nul_behind), "printable");
	memset(text, 'a', sizeof(text));
	refused(text, sizeof(text), "longer");
	for (unsigned i = 0; i < 400; i++)
		text[i] = i % 2 ? ' ' : 'a';
	refused(text, 400, "64 words");
}

// Texts end where the length says, not at a NUL: each is put at the end of memory of its own.
static int parse_exact(const char *text, size_t len, struct sdf *sdf)
{
	const char *why = NULL;
	char *exact = malloc(len ? len : 1);
	int rc;

	memcpy(exact, text, len);
	rc = sdf_parse(exact, len, sdf, &why);
	free(exact);
	CU_ASSERT_TRUE(rc == 0 || (rc == -EINVAL && why != NULL));
	return rc;
}

static void test_cut(void)
{
	const char *text = "permit out 17 from 10.0.0.0/24 1000-2000 to assigned";
	size_t full = strlen(text);

	for (size_t len = 0; len < full; len++) {
		struct sdf sdf = {0};

		CU_ASSERT_EQUAL(parse_exact(text, len, &sdf), -EINVAL);
	}
}

// Whatever is parsed prints as text that parses to the same.
static void test_mutations(void)
{
	unsigned n_good = sizeof(good_rows) / sizeof(good_rows[0]), parsed = 0;

	srandom(1);
	for (unsigned round = 0; round < 200000; round++) {
		struct sdf sdf = {0}, again = {0};
		char text[128], printed[SDF_STRLEN];
		size_t len = strlen(good_rows[round % n_good].text);

		memcpy(text, good_rows[round % n_good].text, len);
		for (unsigned k = (unsigned)random() % 3; k > 0; k--)
			text[(size_t)random() % len] = random() % 4
							       ? " /,-:.0159afpt"[random() % 14]
							       : (char)random();
		if (parse_exact(text, len, &sdf) != 0)
			continue;
		parsed++;
		sdf_str(&sdf, printed, sizeof(printed));
		CU_ASSERT_EQUAL(parse_exact(printed, strlen(printed), &again), 0);
		CU_ASSERT_EQUAL(memcmp(&sdf, &again, sizeof(sdf)), 0);
	}
	CU_ASSERT_TRUE(parsed > 50000 && parsed < 150000);
}

static void test_str_cut(void)
{
	struct sdf sdf = kit_sdf("permit out tcp from any 1,2,3,4,5,6,7,8 to assigned");
	char full[SDF_STRLEN], cut[SDF_STRLEN];

	sdf.has_tos = sdf.has_spi = sdf.has_flow_label = sdf.has_bid = true;
	sdf.tos = 0xb8;
	sdf.tos_mask = 0xfc;
	sdf.spi = 0x1234;
	sdf.flow_label = 0xabcde;
	sdf.bid = UINT32_MAX;
	sdf_str(&sdf, full, sizeof(full));
	CU_ASSERT_STRING_EQUAL(full,
			       "permit out tcp from any 1,2,3,4,5,6,7,8 to assigned tos 0xb8/0xfc "
			       "spi 0x00001234 flow label 0xabcde bid 4294967295");
	for (size_t size = 1; size <= strlen(full); size++) {
		memset(cut, 'x', sizeof(cut));
		sdf_str(&sdf, cut, size);
		CU_ASSERT_EQUAL(strlen(cut), size - 1);
		CU_ASSERT_EQUAL(memcmp(cut, full, size - 1), 0);
	}
}

static CU_TestInfo tests[] = {
	{"every form is parsed and printed", test_good},
	{"fields of a filter", test_fields},
	{"what is refused, and why", test_bad},
	{"bytes that are no text", test_bad_bytes},
	{"cut texts", test_cut},
	{"damaged texts", test_mutations},
	{"printed text is cut to its buffer", test_str_cut},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("sdf")
