// Sessions by sets: deletion and modification by FQ-CSID, Group ID and CP address, and SMFs of one set that take
// sessions over from each other (TS 29.244 5.22, 7.4.6, 7.4.7).

#include "pfcp/report.h"
#include "pfcp/session_set.h"
#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

// The latest node answer, and how many there were.
static struct {
	unsigned n;
	uint8_t bytes[512];
	size_t len;
} node;

static int set_send(void *ctx, const struct addr *local, const struct endpoint *to,
		    const uint8_t *bytes, size_t len)
{
	CU_ASSERT(endpoint_eq(to, &kit.peer));
	if (bytes[1] >= 50) {
		memcpy(kit.answer, bytes, len);
		kit.answer_len = len;
		kit_log();
	} else if (len <= sizeof(node.bytes)) {
		memcpy(node.bytes, bytes, len);
		node.len = len;
		node.n++;
	}
	return 0;
}

static void from(const char *address)
{
	endpoint_parse(address, PFCP_PORT, &kit.peer);
}

static void open_kit(void)
{
	memset(&node, 0, sizeof(node));
	kit_open(&conf);
	kit.n4->send = set_send;
}

static unsigned node_number(unsigned type)
{
	struct found f = find_ie((struct found){node.bytes + 8, node.len - 8}, type, 0);

	return f.at && f.len <= 4 ? (unsigned)number_at(f.at, (unsigned)f.len) : 0;
}

static unsigned node_cause(void)
{
	return node_number(19);
}

// FQ-CSIDs of 192.0.2.9: an SMF's (type 2) and an MME's (0), and one that does not say.
#define SMF_1 "01 c0000209 0001 02"
#define SMF_2 "01 c0000209 0002 02"
#define SMF_12 "02 c0000209 0001 0002 02"
#define MME_7 "01 c0000209 0007 00"
#define BARE_2 "01 c0000209 0002"
#define OWN "01 7f000007 0001 05"

static uint64_t establish_in(uint64_t cp_seid, const char *ue, const char *csid, const char *more)
{
	establish_begin(cp_seid);
	put_plain(ue);
	if (csid)
		ie_hex(65, csid);
	if (more)
		ie_hex(65, more);
	msg_send();
	return answer_cause() == 1 ? up_seid() : 0;
}

static bool lives(uint64_t seid)
{
	return n4_session_lookup(kit.n4, seid) != NULL;
}

static void delete_set(const char *csid)
{
	node_begin(14, "007f000004");
	if (csid)
		ie_hex(65, csid);
	msg_send();
}

static void test_deletion(void)
{
	static const struct {
		const char *csid;
		bool one, two, three; // of the sessions with SMF_1, SMF_2 and none
	} rows[] = {
		{SMF_1, false, true, true},
		{SMF_2, true, false, true},
		{SMF_12, false, false, true},
		{BARE_2, true, false, true},
		{MME_7, true, false, true},
		{OWN, false, false, true},
		{"01 c0000209 0003 02", true, true, true},
		{"01 c000020a 0001 02", true, true, true},
		{"01 c0000209 0001 01", true, true, true}, // an SGW-C of the same address
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t one, two, three;
		unsigned before;
		struct found own;

		open_kit();
		one = establish_in(1, "10.45.0.2", SMF_1, NULL);
		own = answer_ie(65);
		CU_ASSERT(own.len == 8 && memcmp(own.at, "\x01\x7f\0\0\7\0\1\5", 8) == 0);
		two = establish_in(2, "10.45.0.3", SMF_2, MME_7);
		three = establish_in(3, "10.45.0.4", NULL, NULL);
		CU_ASSERT_FATAL(one && two && three);
		CU_ASSERT_PTR_NULL(answer_ie(65).at); // who names no set is told of none
		before = node.n;
		kit.hold = true;
		delete_set(rows[i].csid);
		CU_ASSERT_EQUAL(node.n,
				before + (rows[i].one && rows[i].two)); // when all have gone
		kit_run();
		CU_ASSERT(node.n == before + 1 && node.bytes[1] == 15 && node_cause() == 1);
		CU_ASSERT_EQUAL(lives(one), rows[i].one);
		CU_ASSERT_EQUAL(lives(two), rows[i].two);
		CU_ASSERT_EQUAL(lives(three), rows[i].three);
		kit_close();
	}
}

// What is wrong with it is said, and nothing ends.
static void test_deletion_refused(void)
{
	static const struct {
		const char *csid;
		unsigned cause, offending;
	} rows[] = {
		{NULL, 67, 65},          {"", 68, 65},
		{"00 c0000209", 67, 65}, {"03 c0000209 0001", 68, 65},
		{"01 c00002", 68, 65},
	};
	uint64_t seid;

	open_kit();
	seid = establish_in(1, "10.45.0.2", SMF_1, NULL);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		delete_set(rows[i].csid);
		CU_ASSERT_EQUAL(node_cause(), rows[i].cause);
		CU_ASSERT_EQUAL(node_number(40), rows[i].offending);
	}
	node_begin(14, "007f000005"); // no association
	ie_hex(65, SMF_1);
	msg_send();
	CU_ASSERT_EQUAL(node_cause(), 72);
	node_begin(14, "007f000004");
	ie_hex(65,
	       "0f c0000209 0001 0002 0003 0004 0005 0006 0007 0008 0009 000a 000b 000c 000d 000e 000f 02");
	ie_hex(65, SMF_12);
	msg_send();
	CU_ASSERT(node_cause() == 75 && node_number(40) == 65);
	CU_ASSERT_TRUE(lives(seid));
	kit_close();
}

// A session that is being made, one that is being changed with a request behind it; then the association ends
// under a deletion, and the context under another.
static void test_deletion_races(void)
{
	uint64_t seid;

	open_kit();
	seid = establish_in(1, "10.45.0.2", SMF_1, NULL);
	kit.hold = true;
	kit.n_sent = 0;
	msg_begin(52, seid);
	FAR(.id = 1, .update = true, .action = DROP);
	msg_send();
	delete_session(seid);
	establish_in(2, "10.45.0.3", SMF_1, NULL);
	delete_set(SMF_1);
	kit_run();
	CU_ASSERT_EQUAL(node_cause(), 1);
	CU_ASSERT_EQUAL(n4_session_count(kit.n4), 0);
	CU_ASSERT_EQUAL_FATAL(kit.n_sent, 3);
	CU_ASSERT(kit.log[0].type == 55 && kit.log[0].cause == 65); // what waited
	CU_ASSERT(kit.log[1].cause + kit.log[2].cause == 1 + 64);
	establish_in(3, "10.45.0.4", SMF_1, NULL);
	kit_run();
	delete_set(SMF_1);
	node.n = 0;
	node_begin(9, "007f000004");
	msg_send();
	kit_run();
	CU_ASSERT(node.n == 1 &&
		  node.bytes[1] == 10); // the deletion is forgotten with its association
	kit_close();

	open_kit();
	establish_in(1, "10.45.0.2", SMF_1, NULL);
	kit.hold = true;
	delete_set(SMF_1);
	kit_close();
}

static void setup_as(const char *address, const char *node_id, const char *set, const char *others)
{
	from(address);
	node_begin(5, node_id);
	ie_number(96, RECOVERY, 4);
	ie_hex(89, "28"); // SSET, MPAS
	if (set) {
		size_t mark = ie_begin(180), label;

		put(0, 1);
		for (; *set; set += label + (set[label] == '.')) {
			label = strcspn(set, ".");
			put(label, 1);
			put_text(set, label);
		}
		ie_end(mark);
	}
	if (others)
		ie_hex(178, others);
	msg_send();
}

// The same FQ-CSID of another SMF is another set.
static void test_deletion_of_others(void)
{
	uint64_t mine, theirs;

	open_kit();
	mine = establish_in(1, "10.45.0.2", SMF_1, NULL);
	setup_as("127.0.0.5", "007f000005", NULL, NULL);
	CU_ASSERT_EQUAL_FATAL(node_cause(), 1);
	msg_begin(50, 0);
	ie_hex(60, "007f000005");
	ie_hex(57, "02 0000000000000009 7f000005");
	put_plain("10.45.0.3");
	ie_hex(65, SMF_1);
	msg_send();
	theirs = up_seid();
	CU_ASSERT_FATAL(mine && theirs);
	node_begin(14, "007f000005");
	ie_hex(65, SMF_1);
	msg_send();
	CU_ASSERT(node_cause() == 1 && lives(mine) && !lives(theirs));
	kit_close();
}

// --- what a session is in --------------------------------------------------------------------------------

static void modify_csid(uint64_t seid, const char *csid, bool good)
{
	msg_begin(52, seid);
	ie_hex(65, csid);
	if (!good)
		remove_pdr(99);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), good ? 1 : 73);
}

static void test_modified(void)
{
	uint64_t seid;

	open_kit();
	seid = establish_in(1, "10.45.0.2", SMF_1, MME_7);
	modify_csid(seid, SMF_2, false);
	CU_ASSERT(session_of(seid)->set->n_csids == 2 && session_of(seid)->set->csids[0].id == 1);
	modify_csid(seid, SMF_2, true);
	CU_ASSERT(session_of(seid)->set->n_csids == 2); // the MME's stays
	delete_set(SMF_1);
	CU_ASSERT_TRUE(lives(seid));
	modify_csid(seid, "", true);
	CU_ASSERT_PTR_NULL(session_of(seid)->set);
	modify_csid(seid, SMF_12, true);
	msg_begin(52, seid); // nothing said: nothing changes
	msg_send();
	CU_ASSERT_EQUAL(session_of(seid)->set->n_csids, 2);
	delete_set(SMF_2);
	CU_ASSERT_FALSE(lives(seid));
	establish_begin(2);
	put_plain("10.45.0.2");
	ie_hex(65,
	       "0f c0000209 0001 0002 0003 0004 0005 0006 0007 0008 0009 000a 000b 000c 000d 000e 000f 02");
	ie_hex(65, SMF_12);
	msg_send();
	CU_ASSERT(answer_cause() == 75 && n4_session_count(kit.n4) == 0);
	kit_close();
}

static bool cp_addr_is(uint64_t seid, const char *address)
{
	struct addr addr;

	return addr_parse(address, &addr) == 0 && addr_eq(session_of(seid)->cp_addr, &addr);
}

static void change_set(const char *info)
{
	node_begin(16, "007f000004");
	ie_hex(290, info);
	msg_send();
}

#define TO_9 "00b2 0005 02 7f000009" // Alternative SMF IP Address 127.0.0.9

static void test_set_modification(void)
{
	static const struct {
		const char *info;
		unsigned cause, offending;
		bool one, two; // which change
	} rows[] = {
		{"0041 0008 " SMF_1 TO_9, 1, 0, true, false},
		{"0123 0003 616263" TO_9, 1, 0, false, true},
		{"0123 0003 616264" TO_9, 1, 0, false, false},
		{"0124 0005 02 7f000004" TO_9, 1, 0, true, true},
		{"0124 0005 02 7f000008" TO_9, 1, 0, false, false},
		{TO_9, 1, 0, false, false},
		{"0041 0008 " SMF_1, 66, 178, false, false},
		{"0041 0008 " SMF_1 "00b2 0001 00", 69, 178, false, false},
		{"0041 0008 " SMF_1 "00b2 0003 02 7f00", 68, 178, false, false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t one, two;

		open_kit();
		one = establish_in(1, "10.45.0.2", SMF_1, NULL);
		establish_begin(2);
		put_plain("10.45.0.3");
		ie_hex(291, "616263");
		msg_send();
		two = up_seid();
		change_set(rows[i].info);
		CU_ASSERT(node_cause() == rows[i].cause && node_number(40) == rows[i].offending);
		CU_ASSERT_TRUE(cp_addr_is(one, rows[i].one ? "127.0.0.9" : "127.0.0.4"));
		CU_ASSERT_TRUE(cp_addr_is(two, rows[i].two ? "127.0.0.9" : "127.0.0.4"));
		kit_close();
	}
}

// A change under way does not bring the old address back.
static void test_set_modification_race(void)
{
	uint64_t seid;

	open_kit();
	seid = establish_in(1, "10.45.0.2", SMF_1, NULL);
	kit.hold = true;
	msg_begin(52, seid);
	FAR(.id = 1, .update = true, .action = DROP);
	msg_send();
	change_set("0041 0008 " SMF_1 TO_9);
	kit_run();
	CU_ASSERT_TRUE(cp_addr_is(seid, "127.0.0.9"));
	kit_close();
}

// --- SMF sets --------------------------------------------------------------------------------------------

static unsigned modify_from(const char *address, uint64_t seid, const char *f_seid)
{
	from(address);
	msg_begin(52, seid);
	if (f_seid)
		ie_hex(57, f_seid);
	FAR(.id = 1, .update = true, .action = DROP);
	msg_send();
	return answer_cause();
}

// One association for the set: the other SMFs that its setup names may speak for its sessions, nobody else; a new
// F-SEID is that of reports and answers from then on.
static void test_one_association(void)
{
	struct report report = {.kind = REPORT_INACTIVITY};
	uint64_t seid;

	open_kit();
	setup_as("127.0.0.4", "007f000004", "set1.smfset", "02 7f000008");
	CU_ASSERT_EQUAL_FATAL(node_cause(), 1);
	seid = establish_plain(1, "10.45.0.2");
	CU_ASSERT_EQUAL(modify_from("127.0.0.9", seid, NULL), 65);
	CU_ASSERT_EQUAL(answer_seid(), 0);
	CU_ASSERT_EQUAL(modify_from("127.0.0.9", seid, "02 0000000000000055 7f000009"), 65);
	CU_ASSERT_TRUE(cp_addr_is(seid, "127.0.0.4"));
	CU_ASSERT_EQUAL(modify_from("127.0.0.8", seid, NULL), 1);
	CU_ASSERT(answer_seid() == 1 && cp_addr_is(seid, "127.0.0.4"));
	CU_ASSERT_EQUAL(modify_from("127.0.0.8", seid, "02 0000000000000055 7f000008"), 1);
	CU_ASSERT(answer_seid() == 0x55 && cp_addr_is(seid, "127.0.0.8"));
	n4_report(kit.n4, n4_session_lookup(kit.n4, seid), &report);
	n4_tick(kit.n4); // to whom, set_send() looks
	CU_ASSERT(answer_type() == 56 && answer_seid() == 0x55);
	CU_ASSERT_EQUAL(modify_from("127.0.0.4", seid, NULL), 1);
	CU_ASSERT_EQUAL(answer_seid(), 0x55);
	setup_as("127.0.0.8", "007f000004", "set1.smfset", "02 7f000004"); // sets up again for all
	CU_ASSERT(node_cause() == 1 && lives(seid));
	from("127.0.0.9");
	delete_session(seid);
	CU_ASSERT(answer_cause() == 65 && lives(seid));
	from("127.0.0.4");
	delete_session(seid);
	CU_ASSERT(answer_cause() == 1 && !lives(seid));
	kit_close();
}

// An update says who the others are now.
static void test_updated(void)
{
	uint64_t seid;

	open_kit();
	seid = establish_plain(1, "10.45.0.2");
	CU_ASSERT_EQUAL(modify_from("127.0.0.8", seid, NULL), 65);
	from("127.0.0.4");
	node_begin(7, "007f000004");
	ie_hex(178, "02 7f000008");
	msg_send();
	CU_ASSERT(node_cause() == 1 && modify_from("127.0.0.8", seid, NULL) == 1);
	from("127.0.0.4");
	node_begin(7, "007f000004");
	ie_hex(178, "02 7f00");
	msg_send();
	CU_ASSERT(node_cause() == 68 && modify_from("127.0.0.8", seid, NULL) == 1);
	kit_close();
}

static void test_setup_refused(void)
{
	open_kit();
	setup_as("127.0.0.5", "007f000005", "", NULL);
	CU_ASSERT(node_cause() == 68 && node_number(40) == 180);
	node_begin(5, "007f000005");
	ie_number(96, RECOVERY, 4);
	for (unsigned i = 0; i < 40; i++) {
		size_t mark = ie_begin(178);

		put(2, 1);
		put(0x7f000100 + i, 4);
		ie_end(mark);
	}
	msg_send();
	CU_ASSERT(node_cause() == 75 && node_number(40) == 178 && assoc_count(kit.n4) == 1);
	kit_close();
}

static unsigned take_over(const char *address, uint64_t seid, const char *node_id)
{
	from(address);
	msg_begin(52, seid);
	ie_hex(60, node_id);
	ie_hex(57, "02 0000000000000066 7f000005");
	msg_send();
	return answer_cause();
}

// Each SMF with an association of its own: a session goes over to the one that says so, if it is of the set, and
// lives on when its first SMF ends.
static void test_many_associations(void)
{
	uint64_t seid;

	open_kit();
	setup_as("127.0.0.4", "007f000004", "set1.smfset", NULL);
	setup_as("127.0.0.5", "007f000005", "SET1.smfset", NULL);
	setup_as("127.0.0.6", "007f000006", "set2.smfset", NULL);
	from("127.0.0.4");
	seid = establish_plain(1, "10.45.0.2");
	CU_ASSERT_EQUAL(modify_from("127.0.0.6", seid, NULL), 65);
	CU_ASSERT_EQUAL(modify_from("127.0.0.5", seid, NULL), 1);
	CU_ASSERT_EQUAL(take_over("127.0.0.6", seid, "007f000006"), 65);
	CU_ASSERT(take_over("127.0.0.5", seid, "007f000009") == 72);
	CU_ASSERT_EQUAL(session_of(seid)->assoc->n_sessions, 1);
	CU_ASSERT_EQUAL(take_over("127.0.0.5", seid, "007f000005"), 1);
	CU_ASSERT(answer_seid() == 0x66 && cp_addr_is(seid, "127.0.0.5"));
	from("127.0.0.4");
	node_begin(9, "007f000004");
	msg_send();
	CU_ASSERT(node_cause() == 1 && lives(seid) && assoc_count(kit.n4) == 2);
	CU_ASSERT_EQUAL(modify_from("127.0.0.5", seid, NULL), 1);
	CU_ASSERT_EQUAL(modify_from("127.0.0.4", seid, NULL), 1); // made it
	from("127.0.0.5");
	node_begin(9, "007f000005");
	msg_send();
	CU_ASSERT(node_cause() == 1 && !lives(seid));
	kit_close();
}

// The SMF that takes over goes while its request waits for the session's turn.
static void test_taker_goes(void)
{
	uint64_t seid;

	open_kit();
	setup_as("127.0.0.4", "007f000004", "set1.smfset", NULL);
	setup_as("127.0.0.5", "007f000005", "set1.smfset", NULL);
	from("127.0.0.4");
	seid = establish_plain(1, "10.45.0.2");
	kit.hold = true;
	modify_from("127.0.0.4", seid, NULL);
	take_over("127.0.0.5", seid, "007f000005");
	node_begin(9, "007f000005");
	msg_send();
	from("127.0.0.4");
	kit_run();
	CU_ASSERT(lives(seid) && assoc_count(kit.n4) == 1);
	CU_ASSERT_TRUE(cp_addr_is(seid, "127.0.0.4"));
	kit_close();
}

// --- retention -------------------------------------------------------------------------------------------

static void setup_retaining(uint32_t recovery, const char *info)
{
	from("127.0.0.4");
	node_begin(5, "007f000004");
	ie_number(96, recovery, 4);
	if (info)
		ie_hex(183, info);
	msg_send();
}

// An SMF that has restarted keeps the sessions that its setup names, by the addresses of their CP F-SEIDs; the
// others have gone when it is answered.
static void test_retention(void)
{
	static const struct {
		const char *info;
		uint32_t later;
		bool one, two; // which stay: that of 127.0.0.4 and that of 127.0.0.8
		unsigned flags;
	} rows[] = {
		{"", 1, true, true, 1},
		{"00b9 0005 02 7f000008", 1, false, true, 1},
		{"00b9 0005 02 7f000008", 0, false, true, 1},
		{"00b9 0005 02 7f000008 00b9 0005 02 7f000004", 1, true, true, 1},
		{"00b9 0005 02 7f000009", 1, false, false, 1},
		{NULL, 1, false, false, 0},
		{NULL, 0, true, true, 0},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t one, two;
		unsigned before;

		open_kit();
		one = establish_plain(1, "10.45.0.2");
		msg_begin(50, 0);
		ie_hex(60, "007f000004");
		ie_hex(57, "02 0000000000000009 7f000008");
		put_plain("10.45.0.3");
		msg_send();
		two = up_seid();
		before = node.n;
		kit.hold = true;
		setup_retaining(RECOVERY + rows[i].later, rows[i].info);
		CU_ASSERT_EQUAL(node.n, before + (rows[i].one && rows[i].two));
		kit_run();
		CU_ASSERT(node.n == before + 1 && node_cause() == 1);
		CU_ASSERT_EQUAL(node_number(184), rows[i].flags);
		CU_ASSERT(lives(one) == rows[i].one && lives(two) == rows[i].two);
		CU_ASSERT_EQUAL(assoc_count(kit.n4), 1);
		kit.hold = false;
		CU_ASSERT_NOT_EQUAL(establish_plain(3, "10.45.0.4"), 0);
		kit_close();
	}
}

static CU_TestInfo tests[] = {
	{"deletion", test_deletion},
	{"deletion refused", test_deletion_refused},
	{"deletion races", test_deletion_races},
	{"others' sets", test_deletion_of_others},
	{"sets of a session change", test_modified},
	{"set modification", test_set_modification},
	{"set modification race", test_set_modification_race},
	{"SMF set with one association", test_one_association},
	{"SMF set updated", test_updated},
	{"SMF set refused", test_setup_refused},
	{"SMF set with many associations", test_many_associations},
	{"who takes over goes", test_taker_goes},
	{"retention", test_retention},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_sets")
