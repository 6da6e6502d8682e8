// Packets to our own addresses, which need no session: what is answered, consumed, punted or refused.
//
// The golden frames of each kind go through the data path; echo replies are compared with their requests.

#include <stdlib.h>

#include "chain.h"
#include "golden.h"
#include "packet/arp.h"
#include "packet/gtpu.h"
#include "packet/icmp.h"

// What becomes of each kind of frame, where there is no session.
static const struct outcome {
	const char *kind;
	bool answered; // one frame leaves by the same interface
	enum counter counter;
	bool consumed, punted;
	enum drop drop;
} outcomes[] = {
	{"echo_request", .answered = true, .counter = COUNTER_gtpu_echo},
	{"echo_response", .counter = COUNTER_gtpu_echo_response, .punted = true},
	{"end_marker", .counter = COUNTER_end_marker, .drop = DROP_unknown_teid},
	{"error_indication", .counter = COUNTER_error_indication, .punted = true},
	{"icmp_echo", .answered = true, .counter = COUNTER_icmp_echo},
	{"arp", .counter = COUNTER_punted, .punted = true},
	{"nd", .counter = COUNTER_punted, .punted = true},
	{"gpdu", .counter = COUNTER_rx, .drop = DROP_unknown_teid},
	{"plain", .counter = COUNTER_rx, .drop = DROP_no_session},
};

static const struct outcome *outcome_of(const struct golden *g)
{
	for (unsigned i = 0; i < RTE_DIM(outcomes); i++)
		if (strcmp(outcomes[i].kind, g->kind) == 0)
			return &outcomes[i];
	return NULL;
}

static void check_outcome(struct rig *rig, const struct golden *g, const struct outcome *o,
			  unsigned via)
{
	uint64_t counted = rig_count(rig, o->counter), consumed = rig_count(rig, COUNTER_consumed);
	uint64_t punted = rig_count(rig, COUNTER_punted), dropped = rig_drops(rig, o->drop);
	uint64_t stale = rig_drops(rig, DROP_stale_reference);

	rig_send(rig, g->iface, via, g->frame, g->bytes);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_count(rig, o->counter), counted + 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_consumed), consumed + o->consumed);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_punted), punted + o->punted);
	// A TEID of nobody may look like another worker's.
	if (o->drop)
		CU_ASSERT_EQUAL(rig_drops(rig, o->drop) - dropped +
					rig_drops(rig, DROP_stale_reference) - stale,
				1);
	if (!o->punted) // who asks for us is answered by the control thread
		CU_ASSERT_EQUAL(chain_drain(rig, g->iface), o->answered);
	chain_drain(rig, g->iface);
	CU_ASSERT_EQUAL(chain_drain(rig, !g->iface), 0);
}

static void golden_kinds(void)
{
	struct golden *frames = calloc(GOLDEN_MAX, sizeof(*frames));
	unsigned n = golden_read(frames), seen[RTE_DIM(outcomes)] = {0};
	struct rig *rig = chain_rig(2);

	golden_locals_add(rig);
	for (unsigned i = 0; i < n; i++) {
		const struct outcome *o = outcome_of(&frames[i]);

		if (!o || frames[i].tagged)
			continue;
		check_outcome(rig, &frames[i], o, i & 1);
		seen[o - outcomes]++;
	}
	for (unsigned i = 0; i < RTE_DIM(outcomes); i++)
		CU_ASSERT_TRUE(seen[i] > 0);
	free(frames);
	rig_end(rig);
}

// --- echoes ----------------------------------------------------------------------------------------------

static const uint8_t sender_mac[ETH_MAC_BYTES] = {2, 0, 0, 0, 1, 9};

static uint32_t ping_build(const struct rig *rig, unsigned iface, const struct addr *from,
			   const struct addr *to, uint32_t data, uint8_t *frame)
{
	bool v6 = from->family == ADDR_V6;
	uint32_t at = eth_write(frame, rig->control.workers[0]->mac[iface].addr_bytes, sender_mac,
				0, v6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	uint32_t bytes = ICMP_BYTES + data;
	uint8_t *icmp = frame + at + (v6 ? IP6_BYTES : IP4_BYTES);
	uint64_t sum = v6 ? cksum_pseudo6(from->v6, to->v6, IPPROTO_ICMPV6, bytes) : 0;
	uint16_t cksum;

	memset(icmp, 0, ICMP_BYTES);
	icmp[0] = v6 ? ICMP6_TYPE_ECHO : ICMP4_TYPE_ECHO;
	be16_put(icmp + 4, 0x1234);
	be16_put(icmp + 6, 7);
	for (uint32_t i = 0; i < data; i++)
		icmp[ICMP_BYTES + i] = (uint8_t)i;
	cksum = cksum_finish(sum + cksum_bytes(icmp, bytes));
	memcpy(icmp + 2, &cksum, sizeof(cksum));
	if (v6)
		ip6_write((struct ip6_head *)(frame + at), from->v6, to->v6, IPPROTO_ICMPV6, 3,
			  bytes);
	else
		ip4_write((struct ip4_head *)(frame + at), from->v4, to->v4, IPPROTO_ICMP, bytes);
	return (uint32_t)(icmp - frame) + bytes;
}

static void check_pong(const uint8_t *in, const uint8_t *out, uint32_t bytes, bool v6)
{
	uint32_t at = (uint32_t)(ETH_BYTES + (v6 ? IP6_BYTES : IP4_BYTES));
	const struct ip6_head *ip6 = (const struct ip6_head *)(out + ETH_BYTES),
			      *was6 = (const void *)(in + ETH_BYTES);
	const struct ip4_head *ip4 = (const struct ip4_head *)(out + ETH_BYTES),
			      *was4 = (const void *)(in + ETH_BYTES);
	uint64_t sum = v6 ? cksum_pseudo6(ip6->src, ip6->dst, IPPROTO_ICMPV6, bytes - at) : 0;

	CU_ASSERT_EQUAL(memcmp(out, in + ETH_MAC_BYTES, ETH_MAC_BYTES), 0);
	CU_ASSERT_EQUAL(memcmp(out + ETH_MAC_BYTES, in, ETH_MAC_BYTES), 0);
	CU_ASSERT_EQUAL(out[at], v6 ? ICMP6_TYPE_REPLY : ICMP4_TYPE_REPLY);
	CU_ASSERT_EQUAL(cksum_fold(sum + cksum_bytes(out + at, bytes - at)), 0xffff);
	CU_ASSERT_EQUAL(memcmp(out + at + 4, in + at + 4, bytes - at - 4), 0);
	if (v6) {
		CU_ASSERT_TRUE(ip6_eq(ip6->src, was6->dst) && ip6_eq(ip6->dst, was6->src));
		CU_ASSERT_EQUAL(ip6->hops, 64);
	} else {
		CU_ASSERT_TRUE(ip4->src == was4->dst && ip4->dst == was4->src);
		CU_ASSERT_EQUAL(ip4_check(ip4, bytes - ETH_BYTES), DROP_NONE);
	}
}

static void pings(void)
{
	static const struct {
		unsigned iface;
		const char *from, *to;
		bool answered;
	} rows[] = {
		{RIG_N3, RIG_GNB, RIG_N3_ADDR, true},
		{RIG_N6, RIG_DN, RIG_N6_ADDR, true},
		{RIG_N6, RIG_SERVER, RIG_N6_ADDR, true},
		{RIG_N6, RIG_DN6, RIG_N6_ADDR6, true},
		{RIG_N6, RIG_SERVER6, RIG_N6_ADDR6, true},
		{RIG_N3, RIG_GNB, RIG_GNB2, false},
		{RIG_N6, "224.0.0.5", RIG_N6_ADDR, false}, // nobody to answer to
		{RIG_N6, "255.255.255.255", RIG_N6_ADDR, false},
		{RIG_N6, "ff02::5", RIG_N6_ADDR6, false},
		{RIG_N6, "::", RIG_N6_ADDR6, false},
	};
	static const uint32_t sizes[] = {0, 1, 56, 1400};
	struct rig *rig = chain_rig(2);
	uint8_t in[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	unsigned answered = 0;

	for (unsigned i = 0; i < RTE_DIM(rows); i++)
		for (unsigned k = 0; k < RTE_DIM(sizes); k++) {
			struct addr from = rig_addr(rows[i].from), to = rig_addr(rows[i].to);
			uint32_t bytes = ping_build(rig, rows[i].iface, &from, &to, sizes[k], in);
			size_t left;

			memset(in + bytes, 0xee, 10); // padding does not come back
			rig_send(rig, rows[i].iface, k & 1, in, bytes + 10);
			rig_settle(rig);
			left = rig_recv(rig, rows[i].iface, out);
			CU_ASSERT_EQUAL(left, rows[i].answered ? bytes : 0);
			if (left)
				check_pong(in, out, bytes, from.family == ADDR_V6);
			answered += rows[i].answered;
		}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_icmp_echo), answered);
	rig_end(rig);
}

// TS 29.281 7.2.2: the response has the request's sequence number, and goes to where the request came from.
static void gtpu_echoes(void)
{
	struct rig *rig = chain_rig(1);
	struct addr gnb = rig_addr(RIG_GNB), own = rig_addr(RIG_N3_ADDR);
	uint8_t in[RIG_FRAME_MAX], out[RIG_FRAME_MAX];

	for (unsigned with_sequence = 0; with_sequence < 2; with_sequence++) {
		uint32_t at = eth_write(in, rig->control.workers[0]->mac[RIG_N3].addr_bytes,
					sender_mac, 0, ETH_TYPE_IP4);
		uint8_t *udp = in + at + IP4_BYTES, *gtpu = udp + UDP_BYTES;
		uint32_t bytes = gtpu_echo_request_build(gtpu, 0xbeef);
		const uint8_t *answer = out + at + IP4_BYTES + UDP_BYTES;

		if (!with_sequence) {
			gtpu[0] = GTPU_VERSION;
			be16_put(gtpu + 2, 0);
			bytes = GTPU_BYTES;
		}
		be16_put(udp, 40000);
		be16_put(udp + 2, GTPU_PORT);
		be16_put(udp + 4, (uint16_t)(UDP_BYTES + bytes));
		be16_put(udp + 6, 0);
		ip4_write((struct ip4_head *)(in + at), gnb.v4, own.v4, IPPROTO_UDP,
			  UDP_BYTES + bytes);
		rig_send(rig, RIG_N3, 0, in, at + IP4_BYTES + UDP_BYTES + bytes);
		rig_settle(rig);
		CU_ASSERT_EQUAL_FATAL(rig_recv(rig, RIG_N3, out), at + IP4_BYTES + UDP_BYTES + 14);
		CU_ASSERT_EQUAL(((struct ip4_head *)(out + at))->dst, gnb.v4);
		CU_ASSERT_EQUAL(ip4_check((struct ip4_head *)(out + at),
					  IP4_BYTES + UDP_BYTES + 14),
				DROP_NONE);
		CU_ASSERT_EQUAL(be16_get(out + at + IP4_BYTES), GTPU_PORT);
		CU_ASSERT_EQUAL(be16_get(out + at + IP4_BYTES + 2), 40000);
		CU_ASSERT_EQUAL(answer[0], GTPU_VERSION | GTPU_F_SEQUENCE);
		CU_ASSERT_EQUAL(answer[1], GTPU_ECHO_RESPONSE);
		CU_ASSERT_EQUAL(be16_get(answer + 8), with_sequence ? 0xbeef : 0);
		CU_ASSERT_EQUAL(be16_get(answer + 12), 14 << 8); // Recovery, 0
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_gtpu_echo), 2);
	rig_end(rig);
}

// Two tags, 802.1ad, a tag of no interface; a tag that only gives a priority does no harm.
static void tags(void)
{
	static const struct {
		uint16_t types[2], tags[2];
		enum drop drop; // NONE: goes through
	} rows[] = {
		{{ETH_TYPE_VLAN}, {0x6000}, DROP_NONE},
		{{ETH_TYPE_VLAN}, {100}, DROP_vlan_unknown},
		{{ETH_TYPE_VLAN, ETH_TYPE_VLAN}, {0, 100}, DROP_not_ip},
		{{0x88a8, ETH_TYPE_VLAN}, {100, 100}, DROP_not_ip},
	};
	struct rig *rig = chain_rig(1);
	const struct rig_flow flow = {
		.proto = IPPROTO_UDP, .ue_port = 1, .dn_port = 53, .ttl = 64, .qfi = 1};
	uint8_t frame[RIG_FRAME_MAX], plain[RIG_FRAME_MAX];
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		size_t bytes = rig_frame_up(rig, &s, &flow, plain), at = 2 * ETH_MAC_BYTES;
		uint64_t before = rig_drops(rig, rows[i].drop);

		memcpy(frame, plain, at);
		for (unsigned k = 0; k < 2 && rows[i].types[k]; k++, at += ETH_TAG_BYTES) {
			be16_put(frame + at, rows[i].types[k]);
			be16_put(frame + at + 2, rows[i].tags[k]);
		}
		memcpy(frame + at, plain + 2 * ETH_MAC_BYTES, bytes - 2 * ETH_MAC_BYTES);
		rig_send(rig, RIG_N3, 0, frame, bytes + at - 2 * ETH_MAC_BYTES);
		rig_settle(rig);
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), rows[i].drop == DROP_NONE);
		CU_ASSERT_EQUAL(rig_drops(rig, rows[i].drop), before + (rows[i].drop != DROP_NONE));
	}
	rig_session_del(rig, &s);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"golden frames of every kind", golden_kinds},
	{"ping", pings},
	{"GTP-U echo", gtpu_echoes},
	{"VLAN tags", tags},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("local")
