// PFD Management: what is read of a request and stored, replaced and removed, and that one which is refused
// changes nothing (TS 29.244 6.2.5, 7.4.3, 8.2.39).

#include "pfd_msg.h"

static const struct kit_conf conf = KIT_CONF;

#define ONE "permit out ip from 192.0.2.1 to assigned"
#define TWO "permit out 17 from 192.0.2.2 53 to assigned"
#define THREE "permit out ip from 2001:db8::/32 to assigned"

static void accepted(void)
{
	CU_ASSERT_EQUAL(answer_type(), 4);
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_PTR_NULL(answer_ie(40).at);
	CU_ASSERT(answer_ie(60).len == 5 && memcmp(answer_ie(60).at, "\0\x7f\0\0\7", 5) == 0);
	CU_ASSERT_EQUAL(kit.n4->waiting_bytes, 0);
}

static void refused(unsigned cause, unsigned offending)
{
	if (answer_cause() != cause || answer_number(40) != offending)
		printf("\ncause %u, IE %u\n", answer_cause(), (unsigned)answer_number(40));
	CU_ASSERT_EQUAL(answer_type(), 4);
	CU_ASSERT_EQUAL(answer_cause(), cause);
	CU_ASSERT_EQUAL(answer_number(40), offending);
	CU_ASSERT_EQUAL(kit.n4->waiting_bytes, 0);
}

// A PFD of every kind of value, alone and several at once.
static void test_kinds(void)
{
	size_t app, context, contents, run;

	kit_open(&conf);
	pfd_begin();
	app = app_begin("all");
	context = ie_begin(59);
	contents = ie_begin(61);
	put(0xff00, 2);
	put_value(ONE);
	put_value("^http://a.example/");
	put_value("a.example");
	put_value("own");
	put_value("tls-sni");
	run = kit.len;
	put(0, 2);
	put_value(TWO);
	put_value(THREE);
	ie_end(run + 2);
	run = kit.len;
	put(0, 2);
	put_value("^http://b.example/");
	ie_end(run + 2);
	run = kit.len;
	put(0, 2);
	put_value("b.example");
	put_value("dns-qname");
	put_value("c.example");
	put_value("");
	ie_end(run + 2);
	ie_end(contents);
	ie_end(context);
	put_pfd(CUSTOM, "more");
	ie_end(app);
	msg_send();
	accepted();
	CU_ASSERT_STRING_EQUAL(
		apps_text(),
		"all: flow.1=" ONE " flow.1=" TWO " flow.1=" THREE " url.1=^http://a.example/"
		" url.1=^http://b.example/ domain.1=a.example protocol.1=tls-sni"
		" domain.1=b.example protocol.1=dns-qname domain.1=c.example custom.1=own"
		" custom.2=more");
	CU_ASSERT_FALSE(app_of("all")->given->detectable);
	CU_ASSERT_EQUAL(app_of("all")->given->n_flows, 3);
	kit_close();
}

// What comes for an application takes the place of all it had; without PFD Context it loses it; a request
// without applications takes all away.
static void test_replace(void)
{
	size_t a, b;

	kit_open(&conf);
	PFDS("a", ONE, TWO);
	accepted();
	PFDS("b", THREE);
	accepted();
	CU_ASSERT_STRING_EQUAL(apps_text(), "a: flow.1=" ONE " flow.2=" TWO "; b: flow.1=" THREE);
	CU_ASSERT(app_of("a")->given->detectable && app_of("b")->given->detectable);
	PFDS("a", THREE);
	accepted();
	CU_ASSERT_STRING_EQUAL(apps_text(), "a: flow.1=" THREE "; b: flow.1=" THREE);
	pfd_begin();
	a = app_begin("a");
	ie_end(a);
	b = app_begin("c");
	put_pfd(FD, ONE);
	ie_end(b);
	msg_send();
	accepted();
	CU_ASSERT_STRING_EQUAL(apps_text(), "b: flow.1=" THREE "; c: flow.1=" ONE);
	NO_PFDS("never seen"); // nothing is left to do
	accepted();
	CU_ASSERT_PTR_NULL(app_of("a"));
	no_apps();
	accepted();
	CU_ASSERT_STRING_EQUAL(apps_text(), "");
	CU_ASSERT_EQUAL(kit.n4->env.pfds->bytes, 0);
	CU_ASSERT_EQUAL(kit.n4->env.pfds->n_apps, 0);
	kit_close();
}

// What the configuration says counts while no CP function says otherwise.
static void test_own(void)
{
	const char *why = NULL;

	kit_open(&conf);
	CU_ASSERT_EQUAL(pfd_own_add(kit.n4->env.pfds, "a", ONE, &why), 0);
	CU_ASSERT_EQUAL(pfd_own_add(kit.n4->env.pfds, "a", TWO, &why), 0);
	CU_ASSERT_EQUAL(pfd_own_add(kit.n4->env.pfds, "a", "permit in", &why), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(why);
	CU_ASSERT_STRING_EQUAL(apps_text(), "a: flow.1=" ONE " flow.1=" TWO);
	PFDS("a", THREE);
	CU_ASSERT_STRING_EQUAL(apps_text(), "a: flow.1=" THREE);
	NO_PFDS("a");
	CU_ASSERT_STRING_EQUAL(apps_text(), "a: flow.1=" ONE " flow.1=" TWO);
	PFDS("a", THREE);
	no_apps();
	accepted();
	CU_ASSERT_STRING_EQUAL(apps_text(), "a: flow.1=" ONE " flow.1=" TWO);
	kit_close();
}

// --- refused ---------------------------------------------------------------------------------------------

// IEs of a request behind one that is right, for application "b"; and what is wrong with them.
static const struct {
	const char *hex;
	unsigned cause, offending;
} refused_rows[] = {
	{"003a0000", 66, 24},                                                  // no Application ID
	{"003a0004 00180000", 69, 24},                                         // empty
	{"003a0007 00180003 610062", 69, 24},                                  // with a NUL
	{"003a0005 00180001 62", 69, 24},                                      // b again
	{"003a0009 00180001 61 003b0000", 66, 61},                             // no PFD Contents
	{"003a000f 00180001 61 003b0006 003d0002 0000", 69, 61},               // no flags
	{"003a000d 00180001 61 003b0004 003d0000", 68, 61},                    // no octets
	{"003a0011 00180001 61 003b0008 003d0004 0100 0000", 69, 61},          // empty flow
	{"003a0012 00180001 61 003b0009 003d0005 0100 0001 78", 69, 61},       // "x"
	{"003a0012 00180001 61 003b0009 003d0005 0100 0002 78", 68, 61},       // longer than it is
	{"003a0012 00180001 61 003b0009 003d0005 1000 0001 78", 69, 61},       // DNP without DN
	{"003a0011 00180001 61 003b0008 003d0004 2000 0000", 69, 61},          // AFD of none
	{"003a0013 00180001 61 003b000a 003d0006 4000 0002 0000", 69, 61},     // empty URL
	{"003a0013 00180001 61 003b000a 003d0006 4000 0002 0001", 68, 61},     // URL cut off
	{"003a0012 00180001 61 003b0009 003d0005 4000 0001 00", 68, 61},       // length cut off
	{"003a0014 00180001 61 003b000b 003d0007 8000 0003 000178", 69, 61},   // no protocol
	{"003a0015 00180001 61 003b000c 003d0008 8000 0004 00000000", 69, 61}, // empty name
	{"003a0009 00180001 61 003b0009", 68, 59}, // runs past its group
};

static void test_refused(void)
{
	uint64_t generation;

	kit_open(&conf);
	PFDS("a", ONE);
	PFDS("b", TWO);
	generation = kit.n4->env.pfds->generation;
	for (unsigned i = 0; i < sizeof(refused_rows) / sizeof(refused_rows[0]); i++) {
		size_t app;

		pfd_begin();
		app = app_begin("b");
		put_pfd(FD, THREE);
		ie_end(app);
		put_hex(refused_rows[i].hex);
		msg_send();
		refused(refused_rows[i].cause, refused_rows[i].offending);
		CU_ASSERT_STRING_EQUAL(apps_text(), "a: flow.1=" ONE "; b: flow.1=" TWO);
		CU_ASSERT_EQUAL(kit.n4->env.pfds->generation, generation);
	}
	CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_pfds_full], 0);
	kit_close();
}

// Who has no association changes nothing, and a Node ID must be the sender's; PFDs outlive an association.
static void test_association(void)
{
	kit_open(&conf);
	pfd_begin();
	ie_hex(60, "007f000004");
	msg_send();
	accepted();
	pfd_begin();
	ie_hex(60, "007f000005");
	msg_send();
	refused(72, 0);
	pfd_begin();
	ie_hex(60, "037f000005");
	msg_send();
	refused(69, 60);
	PFDS("a", ONE);
	kit_release();
	CU_ASSERT_EQUAL(assoc_count(kit.n4), 0);
	no_apps();
	refused(72, 0);
	CU_ASSERT_STRING_EQUAL(apps_text(), "a: flow.1=" ONE);
	kit_close();
}

// A request that comes twice is done once.
static void test_duplicate(void)
{
	uint8_t request[256], answer[64];
	size_t request_len, answer_len;
	uint64_t generation;

	kit_open(&conf);
	PFDS("a", ONE);
	request_len = kit.len;
	answer_len = kit.answer_len;
	memcpy(request, kit.out, request_len);
	memcpy(answer, kit.answer, answer_len);
	generation = kit.n4->env.pfds->generation;
	kit.answer_len = 0;
	msg_deliver(request, request_len);
	CU_ASSERT(kit.answer_len == answer_len && memcmp(kit.answer, answer, answer_len) == 0);
	CU_ASSERT_EQUAL(kit.n4->env.pfds->generation, generation);
	kit_close();
}

// --- limits ----------------------------------------------------------------------------------------------

static void test_limit_apps(void)
{
	size_t app;

	kit_open(&conf);
	kit.n4->env.pfds->limits.apps = 2;
	PFDS("a", ONE);
	PFDS("b", ONE);
	accepted();
	PFDS("c", ONE);
	refused(75, 58);
	CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_pfds_full], 1);
	CU_ASSERT_STRING_EQUAL(apps_text(), "a: flow.1=" ONE "; b: flow.1=" ONE);
	PFDS("a", TWO); // what is there may change
	accepted();
	pfd_begin(); // and make room for another
	app = app_begin("a");
	ie_end(app);
	app = app_begin("c");
	put_pfd(FD, ONE);
	ie_end(app);
	msg_send();
	accepted();
	CU_ASSERT_STRING_EQUAL(apps_text(), "b: flow.1=" ONE "; c: flow.1=" ONE);
	pfd_begin();
	for (unsigned i = 0; i < 3; i++) {
		app = app_begin((char[]){(char)('x' + i), '\0'});
		ie_end(app);
	}
	msg_send();
	refused(75, 58);
	kit_close();
}

static void test_limit_values(void)
{
	kit_open(&conf);
	kit.n4->env.pfds->limits.values = 3;
	PFDS("a", ONE, TWO, THREE);
	accepted();
	PFDS("a", ONE, TWO, THREE, ONE);
	refused(75, 61);
	CU_ASSERT_STRING_EQUAL(apps_text(), "a: flow.1=" ONE " flow.2=" TWO " flow.3=" THREE);
	CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_pfds_full], 1);
	kit_close();
}

// Ports are spread over compiled filters, of which a PDR has no more than 64.
static void test_limit_filters(void)
{
	static const char ports[] = "permit out 17 from any 1,3,5,7,9,11,13,15 to assigned "
				    "1,3,5,7,9,11,13,15";

	kit_open(&conf);
	PFDS("a", ports);
	accepted();
	CU_ASSERT_EQUAL(app_of("a")->given->n_filters, 64);
	PFDS("b", ports, ONE);
	refused(75, 61);
	CU_ASSERT_PTR_NULL(app_of("b"));
	kit_close();
}

static void test_limit_bytes(void)
{
	uint64_t one;

	kit_open(&conf);
	PFDS("a", ONE);
	one = kit.n4->env.pfds->bytes;
	CU_ASSERT(one > strlen(ONE) + sizeof(struct sdf));
	kit.n4->env.pfds->limits.bytes = 2 * one;
	PFDS("b", ONE);
	accepted();
	CU_ASSERT_EQUAL(kit.n4->env.pfds->bytes, 2 * one);
	PFDS("c", ONE);
	refused(75, 58);
	PFDS("b", ONE, ONE);
	refused(75, 58);
	CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_pfds_full], 2);
	CU_ASSERT_EQUAL(kit.n4->env.pfds->bytes, 2 * one);
	CU_ASSERT_EQUAL(kit.n4->env.pfds->n_apps, 2);
	NO_PFDS("a");
	PFDS("c", ONE);
	accepted();
	CU_ASSERT_EQUAL(kit.n4->env.pfds->bytes, 2 * one);
	kit_close();
}

static void test_limit_name(void)
{
	char name[PFD_NAME_MAX + 1];

	kit_open(&conf);
	memset(name, 'n', sizeof(name));
	name[PFD_NAME_MAX] = '\0';
	PFDS(name, ONE);
	refused(75, 24);
	name[PFD_NAME_MAX - 1] = '\0';
	PFDS(name, ONE);
	accepted();
	CU_ASSERT_PTR_NOT_NULL(app_of(name));
	kit_close();
}

static CU_TestInfo tests[] = {
	{"every kind of value", test_kinds},
	{"replaced and removed", test_replace},
	{"of the configuration", test_own},
	{"refused, and nothing changed", test_refused},
	{"association", test_association},
	{"duplicate", test_duplicate},
	{"limit of applications", test_limit_apps},
	{"limit of values", test_limit_values},
	{"limit of compiled filters", test_limit_filters},
	{"limit of bytes", test_limit_bytes},
	{"limit of a name", test_limit_name},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_pfd")
