// The fused chains and the bitmap loop do the same to every packet.
//
// The same random packets of random sessions go through two rigs, one after the other: in the second each chain
// has one more service, which does nothing, so that no group is ordinary and all go by the bitmap loop. What
// leaves, what is dropped and what is counted must be equal. A turn that is a sample of where the time goes also takes
// the bitmap loop, and no other way than that. The same is so with flows for all sessions; and by these nothing changes
// but the order of packets.

#include <stdlib.h>

#include "base/clock.h"
#include "chain.h"
#include "packet/be.h"
#include "packet/cksum.h"
#include "packet/ip.h"
#include "pipeline/pipeline.h"

#define SESSIONS (3 * RIG_VARIANTS)
#define PACKETS 100000
#define BATCH 64      // packets of one turn and worker at most
#define PLAIN_OF_10 7 // of 10 packets are of ordinary sessions, so that groups are fused
#define FLOWS (1u << 17)

// --- a service of no effect ------------------------------------------------------------------------------

static uint64_t visits;

static void nothing_run(struct worker *w, struct pkt **pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		visits += pkts[i]->pdr != NULL; // it stands after pdr
}

static const struct service nothing = {
	.name = "nothing",
	.bit = SERVICE_BIT_ANY,
	.run = nothing_run,
	.after = SERVICES("pdr"),
	.before = SERVICES("far"),
	.help = "for this test",
};

static uint64_t chain_with_nothing(void *ctx, bool up, unsigned needs)
{
	return service_chain(ctx, up, needs) | rig_service_mask(&nothing);
}

// --- random packets --------------------------------------------------------------------------------------

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) * n >> 32);
}

static struct rig_flow draw_flow(void)
{
	static const uint16_t ports[] = {5000, 5000, 53, 443, 4999, 5001};
	static const uint8_t ttls[] = {64, 64, 64, 64, 2, 1, 0, 255};
	static const uint16_t payloads[] = {0, 1, 9, 40, 100, 511, 1300, 1428, 1429, 1472, 1500};

	return (struct rig_flow){
		.proto = draw(3) ? IPPROTO_UDP : IPPROTO_TCP,
		.ue_port = (uint16_t)draw(65536),
		.dn_port = ports[draw(RTE_DIM(ports))],
		.ttl = ttls[draw(RTE_DIM(ttls))],
		.payload = payloads[draw(RTE_DIM(payloads))],
		.qfi = draw(8) ? (uint8_t)draw(64) : PKT_QFI_NONE,
		.tos = draw(4) ? 0 : (uint8_t)draw(256),
		.v6 = draw(2),
	};
}

// Another source than the UE's in an uplink frame, now and then.
static void spoof(const struct rig *rig, uint8_t *frame, const struct rig_flow *flow)
{
	uint8_t *user = frame + rig_user_at(rig, flow->qfi);
	struct ip4_head *ip4 = (struct ip4_head *)user;

	if (flow->v6) {
		user[8 + draw(16)] ^= (uint8_t)(1 + draw(255));
		return;
	}
	ip4->src ^= rte_cpu_to_be_32(1u << draw(32));
	ip4->cksum = 0;
	ip4->cksum = ip4_cksum(ip4);
}

static const struct rig_session *draw_session(const struct rig_session *sessions)
{
	unsigned i = draw(SESSIONS);

	if (draw(10) < PLAIN_OF_10)
		i -= i % RIG_VARIANTS; // the ordinary one of its three
	return &sessions[i];
}

static void send_one(struct rig *rig, const struct rig_session *sessions)
{
	struct rig_session s = *draw_session(sessions);
	struct rig_flow flow = draw_flow();
	unsigned via = draw(rig->conf.n_workers);
	bool up = draw(2);
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes;

	if (s.n_tunnels && draw(2))
		s.teid = s.tunnels[0].teid;
	bytes = chain_frame(rig, &s, up, &flow, frame);
	if (up && draw(16) == 0)
		bytes = rig_frame_solicit(rig, &s, draw(2) ? "fe80::5" : "::", frame);
	else if (up && draw(16) == 0)
		spoof(rig, frame, &flow);
	if (!up && draw(64) == 0)
		frame[14 + (flow.v6 ? 24 : 16)] ^= 1; // to nobody, or with a wrong checksum
	rig_send(rig, up ? RIG_N3 : RIG_N6, via, frame, bytes);
}

// --- two runs --------------------------------------------------------------------------------------------

struct outcome {
	unsigned n;         // frames that left
	uint64_t *digests;  // of each, in their order, with interface and length
	struct stats stats; // of all threads, but the first's samples
	struct session_counts ended;
	struct rig_usage usage;
};

static uint64_t digest(unsigned iface, const uint8_t *frame, size_t bytes)
{
	uint64_t h = 1469598103934665603ull ^ iface ^ bytes << 8;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ frame[i]) * 1099511628211ull;
	return h;
}

static void collect(struct rig *rig, struct outcome *outcome)
{
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes;

	for (unsigned iface = 0; iface < RIG_IFACES; iface++)
		while ((bytes = rig_recv(rig, iface, frame)) > 0)
			outcome->digests[outcome->n++] = digest(iface, frame, bytes);
}

enum way {
	WAY_FUSED,
	WAY_BITMAP,
	WAY_FLOWS_FUSED,
	WAY_FLOWS_BITMAP,
};

static void run(unsigned n_workers, bool over6, enum way way, uint32_t sample_every,
		struct outcome *ret)
{
	bool bitmap = way == WAY_BITMAP || way == WAY_FLOWS_BITMAP;
	bool flows = way == WAY_FLOWS_FUSED || way == WAY_FLOWS_BITMAP;
	struct rig_conf conf = {
		.n_workers = n_workers,
		.n_slots = SESSIONS,
		.n_tunnels = SESSIONS,
		.v6 = over6,
		.extra = bitmap ? &nothing : NULL,
		.chain = bitmap ? chain_with_nothing : NULL,
		.sample_every = sample_every,
		.services = flows ? SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle) : 0,
		.flows = FLOWS,
		.flows_per_session = FLOWS,
	};
	struct rig *rig = rig_new(&conf);
	struct rig_session sessions[SESSIONS];

	*ret = (struct outcome){.digests = malloc((PACKETS + 1000) * sizeof(uint64_t))};
	state = 1;
	clock_stop(); // rates let the same pass in both runs
	rig_resolve(rig);
	for (unsigned i = 0; i < SESSIONS; i++) {
		struct rules *rules = rig_variant_new(i % RIG_VARIANTS, i);

		rig_session_add(rig, i, rules, &sessions[i]);
		rules_free(rules);
	}
	rig_resolve(rig);
	for (unsigned sent = 0; sent < PACKETS;) {
		for (unsigned n = draw(n_workers * BATCH); n > 0; n--, sent++)
			send_one(rig, sessions);
		clock_warp_ns((int64_t)(draw(20) * NS_PER_MS));
		rig_settle(rig);
		collect(rig, ret);
	}
	ret->stats = rig->control.workers[0]->stats;
	for (unsigned i = 1; i < n_workers; i++)
		stats_add(&ret->stats, &rig->control.workers[i]->stats);
	for (unsigned i = 0; i < SESSIONS; i++)
		rig_session_del(rig, &sessions[i]);
	ret->ended = rig->ended;
	ret->usage = rig->usage;
	rig_end(rig);
}

static bool may_differ(enum counter counter)
{
	return counter == COUNTER_fused || counter == COUNTER_dispatched ||
	       counter == COUNTER_turns || counter == COUNTER_idle_turns ||
	       counter == COUNTER_busy_cycles || counter == COUNTER_idle_cycles ||
	       counter == COUNTER_longest_turn || counter == COUNTER_mails ||
	       counter == COUNTER_flows_made || counter == COUNTER_flows_expired ||
	       counter == COUNTER_flows_cleared;
}

static int digests_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void forget_order(struct outcome *outcome)
{
	qsort(outcome->digests, outcome->n, sizeof(uint64_t), digests_cmp);
}

static void same(const struct outcome *a, const struct outcome *b)
{
	unsigned n = 0;

	CU_ASSERT_EQUAL(a->n, b->n);
	CU_ASSERT_TRUE(a->n > PACKETS / 4);
	while (n < a->n && n < b->n && a->digests[n] == b->digests[n])
		n++;
	CU_ASSERT_EQUAL(n, a->n);
	for (unsigned i = 0; i < COUNTERS; i++)
		if (!may_differ(i) && a->stats.counter[i] != b->stats.counter[i])
			CU_FAIL("a counter differs");
	CU_ASSERT_EQUAL(memcmp(a->stats.drop, b->stats.drop, sizeof(a->stats.drop)), 0);
	CU_ASSERT_EQUAL(memcmp(&a->ended, &b->ended, sizeof(a->ended)), 0);
	CU_ASSERT_EQUAL(memcmp(&a->usage, &b->usage, sizeof(a->usage)), 0);
}

// With flows, both ways; then against the packets without, whatever their order.
static void compare_flows(unsigned n_workers, bool over6, struct outcome *plain)
{
	struct outcome fused, bitmap;

	run(n_workers, over6, WAY_FLOWS_FUSED, 0, &fused);
	run(n_workers, over6, WAY_FLOWS_BITMAP, 0, &bitmap);
	CU_ASSERT_TRUE(fused.stats.counter[COUNTER_flows_made] > PACKETS / 4);
	CU_ASSERT_TRUE(bitmap.stats.counter[COUNTER_flows_made] > PACKETS / 4);
	CU_ASSERT_TRUE(fused.stats.counter[COUNTER_fused] > PACKETS / 100);
	CU_ASSERT_EQUAL(bitmap.stats.counter[COUNTER_fused], 0);
	same(&fused, &bitmap);
	forget_order(&fused);
	forget_order(plain);
	same(&fused, plain);
	free(fused.digests);
	free(bitmap.digests);
}

static void compare(unsigned n_workers, bool over6)
{
	static const enum drop among[] = {
		DROP_no_session, DROP_spoofed_source, DROP_no_pdr,      DROP_far_drop,
		DROP_far_buffer, DROP_far_none,       DROP_gate_closed, DROP_ttl_expired,
		DROP_too_big,    DROP_rate_exceeded,  DROP_quota_used,
	};
	struct outcome fused, bitmap;

	visits = 0;
	run(n_workers, over6, WAY_FUSED, 0, &fused);
	CU_ASSERT_EQUAL(visits, 0);
	run(n_workers, over6, WAY_BITMAP, 0, &bitmap);
	CU_ASSERT_TRUE(visits > PACKETS / 2);
	CU_ASSERT_TRUE(fused.stats.counter[COUNTER_fused] > PACKETS / 100);
	CU_ASSERT_TRUE(fused.stats.counter[COUNTER_dispatched] > PACKETS / 100);
	CU_ASSERT_EQUAL(bitmap.stats.counter[COUNTER_fused], 0);
	same(&fused, &bitmap);
	CU_ASSERT_TRUE(fused.usage.thresholds > 0 && fused.usage.quotas > 0);
	for (unsigned i = 0; i < RTE_DIM(among); i++)
		CU_ASSERT_TRUE(fused.stats.drop[among[i]] > 0);
	compare_flows(n_workers, over6, &fused);
	free(fused.digests);
	free(bitmap.digests);
}

static void one_worker(void)
{
	compare(1, false);
	compare(1, true);
}

static void two_workers(void)
{
	compare(2, false);
	compare(2, true);
}

// Every third turn is a sample: the packets fare no other way, and the samples are part of the turns.
static void samples_of(enum way way)
{
	struct outcome plain, sampled;
	const struct stats *s = &sampled.stats;
	uint64_t cycles = 0;

	run(1, false, way, 0, &plain);
	run(1, false, way, 3, &sampled);
	if (way == WAY_FLOWS_FUSED) { // up and down meet at another time
		forget_order(&plain);
		forget_order(&sampled);
	}
	same(&plain, &sampled);
	CU_ASSERT_EQUAL(plain.stats.sampled_turns, 0);
	CU_ASSERT_EQUAL(s->sampled_turns,
			(s->counter[COUNTER_turns] - s->counter[COUNTER_idle_turns]) / 3);
	CU_ASSERT_TRUE(s->counter[COUNTER_fused] > 0 &&
		       s->counter[COUNTER_fused] < plain.stats.counter[COUNTER_fused]);
	CU_ASSERT_TRUE(s->sampled_packets > PACKETS / 4 && s->sampled_packets < PACKETS / 2);
	for (unsigned i = 0; i < STAGES; i++) {
		CU_ASSERT_TRUE(s->stage_cycles[i] > 0);
		cycles += s->stage_cycles[i];
	}
	for (unsigned bit = 0; bit < SERVICES_MAX; bit++) {
		CU_ASSERT_EQUAL(s->service_packets[bit] > 0, s->service_cycles[bit] > 0);
		CU_ASSERT_TRUE(s->service_packets[bit] <= s->sampled_packets);
		cycles += s->service_cycles[bit];
	}
	CU_ASSERT_TRUE(s->service_packets[SERVICE_BIT_output] > 0);
	CU_ASSERT_TRUE(cycles < s->counter[COUNTER_busy_cycles]);
	free(plain.digests);
	free(sampled.digests);
}

static void samples(void)
{
	samples_of(WAY_FUSED);
	samples_of(WAY_FLOWS_FUSED);
}

static CU_TestInfo tests[] = {
	{"one worker", one_worker},
	{"two workers", two_workers},
	{"samples", samples},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("fused")
