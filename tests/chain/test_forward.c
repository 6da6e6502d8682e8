// What leaves for what comes in: both directions, both families inside and outside, one to three workers.
//
// With two workers each packet comes in by each of them in turn, so that half are handed over to the session's
// owner. Frames are compared byte by byte with what the rules ask for.

#include "chain.h"
#include "packet/gtpu.h"
#include "packet/icmp.h"
#include "packet/ip.h"
#include "packet/l4.h"

// Tunnels over IPv4, over IPv6, and over IPv6 without UDP checksums.
enum outer { OVER_V4, OVER_V6, OVER_V6_BARE, OUTERS };

static struct rig *rig_over(unsigned n_workers, enum outer outer)
{
	struct rig_conf conf = {.n_workers = n_workers,
				.n_slots = 64,
				.n_tunnels = 16,
				.v6 = outer != OVER_V4,
				.no_udp6_cksum = outer == OVER_V6_BARE};
	struct rig *rig = rig_new(&conf);

	rig_resolve(rig);
	return rig;
}

static struct rig *rig_of(unsigned n_workers)
{
	return rig_over(n_workers, OVER_V4);
}

static const struct rig_flow flows[] = {
	{.proto = IPPROTO_UDP,
	 .ue_port = 40000,
	 .dn_port = 5000,
	 .ttl = 64,
	 .payload = 100,
	 .qfi = 1},
	{.proto = IPPROTO_UDP, .ue_port = 40000, .dn_port = 53, .ttl = 2, .payload = 0, .qfi = 1},
	{.proto = IPPROTO_TCP,
	 .ue_port = 40000,
	 .dn_port = 443,
	 .ttl = 255,
	 .payload = 1300,
	 .qfi = 5},
	{.proto = IPPROTO_TCP,
	 .ue_port = 1,
	 .dn_port = 5000,
	 .ttl = 64,
	 .payload = 1,
	 .qfi = PKT_QFI_NONE},
	{.proto = IPPROTO_UDP,
	 .ue_port = 40000,
	 .dn_port = 5000,
	 .ttl = 64,
	 .payload = 9,
	 .qfi = 1,
	 .v6 = true},
	{.proto = IPPROTO_TCP,
	 .ue_port = 40000,
	 .dn_port = 80,
	 .ttl = 3,
	 .payload = 700,
	 .qfi = 1,
	 .v6 = true},
};

// The user packet after one hop: the same but for TTL and header checksum.
static void hop(uint8_t *user, bool v6)
{
	if (v6)
		((struct ip6_head *)user)->hops--;
	else
		ip4_ttl_dec((struct ip4_head *)user);
}

static void check_up(struct rig *rig, const struct rig_session *s, const struct rig_flow *flow,
		     unsigned via)
{
	uint8_t in[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	size_t in_bytes = rig_frame_up(rig, s, flow, in);
	size_t head = rig_user_at(rig, flow->qfi);
	size_t user_bytes = in_bytes - head;

	rig_send(rig, RIG_N3, via, in, in_bytes);
	rig_settle(rig);
	CU_ASSERT_EQUAL_FATAL(rig_recv(rig, RIG_N6, out), ETH_BYTES + user_bytes);
	hop(in + head, flow->v6);
	CU_ASSERT_EQUAL(memcmp(out + ETH_BYTES, in + head, user_bytes), 0);
	CU_ASSERT_EQUAL(be16_get(out + ETH_BYTES - 2), flow->v6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	CU_ASSERT_EQUAL(out[4], 1); // the neighbour that answered, 02:00:00:00:01:02
	CU_ASSERT_EQUAL(out[5], RIG_N6 + 1);
	CU_ASSERT_EQUAL(memcmp(out + ETH_MAC_BYTES, rig->control.workers[0]->mac[RIG_N6].addr_bytes,
			       ETH_MAC_BYTES),
			0);
}

// The outer headers of a tunnel's frame before `gtpu_bytes`: of N3's address and to the gNB's, with right
// lengths and checksums.
static void check_outer(const struct rig *rig, const uint8_t *frame, size_t gtpu_bytes)
{
	const uint8_t *ip = frame + ETH_BYTES;
	const struct udp_head *udp = (const void *)(frame + rig_gtpu_at(rig) - UDP_BYTES);
	uint32_t udp_bytes = (uint32_t)(UDP_BYTES + gtpu_bytes);
	const struct ip6_head *ip6 = (const void *)ip;
	struct addr gnb6, n3_6;

	CU_ASSERT_EQUAL(rte_be_to_cpu_16(udp->sport), GTPU_PORT);
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(udp->dport), GTPU_PORT);
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(udp->bytes), udp_bytes);
	if (!rig->conf.v6) {
		CU_ASSERT_EQUAL(be16_get(ip - 2), ETH_TYPE_IP4);
		CU_ASSERT_EQUAL(ip4_check((const void *)ip, IP4_BYTES + udp_bytes), DROP_NONE);
		CU_ASSERT_EQUAL(be16_get(ip + 2), IP4_BYTES + udp_bytes);
		CU_ASSERT_EQUAL(udp->cksum, 0);
		return;
	}
	CU_ASSERT_EQUAL(be16_get(ip - 2), ETH_TYPE_IP6);
	CU_ASSERT_EQUAL_FATAL(addr_parse(RIG_GNB6, &gnb6) | addr_parse(RIG_N3_ADDR6, &n3_6), 0);
	CU_ASSERT_EQUAL(ip6_check(ip6, IP6_BYTES + udp_bytes), DROP_NONE);
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(ip6->payload), udp_bytes);
	CU_ASSERT_EQUAL(ip6->next, IPPROTO_UDP);
	CU_ASSERT_EQUAL(ip6->hops, 64);
	CU_ASSERT_TRUE(ip6_eq(ip6->src, n3_6.v6) && ip6_eq(ip6->dst, gnb6.v6));
	if (rig->conf.no_udp6_cksum) {
		CU_ASSERT_EQUAL(udp->cksum, 0);
		return;
	}
	uint64_t pseudo = cksum_pseudo6(ip6->src, ip6->dst, IPPROTO_UDP, udp_bytes);

	CU_ASSERT_NOT_EQUAL(udp->cksum, 0);
	CU_ASSERT_EQUAL(cksum_fold(pseudo + cksum_bytes(udp, udp_bytes)), 0xffff);
}

static void check_down(struct rig *rig, const struct rig_session *s, const struct rig_flow *flow,
		       unsigned via)
{
	uint8_t in[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	size_t in_bytes = rig_frame_down(rig, s, flow, in);
	size_t user_bytes = in_bytes - ETH_BYTES;
	const uint8_t *gtpu = out + rig_gtpu_at(rig);
	bool first_pdr = flow->proto == IPPROTO_UDP && flow->dn_port == 5000;

	rig_send(rig, RIG_N6, via, in, in_bytes);
	rig_settle(rig);
	CU_ASSERT_EQUAL_FATAL(rig_recv(rig, RIG_N3, out), rig_user_at(rig, 1) + user_bytes);
	hop(in + ETH_BYTES, flow->v6);
	CU_ASSERT_EQUAL(memcmp(gtpu + 16, in + ETH_BYTES, user_bytes), 0);
	check_outer(rig, out, 16 + user_bytes);
	CU_ASSERT_EQUAL(gtpu[0], GTPU_VERSION | GTPU_F_EXTENSION);
	CU_ASSERT_EQUAL(gtpu[1], GTPU_GPDU);
	CU_ASSERT_EQUAL(be16_get(gtpu + 2), 8 + user_bytes);
	CU_ASSERT_EQUAL(be32_get(gtpu + 4), s->gnb_teid);
	CU_ASSERT_EQUAL(gtpu[11], GTPU_EXT_PSC);
	CU_ASSERT_EQUAL(gtpu[13], 0); // downlink PDU Session Information
	CU_ASSERT_EQUAL(gtpu[14], first_pdr ? 2 : 1);
	CU_ASSERT_EQUAL(gtpu[15], 0);
}

static void forward(unsigned n_workers, enum outer outer)
{
	struct rig *rig = rig_over(n_workers, outer);
	struct rig_session sessions[4];
	uint64_t n = 0;

	for (unsigned i = 0; i < RTE_DIM(sessions); i++)
		rig_session_add(rig, i, NULL, &sessions[i]);
	rig_resolve(rig);
	for (unsigned i = 0; i < RTE_DIM(sessions); i++)
		for (unsigned k = 0; k < RTE_DIM(flows); k++)
			for (unsigned via = 0; via < n_workers; via++, n++) {
				check_up(rig, &sessions[i], &flows[k], via);
				check_down(rig, &sessions[i], &flows[k], via);
			}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_up), n);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_down), n);
	// Each packet came in by every worker once, and only one of them is the owner.
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_handoff_in), 2 * n * (n_workers - 1) / n_workers);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_handoff_out), 2 * n * (n_workers - 1) / n_workers);
	for (unsigned i = 0; i < RTE_DIM(sessions); i++)
		rig_session_del(rig, &sessions[i]);
	rig_end(rig);
}

static void one_worker(void)
{
	for (enum outer outer = 0; outer < OUTERS; outer++)
		forward(1, outer);
}

static void two_workers(void)
{
	for (enum outer outer = 0; outer < OUTERS; outer++)
		forward(2, outer);
}

static void three_workers(void)
{
	for (enum outer outer = 0; outer < OUTERS; outer++)
		forward(3, outer);
}

// --- what does not go through ----------------------------------------------------------------------------

// Sends one frame and expects it to be dropped by this name and nothing to leave.
static void expect_drop(struct rig *rig, unsigned iface, const uint8_t *frame, size_t bytes,
			enum drop reason)
{
	uint64_t before = rig_drops(rig, reason);
	uint8_t out[RIG_FRAME_MAX];

	rig_send(rig, iface, 0, frame, bytes);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_drops(rig, reason), before + 1);
	CU_ASSERT_EQUAL(rig_recv(rig, RIG_N3, out), 0);
	CU_ASSERT_EQUAL(rig_recv(rig, RIG_N6, out), 0);
}

// The source address of an uplink frame's user packet, and its header checksum.
static void spoof_v4(uint8_t *frame, const char *source)
{
	struct ip4_head *ip = (struct ip4_head *)(frame + ETH_BYTES + 44);
	struct addr addr;

	CU_ASSERT_EQUAL_FATAL(addr_parse(source, &addr), 0);
	ip->src = addr.v4;
	ip->cksum = 0;
	ip->cksum = ip4_cksum(ip);
}

static void spoofed_source(void)
{
	static const char *const v4[] = {"10.45.0.2", "0.0.0.0", "224.0.0.1", "127.0.0.1",
					 RIG_N6_ADDR};
	static const char *const v6[] = {"2001:db8:0:2::1", "fe80::1", "::", "ff02::1"};
	struct rig *rig = rig_of(1);
	struct rig_flow flow = flows[0];
	struct rig_session s;
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < RTE_DIM(v4); i++) {
		bytes = rig_frame_up(rig, &s, &flow, frame);
		spoof_v4(frame, v4[i]);
		expect_drop(rig, RIG_N3, frame, bytes, DROP_spoofed_source);
	}
	flow.v6 = true;
	for (unsigned i = 0; i < RTE_DIM(v6); i++) {
		struct addr addr;

		CU_ASSERT_EQUAL_FATAL(addr_parse(v6[i], &addr), 0);
		bytes = rig_frame_up(rig, &s, &flow, frame);
		memcpy(frame + ETH_BYTES + 44 + 8, addr.v6, 16);
		expect_drop(rig, RIG_N3, frame, bytes, DROP_spoofed_source);
	}
	check_up(rig, &s, &flow, 0);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// A UE uses what interface identifiers it likes in its /64.
static void any_interface_identifier(void)
{
	struct rig *rig = rig_of(1);
	struct rig_flow flow = flows[4];
	struct rig_session s;
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	size_t bytes;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < 3; i++) {
		bytes = rig_frame_up(rig, &s, &flow, frame);
		memset(frame + ETH_BYTES + 44 + 16, (int)(0x11 * i), 8);
		rig_send(rig, RIG_N3, 0, frame, bytes);
		bytes = rig_frame_down(rig, &s, &flow, frame);
		memset(frame + ETH_BYTES + 32, (int)(0x11 * i), 8);
		rig_send(rig, RIG_N6, 0, frame, bytes);
		rig_settle(rig);
		CU_ASSERT_NOT_EQUAL(rig_recv(rig, RIG_N6, out), 0);
		CU_ASSERT_NOT_EQUAL(rig_recv(rig, RIG_N3, out), 0);
	}
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void ttl_used_up(void)
{
	struct rig *rig = rig_of(1);
	struct rig_session s;
	uint8_t frame[RIG_FRAME_MAX];

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < 4; i++) {
		struct rig_flow flow = flows[i & 1 ? 4 : 0];

		flow.ttl = (uint8_t)(i / 2);
		expect_drop(rig, RIG_N3, frame, rig_frame_up(rig, &s, &flow, frame),
			    DROP_ttl_expired);
		expect_drop(rig, RIG_N6, frame, rig_frame_down(rig, &s, &flow, frame),
			    DROP_ttl_expired);
	}
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void nobody_there(void)
{
	struct rig *rig = rig_of(2);
	struct rig_session s;
	uint8_t up[2][RIG_FRAME_MAX], down[2][RIG_FRAME_MAX];
	size_t up_bytes[2], down_bytes[2];

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < 2; i++) {
		up_bytes[i] = rig_frame_up(rig, &s, &flows[4 * i], up[i]);
		down_bytes[i] = rig_frame_down(rig, &s, &flows[4 * i], down[i]);
	}
	rig_session_del(rig, &s);
	for (unsigned i = 0; i < 2; i++) {
		uint8_t out[RIG_FRAME_MAX];

		expect_drop(rig, RIG_N6, down[i], down_bytes[i], DROP_no_session);
		rig_send(rig, RIG_N3, 0, up[i], up_bytes[i]);
		rig_send(rig, RIG_N3, 1, up[i], up_bytes[i]);
		rig_settle(rig);
		CU_ASSERT_EQUAL(rig_recv(rig, RIG_N6, out), 0);
	}
	// At the worker that owned it the TEID is unknown; the other handed it there, where it was stale.
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_unknown_teid), 2);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_stale_reference), 2);
	rig_end(rig);
}

static void too_big_for_the_tunnel(void)
{
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct rig *rig = rig_over(1, v6 ? OVER_V6 : OVER_V4);
		struct rig_flow flow = flows[0];
		struct rig_session s;
		uint8_t frame[RIG_FRAME_MAX];

		rig_session_add(rig, 0, NULL, &s);
		rig_resolve(rig);
		flow.payload = (uint16_t)(1500 - (v6 ? 64 : 44) - 28);
		check_down(rig, &s, &flow, 0);
		flow.payload++;
		expect_drop(rig, RIG_N6, frame, rig_frame_down(rig, &s, &flow, frame),
			    DROP_too_big);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

// --- what needs no session -------------------------------------------------------------------------------

static void echo_requests(void)
{
	struct rig *rig = rig_of(2);
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	struct rig_session s;
	struct rig_flow flow = flows[0];
	uint8_t *udp = frame + ETH_BYTES + IP4_BYTES;
	size_t bytes;

	rig_session_add(rig, 0, NULL, &s);
	bytes = rig_frame_up(rig, &s, &flow, frame);
	ip4_write((struct ip4_head *)(frame + ETH_BYTES),
		  ((struct ip4_head *)(frame + ETH_BYTES))->src,
		  ((struct ip4_head *)(frame + ETH_BYTES))->dst, IPPROTO_UDP, UDP_BYTES + 12);
	bytes = ETH_BYTES + IP4_BYTES + UDP_BYTES +
		gtpu_echo_request_build(udp + UDP_BYTES, 0x1234);
	be16_put(udp, 30000);
	be16_put(udp + 4, (uint16_t)(bytes - ETH_BYTES - IP4_BYTES));
	rig_send(rig, RIG_N3, 1, frame, bytes);
	rig_resolve(rig);
	bytes = rig_recv(rig, RIG_N3, out);
	CU_ASSERT_EQUAL_FATAL(bytes, ETH_BYTES + IP4_BYTES + UDP_BYTES + 14);
	udp = out + ETH_BYTES + IP4_BYTES;
	CU_ASSERT_EQUAL(be16_get(udp + 2), 30000);
	CU_ASSERT_EQUAL(udp[UDP_BYTES + 1], GTPU_ECHO_RESPONSE);
	CU_ASSERT_EQUAL(be16_get(udp + UDP_BYTES + 8), 0x1234);
	CU_ASSERT_EQUAL(udp[UDP_BYTES + 12], 14); // Recovery
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_gtpu_echo), 1);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"one worker", one_worker},
	{"two workers: half is handed over", two_workers},
	{"three workers", three_workers},
	{"a source that is not the UE's", spoofed_source},
	{"any interface identifier of the /64", any_interface_identifier},
	{"TTL used up", ttl_used_up},
	{"no session", nobody_there},
	{"too big for the tunnel", too_big_for_the_tunnel},
	{"GTP-U echo", echo_requests},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("forward")
