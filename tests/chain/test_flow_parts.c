// What belongs to a flow though it does not look like it: fragments of its packets, and ICMP errors about them.
//
// The test's thread, with stopped time. Rows go over v4/v6, up and down, one and two workers.

#include "base/clock.h"
#include "chain.h"
#include "fragments.h"
#include "l4_sum.h"
#include "packet/icmp.h"
#include "pipeline/pipeline.h"
#include "service/flow_handler.h"
#include "rules/acl.h"

#define PAYLOAD 1600
#define MTU 600 // three pieces

struct row {
	unsigned workers;
	bool v6, up;
};

static void rows_each(void (*fn)(const struct row *row))
{
	for (unsigned i = 0; i < 8; i++) {
		const struct row row = {.workers = 1 + i % 2, .v6 = i / 2 % 2, .up = i / 4};

		fn(&row);
	}
}

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

// --- errors ----------------------------------------------------------------------------------------------

static const uint8_t router4[4] = {198, 51, 100, 7};
static const uint8_t router6[16] = {0x20, 0x01, 0x0d, 0xb8, 0xee, [15] = 7};

// Makes of the frame of a packet that went the other way one with the error about it. Gives its length.
static size_t error_about(const struct rig *rig, const struct row *row, uint8_t *frame,
			  size_t bytes, unsigned quote, bool code)
{
	uint32_t from = row->up ? ETH_BYTES : rig_user_at(rig, 1);
	uint32_t to = row->up ? rig_user_at(rig, 1) : ETH_BYTES;
	uint32_t head = (row->v6 ? IP6_BYTES : IP4_BYTES) + ICMP_BYTES;
	uint8_t user[RIG_FRAME_MAX], *ip = frame + to;

	memcpy(user, frame + from, bytes - from);
	quote = RTE_MIN(quote, (unsigned)(bytes - from));
	memcpy(ip + head, user, quote);
	memset(ip + head - ICMP_BYTES, 0, ICMP_BYTES);
	ip[head - ICMP_BYTES] = row->v6 ? ICMP6_TYPE_UNREACHABLE : ICMP4_TYPE_UNREACHABLE;
	ip[head - ICMP_BYTES + 1] = code;
	if (row->v6) {
		const struct ip6_head *about = (const struct ip6_head *)user;

		ip6_write((struct ip6_head *)ip, row->up ? about->dst : router6, about->src,
			  IPPROTO_ICMPV6, 60, ICMP_BYTES + quote);
	} else {
		const struct ip4_head *about = (const struct ip4_head *)user;

		ip4_write((struct ip4_head *)ip, row->up ? about->dst : word32_get(router4),
			  about->src, IPPROTO_ICMP, ICMP_BYTES + quote);
	}
	l4_sum_write(ip);
	return to + head + quote;
}

// An uplink or downlink frame of the session whose user packet is an error; `side` has what stands around it.
static unsigned error_send(struct rig *rig, const struct rig_session *s, const struct row *row,
			   const struct rig_flow *about, unsigned quote, unsigned via)
{
	uint8_t frame[RIG_FRAME_MAX], around[RIG_FRAME_MAX];
	size_t bytes = chain_frame(rig, s, !row->up, about, frame);
	uint32_t at = row->up ? rig_user_at(rig, 1) : ETH_BYTES;

	bytes = error_about(rig, row, frame, bytes, quote, 0);
	chain_frame(rig, s, row->up, about, around);
	memcpy(frame, around, at);
	if (row->up) {
		be16_put(frame + rig_gtpu_at(rig) + 2,
			 (uint16_t)(bytes - rig_gtpu_at(rig) - GTPU_BYTES));
		rig_outer_write(rig, GTPU_PORT, bytes - rig_gtpu_at(rig), frame);
	}
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

static CU_TestInfo tests[] = {
	{"fragments", test_fragments},
	{"fragments and the access list", test_acl},
	{"ICMP errors", test_errors},
	{"ICMP errors and the access list", test_errors_acl},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("parts of flows")
