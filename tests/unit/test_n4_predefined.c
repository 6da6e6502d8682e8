// Predefined rules of the configuration (TS 29.244 5.19): activated and deactivated by name, and what they make of
// the PDR that does it.

#include "rules/arena.h"
#include "rules/expand.h"
#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

// "drop" beats "voice", and "video" comes before it by its precedence.
static struct predefined_rule list[] = {
	{.name = "voice", .precedence = 20, .action = PREDEFINED_FAR},
	{.name = "drop", .precedence = 20, .action = PREDEFINED_DROP},
	{.name = "video", .precedence = 10, .action = PREDEFINED_FORWARD, .ni = 1},
	{.name = "r4"},
	{.name = "r5"},
	{.name = "r6"},
	{.name = "r7"},
	{.name = "r8"},
	{.name = "r9"},
};

#define LIST_LEN (sizeof(list) / sizeof(list[0]))

static void open_with_rules(void)
{
	for (unsigned i = 0; i < LIST_LEN; i++) {
		char text[80];
		const char *why;

		snprintf(text, sizeof(text), "permit out 17 from 10.9.9.%u to assigned", i);
		list[i].n_filters = 1;
		CU_ASSERT_FATAL(sdf_parse(text, strlen(text), &list[i].filters[0], &why) == 0);
	}
	kit_predefined = list;
	kit_n_predefined = LIST_LEN;
	kit_open(&conf);
}

// The IE for a name.
#define ACTIVATE 106
#define DEACTIVATE 107

static const char *rule(unsigned type, const char *name)
{
	static char hex[4][160];
	static unsigned next;
	char *at = hex[next++ % 4];
	int n = snprintf(at, sizeof(hex[0]), "%04x%04x", type, (unsigned)strlen(name));

	for (; *name; name++)
		n += snprintf(at + n, sizeof(hex[0]) - (size_t)n, "%02x", (uint8_t)*name);
	return at;
}

static const char *two(const char *a, const char *b)
{
	static char hex[320];

	snprintf(hex, sizeof(hex), "%s%s", a, b);
	return hex;
}

static const struct ruleset *ruleset_of(uint64_t seid)
{
	return rule_arena_at(&kit.arena, session_of(seid)->holding.rules);
}

// The place in `list` of the rule whose packets the i-th PDR takes; -1: any packet.
static int rule_at(const struct ruleset *rs, unsigned i)
{
	if (rs->pdrs[i].n_filters == 0)
		return -1;
	return (int)(rte_be_to_cpu_32(ruleset_filter(rs, rs->pdrs[i].first_filter)->v4.remote) &
		     0xff);
}

static const struct far *far_at(const struct ruleset *rs, unsigned i)
{
	return ruleset_far(rs, rs->pdrs[i].far);
}

// A plain session, and PDR 3 from the access side with these IEs.
static uint64_t establish(const char *hex, bool no_far, const char *flow)
{
	establish_begin(1);
	put_plain("10.45.0.2");
	PDR(.id = 3, .source = ACCESS, .fteid = CH_V4, .precedence = 10, .removal = true,
	    .flows = {flow}, .no_far = no_far, .far = 2, .hex = hex);
	msg_send();
	return answer_cause() == 1 ? up_seid() : 0;
}

static void modify(uint64_t seid, const char *hex)
{
	msg_begin(52, seid);
	PDR(.id = 3, .update = true, .no_precedence = true, .no_pdi = true, .no_far = true,
	    .hex = hex);
	msg_send();
}

static void test_activate(void)
{
	const struct ruleset *rs;
	uint64_t seid;

	open_with_rules();
	seid = establish(two(rule(ACTIVATE, "voice"), rule(ACTIVATE, "video")), false, NULL);
	CU_ASSERT_FATAL(seid != 0);
	rs = ruleset_of(seid);
	CU_ASSERT_EQUAL_FATAL(rs->n_up, 3);
	CU_ASSERT(rs->pdrs[0].id == 3 && rs->pdrs[1].id == 3 && rs->pdrs[2].id == 2);
	CU_ASSERT(rule_at(rs, 0) == 2 && rule_at(rs, 1) == 0 && rule_at(rs, 2) == -1);
	CU_ASSERT(far_at(rs, 0)->id == 2 && far_at(rs, 1)->id == 2); // the PDR names a FAR
	CU_ASSERT(rs->pdrs[0].tunnel == rs->pdrs[1].tunnel && rs->pdrs[0].tunnel != 0);

	modify(seid, two(rule(DEACTIVATE, "video"), rule(ACTIVATE, "drop")));
	CU_ASSERT_EQUAL(answer_cause(), 1);
	rs = ruleset_of(seid);
	CU_ASSERT_EQUAL_FATAL(rs->n_up, 3);
	CU_ASSERT(rule_at(rs, 0) == 0 && rule_at(rs, 1) == 1);
	CU_ASSERT_EQUAL(far_at(rs, 1)->action,
			DROP); // also where the PDR names a FAR that forwards

	modify(seid, two(rule(DEACTIVATE, "voice"), rule(DEACTIVATE, "drop")));
	CU_ASSERT_EQUAL(answer_cause(), 1);
	rs = ruleset_of(seid); // without a rule the PDR takes nothing, never everything
	CU_ASSERT(rs->n_up == 1 && rs->pdrs[0].id == 2);
	modify(seid, rule(ACTIVATE, "voice"));
	CU_ASSERT(answer_cause() == 1 && ruleset_of(seid)->n_up == 2);
	modify(seid, rule(ACTIVATE, "voice")); // again: as it is
	CU_ASSERT(answer_cause() == 1 && ruleset_of(seid)->n_up == 2);
	kit_close();
}

// A rule with an action of its own needs no FAR; the PDR's own filters do not go away.
static void test_actions(void)
{
	const struct ruleset *rs;
	uint64_t seid;

	open_with_rules();
	seid = establish(two(rule(ACTIVATE, "video"), rule(ACTIVATE, "drop")), true, NULL);
	CU_ASSERT_FATAL(seid != 0);
	rs = ruleset_of(seid);
	CU_ASSERT_EQUAL_FATAL(rs->n_up, 3);
	CU_ASSERT(far_at(rs, 0)->action == FORW && far_at(rs, 0)->to == FAR_TO_ROUTE);
	CU_ASSERT(far_at(rs, 0)->iface == KIT_N6 && far_at(rs, 1)->action == DROP);
	CU_ASSERT(far_at(rs, 0)->id >= 0x80000000u && far_at(rs, 1)->id >= 0x80000000u);
	CU_ASSERT(far_at(rs, 0)->id != far_at(rs, 1)->id);
	delete_session(seid);

	seid = establish(rule(ACTIVATE, "drop"), false, "permit out 6 from 10.9.9.99 to assigned");
	CU_ASSERT_FATAL(seid != 0);
	rs = ruleset_of(seid);
	CU_ASSERT_EQUAL_FATAL(rs->n_up, 3);
	CU_ASSERT(rule_at(rs, 0) == 99 && far_at(rs, 0)->action == FORW);
	CU_ASSERT(rule_at(rs, 1) == 1 && far_at(rs, 1)->action == DROP);
	kit_close();
}

// From the core side, for a UE that another PDR names; two sessions with like rules share them.
static void test_down(void)
{
	const struct ruleset *rs;
	uint64_t seid, other;

	open_with_rules();
	establish_begin(1);
	put_plain("10.45.0.2");
	PDR(.id = 3, .source = CORE, .ni = "internet", .precedence = 10, .far = 1,
	    .hex = rule(ACTIVATE, "voice"));
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	seid = up_seid();
	rs = ruleset_of(seid);
	CU_ASSERT(rs->n_down == 2 && rule_at(rs, rs->n_up) == 0);
	CU_ASSERT_EQUAL(far_at(rs, rs->n_up)->to, FAR_TO_LINE);
	establish_begin(2);
	put_plain("10.45.0.3");
	PDR(.id = 3, .source = CORE, .ni = "internet", .precedence = 10, .far = 1,
	    .hex = rule(ACTIVATE, "voice"));
	msg_send();
	other = up_seid();
	CU_ASSERT_EQUAL(session_of(seid)->holding.rules, session_of(other)->holding.rules);
	kit_close();
}

// FAR IDs of the SMF's that look like ours do not meet them.
static void test_far_ids(void)
{
	const struct ruleset *rs;

	open_with_rules();
	establish_begin(1);
	put_plain("10.45.0.2");
	PDR(.id = 3, .source = ACCESS, .fteid = CH_V4, .precedence = 10, .removal = true,
	    .no_far = true, .hex = rule(ACTIVATE, "drop"));
	FAR(.id = 0x80000000u, .action = FORW, .to = true, .destination = CORE);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	rs = ruleset_of(up_seid());
	CU_ASSERT(rule_at(rs, 0) == 1 && far_at(rs, 0)->action == DROP);
	CU_ASSERT(far_at(rs, 0)->id != 0x80000000u);
	kit_close();
}

static void test_refused(void)
{
	static const struct {
		const char *name;
		bool no_far;
		unsigned cause, offending;
	} rows[] = {
		{"none", false, 73, 106}, {"", false, 68, 106},       {"Voice", false, 73, 106},
		{"voic", false, 73, 106}, {"voice ", false, 73, 106}, {"voice", true, 67, 108},
	};
	struct kit_counts before, after;
	uint64_t seid;

	open_with_rules();
	before = kit_counts();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL(establish(rule(ACTIVATE, rows[i].name), rows[i].no_far, NULL), 0);
		CU_ASSERT_EQUAL(answer_cause(), rows[i].cause);
		CU_ASSERT_EQUAL(answer_number(40), rows[i].offending);
		CU_ASSERT(failed_kind() == 0 && failed_id() == 3);
		after = kit_counts();
		CU_ASSERT(kit_counts_eq(&before, &after));
	}
	establish_begin(1); // forwards to the core, which down packets come from
	put_plain("10.45.0.2");
	PDR(.id = 3, .source = CORE, .no_far = true, .hex = rule(ACTIVATE, "video"));
	msg_send();
	CU_ASSERT(answer_cause() == 67 && answer_number(40) == 108 && failed_id() == 3);

	seid = establish(rule(ACTIVATE, "voice"), false, NULL);
	modify(seid, rule(DEACTIVATE, "video"));
	CU_ASSERT(answer_cause() == 73 && answer_number(40) == 107 && failed_id() == 3);
	modify(seid, two(rule(DEACTIVATE, "voice"), rule(ACTIVATE, "none")));
	CU_ASSERT(answer_cause() == 73 && answer_number(40) == 106);
	CU_ASSERT_EQUAL(ruleset_of(seid)->n_up, 2); // as it was
	for (unsigned i = 0; i < LIST_LEN; i++)
		modify(seid, rule(ACTIVATE, list[i].name));
	CU_ASSERT(answer_cause() == 75 && answer_number(40) == 106 && failed_id() == 3);
	CU_ASSERT_EQUAL(ruleset_of(seid)->n_up, 1 + RULES_MAX_PREDEFINED);
	kit_close();
}

// With times, the PDR's rules come and go with it.
static void test_times(void)
{
	char hex[200];
	uint64_t seid;

	open_with_rules();
	snprintf(hex, sizeof(hex), "%s00a30004%08x", rule(ACTIVATE, "voice"), clock_ntp_s() + 10);
	seid = establish(hex, false, NULL);
	CU_ASSERT_FATAL(seid != 0);
	CU_ASSERT_EQUAL(ruleset_of(seid)->n_up, 1);
	clock_warp_ns(10 * (int64_t)NS_PER_SEC);
	n4_tick(kit.n4);
	kit_run();
	CU_ASSERT_EQUAL(ruleset_of(seid)->n_up, 2);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"activated and deactivated", test_activate},
	{"actions", test_actions},
	{"down", test_down},
	{"FAR IDs", test_far_ids},
	{"refused", test_refused},
	{"times", test_times},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_predefined")
