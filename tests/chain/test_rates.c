// QERs let pass what they should: rates through the whole pipeline, measured with warped time.
//
// The test's thread. Each row offers more than the rate for so long that one packet is no more than some
// thousandths of what passes. What passes at once, before the rate sets in, is stated apart: the burst that the
// configuration allows (the rig's is 10 ms at the rate, and no less than METER_LEAST_BYTES), and one packet.

#include <stdlib.h>

#include "base/clock.h"
#include "chain.h"
#include "packet/eth.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "rules/meter.h"
#include "session/policy_rules.h"
#include "worker/mailbox.h"

#define BURST_S 0.010 // of the rig
#define OFFERED 1.25  // times the rate
#define PACKETS_MAX                                                                                \
	1000000u // that pass in one row: a second that is held to 1 % in each of its parts
#define PACKETS_MIN 400u
#define KBPS 1000ull
#define MBPS (1000 * KBPS)
#define GBPS (1000 * MBPS)

// --- packets offered -------------------------------------------------------------------------------------

// A stream of packets of one size, a number of them each time. Those of a session arrive by each worker in turn.
struct stream {
	struct rig *rig;
	const struct rig_session *session;
	bool up;
	struct rig_flow flow;
	unsigned bytes; // of the user packet
	uint8_t frame[RIG_FRAME_MAX];
	size_t frame_bytes;
	uint64_t passed; // packets that have left
	uint64_t sent;
};

static void stream_init(struct stream *s, struct rig *rig, const struct rig_session *session,
			bool up, bool v6, uint16_t port, unsigned bytes)
{
	*s = (struct stream){
		.rig = rig,
		.session = session,
		.up = up,
		.bytes = bytes,
		.flow = {.proto = IPPROTO_UDP,
			 .ue_port = 1,
			 .dn_port = port,
			 .ttl = 64,
			 .v6 = v6,
			 .qfi = 1,
			 .payload = (uint16_t)(bytes - UDP_BYTES - (v6 ? IP6_BYTES : IP4_BYTES))},
	};
	s->frame_bytes = chain_frame(rig, session, up, &s->flow, s->frame);
}

static unsigned left_of(struct rig *rig, unsigned iface)
{
	struct rte_mbuf *mbufs[64];
	unsigned n, sum = 0;

	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		while ((n = rte_ring_sc_dequeue_burst(rig->tx[iface][i], (void **)mbufs,
						      RTE_DIM(mbufs), NULL)) > 0) {
			rte_pktmbuf_free_bulk(mbufs, n);
			rig->received += n;
			sum += n;
		}
	return sum;
}

// Sends n packets now, and counts those that pass.
static void stream_send(struct stream *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		rig_send(s->rig, s->up ? RIG_N3 : RIG_N6,
			 (unsigned)(s->sent++ % s->rig->conf.n_workers), s->frame, s->frame_bytes);
	while (rig_turn(s->rig) > 0)
		s->passed += left_of(s->rig, s->up ? RIG_N6 : RIG_N3);
	s->passed += left_of(s->rig, s->up ? RIG_N6 : RIG_N3);
}

static uint64_t passed_bytes(const struct stream *s)
{
	return s->passed * s->bytes;
}

// Offers the streams alternately, `offered_bps` together, for so long.
static void streams_offer(struct stream *streams, unsigned n, double offered_bps, double seconds)
{
	double packet_ns = streams[0].bytes * 8e9 / offered_bps;
	// As many at a time as come in a hundredth of the burst, so that the bucket never runs over.
	double many = BURST_S * 1e9 / 100 / packet_ns;
	unsigned batch = many > 32 ? 32 : many < 1 ? 1 : (unsigned)many;
	double spent_ns = 0;
	uint64_t warped_ns = 0;

	for (unsigned i = 0; spent_ns < seconds * 1e9; i++) {
		stream_send(&streams[i % n], batch);
		spent_ns += batch * packet_ns;
		clock_warp_ns((int64_t)((uint64_t)spent_ns - warped_ns));
		warped_ns = (uint64_t)spent_ns;
	}
}

// --- rules -----------------------------------------------------------------------------------------------

#define ABSENT UINT64_MAX // no MBR

static void qer_rate(struct rules *rules, uint32_t id, uint64_t up_bps, uint64_t down_bps)
{
	struct qer_rule *qer = rules_qer_lookup(rules, id);

	if (!qer)
		qer = rules_qer_add(rules, id);
	qer->has_mbr = up_bps != ABSENT;
	qer->mbr_up_bps = up_bps;
	qer->mbr_down_bps = down_bps;
}

// QER id on all PDRs, too.
static void qer_on_all(struct rules *rules, uint32_t id, uint64_t bps)
{
	qer_rate(rules, id, bps, bps);
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		rules->pdrs[i].qers[rules->pdrs[i].n_qers++] = id;
}

static struct rig *rate_rig(unsigned n_workers, const struct rules *rules, struct rig_session *s)
{
	struct rig *rig = chain_rig(n_workers);

	clock_stop();
	rig_session_add(rig, 0, rules, s);
	rig_resolve(rig);
	left_of(rig, RIG_N3);
	left_of(rig, RIG_N6);
	return rig;
}

static void rate_end(struct rig *rig, struct rig_session *s)
{
	rig_session_del(rig, s);
	clock_start();
	rig_end(rig);
}

// --- one QER's rate --------------------------------------------------------------------------------------

struct row {
	uint64_t bps;
	unsigned bytes;
	bool up, v6;
	unsigned workers;
	unsigned
		more; // further QERs on the PDR, which are no limit: beyond one they push it out of the line
};

static const struct row rows[] = {
	{100 * KBPS, 64, true, false, 1, 0},   {100 * KBPS, 64, false, true, 2, 0},
	{100 * KBPS, 512, true, true, 2, 0},   {100 * KBPS, 512, false, false, 1, 2},
	{100 * KBPS, 1400, true, false, 1, 1}, {100 * KBPS, 1400, false, true, 1, 0},
	{2 * MBPS, 64, false, false, 1, 0},    {2 * MBPS, 512, true, true, 1, 3},
	{2 * MBPS, 1400, false, true, 2, 0},   {50 * MBPS, 64, true, true, 2, 1},
	{50 * MBPS, 512, false, false, 2, 0},  {50 * MBPS, 1400, true, false, 1, 0},
	{50 * MBPS, 1400, false, false, 1, 0}, {GBPS, 64, false, true, 1, 0},
	{GBPS, 64, true, false, 2, 2},         {GBPS, 512, true, false, 1, 0},
	{GBPS, 512, false, false, 2, 3},       {GBPS, 1400, false, true, 1, 1},
	{10 * GBPS, 64, true, false, 1, 0},    {10 * GBPS, 64, false, true, 2, 1},
	{10 * GBPS, 512, false, false, 1, 3},  {10 * GBPS, 512, true, true, 2, 0},
	{10 * GBPS, 1400, true, false, 2, 0},  {10 * GBPS, 1400, false, true, 1, 2},
};

// A second, or less where that many packets are enough, or more where it takes so long for a few.
static double row_seconds(const struct row *r)
{
	double packets = (double)r->bps / 8 / r->bytes; // a second

	if (packets > PACKETS_MAX)
		return PACKETS_MAX / packets;
	return packets < PACKETS_MIN ? PACKETS_MIN / packets : 1;
}

// QERs 3 and on stand before 1 and 2 at their PDRs, and take the places of the line if they come first.
static struct rules *row_rules(const struct row *r)
{
	struct rules *rules = rig_rules_new(0);

	qer_rate(rules, 1, 20 * GBPS, 20 * GBPS);
	qer_rate(rules, 2, 20 * GBPS, 20 * GBPS);
	for (unsigned i = 0; i < r->more; i++)
		qer_on_all(rules, 3 + i, (21 + i) * GBPS);
	// The last one is the limit; the other direction's rate is another.
	qer_rate(rules, r->more ? 2 + r->more : 2, r->up ? r->bps : 77 * KBPS,
		 r->up ? 77 * KBPS : r->bps);
	return rules;
}

// The rates of a row, beginning with a bucket that is full: the burst, then the rate alone.
static void row_check(const struct row *r)
{
	struct rules *rules = row_rules(r);
	double burst = (double)r->bps / 8 * BURST_S, seconds = row_seconds(r), passed;
	double expected = (double)r->bps / 8 * seconds;
	struct rig_session s;
	struct rig *rig = rate_rig(r->workers, rules, &s);
	struct stream stream;
	uint64_t before;

	stream_init(&stream, rig, &s, r->up, r->v6, 5000, r->bytes);
	while (rig_drops(rig, DROP_rate_exceeded) == 0)
		stream_send(&stream, 1);
	passed = (double)passed_bytes(&stream);
	burst = burst < METER_LEAST_BYTES ? METER_LEAST_BYTES : burst;
	CU_ASSERT_TRUE(passed > burst && passed <= burst * 1.0001 + r->bytes);
	before = stream.passed;
	streams_offer(&stream, 1, OFFERED * (double)r->bps, seconds);
	passed = (double)((stream.passed - before) * r->bytes);
	if (passed < expected * 0.99 || passed > expected * 1.01) {
		fprintf(stderr, "%.0f of %.0f bytes a row of %u at %llu b/s\n", passed, expected,
			r->bytes, (unsigned long long)r->bps);
		CU_FAIL("not the rate");
	}
	CU_ASSERT_EQUAL(stream.sent - stream.passed, rig_drops(rig, DROP_rate_exceeded));
	rules_free(rules);
	rate_end(rig, &s);
}

static void rates(void)
{
	for (unsigned i = 0; i < RTE_DIM(rows); i++)
		row_check(&rows[i]);
}

// --- several ---------------------------------------------------------------------------------------------

static bool near(double is, double should)
{
	return is >= should * 0.99 && is <= should * 1.01;
}

// A session's rate for all its PDRs, and a flow's own on one of them: the sum is held, and so is the flow.
static void shared(void)
{
	for (unsigned workers = 1; workers <= 2; workers++)
		for (unsigned up = 0; up < 2; up++) {
			struct rules *rules = rig_rules_new(0);
			struct rig_session s;
			struct stream streams[2];
			struct rig *rig;
			uint64_t before[2];

			qer_rate(rules, 2, 10 * MBPS, 10 * MBPS); // of the filter's PDRs
			qer_on_all(rules, 3, 40 * MBPS);
			rig = rate_rig(workers, rules, &s);
			stream_init(&streams[0], rig, &s, up, false, 5000, 1000);
			stream_init(&streams[1], rig, &s, up, true, 53, 1000);
			streams_offer(streams, 2, 200 * MBPS, 0.1); // uses up the bursts
			for (unsigned i = 0; i < 2; i++)
				before[i] = streams[i].passed;
			streams_offer(streams, 2, 200 * MBPS, 1);
			for (unsigned i = 0; i < 2; i++)
				streams[i].passed -= before[i];
			CU_ASSERT_TRUE(passed_bytes(&streams[0]) <= 1.01 * 10 * MBPS / 8);
			CU_ASSERT_TRUE(passed_bytes(&streams[0]) > 0);
			CU_ASSERT_TRUE(near(
				(double)(passed_bytes(&streams[0]) + passed_bytes(&streams[1])),
				40 * MBPS / 8));
			rules_free(rules);
			rate_end(rig, &s);
		}
}

// What one QER stops does not use up another's rate: the flow stands still, and the rest has all of it.
static void not_charged(void)
{
	struct rules *rules = rig_rules_new(0);
	struct rig_session s;
	struct stream streams[2];
	struct rig *rig;

	qer_rate(rules, 2, 1 * KBPS, 1 * KBPS);
	qer_on_all(rules, 3, 10 * MBPS);
	rig = rate_rig(1, rules, &s);
	stream_init(&streams[0], rig, &s, false, false, 5000, 1000);
	stream_init(&streams[1], rig, &s, false, false, 53, 1000);
	// The AMBR lets 5 Mb/s of the second stream pass whole, whatever the first one tries.
	streams_offer(streams, 2, 10 * MBPS, 1);
	CU_ASSERT_EQUAL(streams[0].passed, 1 + METER_LEAST_BYTES / 1000);
	CU_ASSERT_EQUAL(streams[1].passed, streams[1].sent);
	rules_free(rules);
	rate_end(rig, &s);
}

// --- another rate ----------------------------------------------------------------------------------------

static void rate_is_set(struct mail *mail, void *ctx)
{
	CU_ASSERT_EQUAL(mail->result, 0);
	policy_free(mail->session.policy);
	free(mail);
}

static void rate_set(struct rig *rig, const struct rig_session *s, struct rules *rules,
		     uint64_t bps)
{
	struct mail *mail = mail_new(MAIL_POLICY_SET, NULL, NULL);

	qer_rate(rules, 2, bps, bps);
	rules_places_assign(rules);
	rules_settled(rules);
	if (!mail || policy_of_rules(rules, &mail->session.policy) != 0)
		rig_die("no memory for meters");
	mail->session.policy_new = true;
	mail->session.image.slot = s->slot.index;
	mail->session.image.version = s->slot.version;
	mail->done = rate_is_set;
	mail_post(rig->control.workers[s->slot.owner], mail);
	rig_settle(rig);
}

// A rate that becomes another is the other one at once, though the bucket was empty: a debt of seconds at the
// low rate is none to wait for at the high one, nor the other way round.
static void updated(void)
{
	static const uint64_t bps[] = {100 * KBPS, 50 * MBPS, 1 * GBPS, 2 * MBPS, 0, 10 * MBPS};
	struct rules *rules = rig_rules_new(0);
	struct rig_session s;
	struct stream stream;
	struct rig *rig;

	qer_rate(rules, 2, 20 * KBPS, 20 * KBPS);
	rig = rate_rig(1, rules, &s);
	stream_init(&stream, rig, &s, true, false, 5000, 500);
	streams_offer(&stream, 1, 100 * KBPS, 1);
	for (unsigned i = 0; i < RTE_DIM(bps); i++) {
		double seconds = bps[i] < MBPS ? 20 : 1;
		uint64_t before = stream.passed;

		rate_set(rig, &s, rules, bps[i]);
		if (bps[i] == 0)
			continue; // that is compiled, not metered
		streams_offer(&stream, 1, OFFERED * (double)bps[i], seconds);
		before = stream.passed - before;
		CU_ASSERT_TRUE(near((double)before * 500, (double)bps[i] / 8 * seconds));
	}
	rules_free(rules);
	rate_end(rig, &s);
}

// --- rates that are none ---------------------------------------------------------------------------------

static void extremes(void)
{
	static const struct {
		uint64_t up_bps, down_bps;
		bool up_passes, down_passes;
	} mbrs[] = {
		{ABSENT, ABSENT, true, true},
		{0, 0, false, false},
		{0, 10 * GBPS, false, true},
		{10 * GBPS, 0, true, false},
		{((1ull << 40) - 1) * KBPS, ((1ull << 40) - 1) * KBPS, true, true},
	};

	for (unsigned i = 0; i < RTE_DIM(mbrs); i++)
		for (unsigned up = 0; up < 2; up++) {
			struct rules *rules = rig_rules_new(0);
			bool passes = up ? mbrs[i].up_passes : mbrs[i].down_passes;
			struct rig_session s;
			struct stream stream;
			struct rig *rig;

			qer_rate(rules, 2, mbrs[i].up_bps, mbrs[i].down_bps);
			rig = rate_rig(1, rules, &s);
			stream_init(&stream, rig, &s, up, false, 5000, 1400);
			streams_offer(&stream, 1, 9.9 * GBPS, 0.02);
			CU_ASSERT_EQUAL(stream.passed, passes ? stream.sent : 0);
			CU_ASSERT_EQUAL(rig_drops(rig, DROP_gate_closed), passes ? 0 : stream.sent);
			rules_free(rules);
			rate_end(rig, &s);
		}
}

static CU_TestInfo tests[] = {
	{"one rate, within 1 %", rates},
	{"a session's rate and a flow's", shared},
	{"what is stopped uses up nothing", not_charged},
	{"a rate becomes another", updated},
	{"no rate, none at all, the largest", extremes},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("rates")
