// Conservation of usage: what all reports say together is what was counted beside, to the byte and the packet, whatever
// the SMF changes, asks for, ends, or does not answer, whatever owners have not yet been told, and however monitoring
// times cut it.
//
// An account beside the code knows which URRs a PDR names, which quotas are left, and whether a packet passes.

#include "usage_kit.h"

#define PACKETS 1200000
#define SESSIONS 6
#define URRS 3 // of a session: one in its lines, one in a record, one before rates
#define DOWN 1
#define UP 2

static const struct kit_conf conf = KIT_CONF;

// What a URR should have counted in its life, and be allowed to.
struct account {
	uint64_t up, down, up_packets, down_packets;
	int64_t quota; // of bytes in all; negative: used up
	bool has_quota;
};

static struct {
	uint64_t seid, cp_seid;
	bool named[URRS + 1]; // by the downlink PDR; the uplink one names all
	uint32_t ids[URRS + 1];
	struct account accounts[URRS + 1];
} sessions[SESSIONS];

static uint64_t last_cp_seid;
static uint32_t last_id;
static unsigned reported; // packets of URRs with MNOP

static uint32_t draw(uint32_t n)
{
	static uint64_t state = 20261;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) * n >> 32);
}

static void put_rule(unsigned type, unsigned urr, unsigned s, bool quota)
{
	static const char *const methods[] = {NULL, "003e000102", "003e000103 0064000118",
					      "003e000102 0064000101"};
	struct account *a = &sessions[s].accounts[urr];
	char hex[300];
	uint32_t threshold = 200 + draw(draw(2) ? 3000 : 300000);

	snprintf(hex, sizeof(hex), "%s 0025000203 00 0040000400000003 001f000901%016x",
		 type == 6 ? methods[urr] : "", threshold);
	if (quota) {
		a->quota = 1 + draw(draw(2) ? 20000 : 2000000);
		a->has_quota = true;
		snprintf(hex + strlen(hex), sizeof(hex) - strlen(hex), "0049000901%016x",
			 (unsigned)a->quota);
	}
	if (draw(3) == 0)
		snprintf(hex + strlen(hex), sizeof(hex) - strlen(hex), "00210004%08x%s",
			 clock_ntp_s() + draw(4), draw(2) ? "0022000901 00000000000007d0" : "");
	put_urr(type, sessions[s].ids[urr], hex);
}

static void put_down(unsigned s, bool update)
{
	struct pdr_spec p = {.id = DOWN, .update = update, .source = CORE, .far = 1};
	char ue[32];
	unsigned n = 0;

	snprintf(ue, sizeof(ue), "10.45.1.%u", s + 1);
	p.no_pdi = p.no_precedence = p.no_far = update;
	p.ue_v4 = ue;
	p.ni = "internet";
	for (unsigned urr = 1; urr <= URRS; urr++)
		if (sessions[s].named[urr])
			p.urrs[n++] = sessions[s].ids[urr];
	if (n == 0)
		p.hex = "00510000";
	put_pdr(&p);
}

static void establish(unsigned s)
{
	memset(&sessions[s], 0, sizeof(sessions[s]));
	sessions[s].cp_seid = ++last_cp_seid;
	sessions[s].named[1] = sessions[s].named[2] = true;
	for (unsigned urr = 1; urr <= URRS; urr++)
		sessions[s].ids[urr] = ++last_id;
	establish_begin(sessions[s].cp_seid);
	put_down(s, false);
	PDR(.id = UP, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2,
	    .urrs = {sessions[s].ids[1], sessions[s].ids[2], sessions[s].ids[3]});
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 0xa000001,
	    .peer = "127.0.0.50");
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	for (unsigned urr = 1; urr <= URRS; urr++)
		put_rule(6, urr, s, draw(4) == 0);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	sessions[s].seid = book.up_seids[last_cp_seid] = up_seid();
}

// A URR has ended: all that it counted is in the book.
static void settle(unsigned s, unsigned urr)
{
	struct account *a = &sessions[s].accounts[urr];
	struct usage_sum *sum = book_of(sessions[s].cp_seid, sessions[s].ids[urr]);
	bool packets = urr == 2;

	if (sum->up != a->up || sum->down != a->down)
		CU_FAIL_FATAL("bytes that are in no report, or in two");
	if (packets && (sum->up_packets != a->up_packets || sum->down_packets != a->down_packets))
		CU_FAIL_FATAL("packets that are in no report, or in two");
	reported += packets ? (unsigned)(sum->up_packets + sum->down_packets) : 0;
	*a = (struct account){0};
	memset(sum, 0, sizeof(*sum)); // of nobody
}

static void end(unsigned s)
{
	delete_session(sessions[s].seid);
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	book_read();
	for (unsigned urr = 1; urr <= URRS; urr++)
		settle(s, urr);
}

static void send_packet(unsigned s)
{
	bool is_up = draw(2), passes = true;
	uint32_t bytes = 20 + draw(1481);

	for (unsigned urr = 1; urr <= URRS; urr++)
		if (is_up || sessions[s].named[urr])
			passes &= !sessions[s].accounts[urr].has_quota ||
				  sessions[s].accounts[urr].quota > 0;
	if (packet(sessions[s].seid, is_up ? UP : DOWN, is_up, bytes) != passes)
		CU_FAIL_FATAL("a quota that stops too early, or too late");
	for (unsigned urr = 1; passes && urr <= URRS; urr++) {
		struct account *a = &sessions[s].accounts[urr];

		if (!is_up && !sessions[s].named[urr])
			continue;
		*(is_up ? &a->up : &a->down) += bytes;
		*(is_up ? &a->up_packets : &a->down_packets) += 1;
		a->quota -= bytes;
	}
}

// A URR is changed, asked for, ended with another in its place, or named by another set of PDRs; often several at once.
static void modify(unsigned s)
{
	uint32_t old[URRS + 1], ended = 0;
	unsigned urr = 1 + draw(URRS), way = draw(4);

	memcpy(old, sessions[s].ids, sizeof(old));
	msg_begin(52, sessions[s].seid);
	if (way == 0) {
		ended = urr;
		put_remove(17, 81, old[urr], 4);
		sessions[s].ids[urr] = ++last_id;
		PDR(.id = UP, .update = true, .no_pdi = true, .no_precedence = true, .no_far = true,
		    .urrs = {sessions[s].ids[1], sessions[s].ids[2], sessions[s].ids[3]});
	} else if (way == 1) {
		put_rule(13, urr, s, draw(2));
	}
	if (draw(2))
		sessions[s].named[1 + draw(URRS)] ^= true;
	put_down(s, true);
	if (draw(3) == 0)
		ie_number(49, 4, 1);
	else if (draw(2))
		put_urr(77, old[1 + draw(URRS)], "");
	if (ended) { // its account is settled first
		struct account account = sessions[s].accounts[urr];

		put_rule(6, urr, s, false);
		sessions[s].accounts[urr] = account;
	}
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	book_read();
	if (ended) {
		uint32_t id = sessions[s].ids[urr];

		sessions[s].ids[urr] = old[urr];
		settle(s, urr);
		sessions[s].ids[urr] = id;
	}
}

// Time passes, with or without an SMF that answers; at times owners are slow.
static void pass(void)
{
	if (draw(20) == 0)
		book.mute = !book.mute;
	if (draw(10) == 0)
		clock_warp_ns((int64_t)(draw(4000) * NS_PER_MS));
	usage_tick_once();
	if (draw(3))
		kit_run();
}

static void test_sum(void)
{
	uint64_t events = 0;

	usage_open(&conf);
	for (unsigned s = 0; s < SESSIONS; s++)
		establish(s);
	for (unsigned i = 0; i < PACKETS; i++) {
		unsigned s = draw(SESSIONS);

		send_packet(s);
		if (draw(20) == 0)
			pass();
		if (draw(150) == 0)
			modify(s);
		if (draw(4000) == 0) {
			end(s);
			establish(s);
		}
	}
	for (unsigned s = 0; s < SESSIONS; s++)
		end(s);
	for (unsigned i = 0; i < KIT_WORKERS; i++)
		events += kit.workers[i]->stats.counter[COUNTER_usage_marks];
	CU_ASSERT(events > 10000 && reported > 10000);
	CU_ASSERT_EQUAL(kit.n4->counters.counter[N4_COUNT_reports_lost], 0);
	usage_close();
}

static CU_TestInfo tests[] = {
	{"52: nothing is lost or counted twice", test_sum},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_usage_sum")
