// What rules make of a packet beyond the ordinary way: tunnels of all kinds, marks, QoS flow fields, relays.
//
// Each row sends one frame of a session with such rules by each worker and says what must leave; over IPv4
// and over IPv6.

#include "chain.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"

#define PAYLOAD 33
#define BY_LINE 0 // the tunnel that a frame comes by: that of the up line, or the further one
#define BY_FURTHER 1

// What leaves: plain IP by N6, or a tunnel packet by N3.
struct left {
	bool tunnel;
	const char *to; // the tunnel's far end
	uint32_t teid;  // plus the session's number
	int qfi;        // -1: no PDU Session Container
	bool rqi;
	uint8_t tos; // of the tunnel packet
	bool same_ttl;
};

struct row {
	enum rig_variant variant;
	bool up;
	unsigned by;
	uint16_t port; // 5000: the rules' filter matches
	uint8_t tos;   // of the user packet
	struct left left;
};

static const struct row rows[] = {
	{RIG_ORDINARY, true, BY_LINE, 5000, 0, {0}},
	{RIG_ORDINARY, false, 0, 5000, 0, {true, RIG_GNB, 0x1000, 2}},
	{RIG_ORDINARY, false, 0, 53, 0, {true, RIG_GNB, 0x1000, 1}},
	// The DSCP is the user packet's, without its ECN bits, or the FAR's.
	{RIG_ORDINARY, false, 0, 53, 0xbb, {true, RIG_GNB, 0x1000, 1, .tos = 0xb8}},
	{RIG_ORDINARY, false, 0, 53, 0xff, {true, RIG_GNB, 0x1000, 1, .tos = 0xfc}},
	{RIG_DSCP, false, 0, 53, 0x28, {true, RIG_GNB, 0x1000, 1, .tos = 46 << 2}},
	{RIG_DSCP, true, BY_LINE, 53, 0x28, {0}},
	{RIG_NO_QFI, false, 0, 5000, 0, {true, RIG_GNB, 0x1000, -1}},
	{RIG_NO_QFI, false, 0, 53, 0x28, {true, RIG_GNB, 0x1000, -1, .tos = 0x28}},
	{RIG_RQI, false, 0, 5000, 0, {true, RIG_GNB, 0x1000, 2, .rqi = true}},
	{RIG_RQI, true, BY_LINE, 5000, 0, {0}},
	{RIG_TUNNEL_UP, true, BY_LINE, 5000, 0, {0}},
	{RIG_TUNNEL_UP, true, BY_FURTHER, 5000, 0, {0}},
	{RIG_TUNNEL_UP, false, 0, 5000, 0, {true, RIG_GNB, 0x1000, 2}},
	{RIG_GIVEN, true, BY_LINE, 53, 0, {0}},
	{RIG_GIVEN, true, BY_FURTHER, 53, 0, {0}},
	{RIG_GIVEN_LINE, true, BY_FURTHER, 53, 0, {0}},
	{RIG_GIVEN_LINE, false, 0, 5000, 0, {true, RIG_GNB, 0x1000, 2}},
	// From another UPF to the gNB: this UPF is no hop of the user's path.
	{RIG_TUNNEL_DOWN, false, BY_FURTHER, 53, 0, {true, RIG_GNB, 0x1000, -1, .same_ttl = true}},
	{RIG_TUNNEL_DOWN, true, BY_LINE, 53, 0, {0}},
	{RIG_PLACE, false, 0, 5000, 0, {true, RIG_GNB2, RIG_GNB2_TEID, 2}},
	{RIG_PLACE, false, 0, 53, 0, {true, RIG_GNB, 0x1000, 1}},
	{RIG_RELAY,
	 true,
	 BY_LINE,
	 5000,
	 0x30,
	 {true, RIG_GNB2, RIG_RELAY_TEID, 2, .tos = 0x30, .same_ttl = true}},
	{RIG_RELAY, true, BY_LINE, 53, 0, {true, RIG_GNB2, RIG_RELAY_TEID, 1, .same_ttl = true}},
	{RIG_SOLICIT, true, BY_LINE, 53, 0, {0}}, // what is no solicitation goes on as ever
};

// As the rig writes the rules' addresses where its tunnels are over IPv6.
static struct addr addr6_of(const char *text)
{
	struct addr addr = rig_addr(text);
	const uint8_t *v4 = (const uint8_t *)&addr.v4;
	char v6[ADDR_STRLEN];

	snprintf(v6, sizeof(v6), "fd00:%x::%x", v4[2], v4[3]);
	return rig_addr(v6);
}

static void check_outer4(const struct left *left, const struct ip4_head *ip, uint32_t udp_bytes)
{
	CU_ASSERT_EQUAL(ip4_check(ip, IP4_BYTES + udp_bytes), DROP_NONE);
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(ip->total), IP4_BYTES + udp_bytes);
	CU_ASSERT_EQUAL(ip->src, rig_addr(RIG_N3_ADDR).v4);
	CU_ASSERT_EQUAL(ip->dst, rig_addr(left->to).v4);
	CU_ASSERT_EQUAL(ip->tos, left->tos);
}

static void check_outer6(const struct left *left, const struct ip6_head *ip, uint32_t udp_bytes)
{
	uint64_t pseudo = cksum_pseudo6(ip->src, ip->dst, IPPROTO_UDP, udp_bytes);

	CU_ASSERT_EQUAL(ip6_check(ip, IP6_BYTES + udp_bytes), DROP_NONE);
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(ip->payload), udp_bytes);
	CU_ASSERT_TRUE(ip6_eq(ip->src, rig_addr(RIG_N3_ADDR6).v6));
	CU_ASSERT_TRUE(ip6_eq(ip->dst, addr6_of(left->to).v6));
	CU_ASSERT_EQUAL(rte_be_to_cpu_32(ip->flow), 0x60000000u | (uint32_t)left->tos << 20);
	CU_ASSERT_EQUAL(cksum_fold(pseudo + cksum_bytes(ip + 1, udp_bytes)), 0xffff);
}

static void check_tunnel(const struct rig *rig, const struct left *left, uint32_t n,
			 const uint8_t *frame, uint32_t user_bytes)
{
	const uint8_t *gtpu = frame + rig_gtpu_at(rig);
	const uint8_t *udp = gtpu - UDP_BYTES;
	uint32_t psc = left->qfi < 0 ? 0 : 8;
	uint32_t udp_bytes = UDP_BYTES + GTPU_BYTES + psc + user_bytes;

	if (rig->conf.v6)
		check_outer6(left, (const void *)(frame + ETH_BYTES), udp_bytes);
	else
		check_outer4(left, (const void *)(frame + ETH_BYTES), udp_bytes);
	CU_ASSERT_EQUAL(be16_get(udp + 4), udp_bytes);
	CU_ASSERT_EQUAL(gtpu[0], psc ? GTPU_VERSION | GTPU_F_EXTENSION : GTPU_VERSION);
	CU_ASSERT_EQUAL(gtpu[1], GTPU_GPDU);
	CU_ASSERT_EQUAL(be16_get(gtpu + 2), psc + user_bytes);
	CU_ASSERT_EQUAL(be32_get(gtpu + 4), left->teid + n);
	if (!psc)
		return;
	CU_ASSERT_EQUAL(be32_get(gtpu + 8), GTPU_EXT_PSC);
	CU_ASSERT_EQUAL(be32_get(gtpu + 12),
			0x01000000u | (unsigned)left->qfi << 8 | (left->rqi ? 0x4000u : 0));
}

// `user` is the user packet as it came in.
static void check_left(struct rig *rig, const struct row *row, uint32_t n, bool v6, uint8_t *user,
		       uint32_t user_bytes)
{
	const struct left *left = &row->left;
	uint32_t head = left->tunnel ? rig_user_at(rig, left->qfi < 0 ? PKT_QFI_NONE : 1)
				     : ETH_BYTES;
	uint8_t out[RIG_FRAME_MAX];

	CU_ASSERT_EQUAL_FATAL(rig_recv(rig, left->tunnel ? RIG_N3 : RIG_N6, out),
			      head + user_bytes);
	if (left->tunnel)
		check_tunnel(rig, left, n, out, user_bytes);
	if (!left->same_ttl && v6)
		((struct ip6_head *)user)->hops--;
	else if (!left->same_ttl)
		ip4_ttl_dec((struct ip4_head *)user);
	CU_ASSERT_EQUAL(memcmp(out + head, user, user_bytes), 0);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3) + chain_drain(rig, RIG_N6), 0);
}

static void row_run(const struct row *row, uint32_t n, bool v6, bool over6)
{
	struct rig_flow flow = {.proto = IPPROTO_UDP,
				.ue_port = 7,
				.dn_port = row->port,
				.ttl = 9,
				.tos = row->tos,
				.payload = PAYLOAD,
				.qfi = n & 1 ? 5 : PKT_QFI_NONE,
				.v6 = v6};
	bool tunnelled = row->up || row->by == BY_FURTHER;
	struct rules *rules = rig_variant_new(row->variant, n);
	struct rig *rig = chain_rig_over(2, over6);
	struct rig_session s, by;
	uint8_t in[RIG_FRAME_MAX];
	size_t bytes;

	rig_session_add(rig, n, rules, &s);
	rules_free(rules);
	rig_resolve(rig);
	by = s;
	if (row->by == BY_FURTHER) {
		CU_ASSERT_EQUAL_FATAL(s.n_tunnels, 1);
		by.teid = s.tunnels[0].teid;
	}
	for (unsigned via = 0; via < 2; via++) {
		uint32_t head = tunnelled ? rig_user_at(rig, flow.qfi) : ETH_BYTES;

		bytes = chain_frame(rig, &by, tunnelled, &flow, in);
		rig_send(rig, tunnelled ? RIG_N3 : RIG_N6, via, in, bytes);
		rig_settle(rig);
		check_left(rig, row, n, v6, in + head, (uint32_t)bytes - head);
	}
	CU_ASSERT_EQUAL(rig_count(rig, row->up ? COUNTER_up : COUNTER_down), 2);
	CU_ASSERT_EQUAL(rig_count(rig, row->up ? COUNTER_down : COUNTER_up), 0);
	rig_session_del(rig, &s);
	CU_ASSERT_EQUAL(row->up ? rig->ended.up_packets : rig->ended.down_packets, 2);
	CU_ASSERT_EQUAL(rig->ended.up_packets + rig->ended.down_packets, 2);
	rig_end(rig);
}

// Session numbers in the pools, and beyond them, where a hash finds the UE's addresses.
static void run_rows(uint32_t first)
{
	for (unsigned i = 0; i < RTE_DIM(rows); i++)
		for (unsigned families = 0; families < 4; families++)
			row_run(&rows[i], first + 4 * i + families, families & 1, families & 2);
}

static void in_pools(void)
{
	run_rows(0);
}

static void beyond_pools(void)
{
	run_rows(1 << 20);
}

// Router solicitations come from addresses that are not the UE's; only the rule that is made for them takes them.
static void solicited(bool over6)
{
	static const char *const sources[] = {"fe80::5", "::"};
	struct rules *rules = rig_variant_new(RIG_SOLICIT, 3);
	const struct rig_flow other = {
		.proto = IPPROTO_UDP, .ue_port = 1, .dn_port = 53, .ttl = 64, .qfi = 1, .v6 = true};
	struct rig *rig = chain_rig_over(2, over6);
	uint32_t plain = rig_user_at(rig, PKT_QFI_NONE);
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	struct rig_session s;
	size_t bytes;

	rig_session_add(rig, 3, rules, &s);
	rules_free(rules);
	rig_resolve(rig);
	for (unsigned i = 0; i < RTE_DIM(sources); i++)
		for (unsigned via = 0; via < 2; via++) {
			const struct left left = {true, RIG_SMF, RIG_SMF_TEID, -1};

			bytes = rig_frame_solicit(rig, &s, sources[i], frame);
			rig_send(rig, RIG_N3, via, frame, bytes);
			rig_settle(rig);
			CU_ASSERT_EQUAL_FATAL(rig_recv(rig, RIG_N3, out), plain + IP6_BYTES + 8);
			check_tunnel(rig, &left, 3, out, IP6_BYTES + 8);
			// As it came, its hop limit of 255 too, which proves it to be of the link.
			CU_ASSERT_EQUAL(memcmp(out + plain, frame + plain + 8, IP6_BYTES + 8), 0);
		}
	for (unsigned i = 0; i < 2; i++) { // other packets from such a source are still spoofed
		bytes = rig_frame_up(rig, &s, &other, frame);
		memcpy(frame + plain + 8 + 8, "\xfe\x80\0\0\0\0\0\0", 8);
		rig_send(rig, RIG_N3, i, frame, bytes);
		rig_settle(rig);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_spoofed_source), i + 1);
	}
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void solicitations(void)
{
	solicited(false);
	solicited(true);
}

// Packets by a tunnel match only the PDRs of that tunnel.
static void tunnels_do_not_mix(void)
{
	struct rules *rules = rig_variant_new(RIG_TUNNEL_UP, 0);
	const struct rig_flow flow = {
		.proto = IPPROTO_UDP, .ue_port = 1, .dn_port = 53, .ttl = 64, .qfi = 1};
	struct rig *rig = chain_rig(1);
	struct rig_session s, by;

	rules_pdr_del(rules, 4); // of tunnel 1 there is only the PDR with a filter
	rig_session_add(rig, 0, rules, &s);
	rules_free(rules);
	rig_resolve(rig);
	by = s;
	by.teid = s.tunnels[0].teid;
	CU_ASSERT_EQUAL(chain_forwarded(rig, &by, true, &flow, 0), 1);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &flow, 0), 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_pdr), 1);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"gtpu.md 20: sessions in the pools", in_pools},
	{"sessions beyond the pools", beyond_pools},
	{"router solicitations", solicitations},
	{"tunnels do not mix", tunnels_do_not_mix},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("rules")
