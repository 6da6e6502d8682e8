// The ends of fragments that do not become a packet: each by its name, and what comes after them goes through.
//
// Bounds are small here, and time is moved. The rig's rules ask for ports both ways.

#include "base/clock.h"
#include "chain.h"
#include "fragments.h"
#include "packet/be.h"

#define GATHER_OF_ONE 2
#define GATHER_ALL 3
#define GATHER_PIECES_ALL 8
#define GATHER_MS 1000

static uint64_t all_drops(const struct rig *rig)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < DROP_REASONS; i++)
		n += rig_drops(rig, i);
	return n;
}

static struct rig *rig_gathers(unsigned pieces)
{
	struct rig_conf conf = {.n_workers = 1,
				.n_slots = 8,
				.n_tunnels = 1,
				.gather = {.datagrams = GATHER_ALL,
					   .of_one = GATHER_OF_ONE,
					   .pieces = pieces,
					   .ms = GATHER_MS}};
	struct rig *rig;

	clock_stop();
	rig = rig_new(&conf);
	rig_resolve(rig);
	return rig;
}

// The whole is forwarded after all that came before.
static void expect_gathers(struct rig *rig, const struct rig_session *s, bool v6)
{
	struct rig_flow flow = fragment_flow(v6, 5000, 900);
	static struct pieces pieces;

	pieces_of_user(rig, s, false, &flow, 600, 0x4321, &pieces);
	for (unsigned i = 0; i < pieces.n; i++)
		piece_send(rig, RIG_N6, &pieces, i, 0);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), pieces.n);
}

static void expect_reason(const struct rig *rig, enum drop reason, uint64_t n)
{
	CU_ASSERT_EQUAL(rig_drops(rig, reason), n);
	CU_ASSERT_EQUAL(all_drops(rig), n);
}

// Where one more piece of so many bytes begins, after the first 576 of 900 and the last.
static const struct bad_piece {
	uint32_t offset, bytes;
	bool more;
} bad_pieces[] = {
	{568, 16, true},   // overlaps the one before
	{0, 8, true},      // within it, from its start
	{568, 8, true},    // within it, at its end
	{904, 8, true},    // beyond the last
	{576, 340, false}, // another last
	{0, 1400, true},   // over all
	{576, 9, true},    // no multiple of 8
	{65528, 24, true}, // more than a packet can be
};

static void bad_piece_write(uint8_t *frame, const struct bad_piece *bad, size_t *ret_bytes)
{
	uint8_t *ip = frame + ETH_BYTES;

	if (*ip >> 4 == 4) {
		be16_put(ip + 2, (uint16_t)(IP4_BYTES + bad->bytes));
		be16_put(ip + 6, (uint16_t)(bad->offset / 8 | (bad->more ? IP4_MORE : 0)));
		ip4_sum_right(ip);
		*ret_bytes = ETH_BYTES + IP4_BYTES + bad->bytes;
		return;
	}
	be16_put(ip + 4, (uint16_t)(FRAGMENT6_BYTES + bad->bytes));
	be16_put(ip + IP6_BYTES + 2, (uint16_t)(bad->offset | bad->more));
	*ret_bytes = ETH_BYTES + IP6_BYTES + FRAGMENT6_BYTES + bad->bytes;
}

static void bad_pieces_one(const struct bad_piece *bad, bool v6)
{
	struct rig *rig = rig_gathers(GATHER_PIECES_ALL);
	uint32_t head = v6 ? IP6_BYTES + FRAGMENT6_BYTES : IP4_BYTES;
	struct rig_flow flow = fragment_flow(v6, 5000, 900 - UDP_BYTES);
	bool impossible = (bad->more && bad->bytes % 8) || bad->offset > 65000;
	static struct pieces pieces;
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	pieces_of_user(rig, &s, false, &flow, head + 576, 5, &pieces);
	CU_ASSERT_EQUAL_FATAL(pieces.n, 2);
	memcpy(pieces.frames[2], pieces.frames[0], RIG_FRAME_MAX);
	bad_piece_write(pieces.frames[2], bad, &pieces.bytes[2]);
	// With the first piece, or the last, but never both.
	piece_send(rig, RIG_N6, &pieces, bad->offset >= 576, 0);
	piece_send(rig, RIG_N6, &pieces, 2, 0);
	rig_settle(rig);
	expect_reason(rig, DROP_reassembly_bad, impossible ? 1 : 2);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), impossible);
	clock_warp_ns(GATHER_MS * (int64_t)NS_PER_MS);
	rig_settle(rig);
	expect_gathers(rig, &s, v6);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void fragments_bad(void)
{
	for (unsigned i = 0; i < RTE_DIM(bad_pieces); i++)
		for (unsigned v6 = 0; v6 < 2; v6++)
			bad_pieces_one(&bad_pieces[i], v6);
}

// TCP whose first fragment does not have its flags (RFC 3128).
static void fragments_tiny(void)
{
	struct rig *rig = rig_gathers(GATHER_PIECES_ALL);
	struct rig_flow flow = fragment_flow(false, 5000, 100);
	static struct pieces pieces;
	struct rig_session s;
	size_t bytes;

	flow.proto = IPPROTO_TCP;
	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	bytes = rig_frame_down(rig, &s, &flow, pieces.frames[0]);
	memcpy(pieces.frames[1], pieces.frames[0], bytes);
	bad_piece_write(pieces.frames[0], &(struct bad_piece){0, 8, true}, &pieces.bytes[0]);
	bad_piece_write(pieces.frames[1], &(struct bad_piece){8, 100, false}, &pieces.bytes[1]);
	for (unsigned i = 0; i < 2; i++)
		piece_send(rig, RIG_N6, &pieces, i, 0);
	rig_settle(rig);
	expect_reason(rig, DROP_reassembly_bad, 2);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// A copy ends alone; what has not come in time ends together.
static void fragments_late(void)
{
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct rig *rig = rig_gathers(GATHER_PIECES_ALL);
		struct rig_flow flow = fragment_flow(v6, 5000, 1400);
		static struct pieces pieces;
		struct rig_session s;

		rig_session_add(rig, 0, NULL, &s);
		rig_resolve(rig);
		pieces_of_user(rig, &s, false, &flow, 600, 5, &pieces);
		for (unsigned i = 0; i < 4; i++)
			piece_send(rig, RIG_N6, &pieces, i & 1, 0);
		rig_settle(rig);
		expect_reason(rig, DROP_reassembly_duplicate, 2);
		clock_warp_ns((GATHER_MS - 1) * (int64_t)NS_PER_MS);
		rig_settle(rig);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 2);
		clock_warp_ns((int64_t)NS_PER_MS);
		rig_settle(rig);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_reassembly_timeout), 2);
		CU_ASSERT_EQUAL(all_drops(rig), 4);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 0);
		expect_gathers(rig, &s, v6);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

// One session's datagrams, all sessions', and all pieces are bounded; the other kind has room of its own.
static void fragments_too_many(void)
{
	struct rig *rig = rig_gathers(GATHER_PIECES_ALL);
	struct rig_flow flow = fragment_flow(false, 5000, 1400);
	static struct pieces pieces;
	struct rig_session s[3];

	for (unsigned i = 0; i < 3; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	rig_resolve(rig);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned id = 0; id < GATHER_OF_ONE + 1; id++) {
			pieces_of_user(rig, &s[i], false, &flow, 600, id, &pieces);
			piece_send(rig, RIG_N6, &pieces, 0, 0);
		}
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), GATHER_ALL);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_reassembly_full), 1);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_reassembly_no_room), 9 - GATHER_ALL - 1);
	flow.payload = 1300;
	pieces_of_tunnel(rig, &s[0], &flow, 700, 5, &pieces);
	for (unsigned i = 0; i < pieces.n; i++)
		piece_send(rig, RIG_N3, &pieces, i, 0);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 1);
	clock_warp_ns(GATHER_MS * (int64_t)NS_PER_MS);
	rig_settle(rig);
	expect_gathers(rig, &s[0], true);
	for (unsigned i = 0; i < 3; i++)
		rig_session_del(rig, &s[i]);
	rig_end(rig);
}

// Of one datagram no more pieces than there are buffers for, nor than one may have.
static void fragments_too_small(void)
{
	for (unsigned room = 0; room < 2; room++) {
		struct rig *rig = rig_gathers(room ? 200 : GATHER_PIECES_ALL);
		struct rig_flow flow = fragment_flow(false, 5000, 1400);
		uint64_t most = room ? GATHER_PIECES : GATHER_PIECES_ALL;
		uint8_t frame[RIG_FRAME_MAX];
		struct rig_session s;
		size_t bytes;

		rig_session_add(rig, 0, NULL, &s);
		rig_resolve(rig);
		rig_frame_down(rig, &s, &flow, frame);
		for (uint32_t i = 0; i < most + 1; i++) {
			bad_piece_write(frame, &(struct bad_piece){8 * i, 8, true}, &bytes);
			rig_send(rig, RIG_N6, 0, frame, bytes);
		}
		rig_settle(rig);
		expect_reason(rig, room ? DROP_reassembly_bad : DROP_reassembly_no_room,
			      room ? most + 1 : 1);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), room ? 0 : most);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

// A tunnel's packet that no buffer holds, and fragments to where no tunnel ends.
static void fragments_of_tunnels(void)
{
	for (unsigned over6 = 0; over6 < 2; over6++) {
		struct rig_conf conf = {
			.n_workers = 2,
			.n_slots = 8,
			.v6 = over6,
			.gather = {.datagrams = 8, .of_one = 8, .pieces = 64, .ms = 1000}};
		struct rig *rig = rig_new(&conf);
		struct rig_flow flow = fragment_flow(false, 5000, 1400);
		static struct pieces pieces;
		struct rig_session s;

		rig_session_add(rig, 0, NULL, &s);
		rig_resolve(rig);
		pieces_of_tunnel(rig, &s, &flow, 1000, 5, &pieces);
		memcpy(pieces.frames[2], pieces.frames[0], RIG_FRAME_MAX);
		pieces.bytes[2] = pieces.bytes[0];
		for (unsigned i = 0; i < 3; i++) { // three pieces as long as the first
			uint8_t *ip = pieces.frames[i] + ETH_BYTES;
			uint32_t part = over6 ? 952 : 976;
			bool more = i < 2;

			memcpy(pieces.frames[i], pieces.frames[2], ETH_BYTES + 60);
			pieces.bytes[i] = pieces.bytes[2];
			if (over6)
				be16_put(ip + IP6_BYTES + 2, (uint16_t)(i * part | more));
			else
				be16_put(ip + 6, (uint16_t)(i * part / 8 | (more ? IP4_MORE : 0)));
			if (!over6)
				ip4_sum_right(ip);
			piece_send(rig, RIG_N3, &pieces, i, i);
		}
		rig_settle(rig);
		expect_reason(rig, DROP_reassembly_too_long, 3);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 0);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

static CU_TestInfo tests[] = {
	{"bad fragments", fragments_bad},
	{"tiny fragments", fragments_tiny},
	{"late fragments", fragments_late},
	{"too many fragmented packets", fragments_too_many},
	{"too many fragments", fragments_too_small},
	{"fragments of tunnels", fragments_of_tunnels},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("reassembly ends")
