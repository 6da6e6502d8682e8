// NAT together with tcp_check: a connection's whole life through both, who opens it, what is refused from outside, its
// parts and errors about it, and that its port outside goes back by the time of where it stands.
//
// The test's thread, with warped time. Numbers are the test's own; windows are not scaled.

#include "nat_kit.h"
#include "packet/tcp.h"
#include "session/tcp_conn.h"

#define F TCP_FIN
#define S TCP_SYN
#define R TCP_RST
#define A TCP_ACK
#define UE_PORT 40000
#define FIRST_UP 0xffffff00u // numbers of the sides: one of them wraps soon
#define FIRST_DOWN 7000u
#define FAR (1u << 20) // beyond any window
#define MTU 600
#define EMBRYONIC_MS 240000
#define UNASKED_MS 5000 // of what the network begins, until the UE answers

struct bed {
	struct rig *rig;
	struct rig_session s;
	struct end server, outside;
	unsigned workers;
};

static void bed_open(struct bed *b, unsigned workers)
{
	struct nat_pool_conf pool = pool_of(32);
	struct rig_conf conf = nat_conf(workers, &pool);

	conf.services |= SERVICE_MASK(tcp_check);
	conf.flow_profile.timeout_ms[FLOW_EMBRYONIC] = EMBRYONIC_MS;
	*b = (struct bed){.rig = chain_rig_stopped(&conf),
			  .server = end_of(RIG_SERVER, 443),
			  .workers = workers};
	chain_session_add(b->rig, 0, NULL, &b->s);
}

static void bed_close(struct bed *b)
{
	rig_session_del(b->rig, &b->s);
	nat_end(b->rig);
}

static const struct flow *line_of(const struct bed *b)
{
	const struct flows *flows = &b->rig->control.workers[b->s.slot.owner]->flows;
	uint32_t number = flows->sessions[b->s.slot.index].first;

	CU_ASSERT_NOT_EQUAL_FATAL(number, 0);
	return &flows->table.flows[number];
}

// --- segments --------------------------------------------------------------------------------------------

static struct packet segment(bool up, struct end from, struct end to, uint8_t flags, uint32_t seq,
			     uint32_t ack, uint32_t bytes)
{
	struct packet p = packet_of(IPPROTO_TCP, from, to, bytes);
	struct tcp_head *tcp = (struct tcp_head *)(p.ip + IP4_BYTES);

	tcp->seq = rte_cpu_to_be_32((up ? FIRST_UP : FIRST_DOWN) + seq);
	tcp->ack = rte_cpu_to_be_32(flags & A ? (up ? FIRST_DOWN : FIRST_UP) + ack : 0);
	tcp->flags = flags;
	tcp->window = rte_cpu_to_be_16(1000);
	l4_sum_write(p.ip);
	return p;
}

// The UE's own; whether it left, from the one end outside.
static bool up(struct bed *b, uint8_t flags, uint32_t seq, uint32_t ack, uint32_t bytes)
{
	struct packet p = segment(true, ue_end(&b->s, UE_PORT), b->server, flags, seq, ack, bytes);

	packet_send(b->rig, &b->s, true, b->workers - 1, &p);
	p = packet_recv(b->rig, true);
	if (p.bytes == 0)
		return false;
	if (b->outside.port == 0)
		b->outside = p.from;
	CU_ASSERT_TRUE(is_outside(b->rig, p.from) && end_eq(p.from, b->outside));
	CU_ASSERT_TRUE(end_eq(p.to, b->server));
	return true;
}

static bool down_from(struct bed *b, struct end from, uint8_t flags, uint32_t seq, uint32_t ack,
		      uint32_t bytes)
{
	struct packet p = segment(false, from, b->outside, flags, seq, ack, bytes);

	packet_send(b->rig, &b->s, false, 0, &p);
	p = packet_recv(b->rig, false);
	CU_ASSERT_TRUE(p.bytes == 0 ||
		       (end_eq(p.to, ue_end(&b->s, UE_PORT)) && end_eq(p.from, from)));
	return p.bytes != 0;
}

static bool down(struct bed *b, uint8_t flags, uint32_t seq, uint32_t ack, uint32_t bytes)
{
	return down_from(b, b->server, flags, seq, ack, bytes);
}

static void stands(const struct bed *b, enum flow_class class)
{
	CU_ASSERT_EQUAL(flow_class_of(line_of(b)), class);
	CU_ASSERT_TRUE(line_of(b)->flags & FLOW_F_NAT);
}

static void shake(struct bed *b)
{
	b->outside = (struct end){0};
	CU_ASSERT_TRUE(up(b, S, 0, 0, 0));
	stands(b, FLOW_EMBRYONIC);
	CU_ASSERT_TRUE(down(b, S | A, 0, 1, 0));
	stands(b, FLOW_EMBRYONIC);
	CU_ASSERT_TRUE(up(b, A, 1, 1, 0));
	stands(b, FLOW_TCP_ESTABLISHED);
}

// The port outside is the UE's so long from its last packet on: not shorter, and no more than 10 ms longer.
static void goes_back_after(struct bed *b, int64_t ms)
{
	chain_warp_ms(b->rig, ms - 1);
	CU_ASSERT_EQUAL(mappings(b->rig), 1);
	chain_warp_ms(b->rig, 11);
	CU_ASSERT_EQUAL(mappings(b->rig), 0);
	CU_ASSERT_EQUAL(rig_count(b->rig, COUNTER_nat_blocks_taken),
			rig_count(b->rig, COUNTER_nat_blocks_given));
	CU_ASSERT_FALSE(down(b, A, 1, 1, 0));
}

static void each(void (*row)(struct bed *b))
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct bed b;

		bed_open(&b, workers);
		row(&b);
		bed_close(&b);
	}
}

// --- tests -----------------------------------------------------------------------------------------------

static void life_row(struct bed *b)
{
	shake(b);
	for (uint32_t i = 0; i < 4; i++) {
		CU_ASSERT_TRUE(up(b, A, 1 + 400 * i, 1 + 400 * i, 400));
		CU_ASSERT_TRUE(down(b, A, 1 + 400 * i, 401 + 400 * i, 400));
		chain_warp_ms(b->rig, 600000);
	}
	CU_ASSERT_TRUE(down(b, A | F, 1601, 1601, 0));
	stands(b, FLOW_TCP_CLOSING);
	CU_ASSERT_TRUE(up(b, A, 1601, 1602, 100)); // half closed
	CU_ASSERT_TRUE(up(b, A | F, 1701, 1602, 0));
	CU_ASSERT_TRUE(down(b, A, 1602, 1702, 0));
	stands(b, FLOW_TCP_CLOSING);
	CU_ASSERT_EQUAL(rig_count(b->rig, COUNTER_nat_mappings_made), 1);
	goes_back_after(b, RIG_TCP_CLOSING_MS);
}

static void test_life(void)
{
	each(life_row);
}

static void times_row(struct bed *b)
{
	CU_ASSERT_TRUE(up(b, S, 0, 0, 0)); // never answered
	goes_back_after(b, EMBRYONIC_MS);
	shake(b);
	goes_back_after(b, RIG_TCP_ESTABLISHED_MS);
	shake(b);
	CU_ASSERT_TRUE(down(b, R, 1, 0, 0));
	stands(b, FLOW_TCP_CLOSING);
	goes_back_after(b, RIG_TCP_CLOSING_MS);
	shake(b);
	CU_ASSERT_TRUE(up(b, R | A, 1, 1, 0));
	goes_back_after(b, RIG_TCP_CLOSING_MS);
}

static void test_times(void)
{
	each(times_row);
}

// Who does not see the connection can neither end it, nor put anything into it, nor make its port last longer.
static void strangers_row(struct bed *b)
{
	static const uint8_t flags[] = {A, A | F, R, R | A};
	struct end other = end_of("203.0.113.9", 443);
	uint64_t n = 0;

	shake(b);
	chain_warp_ms(b->rig, 1000);
	for (unsigned i = 0; i < RTE_DIM(flags); i++) {
		CU_ASSERT_FALSE(down(b, flags[i], FAR, 1, 10));
		CU_ASSERT_EQUAL(rig_drops(b->rig, DROP_tcp_out_of_window), ++n);
		stands(b, FLOW_TCP_ESTABLISHED);
	}
	CU_ASSERT_TRUE(down(b, R, 5, 0, 0)); // in the window, not exact: the UE says what it is
	stands(b, FLOW_TCP_ESTABLISHED);
	goes_back_after(b, RIG_TCP_ESTABLISHED_MS - 1000);

	// Of another host nothing begins but by a SYN.
	shake(b);
	CU_ASSERT_FALSE(down_from(b, other, A, 1, 1, 10));
	CU_ASSERT_EQUAL(rig_drops(b->rig, DROP_tcp_not_begun), 1);
	CU_ASSERT_TRUE(down_from(b, other, S, 0, 0, 0));
	CU_ASSERT_TRUE(down(b, A, 1, 1, 10)); // beside the first one
}

static void test_strangers(void)
{
	each(strangers_row);
}

// A host outside opens a connection to a port that the UE has opened; the UE answers by the same end outside.
static void opened_row(struct bed *b)
{
	struct end opener = end_of("203.0.113.9", 50000);

	shake(b);
	CU_ASSERT_TRUE(down_from(b, opener, S, 0, 0, 0));
	b->server = opener;
	CU_ASSERT_TRUE(up(b, S | A, 0, 1, 0));
	stands(b, FLOW_EMBRYONIC);
	CU_ASSERT_TRUE(down(b, A, 1, 1, 0));
	stands(b, FLOW_TCP_ESTABLISHED);
	CU_ASSERT_TRUE(down(b, A, 1, 1, 300));
	CU_ASSERT_TRUE(up(b, A, 1, 301, 300));
	CU_ASSERT_EQUAL(mappings(b->rig), 1);
}

// Until the UE answers, no number of its segments makes the opener's flow last; then it lasts as one the UE begins.
static void unanswered_row(struct bed *b)
{
	struct end opener = end_of("203.0.113.9", 50000);

	for (unsigned answered = 0; answered < 2; answered++) {
		b->server = end_of(RIG_SERVER, 443);
		shake(b);
		chain_warp_ms(b->rig, RIG_TCP_ESTABLISHED_MS - 10);
		for (unsigned i = 0; i < 4; i++) {
			CU_ASSERT_TRUE(down_from(b, opener, S, 0, 0, 0));
			chain_warp_ms(b->rig, 1000);
		}
		CU_ASSERT_EQUAL(mappings(b->rig), 1); // by this flow alone
		b->server = opener;
		if (answered)
			CU_ASSERT_TRUE(up(b, S | A, 0, 1, 0));
		goes_back_after(b, answered ? EMBRYONIC_MS : UNASKED_MS - 4000);
	}
}

static void test_opened(void)
{
	each(opened_row);
	each(unanswered_row);
}

// Sends a segment in pieces and gives what arrives, put together.
static struct packet by_pieces(struct bed *b, bool is_up, const struct packet *p, uint16_t id)
{
	struct packet pieces[8];
	unsigned n = cut(p, MTU, id, pieces);

	for (unsigned i = 0; i < n; i++)
		packet_send(b->rig, &b->s, is_up, i % b->workers, &pieces[i]);
	return join(b->rig, is_up, n);
}

static void parts_row(struct bed *b)
{
	struct packet p, error, got;
	rte_be32_t router = rig_addr("203.0.113.1").v4;

	shake(b);
	p = segment(true, ue_end(&b->s, UE_PORT), b->server, A, 1, 1, 1000);
	got = by_pieces(b, true, &p, 1);
	CU_ASSERT_TRUE(l4_right(&got) && end_eq(got.from, b->outside));
	p = segment(false, b->server, b->outside, A, 1, 1001, 1000);
	got = by_pieces(b, false, &p, 2);
	CU_ASSERT_TRUE(l4_right(&got) && end_eq(got.to, ue_end(&b->s, UE_PORT)));
	CU_ASSERT_TRUE(up(b, A, 1001, 1001, 200)); // goes on behind them

	// An error about it reaches the UE, with the UE's own segment quoted, and changes nothing.
	p = segment(true, ue_end(&b->s, UE_PORT), b->server, A, 1201, 1001, 900);
	packet_send(b->rig, &b->s, true, 0, &p);
	got = packet_recv(b->rig, true);
	chain_warp_ms(b->rig, 1000);
	error = error_of(router, &got, 1000);
	packet_send(b->rig, &b->s, false, 0, &error);
	got = packet_recv(b->rig, false);
	CU_ASSERT_NOT_EQUAL_FATAL(got.bytes, 0);
	CU_ASSERT_EQUAL(got.to.addr, b->s.ue_v4.v4);
	check_quote(&got, &p);
	stands(b, FLOW_TCP_ESTABLISHED);
	goes_back_after(b, RIG_TCP_ESTABLISHED_MS - 1000);
	CU_ASSERT_EQUAL(rig_drops(b->rig, DROP_tcp_out_of_window), 0);
}

static void test_parts(void)
{
	each(parts_row);
}

static CU_TestInfo tests[] = {
	{"a connection's life", test_life},   {"times", test_times},
	{"strangers", test_strangers},        {"opened from outside", test_opened},
	{"fragments and errors", test_parts}, CU_TEST_INFO_NULL,
};

UNIT_MAIN("NAT with tcp_check")
