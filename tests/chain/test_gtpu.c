// What the far end of a tunnel is told, and what of a tunnel's outer headers is taken: over IPv4 and IPv6, by one
// worker and by two (TS 29.281 4.4, 7.2, 7.3).
//
// The answers are read byte by byte as the standard draws them. Rates are set so that no test waits for time.

#include "chain.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "worker/mailbox.h"

#define AT_ONCE 4
#define SPORT 40000
#define NEVER (1ull << 54) // between two answers, in units of worker.now: hours

static const struct rig_flow flow = {
	.proto = IPPROTO_UDP, .ue_port = 1000, .dn_port = 53, .ttl = 64, .payload = 20, .qfi = 1};

// Each worker sends so many answers, and then none for hours.
static struct rig *rig_answering(unsigned n_workers, bool over6)
{
	const struct limit limit = {.interval = NEVER, .tolerance = (AT_ONCE - 1) * NEVER};
	struct rig *rig = chain_rig_over(n_workers, over6);

	for (unsigned i = 0; i < n_workers; i++)
		rig->control.workers[i]->error_limit = rig->control.workers[i]->extension_limit =
			limit;
	return rig;
}

// Runs a test for each outer family and for one and two workers.
static void each_rig(void (*test)(struct rig *rig))
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++)
		for (unsigned over6 = 0; over6 < 2; over6++) {
			struct rig *rig = rig_answering(n_workers, over6);

			test(rig);
			rig_end(rig);
		}
}

static uint64_t refused(const struct rig *rig)
{
	return rig_drops(rig, DROP_unknown_teid) + rig_drops(rig, DROP_stale_reference);
}

// --- answers ---------------------------------------------------------------------------------------------

// The frame that left is a GTP-U message of `bytes` from N3 to the gNB's port, with right lengths and sums. Gives
// the message.
static const uint8_t *check_answer(const struct rig *rig, const uint8_t *frame, size_t frame_bytes,
				   uint16_t dport, size_t bytes)
{
	const uint8_t *gtpu = frame + rig_gtpu_at(rig);
	const struct udp_head *udp = (const void *)(gtpu - UDP_BYTES);
	const struct ip4_head *ip4 = (const void *)(frame + ETH_BYTES);
	const struct ip6_head *ip6 = (const void *)(frame + ETH_BYTES);
	uint32_t udp_bytes = (uint32_t)(UDP_BYTES + bytes);
	uint64_t pseudo;

	CU_ASSERT_EQUAL_FATAL(frame_bytes, rig_gtpu_at(rig) + bytes);
	if (rig->conf.v6) {
		CU_ASSERT_EQUAL(ip6_check(ip6, IP6_BYTES + udp_bytes), DROP_NONE);
		CU_ASSERT_TRUE(ip6_eq(ip6->src, rig_addr(RIG_N3_ADDR6).v6));
		CU_ASSERT_TRUE(ip6_eq(ip6->dst, rig_addr(RIG_GNB6).v6));
		pseudo = cksum_pseudo6(ip6->src, ip6->dst, IPPROTO_UDP, udp_bytes);
	} else {
		CU_ASSERT_EQUAL(ip4_check(ip4, IP4_BYTES + udp_bytes), DROP_NONE);
		CU_ASSERT_EQUAL(ip4->src, rig_addr(RIG_N3_ADDR).v4);
		CU_ASSERT_EQUAL(ip4->dst, rig_addr(RIG_GNB).v4);
		pseudo = cksum_pseudo4(ip4->src, ip4->dst, IPPROTO_UDP, udp_bytes);
	}
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(udp->sport), GTPU_PORT);
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(udp->dport), dport);
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(udp->bytes), udp_bytes);
	CU_ASSERT_NOT_EQUAL(udp->cksum, 0);
	CU_ASSERT_EQUAL(cksum_fold(pseudo + cksum_bytes(udp, udp_bytes)), 0xffff);
	CU_ASSERT_EQUAL(be16_get(gtpu + 2), bytes - GTPU_BYTES);
	CU_ASSERT_EQUAL(be32_get(gtpu + 4), 0); // TEID
	CU_ASSERT_EQUAL(be16_get(gtpu + 10), gtpu[0] & GTPU_F_EXTENSION ? GTPU_EXT_UDP_PORT : 0);
	return gtpu;
}

// 7.3.1: sequence number 0, the UDP port, the TEID, the address that it was sent to.
static void check_error(const struct rig *rig, const uint8_t *frame, size_t bytes, uint32_t teid)
{
	bool v6 = rig->conf.v6;
	struct addr local = rig_addr(v6 ? RIG_N3_ADDR6 : RIG_N3_ADDR);
	const uint8_t *gtpu = check_answer(rig, frame, bytes, GTPU_PORT, v6 ? 40 : 28);

	CU_ASSERT_EQUAL(gtpu[0], 0x36); // version 1, PT, E, S
	CU_ASSERT_EQUAL(gtpu[1], 26);
	CU_ASSERT_EQUAL(be16_get(gtpu + 8), 0);
	CU_ASSERT_EQUAL(gtpu[12], 1); // UDP Port
	CU_ASSERT_EQUAL(be16_get(gtpu + 13), SPORT);
	CU_ASSERT_EQUAL(gtpu[15], 0);
	CU_ASSERT_EQUAL(gtpu[16], 16); // Tunnel Endpoint Identifier Data I
	CU_ASSERT_EQUAL(be32_get(gtpu + 17), teid);
	CU_ASSERT_EQUAL(gtpu[21], 133); // GTP-U Peer Address
	CU_ASSERT_EQUAL(be16_get(gtpu + 22), v6 ? 16 : 4);
	CU_ASSERT_EQUAL(memcmp(gtpu + 24, v6 ? local.v6 : (uint8_t *)&local.v4, v6 ? 16 : 4), 0);
}

// Sends a G-PDU of the flow for this TEID. Gives the length of what came back, into `frame`.
static size_t send_gpdu(struct rig *rig, uint32_t teid, unsigned via, uint8_t *frame)
{
	struct rig_session nobody = {.teid = teid, .ue_v4 = rig_addr("10.45.0.1")};
	size_t bytes = rig_frame_up(rig, &nobody, &flow, frame);

	be16_put(frame + rig_gtpu_at(rig) - UDP_BYTES, SPORT);
	rig_send(rig, RIG_N3, via, frame, bytes);
	rig_settle(rig);
	return rig_recv(rig, RIG_N3, frame);
}

static void unknown_in(struct rig *rig)
{
	unsigned most = AT_ONCE * rig->conf.n_workers, answered = 0;
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	rig_session_del(rig, &s); // its tunnel is of nobody now
	// Which worker refuses a TEID depends on its scrambled bits: enough of them reach each.
	for (unsigned i = 0; i < 32 * most; i++) {
		uint32_t teid = i % 2 ? s.teid : 0x9e3779b9u * (i + 1);
		size_t bytes = send_gpdu(rig, teid, i / 2 % rig->conf.n_workers, frame);

		CU_ASSERT_EQUAL(refused(rig), i + 1);
		if (bytes)
			check_error(rig, frame, bytes, teid);
		answered += bytes > 0;
		CU_ASSERT_TRUE(bytes > 0 || i >= AT_ONCE);
	}
	CU_ASSERT_EQUAL(answered, most);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_error_indication_sent), most);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_made), most);
}

static void unknown(void)
{
	each_rig(unknown_in);
}

// 6: TEID 0 is nobody's tunnel, and a packet off every filter has one: neither gets an Error Indication.
static void no_error_in(struct rig *rig)
{
	struct rules *rules = rig_variant_new(RIG_NO_PDR, 0);
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;

	rig_session_add(rig, 0, rules, &s);
	rules_free(rules);
	rig_resolve(rig);
	for (unsigned via = 0; via < rig->conf.n_workers; via++) {
		CU_ASSERT_EQUAL(send_gpdu(rig, 0, via, frame), 0);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_unknown_teid), via + 1);
		CU_ASSERT_EQUAL(send_gpdu(rig, s.teid, via, frame), 0);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_pdr), via + 1);
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_error_indication_sent), 0);
	rig_session_del(rig, &s);
}

static void no_error(void)
{
	each_rig(no_error_in);
}

// Quiet after the start, and switched off: nothing is sent.
static void quiet_in(struct rig *rig)
{
	uint8_t frame[RIG_FRAME_MAX];

	for (unsigned i = 0; i < 2; i++) {
		for (unsigned via = 0; via < rig->conf.n_workers; via++) {
			struct worker *w = rig->control.workers[via];

			w->error_limit = i ? limit_make(0, 1000, 0)
					   : limit_make(AT_ONCE, 1000, w->now + NEVER);
		}
		for (unsigned via = 0; via < rig->conf.n_workers; via++)
			CU_ASSERT_EQUAL(send_gpdu(rig, 0xabcdef01, via, frame), 0);
		CU_ASSERT_EQUAL(refused(rig), (i + 1) * rig->conf.n_workers);
	}
}

static void quiet(void)
{
	each_rig(quiet_in);
}

// 3: an extension header that must be understood and is not; the sender is told which ones are (7.2.3).
static void required_in(struct rig *rig)
{
	static const uint8_t known[] = {0x40, 0x81, 0x82, 0x83, 0x84, 0x85, 0xc0};
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;
	unsigned answered = 0;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < 2 * AT_ONCE; i++) {
		size_t bytes = rig_frame_up(rig, &s, &flow, frame);
		const uint8_t *gtpu;

		frame[rig_gtpu_at(rig) + 11] = 0xff; // instead of a PDU Session Container
		rig_send(rig, RIG_N3, 0, frame, bytes);
		rig_settle(rig);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_gtpu_extension_required), i + 1);
		bytes = rig_recv(rig, RIG_N3, frame);
		answered += bytes > 0;
		if (bytes == 0)
			continue;
		gtpu = check_answer(rig, frame, bytes, GTPU_PORT, 14 + sizeof(known));
		CU_ASSERT_EQUAL(gtpu[0], 0x32);
		CU_ASSERT_EQUAL(gtpu[1], 31);
		CU_ASSERT_EQUAL(gtpu[12], 141); // Extension Header Type List
		CU_ASSERT_EQUAL(gtpu[13], sizeof(known));
		CU_ASSERT_EQUAL(memcmp(gtpu + 14, known, sizeof(known)), 0);
	}
	CU_ASSERT_EQUAL(answered, AT_ONCE);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_extensions_sent), AT_ONCE);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &flow, 0), 1);
	rig_session_del(rig, &s);
}

static void required(void)
{
	each_rig(required_in);
}

// 5: with and without a sequence number, from any port.
static void echoes_in(struct rig *rig)
{
	static const uint16_t ports[] = {GTPU_PORT, 1, SPORT};
	uint8_t frame[RIG_FRAME_MAX];

	for (unsigned i = 0; i < 2 * RTE_DIM(ports); i++) {
		uint8_t *gtpu = frame + rig_gtpu_at(rig);
		uint32_t bytes = gtpu_echo_request_build(gtpu, 0xbeef);
		uint16_t sport = ports[i / 2];
		const uint8_t *answer;

		if (i % 2) {
			gtpu[0] = GTPU_VERSION;
			be16_put(gtpu + 2, 0);
			bytes = GTPU_BYTES;
		}
		rig_send(rig, RIG_N3, i % rig->conf.n_workers, frame,
			 rig_outer_write(rig, sport, bytes, frame));
		rig_settle(rig);
		answer = check_answer(rig, frame, rig_recv(rig, RIG_N3, frame), sport, 14);
		CU_ASSERT_EQUAL(answer[0], 0x32);
		CU_ASSERT_EQUAL(answer[1], 2);
		CU_ASSERT_EQUAL(be16_get(answer + 8), i % 2 ? 0 : 0xbeef);
		CU_ASSERT_EQUAL(be16_get(answer + 12), 14 << 8); // Recovery, 0
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_gtpu_echo), 2 * RTE_DIM(ports));
}

static void echoes(void)
{
	each_rig(echoes_in);
}

// 8: an End Marker ends here, or goes on into each tunnel that the tunnel's packets went on into, after them.
static void end_marker_in(struct rig *rig)
{
	static const struct {
		enum rig_variant variant;
		bool further;  // it comes by the further tunnel
		uint32_t teid; // that it leaves with, plus the session's number; 0: it ends
	} rows[] = {
		{RIG_ORDINARY, false, 0},        {RIG_TUNNEL_UP, true, 0},
		{RIG_TUNNEL_DOWN, true, 0x1000}, {RIG_RELAY, false, RIG_RELAY_TEID},
		{RIG_FAR_DROP, false, 0},
	};
	uint8_t frame[RIG_FRAME_MAX];

	for (uint32_t i = 0; i < 2 * RTE_DIM(rows); i++) {
		const unsigned via = i % rig->conf.n_workers;
		struct rules *rules = rig_variant_new(rows[i / 2].variant, i);
		uint64_t consumed = rig_count(rig, COUNTER_consumed);
		uint32_t teid = rows[i / 2].teid;
		struct rig_session s, by;
		size_t bytes;

		rig_session_add(rig, i, rules, &s);
		rules_free(rules);
		rig_resolve(rig);
		by = s;
		if (rows[i / 2].further)
			by.teid = s.tunnels[0].teid;
		if (teid) // what it is to come after
			rig_send(rig, RIG_N3, via, frame, rig_frame_up(rig, &by, &flow, frame));
		bytes = gtpu_end_marker_build(frame + rig_gtpu_at(rig), by.teid);
		rig_send(rig, RIG_N3, via, frame, rig_outer_write(rig, SPORT, bytes, frame));
		rig_settle(rig);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_end_marker), i + 1);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_consumed), consumed + 1);
		if (teid) {
			CU_ASSERT_TRUE(rig_recv(rig, RIG_N3, frame) > 0);
			CU_ASSERT_EQUAL(frame[rig_gtpu_at(rig) + 1], GTPU_GPDU);
			bytes = rig_recv(rig, RIG_N3, frame);
			CU_ASSERT_EQUAL(bytes, rig_gtpu_at(rig) + GTPU_BYTES);
			CU_ASSERT_EQUAL(frame[rig_gtpu_at(rig) + 1], GTPU_END_MARKER);
			CU_ASSERT_EQUAL(be32_get(frame + rig_gtpu_at(rig) + 4), teid + i);
		}
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3) + chain_drain(rig, RIG_N6), 0);
		rig_session_del(rig, &s);
	}
}

// A session's rules that send its downlink to another gNB, and what stands for that in its owner's mail.
static void switch_post(struct rig *rig, const struct rig_session *s,
			const struct rig_session *other)
{
	struct session_place to = {.teid = rte_cpu_to_be_32(RIG_GNB2_TEID), .peer = other->peer};
	struct mail *mail = rig_session_mail(s, s->rules, to);

	mail->session.n_end_markers = 1;
	mail->session.end_markers[0] = (struct session_place){.teid = rte_cpu_to_be_32(s->gnb_teid),
							      .peer = s->peer};
	mail_post(rig->control.workers[s->slot.owner], mail);
}

// The next frame that left by N3 is such a message into this tunnel.
static void expect_message(struct rig *rig, uint8_t type, uint32_t teid)
{
	uint8_t frame[RIG_FRAME_MAX];
	const uint8_t *gtpu = frame + rig_gtpu_at(rig);

	CU_ASSERT_FATAL(rig_recv(rig, RIG_N3, frame) >= rig_gtpu_at(rig) + GTPU_BYTES);
	CU_ASSERT_EQUAL(gtpu[1], type);
	CU_ASSERT_EQUAL(be32_get(gtpu + 4), teid);
}

// On a path switch the End Marker is behind all that went to the old gNB, and ahead of all that goes to the new one,
// whichever worker the packets come to (TS 23.501 5.6.3, TS 29.244 5.2.3.1).
static void path_switch_in(struct rig *rig)
{
	const unsigned before = 3, after = 40; // more than a group
	struct rules *rules = rig_rules_new(1);
	struct rig_session s, other;
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes;

	rules_far_lookup(rules, 1)->v4.s_addr = rig_addr(RIG_GNB2).v4;
	rig_session_add(rig, 0, NULL, &s);
	rig_session_add(rig, 1, rules, &other);
	rules_free(rules);
	rig_resolve(rig);
	CU_ASSERT_NOT_EQUAL(s.peer, other.peer);
	bytes = rig_frame_down(rig, &s, &flow, frame);
	for (unsigned i = 0; i < before; i++)
		rig_send(rig, RIG_N6, i % rig->conf.n_workers, frame, bytes);
	rig_settle(rig);
	for (unsigned i = 0; i < after; i++)
		rig_send(rig, RIG_N6, i % rig->conf.n_workers, frame, bytes);
	switch_post(rig, &s, &other);
	rig_settle(rig);
	for (unsigned i = 0; i < before; i++)
		expect_message(rig, GTPU_GPDU, s.gnb_teid);
	expect_message(rig, GTPU_END_MARKER, s.gnb_teid);
	for (unsigned i = 0; i < after; i++)
		expect_message(rig, GTPU_GPDU, RIG_GNB2_TEID);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_end_marker_sent), 1);
	rig_session_del(rig, &s);
	rig_session_del(rig, &other);
}

static void path_switch(void)
{
	each_rig(path_switch_in);
}

static void end_marker(void)
{
	each_rig(end_marker_in);
}

// --- what is taken ---------------------------------------------------------------------------------------

// 15: no UDP checksum, a right one, a wrong one.
static void sums_in(struct rig *rig)
{
	uint32_t udp_at = rig_gtpu_at(rig) - UDP_BYTES;
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < 3; i++) {
		const struct ip4_head *ip4 = (const void *)(frame + ETH_BYTES);
		const struct ip6_head *ip6 = (const void *)(frame + ETH_BYTES);
		size_t bytes = rig_frame_up(rig, &s, &flow, frame);
		uint32_t udp_bytes = (uint32_t)bytes - udp_at;
		uint64_t sum = rig->conf.v6
				       ? cksum_pseudo6(ip6->src, ip6->dst, IPPROTO_UDP, udp_bytes)
				       : cksum_pseudo4(ip4->src, ip4->dst, IPPROTO_UDP, udp_bytes);
		uint16_t cksum = cksum_finish_udp(sum + cksum_bytes(frame + udp_at, udp_bytes));

		if (i == 2)
			cksum ^= 0x0100;
		if (i > 0)
			memcpy(frame + udp_at + 6, &cksum, sizeof(cksum));
		rig_send(rig, RIG_N3, 0, frame, bytes);
		rig_settle(rig);
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), i < 2);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_bad_udp_checksum), i == 2);
	}
	rig_session_del(rig, &s);
}

static void sums(void)
{
	each_rig(sums_in);
}

// 12: a user's own packets to and from port 2152 are user packets like all others.
static void port_2152_in(struct rig *rig)
{
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < 4 * rig->conf.n_workers; i++) {
		struct rig_flow user = flow;

		user.ue_port = user.dn_port = GTPU_PORT;
		user.v6 = i & 1;
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, i & 2, &user, i / 4), 1);
	}
	rig_session_del(rig, &s);
}

static void port_2152(void)
{
	each_rig(port_2152_in);
}

// 19: the next session gets the slot but not the TEID; what was on its way for the first is told so.
static void next_session_in(struct rig *rig)
{
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session first, next;

	rig_session_add(rig, 0, NULL, &first);
	rig_resolve(rig);
	rig_session_del(rig, &first);
	do
		rig_session_add(rig, 0, NULL, &next);
	while (next.slot.owner != first.slot.owner && (rig_session_del(rig, &next), true));
	rig_resolve(rig);
	CU_ASSERT_NOT_EQUAL(next.teid, first.teid);
	for (unsigned via = 0; via < rig->conf.n_workers; via++) {
		size_t bytes = send_gpdu(rig, first.teid, via, frame);

		CU_ASSERT_EQUAL(refused(rig), via + 1);
		check_error(rig, frame, bytes, first.teid);
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);
		CU_ASSERT_EQUAL(chain_forwarded(rig, &next, true, &flow, via), 1);
	}
	rig_session_del(rig, &next);
}

static void next_session(void)
{
	each_rig(next_session_in);
}

static CU_TestInfo tests[] = {
	{"unknown TEID: Error Indication", unknown},
	{"TEID 0 and off-filter: none", no_error},
	{"quiet, and off", quiet},
	{"extension header that must be understood", required},
	{"echo", echoes},
	{"End Markers", end_marker},
	{"End Markers: path switch", path_switch},
	{"UDP checksums", sums},
	{"users' port 2152", port_2152},
	{"TEID of the session before", next_session},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("gtpu")
