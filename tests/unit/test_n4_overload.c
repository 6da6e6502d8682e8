// Load and overload control: what answers tell of them, to whom, and how many new sessions are refused
// (TS 29.244 6.2.3, 6.2.4).

#include "pfcp/report.h"
#include "session_kit.h"

#define LOAD 1 // CP Function Features
#define OVRL 2

static const struct kit_conf conf = {16,       32, 20,          64,
				     1u << 20, 16, "127.0.0.7", false}; // 20 sessions

static void open_kit(unsigned features, uint32_t percent, uint32_t requests)
{
	kit_open(&conf);
	kit.n4->conf.load.overload_percent = percent;
	kit.n4->conf.load.overload_requests = requests;
	setup_begin("007f000004");
	ie_number(89, features, 1);
	msg_send();
}

static void second(void)
{
	clock_warp_ns((int64_t)NS_PER_SEC);
	n4_tick(kit.n4);
}

// An IE of Load (51) or Overload (54) Control Information; -1: not there.
static int64_t told(unsigned group, unsigned type)
{
	struct found f = find_ie(answer_ie(group), type, 0);

	return f.at ? (int64_t)number_at(f.at, (unsigned)f.len) : -1;
}

static uint64_t establish_n(unsigned n)
{
	char ue[32];

	snprintf(ue, sizeof(ue), "10.45.1.%u", n + 1);
	return establish_plain(n + 1, ue);
}

// Who does not ask for it is told nothing, whatever the state.
static void test_unasked(void)
{
	open_kit(0, 1, 1);
	for (unsigned i = 0; i < 4; i++) {
		establish_n(i);
		CU_ASSERT(!answer_ie(51).at && !answer_ie(54).at);
	}
	second();
	establish_n(5);
	CU_ASSERT(!answer_ie(51).at && !answer_ie(54).at);
	kit_close();
}

// In each answer; the number rises when the share of sessions changes, and only then.
static void test_load(void)
{
	uint64_t seid, first;
	int64_t seq;

	open_kit(LOAD, 0, 0);
	first = establish_n(0);
	seq = told(51, 52);
	CU_ASSERT(seq == kit.n4->recovery && told(51, 53) == 0 && !answer_ie(54).at);
	seid = establish_n(1);
	CU_ASSERT(told(51, 52) == seq && told(51, 53) == 0); // not looked at yet
	second();
	msg_begin(52, seid);
	FAR(.id = 1, .update = true, .action = DROP);
	msg_send();
	CU_ASSERT(answer_type() == 53 && told(51, 52) == seq + 1 && told(51, 53) == 10); // 2 of 20
	second();
	delete_session(seid);
	CU_ASSERT(answer_type() == 55 && told(51, 52) == seq + 1 && told(51, 53) == 10);
	second();
	delete_session(seid); // refused answers have it, too
	CU_ASSERT(answer_cause() == 65 && told(51, 52) == seq + 2 && told(51, 53) == 5);
	delete_session(first);
	kit_close();
}

// Reports tell it, too.
static void test_load_in_reports(void)
{
	struct report report = {.kind = REPORT_INACTIVITY};
	uint64_t seid;

	open_kit(LOAD, 0, 0);
	seid = establish_n(0);
	second();
	n4_report(kit.n4, n4_session_lookup(kit.n4, seid), &report);
	second();
	CU_ASSERT(answer_type() == 56 && answer_ie(39).at && told(51, 53) == 5);
	kit_close();
}

// From half of the sessions on: 1 % there, more the less is left. Part of the new ones is refused, and told so.
static void test_by_sessions(void)
{
	unsigned refused = 0;
	int64_t seq;

	open_kit(LOAD | OVRL, 50, 0);
	for (unsigned i = 0; i < 9; i++)
		CU_ASSERT_NOT_EQUAL(establish_n(i), 0);
	second();
	establish_n(9);
	CU_ASSERT_PTR_NULL(answer_ie(54).at);
	second();
	establish_n(10); // 10 of 20 when it was looked at
	CU_ASSERT(answer_cause() == 1 && told(54, 53) == 1 && told(54, 110) == -1);
	CU_ASSERT_EQUAL(told(54, 55), 0x0f); // 15 times 2 seconds
	seq = told(54, 52);
	for (unsigned i = 11; i < 15; i++)
		establish_n(i);
	second(); // 15 of 20: half is refused
	for (unsigned i = 15; i < 19; i++) {
		establish_n(i);
		refused += answer_cause() == 74;
		CU_ASSERT(told(54, 53) == 50 && told(54, 52) == seq + 1);
		CU_ASSERT_EQUAL(told(54, 110), answer_cause() == 74 ? 1 : -1); // AOCI
	}
	CU_ASSERT_EQUAL(refused, 2);
	CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_overload_refused], 2);
	kit_close();
}

// Too many requests: their part beyond the limit is refused in the next second, others than new sessions never; when
// it is over that is told for a while.
static void test_by_requests(void)
{
	uint64_t seid;
	unsigned refused = 0;
	int64_t seq;

	open_kit(OVRL, 0, 10);
	second();
	seid = establish_n(0);
	for (unsigned i = 0; i < 39; i++) {
		msg_begin(52, seid);
		FAR(.id = 1, .update = true, .action = i % 2 ? DROP : BUFF);
		msg_send();
		CU_ASSERT(answer_cause() == 1 && !answer_ie(54).at);
	}
	second(); // 40 where 10 are allowed
	for (unsigned i = 1; i < 9; i++) {
		establish_n(i);
		refused += answer_cause() == 74;
		CU_ASSERT_EQUAL(told(54, 53), 75);
	}
	CU_ASSERT_EQUAL(refused, 6);
	seq = told(54, 52);
	second();
	CU_ASSERT_NOT_EQUAL(establish_n(9), 0);
	CU_ASSERT(told(54, 53) == 0 && told(54, 52) == seq + 1);
	for (unsigned i = 0; i < 31; i++)
		second();
	CU_ASSERT_NOT_EQUAL(establish_n(10), 0);
	CU_ASSERT_PTR_NULL(answer_ie(54).at);
	kit_close();
}

// A repeated request gets the answer that it had, refused or not.
static void test_repeated(void)
{
	uint8_t request[1024];
	size_t len;

	open_kit(0, 0, 1);
	second();
	for (unsigned i = 0; i < 4; i++)
		delete_session(99);
	second(); // 75 %
	establish_n(0);
	establish_n(1);
	CU_ASSERT_EQUAL(answer_cause(), 74);
	len = kit.len;
	memcpy(request, kit.out, len);
	second();
	second();
	msg_deliver(request, len);
	CU_ASSERT_EQUAL(answer_cause(), 74);
	CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_overload_refused], 1);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"unasked", test_unasked},
	{"load", test_load},
	{"load in reports", test_load_in_reports},
	{"overload by sessions", test_by_sessions},
	{"overload by requests", test_by_requests},
	{"repeated", test_repeated},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_overload")
