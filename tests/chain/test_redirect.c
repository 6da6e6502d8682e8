// Traffic that a FAR redirects (TS 29.244 8.2.20), through the whole data path: it leaves for another address or port,
// what comes from there has the source that its user knows, and nothing else is touched. By one worker and by two, over
// IPv4 and IPv6.
//
// The test's thread, with warped time.

#include "base/clock.h"
#include "chain.h"
#include "fragments.h"
#include "l4_sum.h"
#include "packet/cksum.h"
#include "packet/icmp.h"
#include "pipeline/pipeline.h"
#include "worker/flows.h"

#define PORTAL "198.51.100.80"
#define PORTAL6 "2001:db8:fffe::80"
#define OTHER "198.51.100.81" // another portal
#define OTHER6 "2001:db8:fffe::81"
#define PORT 8080
#define UE_PORT 40000
#define WEB 80

struct bed {
	struct rig *rig;
	struct rig_session session;
	bool v6;
};

// What a user packet says of its ends.
struct ends {
	struct addr src, dst;
	uint16_t sport, dport;
};

static struct addr server(const struct bed *b)
{
	return rig_addr(b->v6 ? RIG_SERVER6 : RIG_SERVER);
}

static const char *portal(const struct bed *b)
{
	return b->v6 ? PORTAL6 : PORTAL;
}

static struct redirect_rule to_portal(uint16_t port)
{
	struct addr v6 = rig_addr(PORTAL6);
	struct redirect_rule to = {.v4.s_addr = rig_addr(PORTAL).v4, .port = port};

	memcpy(&to.v6, v6.v6, sizeof(to.v6));
	return to;
}

// Uplink of the session goes to a data network by FAR 2.
static struct rules *rules_make(const struct redirect_rule *to)
{
	struct rules *rules = rig_rules_new(0);

	for (unsigned i = 0; i < rules->n_fars; i++)
		if (to && rules->fars[i].destination != IF_ACCESS)
			rules->fars[i].redirect = *to;
	return rules;
}

static void bed_open(struct bed *b, unsigned n_workers, bool v6, const struct redirect_rule *to)
{
	struct rig_conf conf = {
		.n_workers = n_workers, .n_slots = 8, .n_tunnels = 4, .redirects = true};
	struct rules *rules = rules_make(to);

	b->v6 = v6;
	b->rig = chain_rig_stopped(&conf);
	chain_session_add(b->rig, 0, rules, &b->session);
	rules_free(rules);
}

static void bed_close(struct bed *b)
{
	rig_session_del(b->rig, &b->session);
	CU_ASSERT_EQUAL(b->rig->control.workers[b->session.slot.owner]->flows.table.used, 0);
	rig_end(b->rig);
}

static void bed_change(struct bed *b, const struct redirect_rule *to)
{
	struct rules *rules = rules_make(to);

	rig_session_change(b->rig, &b->session, rules);
	rules_free(rules);
}

static struct rig_flow flow_of(const struct bed *b, uint8_t proto, uint16_t dn_port, const char *dn)
{
	return (struct rig_flow){.proto = proto,
				 .ue_port = UE_PORT,
				 .dn_port = dn_port,
				 .ttl = 64,
				 .payload = 33,
				 .qfi = 1,
				 .v6 = b->v6,
				 .dn = dn};
}

static bool sums_right(const uint8_t *ip)
{
	return l4_sum_right(ip) &&
	       (*ip >> 4 == 6 || cksum_fold(cksum_bytes(ip, IP4_BYTES)) == 0xffff);
}

static void offer(struct bed *b, bool up, const struct rig_flow *flow)
{
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = chain_frame(b->rig, &b->session, up, flow, frame);
	unsigned via = flow->payload % b->rig->conf.n_workers;

	l4_sum_write(frame + (up ? rig_user_at(b->rig, flow->qfi) : ETH_BYTES));
	rig_send(b->rig, up ? RIG_N3 : RIG_N6, via, frame, bytes);
	rig_settle(b->rig);
}

// The next packet that left, up or down. False: there is none.
static bool left(struct bed *b, bool up, struct ends *ret)
{
	uint8_t frame[RIG_FRAME_MAX];
	uint32_t at = up ? ETH_BYTES : rig_user_at(b->rig, 1);
	const uint8_t *ip = frame + at;
	const uint8_t *l4 = ip + (b->v6 ? IP6_BYTES : IP4_BYTES);

	if (rig_recv(b->rig, up ? RIG_N6 : RIG_N3, frame) == 0)
		return false;
	CU_ASSERT_TRUE(sums_right(ip));
	*ret = (struct ends){.sport = be16_get(l4), .dport = be16_get(l4 + 2)};
	if (b->v6) {
		ret->src = addr_v6(ip_source_at(ip, 6));
		ret->dst = addr_v6(ip_destination_at(ip, 6));
	} else {
		ret->src = addr_v4(((const struct ip4_head *)ip)->src);
		ret->dst = addr_v4(((const struct ip4_head *)ip)->dst);
	}
	return true;
}

// Offered uplink, it leaves for `dst` and this port.
static void expect_up(struct bed *b, const struct rig_flow *flow, struct addr dst, uint16_t port)
{
	struct ends ends;

	offer(b, true, flow);
	CU_ASSERT_TRUE_FATAL(left(b, true, &ends));
	CU_ASSERT_TRUE(addr_eq(&ends.dst, &dst));
	CU_ASSERT_TRUE(b->v6 || addr_eq(&ends.src, &b->session.ue_v4));
	CU_ASSERT_EQUAL(ends.dport, port);
	CU_ASSERT_EQUAL(ends.sport, flow->ue_port);
	CU_ASSERT_EQUAL(chain_drain(b->rig, RIG_N6) + chain_drain(b->rig, RIG_N3), 0);
}

// Offered downlink, it reaches the UE as if from `src` and this port.
static void expect_down(struct bed *b, const struct rig_flow *flow, struct addr src, uint16_t port)
{
	struct ends ends;

	offer(b, false, flow);
	CU_ASSERT_TRUE_FATAL(left(b, false, &ends));
	CU_ASSERT_TRUE(addr_eq(&ends.src, &src));
	CU_ASSERT_EQUAL(ends.sport, port);
	CU_ASSERT_EQUAL(ends.dport, flow->ue_port);
	CU_ASSERT_EQUAL(chain_drain(b->rig, RIG_N6) + chain_drain(b->rig, RIG_N3), 0);
}

static void expect_drop(struct bed *b, bool up, const struct rig_flow *flow, enum drop reason)
{
	uint64_t before = rig_drops(b->rig, reason);

	offer(b, up, flow);
	CU_ASSERT_EQUAL(rig_drops(b->rig, reason), before + 1);
	CU_ASSERT_EQUAL(chain_drain(b->rig, RIG_N6) + chain_drain(b->rig, RIG_N3), 0);
}

// Runs with each family and number of workers.
static void each(void (*run)(unsigned n_workers, bool v6))
{
	for (unsigned i = 0; i < 4; i++)
		run(1 + i % 2, i / 2);
}

// --- there and back --------------------------------------------------------------------------------------

static void run_there_and_back(unsigned n_workers, bool v6)
{
	static const uint16_t ports[] = {0, PORT};
	static const uint8_t protos[] = {IPPROTO_TCP, IPPROTO_UDP};

	for (unsigned i = 0; i < 4; i++) {
		struct redirect_rule to = to_portal(ports[i / 2]);
		uint16_t port = to.port ? to.port : WEB;
		struct rig_flow flow, from, direct;
		struct bed b;

		bed_open(&b, n_workers, v6, &to);
		flow = flow_of(&b, protos[i % 2], WEB, NULL);
		from = flow_of(&b, protos[i % 2], port, portal(&b));
		for (unsigned k = 0; k < 5; k++) {
			flow.payload++;
			from.payload++;
			expect_up(&b, &flow, rig_addr(portal(&b)), port);
			expect_down(&b, &from, server(&b), WEB);
		}
		// Who was named first may still have something to say.
		expect_down(&b, &flow, server(&b), WEB);
		// What the user sends there itself, by another port, is its own business.
		direct = flow_of(&b, protos[i % 2], port, portal(&b));
		direct.ue_port++;
		expect_up(&b, &direct, rig_addr(portal(&b)), port);
		expect_down(&b, &direct, rig_addr(portal(&b)), port);
		bed_close(&b);
	}
}

static void there_and_back(void)
{
	each(run_there_and_back);
}

static void run_port_only(unsigned n_workers, bool v6)
{
	struct redirect_rule to = {.port = PORT};
	struct rig_flow flow, from;
	struct bed b;

	bed_open(&b, n_workers, v6, &to);
	flow = flow_of(&b, IPPROTO_TCP, WEB, NULL);
	from = flow_of(&b, IPPROTO_TCP, PORT, NULL);
	expect_up(&b, &flow, server(&b), PORT);
	expect_down(&b, &from, server(&b), WEB);
	expect_up(&b, &flow, server(&b), PORT);
	bed_close(&b);
}

static void port_only(void)
{
	each(run_port_only);
}

// An echo keeps its identifier; the address alone is another.
static void run_echo(unsigned n_workers, bool v6)
{
	struct redirect_rule to = to_portal(PORT);
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_flow flow;
	struct bed b;

	bed_open(&b, n_workers, v6, &to);
	for (unsigned up = 2; up-- > 0;) {
		flow = flow_of(&b, IPPROTO_UDP, 0, up ? NULL : portal(&b));

		size_t bytes = chain_frame(b.rig, &b.session, up, &flow, frame);
		uint8_t *ip = frame + (up ? rig_user_at(b.rig, 1) : ETH_BYTES);
		uint8_t *icmp = ip + (v6 ? IP6_BYTES : IP4_BYTES);
		uint8_t echo[8] = {
			(uint8_t)(v6 ? up ? 128 : 129 : up ? 8 : 0), 0, 0, 0, 0x12, 0x34, 0, 1};
		struct ends ends;

		if (v6)
			((struct ip6_head *)ip)->next = IPPROTO_ICMPV6;
		else
			((struct ip4_head *)ip)->proto = IPPROTO_ICMP;
		memcpy(icmp, echo, sizeof(echo));
		l4_sum_write(ip);
		if (!v6) {
			((struct ip4_head *)ip)->cksum = 0;
			ip4_sum_right(ip);
		}
		rig_send(b.rig, up ? RIG_N3 : RIG_N6, 0, frame, bytes);
		rig_settle(b.rig);
		CU_ASSERT_TRUE_FATAL(left(&b, up, &ends));
		struct addr expected = up ? rig_addr(portal(&b)) : server(&b);
		CU_ASSERT_TRUE(addr_eq(up ? &ends.dst : &ends.src, &expected));
	}
	bed_close(&b);
}

static void echo(void)
{
	each(run_echo);
}

// Makes the frame's user packet an error (time exceeded) about the one at `quoted`, from `from`. Gives the frame's length.
static size_t error_write(struct bed *b, bool up, const uint8_t *quoted, const char *from,
			  uint8_t *frame)
{
	static const uint8_t kinds[] = {11, 3}; // ICMP, ICMPv6
	struct rig_flow flow = flow_of(b, IPPROTO_UDP, 0, from);
	uint32_t head = b->v6 ? IP6_BYTES : IP4_BYTES, quote = head + 8;
	uint8_t *ip = frame + (up ? rig_user_at(b->rig, 1) : ETH_BYTES);
	size_t bytes;

	flow.payload = (uint16_t)quote; // 8 bytes of ICMP in the place of the UDP header, then this
	bytes = chain_frame(b->rig, &b->session, up, &flow, frame);
	memset(ip + head, 0, 8);
	ip[head] = kinds[b->v6];
	memcpy(ip + head + 8, quoted, quote);
	if (b->v6) {
		((struct ip6_head *)ip)->next = IPPROTO_ICMPV6;
	} else {
		((struct ip4_head *)ip)->proto = IPPROTO_ICMP;
		((struct ip4_head *)ip)->cksum = 0;
		ip4_sum_right(ip);
	}
	l4_sum_write(ip);
	return bytes;
}

// A packet of the flow as it came out by the other interface.
static void capture(struct bed *b, bool up, const struct rig_flow *flow, uint8_t *user)
{
	uint8_t frame[RIG_FRAME_MAX];

	offer(b, up, flow);
	CU_ASSERT_TRUE_FATAL(rig_recv(b->rig, up ? RIG_N6 : RIG_N3, frame) > 0);
	memcpy(user, frame + (up ? ETH_BYTES : rig_user_at(b->rig, 1)), 128);
}

static bool address_is(const uint8_t *at, const char *text)
{
	struct addr addr = rig_addr(text);

	return addr.family == ADDR_V4 ? memcmp(at, &addr.v4, 4) == 0 : memcmp(at, addr.v6, 16) == 0;
}

// An error about a redirected packet tells its user of the one that he sent: from the portal it is as from whom he
// named, a router on the way is who it is. What the user says of an answer reaches the portal.
static void run_errors(unsigned n_workers, bool v6)
{
	const char *named = v6 ? RIG_SERVER6 : RIG_SERVER;
	const char *router = v6 ? "2001:db8:99::1" : "203.0.113.1";
	struct redirect_rule to = to_portal(PORT);
	struct rig_flow flow, from;
	struct bed b;

	bed_open(&b, n_workers, v6, &to);
	flow = flow_of(&b, IPPROTO_UDP, WEB, NULL);
	from = flow_of(&b, IPPROTO_UDP, PORT, portal(&b));
	for (unsigned i = 0; i < 3; i++) {
		uint8_t frame[RIG_FRAME_MAX], user[128];
		bool up = i == 2;
		uint32_t head = v6 ? IP6_BYTES : IP4_BYTES;
		uint8_t *ip = frame + (up ? ETH_BYTES : rig_user_at(b.rig, 1)),
			*quote = ip + head + 8;
		size_t bytes;

		capture(&b, !up, up ? &from : &flow, user);
		bytes = error_write(&b, up, user, up ? named : i ? router : portal(&b), frame);
		rig_send(b.rig, up ? RIG_N3 : RIG_N6, i % n_workers, frame, bytes);
		rig_settle(b.rig);
		CU_ASSERT_TRUE_FATAL(rig_recv(b.rig, up ? RIG_N6 : RIG_N3, frame) > 0);
		CU_ASSERT_TRUE(sums_right(ip));
		CU_ASSERT_TRUE(v6 || cksum_fold(cksum_bytes(quote, IP4_BYTES)) == 0xffff);
		if (up) {
			CU_ASSERT_TRUE(address_is(ip_destination_at(ip, v6 ? 6 : 4), portal(&b)));
			CU_ASSERT_TRUE(address_is(ip_source_at(quote, v6 ? 6 : 4), portal(&b)));
			CU_ASSERT_EQUAL(be16_get(quote + head), PORT);
		} else {
			CU_ASSERT_TRUE(
				address_is(ip_source_at(ip, v6 ? 6 : 4), i ? router : named));
			CU_ASSERT_TRUE(address_is(ip_destination_at(quote, v6 ? 6 : 4), named));
			CU_ASSERT_EQUAL(be16_get(quote + head + 2), WEB);
		}
		CU_ASSERT_EQUAL(chain_drain(b.rig, RIG_N6) + chain_drain(b.rig, RIG_N3), 0);
	}
	bed_close(&b);
}

static void errors(void)
{
	each(run_errors);
}

// --- what cannot be --------------------------------------------------------------------------------------

// The user speaks to the portal by the port that a redirected packet comes with, too: answers could not be told apart.
static void run_taken(unsigned n_workers, bool v6)
{
	struct redirect_rule to = to_portal(0);
	struct rig_flow direct, flow;
	struct bed b;

	bed_open(&b, n_workers, v6, &to);
	direct = flow_of(&b, IPPROTO_TCP, WEB, portal(&b));
	flow = flow_of(&b, IPPROTO_TCP, WEB, NULL);
	expect_up(&b, &direct, rig_addr(portal(&b)), WEB);
	expect_drop(&b, true, &flow, DROP_redirect_taken);
	expect_down(&b, &direct, rig_addr(portal(&b)), WEB);
	clock_warp_ns((int64_t)(RIG_TCP_ESTABLISHED_MS + 1000) * (int64_t)NS_PER_MS);
	expect_up(&b, &flow, rig_addr(portal(&b)), WEB);
	bed_close(&b);
}

static void taken(void)
{
	each(run_taken);
}

static void run_family(unsigned n_workers, bool v6)
{
	struct redirect_rule to = to_portal(PORT);
	struct rig_flow flow;
	struct bed b;

	if (v6)
		memset(&to.v6, 0, sizeof(to.v6));
	else
		to.v4.s_addr = 0;
	bed_open(&b, n_workers, v6, &to);
	flow = flow_of(&b, IPPROTO_UDP, WEB, NULL);
	expect_drop(&b, true, &flow, DROP_redirect_family);
	bed_close(&b);
}

static void family(void)
{
	each(run_family);
}

// --- fragments -------------------------------------------------------------------------------------------

// Pieces keep together: each goes to the new address. One that ends before its checksum cannot.
static void run_fragments(unsigned n_workers, bool v6)
{
	struct redirect_rule to = to_portal(0);
	struct pieces pieces;
	struct rig_flow flow;
	struct bed b;

	bed_open(&b, n_workers, v6, &to);
	for (unsigned cut = 0; cut < 2; cut++) {
		uint32_t head = v6 ? IP6_BYTES + 8 : IP4_BYTES;

		flow = flow_of(&b, cut ? IPPROTO_TCP : IPPROTO_UDP, WEB, NULL);
		flow.payload = 64;
		pieces_of_user(b.rig, &b.session, true, &flow, head + (cut ? 8 : 32), 77 + cut,
			       &pieces);
		for (unsigned i = 0; i < pieces.n; i++) {
			uint8_t frame[RIG_FRAME_MAX];
			struct addr dst, expected = rig_addr(portal(&b));

			rig_send(b.rig, RIG_N3, i % n_workers, pieces.frames[i], pieces.bytes[i]);
			rig_settle(b.rig);
			if (cut && i == 0) {
				CU_ASSERT_EQUAL(rig_drops(b.rig, DROP_redirect_fragment), 1);
				continue;
			}
			CU_ASSERT_TRUE_FATAL(rig_recv(b.rig, RIG_N6, frame) > 0);
			dst = v6 ? addr_v6(ip_destination_at(frame + ETH_BYTES, 6))
				 : addr_v4(((struct ip4_head *)(frame + ETH_BYTES))->dst);
			CU_ASSERT_TRUE(addr_eq(&dst, &expected));
		}
		CU_ASSERT_TRUE(pieces.n > 2);
	}
	bed_close(&b);
}

static void fragments(void)
{
	each(run_fragments);
}

// --- other rules -----------------------------------------------------------------------------------------

// With other rules the flow goes elsewhere, where it was sent, or back to the portal, from its next packet on.
static void run_changes(unsigned n_workers, bool v6)
{
	struct redirect_rule to = to_portal(0), other = {.v4.s_addr = rig_addr(OTHER).v4};
	struct addr other6 = rig_addr(OTHER6);
	struct rig_flow flow, from;
	struct bed b;

	memcpy(&other.v6, other6.v6, sizeof(other.v6));
	bed_open(&b, n_workers, v6, NULL);
	flow = flow_of(&b, IPPROTO_TCP, WEB, NULL);
	from = flow_of(&b, IPPROTO_TCP, WEB, portal(&b));
	expect_up(&b, &flow, server(&b), WEB);
	CU_ASSERT_EQUAL(b.rig->control.workers[b.session.slot.owner]->flows.table.used, 0);
	bed_change(&b, &to);
	expect_up(&b, &flow, rig_addr(portal(&b)), WEB);
	expect_down(&b, &from, server(&b), WEB);
	bed_change(&b, &other);
	expect_up(&b, &flow, v6 ? other6 : rig_addr(OTHER), WEB);
	from.dn = v6 ? OTHER6 : OTHER;
	expect_down(&b, &from, server(&b), WEB);
	bed_change(&b, NULL);
	expect_up(&b, &flow, server(&b), WEB);
	expect_down(&b, &flow, server(&b), WEB);
	bed_change(&b, &to);
	expect_up(&b, &flow, rig_addr(portal(&b)), WEB);
	bed_close(&b);
}

static void changes(void)
{
	each(run_changes);
}

// Beyond the quota a user comes to where he can buy more (TS 29.244 5.2.2.2.1).
static void run_quota(unsigned n_workers, bool v6)
{
	struct rules *rules = rig_variant_new(RIG_QUOTA, 0);
	struct far_rule *far = rules_far_add(rules, 77);
	struct urr_rule *urr = rules_urr_lookup(rules, 1);
	struct redirect_rule to = to_portal(PORT);
	struct rig_flow flow;
	struct bed b;

	for (unsigned i = 0; i < rules->n_fars; i++)
		if (rules->fars[i].has_parameters && rules->fars[i].destination != IF_ACCESS)
			*far = rules->fars[i];
	far->id = 77;
	far->redirect = to;
	urr->has_quota_far = true;
	urr->quota_far = 77;
	bed_open(&b, n_workers, v6, NULL);
	rig_session_del(b.rig, &b.session);
	chain_session_add(b.rig, 0, rules, &b.session);
	flow = flow_of(&b, IPPROTO_UDP, 9, NULL);
	flow.payload = (uint16_t)(1000 - (v6 ? IP6_BYTES : IP4_BYTES) - UDP_BYTES);
	for (unsigned i = 0; i < RIG_QUOTA_BYTES / 1000; i++)
		expect_up(&b, &flow, server(&b), 9);
	expect_up(&b, &flow, rig_addr(portal(&b)), PORT);
	rules_free(rules);
	bed_close(&b);
}

static void quota(void)
{
	each(run_quota);
}

// --- UE to UE --------------------------------------------------------------------------------------------

// Where packets are redirected to is another UE: they are handed to its session.
static void to_ue(void)
{
	struct redirect_rule to = {0};
	struct rig_session other;
	struct rig_flow flow;
	struct bed b;

	bed_open(&b, 1, false, NULL);
	chain_session_add(b.rig, 1, NULL, &other);
	to.v4.s_addr = other.ue_v4.v4;
	bed_change(&b, &to);
	flow = flow_of(&b, IPPROTO_UDP, WEB, NULL);
	offer(&b, true, &flow);
	CU_ASSERT_EQUAL(chain_drain(b.rig, RIG_N3), 1);
	CU_ASSERT_EQUAL(rig_count(b.rig, COUNTER_hairpin), 1);
	rig_session_del(b.rig, &other);
	bed_close(&b);
}

static CU_TestInfo tests[] = {
	{"there and back", there_and_back},
	{"to another port alone", port_only},
	{"echo", echo},
	{"errors", errors},
	{"answers that could not be told apart", taken},
	{"no address of the family", family},
	{"fragments", fragments},
	{"other rules", changes},
	{"beyond a quota", quota},
	{"to another UE", to_ue},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("redirect")
