// PDRs that become active, or inactive, at a given time (TS 29.244 8.2.121, 8.2.122): what is compiled before, in
// between and after, with the clock in the test's hand.

#include "rules/arena.h"
#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

#define AHEAD 100 // seconds until the edges below
#define NEVER (-1)

// Activation Time and Deactivation Time in so many seconds from now, NEVER: not given.
static const char *times(int64_t from, int64_t until)
{
	static char hex[40];
	int n = 0;

	hex[0] = '\0';
	if (from != NEVER)
		n = snprintf(hex, sizeof(hex), "00a30004%08x", (uint32_t)(clock_ntp_s() + from));
	if (until != NEVER)
		snprintf(hex + n, sizeof(hex) - (size_t)n, "00a40004%08x",
			 (uint32_t)(clock_ntp_s() + until));
	return hex;
}

static const struct ruleset *ruleset_of(uint64_t seid)
{
	return rule_arena_at(&kit.arena, session_of(seid)->holding.rules);
}

// The number of up PDRs that packets may match.
static unsigned active(uint64_t seid)
{
	return ruleset_of(seid)->n_up;
}

static void pass_s(int64_t s)
{
	clock_warp_ns(s * (int64_t)NS_PER_SEC);
	n4_tick(kit.n4);
	kit_run();
}

// A plain session with one more up PDR, 3, that has these times.
static uint64_t establish_timed(uint64_t cp_seid, const char *ue, const char *hex)
{
	establish_begin(cp_seid);
	put_plain(ue);
	PDR(.id = 3, .source = ACCESS, .fteid = CH_V4, .precedence = 10, .removal = true, .far = 2,
	    .hex = hex);
	msg_send();
	return answer_cause() == 1 ? up_seid() : 0;
}

static void test_edges(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_timed(1, "10.45.0.2", times(AHEAD, 2 * AHEAD));
	CU_ASSERT_FATAL(seid != 0);
	CU_ASSERT(created_teid(3) != 0); // it is in the model at once
	CU_ASSERT_EQUAL(active(seid), 1);
	pass_s(AHEAD - 1);
	CU_ASSERT_EQUAL(active(seid), 1);
	pass_s(1);
	CU_ASSERT_EQUAL(active(seid), 2);
	CU_ASSERT_EQUAL(ruleset_of(seid)->pdrs[0].id, 3);
	pass_s(AHEAD - 1);
	CU_ASSERT_EQUAL(active(seid), 2);
	pass_s(1);
	CU_ASSERT_EQUAL(active(seid), 1);
	CU_ASSERT_EQUAL(kit.n4->sessions->n_edges, 0);
	kit_close();
}

// What is past has happened.
static void test_past(void)
{
	static const struct {
		int64_t from, until;
		unsigned active;
	} rows[] = {{0, NEVER, 2},        {-AHEAD, NEVER, 2},      {NEVER, AHEAD, 2},
		    {NEVER, 0, 1},        {-AHEAD, -AHEAD / 2, 1}, {-AHEAD, AHEAD, 2},
		    {AHEAD, 2 * AHEAD, 1}};

	kit_open(&conf);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t seid = establish_timed(i + 1, "10.45.0.2",
						times(rows[i].from, rows[i].until));

		CU_ASSERT_FATAL(seid != 0);
		CU_ASSERT_EQUAL(active(seid), rows[i].active);
		delete_session(seid);
	}
	kit_close();
}

static void test_refused(void)
{
	static const struct {
		int64_t from, until;
	} rows[] = {{AHEAD, AHEAD}, {AHEAD, AHEAD - 1}, {2 * AHEAD, -AHEAD}};
	struct kit_counts before, after;
	uint64_t seid;

	kit_open(&conf);
	before = kit_counts();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		establish_timed(i + 1, "10.45.0.2", times(rows[i].from, rows[i].until));
		CU_ASSERT(answer_cause() == 69 && answer_number(40) == 164);
		CU_ASSERT(failed_kind() == 0 && failed_id() == 3);
		after = kit_counts();
		CU_ASSERT(kit_counts_eq(&before, &after));
	}
	establish_timed(9, "10.45.0.2", "00a30003e81fe7"); // cut off
	CU_ASSERT(answer_cause() == 68 && answer_number(40) == 163);
	seid = establish_timed(10, "10.45.0.2", times(2 * AHEAD, NEVER));
	msg_begin(52, seid); // against what it has
	PDR(.id = 3, .update = true, .no_precedence = true, .no_pdi = true, .far = 2,
	    .hex = times(NEVER, AHEAD));
	msg_send();
	CU_ASSERT(answer_cause() == 69 && answer_number(40) == 164);
	CU_ASSERT(!rules_pdr_lookup(rules_of(session_of(seid)), 3)->has_until);
	kit_close();
}

// An update changes the times that it gives, and takes away what is empty; absent ones stay.
static void test_update(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_timed(1, "10.45.0.2", times(AHEAD, 3 * AHEAD));
	msg_begin(52, seid);
	PDR(.id = 3, .update = true, .precedence = 20, .no_pdi = true, .far = 2);
	msg_send();
	CU_ASSERT(answer_cause() == 1 && active(seid) == 1);
	msg_begin(52, seid);
	PDR(.id = 3, .update = true, .no_precedence = true, .no_pdi = true, .far = 2,
	    .hex = times(2 * AHEAD, NEVER));
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	pass_s(AHEAD);
	CU_ASSERT_EQUAL(active(seid), 1);
	pass_s(AHEAD);
	CU_ASSERT_EQUAL(active(seid), 2);
	msg_begin(52, seid);
	PDR(.id = 3, .update = true, .no_precedence = true, .no_pdi = true, .far = 2,
	    .hex = "00a4000000a30000");
	msg_send();
	CU_ASSERT(answer_cause() == 1 && active(seid) == 2);
	CU_ASSERT_EQUAL(kit.n4->sessions->n_edges, 0);
	pass_s(2 * AHEAD);
	CU_ASSERT_EQUAL(active(seid), 2);
	kit_close();
}

// A session without an active PDR lives: it keeps its address, and nothing matches.
static void test_asleep(void)
{
	char hex[40];
	uint64_t seid;

	kit_open(&conf);
	snprintf(hex, sizeof(hex), "%s", times(AHEAD, NEVER));
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1, .hex = hex);
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2, .hex = hex);
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 1,
	    .peer = "127.0.0.50");
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	seid = up_seid();
	CU_ASSERT(ruleset_of(seid)->n_up == 0 && ruleset_of(seid)->n_down == 0);
	CU_ASSERT(ruleset_of(seid)->n_fars == 0 && kit.neigh.used == 0);
	CU_ASSERT_EQUAL(establish_plain(2, "10.45.0.2"), 0);
	CU_ASSERT(answer_cause() == 73 && answer_number(40) == 93);
	pass_s(AHEAD);
	CU_ASSERT(ruleset_of(seid)->n_up == 1 && ruleset_of(seid)->n_down == 1);
	CU_ASSERT(!(ruleset_of(seid)->flags & RULESET_F_ANY_SOURCE));
	CU_ASSERT_EQUAL(kit.neigh.used, 1);
	kit_close();
}

// Many sessions with edges in no order, some of which go before their time: each gets its own.
static void test_many(void)
{
	enum { SESSIONS = 200 };
	static const struct kit_conf many = {256, 250, 1000, 64, 1u << 20, 16, "127.0.0.7", false};
	uint64_t seids[SESSIONS];
	int64_t at[SESSIONS];

	kit_open(&many);
	for (unsigned i = 0; i < SESSIONS; i++) {
		char ue[32];

		at[i] = 1 + (i * 37) % 101;
		snprintf(ue, sizeof(ue), "10.45.1.%u", i);
		seids[i] = establish_timed(i + 1, ue, times(at[i], NEVER));
		CU_ASSERT_FATAL(seids[i] != 0);
	}
	CU_ASSERT_EQUAL(kit.n4->sessions->n_edges, SESSIONS);
	for (unsigned i = 0; i < SESSIONS; i += 3)
		delete_session(seids[i]);
	for (int64_t now = 1; now <= 101; now++) {
		pass_s(1);
		for (unsigned i = 0; i < SESSIONS; i++)
			if (i % 3 != 0)
				CU_ASSERT_EQUAL(active(seids[i]), at[i] <= now ? 2 : 1);
	}
	CU_ASSERT_EQUAL(kit.n4->sessions->n_edges, 0);
	kit_close();
}

// An edge while a change is under way is not lost, nor does it come in between.
static void test_busy(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_timed(1, "10.45.0.2", times(AHEAD, NEVER));
	kit.hold = true;
	msg_begin(52, seid);
	FAR(.id = 2, .update = true, .action = DROP);
	msg_send();
	clock_warp_ns(AHEAD * (int64_t)NS_PER_SEC);
	n4_tick(kit.n4);
	CU_ASSERT_EQUAL(active(seid), 1);
	kit_run();
	CU_ASSERT(answer_cause() == 1 && active(seid) == 2);
	CU_ASSERT_EQUAL(ruleset_far(ruleset_of(seid), ruleset_of(seid)->pdrs[0].far)->action, DROP);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"edges", test_edges},    {"past", test_past},         {"refused", test_refused},
	{"updated", test_update}, {"all asleep", test_asleep}, {"many sessions", test_many},
	{"under way", test_busy}, CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_time")
