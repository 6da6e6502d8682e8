// NAT44 against a simple reference: a million random packets of both directions, steps of time, flows and sessions that
// end, each outcome compared.
//
// The test's thread, with warped time. The reference is an array of all conversations and one of all mappings that there
// can be, and says whose each port and block outside is; it knows nothing of tables and lists. Which free port a mapping
// gets is not foretold: it is held against what must be true of it, and stays the mapping's own for as long as that
// lives. How packets are translated in all their forms is tests/chain/test_nat.c's.

#include "nat_kit.h"
#include "session/key_kind.h"
#include "worker/mailbox.h"

#define STEPS 200000u // of each of seven rows
#define SESSIONS 4u
#define UE_PORTS 150u
#define UE_PORT 3940u // the first: some are below the pool's
#define REMOTES 3u
#define REMOTE_PORTS 2u
#define ADDRS 2u
#define LOW 3968u
#define BLOCK 64u
#define BLOCKS 3u // of an address
#define PORTS (BLOCKS * BLOCK)
#define LIMIT 2u
#define EMBRYONIC_MS 20000
#define UNASKED_MS 5000 // of what the network begins, until the UE answers

static const uint8_t protos[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP};
#define PROTOS RTE_DIM(protos)

struct row {
	unsigned workers;
	bool by_remote;
	enum nat_filter filter;
};

struct mapping {
	bool lives;
	uint8_t session, proto, addr;
	uint16_t ue_port, port; // from the first one
	uint8_t remote;         // + 1; 0: any
	unsigned flows;
};

struct conversation {
	bool lives, established, up;
	uint64_t deadline; // tick
	struct mapping *mapping;
};

struct block {
	uint8_t session; // + 1
	uint16_t used;
};

// Which conversation.
struct who {
	unsigned s, proto, port, remote, remote_port;
};

struct model {
	struct row row;
	struct rig *rig;
	struct rig_session sessions[SESSIONS];
	struct conversation all[SESSIONS][PROTOS][UE_PORTS][REMOTES][REMOTE_PORTS];
	struct mapping mappings[SESSIONS][PROTOS][UE_PORTS][REMOTES + 1];
	struct mapping *ports[PROTOS][ADDRS][PORTS];
	struct block blocks[ADDRS][BLOCKS];
	unsigned n_blocks[SESSIONS], addr[SESSIONS]; // + 1; 0: none yet
	unsigned n, n_mappings;
	uint64_t refused[DROP_REASONS], kept, passed;
};

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) * n >> 32);
}

static struct conversation *conversation_of(struct model *m, const struct who *who)
{
	return &m->all[who->s][who->proto][who->port][who->remote][who->remote_port];
}

static struct mapping *mapping_of(struct model *m, const struct who *who)
{
	return &m->mappings[who->s][who->proto][who->port][m->row.by_remote ? who->remote + 1 : 0];
}

static struct end remote_of(const struct who *who)
{
	return (struct end){rte_cpu_to_be_32(0xcb007100u + who->remote),
			    (uint16_t)(53 + who->remote_port)};
}

static struct end outside_of(unsigned addr, unsigned port)
{
	return (struct end){rte_cpu_to_be_32(rte_be_to_cpu_32(rig_addr(POOL).v4) + addr),
			    (uint16_t)(LOW + port)};
}

static struct who draw_who(void)
{
	struct who who = {.s = draw(SESSIONS),
			  .proto = draw(PROTOS),
			  .port = draw(draw(2) ? UE_PORTS : 6),
			  .remote = draw(REMOTES),
			  .remote_port = draw(REMOTE_PORTS)};

	if (protos[who.proto] == IPPROTO_ICMP) // has none
		who.remote_port = 0;
	return who;
}

static void turns(struct model *m)
{
	for (unsigned i = 0; i < m->row.workers; i++)
		rig_turn(m->rig);
}

// --- time ------------------------------------------------------------------------------------------------

static uint64_t tick_now(void)
{
	return clock_now_ns() / FLOW_TICK_NS;
}

static uint64_t lifetime(const struct conversation *c, unsigned proto)
{
	uint64_t ms = !c->established && !c->up      ? UNASKED_MS
		      : !c->established              ? EMBRYONIC_MS
		      : protos[proto] == IPPROTO_TCP ? RIG_TCP_ESTABLISHED_MS
						     : RIG_ESTABLISHED_MS;

	return (ms * NS_PER_MS + FLOW_TICK_NS - 1) / FLOW_TICK_NS + 1; // never early
}

// --- ports and blocks ------------------------------------------------------------------------------------

// Whether the block is one of the worker's that has the session.
static bool block_near(const struct model *m, unsigned s, unsigned addr, unsigned block)
{
	unsigned first = LOW / BLOCK - nat_of(m->rig, 0)->ports[0].pool->first;

	return (addr + block + first) % m->row.workers == m->sessions[s].slot.owner;
}

// Free ports of blocks that the session has, of this parity; 2: of any.
static unsigned ports_left(const struct model *m, unsigned s, unsigned proto, unsigned parity)
{
	unsigned n = 0;

	for (unsigned a = 0; a < ADDRS; a++)
		for (unsigned p = 0; p < PORTS; p++)
			n += m->blocks[a][p / BLOCK].session == s + 1 && !m->ports[proto][a][p] &&
			     (parity == 2 || (LOW + p) % 2 == parity);
	return n;
}

// Free blocks that the session may get.
static unsigned blocks_left(const struct model *m, unsigned s)
{
	unsigned n = 0;

	for (unsigned a = 0; m->n_blocks[s] < LIMIT && a < ADDRS; a++)
		for (unsigned b = 0; b < BLOCKS; b++)
			n += !m->blocks[a][b].session && block_near(m, s, a, b) &&
			     (!m->addr[s] || m->addr[s] == a + 1);
	return n;
}

// Whether the session could have kept the UE's port, in a block that it has already.
static bool could_keep(const struct model *m, const struct mapping *wanted)
{
	unsigned p = UE_PORT + wanted->ue_port - LOW;

	for (unsigned a = 0; p < PORTS && a < ADDRS; a++)
		if (m->blocks[a][p / BLOCK].session == wanted->session + 1u &&
		    !m->ports[wanted->proto][a][p])
			return true;
	return false;
}

// A new mapping has got this end outside.
static void mapping_begins(struct model *m, struct mapping *mapping, const struct who *who,
			   struct end outside)
{
	unsigned a = rte_be_to_cpu_32(outside.addr) - rte_be_to_cpu_32(rig_addr(POOL).v4);
	unsigned p = outside.port - LOW, parity = (UE_PORT + who->port) % 2;
	unsigned same = ports_left(m, who->s, who->proto, parity), more = blocks_left(m, who->s);
	struct block *block = &m->blocks[a][p / BLOCK];

	*mapping = (struct mapping){.lives = true,
				    .session = (uint8_t)who->s,
				    .proto = (uint8_t)who->proto,
				    .addr = (uint8_t)a,
				    .ue_port = (uint16_t)who->port,
				    .port = (uint16_t)p,
				    .remote = m->row.by_remote ? (uint8_t)(who->remote + 1) : 0};
	CU_ASSERT_FATAL(a < ADDRS && p < PORTS);
	CU_ASSERT_PTR_NULL(m->ports[who->proto][a][p]);
	CU_ASSERT_TRUE(block->session == 0 || block->session == who->s + 1);
	CU_ASSERT_TRUE(block_near(m, who->s, a, p / BLOCK));
	CU_ASSERT_TRUE(p % 2 == parity || (same == 0 && more == 0));
	if (could_keep(m, mapping))
		CU_ASSERT_EQUAL(outside.port, UE_PORT + who->port);
	m->kept += outside.port == UE_PORT + who->port;
	if (block->session == 0) {
		CU_ASSERT_EQUAL(same, 0); // no block before it is needed
		CU_ASSERT_TRUE(more > 0 && (!m->addr[who->s] || m->addr[who->s] == a + 1));
		m->n_blocks[who->s]++;
		m->addr[who->s] = a + 1;
	}
	block->session = (uint8_t)(who->s + 1);
	block->used++;
	m->ports[who->proto][a][p] = mapping;
	m->n_mappings++;
}

static void mapping_ends(struct model *m, struct mapping *mapping)
{
	struct block *block = &m->blocks[mapping->addr][mapping->port / BLOCK];

	mapping->lives = false;
	m->ports[mapping->proto][mapping->addr][mapping->port] = NULL;
	m->n_mappings--;
	if (--block->used > 0)
		return;
	block->session = 0;
	if (--m->n_blocks[mapping->session] == 0)
		m->addr[mapping->session] = 0;
}

// --- conversations ---------------------------------------------------------------------------------------

// A packet of it has gone its way, by this mapping if there is one.
static void goes_on(struct model *m, const struct who *who, bool up, struct mapping *mapping)
{
	struct conversation *c = conversation_of(m, who);
	bool begins = !c->lives;

	if (begins) {
		*c = (struct conversation){.lives = true, .up = up};
		m->n++;
	}
	c->established |= c->up != up;
	if (begins || c->established || c->up) // what comes unasked extends nothing
		c->deadline = tick_now() + lifetime(c, who->proto);
	if (mapping && !c->mapping) {
		c->mapping = mapping;
		mapping->flows++;
	}
	CU_ASSERT_TRUE(!mapping || c->mapping == mapping);
}

static void ends(struct model *m, struct conversation *c)
{
	struct mapping *mapping = c->mapping;

	*c = (struct conversation){0};
	m->n--;
	if (mapping && --mapping->flows == 0)
		mapping_ends(m, mapping);
}

// Of one session, those whose time is over by `tick`.
static void some_end(struct model *m, unsigned s, uint64_t tick)
{
	struct conversation *all = &m->all[s][0][0][0][0];

	for (unsigned i = 0; i < sizeof(m->all[s]) / sizeof(*all); i++)
		if (all[i].lives && all[i].deadline <= tick)
			ends(m, &all[i]);
}

// --- packets ---------------------------------------------------------------------------------------------

static struct packet exchange(struct model *m, const struct who *who, bool up,
			      const struct packet *p)
{
	packet_post(m->rig, &m->sessions[who->s], up, draw(m->row.workers), p);
	turns(m);
	return packet_recv(m->rig, up);
}

static void is_refused(struct model *m, const struct packet *got, enum drop why, uint64_t before)
{
	CU_ASSERT_EQUAL(got->bytes, 0);
	CU_ASSERT_EQUAL(rig_drops(m->rig, why), before + 1);
	m->refused[why]++;
}

static void packet_up(struct model *m)
{
	struct who who = draw_who();
	struct mapping *mapping = mapping_of(m, &who);
	bool room = mapping->lives || ports_left(m, who.s, who.proto, 2) || blocks_left(m, who.s);
	uint64_t before = rig_drops(m->rig, DROP_nat_no_port);
	struct packet p = packet_of(protos[who.proto],
				    ue_end(&m->sessions[who.s], (uint16_t)(UE_PORT + who.port)),
				    remote_of(&who), 20);

	p = exchange(m, &who, true, &p);
	if (!room) {
		is_refused(m, &p, DROP_nat_no_port, before);
		goes_on(m, &who, true, NULL);
		return;
	}
	CU_ASSERT_NOT_EQUAL_FATAL(p.bytes, 0);
	if (!mapping->lives)
		mapping_begins(m, mapping, &who, p.from);
	CU_ASSERT_TRUE(end_eq(p.from, outside_of(mapping->addr, mapping->port)));
	CU_ASSERT_EQUAL(p.to.addr, remote_of(&who).addr);
	goes_on(m, &who, true, mapping);
	m->passed++;
}

// Whether the UE has sent to this address by the mapping.
static bool has_sent(const struct model *m, const struct mapping *mapping, unsigned remote)
{
	for (unsigned q = 0; q < REMOTE_PORTS; q++)
		if (m->all[mapping->session][mapping->proto][mapping->ue_port][remote][q].mapping ==
		    mapping)
			return true;
	return false;
}

static enum drop verdict(struct model *m, const struct mapping *mapping, const struct who *who)
{
	if (conversation_of(m, who)->mapping == mapping)
		return DROP_NONE;
	if (mapping->remote && mapping->remote != who->remote + 1)
		return DROP_nat_filtered;
	if (m->row.filter == NAT_FILTER_NONE)
		return DROP_NONE;
	return m->row.filter == NAT_FILTER_ADDRESS && has_sent(m, mapping, who->remote)
		       ? DROP_NONE
		       : DROP_nat_filtered;
}

// To a port outside that is some mapping's, or was, or to any.
static void packet_down(struct model *m)
{
	struct who who = draw_who();
	const struct mapping *any = mapping_of(m, &who);
	unsigned a = draw(16) ? any->addr : draw(ADDRS), p = draw(16) ? any->port : draw(PORTS);
	struct mapping *mapping = m->ports[who.proto][a][p];
	struct end outside = outside_of(a, p);
	enum drop why = DROP_no_session;
	struct packet packet;
	uint64_t before;

	who.remote = draw(REMOTES);
	if (m->blocks[a][p / BLOCK].session)
		why = DROP_nat_no_mapping;
	if (mapping) {
		who.s = mapping->session;
		who.port = mapping->ue_port;
		why = verdict(m, mapping, &who);
	}
	before = rig_drops(m->rig, why);
	packet = packet_of(protos[who.proto], remote_of(&who), outside, 20);
	if (protos[who.proto] == IPPROTO_ICMP) {
		packet = packet_of(IPPROTO_ICMP, (struct end){remote_of(&who).addr, outside.port},
				   outside, 20);
		as_reply(&packet);
	}
	packet = exchange(m, &who, false, &packet);
	if (why) {
		is_refused(m, &packet, why, before);
		return;
	}
	CU_ASSERT_NOT_EQUAL(packet.bytes, 0);
	CU_ASSERT_TRUE(
		end_eq(packet.to, ue_end(&m->sessions[who.s], (uint16_t)(UE_PORT + who.port))));
	CU_ASSERT_EQUAL(packet.from.addr, remote_of(&who).addr);
	goes_on(m, &who, false, mapping);
	m->passed++;
}

// --- all else --------------------------------------------------------------------------------------------

static void pass_time(struct model *m)
{
	clock_warp_ns((int64_t)draw(draw(150) ? 1500 : 400000) * (int64_t)NS_PER_MS +
		      draw(1000000));
	for (unsigned s = 0; s < SESSIONS; s++)
		some_end(m, s, tick_now());
	for (unsigned i = 0; i < 40; i++) // a turn ends so many flows
		turns(m);
}

static void end_session(struct model *m)
{
	unsigned s = draw(SESSIONS);

	rig_session_del(m->rig, &m->sessions[s]);
	some_end(m, s, UINT64_MAX);
	rig_session_add(m->rig, s, NULL, &m->sessions[s]);
	rig_settle(m->rig);
}

static void kill_one(struct model *m)
{
	struct who who = draw_who();
	struct conversation *c = conversation_of(m, &who);
	struct worker *w = m->rig->control.workers[m->sessions[who.s].slot.owner];
	const struct flow_table *table = &w->flows.table;
	struct flow_key key = {
		.where = flow_key_where(m->sessions[who.s].slot.index, protos[who.proto]),
		.ue_port = (uint16_t)(UE_PORT + who.port),
		.remote_port = protos[who.proto] == IPPROTO_ICMP ? KEY_ECHO_BY_UE
								 : remote_of(&who).port,
		.v4 = {.ue = m->sessions[who.s].ue_v4.v4, .remote = remote_of(&who).addr}};
	uint32_t number = flow_lookup(table, &key, false, flow_hash(table, &key));

	CU_ASSERT_EQUAL(number != 0, c->lives);
	if (number == 0)
		return;
	CU_ASSERT_EQUAL(table->flows[number].deadline, (uint32_t)c->deadline);
	CU_ASSERT_EQUAL(chain_flow_clear(m->rig, flow_id(table, w->id, number)), 0);
	ends(m, c);
}

static void compare(const struct model *m)
{
	const struct nat_pool *pool = &m->rig->nat.pools[0];
	unsigned blocks = 0, flows = 0;

	for (unsigned i = 0; i < m->row.workers; i++)
		flows += m->rig->control.workers[i]->flows.table.used;
	CU_ASSERT_EQUAL(flows, m->n);
	CU_ASSERT_EQUAL(mappings(m->rig), m->n_mappings);
	for (unsigned a = 0; a < ADDRS; a++)
		for (unsigned b = 0; b < BLOCKS; b++) {
			struct end end = outside_of(a, b * BLOCK);
			const struct session_ref *word = nat_pool_word(pool, end.addr, end.port);
			unsigned s = m->blocks[a][b].session;

			blocks += s != 0;
			CU_ASSERT_EQUAL(word->check != 0, s != 0);
			if (s)
				CU_ASSERT_EQUAL(session_ref_index(*word),
						m->sessions[s - 1].slot.index);
		}
	CU_ASSERT_EQUAL(rig_count(m->rig, COUNTER_nat_blocks_taken) -
				rig_count(m->rig, COUNTER_nat_blocks_given),
			blocks);
}

static void step(struct model *m)
{
	unsigned what = draw(1000);

	if (what < 550)
		packet_up(m);
	else if (what < 970)
		packet_down(m);
	else if (what < 985)
		kill_one(m);
	else if (what < 988)
		compare(m);
	else if (what < 999)
		pass_time(m);
	else
		end_session(m);
}

static void model_row(const struct row *row)
{
	static struct model m;
	struct nat_pool_conf pool = pool_of(31);
	struct rig_conf conf = nat_conf(row->workers, &pool);

	pool.port_low = LOW;
	pool.port_high = LOW + PORTS - 1;
	pool.blocks_per_session = LIMIT;
	pool.map_by_remote = row->by_remote;
	pool.filter = row->filter;
	conf.flows = conf.flows_per_session = 16384;
	conf.flow_profile.timeout_ms[FLOW_EMBRYONIC] = EMBRYONIC_MS;
	memset(&m, 0, sizeof(m));
	m.row = *row;
	m.rig = chain_rig_stopped(&conf);
	state = row->workers + 10 * row->filter + 100 * row->by_remote;
	for (unsigned s = 0; s < SESSIONS; s++)
		rig_session_add(m.rig, s, NULL, &m.sessions[s]);
	rig_resolve(m.rig);
	for (unsigned i = 0; i < STEPS; i++)
		step(&m);
	CU_ASSERT_TRUE(m.passed > STEPS / 3 && m.kept > STEPS / 100);
	CU_ASSERT_TRUE(m.refused[DROP_nat_no_port] > STEPS / 1000);
	CU_ASSERT_TRUE(m.refused[DROP_nat_no_mapping] > STEPS / 1000);
	CU_ASSERT_TRUE(m.refused[DROP_no_session] > STEPS / 1000);
	CU_ASSERT_EQUAL(m.refused[DROP_nat_filtered] > STEPS / 100,
			row->by_remote || row->filter != NAT_FILTER_NONE);
	for (unsigned s = 0; s < SESSIONS; s++)
		rig_session_del(m.rig, &m.sessions[s]);
	nat_end(m.rig);
}

static void test_endpoint_independent(void)
{
	model_row(&(struct row){1, false, NAT_FILTER_NONE});
	model_row(&(struct row){2, false, NAT_FILTER_NONE});
}

static void test_filtered(void)
{
	model_row(&(struct row){1, false, NAT_FILTER_ADDRESS});
	model_row(&(struct row){2, false, NAT_FILTER_PORT});
}

static void test_by_remote(void)
{
	model_row(&(struct row){2, true, NAT_FILTER_NONE});
	model_row(&(struct row){1, true, NAT_FILTER_ADDRESS});
	model_row(&(struct row){1, true, NAT_FILTER_PORT});
}

static CU_TestInfo tests[] = {
	{"endpoint-independent", test_endpoint_independent},
	{"with filters", test_filtered},
	{"a port for each remote address", test_by_remote},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("NAT against a reference")
