// Usage reports: every kind of trigger, what stands in a report, quotas that stop traffic until there is more, and that
// each byte is in exactly one report whatever the SMF and time do.

#include "usage_session.h"

// --- volumes ---------------------------------------------------------------------------------------------

// 50: each volume; one report per crossing, also when one packet is larger than the threshold; then it begins anew.
static void test_volume_threshold(void)
{
	static const struct {
		const char *hex;
		bool up, down;
	} rows[] = {
		{VOLUM "002500020200 001f0009 01 00000000000003e8", true, true},
		{VOLUM "002500020200 001f0009 02 00000000000003e8", true, false},
		{VOLUM "002500020200 001f0009 04 00000000000003e8", false, true},
		{VOLUM MNOP "002500020200 001f0009 01 00000000000003e8", true, true},
		{BOTH ISTM
		 "002500020200 001f0019 07 00000000000003e8 00000000000003e8 00000000000003e8",
		 true, true},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned is_up = 0; is_up < 2; is_up++) {
			uint64_t seid;
			bool counts = is_up ? rows[i].up : rows[i].down;

			usage_open(&conf);
			seid = session(CP_SEID, rows[i].hex);
			for (unsigned k = 0; k < 9; k++)
				packet(seid, is_up ? UP : DOWN, is_up, 100);
			ticks(2);
			CU_ASSERT_EQUAL(book.requests, 0);
			packet(seid, is_up ? UP : DOWN, is_up, 100);
			ticks(2);
			CU_ASSERT_EQUAL(book.requests, counts);
			packet(seid, is_up ? UP : DOWN, is_up, 1400);
			packet(seid, is_up ? UP : DOWN, is_up, 1400);
			packet(seid, is_up ? DOWN : UP, !is_up, 7);
			ticks(2);
			CU_ASSERT_EQUAL(sum()->n, counts ? 3 : 0);
			CU_ASSERT(!counts || sum()->trigger == VOLTH);
			CU_ASSERT_EQUAL(is_up ? sum()->up : sum()->down, counts ? 3800 : 0);
			end(seid);
			CU_ASSERT(sum()->trigger == TERMR && sum()->n == (counts ? 4u : 1u));
			CU_ASSERT_EQUAL(sum()->total, 3807);
			CU_ASSERT_EQUAL(is_up ? sum()->down : sum()->up, 7);
			CU_ASSERT_EQUAL(sum()->up_packets + sum()->down_packets,
					sum()->has_packets ? 13 : 0);
			usage_close();
		}
}

// 51: told when it is used up, and nothing passes until there is more; a new quota that is smaller than before counts
// from where it is given.
static void test_volume_quota(void)
{
	static const char *const rows[] = {VOLUM "002500020001 0049000901 00000000000003e8",
					   VOLUM MNOP "002500020001 0049000901 00000000000003e8"};

	for (unsigned i = 0; i < 2; i++) {
		uint64_t seid;

		usage_open(&conf);
		seid = session(CP_SEID, rows[i]);
		for (unsigned k = 0; k < 10; k++)
			CU_ASSERT(packet(seid, UP, true, 100));
		CU_ASSERT_FALSE(packet(seid, UP, true, 100));
		CU_ASSERT_FALSE(packet(seid, DOWN, false, 100));
		ticks(2);
		CU_ASSERT(sum()->n == 1 && sum()->trigger == VOLQU && sum()->total == 1000);
		modify_urr(seid, "001f0009010000000000000100"); // a threshold: not a quota
		CU_ASSERT_FALSE(packet(seid, UP, true, 100));
		modify_urr(seid, "0049000901 00000000000000c8");
		CU_ASSERT(packet(seid, UP, true, 150));
		CU_ASSERT(packet(seid, UP, true, 150));
		CU_ASSERT_FALSE(packet(seid, UP, true, 150));
		ticks(2);
		CU_ASSERT(sum()->n == 2 && sum()->trigger == VOLQU && sum()->total == 1300);
		end(seid);
		CU_ASSERT(sum()->n == 3 && sum()->total == 1300);
		usage_close();
	}
}

// --- requests --------------------------------------------------------------------------------------------

// 52: what is asked for stands in the answer, once, with the reference; what is not known is refused and changes nothing.
static void test_query(void)
{
	uint64_t seid;

	usage_open(&conf);
	seid = session(CP_SEID, VOLUM "002500020200 001f0009010000000000010000");
	packet(seid, UP, true, 100);
	msg_begin(52, seid);
	put_urr(77, URR, "");
	ie_number(125, 0xabcdef01, 4);
	msg_send();
	book_read();
	CU_ASSERT(sum()->n == 1 && sum()->trigger == IMMER && sum()->last_total == 100);
	CU_ASSERT_EQUAL(sum()->reference, 0xabcdef01);
	packet(seid, DOWN, false, 50);
	msg_begin(52, seid);
	ie_number(49, 4, 1); // QAURR
	msg_send();
	book_read();
	CU_ASSERT(sum()->n == 2 && sum()->last_total == 50 && sum()->reference == 0);
	msg_begin(52, seid); // with other changes of the URR
	put_urr(77, URR, "");
	put_urr(13, URR, "001f0009010000000000020000");
	msg_send();
	book_read();
	CU_ASSERT(sum()->n == 3 && sum()->last_total == 0);
	packet(seid, DOWN, false, 5);
	msg_begin(52, seid);
	put_urr(77, 4711, "");
	msg_send();
	CU_ASSERT(answer_cause() == 73 && answer_number(40) == 81 && failed_kind() == 3);
	CU_ASSERT_EQUAL(failed_id(), 4711);
	CU_ASSERT_EQUAL(answer_ie(78).len, 0);
	msg_begin(52, seid);
	ie_hex(77, "");
	msg_send();
	CU_ASSERT(answer_cause() == 66 && answer_number(40) == 81);
	end(seid);
	CU_ASSERT(sum()->n == 4 && sum()->last_total == 5 && sum()->total == 155);
	usage_close();
}

// URRs that end, that no PDR names any more, and that are made anew under the same id.
static void test_ends(void)
{
	uint64_t seid;

	usage_open(&conf);
	seid = session(CP_SEID, VOLUM "002500020200 001f0009010000000000010000");
	packet(seid, UP, true, 100);
	msg_begin(52, seid); // one PDR leaves it: the other still counts
	PDR(.id = UP, .update = true, .no_pdi = true, .no_precedence = true, .no_far = true,
	    .hex = "00510000");
	msg_send();
	book_read();
	CU_ASSERT(answer_cause() == 1 && sum()->n == 0);
	packet(seid, UP, true, 1000); // of no URR
	packet(seid, DOWN, false, 10);
	msg_begin(52, seid);
	PDR(.id = DOWN, .update = true, .no_pdi = true, .no_precedence = true, .no_far = true,
	    .hex = "00510000");
	msg_send();
	book_read();
	CU_ASSERT(sum()->n == 1 && sum()->trigger == TERMR && sum()->total == 110);
	msg_begin(52, seid); // back, and then away with the URR, which is made anew at once
	PDR(.id = DOWN, .update = true, .no_pdi = true, .no_precedence = true, .no_far = true,
	    .urrs = {URR});
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	packet(seid, DOWN, false, 20);
	msg_begin(52, seid);
	put_remove(17, 81, URR, 4);
	put_urr(6, URR, VOLUM "002500020200 001f0009010000000000000064");
	msg_send();
	book_read();
	CU_ASSERT(answer_cause() == 1 && sum()->n == 2 && sum()->trigger == TERMR);
	CU_ASSERT_EQUAL(sum()->total, 130);
	book_of(CP_SEID, URR)->next = 0; // UR-SEQNs begin anew with it
	packet(seid, DOWN, false, 100);
	ticks(2);
	CU_ASSERT(sum()->n == 3 && sum()->trigger == VOLTH && sum()->last_total == 100);
	msg_begin(52, seid);
	PDR(.id = DOWN, .update = true, .no_pdi = true, .no_precedence = true, .no_far = true,
	    .hex = "00510000");
	put_remove(17, 81, URR, 4);
	msg_send();
	book_read();
	CU_ASSERT(answer_cause() == 1 && sum()->n == 4 && sum()->last_total == 0);
	end(seid);
	CU_ASSERT(sum()->n == 4);
	usage_close();
}

// A report that waits, or that nobody has answered yet, goes with the answer that ends the session.
static void test_waiting(void)
{
	for (unsigned way = 0; way < 3; way++) {
		uint64_t seid;

		usage_open(&conf);
		book.mute = true;
		seid = session(CP_SEID, VOLUM "002500020200 001f0009010000000000000064");
		packet(seid, UP, true, 100);
		if (way > 0)
			ticks(way);
		packet(seid, UP, true, 200);
		packet(seid, UP, true, 30);
		end(seid);
		CU_ASSERT_EQUAL(sum()->total, 330);
		CU_ASSERT_EQUAL(sum()->n, 3);
		CU_ASSERT_EQUAL(find_ie(answer_ies(), 79, 2).len > 0, true);
		usage_close();
	}
}

// What the SMF may have got is sent again as it was: later usage does not slip under a UR-SEQN that it knows.
static void test_again(void)
{
	uint64_t seid;

	usage_open(&conf);
	kit.n4->conf.max_reports = 2;
	book.mute = true;
	seid = session(CP_SEID, VOLUM "002500020200 001f0009010000000000000064");
	packet(seid, UP, true, 100);
	ticks(2);
	CU_ASSERT(sum()->n == 1 && sum()->total == 100);
	for (unsigned i = 0; i <= kit.n4->conf.n1; i++) { // nobody answers
		clock_warp_ns((int64_t)(kit.n4->conf.t1_ms * NS_PER_MS));
		ticks(1);
	}
	for (unsigned i = 0; i < 5; i++) // more than there is room for
		packet(seid, UP, true, 100);
	ticks(1);
	book.mute = false;
	after_ms_of(12000);
	CU_ASSERT_EQUAL(sum()->total, 600);
	CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_reports_lost], 0);
	end(seid);
	usage_close();
}

// --- times -----------------------------------------------------------------------------------------------

// Periods do not drift, and hold what was counted in each.
static void test_period(void)
{
	uint64_t seid;

	usage_open(&conf);
	seid = session(CP_SEID, BOTH ISTM "002500020100 0040000400000001");
	for (unsigned i = 0; i < 20; i++) {
		packet(seid, UP, true, 100);
		after_ms_of(1000);
		CU_ASSERT_EQUAL(sum()->n, i + 1);
		CU_ASSERT(sum()->trigger == PERIO && sum()->last_total == 100);
		CU_ASSERT(sum()->has_duration && sum()->has_volume);
	}
	CU_ASSERT_EQUAL(sum()->duration_s, 20);
	CU_ASSERT_EQUAL(sum()->end - sum()->start, 1);
	modify_urr(seid, "0040000400000005");
	after_ms_of(4900);
	CU_ASSERT_EQUAL(sum()->n, 20);
	after_ms_of(200);
	CU_ASSERT_EQUAL(sum()->n, 21);
	end(seid);
	usage_close();
}

// Time is measured from the first packet on, or from the start; a threshold begins anew with each report.
static void test_time_threshold(void)
{
	for (unsigned at_once = 0; at_once < 2; at_once++) {
		uint64_t seid;

		usage_open(&conf);
		seid = session(CP_SEID, at_once ? DURAT ISTM "002500020400 002000040000000a"
						: DURAT "002500020400 002000040000000a");
		after_ms_of(9000);
		CU_ASSERT_EQUAL(sum()->n, 0);
		packet(seid, UP, true, 100);
		ticks(2);
		after_ms_of(1000);
		CU_ASSERT_EQUAL(sum()->n, at_once);
		after_ms_of(9000);
		CU_ASSERT_EQUAL(sum()->n, 1);
		CU_ASSERT(sum()->trigger == TIMTH && !sum()->has_volume);
		CU_ASSERT_EQUAL(sum()->duration_s, 10);
		after_ms_of(at_once ? 1000 : 10000);
		CU_ASSERT(sum()->n == 2 && sum()->duration_s == 20);
		end(seid);
		usage_close();
	}
}

// Each way in which time ends a quota: it is told, and nothing passes until the SMF gives another.
static void test_time_quotas(void)
{
	static const struct {
		const char *hex, *more;
		uint32_t trigger;
		bool idle; // it ends only while nothing comes
	} rows[] = {
		{DURAT ISTM "002500020002 004a000400000005", "004a000400000005", TIMQU, false},
		{VOLUM "002500020080 0049000901 0000000000010000 00b5000400000005",
		 "00b5000400000005", QUVTI, false},
		{VOLUM "002500020800 0049000901 0000000000010000 0047000400000005",
		 "0049000901 0000000000010000", QUHTI, true},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t seid;

		usage_open(&conf);
		seid = session(CP_SEID, rows[i].hex);
		for (unsigned k = 0; k < (rows[i].idle ? 10 : 4); k++) {
			CU_ASSERT(packet(seid, UP, true, 100));
			after_ms_of(1000);
		}
		CU_ASSERT_EQUAL(sum()->n, 0);
		after_ms_of(rows[i].idle ? 5500 : 1000);
		CU_ASSERT(sum()->n == 1 && sum()->trigger == rows[i].trigger);
		CU_ASSERT_FALSE(packet(seid, UP, true, 100));
		after_ms_of(20000);
		CU_ASSERT_EQUAL(sum()->n, 1); // told once
		CU_ASSERT_FALSE(packet(seid, DOWN, false, 100));
		modify_urr(seid, "001f0009010000000000020000"); // no quota
		CU_ASSERT_FALSE(packet(seid, UP, true, 100));
		modify_urr(seid, rows[i].more);
		CU_ASSERT(packet(seid, UP, true, 100));
		after_ms_of(7000);
		CU_ASSERT_FALSE(packet(seid, UP, true, 100));
		CU_ASSERT_EQUAL(sum()->n, 2);
		end(seid);
		CU_ASSERT(!sum()->has_volume || sum()->total == (rows[i].idle ? 1100 : 500));
		usage_close();
	}
}

// The first packet, the first after a silence, and the silence; in seconds of the packets themselves.
static void test_start_stop(void)
{
	uint64_t seid;
	uint32_t began;

	usage_open(&conf);
	seid = session(CP_SEID, VOLUM "002500023000");
	after_ms_of(60000);
	CU_ASSERT_EQUAL(sum()->n, 0);
	for (unsigned i = 0; i < 2; i++) {
		packet(seid, DOWN, false, 100);
		began = clock_ntp_s();
		ticks(2);
		CU_ASSERT(sum()->n == 2 * i + 1 && sum()->trigger == START);
		CU_ASSERT(!sum()->has_volume && about(sum()->first_packet, began));
		for (unsigned k = 0; k < 40; k++) {
			packet(seid, UP, true, 10);
			after_ms_of(1000);
		}
		CU_ASSERT_EQUAL(sum()->n, 2 * i + 1);
		after_ms_of(kit.n4->conf.traffic_stop_s * 1000 + 1500);
		CU_ASSERT(sum()->n == 2 * i + 2 && sum()->trigger == STOPT);
		CU_ASSERT(sum()->last_total == 500 && about(sum()->first_packet, began));
		CU_ASSERT(about(sum()->last_packet, began + 39));
		after_ms_of(100000);
		CU_ASSERT_EQUAL(sum()->n, 2 * i + 2);
	}
	end(seid);
	usage_close();
}

// Traffic that begins is an event: each is told with its time, so many together; a quota of them stops it.
static void test_events(void)
{
	uint64_t seid;
	uint32_t at[6];

	usage_open(&conf);
	seid = session(CP_SEID, "003e000104 00250003003000 0095000400000002 0094000400000005");
	for (unsigned i = 0; i < 5; i++) {
		CU_ASSERT(packet(seid, i % 2 ? UP : DOWN, i % 2, 100));
		CU_ASSERT(packet(seid, UP, true, 100)); // of the same
		at[i] = clock_ntp_s();
		ticks(4);
		CU_ASSERT_EQUAL(sum()->n, (i + 1) / 2 + (i == 4));
		after_ms_of(kit.n4->conf.traffic_stop_s * 1000 + 2000);
		CU_ASSERT_EQUAL(sum()->n, (i + 1) / 2 + (i == 4));
		if (i == 1)
			CU_ASSERT(sum()->trigger == EVETH && sum()->n_events == 2 &&
				  about(sum()->events[0], at[0]) && about(sum()->events[1], at[1]));
	}
	CU_ASSERT(sum()->trigger == EVEQU && sum()->n_events == 1 &&
		  about(sum()->events[0], at[4]));
	CU_ASSERT_FALSE(packet(seid, UP, true, 100));
	modify_urr(seid, "0094000400000001");
	CU_ASSERT(packet(seid, UP, true, 100));
	ticks(4);
	CU_ASSERT(sum()->n == 4 && sum()->trigger == EVEQU);
	CU_ASSERT_FALSE(packet(seid, UP, true, 100));
	end(seid);
	CU_ASSERT(sum()->n == 5 && sum()->n_events == 0 && !sum()->has_volume);
	usage_close();
}

// What came before the monitoring time and what came after are told apart in the next report, once.
static void test_monitoring(void)
{
	static const char *const rows[] = {
		VOLUM "002500020200 001f0009 0100000000000003e8",
		VOLUM MNOP "002500020200 001f0009 0100000000000003e8",
	};

	for (unsigned i = 0; i < 2; i++) {
		char hex[200];
		uint64_t seid;

		usage_open(&conf);
		snprintf(hex, sizeof(hex), "%s 00210004%08x", rows[i], clock_ntp_s() + 10);
		seid = session(CP_SEID, hex);
		packet(seid, UP, true, 300);
		after_ms_of(10500);
		packet(seid, UP, true, 600);
		ticks(2);
		CU_ASSERT_EQUAL(sum()->n, 0);
		packet(seid, DOWN, false, 100); // with what was before the threshold is reached
		ticks(2);
		CU_ASSERT_EQUAL(sum()->n, 2);
		CU_ASSERT_EQUAL(sum()->total, 1000);
		CU_ASSERT(sum()->last_total == 700 && sum()->information == 2); // AFT
		CU_ASSERT_EQUAL(sum()->trigger, VOLTH);
		packet(seid, DOWN, false, 1000);
		ticks(2);
		CU_ASSERT(sum()->n == 3 && sum()->information == 0);
		end(seid);
		usage_close();
	}
}

// A URR that is linked to others is reported with each report of theirs, and rings of links do not go round.
static void test_linked(void)
{
	uint64_t seid;

	usage_open(&conf);
	establish_begin(CP_SEID);
	PDR(.id = DOWN, .source = CORE, .ni = "internet", .ue_v4 = "10.45.0.9", .far = 1,
	    .urrs = {1, 2});
	PDR(.id = UP, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2, .urrs = {2});
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 0xa000001,
	    .peer = "127.0.0.50");
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	put_urr(6, 1, VOLUM "002500028200 001f0009 0100000000000003e8 005200040000 0002");
	put_urr(6, 2, VOLUM "002500028000 005200040000 0001");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	seid = book.up_seids[CP_SEID] = up_seid();
	packet(seid, UP, true, 70);
	packet(seid, DOWN, false, 1000);
	after_ms_of(3000);
	CU_ASSERT(book_of(CP_SEID, 1)->n == 1 && book_of(CP_SEID, 1)->trigger == VOLTH);
	CU_ASSERT(book_of(CP_SEID, 2)->n == 1 && book_of(CP_SEID, 2)->trigger == LIUSA);
	CU_ASSERT_EQUAL(book_of(CP_SEID, 2)->total, 1070);
	end(seid);
	CU_ASSERT_EQUAL(book_of(CP_SEID, 2)->n, 2);
	usage_close();
}

// Counted before rates are enforced, or not at all; both are told from the SMF's flags.
static void test_information(void)
{
	uint64_t seid;

	usage_open(&conf);
	seid = session(CP_SEID, VOLUM "0064000101 002500020200 001f0009 0100000000000003e8");
	packet(seid, UP, true, 1000);
	ticks(2);
	CU_ASSERT(sum()->n == 1 && sum()->total == 1000 && sum()->information == 8); // UBE
	modify_urr(seid, "0064000102");                                              // INAM
	packet(seid, UP, true, 5000);
	ticks(2);
	CU_ASSERT_EQUAL(sum()->n, 1);
	modify_urr(seid, "00640000");
	packet(seid, UP, true, 10);
	end(seid);
	CU_ASSERT(sum()->n == 2 && sum()->total == 1010);
	usage_close();
}

static CU_TestInfo tests[] = {
	{"50: volume thresholds", test_volume_threshold},
	{"51: volume quotas", test_volume_quota},
	{"52: queries", test_query},
	{"52: URRs that end", test_ends},
	{"52: reports that wait", test_waiting},
	{"reports sent again", test_again},
	{"53: periods", test_period},
	{"53: time thresholds", test_time_threshold},
	{"53: quotas of time", test_time_quotas},
	{"53: start and stop of traffic", test_start_stop},
	{"events", test_events},
	{"53: the monitoring time", test_monitoring},
	{"53: linked URRs", test_linked},
	{"measurement information", test_information},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_usage")
