// Node Reports: which SMFs are told of a failed or recovered GTP-U path, in what messages, how often
// (TS 29.244 7.4.5).

#include "pfcp/node_report.h"
#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

// The Node Report Requests that were sent, in order.
static struct {
	unsigned n;
	struct endpoint to[64];
	uint8_t bytes[64][2048];
	size_t len[64];
} sent;

static int report_send(void *ctx, const struct addr *local, const struct endpoint *to,
		       const uint8_t *bytes, size_t len)
{
	if (bytes[1] >= 50) {
		memcpy(kit.answer, bytes, len);
		kit.answer_len = len;
		return 0;
	}
	if (bytes[1] != 12 || sent.n == 64)
		return 0;
	sent.to[sent.n] = *to;
	sent.len[sent.n] = len;
	memcpy(sent.bytes[sent.n++], bytes, len);
	return 0;
}

static void open_kit(void)
{
	memset(&sent, 0, sizeof(sent));
	kit_open(&conf);
	kit.n4->send = report_send;
}

static void after_ms(unsigned ms)
{
	clock_warp_ns(ms * (int64_t)NS_PER_MS);
	n4_tick(kit.n4);
}

static void change(const char *text, bool up)
{
	struct addr addr;
	uint16_t peer = 0;

	CU_ASSERT_EQUAL_FATAL(addr_parse(text, &addr), 0);
	CU_ASSERT_EQUAL_FATAL(neigh_tunnel_take(&kit.neigh, &addr, &peer), 0);
	neigh_tunnel_give(&kit.neigh, peer);
	node_report_path(kit.n4, peer, &addr, up);
}

static struct found ies_of(unsigned i)
{
	return (struct found){sent.bytes[i] + 8, sent.len[i] - 8};
}

static unsigned n_peers(unsigned i, unsigned report)
{
	struct found group = find_ie(ies_of(i), report, 0);
	unsigned n = 0;

	while (find_ie(group, 103, n).at)
		n++;
	return n;
}

// Whether the i-th report says this, and nothing else, of one peer.
static bool says(unsigned i, bool up, const char *text)
{
	struct found peer = find_ie(find_ie(ies_of(i), up ? 187 : 102, 0), 103, 0);
	struct found type = find_ie(ies_of(i), 101, 0), id = find_ie(ies_of(i), 60, 0);
	struct addr addr;

	addr_parse(text, &addr);
	return type.len == 1 && type.at[0] == (up ? 2 : 1) && id.len == 5 &&
	       memcmp(id.at, "\0\x7f\0\0\7", 5) == 0 && peer.len == 5 && peer.at[0] == 2 &&
	       memcmp(peer.at + 1, &addr.v4, 4) == 0 && n_peers(i, up ? 187 : 102) == 1 &&
	       !find_ie(ies_of(i), up ? 102 : 187, 0).at;
}

// The SMF answers the i-th report with this cause.
static void answer_report(unsigned i, unsigned cause)
{
	kit.len = 0;
	put(0x200d0000, 4);
	put_text((const char *)sent.bytes[i] + 4, 3);
	put(0, 1);
	ie_hex(60, "007f000004");
	ie_number(19, cause, 1);
	msg_send();
}

static uint64_t failed(void)
{
	return kit.n4->counters.counter[N4_COUNT_node_reports_failed];
}

static void test_told(void)
{
	uint64_t seid;

	open_kit();
	seid = establish_plain(1, "10.45.0.2"); // to 127.0.0.50
	CU_ASSERT_NOT_EQUAL_FATAL(seid, 0);
	change("127.0.0.51", false); // of nobody's session
	after_ms(100);
	CU_ASSERT_EQUAL(sent.n, 0);
	after_ms(1000);
	change("127.0.0.50", false);
	CU_ASSERT_EQUAL(sent.n, 0);
	after_ms(100);
	CU_ASSERT_EQUAL_FATAL(sent.n, 1);
	CU_ASSERT(says(0, false, "127.0.0.50") && endpoint_eq(&sent.to[0], &kit.peer));
	answer_report(0, 1);
	after_ms(10000);
	CU_ASSERT(sent.n == 1 && failed() == 0);
	change("127.0.0.50", true);
	after_ms(100);
	CU_ASSERT_EQUAL_FATAL(sent.n, 2);
	CU_ASSERT(says(1, true, "127.0.0.50"));
	answer_report(1, 1);
	delete_session(seid);
	kit_close();
}

// T1 apart, N1 times; a refusal ends it at once. Both are counted.
static void test_unanswered(void)
{
	open_kit();
	establish_plain(1, "10.45.0.2");
	change("127.0.0.50", false);
	after_ms(100);
	for (unsigned i = 1; i < 3; i++) {
		after_ms(2400);
		CU_ASSERT_EQUAL(sent.n, i);
		after_ms(100);
		CU_ASSERT_EQUAL_FATAL(sent.n, i + 1);
		CU_ASSERT(memcmp(sent.bytes[i], sent.bytes[0], sent.len[0]) == 0);
	}
	after_ms(2500);
	CU_ASSERT(sent.n == 3 && failed() == 1);
	change("127.0.0.50", true);
	after_ms(100);
	CU_ASSERT_EQUAL_FATAL(sent.n, 4);
	answer_report(3, 64);
	after_ms(10000);
	CU_ASSERT(sent.n == 4 && failed() == 2);
	delete_session(up_seid());
	kit_close();
}

// Many changes within a second are one message; what changed back meanwhile is told as it is now.
static void test_bounded(void)
{
	char ue[32], gnb[32];
	uint64_t seids[20];

	open_kit();
	kit.neigh.most = 40;
	for (unsigned i = 0; i < 20; i++) {
		snprintf(ue, sizeof(ue), "10.45.1.%u", i + 1);
		snprintf(gnb, sizeof(gnb), "127.0.1.%u", i + 1);
		establish_begin(i + 1);
		PDR(.id = 1, .source = CORE, .ni = "internet", .ue_v4 = ue, .far = 1);
		FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = i + 1,
		    .peer = gnb);
		msg_send();
		seids[i] = up_seid();
	}
	for (unsigned round = 0; round < 50; round++) {
		for (unsigned i = 0; i < 20; i++) {
			snprintf(gnb, sizeof(gnb), "127.0.1.%u", i + 1);
			change(gnb, i >= 10 && round % 2);
		}
		after_ms(10);
	}
	CU_ASSERT_EQUAL(sent.n, 1);
	answer_report(0, 1);
	after_ms(1000);
	CU_ASSERT_EQUAL_FATAL(sent.n, 2);
	CU_ASSERT(n_peers(1, 102) == 10 && n_peers(1, 187) == 10);
	CU_ASSERT_EQUAL(find_ie(ies_of(1), 101, 0).at[0], 3);
	answer_report(1, 1);
	after_ms(5000);
	CU_ASSERT_EQUAL(sent.n, 2);
	for (unsigned i = 0; i < 20; i++)
		delete_session(seids[i]);
	kit_close();
}

// A session that is being made while the path fails is told of, too; the end of an association is not in the way.
static void test_races(void)
{
	open_kit();
	kit.hold = true;
	establish_plain(1, "10.45.0.2");
	change("127.0.0.50", false);
	after_ms(100);
	CU_ASSERT_EQUAL(sent.n, 1);
	kit_run();
	kit_release();
	change("127.0.0.50", true);
	after_ms(1000);
	CU_ASSERT_EQUAL(sent.n, 1);
	kit_run();
	after_ms(60000);
	CU_ASSERT_EQUAL(assoc_count(kit.n4), 0);
	kit_close();
}

static bool watched(const char *text)
{
	struct addr addr;

	CU_ASSERT_EQUAL_FATAL(addr_parse(text, &addr), 0);
	for (uint16_t i = 1; i < KIT_PEERS; i++)
		if (kit.neigh.peers[i].refs && addr_eq(&kit.neigh.peers[i].addr, &addr))
			return kit.neigh.peers[i].watched;
	CU_FAIL("no such peer");
	return false;
}

// gNBs and UPFs are asked; who only takes router solicitations is the SMF, and not asked.
static void test_watched(void)
{
	open_kit();
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ni = "internet", .ue_v4 = "10.45.0.2", .far = 1);
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2);
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 1,
	    .peer = "127.0.0.50");
	FAR(.id = 2, .action = FORW, .to = true, .destination = CP, .teid = 2,
	    .peer = "127.0.0.60");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	CU_ASSERT(watched("127.0.0.50") && !watched("127.0.0.60"));
	delete_session(up_seid());
	kit_close();
}

static CU_TestInfo tests[] = {
	{"told", test_told},   {"unanswered", test_unanswered}, {"bounded", test_bounded},
	{"races", test_races}, {"watched", test_watched},       CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_node_report")
