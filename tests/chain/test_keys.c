// Kinds of keys that a service from outside the tree brings: what flows of them are, in both directions, in fragments and
// as errors quote them; and the last key of each kind that led nowhere.
//
// The test's thread, with stopped time. Rows go over v4/v6, who begins, and one or two workers.

#include "errors.h"
#include "fragments.h"
#include "pipeline/pipeline.h"
#include "rows.h"
#include "service/flow_handler.h"
#include "worker/flows.h"
#include "worker/nat_packet.h"

#define FLAG_KEY 0x2000 // of GRE (RFC 2890)

// --- a kind from outside ---------------------------------------------------------------------------------

// GRE by its key. Here the key of a packet that goes down has its halves the other way round, as an end may have it who
// keeps a number for each direction: so the kind has something to normalise.
static bool gre_extract(const struct pkt *p, const uint8_t *user, struct flow_key *key)
{
	const uint8_t *gre = p->proto == IPPROTO_GRE ? key_l4(p, user, 8) : NULL;

	if (!gre || !(be16_get(gre) & FLAG_KEY))
		return false;
	flow_key_number_set(key, be32_get(gre + 4));
	return true;
}

static void gre_normalise(struct flow_key *key, bool v6)
{
	uint32_t number = flow_key_number(key);

	flow_key_number_set(key, number << 16 | number >> 16);
}

static bool gre_is(const struct flow_key *key)
{
	return flow_key_proto(key) == IPPROTO_GRE && flow_key_number(key);
}

static void gre_print(const struct flow_key *key, bool v6, struct strbuf *ue, struct strbuf *remote)
{
	key_address_add(ue, key, v6, true);
	strbuf_printf(ue, " key 0x%x", flow_key_number(key));
	key_address_add(remote, key, v6, false);
}

static const struct key_kind gre_kind = {
	.name = "gre",
	.extract = gre_extract,
	.normalise = gre_normalise,
	.is = gre_is,
	.print = gre_print,
	.help = "for this test",
};

static void gre_run(struct worker *w, struct pkt **pkts, unsigned n)
{
}

static const struct service service_gre = {
	.name = "gre",
	.bit = SERVICE_BIT_ANY,
	.run = gre_run,
	.after = SERVICES("flow"),
	.before = SERVICES("pdr"),
	.key_kind = &gre_kind,
	.help = "for this test",
};

// --- a rig, and packets ----------------------------------------------------------------------------------

static struct rig *rig_of(const struct row *row, const struct service *extra, uint8_t handler,
			  struct rig_session *s)
{
	struct rig_conf conf = {
		.n_workers = row->workers,
		.n_slots = 64,
		.n_tunnels = 16,
		.services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle),
		.extra = extra,
		.flow_profile = {.handlers = {[FLOW_CASE_UNKNOWN_PROTOCOL] = handler}},
		.gather = {.datagrams = 16, .of_one = 4, .pieces = 64, .ms = 1000}};
	struct rig *rig = chain_rig_stopped(&conf);

	chain_session_add(rig, 0, NULL, s);
	return rig;
}

static struct rig_flow flow_of(const struct row *row, uint8_t proto, uint16_t payload)
{
	return (struct rig_flow){.proto = proto,
				 .ue_port = 1000,
				 .dn_port = 53,
				 .ttl = 64,
				 .payload = payload,
				 .qfi = 1,
				 .v6 = row->v6};
}

static void gre_write(uint8_t *user, bool v6, bool up, uint32_t key)
{
	uint8_t *gre = user + (v6 ? IP6_BYTES : IP4_BYTES);

	be16_put(gre, FLAG_KEY);
	be16_put(gre + 2, v6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	be32_put(gre + 4, up ? key : key << 16 | key >> 16);
}

static size_t gre_frame(const struct rig *rig, const struct rig_session *s, const struct row *row,
			bool up, uint32_t key, uint8_t *frame)
{
	struct rig_flow flow = flow_of(row, IPPROTO_GRE, 40);
	size_t bytes = chain_frame(rig, s, up, &flow, frame);

	gre_write(frame + (up ? rig_user_at(rig, 1) : ETH_BYTES), row->v6, up, key);
	return bytes;
}

static unsigned gre_sent(struct rig *rig, const struct rig_session *s, const struct row *row,
			 bool up, uint32_t key, unsigned via)
{
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = gre_frame(rig, s, row, up, key, frame);

	rig_send(rig, up ? RIG_N3 : RIG_N6, via % row->workers, frame, bytes);
	rig_settle(rig);
	return chain_drain(rig, up ? RIG_N6 : RIG_N3);
}

static const struct flow *newest(const struct rig *rig, const struct rig_session *s)
{
	const struct flows *flows = &rig->control.workers[s->slot.owner]->flows;

	return &flows->table.flows[flows->sessions[s->slot.index].first];
}

static void print_check(const struct flow_key *key, bool v6, const char *ue, const char *remote)
{
	struct strbuf a = {0}, b = {0};

	flow_key_print(key, v6, &a, &b);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&a), ue);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&b), remote);
	strbuf_fini(&a);
	strbuf_fini(&b);
}

// --- flows of the kind -----------------------------------------------------------------------------------

// Two keys between two hosts are two flows, each with both of its directions.
static void kind_row(const struct row *row)
{
	struct rig_session s;
	struct rig *rig = rig_of(row, &service_gre, FLOW_HANDLER_drop, &s);

	for (unsigned i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(gre_sent(rig, &s, row, row->up == (i / 2 % 2 == 0),
					 0x10000 * (1 + i % 2) + 7, i / 4),
				1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 2);
	CU_ASSERT_EQUAL(flow_class_of(newest(rig, &s)), FLOW_ESTABLISHED);
	CU_ASSERT_STRING_EQUAL(flow_key_kind(&newest(rig, &s)->key), "gre");
	print_check(&newest(rig, &s)->key, row->v6,
		    row->v6 ? "2001:db8:0:1::1 key 0x20007" : "10.45.0.1 key 0x20007",
		    row->v6 ? RIG_SERVER6 : RIG_SERVER);

	// Without a key it is what it would be without the kind.
	CU_ASSERT_EQUAL(gre_sent(rig, &s, row, row->up, 0, 0), 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_flow_unknown_protocol), 1);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_kind(void)
{
	rows_each(kind_row);
}

// Without the kind all of it is of one flow, of the two hosts, if it may be.
static void without_row(const struct row *row)
{
	struct rig_session s;
	struct rig *rig = rig_of(row, NULL, FLOW_HANDLER_flow, &s);

	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(gre_sent(rig, &s, row, i / 2 % 2, 0x10000 * (1 + i % 2) + 7, i), 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	CU_ASSERT_STRING_EQUAL(flow_key_kind(&newest(rig, &s)->key), "pair");
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_without(void)
{
	rows_each(without_row);
}

// Fragments are of the flow that the first of them names.
static void fragments_row(const struct row *row)
{
	struct rig_session s;
	struct rig *rig = rig_of(row, &service_gre, FLOW_HANDLER_drop, &s);
	struct rig_flow flow = flow_of(row, IPPROTO_GRE, 1400);
	static struct pieces pieces;
	unsigned first = row->v6 ? IP6_BYTES + FRAGMENT6_BYTES : IP4_BYTES;

	CU_ASSERT_EQUAL(gre_sent(rig, &s, row, !row->up, 0x30004, 0), 1);
	pieces_of_user(rig, &s, row->up, &flow, 600, 9, &pieces);
	CU_ASSERT_EQUAL_FATAL(pieces.n, 3);
	gre_write(pieces.frames[0] + pieces.at + first - (row->v6 ? IP6_BYTES : IP4_BYTES), row->v6,
		  row->up, 0x30004);
	for (unsigned i = pieces.n; i-- > 0;)
		piece_send(rig, row->up ? RIG_N3 : RIG_N6, &pieces, i, i);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, row->up ? RIG_N6 : RIG_N3), 3);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	CU_ASSERT_EQUAL(flow_class_of(newest(rig, &s)), FLOW_ESTABLISHED);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_fragments(void)
{
	rows_each(fragments_row);
}

// An error is of the flow whose packet it quotes, cut as routers cut it; `up` says where the error goes.
static void error_row(const struct row *row)
{
	struct rig_session s;
	struct rig *rig = rig_of(row, &service_gre, FLOW_HANDLER_drop, &s);
	unsigned head = row->v6 ? IP6_BYTES : IP4_BYTES;
	uint8_t frame[RIG_FRAME_MAX];

	CU_ASSERT_EQUAL(gre_sent(rig, &s, row, !row->up, 0x30004, 0), 1);
	for (unsigned i = 0; i < 3;
	     i++) { // the second is about another flow, the third quotes too little
		size_t bytes = gre_frame(rig, &s, row, !row->up, 0x30004 + (i == 1), frame);

		bytes = error_frame(rig, &s, row->up, row->v6, frame, bytes,
				    head + (i == 2 ? 6 : 8));
		rig_send(rig, row->up ? RIG_N3 : RIG_N6, i % row->workers, frame, bytes);
		rig_settle(rig);
		CU_ASSERT_EQUAL(chain_drain(rig, row->up ? RIG_N6 : RIG_N3), i == 0);
	}
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_flow_icmp_error), 2);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_flows_made), 1);
	CU_ASSERT_EQUAL(flow_class_of(newest(rig, &s)), FLOW_EMBRYONIC);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_error(void)
{
	rows_each(error_row);
}

// --- keys that led nowhere -------------------------------------------------------------------------------

// Both ends of the newest key of a kind that any worker has missed, one behind the other; "" if there is none.
static const char *missed(const struct rig *rig, unsigned kind)
{
	struct key_miss misses[KEY_KINDS], newest = {.at = 0};
	struct strbuf ue = {0}, remote = {0};
	static char text[200];

	for (unsigned i = 0; i < rig->conf.n_workers; i++) {
		key_misses_look(rig->control.workers[i], misses);
		if (misses[kind].at && (!newest.at || misses[kind].at < newest.at))
			newest = misses[kind];
	}
	*text = 0;
	if (newest.at) {
		key_kind_at(kind)->print(&newest.key, newest.v6, &ue, &remote);
		snprintf(text, sizeof(text), "%s %s", strbuf_text(&ue), strbuf_text(&remote));
	}
	strbuf_fini(&ue);
	strbuf_fini(&remote);
	return text;
}

// Packets of a session that is not there any more.
static void sessions_row(const struct row *row)
{
	struct rig_session s;
	struct rig *rig = rig_of(row, NULL, FLOW_HANDLER_drop, &s);
	struct rig_flow flow = flow_of(row, IPPROTO_UDP, 40);
	char teid[100];

	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, row->up, &flow, 0), 1);
	for (unsigned i = 0; i < KEY_KINDS_OWN; i++)
		CU_ASSERT_STRING_EQUAL(missed(rig, i), "");
	rig_session_del(rig, &s);
	chain_forwarded(rig, &s, true, &flow, 0);
	snprintf(teid, sizeof(teid), "0x%08x at " RIG_N3_ADDR " " RIG_GNB, s.teid);
	CU_ASSERT_STRING_EQUAL(missed(rig, KEY_KIND_teid), teid);
	chain_forwarded(rig, &s, false, &flow, row->workers - 1);
	CU_ASSERT_STRING_EQUAL(missed(rig, KEY_KIND_ue),
			       row->v6 ? "2001:db8:0:1::1 " RIG_SERVER6 : "10.45.0.1 " RIG_SERVER);
	CU_ASSERT_STRING_EQUAL(missed(rig, KEY_KIND_tuple), "");

	// The next one is kept if it is a millisecond later, and said to be as old as it is.
	s.teid ^= 1;
	chain_forwarded(rig, &s, true, &flow, 0);
	CU_ASSERT_STRING_EQUAL(missed(rig, KEY_KIND_teid), teid);
	clock_warp_ns(2 * (int64_t)NS_PER_MS);
	chain_forwarded(rig, &s, true, &flow, 0);
	snprintf(teid, sizeof(teid), "0x%08x at " RIG_N3_ADDR " " RIG_GNB, s.teid);
	CU_ASSERT_STRING_EQUAL(missed(rig, KEY_KIND_teid), teid);
	rig_end(rig);
}

static void test_sessions(void)
{
	rows_each(sessions_row);
}

// Flows that there may not be, of each kind.
static void flows_row(const struct row *row)
{
	struct rig_conf conf = {.n_workers = row->workers,
				.n_slots = 8,
				.n_tunnels = 4,
				.services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle),
				.flows = 1};
	struct rig_flow flow = flow_of(row, IPPROTO_UDP, 40);
	struct rig_session s;
	struct rig *rig = chain_rig_stopped(&conf);
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes;

	chain_session_add(rig, 0, NULL, &s);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, row->up, &flow, 0), 1);
	CU_ASSERT_STRING_EQUAL(missed(rig, KEY_KIND_tuple), "");
	flow.ue_port = 1001;
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, row->up, &flow, 0), 0); // there is no room
	CU_ASSERT_STRING_EQUAL(missed(rig, KEY_KIND_tuple),
			       row->v6 ? "[2001:db8:0:1::1]:1001 [" RIG_SERVER6 "]:53"
				       : "10.45.0.1:1001 " RIG_SERVER ":53");
	CU_ASSERT_EQUAL(gre_sent(rig, &s, row, row->up, 7, 0), 0); // of no known protocol
	CU_ASSERT_STRING_EQUAL(missed(rig, KEY_KIND_pair),
			       row->v6 ? "2001:db8:0:1::1 " RIG_SERVER6 : "10.45.0.1 " RIG_SERVER);
	clock_warp_ns(2 * (int64_t)NS_PER_MS);
	flow.ue_port = 1002; // an error is told by what it is about
	bytes = chain_frame(rig, &s, !row->up, &flow, frame);
	bytes = error_frame(rig, &s, row->up, row->v6, frame, bytes, 60);
	rig_send(rig, row->up ? RIG_N3 : RIG_N6, 0, frame, bytes);
	rig_settle(rig);
	CU_ASSERT_STRING_EQUAL(missed(rig, KEY_KIND_tuple),
			       row->v6 ? "[2001:db8:0:1::1]:1002 [" RIG_SERVER6 "]:53"
				       : "10.45.0.1:1002 " RIG_SERVER ":53");
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_flow_icmp_error), 1);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_flows(void)
{
	rows_each(flows_row);
}

// A port outside that nobody has, of an address that UEs have.
static void outside_row(const struct row *row)
{
	struct nat_pool_conf pool = {.addrs = {.addr = rig_addr("198.51.100.0"), .len = 32},
				     .iface = RIG_N6,
				     .port_low = 1024,
				     .port_high = UINT16_MAX,
				     .block_ports = 64,
				     .blocks_per_session = 2};
	struct rig_conf conf = {.n_workers = row->workers,
				.n_slots = 8,
				.n_tunnels = 4,
				.services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle) |
					    SERVICE_MASK(nat_in) | SERVICE_MASK(nat_out),
				.nat = &pool};
	struct rig_flow flow = flow_of(row, IPPROTO_UDP, 40);
	struct rig *rig = chain_rig_stopped(&conf);
	struct rig_session s, asked;

	chain_session_add(rig, 0, NULL, &s);
	asked = s;
	asked.ue_v4 = pool.addrs.addr;
	flow.ue_port = 2000;
	for (unsigned i = 0; i < 2; i++) {
		flow.proto = i ? IPPROTO_UDP : IPPROTO_ESP; // which has no ports
		CU_ASSERT_EQUAL(chain_forwarded(rig, &asked, false, &flow, row->workers - 1), 0);
		CU_ASSERT_STRING_EQUAL(missed(rig, KEY_KIND_outside),
				       i ? "198.51.100.0:2000 " RIG_SERVER ":53"
					 : "198.51.100.0 " RIG_SERVER);
		clock_warp_ns(2 * (int64_t)NS_PER_MS);
	}
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_session), 2);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void test_outside(void)
{
	for (unsigned workers = 1; workers <= 2; workers++)
		outside_row(&(const struct row){.workers = workers});
}

static CU_TestInfo tests[] = {
	{"a kind from outside", test_kind},        {"without it", test_without},
	{"fragments of it", test_fragments},       {"ICMP errors about it", test_error},
	{"no session has the key", test_sessions}, {"no flow has it", test_flows},
	{"nobody has it outside", test_outside},   CU_TEST_INFO_NULL,
};

UNIT_MAIN("kinds of keys")
