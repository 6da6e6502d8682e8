// Fragments: those of users wait for each other where rules ask for ports, and go on as they came; those of tunnels
// are put together. In any order, by whichever worker each comes in.
//
// The ordinary rules have a PDR for UDP from or to port 5000, and one for all else.

#include "base/clock.h"
#include "chain.h"
#include "fragments.h"
#include "packet/be.h"
#include "pipeline/pipeline.h"
#include "rules/arena.h"

#define PAYLOAD 1600
#define MTU 600 // three pieces
#define TIMEOUT_MS 2000
#define QFI_PORT 2 // of what goes by the PDR that asks for the port
#define QFI_REST 1

static struct rig *rig_gathers(unsigned n_workers, bool over6)
{
	struct rig_conf conf = {
		.n_workers = n_workers,
		.n_slots = 64,
		.n_tunnels = 16,
		.v6 = over6,
		.gather = {.datagrams = 16, .of_one = 4, .pieces = 64, .ms = TIMEOUT_MS}};
	struct rig *rig;

	clock_stop();
	rig = rig_new(&conf);
	rig_resolve(rig);
	return rig;
}

static const unsigned orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}};

// The piece as it leaves: the same packet after one hop.
static void expect_piece(struct rig *rig, const struct pieces *pieces, unsigned i, bool up,
			 unsigned qfi, bool v6)
{
	size_t bytes = pieces->bytes[i] - pieces->at, at = up ? ETH_BYTES : rig_user_at(rig, 1);
	uint8_t out[RIG_FRAME_MAX], in[RIG_FRAME_MAX];

	memcpy(in, pieces->frames[i] + pieces->at, bytes);
	CU_ASSERT_EQUAL_FATAL(rig_recv(rig, up ? RIG_N6 : RIG_N3, out), at + bytes);
	if (v6)
		((struct ip6_head *)in)->hops--;
	else
		ip4_ttl_dec((struct ip4_head *)in);
	CU_ASSERT_EQUAL(memcmp(out + at, in, bytes), 0);
	if (!up)
		CU_ASSERT_EQUAL(out[at - 2], qfi);
}

static void expect_nothing(struct rig *rig)
{
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 0);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);
}

static void user_one(struct rig *rig, const struct rig_session *s, bool up, bool v6, unsigned row,
		     uint16_t port)
{
	struct rig_flow flow = fragment_flow(v6, port, PAYLOAD);
	static struct pieces pieces;

	pieces_of_user(rig, s, up, &flow, MTU, 1000 + row, &pieces);
	CU_ASSERT_EQUAL_FATAL(pieces.n, 3);
	for (unsigned i = 0; i < 3; i++) {
		expect_nothing(rig);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), i);
		piece_send(rig, up ? RIG_N3 : RIG_N6, &pieces, orders[row][i], row + i);
		rig_settle(rig);
	}
	for (unsigned i = 0; i < 3; i++)
		expect_piece(rig, &pieces, i, up, port == 5000 ? QFI_PORT : QFI_REST, v6);
	expect_nothing(rig);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 0);
}

static void of_users(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++)
		for (unsigned over6 = 0; over6 < 2; over6++) {
			struct rig *rig = rig_gathers(n_workers, over6);
			uint64_t n = 0, bytes;
			struct rig_session s;

			rig_session_add(rig, 0, NULL, &s);
			rig_resolve(rig);
			for (unsigned row = 0; row < RTE_DIM(orders); row++)
				for (unsigned k = 0; k < 8; k++, n++)
					user_one(rig, &s, k & 1, k & 2, row, k & 4 ? 5000 : 53);
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_gathered), n);
			rig_session_del(rig, &s);
			// Counted as they are delivered: packet by packet, each with its header.
			bytes = n / 4 * 3 * (2 * IP4_BYTES + 2 * (IP6_BYTES + FRAGMENT6_BYTES)) /
					2 +
				n / 2 * (UDP_BYTES + PAYLOAD);
			CU_ASSERT_EQUAL(rig->ended.up_packets, 3 * n / 2);
			CU_ASSERT_EQUAL(rig->ended.down_packets, 3 * n / 2);
			CU_ASSERT_EQUAL(rig->ended.up_bytes, bytes);
			CU_ASSERT_EQUAL(rig->ended.down_bytes, bytes);
			rig_end(rig);
		}
}

// Pieces of several datagrams, of two sessions with the same identification, at once.
static void interleaved(void)
{
	enum { EACH = 3 };
	struct rig *rig = rig_gathers(2, false);
	static struct pieces pieces[2][EACH];
	struct rig_session s[2];

	for (unsigned i = 0; i < 2; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	rig_resolve(rig);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < EACH; k++) {
			struct rig_flow flow = fragment_flow(k & 1, 5000, PAYLOAD);

			pieces_of_user(rig, &s[i], false, &flow, MTU, k, &pieces[i][k]);
		}
	for (unsigned p = 3; p-- > 0;)
		for (unsigned k = 0; k < EACH; k++)
			for (unsigned i = 0; i < 2; i++)
				piece_send(rig, RIG_N6, &pieces[i][k], p, p + k);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_gathered), 2 * EACH);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 3 * 2 * EACH);
	for (unsigned i = 0; i < 2; i++)
		rig_session_del(rig, &s[i]);
	rig_end(rig);
}

// Without a rule that asks for ports each goes through by itself; so it is where nothing is gathered.
static void not_asked(void)
{
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned up = 0; up < 2; up++) {
			struct rig *rig = rig_gathers(1, false);
			struct rules *rules = rig_rules_new(0);
			struct rig_flow flow = fragment_flow(v6, 53, PAYLOAD);
			static struct pieces pieces;
			struct rig_session s;

			rules_pdr_del(rules, 1);
			rules_pdr_del(rules, 3);
			rig_session_add(rig, 0, rules, &s);
			rig_resolve(rig);
			pieces_of_user(rig, &s, up, &flow, MTU, 9, &pieces);
			for (unsigned i = 3; i-- > 0;) {
				piece_send(rig, up ? RIG_N3 : RIG_N6, &pieces, i, 0);
				rig_settle(rig);
				expect_piece(rig, &pieces, i, up, QFI_REST, v6);
			}
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_gathered), 0);
			rules_free(rules);
			rig_session_del(rig, &s);
			rig_end(rig);
		}
}

// Only what the rules say of the whole decides: none of the pieces gets through where the whole would not.
static void no_rule(void)
{
	struct rig *rig = rig_gathers(2, false);
	struct rules *rules = rig_variant_new(RIG_NO_PDR, 0);
	static struct pieces pieces;
	struct rig_session s;

	rig_session_add(rig, 0, rules, &s);
	rig_resolve(rig);
	for (unsigned k = 0; k < 8; k++) {
		bool up = k & 1, v6 = k & 2, passes = k & 4;
		struct rig_flow flow = fragment_flow(v6, passes ? 5000 : 53, PAYLOAD);
		uint64_t before = rig_drops(rig, DROP_no_pdr);

		pieces_of_user(rig, &s, up, &flow, MTU, k, &pieces);
		for (unsigned i = 0; i < 3; i++)
			piece_send(rig, up ? RIG_N3 : RIG_N6, &pieces, i, i);
		rig_settle(rig);
		CU_ASSERT_EQUAL(chain_drain(rig, up ? RIG_N6 : RIG_N3), passes ? 3 : 0);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_pdr), before + !passes); // then all end
	}
	rules_free(rules);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// From UE to UE: both sessions' rules see the whole.
static void between_ues(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++) {
		struct rig *rig = rig_gathers(n_workers, false);
		static struct pieces pieces;
		struct rig_session s[2];

		for (unsigned i = 0; i < 2; i++)
			rig_session_add(rig, i, NULL, &s[i]);
		rig_resolve(rig);
		for (unsigned v6 = 0; v6 < 2; v6++) {
			struct rig_flow flow = fragment_flow(v6, 4000, PAYLOAD);
			struct addr dst = v6 ? s[1].ue_v6 : s[1].ue_v4;
			char text[ADDR_STRLEN];

			flow.ue_port = 5000; // for the other this is the network's port
			flow.dn = addr_str(text, &dst);
			pieces_of_user(rig, &s[0], true, &flow, MTU, 5, &pieces);
			for (unsigned i = 0; i < 3; i++)
				piece_send(rig, RIG_N3, &pieces, orders[1][i], i);
			rig_settle(rig);
			for (unsigned i = 0; i < 3; i++)
				expect_piece(rig, &pieces, i, false, QFI_PORT, v6);
			expect_nothing(rig);
		}
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_gathered), 4);
		for (unsigned i = 0; i < 2; i++)
			rig_session_del(rig, &s[i]);
		rig_end(rig);
	}
}

// For a UE that is idle they are held, and gathered anew by the rules that it wakes up with.
static void held_for_a_ue(void)
{
	struct rig *rig = rig_gathers(2, false);
	struct rules *idle = rig_rules_new(0), *awake = rig_rules_new(0);
	struct rig_flow flow = fragment_flow(false, 5000, PAYLOAD);
	static struct pieces pieces;
	struct rig_session s;

	rules_far_lookup(idle, 1)->action = APPLY_BUFF | APPLY_NOCP;
	rig_session_add(rig, 0, idle, &s);
	rig_resolve(rig);
	pieces_of_user(rig, &s, false, &flow, MTU, 5, &pieces);
	for (unsigned i = 0; i < 3; i++)
		piece_send(rig, RIG_N6, &pieces, orders[2][i], i);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 3);
	CU_ASSERT_EQUAL(rig->n_told, 1);
	rig_session_change(rig, &s, awake);
	rig_resolve(rig);
	for (unsigned i = 0; i < 3; i++)
		expect_piece(rig, &pieces, i, false, QFI_PORT, false);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_gathered), 2);
	rules_free(idle);
	rules_free(awake);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// The session ends and another gets its slot and its address between the pieces: they are not mixed.
static void slot_reused(void)
{
	struct rig_conf conf = {
		.n_workers = 1,
		.n_slots = 1,
		.n_tunnels = 1,
		.gather = {.datagrams = 8, .of_one = 8, .pieces = 64, .ms = TIMEOUT_MS}};
	struct rig_flow flow = fragment_flow(false, 5000, PAYLOAD);
	struct rig_session old, next;
	static struct pieces pieces;
	struct rig *rig;

	clock_stop();
	rig = rig_new(&conf);
	rig_session_add(rig, 0, NULL, &old);
	rig_resolve(rig);
	pieces_of_user(rig, &old, false, &flow, MTU, 5, &pieces);
	piece_send(rig, RIG_N6, &pieces, 0, 0);
	rig_settle(rig);
	rig_session_del(rig, &old);
	rig_session_add(rig, 0, NULL, &next);
	rig_resolve(rig);
	CU_ASSERT_EQUAL(next.slot.index, old.slot.index);
	for (unsigned i = 1; i < 3; i++)
		piece_send(rig, RIG_N6, &pieces, i, 0);
	rig_settle(rig);
	expect_nothing(rig);
	piece_send(rig, RIG_N6, &pieces, 0, 0);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 3);
	clock_warp_ns(TIMEOUT_MS * (int64_t)NS_PER_MS);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_reassembly_timeout), 1);
	rig_session_del(rig, &next);
	rig_end(rig);
}

// --- tunnels ---------------------------------------------------------------------------------------------

static void tunnel_one(struct rig *rig, const struct rig_session *s, bool v6, unsigned row)
{
	struct rig_flow flow = fragment_flow(v6, 5000, PAYLOAD - 200);
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	size_t bytes = rig_frame_up(rig, s, &flow, frame), at = rig_user_at(rig, 1);
	static struct pieces pieces;

	pieces_of_tunnel(rig, s, &flow, MTU, 77 + row, &pieces);
	CU_ASSERT_EQUAL_FATAL(pieces.n, 3);
	for (unsigned i = 0; i < 3; i++) {
		expect_nothing(rig);
		piece_send(rig, RIG_N3, &pieces, orders[row][i], row + i);
		rig_settle(rig);
	}
	CU_ASSERT_EQUAL_FATAL(rig_recv(rig, RIG_N6, out), ETH_BYTES + bytes - at);
	if (v6)
		((struct ip6_head *)(frame + at))->hops--;
	else
		ip4_ttl_dec((struct ip4_head *)(frame + at));
	CU_ASSERT_EQUAL(memcmp(out + ETH_BYTES, frame + at, bytes - at), 0);
	expect_nothing(rig);
}

static void of_tunnels(void)
{
	for (unsigned n_workers = 1; n_workers <= 3; n_workers++)
		for (unsigned over6 = 0; over6 < 2; over6++) {
			struct rig *rig = rig_gathers(n_workers, over6);
			struct rig_session s[2];
			unsigned n = 0;

			for (unsigned i = 0; i < 2; i++)
				rig_session_add(rig, i, NULL, &s[i]);
			rig_resolve(rig);
			for (unsigned row = 0; row < RTE_DIM(orders); row++)
				for (unsigned k = 0; k < 4; k++, n++)
					tunnel_one(rig, &s[k & 1], k & 2, row);
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_reassembled), n);
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_up), n);
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 0);
			for (unsigned i = 0; i < 2; i++)
				rig_session_del(rig, &s[i]);
			rig_end(rig);
		}
}

// A fragment of a user's packet in a tunnel's packet that comes in fragments.
static void of_both(void)
{
	struct rig *rig = rig_gathers(2, false);
	struct rig_flow flow = fragment_flow(false, 5000, PAYLOAD);
	static struct pieces pieces, outer;
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	pieces_of_user(rig, &s, true, &flow, 1000, 3, &pieces);
	for (unsigned i = 0; i < pieces.n; i++) {
		uint32_t at = 0, bytes;

		outer = (struct pieces){.at = ETH_BYTES};
		while ((bytes = pieces_next(pieces.frames[i] + ETH_BYTES, 500, 50 + i, &at,
					    outer.frames[outer.n] + ETH_BYTES))) {
			memcpy(outer.frames[outer.n], pieces.frames[i], ETH_BYTES);
			outer.bytes[outer.n++] = ETH_BYTES + bytes;
		}
		for (unsigned k = outer.n; k-- > 0;)
			piece_send(rig, RIG_N3, &outer, k, k);
	}
	rig_settle(rig);
	for (unsigned i = 0; i < pieces.n; i++)
		expect_piece(rig, &pieces, i, true, 0, false);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_reassembled), pieces.n);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_gathered), 1);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// What is whole is judged as any other packet: here by its UDP checksum, over IPv6.
static void checksum_of_the_whole(void)
{
	for (unsigned wrong = 0; wrong < 2; wrong++) {
		struct rig *rig = rig_gathers(1, true);
		struct rig_flow flow = fragment_flow(false, 5000, 1000);
		uint8_t frame[RIG_FRAME_MAX];
		struct rig_session s;
		size_t bytes;

		rig_session_add(rig, 0, NULL, &s);
		rig_resolve(rig);
		bytes = rig_frame_up(rig, &s, &flow, frame);

		const struct ip6_head *ip = (const struct ip6_head *)(frame + ETH_BYTES);
		struct udp_head *udp = (struct udp_head *)(frame + ETH_BYTES + IP6_BYTES);
		uint32_t at = 0, n, udp_length = (uint32_t)(bytes - ETH_BYTES - IP6_BYTES);
		uint8_t piece[RIG_FRAME_MAX];

		udp->cksum =
			cksum_finish_udp(cksum_pseudo6(ip->src, ip->dst, IPPROTO_UDP, udp_length) +
					 cksum_bytes(udp, udp_length));
		udp->cksum = (rte_be16_t)(udp->cksum ^ (wrong ? 0x0101 : 0));
		while ((n = fragment6_next(ip, 700, 8, &at, piece + ETH_BYTES))) {
			memcpy(piece, frame, ETH_BYTES);
			rig_send(rig, RIG_N3, 0, piece, ETH_BYTES + n);
		}
		rig_settle(rig);
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), !wrong);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_bad_udp_checksum), wrong);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

// Random pieces of random datagrams, with copies and overlaps: nothing is lost without a name, nothing wrong is
// made, and what comes whole and unspoilt at the end goes through.
static void at_random(void)
{
	struct rig *rig = rig_gathers(2, false);
	static struct pieces pieces[8];
	unsigned seed = 7;
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned round = 0; round < 300; round++) {
		for (unsigned i = 0; i < RTE_DIM(pieces); i++) {
			struct rig_flow flow = fragment_flow(i & 1, 5000, 100 + 37 * (round % 40));

			pieces_of_user(rig, &s, i & 2, &flow, 296 + 8 * (round % 9 + i), round / 3,
				       &pieces[i]);
		}
		for (unsigned k = 0; k < 90; k++) {
			unsigned i = (seed = seed * 1103515245 + 12345) >> 16 & 7;
			unsigned p = (seed >> 24) % pieces[i].n;

			piece_send(rig, i & 2 ? RIG_N3 : RIG_N6, &pieces[i], p, seed >> 20);
		}
		rig_settle(rig);
		CU_ASSERT_TRUE_FATAL(rig_accounted(rig));
		clock_warp_ns(100 * (int64_t)NS_PER_MS);
		chain_drain(rig, RIG_N3);
		chain_drain(rig, RIG_N6);
	}
	clock_warp_ns(TIMEOUT_MS * (int64_t)NS_PER_MS);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 0);
	CU_ASSERT_TRUE(rig_count(rig, COUNTER_gathered) > 100);
	chain_drain(rig, RIG_N3);
	chain_drain(rig, RIG_N6);
	for (unsigned k = 0; k < 4; k++)
		user_one(rig, &s, k & 1, k & 2, 0, 5000);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"of users", of_users},
	{"several at once", interleaved},
	{"where no rule asks", not_asked},
	{"no rule for the whole", no_rule},
	{"between UEs", between_ues},
	{"held for a UE", held_for_a_ue},
	{"a slot reused between pieces", slot_reused},
	{"of tunnels", of_tunnels},
	{"of both", of_both},
	{"checksum of the whole", checksum_of_the_whole},
	{"at random", at_random},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("reassembly")
