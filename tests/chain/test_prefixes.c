// Packets of sessions that have more than an address: framed routes and IPv6 prefixes of other lengths than /64,
// both directions, one and two workers, each by every worker in turn.

#include "chain.h"
#include "packet/gtpu.h"
#include "packet/ip.h"

#define WIDE 255   // the session's number: its /64 is 2001:db8:0:100::
#define INSIDE 511 // another's, 2001:db8:0:200::

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix;

	if (prefix_parse(text, &prefix) != 0)
		rig_die(text);
	return prefix;
}

// What a session of these tests has beside its two addresses.
struct extra {
	const char *framed[3];
	uint8_t v6_prefix; // 0: 64
};

// Downlink PDRs have all of it; of the uplink ones the second has the routes alone, as Open5GS gives them.
static struct rules *rules_with(uint32_t n, const struct extra *extra)
{
	struct rules *rules = rig_rules_new(n);

	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct pdr_rule *pdr = &rules->pdrs[i];

		if (pdr->pdi.has_ue_ip && extra->v6_prefix)
			pdr->pdi.ue_ip.v6_prefix = extra->v6_prefix;
		for (unsigned family = 4; family <= 6 && pdr->id != 3; family += 2) {
			struct prefix list[3];
			unsigned k = 0;

			for (unsigned f = 0; f < 3; f++)
				if (extra->framed[f] &&
				    prefix_of(extra->framed[f]).addr.family == family)
					list[k++] = prefix_of(extra->framed[f]);
			if (rules_pdr_framed_set(pdr, (uint8_t)family, list, k) != 0)
				rig_die("framed routes");
		}
	}
	return rules;
}

static void prefixes_set(struct rig *rig, const struct rig_session *s, const struct extra *extra,
			 bool on)
{
	struct session_ref ref = session_ref_make(s->slot.owner, s->slot.index, s->slot.version);
	struct prefix wide = {.addr = addr_mask(&s->ue_v6, extra->v6_prefix),
			      .len = extra->v6_prefix};
	int rc = 0;

	if (extra->v6_prefix)
		rc |= on ? locator_prefix_add(rig->locator, RIG_N6, &wide, false, ref)
			 : locator_prefix_del(rig->locator, RIG_N6, &wide);
	for (unsigned f = 0; f < 3 && extra->framed[f]; f++) {
		struct prefix framed = prefix_of(extra->framed[f]);

		rc |= on ? locator_prefix_add(rig->locator, RIG_N6, &framed, true, ref)
			 : locator_prefix_del(rig->locator, RIG_N6, &framed);
	}
	CU_ASSERT_EQUAL_FATAL(rc, 0);
}

static void session_make(struct rig *rig, uint32_t n, const struct extra *extra,
			 struct rig_session *ret)
{
	struct rules *rules = rules_with(n, extra);

	rig_session_add(rig, n, rules, ret);
	prefixes_set(rig, ret, extra, true);
	rules_free(rules);
	rig_settle(rig);
	rig_resolve(rig);
}

static void session_end(struct rig *rig, struct rig_session *s, const struct extra *extra)
{
	prefixes_set(rig, s, extra, false);
	rig_session_del(rig, s);
}

// Sends a packet of the host `text` behind the session, or to it, and gives the TEID that it leaves with: 1 by N6,
// 0 for none.
static uint32_t sent(struct rig *rig, const struct rig_session *s, const char *text, bool up,
		     unsigned via)
{
	struct rig_session host = *s;
	struct prefix at = prefix_of(text);
	struct rig_flow flow = {.proto = IPPROTO_UDP,
				.ue_port = 40000,
				.dn_port = via ? 5000 : 53,
				.ttl = 64,
				.payload = 64,
				.qfi = 1,
				.v6 = at.addr.family == ADDR_V6};
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes;

	if (flow.v6)
		host.ue_v6 = at.addr; // the rig makes it end in ::1
	else
		host.ue_v4 = at.addr;
	bytes = chain_frame(rig, &host, up, &flow, frame);
	rig_send(rig, up ? RIG_N3 : RIG_N6, via % rig->conf.n_workers, frame, bytes);
	rig_settle(rig);
	bytes = rig_recv(rig, up ? RIG_N6 : RIG_N3, frame);
	if (bytes == 0)
		return 0;
	return up ? 1 : be32_get(frame + ETH_BYTES + IP4_BYTES + UDP_BYTES + 4);
}

// One session: from and to each address, by each worker.
static void one_session(unsigned n_workers)
{
	static const struct {
		struct extra extra;
		struct {
			const char *host;
			bool passes;
		} hosts[8];
	} rows[] = {
		{{{"192.168.77.0/24"}, 0},
		 {{"192.168.77.1", true},
		  {"192.168.77.255", true},
		  {"192.168.78.1", false},
		  {"192.168.76.255", false},
		  {"10.45.1.0", true}, // its own
		  {"10.45.1.1", false},
		  {"2001:db8:0:100::1", true}}},
		{{{"172.16.0.0/12", "2001:db8:7700::/40", "203.0.113.9/32"}, 0},
		 {{"172.31.255.255", true},
		  {"172.32.0.0", false},
		  {"2001:db8:77ff:ffff::1", true},
		  {"2001:db8:7800::1", false},
		  {"203.0.113.9", true},
		  {"203.0.113.8", false},
		  {"2001:db8:0:100::1", true},
		  {"2001:db8:0:101::1", false}}},
		{{{NULL}, 56},
		 {{"2001:db8:0:100::1", true},
		  {"2001:db8:0:101::1", true},
		  {"2001:db8:0:1ff:ffff::1", true},
		  {"2001:db8:0:200::1", false},
		  {"2001:db8:0:ff::1", false},
		  {"10.45.1.0", true},
		  {"10.45.0.255", false}}},
		{{{"10.45.0.0/16"}, 0}, // around its own pool
		 {{"10.45.1.0", true}, {"10.45.99.1", true}, {"10.46.0.1", false}}},
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct rig *rig = chain_rig(n_workers);
		uint64_t spoofed = 0, lost = 0;
		struct rig_session s;

		session_make(rig, WIDE, &rows[i].extra, &s);
		for (unsigned k = 0; k < RTE_DIM(rows[i].hosts) && rows[i].hosts[k].host; k++)
			for (unsigned via = 0; via < 2; via++) {
				const char *host = rows[i].hosts[k].host;
				bool passes = rows[i].hosts[k].passes;
				uint32_t up = sent(rig, &s, host, true, via);
				uint32_t down = sent(rig, &s, host, false, via);

				if (up != passes || down != (passes ? s.gnb_teid : 0)) {
					printf("\n%s: up %u, down %x\n", host, up, down);
					CU_FAIL("a packet behind a UE");
				}
				spoofed += !passes;
				lost += !passes;
			}
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_spoofed_source), spoofed);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_session), lost);
		session_end(rig, &s, &rows[i].extra);
		CU_ASSERT_EQUAL(rig->locator->n_routes, 0);
		rig_end(rig);
	}
}

// Routes of several sessions: the longest leads, and a session may not send from what only another has.
static void several_sessions(unsigned n_workers)
{
	static const struct extra wide = {{"192.168.0.0/16", "2001:db8:cc00::/40"}, 0},
				  inside = {{"192.168.77.0/24", "2001:db8:cc77:1:2::/80"}, 0};
	struct rig *rig = chain_rig(n_workers);
	struct rig_session a, b;

	session_make(rig, WIDE, &wide, &a);
	session_make(rig, INSIDE, &inside, &b);
	for (unsigned via = 0; via < 2; via++) {
		CU_ASSERT_EQUAL(sent(rig, &a, "192.168.76.9", false, via), a.gnb_teid);
		CU_ASSERT_EQUAL(sent(rig, &a, "192.168.77.9", false, via), b.gnb_teid);
		CU_ASSERT_EQUAL(sent(rig, &a, "2001:db8:cc77:1:3::", false, via), a.gnb_teid);
		CU_ASSERT_EQUAL(sent(rig, &a, "2001:db8:cc77:1:2::", false, via), b.gnb_teid);
		CU_ASSERT_EQUAL(sent(rig, &a, "10.45.1.0", false, via), a.gnb_teid);
		CU_ASSERT_EQUAL(sent(rig, &a, "2001:db8:0:200::", false, via), b.gnb_teid);
		CU_ASSERT_EQUAL(sent(rig, &a, "192.168.76.9", true, via), 1);
		CU_ASSERT_EQUAL(sent(rig, &b, "192.168.77.9", true, via), 1);
		CU_ASSERT_EQUAL(sent(rig, &b, "192.168.76.9", true, via), 0);
	}
	session_end(rig, &b, &inside);
	CU_ASSERT_EQUAL(sent(rig, &a, "192.168.77.9", false, 0), a.gnb_teid);
	session_end(rig, &a, &wide);
	CU_ASSERT_EQUAL(sent(rig, &a, "192.168.77.9", false, 0), 0);
	rig_end(rig);
}

static void one_session_1(void)
{
	one_session(1);
}

static void one_session_2(void)
{
	one_session(2);
}

static void several_sessions_1(void)
{
	several_sessions(1);
}

static void several_sessions_2(void)
{
	several_sessions(2);
}

static CU_TestInfo tests[] = {
	{"one session, 1 worker", one_session_1},
	{"one session, 2 workers", one_session_2},
	{"several sessions, 1 worker", several_sessions_1},
	{"several sessions, 2 workers", several_sessions_2},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("prefixes")
