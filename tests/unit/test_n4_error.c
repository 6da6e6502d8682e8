// Error Indications become reports to the SMF of the session that sends to the tunnel, and of no other; as
// seldom as it should be; and the table of tunnels follows each change of the rules and forgets all at the end.

#include "session_kit.h"

#include "pfcp/remote_tunnels.h"

static const struct kit_conf conf = KIT_CONF;

#define ERIR 4
#define GNB "127.0.0.50"
#define GNB2 "127.0.0.51"

static void indicate(uint32_t teid, const char *peer)
{
	struct addr addr;

	CU_ASSERT_EQUAL_FATAL(addr_parse(peer, &addr), 0);
	n4_error_indication(kit.n4, teid, &addr);
}

// The session's FAR 2 leads to this tunnel from now on, or buffers.
static void send_to(uint64_t seid, uint32_t teid, const char *gnb)
{
	size_t far, parameters, ohc;

	msg_begin(52, seid);
	far = ie_begin(10);
	ie_number(108, 1, 4);
	ie_number(44, gnb ? 0x0200 : 0x0c00, 2);
	if (gnb) {
		parameters = ie_begin(11);
		ie_number(42, 0, 1);
		ohc = ie_begin(84);
		put(0x0100, 2);
		put(teid, 4);
		put_v4(gnb);
		ie_end(ohc);
		ie_end(parameters);
	}
	ie_end(far);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
}

// Whether the next tick tells the SMF; it accepts.
static bool told(uint64_t seid, uint8_t cp_seid, uint32_t teid)
{
	struct found group, fteid;

	kit.n_sent = 0;
	n4_tick(kit.n4);
	if (kit.n_sent == 0)
		return false;
	CU_ASSERT(kit.n_sent == 1 && kit.answer[1] == 56 && answer_number(39) == ERIR);
	CU_ASSERT_EQUAL(kit.answer[11], cp_seid);
	group = answer_ie(99);
	fteid = find_ie(group, 21, 0);
	CU_ASSERT(fteid.len == 9 && fteid.at[0] == 1 && number_at(fteid.at + 1, 4) == teid);
	report_answer(seid, answer_seq(), 1, "");
	return true;
}

static void test_owner(void)
{
	uint64_t one, two;

	kit_open(&conf);
	one = establish_plain(1, "10.45.0.2");
	two = establish_plain(2, "10.45.0.3");
	send_to(one, 100, GNB);
	send_to(two, 101, GNB);
	indicate(100, GNB);
	CU_ASSERT(told(one, 1, 100));
	indicate(101, GNB);
	CU_ASSERT(told(two, 2, 101));
	// Tunnels of nobody.
	indicate(102, GNB);
	indicate(0, GNB);
	indicate(100, GNB2);
	indicate(100, "::1");
	CU_ASSERT_FALSE(told(one, 1, 0));
	kit_close();
}

// Once while the report waits, and then again only after a second.
static void test_seldom(void)
{
	uint64_t one;

	kit_open(&conf);
	one = establish_plain(1, "10.45.0.2");
	send_to(one, 100, GNB);
	for (unsigned i = 0; i < 1000; i++)
		indicate(100, GNB);
	CU_ASSERT(told(one, 1, 100));
	indicate(100, GNB);
	CU_ASSERT_FALSE(told(one, 1, 100));
	clock_warp_ns((int64_t)(NS_PER_SEC - 1));
	indicate(100, GNB);
	CU_ASSERT_FALSE(told(one, 1, 100));
	clock_warp_ns((int64_t)(NS_PER_SEC / 10));
	indicate(100, GNB);
	CU_ASSERT(told(one, 1, 100));
	kit_close();
}

// A handover, an idle UE, a session deleted: only the tunnel that is sent to now counts.
static void test_changes(void)
{
	uint64_t one;

	kit_open(&conf);
	one = establish_plain(1, "10.45.0.2");
	send_to(one, 100, GNB);
	send_to(one, 200, GNB2);
	indicate(100, GNB);
	CU_ASSERT_FALSE(told(one, 1, 100));
	indicate(200, GNB2);
	CU_ASSERT(told(one, 1, 200));
	send_to(one, 0, NULL);
	clock_warp_ns((int64_t)NS_PER_SEC);
	indicate(200, GNB2);
	CU_ASSERT_FALSE(told(one, 1, 200));
	send_to(one, 300, GNB);
	indicate(300, GNB);
	CU_ASSERT(told(one, 1, 300));
	delete_session(one);
	clock_warp_ns((int64_t)NS_PER_SEC);
	indicate(300, GNB);
	CU_ASSERT_FALSE(told(one, 1, 300));
	kit_close();
}

// Two sessions that send to one tunnel are both told of; the end of one leaves the other.
static void test_shared(void)
{
	uint64_t one, two;

	kit_open(&conf);
	one = establish_plain(1, "10.45.0.2");
	two = establish_plain(2, "10.45.0.3");
	send_to(one, 100, GNB);
	send_to(two, 100, GNB);
	kit.n_sent = 0;
	indicate(100, GNB);
	n4_tick(kit.n4);
	CU_ASSERT_EQUAL(kit.n_sent, 2);
	delete_session(one);
	send_to(two, 101, GNB);
	send_to(two, 100, GNB); // its entry is new
	kit_close();
}

static CU_TestInfo tests[] = {
	{"the session that sends", test_owner}, {"seldom", test_seldom}, {"changes", test_changes},
	{"a tunnel of two", test_shared},       CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_error")
