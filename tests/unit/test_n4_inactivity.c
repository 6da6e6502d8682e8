// The User Plane Inactivity Timer: a silence is told once, not early and not late; packets of either direction
// begin another; the timer comes, changes and goes by requests; and nothing of it outlives its session.

#include "session_kit.h"

#include "pfcp/inactivity.h"
#include "pfcp/report.h"

static const struct kit_conf conf = KIT_CONF;

#define TIMER 117
#define UPIR 8

// The peer here answers no heartbeat: none is asked for, so that it stays.
static void open_silent(const struct kit_conf *c)
{
	kit_open(c);
	kit.n4->conf.heartbeat_s = 0;
}

static uint64_t watched(uint64_t cp_seid, const char *ue_v4, uint32_t seconds)
{
	establish_begin(cp_seid);
	put_plain(ue_v4);
	ie_number(TIMER, seconds, 4);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	return up_seid();
}

static void timer_set(uint64_t seid, uint32_t seconds)
{
	msg_begin(52, seid);
	ie_number(TIMER, seconds, 4);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
}

static void packet(uint64_t seid, bool up)
{
	const struct n4_session *s = session_of(seid);
	struct session_table *table = &kit.workers[s->slot.owner]->table;

	(up ? table->up : table->down)[s->slot.index].packets++;
}

static bool reported(void)
{
	return kit.n_sent > 0 && kit.answer[1] == 56 && answer_number(39) == UPIR;
}

// Lets time pass until a report comes, which is accepted, or for so many seconds. Gives the seconds, -1: none.
static double passes(uint64_t seid, double seconds)
{
	uint64_t began = clock_now_ns();

	kit.n_sent = 0;
	while ((double)(clock_now_ns() - began) < seconds * (double)NS_PER_SEC) {
		clock_warp_ns((int64_t)(100 * NS_PER_MS));
		n4_tick(kit.n4);
		kit_run();
		n4_tick(kit.n4);
		if (reported()) {
			double took = (double)(clock_now_ns() - began) / (double)NS_PER_SEC;

			report_answer(seid, answer_seq(), 1, "");
			return took;
		}
	}
	return -1;
}

static uint64_t asked(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < KIT_WORKERS; i++)
		n += kit.workers[i]->stats.counter[COUNTER_mails];
	return n;
}

// Not early, and late by no more than a step and the time between two ticks.
static bool due(double took, double timer)
{
	double step = timer / 8 > 0.25 ? timer / 8 : 0.25;

	return took >= timer && took <= timer + step + 0.2;
}

static void test_told_once(void)
{
	static const uint32_t timers[] = {1, 2, 10, 600, 7200};

	for (unsigned i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
		uint64_t seid;

		open_silent(&conf);
		seid = watched(1, "10.45.0.2", timers[i]);
		CU_ASSERT(due(passes(seid, 3.0 * timers[i]), timers[i]));
		CU_ASSERT_EQUAL(passes(seid, 3.0 * timers[i]), -1); // it is still the same silence
		kit_close();
	}
}

static void test_packets(void)
{
	for (unsigned up = 0; up < 2; up++) {
		uint64_t seid;

		open_silent(&conf);
		seid = watched(1, "10.45.0.2", 10);
		for (unsigned i = 0; i < 20; i++) {
			CU_ASSERT_EQUAL(passes(seid, 9), -1);
			packet(seid, up);
		}
		CU_ASSERT(due(passes(seid, 30), 10));
		packet(seid, up);
		CU_ASSERT(due(passes(seid, 30), 10));
		kit_close();
	}
}

static void test_requests(void)
{
	uint64_t seid;

	open_silent(&conf);
	seid = establish_plain(1, "10.45.0.2");
	CU_ASSERT_EQUAL(passes(seid, 30), -1);
	timer_set(seid, 20);
	CU_ASSERT_EQUAL(passes(seid, 15), -1);
	timer_set(seid, 5); // another time: it begins now
	CU_ASSERT(due(passes(seid, 30), 5));
	timer_set(seid, 10);
	CU_ASSERT_EQUAL(passes(seid, 8), -1);
	timer_set(seid, 10); // the same: it goes on
	CU_ASSERT(due(passes(seid, 30) + 8, 10));
	timer_set(seid, 5);
	timer_set(seid, 0);
	CU_ASSERT_EQUAL(passes(seid, 30), -1);
	CU_ASSERT_PTR_NULL(session_of(seid)->inactivity);
	// A refused request leaves it as it was.
	msg_begin(52, seid);
	ie_number(TIMER, 1, 4);
	remove_far(99);
	msg_send();
	CU_ASSERT(answer_cause() != 1);
	CU_ASSERT_EQUAL(passes(seid, 30), -1);
	kit_close();
}

// Sessions without the timer cost no worker anything; one that has it is asked eight times in its time.
static void test_cost(void)
{
	uint64_t seid, before;

	open_silent(&conf);
	establish_plain(1, "10.45.0.2");
	before = asked();
	CU_ASSERT_EQUAL(passes(0, 100), -1);
	CU_ASSERT_EQUAL(asked(), before);
	seid = watched(2, "10.45.0.3", 80);
	before = asked();
	CU_ASSERT_EQUAL(passes(seid, 79), -1);
	CU_ASSERT(asked() - before >= 6 && asked() - before <= 8);
	kit_close();
}

// The session or the context ends while the owner is being asked, and while it is not.
static void test_ends(void)
{
	for (unsigned held = 0; held < 2; held++)
		for (unsigned deleted = 0; deleted < 2; deleted++) {
			uint64_t seid;

			open_silent(&conf);
			seid = watched(1, "10.45.0.2", 1);
			kit.hold = held;
			clock_warp_ns((int64_t)NS_PER_SEC);
			n4_tick(kit.n4);
			if (deleted)
				delete_session(seid);
			else if (held)
				n4_session_lookup(kit.n4, seid)->ending = true;
			kit.hold = false;
			kit_close();
		}
}

// Many at once are asked over some ticks, and each is told of.
static void test_many(void)
{
	struct kit_conf many = KIT_CONF;

	many.slots = 600;
	many.tunnels = 8;
	open_silent(&many);
	for (unsigned i = 0; i < 900; i++) {
		char ue[16];

		snprintf(ue, sizeof(ue), "10.45.%u.%u", i / 200, 1 + i % 200);
		watched(i + 1, ue, 10);
	}
	for (unsigned i = 0; i < 120; i++) {
		clock_warp_ns((int64_t)(100 * NS_PER_MS));
		n4_tick(kit.n4);
		kit_run();
	}
	CU_ASSERT_EQUAL(kit.n4->counters.tx[56], 900);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"a silence is told once", test_told_once},
	{"packets break it", test_packets},
	{"requests", test_requests},
	{"cost", test_cost},
	{"ends", test_ends},
	{"many", test_many},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_inactivity")
