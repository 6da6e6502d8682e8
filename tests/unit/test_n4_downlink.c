// Downlink data that waits: when the SMF is told and of what, and what its answers do (n4.md 54; TS 29.244 5.2.4).
//
// The owner's word is given by the test; what N4 says to the owner is looked at on its way.

#include "session_kit.h"

#include "pfcp/downlink.h"
#include "pfcp/report.h"
#include "pfcp/usage_state.h"
#include "rules/ruleset.h"

static const struct kit_conf conf = KIT_CONF;

#define REPORT_REQUEST 56
#define DOWNLINK_REPORT 83
#define IDLE (BUFF | NOCP)

static void buffering_rules(const char *qer_hex, const char *bar_hex)
{
	PDR(.id = 1, .source = CORE, .ni = "internet", .ue_v4 = "10.45.0.2", .far = 1, .qers = {1});
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2);
	FAR(.id = 1, .action = IDLE, .bar = 1);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	put_qer(7, 1, qer_hex);
	ie_hex(85, bar_hex);
}

#define QFI_9 QER_OPEN "007c000109"
#define BAR_1 "0058000101"

static uint64_t establish(const char *qer_hex, const char *bar_hex)
{
	establish_begin(9);
	buffering_rules(qer_hex, bar_hex);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	return up_seid();
}

static void word(uint64_t seid, uint16_t pdr)
{
	const struct slot *slot = &session_of(seid)->slot;
	const struct buffer_event event = {
		.slot = slot->index, .version = slot->version, .pdr = pdr, .dscp = 46};

	n4_downlink_data(kit.n4, slot->owner, &event);
}

// Whether the SMF is told by now.
static bool told(void)
{
	kit.n_sent = 0;
	n4_tick(kit.n4);
	if (!kit.hold)
		kit_run();
	return kit.n_sent > 0 && kit.answer[1] == REPORT_REQUEST && answer_ie(DOWNLINK_REPORT).at;
}

static void warp(unsigned ms)
{
	clock_warp_ns((int64_t)(ms * NS_PER_MS));
}

static void answer(uint64_t seid, unsigned cause, const char *hex)
{
	report_answer(seid, answer_seq(), cause, hex);
}

// What waits for the session's owner, or -1.
static int mail_type_waiting(uint64_t seid)
{
	struct rte_ring *ring = kit.workers[session_of(seid)->slot.owner]->mailbox.to_worker;
	struct mail *mail;
	void *entry;

	if (rte_ring_sc_dequeue(ring, &entry) != 0)
		return -1;
	mail = entry;
	CU_ASSERT_EQUAL_FATAL(rte_ring_sp_enqueue(ring, mail), 0);
	return (int)mail->type;
}

static void update_far(uint64_t seid, unsigned action, const char *hex)
{
	msg_begin(52, seid);
	if (action == FORW)
		FAR(.id = 1, .update = true, .action = FORW, .to = true, .destination = ACCESS,
		    .teid = 3, .peer = "127.0.0.50");
	else
		FAR(.id = 1, .update = true, .action = action, .bar = 1);
	put_hex(hex);
	msg_send();
}

// The PDR, its QoS flow, and the packet's DSCP where a QER has a paging policy indicator.
static void test_told(void)
{
	static const struct {
		const char *qer;
		const char *report;
	} rows[] = {
		{QFI_9, "\x00\x38\x00\x02\x00\x01\x00\x2d\x00\x02\x02\x09"},
		{QFI_9 "009e000103", "\x00\x38\x00\x02\x00\x01\x00\x2d\x00\x03\x03\x2e\x09"},
		{QER_OPEN "009e000103", "\x00\x38\x00\x02\x00\x01\x00\x2d\x00\x02\x01\x2e"},
		{QER_OPEN, "\x00\x38\x00\x02\x00\x01"},
	};
	static const size_t lens[] = {12, 13, 12, 6};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct found report;
		uint64_t seid;

		kit_open(&conf);
		seid = establish(rows[i].qer, BAR_1);
		CU_ASSERT_FALSE(told());
		word(seid, 1);
		CU_ASSERT_TRUE(told());
		CU_ASSERT_EQUAL(answer_ie(39).at[0], 1); // DLDR
		CU_ASSERT_EQUAL(kit.answer[11], 9);      // the SMF's SEID
		report = answer_ie(DOWNLINK_REPORT);
		CU_ASSERT(report.len == lens[i] && memcmp(report.at, rows[i].report, lens[i]) == 0);
		answer(seid, 1, "");
		CU_ASSERT_FALSE(told());
		kit_close();
	}
}

// The BAR delays it (8.2.28: units of 50 ms), unless the way opens meanwhile.
static void test_delay(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish(QFI_9, BAR_1 "002e000104");
	word(seid, 1);
	warp(199);
	CU_ASSERT_FALSE(told());
	word(seid, 1); // the same again
	warp(1);
	CU_ASSERT_TRUE(told());
	answer(seid, 1, "");
	CU_ASSERT_FALSE(told());
	word(seid, 1);
	update_far(seid, FORW, "");
	warp(300);
	CU_ASSERT_FALSE(told());
	kit_close();
}

// A FAR for quota action that buffers is one too: while the quota is used up, with the delay of its BAR.
static void test_quota_far(void)
{
	struct n4_session *session;
	uint64_t seid;

	kit_open(&conf);
	establish_begin(9);
	PDR(.id = 1, .source = CORE, .ni = "internet", .ue_v4 = "10.45.0.2", .far = 1, .urrs = {1});
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 3,
	    .peer = "127.0.0.50");
	FAR(.id = 3, .action = IDLE, .bar = 1);
	put_urr(6, 1, "003e000102 002500020001 0049000901 0000000000001000 006c000400000003");
	ie_hex(85, BAR_1 "002e000104");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	seid = up_seid();
	word(seid, 1);
	warp(300);
	CU_ASSERT_FALSE(told()); // there is a quota again
	session = n4_session_lookup(kit.n4, seid);
	CU_ASSERT_FATAL(n4_session_open(session));
	session->usage->urrs[0].quota_over = true;
	n4_session_close(session);
	word(seid, 1);
	warp(199);
	CU_ASSERT_FALSE(told());
	warp(1);
	CU_ASSERT_TRUE(told());
	answer(seid, 1, "");
	msg_begin(52, seid); // does not want to know
	FAR(.id = 3, .update = true, .action = BUFF, .bar = 1);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	word(seid, 1);
	warp(1000);
	CU_ASSERT_FALSE(told());
	kit_close();
}

// Of sessions that have gone, of rules that say nothing of the kind, of another life of the slot.
static void test_not_told(void)
{
	struct buffer_event event;
	uint64_t seid;

	kit_open(&conf);
	seid = establish(QFI_9, BAR_1);
	word(seid, 2); // a PDR whose FAR does not buffer
	word(seid, 77);
	event = (struct buffer_event){.slot = session_of(seid)->slot.index,
				      .version = session_of(seid)->slot.version + 1,
				      .pdr = 1};
	n4_downlink_data(kit.n4, session_of(seid)->slot.owner, &event);
	CU_ASSERT_FALSE(told());
	update_far(seid, BUFF, ""); // no NOCP
	word(seid, 1);
	CU_ASSERT_FALSE(told());
	event.version--;
	delete_session(seid);
	n4_downlink_data(kit.n4, 0, &event);
	n4_downlink_data(kit.n4, 1, &event);
	CU_ASSERT_FALSE(told());
	seid = establish(QFI_9, BAR_1);
	word(seid, 1);
	delete_session(seid); // with its word waiting
	CU_ASSERT_FALSE(told());
	kit_close();
}

// The owner has rules whose answer has not left yet: what it says of them is not lost.
static void test_ahead(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish(QFI_9, BAR_1);
	update_far(seid, FORW, "");
	kit.hold = true;
	update_far(seid, IDLE, "");
	word(seid, 1);
	CU_ASSERT_FALSE(told());
	kit.hold = false;
	kit_run();
	CU_ASSERT_TRUE(told());
	kit_close();
}

// A report that was refused, or that nobody answered: the owner tells again, but not at once.
static void test_failed(void)
{
	uint64_t seid;

	for (unsigned refused = 0; refused < 2; refused++) {
		kit_open(&conf);
		kit.n4->conf.heartbeat_s = 0;
		seid = establish(QFI_9, BAR_1);
		word(seid, 1);
		CU_ASSERT_TRUE(told());
		kit.hold = true;
		if (refused)
			answer(seid, 64, "");
		for (unsigned i = 0; !refused && i < kit.n4->conf.n1; i++) {
			warp(kit.n4->conf.t1_ms);
			n4_tick(kit.n4);
		}
		CU_ASSERT_EQUAL(mail_type_waiting(seid), MAIL_BUFFER_AGAIN);
		kit.hold = false;
		kit_run();
		word(seid, 1);
		warp(999);
		CU_ASSERT_FALSE(told());
		warp(10000);
		CU_ASSERT_TRUE(told());
		kit.hold = true;
		answer(seid, 1, "");
		CU_ASSERT_EQUAL(mail_type_waiting(seid), -1);
		kit_close();
	}
}

static const struct far *far_of(uint64_t seid)
{
	const struct n4_session *session = session_of(seid);
	const struct ruleset *rs = rule_arena_at(&kit.arena, session->holding.rules);

	for (unsigned i = 0; i < rs->n_fars; i++)
		if (ruleset_far(rs, i)->id == 1)
			return ruleset_far(rs, i);
	CU_FAIL_FATAL("no FAR 1");
	return NULL;
}

// Update BAR in the answer (7.5.9.2): what it gives, the owner has; what it leaves out stays.
static void test_answer(void)
{
	const struct bar_rule *bar;
	uint64_t seid;

	kit_open(&conf);
	seid = establish(QFI_9, BAR_1 "002e000104 008c000107");
	CU_ASSERT(far_of(seid)->flags == FAR_F_BUFFER_PACKETS && far_of(seid)->buffer_packets == 7);
	word(seid, 1);
	warp(200);
	CU_ASSERT_TRUE(told());
	// 30 packets, 10 s.
	answer(seid, 1,
	       "000c000f" BAR_1 "003000011e"
	       "002f000105");
	bar = rules_bar_lookup(rules_of(session_of(seid)), 1);
	CU_ASSERT(bar->has_suggested && bar->suggested_packets == 30);
	CU_ASSERT(bar->has_duration && bar->duration_s == 10);
	CU_ASSERT_EQUAL(bar->ddn_delay_50ms, 4);
	told();
	CU_ASSERT_EQUAL(far_of(seid)->flags, FAR_F_BUFFER_PACKETS | FAR_F_BUFFER_TIME);
	CU_ASSERT(far_of(seid)->buffer_packets == 30 && far_of(seid)->buffer_s == 10);
	// A duration of 0 is none.
	word(seid, 1);
	warp(200);
	CU_ASSERT_TRUE(told());
	answer(seid, 1, "000c000a" BAR_1 "002f000100");
	bar = rules_bar_lookup(rules_of(session_of(seid)), 1);
	CU_ASSERT(!bar->has_duration && bar->suggested_packets == 30);
	told();
	CU_ASSERT_EQUAL(far_of(seid)->flags, FAR_F_BUFFER_PACKETS);
	// A BAR that there is not, or one without an id: left out.
	word(seid, 1);
	warp(200);
	CU_ASSERT_TRUE(told());
	answer(seid, 1,
	       "000c000a"
	       "0058000102"
	       "002e000101");
	word(seid, 1);
	warp(200);
	CU_ASSERT_TRUE(told());
	answer(seid, 1,
	       "000c0005"
	       "002e000101"); // does not decode: no answer
	CU_ASSERT_TRUE(n4_report_waits(session_of(seid), REPORT_DOWNLINK_DATA));
	answer(seid, 1, "");
	bar = rules_bar_lookup(rules_of(session_of(seid)), 1);
	CU_ASSERT(bar->ddn_delay_50ms == 4 && bar->suggested_packets == 30);
	// While the session changes.
	word(seid, 1);
	warp(200);
	CU_ASSERT_TRUE(told());
	{
		uint32_t seq = answer_seq();

		kit.hold = true;
		update_far(seid, IDLE, "");
		report_answer(seid, seq, 1, "000c000a" BAR_1 "002e000109");
		kit.hold = false;
		kit_run();
	}
	bar = rules_bar_lookup(rules_of(session_of(seid)), 1);
	CU_ASSERT(bar->ddn_delay_50ms == 9 && bar->suggested_packets == 30);
	kit_close();
}

// DROBU, in an answer and in a request.
static void test_drop(void)
{
	struct rte_ring *ring;
	uint64_t seid;
	void *entry = NULL;

	kit_open(&conf);
	seid = establish(QFI_9, BAR_1);
	word(seid, 1);
	CU_ASSERT_TRUE(told());
	kit.hold = true;
	answer(seid, 1, "0032000101");
	CU_ASSERT_EQUAL(mail_type_waiting(seid), MAIL_BUFFER_DROP);
	kit_run();
	for (unsigned drop = 0; drop < 2; drop++) {
		update_far(seid, IDLE, drop ? "0031000101" : "0031000100");
		ring = kit.workers[session_of(seid)->slot.owner]->mailbox.to_worker;
		CU_ASSERT_EQUAL_FATAL(rte_ring_sc_dequeue(ring, &entry), 0);
		CU_ASSERT_EQUAL(((struct mail *)entry)->session.buffer_drop, drop);
		CU_ASSERT_EQUAL_FATAL(rte_ring_sp_enqueue(ring, entry), 0);
		kit_run();
		CU_ASSERT_EQUAL(answer_cause(), 1);
	}
	kit_close();
}

static CU_TestInfo tests[] = {
	{"told", test_told},
	{"51: told of a FAR for quota action", test_quota_far},
	{"delayed", test_delay},
	{"not told", test_not_told},
	{"told of rules that come", test_ahead},
	{"a report that fails", test_failed},
	{"Update BAR in an answer", test_answer},
	{"DROBU", test_drop},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_downlink")
