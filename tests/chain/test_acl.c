// Access lists through the whole data path: what a list says of each packet that begins a flow, and that it is asked no
// more of a flow that it has let through.
//
// The test's thread, with warped time.

#include "base/clock.h"
#include "chain.h"
#include "packet/ip.h"
#include "pipeline/pipeline.h"
#include "rules/acl.h"
#include "worker/flows.h"

#define SYN 0x02
#define ACK 0x10
#define ROWS_MAX 4

struct bed {
	struct acl acl;
	struct rig *rig;
	struct rig_session session;
};

static void bed_open(struct bed *b, unsigned n_workers, const char *const rows[])
{
	struct rig_conf conf = {
		.n_workers = n_workers,
		.n_slots = 8,
		.n_tunnels = 4,
		.services = SERVICE_MASK(flow) | SERVICE_MASK(acl) | SERVICE_MASK(l4_lifecycle),
		.acl = &b->acl,
	};

	b->acl = (struct acl){0};
	for (unsigned i = 0; i < ROWS_MAX && rows[i]; i++)
		CU_ASSERT_EQUAL_FATAL(acl_add(&b->acl, rows[i]), 0);
	b->rig = chain_rig_stopped(&conf);
	chain_session_add(b->rig, 0, NULL, &b->session);
}

static void bed_close(struct bed *b)
{
	rig_session_del(b->rig, &b->session);
	rig_end(b->rig);
	acl_fini(&b->acl);
}

// Sends a packet with these TCP flags; whether it came through.
static bool passes(struct bed *b, bool up, const struct rig_flow *flow, uint8_t tcp_flags)
{
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = chain_frame(b->rig, &b->session, up, flow, frame);
	size_t l4 = (up ? rig_user_at(b->rig, flow->qfi) : ETH_BYTES) +
		    (flow->v6 ? IP6_BYTES : IP4_BYTES);
	uint64_t denied = rig_drops(b->rig, DROP_acl_denied);
	bool out;

	if (flow->proto == IPPROTO_TCP)
		frame[l4 + 13] = tcp_flags;
	rig_send(b->rig, up ? RIG_N3 : RIG_N6, 0, frame, bytes);
	rig_settle(b->rig);
	out = chain_drain(b->rig, up ? RIG_N6 : RIG_N3) == 1;
	CU_ASSERT_EQUAL(rig_drops(b->rig, DROP_acl_denied), denied + !out);
	return out;
}

static struct rig_flow flow_of(bool v6, uint8_t proto, uint16_t ue_port, uint16_t dn_port)
{
	return (struct rig_flow){.proto = proto,
				 .ue_port = ue_port,
				 .dn_port = dn_port,
				 .ttl = 64,
				 .payload = 10,
				 .qfi = 1,
				 .v6 = v6};
}

// What a list says of one packet that begins a flow.
static const struct {
	const char *rows[ROWS_MAX];
	bool v6;
	uint8_t proto;
	uint16_t dn_port;
	bool allowed;
} cases[] = {
	{{NULL}, false, IPPROTO_UDP, 53, false}, // what none allows is denied
	{{"allow ip from any to assigned"}, false, IPPROTO_UDP, 53, true},
	{{"allow ip from any to assigned"}, true, IPPROTO_TCP, 53, true},
	{{"allow udp from any 53 to assigned"}, false, IPPROTO_UDP, 53, true},
	{{"allow udp from any 53 to assigned"}, true, IPPROTO_UDP, 53, true},
	{{"allow udp from any 53 to assigned"}, false, IPPROTO_UDP, 54, false},
	{{"allow udp from any 53 to assigned"}, true, IPPROTO_TCP, 53, false},
	{{"allow udp from any 53,100-200,443 to assigned"}, false, IPPROTO_UDP, 443, true},
	{{"allow udp from any 53,100-200,443 to assigned"}, false, IPPROTO_UDP, 201, false},
	{{"allow ip from 192.0.2.0/24 to assigned"}, false, IPPROTO_TCP, 80, true},
	{{"allow ip from 192.0.3.0/24 to assigned"}, false, IPPROTO_TCP, 80, false},
	{{"allow ip from 192.0.2.0/24 to assigned"}, true, IPPROTO_TCP, 80, false},
	{{"allow ip from 2001:db8:ffff::/48 to assigned"}, true, IPPROTO_TCP, 80, true},
	// The first that matches decides.
	{{"deny tcp from any 25 to assigned", "allow ip from any to assigned"},
	 false,
	 IPPROTO_TCP,
	 25,
	 false},
	{{"deny tcp from any 25 to assigned", "allow ip from any to assigned"},
	 false,
	 IPPROTO_TCP,
	 80,
	 true},
	{{"allow ip from any to assigned", "deny tcp from any 25 to assigned"},
	 false,
	 IPPROTO_TCP,
	 25,
	 true},
	{{"deny ip from 192.0.2.0/24 to assigned", "deny udp from any to assigned",
	  "allow ip from any to assigned"},
	 true,
	 IPPROTO_TCP,
	 7,
	 true},
};

static void test_lists(void)
{
	for (unsigned i = 0; i < RTE_DIM(cases); i++)
		for (unsigned k = 0; k < 4; k++) {
			struct rig_flow flow = flow_of(cases[i].v6, cases[i].proto, 1000,
						       cases[i].dn_port);
			bool up = k % 2;
			struct bed b;

			bed_open(&b, 1 + k / 2, cases[i].rows);
			for (unsigned n = 0; n < 3; n++) {
				CU_ASSERT_EQUAL(passes(&b, up, &flow, ACK), cases[i].allowed);
				CU_ASSERT_EQUAL(passes(&b, !up, &flow, ACK), cases[i].allowed);
			}
			bed_close(&b);
		}
}

// Only the packet that opens a connection is allowed, and with it the rest of the connection; what began without one
// stays out.
static void test_steps_out(void)
{
	const char *const rows[ROWS_MAX] = {"allow tcp from any to assigned setup"};

	for (unsigned k = 0; k < 8; k++) {
		struct rig_flow flow = flow_of(k % 2, IPPROTO_TCP, 1000, 80);
		struct rig_flow other = flow_of(k % 2, IPPROTO_TCP, 1001, 80);
		bool up = k / 2 % 2;
		const struct flows *flows;
		struct bed b;

		bed_open(&b, 1 + k / 4, rows);
		flows = &b.rig->control.workers[b.session.slot.owner]->flows;
		CU_ASSERT_FALSE(passes(&b, up, &flow, ACK));
		CU_ASSERT_TRUE(passes(&b, up, &flow, SYN));
		CU_ASSERT_TRUE(passes(&b, !up, &flow, SYN | ACK));
		CU_ASSERT_TRUE(passes(&b, up, &flow, ACK));
		CU_ASSERT_EQUAL(
			flows->table.flows[flows->sessions[b.session.slot.index].first].chain,
			SERVICE_MASK(l4_lifecycle));
		CU_ASSERT_FALSE(passes(&b, up, &other, ACK));
		CU_ASSERT_FALSE(passes(&b, !up, &other, ACK));
		CU_ASSERT_EQUAL(flows->table.used, 2);

		// Denied packets do not keep a flow alive.
		clock_warp_ns(3000 * (int64_t)NS_PER_MS);
		CU_ASSERT_FALSE(passes(&b, up, &other, ACK));
		clock_warp_ns((RIG_EMBRYONIC_MS - 3000 + 20) * (int64_t)NS_PER_MS);
		rig_settle(b.rig);
		CU_ASSERT_EQUAL(flows->table.used, 1);
		CU_ASSERT_TRUE(passes(&b, !up, &flow, ACK));
		bed_close(&b);
	}
}

// Rows that say something else, or more than is honoured.
static void test_rows(void)
{
	static const char *const wrong[] = {
		"",
		"allow",
		"allowed ip from any to assigned",
		"permit out ip from any to assigned",
		"deny ip from any",
		"allow ip from 10.0.0.0/40 to assigned",
		"deny ip from any to assigned tcpflags syn",
	};
	struct acl acl = {0};

	for (unsigned i = 0; i < RTE_DIM(wrong); i++)
		CU_ASSERT_EQUAL(acl_add(&acl, wrong[i]), -EINVAL);
	CU_ASSERT_EQUAL(acl.n, 0);
	CU_ASSERT_EQUAL(acl_add(&acl, "deny udp from any 1,2,3 to assigned 4,5"), 0);
	CU_ASSERT_EQUAL(acl.n, 6); // one for each pair of ports
	acl_fini(&acl);
}

static CU_TestInfo tests[] = {
	{"what lists say", test_lists},
	{"out of the way of what is allowed", test_steps_out},
	{"rows that are none", test_rows},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("access lists")
