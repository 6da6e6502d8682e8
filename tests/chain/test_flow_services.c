// What a service may do with flows: make further ones, rewrite what the rest of a flow's life is worth, be told of each
// flow's beginning and end; and ends by command, at all workers, that leave other flows alone.
//
// The test's thread, with warped time. Rows go over v4/v6, who begins, and one or two workers.

#include <stdlib.h>

#include "base/clock.h"
#include "chain.h"
#include "pipeline/pipeline.h"
#include "rows.h"
#include "worker/flows.h"
#include "worker/mailbox.h"

#define LIFE SERVICE_MASK(l4_lifecycle)
#define FLOWS 8

// --- a service from outside ------------------------------------------------------------------------------

#define CONTROL_PORT 21 // packets from there announce the next port of the UE, from FIRST_PORT on
#define FIRST_PORT 2000
#define TOS_OFF 4 // takes l4_lifecycle out of the flow's chain
#define TOS_ON 8  // puts it in

static struct {
	unsigned made, gone, wrong; // wrong: packets of flows that are not between their two
	unsigned announced;
	enum flow_made said; // of the last flow that it made
	uint32_t number;
	bool lives[2][FLOWS + 1]; // by worker
} seen;

static void outside_made(struct worker *w, uint32_t number)
{
	seen.made++;
	seen.wrong += seen.lives[w->id][number];
	seen.lives[w->id][number] = true;
}

static void outside_gone(struct worker *w, uint32_t number)
{
	seen.gone++;
	seen.wrong += !seen.lives[w->id][number];
	seen.lives[w->id][number] = false;
}

// The flow of a packet that is to come: from another port of the remote end to another one of the UE.
static void announce(struct worker *w, const struct flow *flow)
{
	struct flow_order order = {.key = flow->key,
				   .chain = flow->chain,
				   .slot = flow_key_context(&flow->key),
				   .profile = (uint8_t)flow_profile_of(flow),
				   .v6 = flow->flags & FLOW_F_V6};

	order.key.ue_port = (uint16_t)(FIRST_PORT + seen.announced);
	order.key.remote_port = CONTROL_PORT - 1;
	order.hash = flow_hash(&w->flows.table, &order.key);
	seen.number = 0;
	seen.said = flows_make(w, &order, &seen.number);
}

static void outside_run(struct worker *w, struct pkt **pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *user = rte_pktmbuf_mtod_offset(pkts[i]->mbuf, const uint8_t *,
							      pkts[i]->user);
		struct flow *flow = &w->flows.table.flows[pkts[i]->flow];
		uint8_t tos = pkts[i]->family == 4 ? user[1]
						   : (uint8_t)((user[0] & 0xf) << 4 | user[1] >> 4);

		seen.wrong += !seen.lives[w->id][pkts[i]->flow];
		if (flow->key.remote_port == CONTROL_PORT)
			announce(w, flow);
		if (tos == TOS_OFF)
			flow->chain &= ~LIFE;
		if (tos == TOS_ON)
			flow->chain |= LIFE;
	}
}

static const struct service service_outside = {
	.name = "from_outside",
	.bit = SERVICE_BIT_ANY,
	.run = outside_run,
	.after = SERVICES("flow"),
	.before = SERVICES("l4_lifecycle"),
	.for_flows = true,
	.made = outside_made,
	.gone = outside_gone,
	.help = "for this test",
};

// --- a rig -----------------------------------------------------------------------------------------------

// With a session of each worker.
static struct rig *rig_open(const struct row *row, struct rig_session s[2])
{
	struct rig_conf conf = {.n_workers = row->workers,
				.n_slots = 8,
				.n_tunnels = 4,
				.services = SERVICE_MASK(flow) | LIFE,
				.flows = FLOWS,
				.flows_per_session = FLOWS - 2,
				.extra = &service_outside};
	struct rig *rig = chain_rig_stopped(&conf);

	memset(&seen, 0, sizeof(seen));
	rig->conf.services |= rig_service_mask(&service_outside);
	for (unsigned i = 0; i < 2; i++)
		rig_session_add(rig, i, NULL, &s[i]);
	rig_resolve(rig);
	return rig;
}

static void rig_close(struct rig *rig, struct rig_session s[2])
{
	for (unsigned i = 0; i < 2; i++)
		rig_session_del(rig, &s[i]);
	CU_ASSERT_EQUAL(seen.made, rig_count(rig, COUNTER_flows_made));
	CU_ASSERT_EQUAL(seen.gone, seen.made);
	CU_ASSERT_EQUAL(seen.wrong, 0);
	rig_end(rig);
}

static struct rig_flow flow_of(const struct row *row, uint16_t ue_port, uint16_t dn_port)
{
	return (struct rig_flow){.proto = IPPROTO_UDP,
				 .ue_port = ue_port,
				 .dn_port = dn_port,
				 .ttl = 64,
				 .payload = 20,
				 .qfi = 1,
				 .v6 = row->v6};
}

static struct flow *newest(const struct rig *rig, const struct rig_session *s)
{
	struct flows *flows = &rig->control.workers[s->slot.owner]->flows;

	return &flows->table.flows[flows->sessions[s->slot.index].first];
}

static uint32_t used(const struct rig *rig)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		n += rig->control.workers[i]->flows.table.used;
	return n;
}

// --- flows that it makes ---------------------------------------------------------------------------------

// What it announces is there when the packet comes, whichever side that comes from; a flow that is there already is told,
// and so is that there may be no more.
static void announced_row(const struct row *row)
{
	struct rig_session s[2];
	struct rig *rig = rig_open(row, s);
	struct rig_flow control = flow_of(row, 1000, CONTROL_PORT);
	struct rig_flow data = flow_of(row, FIRST_PORT, CONTROL_PORT - 1);
	uint32_t number;

	CU_ASSERT_EQUAL(chain_forwarded(rig, &s[0], row->up, &control, 0), 1);
	CU_ASSERT_EQUAL(seen.said, FLOW_MADE);
	number = seen.number;
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 2);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s[0], row->up, &control, row->workers - 1), 1);
	CU_ASSERT_EQUAL(seen.said, FLOW_KEY_TAKEN);
	CU_ASSERT_EQUAL(seen.number, number);

	CU_ASSERT_EQUAL(chain_forwarded(rig, &s[0], !row->up, &data, 0), 1);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s[0], row->up, &data, 0), 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 2);
	CU_ASSERT_EQUAL(flow_class_of(newest(rig, &s[0])), FLOW_ESTABLISHED);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s[1], row->up, &data, 0), 1); // another session's
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 3);

	for (seen.announced = 1; seen.announced < FLOWS - 2; seen.announced++) {
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s[0], row->up, &control, 0), 1);
		CU_ASSERT_EQUAL(seen.said,
				seen.announced < FLOWS - 3 ? FLOW_MADE : FLOW_SESSION_FULL);
	}
	if (row->workers == 1) { // the pool is all sessions'
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s[1], row->up, &control, 0), 1);
		CU_ASSERT_EQUAL(seen.said, FLOW_POOL_FULL);
	}
	rig_close(rig, s);
}

static void test_announced(void)
{
	rows_each(announced_row);
}

// --- chains that it rewrites -----------------------------------------------------------------------------

// What it takes out of a flow's chain, and puts in, holds from the next packet on, of both directions and of no other flow.
static void rewritten_row(const struct row *row)
{
	struct rig_session s[2];
	struct rig *rig = rig_open(row, s);
	struct rig_flow flow = flow_of(row, 1000, 53), other = flow_of(row, 1001, 53);
	uint64_t whole = rig_service_mask(&service_outside) | LIFE;
	uint32_t deadline;

	flow.tos = TOS_OFF;
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s[0], row->up, &flow, 0), 1);
	CU_ASSERT_EQUAL(newest(rig, &s[0])->chain, rig_service_mask(&service_outside));
	deadline = newest(rig, &s[0])->deadline;
	flow.tos = 0;
	clock_warp_ns(1000 * (int64_t)NS_PER_MS);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s[0], i % 2, &flow, i % row->workers), 1);
	CU_ASSERT_EQUAL(newest(rig, &s[0])->deadline, deadline);
	CU_ASSERT_EQUAL(flow_class_of(newest(rig, &s[0])), FLOW_EMBRYONIC);
	flow.tos = TOS_ON;
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s[0], row->up, &flow, 0), 1);
	CU_ASSERT_EQUAL(newest(rig, &s[0])->chain, whole);
	flow.tos = 0;
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s[0], !row->up, &flow, 0), 1);
	CU_ASSERT_EQUAL(flow_class_of(newest(rig, &s[0])), FLOW_ESTABLISHED);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s[0], row->up, &other, 0), 1);
	CU_ASSERT_EQUAL(newest(rig, &s[0])->chain, whole);
	rig_close(rig, s);
}

static void test_rewritten(void)
{
	rows_each(rewritten_row);
}

// --- ends by command -------------------------------------------------------------------------------------

static uint32_t ended;

static void cleared(struct mail *mail, void *ctx)
{
	ended += mail->flows.ended;
	free(mail);
}

// Ends all flows of these workers, or of one session, in the turn that carries the command out.
static void clear(struct rig *rig, unsigned from, unsigned to, const struct rig_session *s)
{
	ended = 0;
	for (unsigned i = from; i < to; i++) {
		struct mail *mail = mail_new(MAIL_FLOWS_CLEAR, cleared, NULL);

		CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
		mail->flows.slot = s ? s->slot.index : FLOWS_ALL_SLOTS;
		mail->flows.version = s ? s->slot.version : 0;
		mail_post(rig->control.workers[i], mail);
	}
	rig_turn(rig);
}

// All go at once, at each worker, however often their time has been extended; of one session none but its own, and those
// that are left end in time. Each end is told.
static void clear_row(const struct row *row)
{
	struct rig_session s[2];
	struct rig *rig = rig_open(row, s);

	for (unsigned round = 0; round < 2; round++) {
		for (uint16_t i = 0; i < 3; i++) {
			struct rig_flow flow = flow_of(row, (uint16_t)(1000 + i), 53);

			for (unsigned k = 0; k < 4; k++)
				CU_ASSERT_EQUAL(chain_forwarded(rig, &s[k % 2],
								row->up == (k / 2 == 0), &flow,
								k % row->workers),
						1);
		}
		clock_warp_ns((RIG_ESTABLISHED_MS - 1000) * (int64_t)NS_PER_MS);
		for (unsigned k = 0; k < 2; k++) { // past a turn of the wheel
			struct rig_flow flow = flow_of(row, 1000, 53);

			CU_ASSERT_EQUAL(chain_forwarded(rig, &s[k], row->up, &flow, 0), 1);
		}
		CU_ASSERT_EQUAL(used(rig), 6);
		if (round == 0)
			clear(rig, 0, row->workers, NULL);
		else
			clear(rig, s[0].slot.owner, s[0].slot.owner + 1, &s[0]);
		CU_ASSERT_EQUAL(ended, round == 0 ? 6 : 3);
		CU_ASSERT_EQUAL(used(rig), round == 0 ? 0 : 3);
		CU_ASSERT_EQUAL(seen.gone, round == 0 ? 6 : 9);
	}
	clock_warp_ns(1000 * (int64_t)NS_PER_MS + 10 * (int64_t)NS_PER_MS);
	rig_settle(rig);
	CU_ASSERT_EQUAL(used(rig), 1); // the one that was used since
	clock_warp_ns((RIG_ESTABLISHED_MS - 1000) * (int64_t)NS_PER_MS);
	rig_settle(rig);
	CU_ASSERT_EQUAL(used(rig), 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_expired), 3);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_cleared), 9);
	rig_close(rig, s);
}

static void test_clear(void)
{
	rows_each(clear_row);
}

static CU_TestInfo tests[] = {
	{"flows that a service makes", test_announced},
	{"chains that a service rewrites", test_rewritten},
	{"all at once, by command", test_clear},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("services and flows")
