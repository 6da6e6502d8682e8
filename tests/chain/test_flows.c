// Flows through the whole data path: made by their first packet, met by both directions, extended, ended in time,
// with their session, or to make room; and what rules and services make of them.
//
// The test's thread, with warped time. Rows go over v4/v6, who begins, and one or two workers.

#include <stdlib.h>

#include "base/clock.h"
#include "chain.h"
#include "packet/ip.h"
#include "pipeline/pipeline.h"
#include "worker/flows.h"
#include "worker/mailbox.h"

#define SERVICES_FLOW (SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle))

// --- a rig with flows ------------------------------------------------------------------------------------

static struct rig_conf conf_of(unsigned n_workers)
{
	return (struct rig_conf){
		.n_workers = n_workers, .n_slots = 64, .n_tunnels = 16, .services = SERVICES_FLOW};
}

static struct rig *flows_rig(const struct rig_conf *conf)
{
	return chain_rig_stopped(conf);
}

static struct flows *flows_of(const struct rig *rig, const struct rig_session *s)
{
	return &rig->control.workers[s->slot.owner]->flows;
}

static uint32_t used(const struct rig *rig)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		n += rig->control.workers[i]->flows.table.used;
	return n;
}

// Every flow that was made has ended in one way, or is there.
static void flows_end_rig(struct rig *rig)
{
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made),
			rig_count(rig, COUNTER_flows_expired) +
				rig_count(rig, COUNTER_flows_evicted) +
				rig_count(rig, COUNTER_flows_cleared) + used(rig));
	rig_end(rig);
}

static struct rig_flow udp(bool v6, uint16_t port)
{
	return (struct rig_flow){.proto = IPPROTO_UDP,
				 .ue_port = port,
				 .dn_port = 53,
				 .ttl = 64,
				 .payload = 20,
				 .qfi = 1,
				 .v6 = v6};
}

// The flow's number at its worker; 0: there is none.
static uint32_t number_of(const struct rig *rig, const struct rig_session *s,
			  const struct rig_flow *flow)
{
	const struct flow_table *table = &flows_of(rig, s)->table;
	struct flow_key key = {.where = flow_key_where(s->slot.index, flow->proto),
			       .ue_port = flow->ue_port,
			       .remote_port = flow->dn_port};
	struct addr dn;

	CU_ASSERT_EQUAL_FATAL(addr_parse(flow->dn   ? flow->dn
					 : flow->v6 ? RIG_SERVER6
						    : RIG_SERVER,
					 &dn),
			      0);
	if (flow->v6) {
		memcpy(key.v6.ue, s->ue_v6.v6, 16);
		key.v6.ue[15] = 1;
		memcpy(key.v6.remote, dn.v6, 16);
	} else {
		key.v4.ue = s->ue_v4.v4;
		key.v4.remote = dn.v4;
	}
	return flow_lookup(table, &key, flow->v6, flow_hash(table, &key));
}

// --- rows ------------------------------------------------------------------------------------------------

struct row {
	unsigned workers;
	bool v6, up_first;
	uint8_t proto;
};

static void rows_each(void (*fn)(const struct row *row))
{
	for (unsigned i = 0; i < 16; i++) {
		const struct row row = {.workers = 1 + i % 2,
					.v6 = i / 2 % 2,
					.up_first = i / 4 % 2,
					.proto = i / 8 ? IPPROTO_TCP : IPPROTO_UDP};

		fn(&row);
	}
}

// One packet of each direction, then again, by each worker: one flow, and all come through.
static void both_row(const struct row *row)
{
	struct rig_conf conf = conf_of(row->workers);
	struct rig *rig = flows_rig(&conf);
	struct rig_flow flow = udp(row->v6, 1000);
	struct rig_session s[2];

	flow.proto = row->proto;
	for (unsigned i = 0; i < 2; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	rig_resolve(rig);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < 8; k++)
			CU_ASSERT_EQUAL(chain_forwarded(rig, &s[i], row->up_first == (k % 2 == 0),
							&flow, k / 2 % row->workers),
					1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 2); // alike, in two sessions
	for (unsigned i = 0; i < 2; i++) {
		uint32_t number = number_of(rig, &s[i], &flow);
		const struct flow *line = &flows_of(rig, &s[i])->table.flows[number];

		CU_ASSERT_NOT_EQUAL_FATAL(number, 0);
		CU_ASSERT_EQUAL(flow_class_of(line), row->proto == IPPROTO_TCP
							     ? FLOW_TCP_ESTABLISHED
							     : FLOW_ESTABLISHED);
		CU_ASSERT_EQUAL((line->flags & FLOW_F_UP) != 0, row->up_first);
		CU_ASSERT_TRUE(line->pdrs[0] != FLOW_PDR_NONE && line->pdrs[1] != FLOW_PDR_NONE);
	}
	rig_session_del(rig, &s[0]);
	CU_ASSERT_EQUAL(used(rig), 1);
	rig_session_del(rig, &s[1]);
	CU_ASSERT_EQUAL(used(rig), 0);
	flows_end_rig(rig);
}

static void test_both(void)
{
	rows_each(both_row);
}

// Each class ends at its time: not before, and no later than 10 ms after.
static void expiry_row(const struct row *row)
{
	struct rig_conf conf = conf_of(row->workers);
	struct rig *rig = flows_rig(&conf);
	struct rig_flow flow = udp(row->v6, 1000);
	int64_t ms = row->proto == IPPROTO_TCP ? RIG_TCP_ESTABLISHED_MS : RIG_ESTABLISHED_MS;
	struct rig_session s;

	flow.proto = row->proto;
	chain_session_add(rig, 0, NULL, &s);
	chain_forwarded(rig, &s, row->up_first, &flow, 0);
	chain_warp_ms(rig, RIG_EMBRYONIC_MS - 1);
	CU_ASSERT_EQUAL(used(rig), 1);
	chain_warp_ms(rig, 11);
	CU_ASSERT_EQUAL(used(rig), 0);

	for (unsigned i = 0; i < 3; i++) // one side alone extends it, too
		chain_warp_ms(rig, chain_forwarded(rig, &s, row->up_first, &flow, 0) * 4000);
	CU_ASSERT_EQUAL(used(rig), 1);
	chain_forwarded(rig, &s, !row->up_first, &flow, row->workers - 1);
	chain_warp_ms(rig, ms - 1);
	CU_ASSERT_EQUAL(used(rig), 1);
	chain_forwarded(rig, &s, row->up_first, &flow, 0); // past a turn of the wheel
	chain_warp_ms(rig, ms - 1);
	CU_ASSERT_EQUAL(used(rig), 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_expired), 1);
	chain_warp_ms(rig, 11);
	CU_ASSERT_EQUAL(used(rig), 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_expired), 2);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 2);
	rig_session_del(rig, &s);
	flows_end_rig(rig);
}

static void test_expiry(void)
{
	rows_each(expiry_row);
}

// --- limits ----------------------------------------------------------------------------------------------

// Sends first packets of flows from port `from` on; gives how many come through.
static unsigned first_packets(struct rig *rig, const struct rig_session *s, uint16_t from,
			      unsigned n)
{
	unsigned passed = 0;

	for (unsigned i = 0; i < n; i++) {
		struct rig_flow flow = udp(i % 2, (uint16_t)(from + i));

		passed += chain_forwarded(rig, s, i / 2 % 2, &flow, 0);
	}
	return passed;
}

static void limit_check(struct rig_conf *conf, unsigned passes, enum drop reason)
{
	struct rig *rig = flows_rig(conf);
	struct rig_session s[2];

	for (unsigned i = 0; i < 2; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	rig_resolve(rig);
	CU_ASSERT_EQUAL(first_packets(rig, &s[0], 1000, 30), passes);
	CU_ASSERT_EQUAL(rig_drops(rig, reason), 30 - passes);
	CU_ASSERT_EQUAL(used(rig), passes);
	CU_ASSERT_EQUAL(first_packets(rig, &s[0], 1000, passes), passes); // go on
	if (reason == DROP_flow_session_full)
		CU_ASSERT_EQUAL(first_packets(rig, &s[1], 1000, 5), 5); // another's
	chain_warp_ms(rig, RIG_EMBRYONIC_MS + 10);
	CU_ASSERT_EQUAL(used(rig), 0);
	CU_ASSERT_EQUAL(first_packets(rig, &s[0], 3000, passes), passes);
	for (unsigned i = 0; i < 2; i++)
		rig_session_del(rig, &s[i]);
	flows_end_rig(rig);
}

static void test_limits(void)
{
	struct rig_conf pool = conf_of(1), session = conf_of(1), network = conf_of(1),
			rate = conf_of(1);

	pool.flows = 20;
	limit_check(&pool, 20, DROP_flow_pool_full);
	session.flows_per_session = 11;
	limit_check(&session, 11, DROP_flow_session_full);
	network.flow_profile.most = 7;
	limit_check(&network, 7, DROP_flow_network_full);
	rate.flow_profile.rate = 5;
	limit_check(&rate, 5, DROP_flow_rate);
}

// So many a second in the long run, whatever is tried.
static void test_rate(void)
{
	struct rig_conf conf = conf_of(1);
	struct rig_session s;
	unsigned passed = 0;
	struct rig *rig;

	conf.flow_profile.rate = 10;
	conf.flows = 1000;
	conf.flows_per_session = 1000;
	rig = flows_rig(&conf);
	chain_session_add(rig, 0, NULL, &s);
	for (unsigned i = 0; i < 200; i++) {
		passed += first_packets(rig, &s, (uint16_t)(1000 + 4 * i), 4);
		chain_warp_ms(rig, 50);
	}
	CU_ASSERT_TRUE(passed >= 100 && passed <= 110); // ten seconds, and the burst
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_flow_rate), 800 - passed);
	rig_session_del(rig, &s);
	flows_end_rig(rig);
}

// --- who goes --------------------------------------------------------------------------------------------

// Under the margin the oldest embryonic flow goes first, then who was used least recently; the pool has room again
// for as many as the margin says.
static void test_eviction(void)
{
	struct rig_conf conf = conf_of(1);
	struct rig_flow flows[12];
	struct rig_session s;
	struct rig *rig;

	conf.flows = 12;
	conf.flow_margin = 4;
	rig = flows_rig(&conf);
	chain_session_add(rig, 0, NULL, &s);
	for (unsigned i = 0; i < 8; i++) { // 0 to 4 are established
		flows[i] = udp(i % 2, (uint16_t)(1000 + i));
		chain_forwarded(rig, &s, true, &flows[i], 0);
		if (i < 5)
			chain_forwarded(rig, &s, false, &flows[i], 0);
		chain_warp_ms(rig, 300);
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_evicted), 0);
	chain_warp_ms(rig, 2000);
	chain_forwarded(rig, &s, true, &flows[0], 0); // used again: 1 is the least recent one now
	for (unsigned i = 8; i < 10; i++) {
		flows[i] = udp(false, (uint16_t)(1000 + i));
		chain_forwarded(rig, &s, true, &flows[i], 0);
		chain_forwarded(rig, &s, false, &flows[i], 0);
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_evicted), 2);
	CU_ASSERT_EQUAL(number_of(rig, &s, &flows[5]), 0); // the oldest embryonic
	CU_ASSERT_EQUAL(number_of(rig, &s, &flows[6]), 0);
	CU_ASSERT_NOT_EQUAL(number_of(rig, &s, &flows[7]), 0);
	for (unsigned i = 10; i < 12; i++) {
		flows[i] = udp(false, (uint16_t)(1000 + i));
		chain_forwarded(rig, &s, true, &flows[i], 0);
		chain_forwarded(rig, &s, false, &flows[i], 0);
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_evicted), 4);
	CU_ASSERT_EQUAL(number_of(rig, &s, &flows[7]), 0);
	CU_ASSERT_EQUAL(number_of(rig, &s, &flows[1]), 0); // used least recently
	CU_ASSERT_NOT_EQUAL(number_of(rig, &s, &flows[0]), 0);
	CU_ASSERT_NOT_EQUAL(number_of(rig, &s, &flows[2]), 0);
	CU_ASSERT_EQUAL(used(rig), 8);
	rig_session_del(rig, &s);
	flows_end_rig(rig);
}

// --- sessions --------------------------------------------------------------------------------------------

// A session with more flows than one turn ends: its end is answered when the last has gone, and whoever has its
// slot next has none of them.
static void test_session_end(void)
{
	struct rig_conf conf = conf_of(1);
	struct rig_session s, other;
	struct rig_flow flow = udp(false, 1000);
	struct rig *rig;
	unsigned turns = 0;

	conf.n_slots = 1;
	conf.flows = 3 * FLOW_ENDS;
	conf.flows_per_session = 3 * FLOW_ENDS;
	rig = flows_rig(&conf);
	chain_session_add(rig, 0, NULL, &s);
	CU_ASSERT_EQUAL(first_packets(rig, &s, 1000, 3 * FLOW_ENDS), 3 * FLOW_ENDS);
	rig_session_close(rig, &s);
	while (mailbox_outstanding(rig->control.workers[0]) > 0) {
		uint32_t before = used(rig);

		rig_turn(rig);
		turns++;
		CU_ASSERT_TRUE(before - used(rig) <= FLOW_ENDS);
	}
	CU_ASSERT_EQUAL(turns, 3);
	CU_ASSERT_EQUAL(used(rig), 0);
	rig_session_forget(rig, &s);
	rig_session_add(rig, 0, NULL, &other);
	CU_ASSERT_EQUAL(other.slot.index, s.slot.index);
	rig_resolve(rig);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &other, false, &flow, 0), 1);
	CU_ASSERT_EQUAL(used(rig), 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_cleared), 3 * FLOW_ENDS);
	rig_session_del(rig, &other);
	flows_end_rig(rig);
}

// Sessions without services for flows leave the table alone, also among others.
static void test_without(void)
{
	struct rig_conf conf = conf_of(2);
	struct rig_flow flow = udp(false, 1000);
	struct rig_session with, without;
	struct rig *rig = flows_rig(&conf);

	rig_session_add(rig, 0, NULL, &with);
	rig->conf.services = 0;
	chain_session_add(rig, 1, NULL, &without);
	for (unsigned i = 0; i < 20; i++) {
		uint8_t frame[RIG_FRAME_MAX];
		const struct rig_session *s = i % 3 ? &without : &with;

		rig_send(rig, RIG_N3, i % 2, frame, rig_frame_up(rig, s, &flow, frame));
		rig_send(rig, RIG_N6, i % 2, frame, rig_frame_down(rig, s, &flow, frame));
	}
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 20);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 20);
	CU_ASSERT_EQUAL(used(rig), 1);
	rig_session_del(rig, &with);
	rig_session_del(rig, &without);
	flows_end_rig(rig);
}

// --- rules -----------------------------------------------------------------------------------------------

static void rules_set(struct rig *rig, struct rig_session *s, enum rig_variant variant)
{
	struct rules *rules = rig_variant_new(variant, 0);

	rig_session_change(rig, s, rules);
	rules_free(rules);
}

// The PDR that a flow remembers counts for no packet after its rules are others, and the flow goes on; back again
// to rules like the first ones, too.
static void rules_row(const struct row *row)
{
	static const struct {
		enum rig_variant variant;
		unsigned up, down;
	} steps[] = {{RIG_FAR_DROP, 0, 0}, {RIG_ORDINARY, 1, 1}, {RIG_NO_PDR, 0, 0},
		     {RIG_ORDINARY, 1, 1}, {RIG_GATE_UP, 0, 1},  {RIG_GATE_DOWN, 1, 0},
		     {RIG_RQI, 1, 1},      {RIG_FAR_DROP, 0, 0}, {RIG_ORDINARY, 1, 1}};
	struct rig_conf conf = conf_of(row->workers);
	struct rig *rig = flows_rig(&conf);
	struct rig_flow flow = udp(row->v6, 1000);
	struct rig_session s;

	flow.proto = row->proto;
	chain_session_add(rig, 0, NULL, &s);
	chain_forwarded(rig, &s, row->up_first, &flow, 0);
	for (unsigned i = 0; i < RTE_DIM(steps); i++) {
		rules_set(rig, &s, steps[i].variant);
		for (unsigned k = 0; k < 3; k++) {
			CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &flow, 0), steps[i].up);
			CU_ASSERT_EQUAL(chain_forwarded(rig, &s, false, &flow, 0), steps[i].down);
		}
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	rig_session_del(rig, &s);
	flows_end_rig(rig);
}

static void test_rules(void)
{
	rows_each(rules_row);
}

// Packets of one flow with different QFIs match different PDRs, each its own however often they alternate.
static void test_rare(void)
{
	struct rules *rules = rig_rules_new(0);
	struct rig_conf conf = conf_of(1);
	struct rig *rig = flows_rig(&conf);
	struct rig_flow flow = udp(false, 1000);
	struct rig_session s;

	rules_pdr_lookup(rules, 4)->pdi.qfis = 1ull << 1;
	chain_session_add(rig, 0, rules, &s);
	for (unsigned i = 0; i < 6; i++) {
		flow.qfi = (uint8_t)(1 + i % 2);
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &flow, 0), flow.qfi == 1);
	}
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_pdr), 3);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	rules_free(rules);
	rig_session_del(rig, &s);
	flows_end_rig(rig);
}

// --- services --------------------------------------------------------------------------------------------

// A service from outside the tree, which is told of flows, looks at the first packets of each and then steps out.
static struct {
	unsigned made, gone, visits, most; // most: of one flow's packets
	unsigned untold; // packets of a flow that it was not told of, or whose end it was told
	uint32_t versions[512];
} seen;

static void seen_made(struct worker *w, uint32_t number)
{
	seen.made++;
	seen.versions[number] = w->flows.table.flows[number].version;
}

static void seen_gone(struct worker *w, uint32_t number)
{
	seen.gone++;
	seen.untold += seen.versions[number] != w->flows.table.flows[number].version;
	seen.versions[number] = 0;
}

struct seen_record {
	uint32_t version;
	uint32_t visits; // of the flow's packets
};

static const struct service service_seen;

static unsigned seen_bit(void)
{
	return (unsigned)__builtin_ctzll(rig_service_mask(&service_seen));
}

static void seen_run(struct worker *w, struct pkt **pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct flow *flow = &w->flows.table.flows[pkts[i]->flow];
		struct seen_record *record = flow_record(&w->flows, seen_bit(), pkts[i]->flow,
							 sizeof(*record));

		seen.visits++;
		seen.most = RTE_MAX(seen.most, ++record->visits);
		seen.untold += seen.versions[pkts[i]->flow] != flow->version;
		if (!(pkts[i]->flags & PKT_F_UP))
			flow->chain &= ~rig_service_mask(&service_seen);
	}
}

static const struct service service_seen = {
	.name = "seen",
	.bit = SERVICE_BIT_ANY,
	.run = seen_run,
	.after = SERVICES("flow"),
	.before = SERVICES("l4_lifecycle"),
	.for_flows = true,
	.made = seen_made,
	.gone = seen_gone,
	.state_bytes = sizeof(struct seen_record),
	.help = "for this test",
};

static void test_services(void)
{
	struct rig_conf conf = conf_of(1);
	struct rig_flow flow = udp(false, 1000), other = udp(true, 1001);
	struct rig_session s;
	struct rig *rig;

	memset(&seen, 0, sizeof(seen));
	conf.extra = &service_seen;
	rig = flows_rig(&conf);
	rig->conf.services |= rig_service_mask(&service_seen);
	chain_session_add(rig, 0, NULL, &s);
	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &flow, 0), 1);
	CU_ASSERT_EQUAL(seen.visits, 3);
	for (unsigned i = 0; i < 6; i++) // the first down packet is the last that it sees
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, i % 2, &flow, 0), 1);
	CU_ASSERT_EQUAL(seen.visits, 4);
	chain_forwarded(rig, &s, true, &other, 0); // another flow starts with its session's chain
	CU_ASSERT_EQUAL(seen.visits, 5);
	CU_ASSERT_EQUAL(seen.most, 4);
	CU_ASSERT_EQUAL(seen.made, 2);
	chain_warp_ms(rig, RIG_EMBRYONIC_MS + 10);
	CU_ASSERT_EQUAL(seen.gone, 1);

	// Rules that leave the service out and bring it back are told of it once more for nobody.
	rig->conf.services &= ~rig_service_mask(&service_seen);
	rules_set(rig, &s, RIG_RQI);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &flow, 0), 1);
	rig->conf.services |= rig_service_mask(&service_seen);
	rules_set(rig, &s, RIG_ORDINARY);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &flow, 0), 1);
	CU_ASSERT_EQUAL(seen.visits, 6);
	CU_ASSERT_EQUAL(seen.most, 5); // the same flow still
	CU_ASSERT_EQUAL(seen.made, 2);
	rig_session_del(rig, &s);
	CU_ASSERT_EQUAL(seen.gone, 2);
	CU_ASSERT_EQUAL(seen.untold, 0);
	flows_end_rig(rig);
}

static CU_TestInfo tests[] = {
	{"both directions meet", test_both},
	{"each class ends in time", test_expiry},
	{"limits", test_limits},
	{"so many a second", test_rate},
	{"who goes to make room", test_eviction},
	{"a session ends", test_session_end},
	{"sessions without flows", test_without},
	{"other rules", test_rules},
	{"rules that look at more", test_rare},
	{"services are told", test_services},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("flows through the data path")
