// Session reports: what goes out, together and in order, what comes of each answer or of none, and that nothing
// of it outlives its session or its limit.

#include "session_kit.h"

#include "pfcp/report.h"

static const struct kit_conf conf = KIT_CONF;

#define REPORT_REQUEST 56
#define REPORT_RESPONSE 57

static struct n4_session *session_at(uint64_t seid)
{
	return n4_session_lookup(kit.n4, seid);
}

static void usage(uint64_t seid, uint32_t urr, uint64_t bytes)
{
	static uint32_t seqn;
	const struct report report = {
		.kind = REPORT_USAGE,
		.usage = {.urr_id = urr,
			  .seqn = seqn++,
			  .trigger = PFCP_USAGE_REPORT_TRIGGER_VOLTH,
			  .volume = {.flags = PFCP_VOLUME_MEASUREMENT_TOVOL, .total = bytes}},
	};

	n4_report(kit.n4, session_at(seid), &report);
}

static void simple(uint64_t seid, enum report_kind kind)
{
	const struct report report = {.kind = kind, .downlink = {.pdr = 1}};

	n4_report(kit.n4, session_at(seid), &report);
}

static void tick(void)
{
	n4_tick(kit.n4);
	kit_run();
}

// How many IEs of this type the latest message has; the value of its report type.
static unsigned ies_sent(uint16_t type, uint8_t *ret_first)
{
	struct pfcp_cursor datagram = pfcp_cursor_of(kit.answer, kit.answer_len);
	struct pfcp_msg msg;
	struct pfcp_ie ie;
	unsigned n = 0;

	CU_ASSERT_EQUAL_FATAL(pfcp_msg_decode(&datagram, &msg), 0);
	while (pfcp_ie_next(&msg.ies, &ie) > 0)
		if (ie.type == type && n++ == 0 && ret_first)
			*ret_first = ie.data[0];
	return n;
}

static uint8_t type_sent(void)
{
	uint8_t type = 0;

	CU_ASSERT(kit.answer_len > 0 && kit.answer[1] == REPORT_REQUEST);
	CU_ASSERT_EQUAL(ies_sent(39, &type), 1);
	return type;
}

static void answer(uint64_t seid, unsigned cause)
{
	report_answer(seid, answer_seq(), cause, "");
}

// N1 x T1 without a word.
static void silence(void)
{
	for (unsigned i = 0; i <= kit.n4->conf.n1; i++) {
		clock_warp_ns((int64_t)(kit.n4->conf.t1_ms * NS_PER_MS));
		tick();
	}
}

// Each kind has its bit and its group; those of one session go together, downlink data only once in a message.
static void test_kinds(void)
{
	static const struct {
		enum report_kind kind;
		uint8_t bit;
		uint16_t group;
	} rows[] = {
		{REPORT_DOWNLINK_DATA, 1, 83},
		{REPORT_USAGE, 2, 80},
		{REPORT_ERROR_INDICATION, 4, 99},
		{REPORT_INACTIVITY, 8, 0},
	};
	uint64_t seid;

	kit_open(&conf);
	seid = establish_plain(9, "10.45.0.2");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		kit.n_sent = 0;
		simple(seid, rows[i].kind);
		CU_ASSERT(kit.n_sent == 0 && n4_report_waits(session_at(seid), rows[i].kind));
		tick();
		CU_ASSERT_EQUAL(kit.n_sent, 1);
		CU_ASSERT_EQUAL(type_sent(), rows[i].bit);
		CU_ASSERT(rows[i].group == 0 || ies_sent(rows[i].group, NULL) == 1);
		CU_ASSERT_EQUAL(kit.answer[11], 9); // the SMF's SEID
		answer(seid, 1);
		CU_ASSERT_FALSE(n4_report_waits(session_at(seid), rows[i].kind));
	}
	simple(seid, REPORT_DOWNLINK_DATA);
	usage(seid, 1, 100);
	simple(seid, REPORT_DOWNLINK_DATA);
	usage(seid, 2, 100);
	tick();
	CU_ASSERT(type_sent() == 3 && ies_sent(83, NULL) == 1 && ies_sent(80, NULL) == 2);
	answer(seid, 1);
	tick();
	CU_ASSERT(type_sent() == 1 && ies_sent(83, NULL) == 1 && ies_sent(80, NULL) == 0);
	answer(seid, 1);
	kit_close();
}

// One request at a time; nobody answers: usage is told again, a moment that has passed is not.
static void test_silence(void)
{
	uint64_t seid;

	clock_stop();
	kit_open(&conf);
	kit.n4->conf.heartbeat_s = 0;
	seid = establish_plain(9, "10.45.0.2");
	usage(seid, 1, 100);
	simple(seid, REPORT_DOWNLINK_DATA);
	kit.n_sent = 0;
	tick();
	usage(seid, 1, 200);
	tick();
	CU_ASSERT_EQUAL(kit.n_sent, 1);
	silence();
	CU_ASSERT_EQUAL(kit.n_sent, kit.n4->conf.n1);
	CU_ASSERT_FALSE(n4_report_waits(session_at(seid), REPORT_DOWNLINK_DATA));
	clock_warp_ns((int64_t)(10 * NS_PER_SEC));
	kit.n_sent = 0;
	tick();
	CU_ASSERT(kit.n_sent == 1 && type_sent() == 2 && ies_sent(80, NULL) == 2);
	answer(seid, 1);
	CU_ASSERT_FALSE(n4_report_waits(session_at(seid), REPORT_USAGE));
	kit_close();
	clock_start();
}

// What an SMF says to a report: 65 ends the session, other refusals end the report, no cause is no answer.
static void test_causes(void)
{
	static const struct {
		unsigned cause;
		bool lives, waits;
	} rows[] = {{1, true, false},
		    {64, true, false},
		    {69, true, false},
		    {65, false, false},
		    {0, true, true}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kit_counts before, after;
		uint64_t seid;

		kit_open(&conf);
		before = kit_counts();
		seid = establish_plain(9, "10.45.0.2");
		usage(seid, 1, 100);
		tick();
		answer(seid, rows[i].cause);
		CU_ASSERT_EQUAL(session_at(seid) != NULL, rows[i].lives);
		if (session_at(seid)) {
			CU_ASSERT_EQUAL(n4_report_waits(session_at(seid), REPORT_USAGE),
					rows[i].waits);
			delete_session(seid);
		}
		after = kit_counts();
		CU_ASSERT(kit_counts_eq(&before, &after));
		CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_reports_refused],
				rows[i].cause > 1);
		CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_discard_malformed],
				rows[i].cause == 0);
		kit_close();
	}
}

// A session that ends while its report is unanswered, before and after the answer comes.
static void test_race(void)
{
	uint8_t late[64];
	size_t late_len;
	uint64_t seid;

	clock_stop();
	kit_open(&conf);
	seid = establish_plain(9, "10.45.0.2");
	usage(seid, 1, 100);
	tick();
	kit.hold = true;
	delete_session(seid);
	answer(seid, 65); // while its owner is asked
	kit_run();
	CU_ASSERT_PTR_NULL(session_at(seid));
	kit.hold = false;

	seid = establish_plain(9, "10.45.0.2");
	usage(seid, 1, 100);
	usage(seid, 2, 100);
	tick();
	late_len = 0;
	msg_begin(REPORT_RESPONSE, seid);
	kit.len = 12;
	put((uint32_t)kit.answer[12] << 16 | (uint32_t)kit.answer[13] << 8 | kit.answer[14], 3);
	put(0, 1);
	ie_number(19, 1, 1);
	late_len = kit.len;
	memcpy(late, kit.out, late_len);
	late[3] = (uint8_t)(late_len - 4);
	delete_session(seid);
	kit.n_sent = 0;
	msg_deliver(late, late_len);
	silence();
	CU_ASSERT_EQUAL(kit.n_sent, 0);
	CU_ASSERT_EQUAL(kit.n4->sessions->n_reports, 0);
	kit_close();
	clock_start();
}

// Many reports of few URRs become one for each, with all bytes; what there is no room for is counted.
static void test_limits(void)
{
	uint64_t seid, lost;

	kit_open(&conf);
	kit.n4->conf.max_reports = 10;
	seid = establish_plain(9, "10.45.0.2");
	for (unsigned i = 0; i < 1000; i++)
		usage(seid, 1 + i % 4, 10);
	CU_ASSERT_EQUAL(kit.n4->sessions->n_reports, 8);
	tick();
	CU_ASSERT(ies_sent(80, NULL) == 8);
	usage(seid, 1, 10); // what is under way is not changed
	usage(seid, 9, 10);
	CU_ASSERT_EQUAL(kit.n4->sessions->n_reports, 10);
	lost = kit.n4->counters.counter[N4_COUNT_reports_lost];
	usage(seid, 10, 10);
	CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_reports_lost], lost + 1);
	answer(seid, 1);
	tick();
	CU_ASSERT_EQUAL(ies_sent(80, NULL), 2);
	answer(seid, 1);
	CU_ASSERT_EQUAL(kit.n4->sessions->n_reports, 0);
	kit_close();
}

// The context ends with reports waiting and under way.
static void test_context_ends(void)
{
	uint64_t one, two;

	kit_open(&conf);
	one = establish_plain(1, "10.45.0.2");
	two = establish_plain(2, "10.45.0.3");
	usage(one, 1, 10);
	tick();
	usage(one, 1, 10);
	usage(two, 1, 10);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"kinds", test_kinds},    {"nobody answers", test_silence},
	{"answers", test_causes}, {"the session ends meanwhile", test_race},
	{"limits", test_limits},  {"the context ends", test_context_ends},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_report")
