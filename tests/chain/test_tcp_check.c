// TCP connections through the whole data path: handshake, transfer, close, reset, what comes from elsewhere, and how
// long a flow lives by where its connection stands.
//
// The test's thread, with warped time. Rows go over v4/v6, who opens, and one or two workers. What becomes of each
// segment by its numbers is tests/unit/test_tcp_conn.c's.

#include "base/clock.h"
#include "chain.h"
#include "fragments.h"
#include "packet/tcp.h"
#include "pipeline/pipeline.h"
#include "rows.h"
#include "session/tcp_conn.h"
#include "worker/flows.h"

#define F TCP_FIN
#define S TCP_SYN
#define R TCP_RST
#define A TCP_ACK

#define FIRST_UP 0xfffffff0u // numbers of the sides: one of them wraps soon
#define FIRST_DOWN 5000u
#define SERVICES_TCP (SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle) | SERVICE_MASK(tcp_check))

struct bed {
	struct row row; // up: the UE opens
	struct rig *rig;
	struct rig_session session;
	struct rig_flow flow;
	uint32_t refused; // segments, so far
};

static void bed_open(struct bed *b, const struct row *row, bool strict)
{
	const struct rig_conf conf = {
		.n_workers = row->workers,
		.n_slots = 8,
		.n_tunnels = 4,
		.services = SERVICES_TCP,
		.flow_profile = {.tcp_pick_up = !strict},
	};

	*b = (struct bed){.row = *row,
			  .flow = {.proto = IPPROTO_TCP,
				   .ue_port = 40000,
				   .dn_port = 80,
				   .ttl = 64,
				   .qfi = 1,
				   .v6 = row->v6}};
	b->rig = chain_rig_stopped(&conf);
	chain_session_add(b->rig, 0, NULL, &b->session);
}

static void bed_close(struct bed *b)
{
	rig_session_del(b->rig, &b->session);
	rig_end(b->rig);
}

static struct flows *flows_of(const struct bed *b)
{
	return &b->rig->control.workers[b->session.slot.owner]->flows;
}

// The flow of the session that was made last; 0: there is none.
static uint32_t number_of(const struct bed *b)
{
	return flows_of(b)->sessions[b->session.slot.index].first;
}

static const struct flow *line_of(const struct bed *b)
{
	return &flows_of(b)->table.flows[number_of(b)];
}

static enum conn_state state_of(const struct bed *b)
{
	const struct tcp_conn *conn = flow_record(flows_of(b), SERVICE_BIT_tcp_check, number_of(b),
						  sizeof(*conn));

	return conn->state;
}

// --- segments --------------------------------------------------------------------------------------------

// What a segment carries besides.
struct extra {
	unsigned bytes;         // payload
	const uint8_t *options; // of TCP, a multiple of 4
	unsigned option_bytes;
	bool ip_options; // NOPs in IPv4, an empty destination header in IPv6
};

// The frame, its numbers counted from the sides' first; where its TCP header is in *ret_tcp.
static size_t segment(const struct bed *b, bool up, uint8_t flags, uint32_t seq, uint32_t ack,
		      const struct extra *extra, uint8_t *frame, struct tcp_head **ret_tcp)
{
	struct rig_flow flow = b->flow;
	size_t user = up ? rig_user_at(b->rig, flow.qfi) : ETH_BYTES, bytes;
	struct tcp_head *tcp =
		(struct tcp_head *)(frame + user + (flow.v6 ? IP6_BYTES : IP4_BYTES));

	flow.payload = (uint16_t)(extra->bytes + extra->option_bytes);
	bytes = chain_frame(b->rig, &b->session, up, &flow, frame);
	tcp->seq = rte_cpu_to_be_32((up ? FIRST_UP : FIRST_DOWN) + seq);
	tcp->ack = rte_cpu_to_be_32(flags & A ? (up ? FIRST_DOWN : FIRST_UP) + ack : 0);
	tcp->offset = (uint8_t)((TCP_BYTES + extra->option_bytes) / 4 << 4);
	tcp->flags = flags;
	tcp->window = rte_cpu_to_be_16(1000);
	if (extra->option_bytes)
		memcpy(tcp + 1, extra->options, extra->option_bytes);
	*ret_tcp = tcp;
	return bytes;
}

// Puts eight bytes of options behind the user's IP header.
static size_t options_put(const struct bed *b, bool up, uint8_t *frame, size_t bytes)
{
	size_t user = up ? rig_user_at(b->rig, b->flow.qfi) : ETH_BYTES;
	uint8_t *ip = frame + user, *at = ip + (b->flow.v6 ? IP6_BYTES : IP4_BYTES);
	static const uint8_t header6[8] = {IPPROTO_TCP, 0, 1, 4, 0, 0, 0, 0};

	memmove(at + 8, at, bytes - (size_t)(at - frame));
	bytes += 8;
	if (b->flow.v6) {
		memcpy(at, header6, 8);
		ip[6] = IPPROTO_DSTOPTS;
		be16_put(ip + 4, (uint16_t)(be16_get(ip + 4) + 8));
	} else {
		memset(at, 1, 8);
		ip[0] = 0x47;
		be16_put(ip + 2, (uint16_t)(be16_get(ip + 2) + 8));
		ip4_sum_right(ip);
	}
	if (up) {
		uint8_t *gtpu = frame + rig_gtpu_at(b->rig);

		be16_put(gtpu + 2, (uint16_t)(be16_get(gtpu + 2) + 8));
		rig_outer_write(b->rig, GTPU_PORT, bytes - rig_gtpu_at(b->rig), frame);
	}
	return bytes;
}

// Sends it by any worker; whether it came through. What does not is refused by that name.
static bool sent(struct bed *b, bool up, const uint8_t *frame, size_t bytes, enum drop why)
{
	static unsigned via;
	uint64_t before = rig_drops(b->rig, why);
	bool out;

	rig_send(b->rig, up ? RIG_N3 : RIG_N6, via++ % b->row.workers, frame, bytes);
	rig_settle(b->rig);
	out = chain_drain(b->rig, up ? RIG_N6 : RIG_N3) == 1;
	CU_ASSERT_EQUAL(rig_drops(b->rig, why), before + !out);
	return out;
}

static bool passes_with(struct bed *b, unsigned side, uint8_t flags, uint32_t seq, uint32_t ack,
			const struct extra *extra, enum drop why)
{
	bool up = b->row.up == (side == 0);
	uint8_t frame[RIG_FRAME_MAX];
	struct tcp_head *tcp;
	size_t bytes = segment(b, up, flags, seq, ack, extra, frame, &tcp);

	if (extra->ip_options)
		bytes = options_put(b, up, frame, bytes);
	return sent(b, up, frame, bytes, why);
}

// `side` 0 is the opener's.
static bool passes(struct bed *b, unsigned side, uint8_t flags, uint32_t seq, uint32_t ack)
{
	const struct extra extra = {0};

	return passes_with(b, side, flags, seq, ack, &extra, DROP_tcp_out_of_window);
}

static void stands(const struct bed *b, enum conn_state state, enum flow_class class)
{
	CU_ASSERT_NOT_EQUAL_FATAL(number_of(b), 0);
	CU_ASSERT_EQUAL(state_of(b), state);
	CU_ASSERT_EQUAL(flow_class_of(line_of(b)), class);
}

static void shake(struct bed *b)
{
	CU_ASSERT_TRUE(passes(b, 0, S, 0, 0));
	CU_ASSERT_TRUE(passes(b, 1, S | A, 0, 1));
	CU_ASSERT_TRUE(passes(b, 0, A, 1, 1));
	stands(b, CONN_ESTABLISHED, FLOW_TCP_ESTABLISHED);
}

// The flow ends so long after its last packet: not before, and no later than 10 ms after.
static void ends_after(struct bed *b, int64_t ms)
{
	chain_warp_ms(b->rig, ms - 1);
	CU_ASSERT_EQUAL(flows_of(b)->table.used, 1);
	chain_warp_ms(b->rig, 11);
	CU_ASSERT_EQUAL(flows_of(b)->table.used, 0);
}

// --- tests -----------------------------------------------------------------------------------------------

static void life_row(const struct row *row)
{
	struct extra data = {.bytes = 500};
	struct bed b;

	bed_open(&b, row, true);
	CU_ASSERT_TRUE(passes(&b, 0, S, 0, 0));
	stands(&b, CONN_SYN_SENT, FLOW_EMBRYONIC);
	CU_ASSERT_EQUAL(line_of(&b)->chain, SERVICE_MASK(tcp_check));
	CU_ASSERT_TRUE(passes(&b, 1, S | A, 0, 1));
	stands(&b, CONN_SYN_RECEIVED, FLOW_EMBRYONIC); // both have spoken, and yet
	CU_ASSERT_TRUE(passes(&b, 0, A, 1, 1));
	stands(&b, CONN_ESTABLISHED, FLOW_TCP_ESTABLISHED);
	for (uint32_t i = 0; i < 20; i++) { // past where numbers wrap, and a turn of the wheel
		CU_ASSERT_TRUE(passes_with(&b, 0, A, 1 + 500 * i, 1 + 500 * i, &data, DROP_NONE));
		CU_ASSERT_TRUE(passes_with(&b, 1, A, 1 + 500 * i, 501 + 500 * i, &data, DROP_NONE));
		chain_warp_ms(b.rig, 60000);
	}
	CU_ASSERT_TRUE(passes(&b, 1, A | F, 10001, 10001));
	stands(&b, CONN_OTHER_CLOSED, FLOW_TCP_CLOSING);
	CU_ASSERT_TRUE(passes_with(&b, 0, A, 10001, 10002, &data, DROP_NONE));
	CU_ASSERT_TRUE(passes(&b, 0, A | F, 10501, 10002));
	stands(&b, CONN_BOTH_CLOSED, FLOW_TCP_CLOSING);
	CU_ASSERT_TRUE(passes(&b, 1, A, 10002, 10502));
	stands(&b, CONN_TIME_WAIT, FLOW_TCP_CLOSING);
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_made), 1);
	CU_ASSERT_TRUE(passes(&b, 0, S, 20000, 0)); // the ports are used again
	stands(&b, CONN_SYN_SENT, FLOW_EMBRYONIC);
	CU_ASSERT_TRUE(passes(&b, 1, S | A, 20000, 20001));
	CU_ASSERT_TRUE(passes(&b, 0, A, 20001, 20001));
	stands(&b, CONN_ESTABLISHED, FLOW_TCP_ESTABLISHED);
	bed_close(&b);
}

static void test_life(void)
{
	rows_each(life_row);
}

static void times_row(const struct row *row)
{
	struct extra last = {.bytes = 500};
	struct bed b;

	bed_open(&b, row, true);
	passes(&b, 0, S, 0, 0);
	chain_warp_ms(b.rig, 3000);
	passes(&b, 0, S, 0, 0); // once more
	ends_after(&b, RIG_EMBRYONIC_MS);

	passes(&b, 0, S, 0, 0);
	passes(&b, 1, S | A, 0, 1);
	ends_after(&b, RIG_EMBRYONIC_MS);

	shake(&b);
	chain_warp_ms(b.rig, RIG_TCP_ESTABLISHED_MS - 1);
	passes(&b, 1, A, 1, 1);
	ends_after(&b, RIG_TCP_ESTABLISHED_MS);

	shake(&b);
	passes(&b, 0, A | F, 1, 1);
	chain_warp_ms(b.rig, RIG_TCP_CLOSING_MS - 1);
	passes(&b, 1, A, 1, 2); // half closed, and used
	ends_after(&b, RIG_TCP_CLOSING_MS);

	shake(&b);
	passes(&b, 0, A | F, 1, 1);
	passes(&b, 1, A | F, 1, 2);
	passes(&b, 0, A, 2, 2);
	ends_after(&b, RIG_TCP_CLOSING_MS);

	shake(&b);
	passes_with(&b, 0, A | F, 1, 1, &last, DROP_NONE); // the last data beside it
	passes(&b, 1, A | F, 1, 502);
	stands(&b, CONN_BOTH_CLOSED, FLOW_TCP_CLOSING);
	passes(&b, 0, A, 502, 2);
	stands(&b, CONN_TIME_WAIT, FLOW_TCP_CLOSING);
	ends_after(&b, RIG_TCP_CLOSING_MS);

	for (unsigned side = 0; side < 2; side++) {
		shake(&b);
		passes(&b, side, R, 1, 0);
		stands(&b, CONN_RESET, FLOW_TCP_CLOSING);
		ends_after(&b, RIG_TCP_CLOSING_MS);
	}

	passes(&b, 0, S, 0, 0);
	passes(&b, 1, R | A, 0, 1);
	stands(&b, CONN_REFUSED, FLOW_EMBRYONIC);
	ends_after(&b, RIG_EMBRYONIC_MS);
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_expired), 9);
	bed_close(&b);
}

static void test_times(void)
{
	rows_each(times_row);
}

// Whoever does not see the connection cannot end it, nor make its time longer or shorter.
static void off_path_row(const struct row *row)
{
	static const uint32_t far[] = {2 + (1u << 16), 0u - (1u << 16) - 2, 1u << 31, 1u << 29};
	uint32_t deadline;
	struct bed b;

	bed_open(&b, row, true);
	shake(&b);
	deadline = line_of(&b)->deadline;
	chain_warp_ms(b.rig, 1000);
	for (unsigned i = 0; i < RTE_DIM(far); i++)
		for (unsigned side = 0; side < 2; side++) {
			CU_ASSERT_TRUE(passes(&b, side, S, far[i], 0));
			CU_ASSERT_FALSE(passes(&b, side, R, far[i], 0));
			CU_ASSERT_FALSE(passes(&b, side, R | A, far[i], far[i]));
			CU_ASSERT_FALSE(passes(&b, side, A, far[i], 1));
			CU_ASSERT_FALSE(passes(&b, side, A, 1, far[i]));
			CU_ASSERT_FALSE(passes(&b, side, A | F, far[i], 1));
		}
	CU_ASSERT_TRUE(passes(&b, 0, R, 2, 0)); // near: the other end will ask back
	CU_ASSERT_TRUE(passes(&b, 0, S, 0, 0)); // and a SYN that was late
	stands(&b, CONN_ESTABLISHED, FLOW_TCP_ESTABLISHED);
	CU_ASSERT_EQUAL(line_of(&b)->deadline, deadline);
	CU_ASSERT_TRUE(passes(&b, 0, A, 1, 1));
	CU_ASSERT_TRUE(passes(&b, 1, A, 1, 1));
	CU_ASSERT_NOT_EQUAL(line_of(&b)->deadline, deadline);
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_made), 1);
	bed_close(&b);
}

static void test_off_path(void)
{
	rows_each(off_path_row);
}

// Options in front of the TCP header and in it: numbers are read where they are.
static void options_row(const struct row *row)
{
	static const uint8_t seven[] = {2, 4, 5, 180, 1, 3, 3, 7},
			     stamps[] = {1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2};
	struct extra syn = {.options = seven, .option_bytes = sizeof(seven), .ip_options = true};
	struct extra data = {.bytes = 100,
			     .options = stamps,
			     .option_bytes = sizeof(stamps),
			     .ip_options = true};
	struct bed b;

	bed_open(&b, row, true);
	CU_ASSERT_TRUE(passes_with(&b, 0, S, 0, 0, &syn, DROP_NONE));
	CU_ASSERT_TRUE(passes_with(&b, 1, S | A, 0, 1, &syn, DROP_NONE));
	CU_ASSERT_TRUE(passes_with(&b, 0, A, 1, 1, &data, DROP_NONE));
	stands(&b, CONN_ESTABLISHED, FLOW_TCP_ESTABLISHED);
	for (unsigned i = 1; i < 10; i++)
		CU_ASSERT_TRUE(passes_with(&b, 0, A, 1 + 100 * i, 1, &data, DROP_NONE));
	CU_ASSERT_TRUE(passes_with(&b, 1, A, 1 + 100000, 1001, &data, DROP_NONE)); // 1000 << 7
	CU_ASSERT_FALSE(passes_with(&b, 1, A, 2 + (1u << 17), 1001, &data, DROP_tcp_out_of_window));
	CU_ASSERT_TRUE(passes_with(&b, 1, R, 1 + 100100, 0, &data, DROP_NONE));
	stands(&b, CONN_RESET, FLOW_TCP_CLOSING);
	bed_close(&b);
}

static void test_options(void)
{
	rows_each(options_row);
}

// Both open at once, and close at once.
static void at_once_row(const struct row *row)
{
	struct bed b;

	bed_open(&b, row, true);
	CU_ASSERT_TRUE(passes(&b, 0, S, 0, 0));
	CU_ASSERT_TRUE(passes(&b, 1, S, 0, 0));
	stands(&b, CONN_SYN_BOTH, FLOW_EMBRYONIC);
	CU_ASSERT_TRUE(passes(&b, 1, S | A, 0, 1));
	CU_ASSERT_TRUE(passes(&b, 0, S | A, 0, 1));
	stands(&b, CONN_ESTABLISHED, FLOW_TCP_ESTABLISHED);
	CU_ASSERT_TRUE(passes(&b, 0, A | F, 1, 1));
	CU_ASSERT_TRUE(passes(&b, 1, A | F, 1, 1));
	stands(&b, CONN_BOTH_CLOSED, FLOW_TCP_CLOSING);
	CU_ASSERT_TRUE(passes(&b, 1, A, 2, 2));
	CU_ASSERT_TRUE(passes(&b, 0, A, 2, 2));
	stands(&b, CONN_TIME_WAIT, FLOW_TCP_CLOSING);
	bed_close(&b);
}

static void test_at_once(void)
{
	rows_each(at_once_row);
}

// A connection that was there before: taken, or refused by name until it begins.
static void middle_row(const struct row *row)
{
	const struct extra none = {0};
	struct bed b;

	bed_open(&b, row, false);
	CU_ASSERT_TRUE(passes(&b, 0, A, 1000000, 5000));
	stands(&b, CONN_PICKED_UP, FLOW_EMBRYONIC);
	CU_ASSERT_TRUE(passes(&b, 1, A, 5000, 1000000));
	stands(&b, CONN_ESTABLISHED, FLOW_TCP_ESTABLISHED);
	bed_close(&b);

	bed_open(&b, row, true);
	CU_ASSERT_FALSE(passes_with(&b, 0, A, 1000000, 5000, &none, DROP_tcp_not_begun));
	CU_ASSERT_FALSE(passes_with(&b, 1, A | F, 5000, 1000000, &none, DROP_tcp_not_begun));
	CU_ASSERT_FALSE(passes_with(&b, 1, R, 5000, 0, &none, DROP_tcp_not_begun));
	stands(&b, CONN_NEW, FLOW_EMBRYONIC);
	chain_warp_ms(b.rig, 4000);
	CU_ASSERT_FALSE(passes_with(&b, 0, A, 1000000, 5000, &none, DROP_tcp_not_begun));
	chain_warp_ms(b.rig, RIG_EMBRYONIC_MS - 4000 + 10); // what is refused does not keep a flow
	CU_ASSERT_EQUAL(flows_of(&b)->table.used, 0);
	shake(&b);
	bed_close(&b);
}

static void test_middle(void)
{
	rows_each(middle_row);
}

// Flows of other protocols have nothing of it, nor have TCP's of the one for them.
static void others_row(const struct row *row)
{
	struct rig_flow udp;
	struct bed b;

	bed_open(&b, row, true);
	shake(&b);
	CU_ASSERT_EQUAL(line_of(&b)->chain, SERVICE_MASK(tcp_check));
	udp = b.flow;
	udp.proto = IPPROTO_UDP;
	udp.payload = 30;
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(chain_forwarded(b.rig, &b.session, i % 2 == row->up, &udp, 0), 1);
	CU_ASSERT_EQUAL(line_of(&b)->chain, SERVICE_MASK(l4_lifecycle));
	CU_ASSERT_EQUAL(flow_class_of(line_of(&b)), FLOW_ESTABLISHED);
	CU_ASSERT_EQUAL(flows_of(&b)->table.used, 2);
	bed_close(&b);
}

static void test_others(void)
{
	rows_each(others_row);
}

// Data that comes in fragments passes, and what acknowledges it does.
static void fragments_row(const struct row *row)
{
	struct pieces pieces;
	struct rig_flow flow;
	struct bed b;

	bed_open(&b, row, true);
	shake(&b);
	flow = b.flow;
	flow.payload = 1200;
	pieces_of_user(b.rig, &b.session, row->up, &flow, 600, 77, &pieces);
	for (unsigned i = 0; i < pieces.n; i++)
		piece_send(b.rig, row->up ? RIG_N3 : RIG_N6, &pieces, i, i);
	rig_settle(b.rig);
	CU_ASSERT_EQUAL(chain_drain(b.rig, row->up ? RIG_N6 : RIG_N3), pieces.n);
	CU_ASSERT_TRUE(passes(&b, 1, A, 1, 1201));
	CU_ASSERT_TRUE(passes(&b, 0, A | F, 1201, 1));
	CU_ASSERT_TRUE(passes(&b, 1, A | F, 1, 1202));
	CU_ASSERT_TRUE(passes(&b, 0, A, 1202, 2));
	CU_ASSERT_EQUAL(rig_drops(b.rig, DROP_tcp_out_of_window), 0);
	bed_close(&b);
}

static void test_fragments(void)
{
	rows_each(fragments_row);
}

// Headers that cannot be, and flags.
static void broken_row(const struct row *row)
{
	static const uint8_t offsets[] = {0x00, 0x40, 0x60, 0xf0}, flags[] = {0, F, S | F, S | R};
	const struct extra none = {0};
	uint8_t frame[RIG_FRAME_MAX];
	struct tcp_head *tcp;
	struct bed b;

	bed_open(&b, row, false);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < RTE_DIM(flags); i++)
			CU_ASSERT_FALSE(
				passes_with(&b, i % 2, flags[i], 1, 1, &none, DROP_tcp_bad_flags));
		for (unsigned i = 0; i < RTE_DIM(offsets); i++) {
			size_t bytes = segment(&b, row->up, A, 1, 1, &none, frame, &tcp);

			tcp->offset = offsets[i];
			CU_ASSERT_FALSE(sent(&b, row->up, frame, bytes, DROP_tcp_bad_header));
		}
		if (round == 0)
			shake(&b);
	}
	stands(&b, CONN_ESTABLISHED, FLOW_TCP_ESTABLISHED);
	bed_close(&b);
}

static void test_broken(void)
{
	rows_each(broken_row);
}

// Alike connections of two sessions go their own ways; so does one that gets the slot of another.
static void test_contexts(void)
{
	const struct row row = {.workers = 2, .up = true};
	struct rig_session second;
	struct bed b, other;

	bed_open(&b, &row, true);
	chain_session_add(b.rig, 1, NULL, &second);
	other = b;
	other.session = second;
	shake(&b);
	shake(&other);
	CU_ASSERT_TRUE(passes(&b, 0, R, 1, 0));
	stands(&b, CONN_RESET, FLOW_TCP_CLOSING);
	stands(&other, CONN_ESTABLISHED, FLOW_TCP_ESTABLISHED);
	rig_session_del(b.rig, &second);
	rig_session_add(b.rig, 2, NULL, &other.session); // takes the slot, and the flow's number
	rig_resolve(b.rig);
	CU_ASSERT_FALSE(passes_with(&other, 0, A, 1, 1, &(struct extra){0}, DROP_tcp_not_begun));
	shake(&other);
	rig_session_del(b.rig, &other.session);
	bed_close(&b);
}

static CU_TestInfo tests[] = {
	{"handshake, transfer, close", test_life},
	{"each time", test_times},
	{"from off the path", test_off_path},
	{"options", test_options},
	{"opened and closed at once", test_at_once},
	{"met in the middle", test_middle},
	{"other protocols", test_others},
	{"fragments", test_fragments},
	{"what cannot be", test_broken},
	{"two sessions", test_contexts},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("TCP connections through the data path")
