// From UE to UE within the UPF: by the rules of both sessions, one hop, whichever workers own them and whichever
// the packet comes in by.
//
// Frames are compared byte by byte with what the rules ask for. Session 0 sends but where a test says otherwise.

#include <stdio.h>

#include "base/clock.h"
#include "chain.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "pipeline/pipeline.h"

#define PAYLOAD 100
#define BEYOND 70000 // a session's number: its addresses are in no dense pool

static struct rig_flow flow_to(const struct rig_session *to, bool v6, char text[ADDR_STRLEN])
{
	struct addr dst = v6 ? to->ue_v6 : to->ue_v4;

	if (v6)
		dst.v6[15] = 1;
	return (struct rig_flow){.proto = IPPROTO_UDP,
				 .ue_port = 4000,
				 .dn_port = 5000,
				 .ttl = 64,
				 .payload = PAYLOAD,
				 .qfi = 1,
				 .v6 = v6,
				 .dn = addr_str(text, &dst)};
}

// Sends a packet of the UE to the other by worker `via`. Gives the user packet's bytes as they were sent.
static size_t send_to(struct rig *rig, const struct rig_session *from, const struct rig_session *to,
		      bool v6, unsigned via, uint8_t *ret_user)
{
	uint8_t frame[RIG_FRAME_MAX];
	char text[ADDR_STRLEN];
	struct rig_flow flow = flow_to(to, v6, text);
	size_t bytes = rig_frame_up(rig, from, &flow, frame);
	uint32_t at = rig_user_at(rig, flow.qfi);

	memcpy(ret_user, frame + at, bytes - at);
	rig_send(rig, RIG_N3, via, frame, bytes);
	return bytes - at;
}

// The next frame towards the gNB is this user packet after one hop, in the tunnel of `to`.
static void expect_delivered(struct rig *rig, const struct rig_session *to, bool v6, uint8_t *user,
			     size_t bytes)
{
	uint8_t out[RIG_FRAME_MAX];
	const uint8_t *gtpu = out + rig_gtpu_at(rig);

	CU_ASSERT_EQUAL_FATAL(rig_recv(rig, RIG_N3, out), rig_user_at(rig, 1) + bytes);
	if (v6)
		((struct ip6_head *)user)->hops--;
	else
		ip4_ttl_dec((struct ip4_head *)user);
	CU_ASSERT_EQUAL(memcmp(gtpu + 16, user, bytes), 0);
	CU_ASSERT_EQUAL(be32_get(gtpu + 4), to->gnb_teid);
	CU_ASSERT_EQUAL(gtpu[13], 0); // downlink PDU Session Information
	CU_ASSERT_EQUAL(gtpu[14], 1); // the source port is not 5000: of the second PDR
}

static void expect_nothing(struct rig *rig)
{
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 0);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);
}

static void both_ways(struct rig *rig, unsigned n_workers, struct rig_session *s, unsigned n)
{
	uint64_t sent = rig_count(rig, COUNTER_hairpin);
	uint8_t user[RIG_FRAME_MAX];

	for (unsigned from = 0; from < n; from++)
		for (unsigned to = 0; to < n; to++)
			for (unsigned k = 0; from != to && k < 2 * n_workers; k++, sent++) {
				size_t bytes = send_to(rig, &s[from], &s[to], k & 1, k / 2, user);

				rig_settle(rig);
				expect_delivered(rig, &s[to], k & 1, user, bytes);
				expect_nothing(rig);
			}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_hairpin), sent);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_up), sent);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_down), sent);
}

static void delivered(void)
{
	for (unsigned n_workers = 1; n_workers <= 3; n_workers++)
		for (unsigned over6 = 0; over6 < 2; over6++) {
			struct rig *rig = chain_rig_over(n_workers, over6);
			struct rig_session s[4];
			uint64_t each;

			for (unsigned i = 0; i < RTE_DIM(s); i++)
				rig_session_add(rig, i, NULL, &s[i]);
			rig_resolve(rig);
			both_ways(rig, n_workers, s, RTE_DIM(s));
			for (unsigned i = 0; i < RTE_DIM(s); i++)
				rig_session_del(rig, &s[i]);
			// Up of the one and down of the other, the same number for all.
			each = rig_count(rig, COUNTER_hairpin);
			CU_ASSERT_EQUAL(rig->ended.up_packets, each);
			CU_ASSERT_EQUAL(rig->ended.down_packets, each);
			CU_ASSERT_EQUAL(rig->ended.up_bytes, rig->ended.down_bytes);
			CU_ASSERT_EQUAL(
				rig->ended.up_bytes,
				each / 2 * (2 * (PAYLOAD + UDP_BYTES) + IP4_BYTES + IP6_BYTES));
			rig_end(rig);
		}
}

// Packets from UE to UE, from UEs to the network and to UEs in one turn: each ends where it should.
static void mixed_turn(void)
{
	enum { EACH = 20 };
	struct rig *rig = chain_rig(2);
	uint8_t frame[RIG_FRAME_MAX];
	char text[ADDR_STRLEN];
	struct rig_session s[2];
	struct rig_flow flow;

	for (unsigned i = 0; i < 2; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	rig_resolve(rig);
	for (unsigned i = 0; i < EACH; i++)
		for (unsigned k = 0; k < 2; k++) {
			flow = flow_to(&s[!k], i & 1, text);
			rig_send(rig, RIG_N3, i / 2 & 1, frame,
				 rig_frame_up(rig, &s[k], &flow, frame));
			flow.dn = NULL;
			rig_send(rig, RIG_N3, i / 2 & 1, frame,
				 rig_frame_up(rig, &s[k], &flow, frame));
			rig_send(rig, RIG_N6, i / 2 & 1, frame,
				 rig_frame_down(rig, &s[k], &flow, frame));
		}
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 4 * EACH);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 2 * EACH);
	for (unsigned i = 0; i < 2; i++)
		rig_session_del(rig, &s[i]);
	rig_end(rig);
}

// --- both sessions' rules --------------------------------------------------------------------------------

// What session 0 or session 1 has instead of the ordinary rules, and how many of a few packets arrive.
struct row {
	enum rig_variant from, to;
	unsigned arrive, counted_up;
	enum drop reason;
};

#define FEW 30

static const struct row rows[] = {
	{RIG_GATE_UP, RIG_ORDINARY, 0, 0, DROP_gate_closed},
	{RIG_GATE_DOWN, RIG_GATE_UP, FEW, FEW, DROP_gate_closed}, // of the other way: none
	{RIG_ORDINARY, RIG_GATE_DOWN, 0, FEW, DROP_gate_closed},
	{RIG_ORDINARY, RIG_FAR_DROP, 0, FEW, DROP_far_drop},
	{RIG_FAR_DROP, RIG_ORDINARY, 0, 0, DROP_far_drop},
	{RIG_ORDINARY, RIG_NO_PDR, 0, FEW, DROP_no_pdr},
	{RIG_PACKET_RATE, RIG_ORDINARY, 1, 1, DROP_rate_exceeded},
	{RIG_ORDINARY, RIG_PACKET_RATE, 1, FEW, DROP_rate_exceeded},
	{RIG_ORDINARY, RIG_RQI, FEW, FEW, DROP_NONE},
	{RIG_USAGES, RIG_USAGES, FEW, FEW, DROP_NONE},
};

static void row_check(const struct row *row, unsigned n_workers, bool v6)
{
	struct rig *rig = chain_rig(n_workers);
	struct rules *rules[2] = {rig_variant_new(row->from, 0), rig_variant_new(row->to, 1)};
	size_t bytes = 0;
	struct rig_session s[2];
	uint8_t user[RIG_FRAME_MAX];

	for (unsigned i = 0; i < 2; i++)
		rig_session_add(rig, i, rules[i], &s[i]);
	rig_resolve(rig);
	for (unsigned i = 0; i < FEW; i++)
		bytes = send_to(rig, &s[0], &s[1], v6, i % n_workers, user);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), row->arrive);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_up), row->counted_up);
	if (row->reason)
		CU_ASSERT_EQUAL(rig_drops(rig, row->reason), FEW - row->arrive);
	for (unsigned i = 0; i < 2; i++) {
		rig_session_del(rig, &s[i]);
		rules_free(rules[i]);
		CU_ASSERT_EQUAL(rig->ended.up_packets, row->counted_up);
		CU_ASSERT_EQUAL(rig->ended.down_packets, i ? row->arrive : 0);
	}
	if (row->from == RIG_USAGES) // three URRs each
		for (unsigned side = 0; side < SIDES; side++)
			CU_ASSERT_EQUAL(rig->usage.bytes[side], 3 * FEW * bytes);
	rig_end(rig);
}

static void rules_of_both(void)
{
	for (unsigned i = 0; i < RTE_DIM(rows); i++)
		for (unsigned n_workers = 1; n_workers <= 2; n_workers++)
			for (unsigned v6 = 0; v6 < 2; v6++)
				row_check(&rows[i], n_workers, v6);
}

// The other UE is idle: its SMF is told, and it gets what was held, in order and as it would have got it at once.
static void to_an_idle_ue(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++) {
		struct rig *rig = chain_rig(n_workers);
		struct rules *idle = rig_variant_new(RIG_ORDINARY, 1), *awake = rig_rules_new(1);
		uint8_t users[2][RIG_FRAME_MAX];
		struct rig_session s[2];
		size_t bytes[2];

		rules_far_lookup(idle, 1)->action = APPLY_BUFF | APPLY_NOCP;
		rig_session_add(rig, 0, NULL, &s[0]);
		rig_session_add(rig, 1, idle, &s[1]);
		rig_resolve(rig);
		for (unsigned v6 = 0; v6 < 2; v6++)
			bytes[v6] = send_to(rig, &s[0], &s[1], v6, 0, users[v6]);
		rig_settle(rig);
		expect_nothing(rig);
		CU_ASSERT_EQUAL(rig->n_told, 1);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 2);
		rig_session_change(rig, &s[1], awake);
		rig_resolve(rig);
		for (unsigned v6 = 0; v6 < 2; v6++)
			expect_delivered(rig, &s[1], v6, users[v6], bytes[v6]);
		for (unsigned i = 0; i < 2; i++)
			rig_session_del(rig, &s[i]);
		rules_free(idle);
		rules_free(awake);
		rig_end(rig);
	}
}

// --- where it does not go --------------------------------------------------------------------------------

static void as_configured(void)
{
	static const struct {
		enum ue_to_ue ue_to_ue;
		unsigned n3, n6, dropped;
	} ways[] = {
		{UE_TO_UE_DIRECT, 1, 0, 0}, {UE_TO_UE_ROUTE, 0, 1, 0}, {UE_TO_UE_DROP, 0, 0, 1}};

	for (unsigned i = 0; i < RTE_DIM(ways); i++)
		for (unsigned v6 = 0; v6 < 2; v6++) {
			struct rig_conf conf = {
				.n_workers = 2, .n_slots = 4, .ue_to_ue = ways[i].ue_to_ue};
			struct rig *rig = rig_new(&conf);
			uint8_t user[RIG_FRAME_MAX];
			struct rig_session s[2];

			for (unsigned k = 0; k < 2; k++)
				rig_session_add(rig, k, NULL, &s[k]);
			rig_resolve(rig);
			send_to(rig, &s[0], &s[1], v6, 0, user);
			rig_settle(rig);
			CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), ways[i].n3);
			CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), ways[i].n6);
			CU_ASSERT_EQUAL(rig_drops(rig, DROP_ue_to_ue), ways[i].dropped);
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_up), 1 - ways[i].dropped);
			for (unsigned k = 0; k < 2; k++)
				rig_session_del(rig, &s[k]);
			rig_end(rig);
		}
}

// To its own address or to a route of its own, with the last hop, as somebody else, and a session that sends what
// comes for its UE back to the network: nothing goes round, and nothing comes from who did not send it.
static void no_way_round(void)
{
	struct rig *rig = chain_rig(2);
	struct rules *steer = rig_variant_new(RIG_STEER, 1);
	struct rules *solicit = rig_variant_new(RIG_SOLICIT, 2);
	uint8_t user[RIG_FRAME_MAX], frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	struct rig_session s[3], liar;
	char text[ADDR_STRLEN];
	struct rig_flow flow;
	size_t bytes;

	rig_session_add(rig, 0, NULL, &s[0]);
	rig_session_add(rig, 1, steer, &s[1]);
	rig_session_add(rig, 2, solicit, &s[2]);
	rig_resolve(rig);
	for (unsigned v6 = 0; v6 < 2; v6++) {
		send_to(rig, &s[0], &s[0], v6, 0, user);
		rig_settle(rig);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_ue_to_itself), v6 + 1);
		flow = flow_to(&s[1], v6, text);
		flow.ttl = 1;
		rig_send(rig, RIG_N3, 0, frame, rig_frame_up(rig, &s[0], &flow, frame));
		rig_settle(rig);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_ttl_expired), v6 + 1);
		for (unsigned i = 0; i < 2; i++) {
			liar = s[2 * i];
			liar.ue_v4 = s[2 * !i].ue_v4;
			liar.ue_v6 = s[2 * !i].ue_v6;
			send_to(rig, &liar, &s[1], v6, 0, user);
			rig_settle(rig);
			CU_ASSERT_EQUAL(rig_drops(rig, DROP_spoofed_source), 2 * v6 + i + 1);
		}
		expect_nothing(rig);
		// Of the PDR that steers what comes from port 5000 back to N6.
		flow = flow_to(&s[1], v6, text);
		flow.ue_port = 5000;
		bytes = rig_frame_up(rig, &s[0], &flow, frame);
		rig_send(rig, RIG_N3, 0, frame, bytes);
		rig_settle(rig);
		CU_ASSERT_NOT_EQUAL_FATAL(rig_recv(rig, RIG_N6, out), 0);
		CU_ASSERT_EQUAL(out[ETH_BYTES + (v6 ? 7 : 8)], 63);
		expect_nothing(rig);
	}
	for (unsigned i = 0; i < 3; i++)
		rig_session_del(rig, &s[i]);
	rules_free(steer);
	rules_free(solicit);
	rig_end(rig);
}

// The other session ends while a packet for it is on its way to its worker, or at its own.
static void stale(void)
{
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct rig *rig = chain_rig(2);
		uint8_t user[RIG_FRAME_MAX];
		struct rig_session s[2];

		for (unsigned i = 0; i < 2; i++)
			rig_session_add(rig, i, NULL, &s[i]);
		rig_resolve(rig);
		CU_ASSERT_NOT_EQUAL_FATAL(s[0].slot.owner, s[1].slot.owner);
		send_to(rig, &s[0], &s[1], v6, s[0].slot.owner, user);
		pipeline_turn(rig->control.workers[s[0].slot.owner]);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_handoff_out), 1);
		rig_session_del(rig, &s[1]);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_stale_reference), 1);
		expect_nothing(rig);
		// Its address is nobody's now: packets to it leave as all others do.
		send_to(rig, &s[0], &s[1], v6, 0, user);
		rig_settle(rig);
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 1);
		rig_session_del(rig, &s[0]);
		rig_end(rig);
	}
}

// --- addresses of every kind -----------------------------------------------------------------------------

static void outside_the_pools(void)
{
	struct rig *rig = chain_rig(2);
	struct rig_session s[2];
	uint8_t user[RIG_FRAME_MAX];

	rig_session_add(rig, 0, NULL, &s[0]);
	rig_session_add(rig, BEYOND, NULL, &s[1]);
	rig_resolve(rig);
	CU_ASSERT_EQUAL(rig->locator->n_ue_v4, 1);
	both_ways(rig, 2, s, 2);
	rig_session_del(rig, &s[1]);
	send_to(rig, &s[0], &s[1], false, 0, user);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 1);
	rig_session_del(rig, &s[0]);
	rig_end(rig);
}

// Routes of every length behind the other UE; shorter ones than the hash of places tells apart, too.
static void framed_routes(void)
{
	static const struct {
		const char *route, *in, *beside;
	} routes[] = {
		{"203.0.113.8/29", "203.0.113.9", "203.0.113.16"},
		{"100.64.0.0/10", "100.127.255.255", "100.128.0.0"},
		{"2001:db8:7700::/40", "2001:db8:77ff::1", "2001:db8:7800::1"},
		{"2001:db8:8000:1::/64", "2001:db8:8000:1::9", "2001:db8:8000:2::9"},
		{"2001:db8:8000:3::10/124", "2001:db8:8000:3::1f", "2001:db8:8000:3::20"},
	};
	struct rig *rig = chain_rig(2);
	struct session_ref ref;
	struct rig_session s[2];

	for (unsigned i = 0; i < 2; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	rig_resolve(rig);
	ref = session_ref_make(s[1].slot.owner, s[1].slot.index, s[1].slot.version);
	for (unsigned i = 0; i < RTE_DIM(routes); i++) {
		struct rig_flow flow = {.proto = IPPROTO_UDP, .ttl = 9, .payload = 9, .qfi = 1};
		const char *const targets[] = {routes[i].in, routes[i].beside, routes[i].in};
		static const unsigned direct[] = {1, 0, 0}; // the last when the route has gone
		uint8_t frame[RIG_FRAME_MAX];
		struct prefix prefix;

		CU_ASSERT_EQUAL_FATAL(prefix_parse(routes[i].route, &prefix), 0);
		CU_ASSERT_EQUAL(locator_prefix_add(rig->locator, RIG_N6, &prefix, true, ref), 0);
		flow.v6 = prefix.addr.family == ADDR_V6;
		for (unsigned k = 0; k < RTE_DIM(targets); k++) {
			if (k == 2)
				CU_ASSERT_EQUAL(locator_prefix_del(rig->locator, RIG_N6, &prefix),
						0);
			flow.dn = targets[k];
			rig_send(rig, RIG_N3, k & 1, frame, rig_frame_up(rig, &s[0], &flow, frame));
			rig_settle(rig);
			CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), direct[k]);
			CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), !direct[k]);
			// From the UE that has the route: it would go round.
			rig_send(rig, RIG_N3, k & 1, frame, rig_frame_up(rig, &s[1], &flow, frame));
			rig_settle(rig);
			CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), !direct[k]);
		}
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_ue_to_itself), i + 1);
	}
	for (unsigned i = 0; i < 2; i++)
		rig_session_del(rig, &s[i]);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"gtpu.md 17: delivered, same worker and other", delivered},
	{"in one turn with others", mixed_turn},
	{"rules, rates and usage of both", rules_of_both},
	{"to an idle UE", to_an_idle_ue},
	{"as configured", as_configured},
	{"no way round", no_way_round},
	{"the other session ends", stale},
	{"addresses outside the pools", outside_the_pools},
	{"framed routes", framed_routes},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("hairpin")
