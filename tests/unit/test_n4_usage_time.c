// What comes with time in usage reports, beyond one threshold or quota of a URR (test_n4_usage.c): what holds after
// monitoring times, time that is measured only while there is traffic, measuring that is paused, and drops.

#include "usage_session.h"

#define DROTH 0x40
#define AFT 2
#define BEF 1

// The URR with monitoring times of `in_s` and, if that is not 0, `then_s` from now in the place of "%1" and "%2".
static uint64_t session_at(const char *hex, unsigned in_s, unsigned then_s)
{
	char text[600];

	snprintf(text, sizeof(text), hex, clock_ntp_s() + in_s, clock_ntp_s() + then_s);
	return session(CP_SEID, text);
}

// A volume threshold is the SMF's until the monitoring time; the other begins anew there, and is the URR's from then on,
// wherever bytes are counted.
static void test_next_threshold(void)
{
	static const char *const rows[] = {
		VOLUM "002500020200 001f000901 00000000000003e8 00210004%08x 0022000901 "
		      "00000000000000c8",
		VOLUM MNOP "002500020200 001f000901 00000000000003e8 00210004%08x 0022000904 "
			   "00000000000000c8",
	};

	for (unsigned i = 0; i < 2; i++) {
		uint64_t seid;

		usage_open(&conf);
		seid = session_at(rows[i], 10, 0);
		packet(seid, UP, true, 900);
		after_ms_of(11000);
		packet(seid, DOWN, false, 199); // with what was before it would be enough
		ticks(2);
		CU_ASSERT_EQUAL(sum()->n, 0);
		packet(seid, DOWN, false, 1);
		ticks(2);
		CU_ASSERT(sum()->n == 2 && sum()->total == 1100 && sum()->last_total == 200);
		CU_ASSERT(sum()->information == AFT && sum()->trigger == VOLTH);
		packet(seid, DOWN, false, 200); // and once more
		ticks(2);
		CU_ASSERT(sum()->n == 3 && sum()->last_total == 200 && sum()->information == 0);
		modify_urr(seid, "001f000901 0000000000000064");
		packet(seid, DOWN, false, 100);
		ticks(2);
		CU_ASSERT_EQUAL(sum()->n, 4);
		end(seid);
		CU_ASSERT_EQUAL(sum()->total, 1400);
		usage_close();
	}
}

// A quota that is given for the time after is one of its own: it stops what the first would not, and lets go on what
// that has stopped.
static void test_next_quota(void)
{
	static const struct {
		const char *hex;
		bool over;
	} rows[] = {
		{VOLUM "002500020001 0049000901 00000000000003e8 00210004%08x 0079000901 "
		       "00000000000000c8",
		 false},
		{VOLUM "002500020001 0049000901 0000000000000064 00210004%08x 0079000901 "
		       "00000000000000c8",
		 true},
	};

	for (unsigned i = 0; i < 2; i++) {
		uint64_t seid;

		usage_open(&conf);
		seid = session_at(rows[i].hex, 10, 0);
		packet(seid, UP, true, 100);
		ticks(2);
		CU_ASSERT(packet(seid, UP, true, 1) == !rows[i].over);
		CU_ASSERT_EQUAL(sum()->n, rows[i].over);
		after_ms_of(11000);
		CU_ASSERT(packet(seid, UP, true, 100));
		CU_ASSERT(packet(seid, UP, true, 100));
		CU_ASSERT_FALSE(packet(seid, UP, true, 100));
		ticks(2);
		CU_ASSERT(sum()->trigger == VOLQU && sum()->information == AFT);
		CU_ASSERT(sum()->last_total == 200);
		end(seid);
		CU_ASSERT_EQUAL(sum()->total, rows[i].over ? 300 : 301);
		usage_close();
	}
}

// The same of time: seconds from the monitoring time on.
static void test_next_time(void)
{
	uint64_t seid;

	usage_open(&conf);
	seid = session_at(DURAT ISTM "002500020402 0020000400000014 004a000400000064 00210004%08x "
				     "0023000400000005 007a00040000000c",
			  10, 0);
	after_ms_of(14000);
	CU_ASSERT_EQUAL(sum()->n, 0);
	after_ms_of(2200);
	CU_ASSERT(sum()->n == 2 && sum()->trigger == TIMTH && sum()->information == AFT);
	CU_ASSERT(sum()->duration_s == 15 || sum()->duration_s == 16);
	after_ms_of(5000);
	CU_ASSERT_EQUAL(sum()->n, 3);
	CU_ASSERT(packet(seid, UP, true, 100));
	after_ms_of(2000);
	CU_ASSERT(sum()->n == 4 && sum()->trigger == TIMQU);
	CU_ASSERT_FALSE(packet(seid, UP, true, 100));
	end(seid);
	usage_close();
}

// And of events.
static void test_next_events(void)
{
	uint64_t seid;

	usage_open(&conf);
	seid = session_at("003e000104 002500020030 0095000400000003 00210004%08x 0097000400000002 "
			  "0096000400000003",
			  60, 0);
	for (unsigned i = 0; i < 5; i++) { // two before, and three after
		CU_ASSERT(packet(seid, UP, true, 100));
		after_ms_of(kit.n4->conf.traffic_stop_s * 1000 + 2000);
		if (i == 1) {
			CU_ASSERT_EQUAL(sum()->n, 0);
			after_ms_of(60000);
		}
	}
	CU_ASSERT_EQUAL(sum()->n, 3);
	CU_ASSERT(sum()->trigger == EVEQU && sum()->n_events == 1);
	CU_ASSERT_FALSE(packet(seid, UP, true, 100));
	end(seid);
	usage_close();
}

// Several monitoring times: each stretch is told by itself. What is given with one holds until the next; one that is
// taken away does not come.
static void test_several(void)
{
	static const char hex[] = VOLUM "002500020200 001f000901 00000000000003e8 00210004%08x "
					"00930015 00210004%08x 0022000901 00000000000000c8";
	uint64_t seid;

	usage_open(&conf);
	seid = session_at(hex, 10, 20);
	packet(seid, UP, true, 100);
	after_ms_of(11000);
	packet(seid, UP, true, 50);
	after_ms_of(10000);
	packet(seid, UP, true, 7);
	ticks(2);
	CU_ASSERT_EQUAL(sum()->n, 0);
	packet(seid, UP, true, 200);
	ticks(2);
	CU_ASSERT(sum()->n == 3 && sum()->total == 357 && sum()->last_total == 207);
	CU_ASSERT(sum()->trigger == VOLTH && sum()->information == AFT);
	end(seid);
	usage_close();

	usage_open(&conf);
	seid = session_at(hex, 10, 20);
	modify_urr(seid, "00210000 00930000");
	packet(seid, UP, true, 100);
	after_ms_of(30000);
	packet(seid, UP, true, 900);
	ticks(2);
	CU_ASSERT(sum()->n == 1 && sum()->information == 0 && sum()->total == 1000);
	end(seid);
	usage_close();
}

// One that has been when it is given: what it gives holds at once; without that it is no more than a moment that is past.
static void test_past(void)
{
	static const char *const rows[] = {
		VOLUM "002500020200 001f000901 00000000000003e8 00210004%08x",
		VOLUM "002500020200 001f000901 00000000000003e8 00210004%08x 0022000901 "
		      "0000000000000064",
	};

	for (unsigned i = 0; i < 2; i++) {
		uint64_t seid;

		usage_open(&conf);
		seid = session_at(rows[i], (unsigned)-10, 0);
		ticks(3);
		packet(seid, UP, true, 100);
		ticks(2);
		CU_ASSERT_EQUAL(sum()->n, i ? 2 : 0);
		end(seid);
		CU_ASSERT_EQUAL(sum()->total, 100);
		usage_close();
	}
}

// A mark that is reached after the monitoring time, and before the control thread has heard of that: each byte is told
// once.
static void test_split_overtaken(void)
{
	uint64_t seid;

	usage_open(&conf);
	seid = session_at(VOLUM "002500020200 001f000901 00000000000003e8 00210004%08x", 10, 0);
	packet(seid, UP, true, 600);
	after_ms_of(9800);
	clock_warp_ns((int64_t)(1200 * NS_PER_MS));
	usage_tick_once();
	mailbox_run(kit.workers[session_of(seid)->slot.owner], 1);
	packet(seid, UP, true, 500);
	kit_run();
	ticks(2);
	CU_ASSERT(sum()->n == 2 && sum()->total == 1100 && sum()->last_total == 500);
	packet(seid, UP, true, 10);
	end(seid);
	CU_ASSERT(sum()->n == 3 && sum()->total == 1110 && sum()->information == 0);
	usage_close();
}

// Time is measured until a silence has lasted so long, and from the next packet on again: in duration, threshold and
// quota.
static void test_inactivity(void)
{
	static const char *const rows[] = {
		DURAT "002500020402 002000040000001e 0024000400000005 004a00040000002c",
		BOTH ISTM "002500020402 002000040000001e 0024000400000005 004a00040000002c",
		// Counted in the session's lines but for this.
		VOLUM ISTM "002500020402 002000040000001e 0024000400000005 004a00040000002c",
	};

	for (unsigned i = 0; i < 3; i++) {
		uint64_t seid;

		usage_open(&conf);
		seid = session(CP_SEID, rows[i]);
		for (unsigned k = 0; k < 10; k++) { // ten seconds, and five of silence
			packet(seid, UP, true, 100);
			after_ms_of(1000);
		}
		after_ms_of(60000);
		CU_ASSERT_EQUAL(sum()->n, 0);
		for (unsigned k = 0; k < 13; k++) {
			CU_ASSERT_EQUAL(sum()->n, 0);
			packet(seid, DOWN, false, 100);
			after_ms_of(1000);
		}
		for (unsigned k = 0; k < 4; k++) {
			packet(seid, DOWN, false, 100);
			after_ms_of(1000);
		}
		CU_ASSERT(sum()->n == 1 && sum()->trigger == TIMTH);
		CU_ASSERT(!sum()->has_duration || sum()->duration_s == 30);
		after_ms_of(100000); // until then it had 1 to 4 seconds of the next
		CU_ASSERT_EQUAL(sum()->n, 1);
		packet(seid, DOWN, false, 100);
		after_ms_of(9000);
		CU_ASSERT(packet(seid, DOWN, false, 100)); // five of these count
		after_ms_of(4900);
		CU_ASSERT(sum()->n == 2 && sum()->trigger == TIMQU);
		CU_ASSERT_FALSE(packet(seid, DOWN, false, 100));
		end(seid);
		usage_close();
	}
}

// While measuring is paused neither bytes nor seconds count, and no quota stops anything; then it goes on where it was.
static void test_paused(void)
{
	static const char *const rows[] = {
		BOTH "002500020602 001f000901 00000000000003e8 0020000400000014 004a00040000002c",
		BOTH ISTM
		"002500020602 001f000901 00000000000003e8 0020000400000014 004a00040000002c",
	};

	for (unsigned i = 0; i < 2; i++) {
		const char *const off = "006400010a", *const on = i ? "0064000108" : "00640000";
		uint64_t seid;

		usage_open(&conf);
		seid = session(CP_SEID, rows[i]);
		packet(seid, UP, true, 100);
		after_ms_of(8000);
		modify_urr(seid, off);
		for (unsigned k = 0; k < 100; k++) {
			CU_ASSERT(packet(seid, UP, true, 100));
			after_ms_of(1000);
		}
		CU_ASSERT_EQUAL(sum()->n, 0);
		modify_urr(seid, on);
		after_ms_of(5000); // counts where time is measured from the start
		packet(seid, UP, true, 100);
		after_ms_of(6000);
		CU_ASSERT_EQUAL(sum()->n, 0);
		after_ms_of(2000);
		CU_ASSERT_EQUAL(sum()->n, i);
		after_ms_of(5000);
		CU_ASSERT(sum()->n == 1 && sum()->trigger == TIMTH && sum()->total == 200);
		CU_ASSERT_EQUAL(sum()->duration_s, 20);
		end(seid);
		usage_close();
	}
}

// Paused from the beginning, it begins when it is told to.
static void test_paused_first(void)
{
	uint64_t seid;

	usage_open(&conf);
	seid = session(CP_SEID, DURAT "006400010a 002500020400 0020000400000005");
	packet(seid, UP, true, 100);
	after_ms_of(20000);
	CU_ASSERT_EQUAL(sum()->n, 0);
	modify_urr(seid, "0064000108");
	after_ms_of(5300);
	CU_ASSERT(sum()->n == 1 && sum()->duration_s == 5);
	end(seid);
	usage_close();
}

// --- drops -----------------------------------------------------------------------------------------------

// A packet of this PDR that is dropped because its UE cannot be reached.
static void dropped(uint64_t seid, unsigned pdr_id, bool is_up, uint32_t bytes)
{
	const struct slot *slot = &session_of(seid)->slot;
	struct worker *w = kit.workers[slot->owner];
	struct session_line *line = is_up ? &w->table.up[slot->index] : &w->table.down[slot->index];
	const struct pkt p = {.ref = session_ref_make(slot->owner, slot->index, slot->version),
			      .pdr = compiled_pdr(w, line, pdr_id),
			      .user_bytes = (uint16_t)bytes,
			      .flags = is_up ? PKT_F_UP : 0};

	if (p.pdr->flags & PDR_F_DROPS)
		usage_count_dropped(w, &p);
}

// Told when so many packets, or bytes, were dropped since it was last told, whatever else is reported meanwhile; with
// what passed. New rules and queries change nothing of it.
static void test_drops(void)
{
	static const struct {
		const char *hex;
		unsigned packets; // of 100 bytes
	} rows[] = {
		{VOLUM "002500024000 0048000901 0000000000000005", 5},
		{VOLUM "002500024000 0048000902 000000000000012d", 4},
		{VOLUM "002500024000 0048001103 0000000000000005 00000000000000c8", 2},
		{VOLUM MNOP "002500024000 0048001103 0000000000000003 0000000000001000", 3},
		{DURAT "002500024000 0048000901 0000000000000003", 3},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t seid;

		usage_open(&conf);
		seid = session(CP_SEID, rows[i].hex);
		packet(seid, DOWN, false, 1000);
		for (unsigned k = 1; k <= 2 * rows[i].packets; k++) {
			dropped(seid, UP, true, 100); // no downlink
			if (k == 1) {
				msg_begin(52, seid);
				put_urr(77, URR, "");
				msg_send();
				book_read();
			}
			if (k == 2)
				modify_urr(seid, "0040000400000009");
			dropped(seid, DOWN, false, 100);
			ticks(2);
			CU_ASSERT_EQUAL(sum()->n, 1 + k / rows[i].packets);
			CU_ASSERT(k < rows[i].packets || sum()->trigger == DROTH);
		}
		packet(seid, DOWN, false, 1);
		end(seid);
		CU_ASSERT(!sum()->has_volume || sum()->total == 1001);
		usage_close();
	}
}

// Without the trigger nothing is counted; another threshold is for what was dropped already too; a URR that no longer
// asks, or is paused, is not told of.
static void test_drops_change(void)
{
	uint64_t seid;

	usage_open(&conf);
	seid = session(CP_SEID, VOLUM "002500020100 0040000400001000");
	dropped(seid, DOWN, false, 100);
	modify_urr(seid, "002500024000 0048000901 0000000000000005");
	for (unsigned i = 0; i < 4; i++)
		dropped(seid, DOWN, false, 100);
	ticks(2);
	CU_ASSERT_EQUAL(sum()->n, 0);
	modify_urr(seid, "0048000901 0000000000000003");
	dropped(seid, DOWN, false, 100);
	ticks(2);
	CU_ASSERT(sum()->n == 1 && sum()->trigger == DROTH);
	modify_urr(seid, "0064000102");
	for (unsigned i = 0; i < 4; i++)
		dropped(seid, DOWN, false, 100);
	modify_urr(seid, "00640000 002500020100");
	for (unsigned i = 0; i < 4; i++)
		dropped(seid, DOWN, false, 100);
	ticks(2);
	CU_ASSERT_EQUAL(sum()->n, 1);
	end(seid);
	usage_close();
}

static CU_TestInfo tests[] = {
	{"53: a volume threshold after the monitoring time", test_next_threshold},
	{"53: a volume quota after it", test_next_quota},
	{"53: time after it", test_next_time},
	{"53: events after it", test_next_events},
	{"53: several monitoring times", test_several},
	{"monitoring times that have been", test_past},
	{"marks that overtake a monitoring time", test_split_overtaken},
	{"inactivity detection time", test_inactivity},
	{"measuring that is paused", test_paused},
	{"measuring that begins paused", test_paused_first},
	{"dropped downlink traffic", test_drops},
	{"other thresholds of dropped traffic", test_drops_change},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_usage_time")
