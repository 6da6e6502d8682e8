// NAT44 through the whole data path: what the network sees of a UE, what comes back to it, who else gets in, what ends
// by name; fragments, ICMP errors about both directions' packets, echo, from UE to UE; ports that go back.
//
// The test's thread, with warped time. Each packet that leaves is held against sums made anew (nat_kit.h).

#include "nat_kit.h"

#define OTHER "203.0.113.9" // another server

// --- both directions -------------------------------------------------------------------------------------

static void both_row(unsigned n_workers, uint8_t proto)
{
	struct nat_pool_conf pool = pool_of(30);
	struct rig *rig = nat_rig(n_workers, &pool);
	struct end server = end_of(RIG_SERVER, 53);
	struct end outside[4];
	struct rig_session s[4];

	for (unsigned i = 0; i < 4; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	rig_resolve(rig);
	for (unsigned i = 0; i < 4; i++) {
		struct packet p = go_up(rig, &s[i], proto, 5000, server), q;

		CU_ASSERT_NOT_EQUAL_FATAL(p.bytes, 0);
		outside[i] = p.from;
		CU_ASSERT_TRUE(is_outside(rig, p.from));
		CU_ASSERT_TRUE(proto == IPPROTO_ICMP || end_eq(p.to, server));
		CU_ASSERT_EQUAL(p.from.port % 2, 0);
		for (unsigned k = 0; k < i; k++) // no two have one
			CU_ASSERT_FALSE(end_eq(outside[k], outside[i]));
		for (unsigned k = 0; k < 6; k++) {
			q = go_down(rig, &s[i], proto, server, outside[i], k % n_workers);
			CU_ASSERT_TRUE(q.bytes && end_eq(q.to, ue_end(&s[i], 5000)));
			CU_ASSERT_EQUAL(q.from.addr, server.addr);
			q = go_up(rig, &s[i], proto, 5000, server);
			CU_ASSERT_TRUE(q.bytes && end_eq(q.from, outside[i]));
		}
	}
	CU_ASSERT_EQUAL(outside[0].port, n_workers == 1 ? 5000 : outside[0].port); // kept
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 4);
	CU_ASSERT_EQUAL(mappings(rig), 4);
	for (unsigned i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(go_down(rig, &s[i], proto, server, outside[i], 0).to.port, 5000);
		rig_session_del(rig, &s[i]);
		CU_ASSERT_EQUAL(go_down(rig, &s[i], proto, server, outside[i], 0).bytes, 0);
	}
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_session), 4);
	nat_end(rig);
}

static void test_both(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++) {
		both_row(n_workers, IPPROTO_UDP);
		both_row(n_workers, IPPROTO_TCP);
		both_row(n_workers, IPPROTO_ICMP);
	}
}

// IPv6 goes through as it is, and a UDP packet without a checksum keeps none.
static void test_left_alone(void)
{
	struct nat_pool_conf pool = pool_of(32);
	struct rig *rig = nat_rig(1, &pool);
	struct rig_flow v6 = {
		.proto = IPPROTO_UDP, .ue_port = 7, .dn_port = 8, .ttl = 9, .qfi = 1, .v6 = true};
	struct rig_session s;
	struct packet p;

	chain_session_add(rig, 0, NULL, &s);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, i % 2, &v6, 0), 1);
	CU_ASSERT_EQUAL(mappings(rig), 0);
	p = packet_of(IPPROTO_UDP, ue_end(&s, 5000), end_of(RIG_SERVER, 53), 40);
	be16_put(p.ip + IP4_BYTES + 6, 0);
	packet_send(rig, &s, true, 0, &p);
	p = packet_recv(rig, true);
	CU_ASSERT_TRUE(is_outside(rig, p.from));
	CU_ASSERT_EQUAL(be16_get(p.ip + IP4_BYTES + 6), 0);
	rig_session_del(rig, &s);
	nat_end(rig);
}

// --- mapping and filtering -------------------------------------------------------------------------------

struct modes {
	bool map_by_remote;
	enum nat_filter filter;
	bool same;       // one port outside for both servers
	bool again, any; // who gets in: another port of a server spoken to; another server
};

static const struct modes modes[] = {
	{false, NAT_FILTER_NONE, true, true, true},
	{false, NAT_FILTER_ADDRESS, true, true, false},
	{false, NAT_FILTER_PORT, true, false, false},
	{true, NAT_FILTER_NONE, false, true, false},
	{true, NAT_FILTER_PORT, false, false, false},
};

static void modes_row(const struct modes *row, unsigned n_workers, uint8_t proto)
{
	struct nat_pool_conf pool = pool_of(32);
	struct end a = end_of(RIG_SERVER, 53), b = end_of(OTHER, 53), a2 = a, c;
	struct rig_session s;
	struct packet p, q;
	struct rig *rig;

	pool.map_by_remote = row->map_by_remote;
	pool.filter = row->filter;
	rig = nat_rig(n_workers, &pool);
	chain_session_add(rig, 0, NULL, &s);
	a2.port = 54;
	c = end_of("203.0.113.77", 53);
	p = go_up(rig, &s, proto, 5001, a);
	q = go_up(rig, &s, proto, 5001, b);
	CU_ASSERT_TRUE(is_outside(rig, p.from) && is_outside(rig, q.from));
	CU_ASSERT_EQUAL(end_eq(p.from, q.from), row->same);
	CU_ASSERT_EQUAL(p.from.port % 2, 1);
	q = go_up(rig, &s, proto, 5001, a2); // one port for each address, or for all
	CU_ASSERT_TRUE(end_eq(q.from, p.from));
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, a, p.from, 0).to.port, 5001);
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, a2, p.from, n_workers - 1).to.port, 5001);

	a2.port = 55; // it has not been spoken to
	q = go_down(rig, &s, proto, a2, p.from, 0);
	CU_ASSERT_EQUAL(q.bytes != 0, row->again);
	if (row->again) { // its answer leaves from the same port
		CU_ASSERT_EQUAL(q.to.port, 5001);
		CU_ASSERT_TRUE(end_eq(go_up(rig, &s, proto, 5001, a2).from, p.from));
		CU_ASSERT_EQUAL(go_down(rig, &s, proto, a2, p.from, 0).to.port, 5001);
	}
	q = go_down(rig, &s, proto, c, p.from, 0);
	CU_ASSERT_EQUAL(q.bytes != 0, row->any);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_nat_filtered), !row->again + !row->any);

	// Nobody has opened this one, though it is of the UE's block.
	c = p.from;
	c.port ^= 2;
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, a, c, 0).bytes, 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_nat_no_mapping), 1);
	// Nor has any UE this block.
	c.port ^= 1024;
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, a, c, 0).bytes, 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_session), 1);
	// And its own address is not to be reached.
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, a, ue_end(&s, 5003), 0).bytes, 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_nat_filtered), !row->again + !row->any + 1);
	rig_session_del(rig, &s);
	nat_end(rig);
}

static void test_modes(void)
{
	for (unsigned i = 0; i < RTE_DIM(modes); i++)
		for (unsigned n_workers = 1; n_workers <= 2; n_workers++) {
			modes_row(&modes[i], n_workers, IPPROTO_UDP);
			modes_row(&modes[i], n_workers, IPPROTO_TCP);
		}
}

// --- ports -----------------------------------------------------------------------------------------------

// As many ports as two blocks have, then none by name; those that end are there again.
static void test_exhausted(void)
{
	struct nat_pool_conf pool = pool_of(32);
	struct end server = end_of(RIG_SERVER, 53);
	struct rig *rig = nat_rig(1, &pool);
	bool seen[UINT16_MAX + 1] = {false};
	struct rig_session s;
	unsigned i = 0;

	chain_session_add(rig, 0, NULL, &s);
	for (; i < 128; i++) {
		struct packet p = go_up(rig, &s, IPPROTO_UDP, (uint16_t)(10000 + 7 * i), server);

		CU_ASSERT_TRUE(p.bytes && !seen[p.from.port]);
		seen[p.from.port] = true;
	}
	CU_ASSERT_EQUAL(go_up(rig, &s, IPPROTO_UDP, 9, server).bytes, 0);
	CU_ASSERT_EQUAL(go_up(rig, &s, IPPROTO_UDP, 9, server).bytes, 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_nat_no_port), 2);
	CU_ASSERT_NOT_EQUAL(go_up(rig, &s, IPPROTO_UDP, 10000, end_of(OTHER, 1)).bytes,
			    0);                                               // has one
	CU_ASSERT_NOT_EQUAL(go_up(rig, &s, IPPROTO_TCP, 9, server).bytes, 0); // of its own
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_nat_blocks_taken), 2);
	chain_warp_ms(rig, RIG_EMBRYONIC_MS + 10);
	CU_ASSERT_EQUAL(mappings(rig), 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_nat_blocks_given), 2);
	CU_ASSERT_NOT_EQUAL(go_up(rig, &s, IPPROTO_UDP, 9, server).bytes, 0);
	rig_session_del(rig, &s);
	nat_end(rig);
}

// Who goes to make room for other flows gives its port back; so do flows that a command ends.
static void test_eviction(void)
{
	struct nat_pool_conf pool = pool_of(32);
	struct rig_conf conf = {.n_workers = 1,
				.n_slots = 64,
				.n_tunnels = 16,
				.services = SERVICES_NAT,
				.nat = &pool,
				.flows = 64,
				.flow_margin = 16};
	struct end server = end_of(RIG_SERVER, 53);
	struct rig_session s;
	struct rig *rig;

	rig = chain_rig_stopped(&conf);
	chain_session_add(rig, 0, NULL, &s);
	for (unsigned i = 0; i < 300; i++) {
		CU_ASSERT_NOT_EQUAL(
			go_up(rig, &s, IPPROTO_UDP, (uint16_t)(10000 + i), server).bytes, 0);
		chain_warp_ms(rig, 100);
	}
	CU_ASSERT_TRUE(rig_count(rig, COUNTER_flows_evicted) +
			       rig_count(rig, COUNTER_flows_expired) >=
		       300 - 64);
	CU_ASSERT_EQUAL(mappings(rig), rig->control.workers[0]->flows.table.used);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_nat_no_port), 0);
	rig_session_del(rig, &s);
	nat_end(rig);
}

// --- time ------------------------------------------------------------------------------------------------

#define LONG_MS 240000

static struct rig *long_rig(unsigned n_workers)
{
	struct nat_pool_conf pool = pool_of(32);
	struct rig_conf conf = nat_conf(n_workers, &pool);

	conf.flow_profile.timeout_ms[FLOW_EMBRYONIC] = LONG_MS;
	return chain_rig_stopped(&conf);
}

// While only the UE speaks its port lasts, each of its packets for as long again; a late answer still comes in.
static void late_row(unsigned n_workers, uint8_t proto)
{
	struct rig *rig = long_rig(n_workers);
	struct end server = end_of(RIG_SERVER, 53), outside;
	struct rig_session s;

	chain_session_add(rig, 0, NULL, &s);
	outside = go_up(rig, &s, proto, 5000, server).from;
	chain_warp_ms(rig, LONG_MS - 1);
	CU_ASSERT_TRUE(end_eq(go_up(rig, &s, proto, 5000, server).from, outside));
	chain_warp_ms(rig, LONG_MS - 1);
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, server, outside, 0).to.port, 5000);
	chain_warp_ms(rig, RIG_ESTABLISHED_MS - 1);
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, server, outside, 0).to.port, 5000);
	chain_warp_ms(rig, RIG_TCP_ESTABLISHED_MS + 10);
	CU_ASSERT_EQUAL(mappings(rig), 0);
	outside = go_up(rig, &s, proto, 5000, server).from;
	chain_warp_ms(rig, LONG_MS + 10);
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, server, outside, 0).bytes, 0);
	CU_ASSERT_EQUAL(mappings(rig), 0);
	rig_session_del(rig, &s);
	nat_end(rig);
}

// A stranger who keeps sending to the UE's port holds it five seconds at most; once the UE answers, it is as any flow.
static void stranger_row(unsigned n_workers, uint8_t proto)
{
	struct rig *rig = long_rig(n_workers);
	struct end server = end_of(RIG_SERVER, 53), stranger = end_of(OTHER, 99), outside;
	struct rig_session s;

	chain_session_add(rig, 0, NULL, &s);
	outside = go_up(rig, &s, proto, 5000, server).from;
	chain_warp_ms(rig, LONG_MS - 3000);
	for (unsigned i = 0; i < 4; i++) { // a flow of its own, that outlives the UE's
		CU_ASSERT_EQUAL(go_down(rig, &s, proto, stranger, outside, 0).to.port, 5000);
		chain_warp_ms(rig, 1200);
	}
	CU_ASSERT_EQUAL(mappings(rig), 1);
	chain_warp_ms(rig, 210);
	CU_ASSERT_EQUAL(mappings(rig), 0);
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, stranger, outside, 0).bytes, 0);

	outside = go_up(rig, &s, proto, 5000, server).from;
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, stranger, outside, 0).to.port, 5000);
	CU_ASSERT_TRUE(end_eq(go_up(rig, &s, proto, 5000, stranger).from, outside));
	chain_warp_ms(rig, RIG_ESTABLISHED_MS - 1);
	CU_ASSERT_EQUAL(go_down(rig, &s, proto, stranger, outside, 0).to.port, 5000);
	chain_warp_ms(rig, RIG_ESTABLISHED_MS - 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 4);
	CU_ASSERT_EQUAL(mappings(rig), 1);
	rig_session_del(rig, &s);
	nat_end(rig);
}

static void test_time(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++) {
		late_row(n_workers, IPPROTO_UDP);
		late_row(n_workers, IPPROTO_TCP);
		late_row(n_workers, IPPROTO_ICMP);
		stranger_row(n_workers, IPPROTO_UDP);
		stranger_row(n_workers, IPPROTO_TCP);
	}
}

// --- word of blocks --------------------------------------------------------------------------------------

#define TOLD_MAX 64

struct told {
	unsigned n;
	unsigned workers[TOLD_MAX];
	struct nat_event events[TOLD_MAX];
};

static void hear(void *ctx, unsigned worker, const struct nat_event *event)
{
	struct told *told = ctx;

	CU_ASSERT_FATAL(told->n < TOLD_MAX);
	told->workers[told->n] = worker;
	told->events[told->n++] = *event;
}

static void listen_to(struct rig *rig, struct told *told)
{
	*told = (struct told){0};
	rig->control.nat_block = hear;
	rig->control.nat_block_ctx = told;
}

// The last word is of this session, its block with the port, and of now.
static void check_word(const struct told *told, const struct rig_session *s, struct end outside,
		       bool got, uint64_t since)
{
	const struct nat_event *e = &told->events[told->n - 1];

	CU_ASSERT_EQUAL(e->got, got);
	CU_ASSERT_EQUAL(e->slot, s->slot.index);
	CU_ASSERT_EQUAL(told->workers[told->n - 1], s->slot.owner);
	CU_ASSERT_EQUAL(e->ue, s->ue_v4.v4);
	CU_ASSERT_EQUAL(e->outside, outside.addr);
	CU_ASSERT_TRUE(e->first <= outside.port && outside.port <= e->last);
	CU_ASSERT_EQUAL(e->last - e->first, 63);
	CU_ASSERT_EQUAL(e->first % 64, 0);
	CU_ASSERT_EQUAL(e->since, since);
	CU_ASSERT_EQUAL(e->now, clock_now_ns() * METER_UNITS_PER_NS);
}

// Each block is told of when it comes and when it goes, with its session: by time, with the session.
static void told_row(unsigned n_workers)
{
	struct nat_pool_conf pool = pool_of(32);
	struct end server = end_of(RIG_SERVER, 53), first, second = {0};
	struct rig_session s;
	struct told told;
	struct rig *rig;
	uint64_t since;

	pool.log_blocks = true;
	rig = nat_rig(n_workers, &pool);
	listen_to(rig, &told);
	chain_session_add(rig, 0, NULL, &s);
	first = go_up(rig, &s, IPPROTO_UDP, 5000, server).from;
	since = clock_now_ns() * METER_UNITS_PER_NS;
	CU_ASSERT_EQUAL_FATAL(told.n, 1);
	check_word(&told, &s, first, true, since);
	for (uint16_t i = 1; i <= 32; i++) // one more of this parity than the block has
		second = go_up(rig, &s, IPPROTO_UDP, (uint16_t)(20000 + 2 * i), server).from;
	CU_ASSERT_EQUAL_FATAL(told.n, 2);
	check_word(&told, &s, second, true, since);
	chain_warp_ms(rig, RIG_EMBRYONIC_MS - 100);
	go_up(rig, &s, IPPROTO_UDP, 5000, server);
	CU_ASSERT_EQUAL(told.n, 2);
	chain_warp_ms(rig, 200);
	CU_ASSERT_EQUAL_FATAL(told.n, 3);
	check_word(&told, &s, second, false, since);
	rig_session_del(rig, &s);
	CU_ASSERT_EQUAL_FATAL(told.n, 4);
	check_word(&told, &s, first, false, since);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_nat_blocks_unlogged), 0);
	nat_end(rig);
}

static void test_told(void)
{
	told_row(1);
	told_row(2);
}

// What the ring does not take is counted, and keeps no packet; where nobody wants to know, nothing is told.
static void lost_row(bool wanted)
{
	struct nat_pool_conf pool = pool_of(30);
	struct rig_conf conf = nat_conf(1, &pool);
	struct packet p;
	struct rig_session s[8];
	struct told told;
	struct rig *rig;

	pool.log_blocks = wanted;
	conf.nat_ring = 4; // 3 events
	rig = chain_rig_stopped(&conf);
	listen_to(rig, &told);
	for (unsigned i = 0; i < 8; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	rig_resolve(rig);
	for (unsigned i = 0; i < 8; i++) {
		p = packet_of(IPPROTO_UDP, ue_end(&s[i], 5000), end_of(RIG_SERVER, 53), 40);
		packet_post(rig, &s[i], true, 0, &p);
	}
	rig_settle(rig); // all in one turn
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 8);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_nat_blocks_taken), 8);
	CU_ASSERT_EQUAL(told.n, wanted ? 3 : 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_nat_blocks_unlogged), wanted ? 5 : 0);
	for (unsigned i = 0; i < 8; i++)
		rig_session_del(rig, &s[i]); // one after the other: there is room
	CU_ASSERT_EQUAL(told.n, wanted ? 3 + 8 : 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_nat_blocks_unlogged), wanted ? 5 : 0);
	nat_end(rig);
}

static void test_lost(void)
{
	lost_row(true);
	lost_row(false);
}

// Protocols without ports, and errors about nothing known, do not leave.
static void test_unsupported(void)
{
	struct nat_pool_conf pool = pool_of(32);
	struct end server = end_of(RIG_SERVER, 0);
	struct rig *rig = nat_rig(1, &pool);
	struct rig_session s;
	struct packet p;

	chain_session_add(rig, 0, NULL, &s);
	p = packet_of(IPPROTO_UDP, ue_end(&s, 0), server, 40);
	((struct ip4_head *)p.ip)->proto = IPPROTO_GRE;
	ip4_sum_right(p.ip);
	packet_send(rig, &s, true, 0, &p);
	CU_ASSERT_EQUAL(packet_recv(rig, true).bytes, 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_nat_unsupported), 1);
	p.to = p.from;
	((struct ip4_head *)p.ip)->src = server.addr;
	((struct ip4_head *)p.ip)->dst = rig_addr(POOL).v4;
	ip4_sum_right(p.ip);
	packet_send(rig, &s, false, 0, &p);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_session), 1);
	rig_session_del(rig, &s);
	nat_end(rig);
}

// --- fragments -------------------------------------------------------------------------------------------

#define MTU 600

static void fragments_row(unsigned n_workers, uint8_t proto, bool backwards)
{
	struct nat_pool_conf pool = pool_of(32);
	struct rig *rig = nat_rig(n_workers, &pool);
	struct end server = end_of(RIG_SERVER, 53);
	static struct packet pieces[8];
	struct packet p, q;
	struct rig_session s;
	unsigned n;

	chain_session_add(rig, 0, NULL, &s);
	for (unsigned k = 0; k < 4; k++) {
		p = packet_of(proto, ue_end(&s, 5000), server, 1600);
		n = cut(&p, MTU, (uint16_t)k, pieces);
		for (unsigned i = 0; i < n; i++)
			packet_send(rig, &s, true, i % n_workers,
				    &pieces[backwards ? n - 1 - i : i]);
		p = join(rig, true, n);
		CU_ASSERT_TRUE(is_outside(rig, p.from) && l4_right(&p));

		q = packet_of(proto,
			      proto == IPPROTO_ICMP ? (struct end){server.addr, p.from.port}
						    : server,
			      p.from, 1600);
		if (proto == IPPROTO_ICMP)
			as_reply(&q);
		n = cut(&q, MTU, (uint16_t)(100 + k), pieces);
		for (unsigned i = 0; i < n; i++)
			packet_send(rig, &s, false, i % n_workers,
				    &pieces[backwards ? n - 1 - i : i]);
		q = join(rig, false, n);
		CU_ASSERT_TRUE(end_eq(q.to, ue_end(&s, 5000)) && l4_right(&q));
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	rig_session_del(rig, &s);

	// Without anybody for them they end, all.
	for (unsigned i = 0; i < n; i++)
		packet_send(rig, &s, false, i % n_workers, &pieces[i]);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_session), n);
	nat_end(rig);
}

static void test_fragments(void)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};

	for (unsigned i = 0; i < 12; i++)
		fragments_row(1 + i % 2, protos[i / 4], i / 2 % 2);
}

// --- errors ----------------------------------------------------------------------------------------------

static void errors_row(unsigned n_workers, uint8_t proto, uint32_t quote)
{
	struct nat_pool_conf pool = pool_of(32);
	struct rig *rig = nat_rig(n_workers, &pool);
	struct end server = end_of(RIG_SERVER, 53);
	rte_be32_t router = rig_addr("203.0.113.1").v4;
	struct packet sent, left, error, got;
	struct rig_session s;

	chain_session_add(rig, 0, NULL, &s);
	sent = packet_of(proto, ue_end(&s, 5000), server, 100);
	packet_send(rig, &s, true, 0, &sent);
	left = packet_recv(rig, true);

	// A router on the way tells of what the UE sent.
	error = error_of(router, &left, quote);
	packet_send(rig, &s, false, n_workers - 1, &error);
	got = packet_recv(rig, false);
	CU_ASSERT_NOT_EQUAL_FATAL(got.bytes, 0);
	CU_ASSERT_TRUE(got.from.addr == router && got.to.addr == s.ue_v4.v4);
	check_quote(&got, &sent);

	// The UE tells of what it got.
	sent = packet_of(proto,
			 proto == IPPROTO_ICMP ? (struct end){server.addr, left.from.port} : server,
			 left.from, 100);
	if (proto == IPPROTO_ICMP)
		as_reply(&sent);
	packet_send(rig, &s, false, 0, &sent);
	got = packet_recv(rig, false);
	error = error_of(s.ue_v4.v4, &got, quote);
	((struct ip4_head *)error.ip)->dst = server.addr;
	ip4_sum_right(error.ip);
	packet_send(rig, &s, true, 0, &error);
	error = packet_recv(rig, true);
	CU_ASSERT_NOT_EQUAL_FATAL(error.bytes, 0);
	CU_ASSERT_TRUE(error.from.addr == left.from.addr && error.to.addr == server.addr);
	check_quote(&error, &sent);

	// About nothing known neither goes anywhere.
	left.from.port ^= 2;
	be16_put(left.ip + IP4_BYTES + (proto == IPPROTO_ICMP ? 4 : 0), left.from.port);
	error = error_of(router, &left, quote);
	packet_send(rig, &s, false, 0, &error);
	CU_ASSERT_EQUAL(packet_recv(rig, false).bytes, 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_nat_no_mapping), 1);
	be16_put(got.ip + IP4_BYTES + (proto == IPPROTO_ICMP ? 4 : 2), 5002);
	error = error_of(s.ue_v4.v4, &got, quote);
	((struct ip4_head *)error.ip)->dst = server.addr;
	ip4_sum_right(error.ip);
	packet_send(rig, &s, true, 0, &error);
	CU_ASSERT_EQUAL(packet_recv(rig, true).bytes, 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_nat_unsupported), 1);
	rig_session_del(rig, &s);
	nat_end(rig);
}

static void test_errors(void)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};

	for (unsigned i = 0; i < 12; i++)
		errors_row(1 + i % 2, protos[i / 4], i / 2 % 2 ? IP4_BYTES + 8 : 1000);
}

// Our own errors: about a hop too many to the UE, about a packet too long for its tunnel to the server.
static void test_own_errors(void)
{
	struct nat_pool_conf pool = pool_of(32);
	struct rig *rig = nat_rig(1, &pool);
	struct end server = end_of(RIG_SERVER, 53);
	struct packet sent, got, left;
	struct rig_session s;

	chain_session_add(rig, 0, NULL, &s);
	left = go_up(rig, &s, IPPROTO_UDP, 5000, server);
	sent = packet_of(IPPROTO_UDP, ue_end(&s, 5000), server, 100);
	((struct ip4_head *)sent.ip)->ttl = 1;
	ip4_sum_right(sent.ip);
	packet_send(rig, &s, true, 0, &sent);
	got = packet_recv(rig, false);
	chain_warp_ms(rig, 10); // errors are few at the start
	CU_ASSERT_EQUAL(got.ip[IP4_BYTES], ICMP4_TYPE_TIME_EXCEEDED);
	CU_ASSERT_EQUAL(got.to.addr, s.ue_v4.v4);
	check_quote(&got, &sent);

	sent = packet_of(IPPROTO_UDP, server, left.from, 1470); // forbids to be cut
	packet_send(rig, &s, false, 0, &sent);
	got = packet_recv(rig, true);
	CU_ASSERT_EQUAL(got.ip[IP4_BYTES], ICMP4_TYPE_UNREACHABLE);
	CU_ASSERT_EQUAL(got.to.addr, server.addr);
	check_quote(&got, &sent);
	rig_session_del(rig, &s);
	nat_end(rig);
}

// --- from UE to UE ---------------------------------------------------------------------------------------

// By the other's address outside each sees the other's outside, whole packets and fragments, its own too (RFC 4787 6).
static void hairpin_row(unsigned n_workers, bool itself)
{
	struct nat_pool_conf pool = pool_of(31);
	struct rig *rig = nat_rig(n_workers, &pool);
	struct rig_session s[2];
	static struct packet pieces[8];
	struct end outside[2], server = end_of(RIG_SERVER, 53);
	unsigned n, n_sessions = itself ? 1 : 2;
	struct packet p;

	for (unsigned i = 0; i < n_sessions; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	if (itself)
		s[1] = s[0];
	rig_resolve(rig);
	for (unsigned i = 0; i < 2; i++)
		outside[i] = go_up(rig, &s[i], IPPROTO_UDP, (uint16_t)(5000 + i), server).from;
	for (unsigned k = 0; k < 6; k++) {
		unsigned from = k % 2, to = !from;

		p = packet_of(IPPROTO_UDP, ue_end(&s[from], (uint16_t)(5000 + from)), outside[to],
			      40);
		packet_send(rig, &s[from], true, k % n_workers, &p);
		p = packet_recv(rig, false);
		CU_ASSERT_TRUE(p.bytes && end_eq(p.from, outside[from]));
		CU_ASSERT_TRUE(end_eq(p.to, ue_end(&s[to], (uint16_t)(5000 + to))));
	}
	p = packet_of(IPPROTO_UDP, ue_end(&s[0], 5000), outside[1], 1600);
	n = cut(&p, MTU, 9, pieces);
	for (unsigned i = 0; i < n; i++)
		packet_send(rig, &s[0], true, i % n_workers, &pieces[i]);
	p = join(rig, false, n);
	CU_ASSERT_TRUE(end_eq(p.from, outside[0]) && l4_right(&p));
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);

	// Where nobody is, nothing is sent that would come back.
	outside[1].port ^= 4096;
	p = packet_of(IPPROTO_UDP, ue_end(&s[0], 5000), outside[1], 40);
	packet_send(rig, &s[0], true, 0, &p);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_session), 1);
	for (unsigned i = 0; i < n_sessions; i++)
		rig_session_del(rig, &s[i]);
	nat_end(rig);
}

static void test_hairpin(void)
{
	for (unsigned i = 0; i < 4; i++)
		hairpin_row(1 + i % 2, i / 2);
}

// By its own address a UE reaches another, which answers by that.
static void test_inside(void)
{
	struct nat_pool_conf pool = pool_of(31);
	struct rig *rig = nat_rig(2, &pool);
	struct rig_session s[2];
	struct packet p, q;

	for (unsigned i = 0; i < 2; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	rig_resolve(rig);
	for (unsigned k = 0; k < 3; k++) {
		p = packet_of(IPPROTO_UDP, ue_end(&s[0], 5000), ue_end(&s[1], 6000), 40);
		packet_send(rig, &s[0], true, 0, &p);
		p = packet_recv(rig, false);
		CU_ASSERT_TRUE(p.bytes && is_outside(rig, p.from));
		CU_ASSERT_TRUE(end_eq(p.to, ue_end(&s[1], 6000)));
		q = packet_of(IPPROTO_UDP, ue_end(&s[1], 6000), p.from, 40);
		packet_send(rig, &s[1], true, 1, &q);
		q = packet_recv(rig, false);
		CU_ASSERT_TRUE(q.bytes && end_eq(q.from, ue_end(&s[1], 6000)));
		CU_ASSERT_TRUE(end_eq(q.to, ue_end(&s[0], 5000)));
	}
	for (unsigned i = 0; i < 2; i++)
		rig_session_del(rig, &s[i]);
	nat_end(rig);
}

// --- redirected ------------------------------------------------------------------------------------------

static void redirect_set(struct rig *rig, struct rig_session *s, const char *to)
{
	struct rules *rules = rig_rules_new(0);

	for (unsigned i = 0; to && i < rules->n_fars; i++)
		if (rules->fars[i].destination != IF_ACCESS)
			rules->fars[i].redirect =
				(struct redirect_rule){.v4.s_addr = rig_addr(to).v4, .port = 8080};
	rig_session_change(rig, s, rules);
	rules_free(rules);
}

// The UE speaks to the server, hears from it, and both see nothing of `at`, where it really is.
static void check_way(struct rig *rig, const struct rig_session *s, struct end server,
		      struct end at, struct end outside)
{
	struct packet p = go_up(rig, s, IPPROTO_UDP, 5000, server);

	CU_ASSERT_TRUE(p.bytes && end_eq(p.to, at) && end_eq(p.from, outside));
	p = go_down(rig, s, IPPROTO_UDP, at, outside, 0);
	CU_ASSERT_TRUE(p.bytes && end_eq(p.from, server) && end_eq(p.to, ue_end(s, 5000)));
}

// A flow that is redirected, elsewhere, and no more, keeps its port outside.
static void redirect_row(enum nat_filter filter)
{
	struct nat_pool_conf pool = pool_of(32);
	struct rig_conf conf = {.n_workers = 1,
				.n_slots = 64,
				.n_tunnels = 16,
				.services = SERVICES_NAT,
				.nat = &pool,
				.redirects = true};
	struct end server = end_of(RIG_SERVER, 53), portal = end_of(OTHER, 8080);
	struct end other = end_of("203.0.113.10", 8080), outside;
	struct rig_session s;
	struct rig *rig;

	pool.filter = filter;
	rig = chain_rig_stopped(&conf);
	chain_session_add(rig, 0, NULL, &s);
	redirect_set(rig, &s, OTHER);
	outside = go_up(rig, &s, IPPROTO_UDP, 5000, server).from;
	CU_ASSERT_TRUE(is_outside(rig, outside));
	for (unsigned i = 0; i < 2; i++) {
		check_way(rig, &s, server, portal, outside);
		check_way(rig, &s, server, portal, outside);
		redirect_set(rig, &s, "203.0.113.10");
		check_way(rig, &s, server, other, outside);
		redirect_set(rig, &s, NULL);
		check_way(rig, &s, server, server, outside);
		redirect_set(rig, &s, OTHER);
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	CU_ASSERT_EQUAL(mappings(rig), 1);
	rig_session_del(rig, &s);
	nat_end(rig);
}

static void test_redirect(void)
{
	redirect_row(NAT_FILTER_NONE);
	redirect_row(NAT_FILTER_ADDRESS);
	redirect_row(NAT_FILTER_PORT);
}

static CU_TestInfo tests[] = {
	{"both directions", test_both},
	{"what is left alone", test_left_alone},
	{"mapping and filtering", test_modes},
	{"no port left", test_exhausted},
	{"ports of evicted flows", test_eviction},
	{"time", test_time},
	{"word of blocks", test_told},
	{"word that is lost, or not wanted", test_lost},
	{"what cannot be translated", test_unsupported},
	{"fragments", test_fragments},
	{"ICMP errors", test_errors},
	{"our own ICMP errors", test_own_errors},
	{"from UE to UE by outside addresses", test_hairpin},
	{"from UE to UE by their own", test_inside},
	{"redirected", test_redirect},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("NAT through the data path")
