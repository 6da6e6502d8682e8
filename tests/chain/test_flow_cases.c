// Packets that are of no flow as others are: a protocol that flows do not know, ICMP errors about nothing known, and
// what is more than the table holds, each with every handler that a network instance may name for it.
//
// The test's thread, with warped time. Rows go over v4/v6, both directions, and one or two workers.

#include "fragments.h"
#include "l4_sum.h"
#include "packet/icmp.h"
#include "pipeline/pipeline.h"
#include "service/flow_handler.h"
#include "worker/flows.h"

struct row {
	unsigned workers;
	bool v6, up;
	enum flow_handler handler;
};

static void rows_each(void (*fn)(const struct row *row))
{
	for (unsigned i = 0; i < 8; i++)
		for (unsigned k = 0; k < FLOW_HANDLERS; k++) {
			const struct row row = {
				.workers = 1 + i % 2, .v6 = i / 2 % 2, .up = i / 4, .handler = k};

			fn(&row);
		}
}

static struct rig *rig_open(const struct row *row, enum flow_case what, struct rig_session *s)
{
	struct rig_conf conf = {
		.n_workers = row->workers,
		.n_slots = 8,
		.n_tunnels = 4,
		.services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle),
		.flows = 4,
	};
	struct rig *rig;

	conf.flow_profile.handlers[what] = (uint8_t)row->handler;
	rig = chain_rig_stopped(&conf);
	chain_session_add(rig, 0, NULL, s);
	return rig;
}

static struct rig_flow flow_of(const struct row *row, uint8_t proto, uint16_t port)
{
	return (struct rig_flow){.proto = proto,
				 .ue_port = port,
				 .dn_port = 53,
				 .ttl = 64,
				 .payload = 40,
				 .qfi = 1,
				 .v6 = row->v6};
}

// Of `sent` packets, which were one flow's, so many came through, and this is what else is to be seen.
static void fared(struct rig *rig, const struct row *row, unsigned sent, unsigned out,
		  enum drop why, unsigned flows)
{
	CU_ASSERT_EQUAL(out, row->handler == FLOW_HANDLER_drop ? 0 : sent);
	CU_ASSERT_EQUAL(rig_drops(rig, why), row->handler == FLOW_HANDLER_drop ? sent : 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_passed),
			row->handler == FLOW_HANDLER_pass ? sent : 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made),
			flows + (row->handler == FLOW_HANDLER_flow));
}

static void protocol_row(const struct row *row)
{
	static const uint8_t protos[] = {IPPROTO_GRE, IPPROTO_ESP};
	unsigned out = 0;

	for (unsigned i = 0; i < RTE_DIM(protos); i++) {
		struct rig_flow flow = flow_of(row, protos[i], 1000);
		struct rig_flow udp = flow_of(row, IPPROTO_UDP, 1000);
		struct rig_session s;
		struct rig *rig = rig_open(row, FLOW_CASE_UNKNOWN_PROTOCOL, &s);

		out = 0;
		for (unsigned k = 0; k < 4; k++)
			out += chain_forwarded(rig, &s, row->up == (k % 2 == 0), &flow,
					       k % row->workers);
		fared(rig, row, 4, out, DROP_flow_unknown_protocol, 0);
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, row->up, &udp, 0), 1); // as ever
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

static void test_protocol(void)
{
	rows_each(protocol_row);
}

// Sends an ICMP packet of this type, with a payload that is no packet: a quote of it cannot be read, so that an error
// is about no flow. What quotes are known is tests/chain/test_flow_parts.c's.
static unsigned icmp_sent(struct rig *rig, const struct rig_session *s, const struct row *row,
			  uint8_t type, unsigned via)
{
	struct rig_flow flow = flow_of(row, row->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, 0);
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = chain_frame(rig, s, row->up, &flow, frame);
	uint8_t *icmp = frame + bytes - flow.payload - ICMP_BYTES;

	memset(icmp, 0, ICMP_BYTES);
	icmp[0] = type;
	l4_sum_write(icmp - (row->v6 ? IP6_BYTES : IP4_BYTES));
	rig_send(rig, row->up ? RIG_N3 : RIG_N6, via, frame, bytes);
	rig_settle(rig);
	return chain_drain(rig, row->up ? RIG_N6 : RIG_N3);
}

static void error_row(const struct row *row)
{
	struct rig_session s;
	struct rig *rig = rig_open(row, FLOW_CASE_ICMP_ERROR, &s);
	unsigned out = 0;

	for (unsigned k = 0; k < 3; k++)
		out += icmp_sent(rig, &s, row,
				 row->v6 ? ICMP6_TYPE_UNREACHABLE : ICMP4_TYPE_UNREACHABLE,
				 k % row->workers);
	fared(rig, row, 3, out, DROP_flow_icmp_error, 0);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_error(void)
{
	rows_each(error_row);
}

// ICMP that is neither an error nor an echo, neighbour discovery and groups' included: one flow of the two hosts, of
// which echoes and errors are no part.
static void others_row(const struct row *row)
{
	static const uint8_t types[2][10] = {{5, 9, 10, 13, 14, 15, 17, 40, 255, 6},
					     {130, 131, 132, 133, 134, 135, 136, 137, 143, 255}};
	struct rig_session s;
	struct rig *rig = rig_open(row, FLOW_CASE_ICMP_ERROR, &s);

	for (unsigned i = 0; i < RTE_DIM(types[0]); i++)
		CU_ASSERT_EQUAL(icmp_sent(rig, &s, row, types[row->v6][i], i % row->workers), 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	CU_ASSERT_EQUAL(icmp_sent(rig, &s, row, row->v6 ? ICMP6_TYPE_ECHO : ICMP4_TYPE_ECHO, 0), 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 2);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_others(void)
{
	rows_each(others_row);
}

// A flow of the table goes on as it did; what is beyond it fares as is said. `flow` cannot be said here.
static void overflow_row(const struct row *row)
{
	struct rig_session s;
	unsigned out = 0;
	struct rig *rig;

	if (row->handler == FLOW_HANDLER_flow)
		return;
	rig = rig_open(row, FLOW_CASE_OVERFLOW, &s);
	for (uint16_t k = 0; k < 4; k++) {
		struct rig_flow flow = flow_of(row, IPPROTO_UDP, (uint16_t)(k + 1));

		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, row->up, &flow, 0), 1);
	}
	for (uint16_t k = 0; k < 6; k++) {
		struct rig_flow flow = flow_of(row, IPPROTO_UDP, (uint16_t)(100 + k / 2));
		struct rig_flow there = flow_of(row, IPPROTO_UDP, (uint16_t)(1 + k % 4));

		out += chain_forwarded(rig, &s, row->up == (k % 2 == 0), &flow, k % row->workers);
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, !row->up, &there, k % row->workers), 1);
	}
	fared(rig, row, 6, out, DROP_flow_pool_full, 4);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_overflow(void)
{
	rows_each(overflow_row);
}

// Packets of all kinds in one burst, in any order: each fares as it does alone, and makes no other one's flow.
static void mixed_row(const struct row *row)
{
	static const uint8_t protos[] = {253,         IPPROTO_TCP, 253, 253,        IPPROTO_UDP,
					 IPPROTO_ESP, IPPROTO_TCP, 253, IPPROTO_UDP};
	struct rig_session s;
	struct rig *rig = rig_open(row, FLOW_CASE_UNKNOWN_PROTOCOL, &s);
	bool drops = row->handler == FLOW_HANDLER_drop;
	unsigned n = 0, known = 0;

	for (unsigned round = 0; round < 4; round++)
		for (unsigned i = 0; i < RTE_DIM(protos); i++) {
			struct rig_flow flow = flow_of(row, protos[i], 1000);
			uint8_t frame[RIG_FRAME_MAX];

			rig_send(rig, row->up ? RIG_N3 : RIG_N6, n++ % row->workers, frame,
				 chain_frame(rig, &s, row->up, &flow, frame));
			known += protos[i] == IPPROTO_TCP || protos[i] == IPPROTO_UDP;
		}
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, row->up ? RIG_N6 : RIG_N3), drops ? known : n);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_flow_unknown_protocol), drops ? n - known : 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made),
			row->handler == FLOW_HANDLER_flow ? 4 : 2);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_mixed(void)
{
	rows_each(mixed_row);
}

static CU_TestInfo tests[] = {
	{"unknown protocols", test_protocol}, {"ICMP errors", test_error},
	{"other ICMP", test_others},          {"overflow", test_overflow},
	{"all in one burst", test_mixed},     CU_TEST_INFO_NULL,
};

UNIT_MAIN("packets of no flow")
