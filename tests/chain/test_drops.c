// Every drop reason is reached by a packet made for it, and no other; those that cannot be reached are named.
//
// Four tables: golden frames for what parse refuses, sessions' rules for what services refuse, a short program
// for each bound of a ring or a port. The last test looks that no reason of stats/drop.def is missing.

#include <stdlib.h>

#include "base/clock.h"
#include "chain.h"
#include "golden.h"
#include "packet/arp.h"
#include "pipeline/pipeline.h"
#include "rules/acl.h"

static bool reached[DROP_REASONS];

static uint64_t all_drops(const struct rig *rig)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < DROP_REASONS; i++)
		n += rig_drops(rig, i);
	return n;
}

static enum drop reason_of(const char *name)
{
	for (unsigned i = 0; i < DROP_REASONS; i++)
		if (strcmp(drop_str(i), name) == 0)
			return i;
	return DROP_NONE;
}

// The frame was sent: it and no other was dropped, by this name, and nothing left.
static void check_dropped(struct rig *rig, enum drop reason, uint64_t before, uint64_t all)
{
	CU_ASSERT_EQUAL(rig_drops(rig, reason), before + 1);
	CU_ASSERT_EQUAL(all_drops(rig), all + 1);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3) + chain_drain(rig, RIG_N6), 0);
	reached[reason] = true;
}

static void expect_drop(struct rig *rig, unsigned iface, unsigned via, const uint8_t *frame,
			size_t bytes, enum drop reason)
{
	uint64_t before = rig_drops(rig, reason);
	uint64_t all = all_drops(rig);

	rig_send(rig, iface, via, frame, bytes);
	rig_settle(rig);
	check_dropped(rig, reason, before, all);
}

// --- parse -----------------------------------------------------------------------------------------------

static void broken_frames(void)
{
	struct golden *frames = calloc(GOLDEN_MAX, sizeof(*frames));
	unsigned n = golden_read(frames), bad = 0;
	struct rig *rig = chain_rig(2);

	golden_locals_add(rig);
	for (unsigned i = 0; i < n; i++) {
		const struct golden *g = &frames[i];

		if (strcmp(g->kind, "bad") != 0 || g->tagged)
			continue;
		CU_ASSERT_NOT_EQUAL(reason_of(g->drop), DROP_NONE);
		expect_drop(rig, g->iface, i & 1, g->frame, g->bytes, reason_of(g->drop));
		bad++;
	}
	CU_ASSERT_TRUE(bad > 100);
	free(frames);
	rig_end(rig);
}

// --- services --------------------------------------------------------------------------------------------

struct refusal {
	enum drop reason;
	enum rig_variant variant;
	bool up;
	struct rig_flow flow; // of the ordinary form but for what is said
};

// Given are the port of the data network, TTL, payload, and what else differs.
#define FLOW(port, hops, bytes, ...)                                                               \
	{                                                                                          \
		.ue_port = 1, .dn_port = port, .ttl = hops, .payload = bytes, __VA_ARGS__          \
	}
#define UDP(port, hops, bytes, ...)                                                                \
	FLOW(port, hops, bytes, .qfi = 1, .proto = IPPROTO_UDP, __VA_ARGS__)
#define V6 .v6 = true

static const struct rig_flow ordinary = UDP(5000, 64, 30, );

static const struct refusal refusals[] = {
	{DROP_gate_closed, RIG_GATE_UP, true, UDP(5000, 64, 30, )},
	{DROP_gate_closed, RIG_GATE_UP, true, UDP(53, 64, 30, V6)},
	{DROP_gate_closed, RIG_GATE_DOWN, false, UDP(5000, 64, 30, )},
	{DROP_gate_closed, RIG_GATE_DOWN, false, UDP(53, 64, 30, V6)},
	{DROP_far_drop, RIG_FAR_DROP, true, UDP(5000, 64, 30, )},
	{DROP_far_drop, RIG_FAR_DROP, false, UDP(5000, 64, 30, V6)},
	{DROP_far_buffer, RIG_FAR_BUFFER, true, UDP(5000, 64, 30, )},
	{DROP_no_pdr, RIG_NO_PDR, true, UDP(53, 64, 30, )},
	{DROP_no_pdr, RIG_NO_PDR, false, UDP(53, 64, 30, )},
	{DROP_no_pdr, RIG_NO_PDR, true, FLOW(5000, 64, 30, .proto = IPPROTO_TCP, V6)},
	{DROP_no_pdr, RIG_NO_PDR, false, FLOW(5000, 64, 30, .proto = IPPROTO_TCP, V6)},
	{DROP_ttl_expired, RIG_ORDINARY, true, UDP(5000, 1, 30, )},
	{DROP_ttl_expired, RIG_ORDINARY, false, UDP(5000, 0, 30, )},
	{DROP_ttl_expired, RIG_ORDINARY, true, UDP(5000, 0, 30, V6)},
	{DROP_ttl_expired, RIG_ORDINARY, false, UDP(5000, 1, 30, V6)},
	{DROP_too_big, RIG_ORDINARY, false, UDP(5000, 64, 1500 - 44 - 28 + 1, )},
	{DROP_too_big, RIG_ORDINARY, false, UDP(5000, 64, 1500 - 44 - 48 + 1, V6)},
	{DROP_too_big, RIG_NO_QFI, false, UDP(5000, 64, 1500 - 36 - 28 + 1, )},
	{DROP_too_big, RIG_ORDINARY, true, UDP(5000, 64, 1500 - 28 + 1, )},
	{DROP_too_big, RIG_ORDINARY, true, UDP(5000, 64, 1500 - 48 + 1, V6)},
	{DROP_unknown_teid, RIG_GIVEN_LINE, true,
	 UDP(5000, 64, 30, )}, // to TEID 0, which is of no line
};

static void refused_by_rules(void)
{
	struct rig *rig = chain_rig(2);
	uint8_t frame[RIG_FRAME_MAX];

	for (unsigned i = 0; i < RTE_DIM(refusals); i++) {
		const struct refusal *r = &refusals[i];
		struct rules *rules = rig_variant_new(r->variant, i);
		struct rig_session s;

		rig_session_add(rig, i, rules, &s);
		rules_free(rules);
		rig_resolve(rig);
		for (unsigned via = 0; via < 2; via++) {
			size_t bytes = chain_frame(rig, &s, r->up, &r->flow, frame);

			expect_drop(rig, r->up ? RIG_N3 : RIG_N6, via, frame, bytes, r->reason);
		}
		rig_session_del(rig, &s);
	}
	rig_end(rig);
}

static void spoofed_and_solicited(void)
{
	static const struct {
		enum rig_variant variant;
		const char *source;
		enum drop reason;
	} rows[] = {
		{RIG_ORDINARY, "fe80::5", DROP_spoofed_source},
		{RIG_ORDINARY, "::", DROP_spoofed_source},
		{RIG_SOLICIT_LOST, "fe80::5", DROP_far_none}, // no route leads to the SMF
		{RIG_SOLICIT_LOST, "::", DROP_far_none},
	};
	struct rig *rig = chain_rig(1);
	uint8_t frame[RIG_FRAME_MAX];

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct rules *rules = rig_variant_new(rows[i].variant, i);
		struct rig_session s;

		rig_session_add(rig, i, rules, &s);
		rules_free(rules);
		rig_resolve(rig);
		expect_drop(rig, RIG_N3, 0, frame,
			    rig_frame_solicit(rig, &s, rows[i].source, frame), rows[i].reason);
		rig_session_del(rig, &s);
	}
	rig_end(rig);
}

static void no_route(void)
{
	struct rig_conf conf = {.n_workers = 1, .n_slots = 4, .n_tunnels = 0, .no_gateway = true};
	struct rig *rig = rig_new(&conf);
	struct rig_session s;
	uint8_t frame[RIG_FRAME_MAX];

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct rig_flow flow = ordinary;

		flow.v6 = v6;
		expect_drop(rig, RIG_N3, 0, frame, rig_frame_up(rig, &s, &flow, frame),
			    DROP_no_route);
	}
	rig_session_del(rig, &s);
	rig_end(rig);
}

// Uplink to addresses of one link, of many or of nobody, and frames for another host's link address.
static void not_for_a_router(void)
{
	static const char *const destinations[] = {"224.0.0.251", "255.255.255.255",
						   "169.254.1.1", "0.0.0.1",
						   "127.0.0.1",   "ff02::1",
						   "fe80::2",     "::1"};
	struct rig *rig = chain_rig(1);
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;
	size_t bytes;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < RTE_DIM(destinations); i++) {
		struct rig_flow flow = ordinary;
		uint8_t *user = frame + ETH_BYTES + 44;
		struct addr dst;

		if (addr_parse(destinations[i], &dst) != 0)
			rig_die(destinations[i]);
		flow.v6 = dst.family == ADDR_V6;
		bytes = rig_frame_up(rig, &s, &flow, frame);
		if (flow.v6) {
			memcpy(user + 24, dst.v6, sizeof(dst.v6));
		} else {
			struct ip4_head *ip = (struct ip4_head *)user;

			ip->dst = dst.v4;
			ip->cksum = 0;
			ip->cksum = ip4_cksum(ip);
		}
		expect_drop(rig, RIG_N3, 0, frame, bytes, DROP_not_routable);
	}
	bytes = rig_frame_up(rig, &s, &ordinary, frame);
	frame[5] ^= 0x80;
	expect_drop(rig, RIG_N3, 0, frame, bytes, DROP_other_mac);
	bytes = rig_frame_down(rig, &s, &ordinary, frame);
	frame[0] ^= 0x04;
	expect_drop(rig, RIG_N6, 0, frame, bytes, DROP_other_mac);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// 18: users do not reach the UPF itself, at whatever of its addresses, nor tunnels within their tunnel.
static void own_addresses(void)
{
	static const char *const destinations[] = {RIG_N3_ADDR, RIG_N4_ADDR, RIG_N6_ADDR,
						   RIG_N3_ADDR6, RIG_N6_ADDR6};

	for (unsigned over6 = 0; over6 < 2; over6++) {
		struct rig *rig = chain_rig_over(2, over6);
		uint8_t frame[RIG_FRAME_MAX];
		struct rig_session s;

		rig_session_add(rig, 0, NULL, &s);
		rig_resolve(rig);
		for (unsigned i = 0; i < RTE_DIM(destinations); i++) {
			struct rig_flow flow = ordinary;
			bool no_address = over6 && strcmp(destinations[i], RIG_N3_ADDR) == 0;

			flow.dn = destinations[i];
			flow.v6 = strchr(flow.dn, ':') != NULL;
			flow.dn_port = i & 1 ? 22 : GTPU_PORT;
			for (unsigned via = 0; via < 2 && !no_address; via++)
				expect_drop(rig, RIG_N3, via, frame,
					    rig_frame_up(rig, &s, &flow, frame), DROP_own_address);
		}
		// A neighbour whose last octet is the same is no address of ours.
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true,
						&(struct rig_flow)UDP(53, 9, 1, .dn = "192.0.2.1"),
						0),
				1);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

// 17: to oneself, and to another UE where that is not allowed.
static void ue_to_ue(void)
{
	for (unsigned allowed = 0; allowed < 2; allowed++) {
		struct rig_conf conf = {.n_workers = 2,
					.n_slots = 4,
					.ue_to_ue = allowed ? UE_TO_UE_DIRECT : UE_TO_UE_DROP};
		struct rig *rig = rig_new(&conf);
		uint8_t frame[RIG_FRAME_MAX];
		char text[ADDR_STRLEN];
		struct rig_flow flow = ordinary;
		struct rig_session s[2];

		for (unsigned i = 0; i < 2; i++)
			rig_session_add(rig, i, NULL, &s[i]);
		rig_resolve(rig);
		flow.dn = addr_str(text, &s[!allowed].ue_v4);
		for (unsigned via = 0; via < 2; via++)
			expect_drop(rig, RIG_N3, via, frame, rig_frame_up(rig, &s[0], &flow, frame),
				    allowed ? DROP_ue_to_itself : DROP_ue_to_ue);
		for (unsigned i = 0; i < 2; i++)
			rig_session_del(rig, &s[i]);
		rig_end(rig);
	}
}

static void nobody(void)
{
	struct rig *rig = chain_rig(2);
	uint8_t up[RIG_FRAME_MAX], down[RIG_FRAME_MAX];
	size_t up_bytes, down_bytes;
	struct rig_session s;
	unsigned owner;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	up_bytes = rig_frame_up(rig, &s, &ordinary, up);
	down_bytes = rig_frame_down(rig, &s, &ordinary, down);
	owner = s.slot.owner;
	rig_session_del(rig, &s);
	expect_drop(rig, RIG_N6, 0, down, down_bytes, DROP_no_session);
	expect_drop(rig, RIG_N3, owner, up, up_bytes, DROP_unknown_teid);
	expect_drop(rig, RIG_N3, !owner, up, up_bytes, DROP_stale_reference);
	// IP to no address of ours on the access side is for no session.
	rig_mac(RIG_N3, down);
	expect_drop(rig, RIG_N3, 0, down, down_bytes, DROP_no_session);
	rig_end(rig);
}

// --- Error Indications -----------------------------------------------------------------------------------

static struct {
	unsigned n;
	uint32_t teid;
	struct addr peer;
} lost;

static void tunnel_lost(void *ctx, uint32_t teid, const struct addr *peer)
{
	lost.n++;
	lost.teid = teid;
	lost.peer = *peer;
}

// The control thread is told of the tunnel by either worker; what says nothing is dropped; and of many at once
// no more are looked at than the limit.
static void error_indications(void)
{
	enum { MANY = 500, AT_ONCE = 32 };
	struct rig *rig = chain_rig(2);
	uint8_t frame[RIG_FRAME_MAX];
	struct addr gnb;

	CU_ASSERT_EQUAL_FATAL(addr_parse(RIG_GNB, &gnb), 0);
	clock_stop();
	rig->control.tunnel_lost = tunnel_lost;
	memset(&lost, 0, sizeof(lost));
	for (unsigned via = 0; via < 2; via++) {
		rig_send(rig, RIG_N3, via, frame, rig_frame_error(rig, 100 + via, true, frame));
		rig_settle(rig);
		CU_ASSERT(lost.n == via + 1 && lost.teid == 100 + via && addr_eq(&lost.peer, &gnb));
		expect_drop(rig, RIG_N3, via, frame, rig_frame_error(rig, 0, false, frame),
			    DROP_bad_error_indication);
	}
	clock_warp_ns((int64_t)NS_PER_SEC);
	for (unsigned i = 0; i < MANY; i++) {
		rig_send(rig, RIG_N3, 0, frame, rig_frame_error(rig, i, true, frame));
		if (i % AT_ONCE == 0)
			rig_turn(rig);
	}
	rig_settle(rig);
	CU_ASSERT_EQUAL(lost.n, 2 + AT_ONCE);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_error_indication), 4 + MANY);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_error_indication_ignored), MANY - AT_ONCE);
	// Without anybody who wants to know they end as well.
	clock_warp_ns((int64_t)NS_PER_SEC);
	rig->control.tunnel_lost = NULL;
	rig_send(rig, RIG_N3, 0, frame, rig_frame_error(rig, 1, true, frame));
	rig_settle(rig);
	clock_start();
	rig_end(rig);
}

// --- buffers ---------------------------------------------------------------------------------------------

static struct rte_mbuf *mbuf_of(struct rig *rig, const uint8_t *frame, size_t bytes,
				uint16_t headroom)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rig->pool);

	mbuf->data_off = headroom;
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)bytes), frame, bytes);
	return mbuf;
}

static void expect_mbuf_drop(struct rig *rig, unsigned iface, struct rte_mbuf *mbuf,
			     enum drop reason)
{
	uint64_t before = rig_drops(rig, reason);
	uint64_t all = all_drops(rig);

	rig_send_mbuf(rig, iface, 0, mbuf);
	rig_settle(rig);
	check_dropped(rig, reason, before, all);
}

static void buffers(void)
{
	struct rig *rig = chain_rig(1);
	static const struct rig_flow flow = FLOW(5000, 64, 30, .proto = IPPROTO_UDP,
						 .qfi = PKT_QFI_NONE);
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;
	struct rte_mbuf *mbuf;
	size_t bytes;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	bytes = rig_frame_down(rig, &s, &flow, frame);
	expect_mbuf_drop(rig, RIG_N6, mbuf_of(rig, frame, bytes, 0), DROP_no_headroom);
	expect_mbuf_drop(rig, RIG_N6, mbuf_of(rig, frame, bytes, 64 - ETH_BYTES - 1),
			 DROP_no_headroom);
	rig_send_mbuf(rig, RIG_N6, 0, mbuf_of(rig, frame, bytes, 64 - ETH_BYTES));
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 1);
	bytes = rig_frame_up(rig, &s, &flow, frame);
	expect_mbuf_drop(rig, RIG_N3, mbuf_of(rig, frame, bytes, 0), DROP_no_headroom);
	mbuf = mbuf_of(rig, frame, bytes, RTE_PKTMBUF_HEADROOM);
	CU_ASSERT_EQUAL(rte_pktmbuf_chain(mbuf, mbuf_of(rig, frame, 10, 0)), 0);
	expect_mbuf_drop(rig, RIG_N3, mbuf, DROP_multi_segment);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// --- meters and quotas -----------------------------------------------------------------------------------

// The first packet passes, one at once after it does not, whatever the QER has limited.
static void policy(void)
{
	static const struct {
		enum rig_variant variant;
		enum drop reason;
		unsigned payload, pass;
	} rows[] = {
		// 10 ms of burst at 1 Mb/s would be 1,250 bytes; it is 1,500, and one packet more.
		{RIG_RATE, DROP_rate_exceeded, 1372, 2},
		{RIG_RATES, DROP_rate_exceeded, 1372, 2},
		{RIG_RATE, DROP_rate_exceeded, 271, 6},
		{RIG_PACKET_RATE, DROP_rate_exceeded, 0, 1},
		{RIG_QUOTA, DROP_quota_used, 972, 20},
	};

	for (unsigned up = 0; up < 2; up++)
		for (unsigned i = 0; i < RTE_DIM(rows); i++) {
			struct rig_flow flow = ordinary;
			struct rules *rules = rig_variant_new(rows[i].variant, 0);
			struct rig *rig = chain_rig(1);
			uint8_t frame[RIG_FRAME_MAX];
			struct rig_session s;
			size_t bytes;

			clock_stop();
			flow.payload = (uint16_t)rows[i].payload;
			rig_session_add(rig, 0, rules, &s);
			rig_resolve(rig);
			for (unsigned n = 0; n < rows[i].pass; n++)
				CU_ASSERT_EQUAL(chain_forwarded(rig, &s, up, &flow, 0), 1);
			bytes = chain_frame(rig, &s, up, &flow, frame);
			expect_drop(rig, up ? RIG_N3 : RIG_N6, 0, frame, bytes, rows[i].reason);
			rig_session_del(rig, &s);
			rules_free(rules);
			clock_start();
			rig_end(rig);
		}
}

// --- what waits for a UE ---------------------------------------------------------------------------------

static void send_down(struct rig *rig, const struct rig_session *s, unsigned n)
{
	uint8_t frame[RIG_FRAME_MAX];

	for (unsigned i = 0; i < n; i++)
		rig_send(rig, RIG_N6, 0, frame, rig_frame_down(rig, s, &ordinary, frame));
	rig_settle(rig);
}

static void held(void)
{
	struct rig_conf conf = {.n_workers = 1,
				.n_slots = 8,
				.n_tunnels = 8,
				.buffers = {.packets = 2, .all_packets = 3}};
	struct rules *rules = rig_variant_new(RIG_FAR_BUFFER, 0);
	struct rig *rig = rig_new(&conf);
	struct rig_session a, b;

	clock_stop();
	rig_session_add(rig, 0, rules, &a);
	rig_session_add(rig, 1, rules, &b);
	rig_resolve(rig);
	send_down(rig, &a, 3);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_buffer_full), 1);
	send_down(rig, &b, 2);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_buffer_no_room), 1);
	clock_warp_ns((int64_t)(RIG_BUFFER_MS * NS_PER_MS));
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_buffer_timeout), 3);
	send_down(rig, &a, 1);
	rig_session_del(rig, &a);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_buffer_dropped), 1);
	CU_ASSERT_EQUAL(all_drops(rig), 6);
	reached[DROP_buffer_full] = reached[DROP_buffer_no_room] = true;
	reached[DROP_buffer_timeout] = reached[DROP_buffer_dropped] = true;
	rig_session_del(rig, &b);
	rules_free(rules);
	clock_start();
	rig_end(rig);
}

// --- rings and ports -------------------------------------------------------------------------------------

static void tx_full(void)
{
	struct rig *rig = chain_rig(1);
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;
	unsigned room, left;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	room = rte_ring_free_count(rig->tx[RIG_N6][0]);
	for (unsigned i = 0; i < room + 5; i++) {
		rig_send(rig, RIG_N3, 0, frame, rig_frame_up(rig, &s, &ordinary, frame));
		if (i % 32 == 31)
			rig_turn(rig);
	}
	rig_settle(rig);
	left = chain_drain(rig, RIG_N6);
	CU_ASSERT_EQUAL(left, room);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_tx_full), 5);
	CU_ASSERT_EQUAL(all_drops(rig), 5);
	reached[DROP_tx_full] = true;
	rig_session_del(rig, &s);
	rig_end(rig);
}

static size_t arp_question(uint8_t *frame)
{
	static const uint8_t mac[ETH_MAC_BYTES] = {2, 0, 0, 0, 9, 9};
	struct addr from, about;

	if (addr_parse(RIG_GNB, &from) != 0 || addr_parse(RIG_N3_ADDR, &about) != 0)
		rig_die("address");
	return arp_request_build(frame, 0, mac, from.v4, about.v4);
}

// Questions about us that come faster than the control thread looks.
static void punt_full(void)
{
	enum { ROOM = 63, TURNS = 3, BURST = 32 };
	struct rig_conf conf = {
		.n_workers = 1, .n_slots = 4, .n_tunnels = 1, .punt_ring = ROOM + 1};
	struct rig *rig = rig_new(&conf);
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = arp_question(frame);

	rig_resolve(rig);
	for (unsigned i = 0; i < TURNS * BURST; i++)
		rig_send(rig, RIG_N3, 0, frame, bytes);
	for (unsigned i = 0; i < TURNS; i++)
		pipeline_turn(rig->control.workers[0]);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_punt_full), TURNS * BURST - ROOM);
	CU_ASSERT_EQUAL(all_drops(rig), TURNS * BURST - ROOM);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), ROOM);
	reached[DROP_punt_full] = true;
	rig_end(rig);
}

// More questions of our own at once than a worker can be given.
static void inject_full(void)
{
	enum { ROOM = 63, MORE = 20 };
	struct rig_conf conf = {.n_workers = 1,
				.n_slots = 4,
				.n_tunnels = 1,
				.punt_ring = ROOM + 1,
				.n_peers = 128};
	struct rig *rig = rig_new(&conf);
	uint16_t peers[ROOM + MORE];
	struct addr gnb;

	rig_resolve(rig);
	CU_ASSERT_EQUAL_FATAL(addr_parse(RIG_GNB, &gnb), 0);
	for (unsigned i = 0; i < ROOM + MORE; i++) {
		struct addr addr = addr_v4(gnb.v4 + rte_cpu_to_be_32(i));

		CU_ASSERT_EQUAL(neigh_tunnel_take(rig->control.neigh, &addr, &peers[i]), 0);
	}
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_inject_full), MORE);
	CU_ASSERT_EQUAL(all_drops(rig), MORE);
	reached[DROP_inject_full] = true;
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), ROOM);
	for (unsigned i = 0; i < ROOM + MORE; i++)
		neigh_tunnel_give(rig->control.neigh, peers[i]);
	rig_end(rig);
}

// A packet that may be cut, and no buffer for what it is cut into.
static void no_buffer(void)
{
	struct rig_conf conf = {.n_workers = 1, .n_slots = 4, .mbufs = 256};
	struct rig *rig = rig_new(&conf);
	struct rte_mbuf *taken[256];
	struct rig_flow flow = ordinary;
	uint8_t frame[RIG_FRAME_MAX];
	unsigned n = 0;
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	flow.payload = 1450;
	size_t bytes = rig_frame_down(rig, &s, &flow, frame);
	struct ip4_head *ip = (struct ip4_head *)(frame + ETH_BYTES);

	ip->fragment = 0;
	ip->cksum = ip4_cksum(ip);
	rig_send(rig, RIG_N6, 0, frame, bytes);
	while ((taken[n] = rte_pktmbuf_alloc(rig->pool)))
		n++;
	rig_settle(rig);
	check_dropped(rig, DROP_no_buffer, 0, 0);
	rte_pktmbuf_free_bulk(taken, n);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void handoff_full(void)
{
	enum { ROOM = 63, MORE = 3 };
	struct rig_conf conf = {
		.n_workers = 2, .n_slots = 4, .n_tunnels = 1, .handoff_ring = ROOM + 1};
	struct rig *rig = rig_new(&conf);
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < ROOM + MORE; i++)
		rig_send(rig, RIG_N3, !s.slot.owner, frame,
			 rig_frame_up(rig, &s, &ordinary, frame));
	while (pipeline_turn(rig->control.workers[!s.slot.owner]))
		;
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_handoff_full), MORE);
	CU_ASSERT_EQUAL(all_drops(rig), MORE);
	reached[DROP_handoff_full] = true;
	rig_settle(rig);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// First packets of flows, one more than may be.
static void flows_refused(void)
{
	enum { MOST = 3 };
	static const struct {
		uint32_t flows, per_session, network, rate;
		enum drop reason;
	} rows[] = {
		{MOST, 9, 0, 0, DROP_flow_pool_full},
		{9, MOST, 0, 0, DROP_flow_session_full},
		{9, 9, MOST, 0, DROP_flow_network_full},
		{9, 9, 0, MOST, DROP_flow_rate},
	};

	clock_stop();
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct rig_conf conf = {
			.n_workers = 1,
			.n_slots = 4,
			.n_tunnels = 1,
			.services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle),
			.flows = rows[i].flows,
			.flows_per_session = rows[i].per_session,
			.flow_profile = {.most = rows[i].network, .rate = rows[i].rate},
		};
		struct rig *rig = rig_new(&conf);
		struct rig_session s;

		rig_resolve(rig);
		rig_session_add(rig, 0, NULL, &s);
		rig_resolve(rig);
		for (unsigned k = 0; k <= MOST; k++) {
			struct rig_flow flow = ordinary;

			flow.ue_port = (uint16_t)(1 + k);
			chain_forwarded(rig, &s, true, &flow, 0);
		}
		CU_ASSERT_EQUAL(rig_drops(rig, rows[i].reason), 1);
		CU_ASSERT_EQUAL(all_drops(rig), 1);
		reached[rows[i].reason] = true;
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

// A rig with one session, whose flows have this service.
static struct rig *rig_with(uint64_t service, struct rig_session *s)
{
	const struct rig_conf conf = {
		.n_workers = 1, .n_slots = 4, .services = SERVICE_MASK(flow) | service};
	struct rig *rig = rig_new(&conf);

	rig_resolve(rig);
	rig_session_add(rig, 0, NULL, s);
	rig_resolve(rig);
	return rig;
}

// What tcp_check refuses of a connection that it follows, or of one that has not begun.
static void tcp_refused(void)
{
	static const struct {
		enum drop reason;
		uint8_t offset, flags;
		bool begun;
	} rows[] = {
		{DROP_tcp_bad_header, 0x40, 0x10, true},
		{DROP_tcp_bad_flags, 0x50, 0x03, true},
		{DROP_tcp_not_begun, 0x50, 0x10, false},
		{DROP_tcp_out_of_window, 0x50, 0x10, true},
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct rig_flow flow = FLOW(80, 64, 0, .qfi = 1, .proto = IPPROTO_TCP);
		uint8_t frame[RIG_FRAME_MAX], *tcp;
		struct rig_session s;
		struct rig *rig = rig_with(SERVICE_MASK(tcp_check), &s);
		size_t bytes;

		// SYN, its answer, and the acknowledgement of that, from number 0 on.
		for (unsigned k = 0; k < 3 && rows[i].begun; k++) {
			bool up = k != 1;

			bytes = chain_frame(rig, &s, up, &flow, frame);
			tcp = frame + bytes - 20;
			be32_put(tcp + 4, k == 2);
			be32_put(tcp + 8, k != 0);
			tcp[12] = 0x50;
			tcp[13] = (uint8_t[]){0x02, 0x12, 0x10}[k];
			rig_send(rig, up ? RIG_N3 : RIG_N6, 0, frame, bytes);
			rig_settle(rig);
			CU_ASSERT_EQUAL(chain_drain(rig, up ? RIG_N6 : RIG_N3), 1);
		}
		bytes = chain_frame(rig, &s, true, &flow, frame);
		tcp = frame + bytes - 20;
		be32_put(tcp + 4, rows[i].reason == DROP_tcp_out_of_window ? 1u << 20 : 1);
		be32_put(tcp + 8, 1);
		tcp[12] = rows[i].offset;
		tcp[13] = rows[i].flags;
		expect_drop(rig, RIG_N3, 0, frame, bytes, rows[i].reason);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

// What a network instance drops unless it says otherwise: no flow is made of it.
static void no_flow(void)
{
	static const struct {
		enum drop reason;
		uint8_t proto, type; // of ICMP
	} rows[] = {
		{DROP_flow_unknown_protocol, IPPROTO_GRE, 0},
		{DROP_flow_icmp_error, IPPROTO_ICMP, 3},
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct rig_flow flow = FLOW(0, 64, 30, .qfi = 1, .proto = rows[i].proto);
		uint8_t frame[RIG_FRAME_MAX];
		struct rig_session s;
		struct rig *rig = rig_with(SERVICE_MASK(l4_lifecycle), &s);
		size_t bytes = chain_frame(rig, &s, true, &flow, frame);
		frame[bytes - flow.payload - 8] = rows[i].type;
		expect_drop(rig, RIG_N3, 0, frame, bytes, rows[i].reason);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

static void acl_denied(void)
{
	const struct acl none = {0}; // denies all
	struct rig_conf conf = {
		.n_workers = 1,
		.n_slots = 4,
		.n_tunnels = 1,
		.services = SERVICE_MASK(flow) | SERVICE_MASK(acl),
		.acl = &none,
	};
	struct rig *rig = rig_new(&conf);
	struct rig_session s;

	rig_resolve(rig);
	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &ordinary, 0), 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_acl_denied), 1);
	CU_ASSERT_EQUAL(all_drops(rig), 1);
	reached[DROP_acl_denied] = true;
	rig_session_del(rig, &s);
	rig_end(rig);
}

// --- waiting ---------------------------------------------------------------------------------------------

static void neighbour_silent(void)
{
	enum { HOLD = 8 };
	struct rig_conf conf = {.n_workers = 1, .n_slots = 4, .n_tunnels = 1, .hold_packets = HOLD};
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;
	struct rig *rig;

	clock_stop();
	rig = rig_new(&conf);
	rig_session_add(rig, 0, NULL, &s);
	rig_settle(rig);
	for (unsigned i = 0; i <= HOLD; i++) {
		rig_send(rig, RIG_N3, 0, frame, rig_frame_up(rig, &s, &ordinary, frame));
		rig_settle(rig);
	}
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_neigh_hold_full), 1);
	for (unsigned i = 0; i < 3; i++) {
		clock_warp_ns((int64_t)NS_PER_SEC);
		neigh_tick(rig->control.neigh);
	}
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_neigh_failed), HOLD);
	CU_ASSERT_EQUAL(all_drops(rig), HOLD + 1);
	reached[DROP_neigh_hold_full] = reached[DROP_neigh_failed] = true;
	rig_session_del(rig, &s);
	rig_end(rig);
}

// --- all of them -----------------------------------------------------------------------------------------

static void none_is_missing(void)
{
	// What no packet can end by now, or not here, and why.
	static const struct {
		const char *why;
		enum drop reasons[8]; // DROP_NONE behind the last
	} unreached[] = {
		{"each way of punting has one who wants the packet", {DROP_control_unwanted}},
		{"test_flow_parts.c reaches it", {DROP_reassembly_refused}},
		{"test_redirect.c reaches them",
		 {DROP_redirect_family, DROP_redirect_taken, DROP_redirect_fragment}},
		{"test_reassembly_ends.c reaches them",
		 {DROP_reassembly_bad, DROP_reassembly_duplicate, DROP_reassembly_full,
		  DROP_reassembly_no_room, DROP_reassembly_timeout, DROP_reassembly_too_long}},
		{"test_nat.c reaches them",
		 {DROP_nat_no_mapping, DROP_nat_filtered, DROP_nat_no_port, DROP_nat_unsupported}},
	};

	for (unsigned i = 0; i < RTE_DIM(unreached); i++)
		for (const enum drop *reason = unreached[i].reasons; *reason; reason++) {
			CU_ASSERT_FALSE(reached[*reason]);
			reached[*reason] = true;
		}
	CU_ASSERT_FALSE(reached[DROP_NONE]);
	reached[DROP_NONE] = true;
	for (unsigned i = 0; i < DROP_REASONS; i++)
		if (!reached[i]) {
			fprintf(stderr, "no test reaches drop reason %s\n", drop_str(i));
			CU_FAIL("a drop reason that no test reaches");
		}
}

static CU_TestInfo tests[] = {
	{"broken frames", broken_frames},
	{"meters and quotas", policy},
	{"refused by rules", refused_by_rules},
	{"held", held},
	{"sources", spoofed_and_solicited},
	{"no route", no_route},
	{"not for a router", not_for_a_router},
	{"own addresses", own_addresses},
	{"from UE to UE", ue_to_ue},
	{"nobody there", nobody},
	{"Error Indications", error_indications},
	{"buffers", buffers},
	{"tx full", tx_full},
	{"punt full", punt_full},
	{"inject full", inject_full},
	{"handoff full", handoff_full},
	{"flows refused", flows_refused},
	{"no buffer", no_buffer},
	{"of no flow", no_flow},
	{"denied by a list", acl_denied},
	{"refused TCP segments", tcp_refused},
	{"a silent neighbour", neighbour_silent},
	{"no reason is missing", none_is_missing},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("drops")
