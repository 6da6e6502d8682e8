// Ends of flows through the whole data path: by command, in a hurry, one after the other in one place, and many at once.
//
// The test's thread, with warped time. How each class ends in time is test_flows.c's.

#include <stdlib.h>

#include <rte_cycles.h>

#include "base/clock.h"
#include "chain.h"
#include "pipeline/pipeline.h"
#include "session/tcp_conn.h"
#include "worker/flows.h"
#include "worker/mailbox.h"

#define TURN_US_MOST 100
#ifdef __SANITIZE_ADDRESS__
#define SLOWER 20 // everything is
#else
#define SLOWER 1
#endif

struct bed {
	struct rig *rig;
	struct rig_session session;
	struct worker *w;
};

static void bed_open(struct bed *b, struct rig_conf conf)
{
	conf.n_workers = conf.n_workers ? conf.n_workers : 1;
	conf.n_slots = 4;
	conf.n_tunnels = 4;
	b->rig = chain_rig_stopped(&conf);
	chain_session_add(b->rig, 0, NULL, &b->session);
	b->w = b->rig->control.workers[b->session.slot.owner];
}

static void bed_close(struct bed *b)
{
	rig_session_del(b->rig, &b->session);
	rig_end(b->rig);
}

static struct rig_flow flow_of(uint8_t proto, uint32_t i, bool v6)
{
	return (struct rig_flow){.proto = proto,
				 .ue_port = (uint16_t)(1 + i % 60000),
				 .dn_port = (uint16_t)(1 + i / 60000),
				 .ttl = 64,
				 .payload = 20,
				 .qfi = 1,
				 .v6 = v6};
}

static unsigned sent(struct bed *b, bool up, const struct rig_flow *flow)
{
	return chain_forwarded(b->rig, &b->session, up, flow, 0);
}

// The id of the session's flow that was made last.
static uint64_t id_of(const struct bed *b)
{
	uint32_t number = b->w->flows.sessions[b->session.slot.index].first;

	return number ? flow_id(&b->w->flows.table, b->w->id, number) : 0;
}

// --- by command ------------------------------------------------------------------------------------------

// One that has been armed anew, past a turn of the wheel; again, when it is gone; and another that has its place.
static void kill_row(bool v6, unsigned workers)
{
	struct rig_flow flow = flow_of(IPPROTO_UDP, 0, v6);
	struct bed b;
	uint64_t id, next;

	bed_open(&b,
		 (struct rig_conf){.n_workers = workers,
				   .services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle)});
	sent(&b, true, &flow);
	sent(&b, false, &flow);
	id = id_of(&b);
	for (unsigned i = 0; i < 4; i++) {
		chain_warp_ms(b.rig, RIG_ESTABLISHED_MS - 1000);
		CU_ASSERT_EQUAL(sent(&b, i % 2, &flow), 1);
	}
	CU_ASSERT_EQUAL(id_of(&b), id);
	CU_ASSERT_EQUAL(chain_flow_clear(b.rig, id), 0);
	CU_ASSERT_EQUAL(b.w->flows.table.used, 0);
	CU_ASSERT_EQUAL(chain_flow_clear(b.rig, id), -ENOENT);
	CU_ASSERT_EQUAL(sent(&b, true, &flow), 1);
	next = id_of(&b);
	CU_ASSERT_EQUAL(flow_id_number(next), flow_id_number(id));
	CU_ASSERT_EQUAL(chain_flow_clear(b.rig, id), -ENOENT); // its place is another's now
	CU_ASSERT_EQUAL(id_of(&b), next);
	chain_warp_ms(b.rig, RIG_EMBRYONIC_MS + 10); // and ends at that one's time, once
	chain_warp_ms(b.rig, 2 * RIG_ESTABLISHED_MS);
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_expired), 1);
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_cleared), 1);
	bed_close(&b);
}

static void test_kill(void)
{
	for (unsigned i = 0; i < 4; i++)
		kill_row(i % 2, 1 + i / 2);
}

// --- in a hurry ------------------------------------------------------------------------------------------

// A service that gives its packets' flows this time.
static uint32_t hurry_ticks;

static void hurry_run(struct worker *w, struct pkt **pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		flow_time_set(w, pkts[i]->flow, hurry_ticks);
}

static const struct service service_hurry = {
	.name = "hurry",
	.bit = SERVICE_BIT_ANY,
	.run = hurry_run,
	.after = SERVICES("flow"),
	.before = SERVICES("pdr"),
	.for_flows = true,
	.help = "for this test",
};

static void warp_ticks(struct bed *b, uint32_t ticks)
{
	clock_warp_ns((int64_t)(ticks * FLOW_TICK_NS));
	rig_settle(b->rig);
}

// Deadlines move on, and are brought forward: from beyond a turn of the wheel to soon, and to now.
static void test_hurry(void)
{
	static const struct {
		uint32_t ticks[3]; // said by one packet after the other
		unsigned n;
	} rows[] = {
		{{1000}, 1},          {{1000, 2000}, 2},   {{2000, 1000}, 2},
		{{60000, 300}, 2},    {{60000, 20000}, 2}, {{300, 60000, 5}, 3},
		{{5, 300, 60000}, 3}, {{60000, 0}, 2},     {{0}, 1},
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct rig_flow flow = flow_of(IPPROTO_UDP, 0, i % 2);
		uint32_t lives = rows[i].ticks[rows[i].n - 1];
		struct bed b;

		hurry_ticks = 0;
		bed_open(&b, (struct rig_conf){.services = SERVICE_MASK(flow),
					       .extra = &service_hurry});
		rig_session_del(b.rig, &b.session); // its chain is to have a bit that is known now
		b.rig->conf.services |= rig_service_mask(&service_hurry);
		rig_session_add(b.rig, 0, NULL, &b.session);
		rig_resolve(b.rig);
		for (unsigned k = 0; k < rows[i].n; k++) {
			uint8_t frame[RIG_FRAME_MAX];

			hurry_ticks = rows[i].ticks[k];
			rig_send(b.rig, RIG_N3, 0, frame,
				 rig_frame_up(b.rig, &b.session, &flow, frame));
			rig_turn(b.rig);
			CU_ASSERT_EQUAL(b.w->flows.table.used, 1);
		}
		if (lives > 0) {
			warp_ticks(&b, lives - 1);
			CU_ASSERT_EQUAL(b.w->flows.table.used, 1);
		}
		warp_ticks(&b, lives > 0 ? 1 : 0);
		CU_ASSERT_EQUAL(b.w->flows.table.used, 0);
		CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_made), 1);
		CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_expired), 1);
		chain_drain(b.rig, RIG_N6);
		bed_close(&b);
	}
}

// --- short times -----------------------------------------------------------------------------------------

// Times of a few milliseconds: a flow never ends before its time, ends within 10 ms of it, and each packet of whichever
// side gives it all of it once more.
static void short_row(uint32_t ms, bool v6, bool up)
{
	struct rig_conf conf = {
		.services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle),
		.flow_profile = {.timeout_ms = {[FLOW_EMBRYONIC] = ms, [FLOW_ESTABLISHED] = ms}}};
	struct rig_flow flow = flow_of(IPPROTO_UDP, 0, v6);
	struct bed b;

	bed_open(&b, conf);
	for (unsigned i = 0; i < 50; i++) {
		CU_ASSERT_EQUAL(sent(&b, i % 3 ? up : !up, &flow), 1);
		clock_warp_ns(
			(int64_t)(ms * NS_PER_MS - 1 - i * 1000)); // wherever in a tick it begins
		rig_settle(b.rig);
		CU_ASSERT_EQUAL(b.w->flows.table.used, 1);
	}
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_made), 1);
	chain_warp_ms(b.rig, 10);
	CU_ASSERT_EQUAL(b.w->flows.table.used, 0);
	bed_close(&b);
}

static void test_short(void)
{
	static const uint32_t times[] = {1, 4, 5, 10, 20, 50};

	for (unsigned i = 0; i < RTE_DIM(times); i++)
		for (unsigned k = 0; k < 4; k++)
			short_row(times[i], k % 2, k / 2);
}

// --- one place -------------------------------------------------------------------------------------------

#define REUSES ((1u << 17) + 10)

// One after the other in the only place that there is, past every width that a version could have been cut to: each is
// a connection of its own.
static void test_reuse(void)
{
	struct rig_conf conf = {.services = SERVICE_MASK(flow) | SERVICE_MASK(tcp_check),
				.flows = 1};
	unsigned wrong = 0;
	uint64_t last = 0;
	struct bed b;

	bed_open(&b, conf);
	for (uint32_t i = 0; i < REUSES; i++) {
		struct rig_flow flow = flow_of(IPPROTO_TCP, i, i % 2);
		uint8_t frame[RIG_FRAME_MAX];
		size_t bytes = rig_frame_up(b.rig, &b.session, &flow, frame);
		const struct tcp_conn *conn;
		uint64_t id;

		frame[bytes - flow.payload - TCP_BYTES + 13] = TCP_SYN;
		rig_send(b.rig, RIG_N3, 0, frame, bytes);
		rig_turn(b.rig);
		id = id_of(&b);
		wrong += id == last || flow_id_number(id) != 1 ||
			 flow_id_lookup(&b.w->flows.table, last) != 0;
		conn = flow_record(&b.w->flows, SERVICE_BIT_tcp_check, 1, sizeof(*conn));
		wrong += conn->state != CONN_SYN_SENT;
		last = id;
		if (i % 2)
			chain_flow_clear(b.rig, id);
		else
			chain_warp_ms(b.rig, RIG_EMBRYONIC_MS + 10);
		wrong += b.w->flows.table.used != 0;
		chain_drain(b.rig, RIG_N6);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_made), REUSES);
	bed_close(&b);
}

// --- many at once ----------------------------------------------------------------------------------------

#define MANY 20000u

// As many as there are become due in one tick: each turn ends so many and no more, and takes no longer than 100 us.
// (The shortest of the full turns says what the code takes; longer ones were interrupted.)
static void test_many(void)
{
	struct rig_conf conf = {.services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle),
				.flows = MANY,
				.flows_per_session = MANY};
	uint64_t shortest = UINT64_MAX;
	unsigned turns = 0;
	struct bed b;

	bed_open(&b, conf);
	for (uint32_t i = 0; i < MANY; i++) {
		struct rig_flow flow = flow_of(IPPROTO_UDP, i, i % 2);

		CU_ASSERT_EQUAL(sent(&b, i % 3 == 0, &flow), 1);
	}
	CU_ASSERT_EQUAL(b.w->flows.table.used, MANY);
	clock_warp_ns((RIG_EMBRYONIC_MS + 10) * (int64_t)NS_PER_MS);
	while (b.w->flows.table.used > 0) {
		uint32_t before = b.w->flows.table.used;
		uint64_t start = rte_rdtsc(), *longest = &b.w->stats.counter[COUNTER_longest_turn];

		b.w->turn_start = start;
		*longest = 0;
		pipeline_turn(b.w);
		start = rte_rdtsc() - start;
		CU_ASSERT_TRUE(*longest > 0 && *longest <= start); // it is measured
		CU_ASSERT_EQUAL(before - b.w->flows.table.used,
				RTE_MIN(before, (uint32_t)FLOW_ENDS));
		if (before >= FLOW_ENDS)
			shortest = RTE_MIN(shortest, start);
		turns++;
	}
	CU_ASSERT_EQUAL(turns, (MANY + FLOW_ENDS - 1) / FLOW_ENDS);
	CU_ASSERT_TRUE(shortest * 1000000 / rte_get_tsc_hz() <= SLOWER * TURN_US_MOST);
	bed_close(&b);
}

// --- left out --------------------------------------------------------------------------------------------

// What no network instance asks for has no memory; what one does is as large as the pool.
static void test_left_out(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct rig_conf conf = {.services = SERVICE_MASK(flow) |
						    SERVICE_MASK(l4_lifecycle) |
						    (i ? SERVICE_MASK(tcp_check) : 0)};
		struct bed b;

		bed_open(&b, conf);
		CU_ASSERT_EQUAL(b.w->flows.stated, i ? SERVICE_MASK(tcp_check) : 0);
		CU_ASSERT_EQUAL(b.w->flows.states[SERVICE_BIT_tcp_check].records != NULL, i);
		bed_close(&b);
	}
}

static CU_TestInfo tests[] = {
	{"by command", test_kill},   {"in a hurry", test_hurry},
	{"short times", test_short}, {"one place, 2^17 times", test_reuse},
	{"many at once", test_many}, {"services that are left out", test_left_out},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("ends of flows")
