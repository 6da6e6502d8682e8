// Flows against a simple reference: a million random packets, steps of time, ends of sessions, other rules and
// commands, each outcome compared.
//
// The test's thread, with warped time. The reference is an array of all conversations that there can be, with what
// should be known of each; it knows ticks, timeouts and limits, and nothing of tables, wheels or lists. Who goes to
// make room is not foretold: it is held against what must be true of it.

#include <stdlib.h>

#include "base/clock.h"
#include "chain.h"
#include "pipeline/pipeline.h"
#include "worker/flows.h"
#include "worker/mailbox.h"

#define SESSIONS 5
#define PORTS 40u
#define POOL 150u
#define PER_SESSION 45u
#define TICK_NS 4194304ull // 2^30 / 256
#define STEP_TICKS 512u    // of last uses are told apart, at most: 2.1 s

struct conversation {
	bool lives, established, tcp, up;
	uint64_t deadline, used, made; // ticks
	uint64_t id;
};

struct model {
	struct rig *rig;
	struct rig_session sessions[SESSIONS];
	enum rig_variant variants[SESSIONS];
	struct conversation all[SESSIONS][2][2][PORTS]; // by family and protocol
	unsigned n, of_session[SESSIONS];
	uint64_t checked, refused, evicted, expired;
	uint64_t evictions; // that the workers had counted
};

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) * n >> 32);
}

static uint64_t tick_now(void)
{
	return clock_now_ns() / TICK_NS;
}

static uint64_t lifetime(const struct conversation *c)
{
	uint64_t ms = !c->established ? RIG_EMBRYONIC_MS
		      : c->tcp        ? RIG_TCP_ESTABLISHED_MS
				      : RIG_ESTABLISHED_MS;

	return (ms * 1000000 + TICK_NS - 1) / TICK_NS + 1; // never early
}

static void gone(struct model *m, unsigned s, struct conversation *c)
{
	c->lives = false;
	m->n--;
	m->of_session[s]--;
}

static void each(struct model *m,
		 void (*fn)(struct model *, unsigned s, struct conversation *, void *), void *ctx)
{
	for (unsigned s = 0; s < SESSIONS; s++)
		for (unsigned k = 0; k < 2 * 2 * PORTS; k++)
			fn(m, s, &m->all[s][k / PORTS / 2][k / PORTS % 2][k % PORTS], ctx);
}

static void turns(struct model *m)
{
	for (unsigned i = 0; i < m->rig->conf.n_workers; i++)
		rig_turn(m->rig);
}

static uint32_t used(const struct model *m)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < m->rig->conf.n_workers; i++)
		n += m->rig->control.workers[i]->flows.table.used;
	return n;
}

// --- time ------------------------------------------------------------------------------------------------

static void expire_one(struct model *m, unsigned s, struct conversation *c, void *ctx)
{
	if (!c->lives || c->deadline > tick_now())
		return;
	gone(m, s, c);
	m->expired++;
}

static void pass_time(struct model *m)
{
	clock_warp_ns((int64_t)draw(draw(50) ? 1500 : 400000) * (int64_t)NS_PER_MS + draw(1000000));
	each(m, expire_one, NULL);
	for (unsigned i = 0; i < 4; i++)
		turns(m);
}

// --- who went to make room -------------------------------------------------------------------------------

static const struct flow_table *table_of(const struct model *m, unsigned s)
{
	return &m->rig->control.workers[m->sessions[s].slot.owner]->flows.table;
}

struct room {
	unsigned owner;
	uint64_t oldest_made, oldest_used; // of the embryonic and established ones that stayed
	unsigned went;
};

static void stays(struct model *m, unsigned s, struct conversation *c, void *ctx)
{
	struct room *room = ctx;

	if (!c->lives || m->sessions[s].slot.owner != room->owner ||
	    !flow_id_lookup(table_of(m, s), c->id))
		return;
	if (c->established && c->used < room->oldest_used)
		room->oldest_used = c->used;
	if (!c->established && c->made < room->oldest_made)
		room->oldest_made = c->made;
}

// No later than the other, or not by more than so much.
static bool is_by(uint64_t tick, uint64_t other, uint64_t slack)
{
	return tick <= other || tick - other <= slack;
}

// Of the embryonic ones the oldest; of the established ones who was used least recently, and only where no embryonic
// one older than a second stayed.
static void went(struct model *m, unsigned s, struct conversation *c, void *ctx)
{
	const uint64_t second = 1000000000ull / TICK_NS + 2;
	struct room *room = ctx;

	if (!c->lives || m->sessions[s].slot.owner != room->owner ||
	    flow_id_lookup(table_of(m, s), c->id))
		return;
	if (c->established) {
		CU_ASSERT_TRUE(is_by(c->used, room->oldest_used, STEP_TICKS));
		CU_ASSERT_TRUE(is_by(tick_now(), room->oldest_made, second));
	} else {
		CU_ASSERT_TRUE(c->made <= room->oldest_made);
	}
	gone(m, s, c);
	room->went++;
}

static void make_room(struct model *m)
{
	uint64_t evictions = rig_count(m->rig, COUNTER_flows_evicted);
	unsigned n = 0;

	if (evictions == m->evictions)
		return;
	for (unsigned i = 0; i < m->rig->conf.n_workers; i++) {
		struct room room = {i, UINT64_MAX, UINT64_MAX, 0};

		each(m, stays, &room);
		each(m, went, &room);
		n += room.went;
	}
	CU_ASSERT_EQUAL(n, evictions - m->evictions);
	m->evicted += n;
	m->evictions = evictions;
}

// --- packets ---------------------------------------------------------------------------------------------

// Whether the session's rules let this pass.
static bool passes(enum rig_variant variant, bool up)
{
	return variant != RIG_FAR_DROP && variant != (up ? RIG_GATE_UP : RIG_GATE_DOWN);
}

static enum drop refusal(const struct model *m, unsigned s)
{
	if (m->of_session[s] >= PER_SESSION)
		return DROP_flow_session_full;
	return table_of(m, s)->used >= POOL ? DROP_flow_pool_full : DROP_NONE;
}

static struct rig_flow flow_of(bool v6, bool tcp, unsigned port)
{
	return (struct rig_flow){.proto = tcp ? IPPROTO_TCP : IPPROTO_UDP,
				 .ue_port = (uint16_t)(1000 + port),
				 .dn_port = 53,
				 .ttl = 64,
				 .payload = 10,
				 .qfi = 1,
				 .v6 = v6};
}

// The id of the flow that the workers have; 0: none.
static uint64_t id_of(const struct model *m, unsigned s, bool v6, bool tcp, unsigned port)
{
	const struct flow_table *table = table_of(m, s);
	struct flow_key key = {.where = flow_key_where(m->sessions[s].slot.index,
						       tcp ? IPPROTO_TCP : IPPROTO_UDP),
			       .ue_port = (uint16_t)(1000 + port),
			       .remote_port = 53};
	struct addr dn;
	uint32_t number;

	CU_ASSERT_EQUAL(addr_parse(v6 ? RIG_SERVER6 : RIG_SERVER, &dn), 0);
	if (v6) {
		memcpy(key.v6.ue, m->sessions[s].ue_v6.v6, 16);
		key.v6.ue[15] = 1;
		memcpy(key.v6.remote, dn.v6, 16);
	} else {
		key.v4.ue = m->sessions[s].ue_v4.v4;
		key.v4.remote = dn.v4;
	}
	number = flow_lookup(table, &key, v6, flow_hash(table, &key));
	return number ? flow_id(table, m->sessions[s].slot.owner, number) : 0;
}

static void made(struct model *m, unsigned s, struct conversation *c, bool up, bool tcp)
{
	*c = (struct conversation){
		.lives = true, .up = up, .tcp = tcp, .id = c->id, .made = tick_now()};
	m->n++;
	m->of_session[s]++;
}

static void packet(struct model *m)
{
	unsigned s = draw(SESSIONS), port = draw(draw(2) ? PORTS : 6);
	bool v6 = draw(2), tcp = draw(2), up = draw(2);
	struct conversation *c = &m->all[s][v6][tcp][port];
	bool lived = c->lives;
	struct rig_flow flow = flow_of(v6, tcp, port);
	enum drop why = c->lives ? DROP_NONE : refusal(m, s);
	uint64_t before = rig_drops(m->rig, why), last = c->id;
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = chain_frame(m->rig, &m->sessions[s], up, &flow, frame);
	unsigned out;

	rig_send(m->rig, up ? RIG_N3 : RIG_N6, draw(m->rig->conf.n_workers), frame, bytes);
	turns(m);
	out = chain_drain(m->rig, up ? RIG_N6 : RIG_N3);
	CU_ASSERT_EQUAL(out, why == DROP_NONE && passes(m->variants[s], up));
	m->checked++;
	if (why != DROP_NONE) {
		CU_ASSERT_EQUAL(rig_drops(m->rig, why), before + 1);
		m->refused++;
		return;
	}
	if (!lived)
		made(m, s, c, up, tcp);
	else if (!c->established && up != c->up)
		c->established = true;
	c->used = tick_now();
	c->deadline = c->used + lifetime(c);
	c->id = id_of(m, s, v6, tcp, port);
	CU_ASSERT_NOT_EQUAL(c->id, 0);
	CU_ASSERT_EQUAL(c->id == last, lived);
}

// --- all else --------------------------------------------------------------------------------------------

static void other_rules(struct model *m)
{
	static const enum rig_variant variants[] = {RIG_ORDINARY, RIG_ORDINARY,  RIG_FAR_DROP,
						    RIG_GATE_UP,  RIG_GATE_DOWN, RIG_RQI};
	unsigned s = draw(SESSIONS);
	struct rules *rules;

	m->variants[s] = variants[draw(RTE_DIM(variants))];
	rules = rig_variant_new(m->variants[s], s);
	rig_session_change(m->rig, &m->sessions[s], rules);
	rules_free(rules);
}

static void end_one(struct model *m, unsigned s, struct conversation *c, void *ctx)
{
	if (c->lives && s == *(unsigned *)ctx)
		gone(m, s, c);
}

static void end_session(struct model *m)
{
	unsigned s = draw(SESSIONS);

	rig_session_del(m->rig, &m->sessions[s]);
	each(m, end_one, &s);
	rig_session_add(m->rig, s, NULL, &m->sessions[s]);
	m->variants[s] = RIG_ORDINARY;
	rig_settle(m->rig);
}

// One that lives, or one that did.
static void kill_one(struct model *m)
{
	unsigned s = draw(SESSIONS);
	struct conversation *c = &m->all[s][draw(2)][draw(2)][draw(PORTS)];

	if (c->id == 0)
		return;
	CU_ASSERT_EQUAL(chain_flow_clear(m->rig, c->id), c->lives ? 0 : -ENOENT);
	if (c->lives)
		gone(m, s, c);
}

static void look_at_one(struct model *m)
{
	unsigned s = draw(SESSIONS), port = draw(PORTS);
	bool v6 = draw(2), tcp = draw(2);
	const struct conversation *c = &m->all[s][v6][tcp][port];
	const struct flow_table *table = table_of(m, s);
	const struct flow *flow;

	CU_ASSERT_EQUAL(id_of(m, s, v6, tcp, port), c->lives ? c->id : 0);
	CU_ASSERT_EQUAL(used(m), m->n);
	if (!c->lives)
		return;
	flow = &table->flows[flow_id_lookup(table, c->id)];
	CU_ASSERT_EQUAL(flow_class_of(flow), !c->established ? FLOW_EMBRYONIC
					     : c->tcp        ? FLOW_TCP_ESTABLISHED
							     : FLOW_ESTABLISHED);
	CU_ASSERT_EQUAL((flow->flags & FLOW_F_UP) != 0, c->up);
	CU_ASSERT_EQUAL(flow->deadline, (uint32_t)c->deadline);
}

static void model_run(unsigned workers, unsigned steps, uint32_t margin)
{
	static struct model m;
	const struct rig_conf conf = {
		.n_workers = workers,
		.n_slots = 8,
		.n_tunnels = 4,
		.services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle),
		.flows = POOL,
		.flows_per_session = PER_SESSION,
		.flow_margin = margin,
	};

	memset(&m, 0, sizeof(m));
	state = workers + margin;
	m.rig = chain_rig_stopped(&conf);
	for (unsigned s = 0; s < SESSIONS; s++)
		rig_session_add(m.rig, s, NULL, &m.sessions[s]);
	rig_resolve(m.rig);
	for (unsigned step = 0; step < steps; step++) {
		unsigned what = draw(1000);

		if (what < 900)
			packet(&m);
		else if (what < 930)
			look_at_one(&m);
		else if (what < 960)
			pass_time(&m);
		else if (what < 985)
			kill_one(&m);
		else if (what < 998)
			other_rules(&m);
		else
			end_session(&m);
		turns(&m);
		make_room(&m);
	}
	CU_ASSERT_TRUE(m.checked > steps / 2 && m.expired > steps / 100);
	CU_ASSERT_TRUE(margin > 0 || m.refused > steps / 100);
	CU_ASSERT_EQUAL(m.evicted > 0, margin > 0);
	for (unsigned s = 0; s < SESSIONS; s++)
		rig_session_del(m.rig, &m.sessions[s]);
	CU_ASSERT_EQUAL(used(&m), 0);
	rig_end(m.rig);
}

static void test_one_worker(void)
{
	model_run(1, 1000000, 0);
}

static void test_two_workers(void)
{
	model_run(2, 200000, 0);
}

static void test_evictions(void)
{
	model_run(1, 200000, 40);
	model_run(2, 100000, 90);
}

static CU_TestInfo tests[] = {
	{"a million steps", test_one_worker},
	{"two workers", test_two_workers},
	{"making room", test_evictions},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("flows against a reference")
