// Network instances with services, times, limits and handlers of their own, over one table of flows: packets of all of
// them in one burst, each by what its own says, and sessions that go over to another.
//
// The test's thread, with warped time. Rows go over v4/v6, who begins, and one or two workers.

#include "base/clock.h"
#include "chain.h"
#include "pipeline/pipeline.h"
#include "rows.h"
#include "rules/acl.h"
#include "service/flow_handler.h"
#include "worker/flows.h"

#define DENIED 5001       // by the list of the second
#define DENIED_THERE 5003 // by that of the third
#define SHORT_MS 2000
#define LONG_MS 9000

enum { PLAIN, LISTED, CHECKED, NONE }; // the network instances, in the rig's order

#define LIFE SERVICE_MASK(l4_lifecycle)

struct bed {
	struct row row;
	struct acl acls[RIG_NIS];
	struct rig *rig;
	struct rig_session s[RIG_NIS]; // one of each
};

static struct rules *rules_of(uint32_t n, uint16_t ni)
{
	struct rules *rules = rig_rules_new(n);

	for (unsigned i = 0; i < rules->n_pdrs; i++)
		rules->pdrs[i].pdi.ni = ni;
	for (unsigned i = 0; i < rules->n_fars; i++)
		rules->fars[i].ni = ni;
	return rules;
}

static void bed_open(struct bed *b, const struct row *row)
{
	struct rig_conf conf = {
		.n_workers = row->workers,
		.n_slots = 16,
		.n_tunnels = 16,
		.services = SERVICE_MASK(flow) | LIFE,
		.nis = {[LISTED -
			 1] = {.services = SERVICE_MASK(flow) | SERVICE_MASK(acl) | LIFE,
			       .flow_profile = {.timeout_ms = {[FLOW_EMBRYONIC] = SHORT_MS},
						.handlers = {[FLOW_CASE_UNKNOWN_PROTOCOL] =
								     FLOW_HANDLER_flow}}},
			[CHECKED -
				1] = {.services = SERVICE_MASK(flow) | SERVICE_MASK(tcp_check) |
						  SERVICE_MASK(acl) | LIFE,
				      .flow_profile = {.timeout_ms = {[FLOW_EMBRYONIC] = LONG_MS},
						       .most = 2,
						       .handlers = {[FLOW_CASE_UNKNOWN_PROTOCOL] =
									    FLOW_HANDLER_pass}}}},
	};

	*b = (struct bed){.row = *row};
	CU_ASSERT_EQUAL_FATAL(acl_add(&b->acls[LISTED], "deny udp from any 5001 to assigned"), 0);
	CU_ASSERT_EQUAL_FATAL(acl_add(&b->acls[CHECKED], "deny udp from any 5003 to assigned"), 0);
	for (unsigned i = LISTED; i <= CHECKED; i++)
		CU_ASSERT_EQUAL_FATAL(acl_add(&b->acls[i], "allow ip from any to assigned"), 0);
	conf.acl = b->acls;
	b->rig = chain_rig_stopped(&conf);
	for (uint16_t i = 0; i < RIG_NIS; i++) {
		struct rules *rules = rules_of(i, i);

		rig_session_add(b->rig, i, rules, &b->s[i]);
		rules_free(rules);
	}
	rig_resolve(b->rig);
}

static void bed_close(struct bed *b)
{
	for (unsigned i = 0; i < RIG_NIS; i++)
		rig_session_del(b->rig, &b->s[i]);
	rig_end(b->rig);
	for (unsigned i = 0; i < RIG_NIS; i++)
		acl_fini(&b->acls[i]);
}

static struct rig_flow flow_of(const struct bed *b, uint8_t proto, uint16_t dn_port)
{
	return (struct rig_flow){.proto = proto,
				 .ue_port = 1000,
				 .dn_port = dn_port,
				 .ttl = 64,
				 .payload = 20,
				 .qfi = 1,
				 .v6 = b->row.v6};
}

// A packet of this flow of each session at once; gives a bit for each that came through.
static unsigned burst(struct bed *b, bool up, const struct rig_flow *flow)
{
	uint8_t frame[RIG_FRAME_MAX];
	unsigned through = 0;

	for (unsigned i = 0; i < RIG_NIS; i++)
		rig_send(b->rig, up ? RIG_N3 : RIG_N6, i % b->row.workers, frame,
			 chain_frame(b->rig, &b->s[i], up, flow, frame));
	rig_settle(b->rig);
	for (size_t bytes; (bytes = rig_recv(b->rig, up ? RIG_N6 : RIG_N3, frame)) > 0;) {
		const uint8_t *ip = frame + (up ? ETH_BYTES : rig_user_at(b->rig, 1));
		const struct addr ue = up ? ip_source(ip) : ip_destination(ip);

		for (unsigned i = 0; i < RIG_NIS; i++) {
			struct addr own = flow->v6 ? b->s[i].ue_v6 : b->s[i].ue_v4;

			if (flow->v6)
				own.v6[15] = 1;
			through |= addr_eq(&ue, &own) ? 1u << i : 0;
		}
	}
	return through;
}

static struct flows *flows_of(struct bed *b, unsigned ni)
{
	return &b->rig->control.workers[b->s[ni].slot.owner]->flows;
}

static uint32_t used(struct bed *b, unsigned ni)
{
	return flows_of(b, ni)->sessions[b->s[ni].slot.index].n;
}

// Of the session's newest flow.
static const struct flow *line_of(struct bed *b, unsigned ni)
{
	struct flows *flows = flows_of(b, ni);

	return &flows->table.flows[flows->sessions[b->s[ni].slot.index].first];
}

#define ALL ((1u << RIG_NIS) - 1)
#define BUT(ni) (ALL & ~(1u << (ni)))

// Which services each has, and what the list of one says.
static void services_row(const struct row *row)
{
	struct rig_flow tcp, udp, denied;
	struct bed b;

	bed_open(&b, row);
	tcp = flow_of(&b, IPPROTO_TCP, 80);
	udp = flow_of(&b, IPPROTO_UDP, 53);
	denied = flow_of(&b, IPPROTO_UDP, DENIED);
	CU_ASSERT_EQUAL(burst(&b, row->up, &udp), ALL);
	CU_ASSERT_EQUAL(line_of(&b, PLAIN)->chain, LIFE);
	CU_ASSERT_EQUAL(line_of(&b, LISTED)->chain, LIFE);  // the list has let it pass
	CU_ASSERT_EQUAL(line_of(&b, CHECKED)->chain, LIFE); // it is no connection
	CU_ASSERT_EQUAL(burst(&b, row->up, &denied), BUT(LISTED));
	CU_ASSERT_EQUAL(rig_drops(b.rig, DROP_acl_denied), 1);
	CU_ASSERT_EQUAL(line_of(&b, LISTED)->chain, LIFE | SERVICE_MASK(acl));
	chain_warp_ms(b.rig, LONG_MS + 10);
	CU_ASSERT_EQUAL(burst(&b, row->up, &tcp), BUT(CHECKED)); // it has none of the flags of TCP
	CU_ASSERT_EQUAL(line_of(&b, CHECKED)->chain, SERVICE_MASK(tcp_check));
	CU_ASSERT_EQUAL(used(&b, NONE), 0);
	bed_close(&b);
}

static void test_services(void)
{
	rows_each(services_row);
}

// How long, how many, and what of a protocol that flows do not know.
static void limits_row(const struct row *row)
{
	struct rig_flow udp, gre;
	struct bed b;

	bed_open(&b, row);
	gre = flow_of(&b, IPPROTO_GRE, 0);
	for (uint16_t i = 0; i < 3; i++) {
		udp = flow_of(&b, IPPROTO_UDP, (uint16_t)(53 + i));
		CU_ASSERT_EQUAL(burst(&b, row->up, &udp), i < 2 ? ALL : BUT(CHECKED));
	}
	CU_ASSERT_EQUAL(rig_drops(b.rig, DROP_flow_network_full), 1);
	CU_ASSERT_EQUAL(burst(&b, row->up, &gre), BUT(PLAIN));
	CU_ASSERT_EQUAL(rig_drops(b.rig, DROP_flow_unknown_protocol), 1);
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_passed), 1);
	CU_ASSERT_EQUAL(used(&b, PLAIN), 3);
	CU_ASSERT_EQUAL(used(&b, LISTED), 4);
	CU_ASSERT_EQUAL(used(&b, CHECKED), 2);

	chain_warp_ms(b.rig, SHORT_MS - 1);
	CU_ASSERT_EQUAL(used(&b, LISTED), 4);
	chain_warp_ms(b.rig, 11);
	CU_ASSERT_EQUAL(used(&b, LISTED), 0);
	chain_warp_ms(b.rig, RIG_EMBRYONIC_MS - SHORT_MS - 11);
	CU_ASSERT_EQUAL(used(&b, PLAIN), 3);
	chain_warp_ms(b.rig, 11);
	CU_ASSERT_EQUAL(used(&b, PLAIN), 0);
	chain_warp_ms(b.rig, LONG_MS - RIG_EMBRYONIC_MS - 11);
	CU_ASSERT_EQUAL(used(&b, CHECKED), 2);
	chain_warp_ms(b.rig, 11);
	CU_ASSERT_EQUAL(used(&b, CHECKED), 0);
	CU_ASSERT_EQUAL(burst(&b, row->up, &udp), ALL); // there is room again
	bed_close(&b);
}

static void test_limits(void)
{
	rows_each(limits_row);
}

static void move(struct bed *b, unsigned session, uint16_t ni)
{
	struct rules *rules = rules_of(session, ni);

	rig_session_change(b->rig, &b->s[session], rules);
	rules_free(rules);
}

// A session that goes over to another network instance takes its flows along: its services, list, times and limits hold
// from the next packet on.
static void moved_row(const struct row *row)
{
	struct rig_flow udp, denied, other;
	struct bed b;

	bed_open(&b, row);
	udp = flow_of(&b, IPPROTO_UDP, 53);
	denied = flow_of(&b, IPPROTO_UDP, DENIED);
	other = flow_of(&b, IPPROTO_UDP, 54);
	CU_ASSERT_EQUAL(burst(&b, row->up, &udp), ALL);
	CU_ASSERT_EQUAL(burst(&b, row->up, &denied), BUT(LISTED));
	move(&b, PLAIN, LISTED);
	CU_ASSERT_EQUAL(burst(&b, row->up, &udp), ALL);
	CU_ASSERT_EQUAL(burst(&b, row->up, &denied), BUT(PLAIN) & BUT(LISTED));
	CU_ASSERT_EQUAL(used(&b, PLAIN), 2);
	CU_ASSERT_EQUAL(flow_profile_of(line_of(&b, PLAIN)), LISTED);
	CU_ASSERT_EQUAL(flows_of(&b, PLAIN)->profiles[PLAIN].used, 0);
	chain_warp_ms(b.rig, SHORT_MS + 10); // embryonic ones live as long as the new one says
	CU_ASSERT_EQUAL(used(&b, PLAIN), 0);

	move(&b, LISTED, PLAIN); // and back, out of the list's reach
	CU_ASSERT_EQUAL(burst(&b, row->up, &denied), BUT(PLAIN));
	move(&b, LISTED, CHECKED); // its flow counts there, whatever the limit, of each worker
	CU_ASSERT_EQUAL(burst(&b, row->up, &denied), BUT(PLAIN));
	CU_ASSERT_EQUAL(burst(&b, row->up, &other),
			BUT(CHECKED) & (row->workers == 1 ? BUT(LISTED) : ALL));
	bed_close(&b);
}

static void test_moved(void)
{
	rows_each(moved_row);
}

// What one list lets pass, and is out of its way for good, another list is asked about.
static void lists_row(const struct row *row)
{
	struct rig_flow udp;
	struct bed b;

	bed_open(&b, row);
	udp = flow_of(&b, IPPROTO_UDP, DENIED_THERE);
	CU_ASSERT_EQUAL(burst(&b, row->up, &udp), BUT(CHECKED));
	CU_ASSERT_EQUAL(line_of(&b, LISTED)->chain, LIFE);
	move(&b, LISTED, CHECKED);
	CU_ASSERT_EQUAL(burst(&b, row->up, &udp), BUT(CHECKED) & BUT(LISTED));
	move(&b, CHECKED, LISTED);
	CU_ASSERT_EQUAL(burst(&b, row->up, &udp), BUT(LISTED));
	bed_close(&b);
}

static void test_lists(void)
{
	rows_each(lists_row);
}

#define MANY (3 * FLOW_ENDS) // flows: more than one turn ends

// A flow that comes to an instance with NAT is translated from then on; with its session's leave it ends, and its port
// outside is given back. IPv6 is left alone each time.
static void nat_row(const struct row *row)
{
	const struct nat_pool_conf pool = {.addrs = {.addr = rig_addr("198.51.100.0"), .len = 32},
					   .iface = RIG_N6,
					   .port_low = 1024,
					   .port_high = UINT16_MAX,
					   .block_ports = 64,
					   .blocks_per_session = 2};
	const struct rig_conf conf = {.n_workers = row->workers,
				      .n_slots = 8,
				      .n_tunnels = 4,
				      .services = SERVICE_MASK(flow) | LIFE | SERVICE_MASK(nat_in) |
						  SERVICE_MASK(nat_out),
				      .nis = {{.services = SERVICE_MASK(flow) | LIFE}},
				      .flows = 2 * MANY,
				      .flows_per_session = 2 * MANY,
				      .nat = &pool};
	struct bed b = {.row = *row, .rig = chain_rig_stopped(&conf)};
	struct rig_flow udp = flow_of(&b, IPPROTO_UDP, 53);
	uint8_t frame[RIG_FRAME_MAX];

	chain_session_add(b.rig, 0, NULL, &b.s[0]);
	for (uint16_t i = 0; i < MANY; i++) {
		struct rig_flow further = flow_of(&b, IPPROTO_UDP, (uint16_t)(1000 + i));

		rig_send(b.rig, RIG_N3, 0, frame, rig_frame_up(b.rig, &b.s[0], &further, frame));
		rig_settle(b.rig);
		CU_ASSERT_NOT_EQUAL(rig_recv(b.rig, RIG_N6, frame), 0);
	}
	for (unsigned i = 0; i < 8; i++) {
		struct addr source;
		size_t bytes;

		if (i && i % 2 == 0)
			move(&b, 0, i / 2 % 2);
		if (i / 2 % 2)
			CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_nat_mappings_ended),
					rig_count(b.rig, COUNTER_nat_mappings_made));
		rig_send(b.rig, RIG_N3, i % row->workers, frame,
			 rig_frame_up(b.rig, &b.s[0], &udp, frame));
		rig_settle(b.rig);
		bytes = rig_recv(b.rig, RIG_N6, frame);
		CU_ASSERT_NOT_EQUAL_FATAL(bytes, 0);
		source = ip_source(frame + ETH_BYTES);
		if (row->v6) {
			CU_ASSERT_EQUAL(memcmp(source.v6, b.s[0].ue_v6.v6, 8), 0);
		} else {
			CU_ASSERT_TRUE(
				addr_eq(&source, i / 2 % 2 ? &b.s[0].ue_v4 : &pool.addrs.addr));
		}
		if (row->v6)
			CU_ASSERT_EQUAL(chain_forwarded(b.rig, &b.s[0], false, &udp, 0), 1);
	}
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_flows_made),
			MANY + 3); // the one made outside came in
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_nat_mappings_made), row->v6 ? 0 : 2);
	rig_session_del(b.rig, &b.s[0]);
	rig_end(b.rig);
}

static void test_nat(void)
{
	rows_each(nat_row);
}

static CU_TestInfo tests[] = {
	{"services and lists", test_services}, {"times, limits and handlers", test_limits},
	{"sessions that go over", test_moved}, {"from list to list", test_lists},
	{"in and out of NAT", test_nat},       CU_TEST_INFO_NULL,
};

UNIT_MAIN("network instances as scopes")
