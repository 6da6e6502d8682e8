// The table of kinds of keys: what services may bring, and where the L4 header is that their kinds read.
//
// What the tree's own kinds make of packets is test_flow.c's.

#include "session/key_kind.h"

#include <stddef.h>
#include <netinet/in.h>

#include "unit.h"

static bool some_extract(const struct pkt *p, const uint8_t *user, struct flow_key *key)
{
	return false;
}

static bool some_is(const struct flow_key *key)
{
	return flow_key_proto(key) == IPPROTO_GRE && key->ue_port == 7;
}

static void some_print(const struct flow_key *key, bool v6, struct strbuf *ue,
		       struct strbuf *remote)
{
}

static struct key_kind kind_of(const char *name)
{
	return (struct key_kind){
		.name = name, .extract = some_extract, .is = some_is, .print = some_print};
}

// Takes n kinds; "" or why not.
static const char *taken(const struct key_kind kinds[], unsigned n)
{
	const struct key_kind *brought[KEY_KINDS_BROUGHT + 1];
	static char why[200];

	for (unsigned i = 0; i < n; i++)
		brought[i] = &kinds[i];
	*why = 0;
	CU_ASSERT_EQUAL(key_kinds_init(brought, n, why, sizeof(why)), *why ? -EINVAL : 0);
	return why;
}

static void test_own(void)
{
	static const char *const names[KEY_KINDS_OWN] = {"teid", "ue",    "outside", "pair",
							 "echo", "tuple", "error"};

	CU_ASSERT_EQUAL_FATAL(key_kinds(), KEY_KINDS_OWN);
	for (unsigned i = 0; i < KEY_KINDS_OWN; i++) {
		const struct key_kind *kind = key_kind_at(i);

		CU_ASSERT_STRING_EQUAL(kind->name, names[i]);
		CU_ASSERT_PTR_NOT_NULL(kind->extract);
		CU_ASSERT_TRUE(kind->help && *kind->help);
		CU_ASSERT_TRUE(kind->print || i == KEY_KIND_error); // its keys are others'
		CU_ASSERT_EQUAL(kind->is != NULL, i >= KEY_KIND_FLOWS && i != KEY_KIND_error);
	}
}

// What is brought goes before what is here, for keys that it says are its own, until the next start.
static void test_brought(void)
{
	const struct key_kind kinds[] = {kind_of("one"), kind_of("two")};
	struct flow_key key = {
		.where = flow_key_where(1, IPPROTO_GRE), .ue_port = 7, .remote_port = 9};

	CU_ASSERT_STRING_EQUAL(taken(kinds, 2), "");
	CU_ASSERT_EQUAL(key_kinds(), KEY_KINDS_OWN + 2);
	CU_ASSERT_PTR_EQUAL(key_kind_at(KEY_KINDS_OWN), &kinds[0]);
	CU_ASSERT_EQUAL(key_kind_of(&key), KEY_KINDS_OWN + 1);
	key.ue_port = 8;
	CU_ASSERT_EQUAL(key_kind_of(&key), KEY_KIND_tuple);
	CU_ASSERT_STRING_EQUAL(taken(NULL, 0), "");
	CU_ASSERT_EQUAL(key_kinds(), KEY_KINDS_OWN);
	key.ue_port = 7;
	CU_ASSERT_EQUAL(key_kind_of(&key), KEY_KIND_tuple);
}

static void test_refused(void)
{
	struct key_kind kinds[KEY_KINDS_BROUGHT + 1];
	char names[KEY_KINDS_BROUGHT + 1][8];

	for (unsigned i = 0; i < KEY_KINDS_BROUGHT + 1; i++) {
		snprintf(names[i], sizeof(names[i]), "k%u", i);
		kinds[i] = kind_of(names[i]);
	}
	CU_ASSERT_STRING_EQUAL(taken(kinds, KEY_KINDS_BROUGHT), "");
	CU_ASSERT_STRING_EQUAL(taken(kinds, KEY_KINDS_BROUGHT + 1),
			       "9 kinds of keys, services may bring 8");
	kinds[1] = kind_of("k0");
	CU_ASSERT_STRING_EQUAL(taken(kinds, 2), "kind of keys k0: there is one already");
	kinds[1] = kind_of("tuple");
	CU_ASSERT_STRING_EQUAL(taken(kinds, 2), "kind of keys tuple: there is one already");
	kinds[1] = kind_of(NULL);
	CU_ASSERT_STRING_EQUAL(taken(kinds, 2),
			       "kind of keys without a name: needs name, extract, is and print");
	for (unsigned i = 0; i < 3; i++) {
		kinds[1] = kind_of("k1");
		if (i == 0)
			kinds[1].extract = NULL;
		else if (i == 1)
			kinds[1].is = NULL;
		else
			kinds[1].print = NULL;
		CU_ASSERT_STRING_EQUAL(taken(kinds, 2),
				       "kind of keys k1: needs name, extract, is and print");
	}
	taken(NULL, 0);
}

// Where the header is, and that it is there: not in later fragments, nor beyond what a quote has of its packet.
static void test_l4(void)
{
	struct ip4_head ip4 = {.fragment = RTE_BE16(IP4_MORE)};
	struct {
		struct ip6_head ip;
		uint8_t fragment[8], l4[8];
	} six = {.ip = {.flow = RTE_BE32(0x60000000), .payload = RTE_BE16(16), .next = 44},
		 .fragment = {IPPROTO_GRE, 0, 0, 1}};
	const uint8_t *v4 = (const uint8_t *)&ip4, *v6 = (const uint8_t *)&six;
	struct pkt p = {.family = 4, .user = 100, .l4 = 120, .user_bytes = 28};

	CU_ASSERT_PTR_EQUAL(key_l4(&p, v4, 8), v4 + 20);
	CU_ASSERT_PTR_NULL(key_l4(&p, v4, 9));
	p.flags = PKT_F_FRAGMENT;
	CU_ASSERT_PTR_EQUAL(key_l4(&p, v4, 8), v4 + 20);
	ip4.fragment = RTE_BE16(5);
	CU_ASSERT_PTR_NULL(key_l4(&p, v4, 8));

	p = (struct pkt){
		.family = 6, .user = 100, .l4 = 148, .user_bytes = 56, .flags = PKT_F_FRAGMENT};
	CU_ASSERT_PTR_EQUAL(key_l4(&p, v6, 8), six.l4);
	six.fragment[3] = 8;
	CU_ASSERT_PTR_NULL(key_l4(&p, v6, 8));
}

static CU_TestInfo tests[] = {
	{"the tree's", test_own},
	{"what services bring", test_brought},
	{"what they may not", test_refused},
	{"where the L4 header is", test_l4},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("key_kind")
