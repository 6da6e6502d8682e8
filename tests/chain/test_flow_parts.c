// What belongs to a flow though it does not look like it: fragments of its packets, pings among them, and ICMP errors
// about them.
//
// The test's thread, with stopped time. Rows go over v4/v6, up and down, one and two workers.

#include "base/clock.h"
#include "errors.h"
#include "fragments.h"
#include "pipeline/pipeline.h"
#include "rows.h"
#include "service/flow_handler.h"
#include "rules/acl.h"

#define PAYLOAD 1600
#define MTU 600 // three pieces

static struct rig *rig_of(unsigned workers, const struct acl *acl)
{
	struct rig_conf conf = {
		.n_workers = workers,
		.n_slots = 64,
		.n_tunnels = 16,
		.services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle) |
			    (acl ? SERVICE_MASK(acl) : 0),
		.acl = acl,
		.flow_profile = {.handlers = {[FLOW_CASE_ICMP_ERROR] = FLOW_HANDLER_flow}},
		.gather = {.datagrams = 16, .of_one = 4, .pieces = 64, .ms = 1000}};

	return chain_rig_stopped(&conf);
}

static const struct flows *flows_of(const struct rig *rig, const struct rig_session *s)
{
	return &rig->control.workers[s->slot.owner]->flows;
}

// The first flow of the session.
static const struct flow *flow_of(const struct rig *rig, const struct rig_session *s)
{
	const struct flows *flows = flows_of(rig, s);

	return &flows->table.flows[flows->sessions[s->slot.index].first];
}

static unsigned send_pieces(struct rig *rig, const struct row *row, const struct pieces *pieces)
{
	for (unsigned i = pieces->n; i-- > 0;) // the ports come last
		piece_send(rig, row->up ? RIG_N3 : RIG_N6, pieces, i, i);
	rig_settle(rig);
	return chain_drain(rig, row->up ? RIG_N6 : RIG_N3);
}

// --- fragments -------------------------------------------------------------------------------------------

// A datagram in pieces is one packet of the flow that whole ones make, and what the rules say of its ports holds.
static void fragments_row(const struct row *row)
{
	struct rig *rig = rig_of(row->workers, NULL);
	struct rig_flow flow = fragment_flow(row->v6, 5000, PAYLOAD), small = flow;
	static struct pieces pieces;
	struct rig_session s;

	small.payload = 20;
	chain_session_add(rig, 0, NULL, &s);
	for (unsigned i = 0; i < 3; i++) {
		pieces_of_user(rig, &s, row->up, &flow, MTU, 7 + i, &pieces);
		CU_ASSERT_EQUAL(send_pieces(rig, row, &pieces), 3);
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, row->up, &small, 0), 1);
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_gathered), 3);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	CU_ASSERT_EQUAL(flow_of(rig, &s)->key.remote_port, 5000);
	CU_ASSERT_EQUAL(flow_of(rig, &s)->key.ue_port, 4000);
	pieces_of_user(rig, &s, !row->up, &flow, MTU, 20, &pieces);
	CU_ASSERT_EQUAL(send_pieces(rig, &(struct row){.workers = row->workers, .up = !row->up},
				    &pieces),
			3);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	CU_ASSERT_EQUAL(flow_class_of(flow_of(rig, &s)), FLOW_ESTABLISHED);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_fragments(void)
{
	rows_each(fragments_row);
}

// What the access list says of the first fragment it says of all.
static void acl_row(const struct row *row)
{
	static const char *const lines[] = {"deny udp from any 5000 to assigned",
					    "allow ip from any to assigned"};
	struct rig_flow denied = fragment_flow(row->v6, 5000, PAYLOAD);
	struct rig_flow allowed = fragment_flow(row->v6, 5001, PAYLOAD);
	static struct pieces pieces;
	struct rig_session s;
	struct acl acl = {0};
	struct rig *rig;

	for (unsigned i = 0; i < RTE_DIM(lines); i++)
		CU_ASSERT_EQUAL_FATAL(acl_add(&acl, lines[i]), 0);
	rig = rig_of(row->workers, &acl);
	chain_session_add(rig, 0, NULL, &s);
	pieces_of_user(rig, &s, row->up, &denied, MTU, 1, &pieces);
	CU_ASSERT_EQUAL(send_pieces(rig, row, &pieces), 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_acl_denied), 1);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_reassembly_refused), 2);
	pieces_of_user(rig, &s, row->up, &allowed, MTU, 2, &pieces);
	for (unsigned i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(send_pieces(rig, row, &pieces), 3);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 2);
	rig_session_del(rig, &s);
	rig_end(rig);
	acl_fini(&acl);
}

static void test_acl(void)
{
	rows_each(acl_row);
}

// --- pings -----------------------------------------------------------------------------------------------

static void ping_write(uint8_t *icmp, bool v6, bool asks, uint16_t id)
{
	memset(icmp, 0, ICMP_BYTES);
	icmp[0] = v6 ? (asks ? ICMP6_TYPE_ECHO : ICMP6_TYPE_REPLY)
		     : (asks ? ICMP4_TYPE_ECHO : ICMP4_TYPE_REPLY);
	be16_put(icmp + 4, id);
}

// A ping or the answer to it, whole or in pieces. Gives how many frames came through.
static unsigned ping_send(struct rig *rig, const struct rig_session *s, const struct row *row,
			  bool asks, uint16_t id, bool cut)
{
	struct rig_flow flow = fragment_flow(row->v6, 0, cut ? PAYLOAD : 40);
	const struct row way = {.workers = row->workers, .v6 = row->v6, .up = row->up == asks};
	unsigned head = row->v6 ? IP6_BYTES : IP4_BYTES;
	static struct pieces pieces;

	flow.proto = row->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	if (cut) {
		pieces_of_user(rig, s, way.up, &flow, MTU, id, &pieces);
		head += row->v6 ? FRAGMENT6_BYTES : 0;
	} else {
		pieces = (struct pieces){.n = 1, .at = way.up ? rig_user_at(rig, 1) : ETH_BYTES};
		pieces.bytes[0] = chain_frame(rig, s, way.up, &flow, pieces.frames[0]);
	}
	ping_write(pieces.frames[0] + pieces.at + head, row->v6, asks, id);
	return send_pieces(rig, &way, &pieces);
}

// A ping in pieces and its answer in pieces are one flow, the one that whole ones of the identifier are, and each bit of
// that makes another.
static void pings_row(const struct row *row)
{
	struct rig *rig = rig_of(row->workers, NULL);
	struct rig_session s;

	chain_session_add(rig, 0, NULL, &s);
	CU_ASSERT_EQUAL(ping_send(rig, &s, row, true, 0x1234, true), 3);
	CU_ASSERT_EQUAL(flow_class_of(flow_of(rig, &s)), FLOW_EMBRYONIC);
	CU_ASSERT_EQUAL(ping_send(rig, &s, row, false, 0x1234, true), 3);
	CU_ASSERT_EQUAL(flow_class_of(flow_of(rig, &s)), FLOW_ESTABLISHED);
	CU_ASSERT_EQUAL(ping_send(rig, &s, row, true, 0x1234, false), 1);
	CU_ASSERT_EQUAL(ping_send(rig, &s, row, false, 0x1234, false), 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	CU_ASSERT_STRING_EQUAL(flow_key_kind(&flow_of(rig, &s)->key), "echo");
	CU_ASSERT_EQUAL(flow_of(rig, &s)->key.ue_port, 0x1234);
	for (unsigned bit = 0; bit < 16; bit++) {
		uint16_t id = (uint16_t)(0x1234 ^ 1u << bit);

		CU_ASSERT_EQUAL(ping_send(rig, &s, row, true, id, true), 3);
		CU_ASSERT_EQUAL(ping_send(rig, &s, row, false, id, bit % 2), bit % 2 ? 3 : 1);
		CU_ASSERT_EQUAL(flow_class_of(flow_of(rig, &s)), FLOW_ESTABLISHED);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 2 + bit);
	}
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_pings(void)
{
	rows_each(pings_row);
}

// --- errors ----------------------------------------------------------------------------------------------

// The error about a packet that goes the other way than it does, with so much of it.
static unsigned error_send(struct rig *rig, const struct rig_session *s, const struct row *row,
			   const struct rig_flow *about, unsigned quote, unsigned via)
{
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = chain_frame(rig, s, !row->up, about, frame);

	bytes = error_frame(rig, s, row->up, row->v6, frame, bytes, quote);
	rig_send(rig, row->up ? RIG_N3 : RIG_N6, via, frame, bytes);
	rig_settle(rig);
	return chain_drain(rig, row->up ? RIG_N6 : RIG_N3);
}

// An error is part of the flow that it is about, however much it quotes, and extends nothing.
static void errors_row(const struct row *row)
{
	struct rig *rig = rig_of(row->workers, NULL);
	struct rig_flow flow = fragment_flow(row->v6, 53, 100);
	unsigned head = row->v6 ? IP6_BYTES : IP4_BYTES;
	struct rig_session s;
	uint32_t deadline;

	chain_session_add(rig, 0, NULL, &s);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, !row->up, &flow, 0), 1);
	deadline = flow_of(rig, &s)->deadline;
	clock_warp_ns(1000 * (int64_t)NS_PER_MS);
	for (unsigned quote = head + 8; quote < head + 120; quote += 37)
		CU_ASSERT_EQUAL(error_send(rig, &s, row, &flow, quote, quote % row->workers), 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	CU_ASSERT_EQUAL(flow_class_of(flow_of(rig, &s)), FLOW_EMBRYONIC);
	CU_ASSERT_EQUAL(flow_of(rig, &s)->deadline, deadline);
	CU_ASSERT_EQUAL(flow_of(rig, &s)->pdrs[!row->up], FLOW_PDR_NONE);

	// One that quotes too little, or a packet of no flow, is of a flow of its own, if it may be.
	CU_ASSERT_EQUAL(error_send(rig, &s, row, &flow, head + 2, 0), 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 2);
	CU_ASSERT_STRING_EQUAL(flow_key_kind(&flow_of(rig, &s)->key), "pair");
	flow.ue_port++;
	CU_ASSERT_EQUAL(error_send(rig, &s, row, &flow, 200, 0), 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 2);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_errors(void)
{
	rows_each(errors_row);
}

// Errors about what the list denies are denied themselves unless it allows them; those about allowed flows pass.
static void test_errors_acl(void)
{
	static const char *const lines[] = {"deny icmp from any to assigned",
					    "deny udp from any 5000 to assigned",
					    "allow ip from any to assigned"};
	const struct row row = {.workers = 1};
	struct rig_flow denied = fragment_flow(false, 5000, 100);
	struct rig_flow allowed = fragment_flow(false, 53, 100);
	struct rig_session s;
	struct acl acl = {0};
	struct rig *rig;

	for (unsigned i = 0; i < RTE_DIM(lines); i++)
		CU_ASSERT_EQUAL_FATAL(acl_add(&acl, lines[i]), 0);
	rig = rig_of(1, &acl);
	chain_session_add(rig, 0, NULL, &s);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &denied, 0), 0);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &allowed, 0), 1);
	CU_ASSERT_EQUAL(error_send(rig, &s, &row, &denied, 60, 0), 0);
	CU_ASSERT_EQUAL(error_send(rig, &s, &row, &allowed, 60, 0), 1);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_acl_denied), 2);
	rig_session_del(rig, &s);
	rig_end(rig);
	acl_fini(&acl);
}

// A service from outside sees them unless its row says that they are not for it.
static unsigned visits;

static void counts_run(struct worker *w, struct pkt **pkts, unsigned n)
{
	visits += n;
}

static const struct service counts[2] = {
	{
		.name = "counts",
		.bit = SERVICE_BIT_ANY,
		.run = counts_run,
		.after = SERVICES("flow"),
		.before = SERVICES("pdr"),
		.for_flows = true,
	},
	{
		.name = "counts",
		.bit = SERVICE_BIT_ANY,
		.run = counts_run,
		.after = SERVICES("flow"),
		.before = SERVICES("pdr"),
		.for_flows = true,
		.not_of_errors = true,
	},
};

static void errors_service_row(const struct row *row)
{
	struct rig_flow flow = fragment_flow(row->v6, 53, 100);

	for (unsigned i = 0; i < RTE_DIM(counts); i++) {
		struct rig_conf conf = {.n_workers = row->workers,
					.n_slots = 8,
					.n_tunnels = 4,
					.services = SERVICE_MASK(flow),
					.extra = &counts[i]};
		struct rig *rig = chain_rig_stopped(&conf);
		struct rig_session s;

		rig->conf.services |= rig_service_mask(&counts[i]);
		chain_session_add(rig, 0, NULL, &s);
		visits = 0;
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, !row->up, &flow, 0), 1);
		CU_ASSERT_EQUAL(visits, 1);
		CU_ASSERT_EQUAL(error_send(rig, &s, row, &flow, 60, row->workers - 1), 1);
		CU_ASSERT_EQUAL(visits, 1 + !counts[i].not_of_errors);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

static void test_errors_service(void)
{
	rows_each(errors_service_row);
}

static CU_TestInfo tests[] = {
	{"fragments", test_fragments},
	{"fragments and the access list", test_acl},
	{"pings in fragments", test_pings},
	{"ICMP errors", test_errors},
	{"ICMP errors and the access list", test_errors_acl},
	{"ICMP errors and services", test_errors_service},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("parts of flows")
