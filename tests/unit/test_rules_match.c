// The match of packets to PDRs against one written anew, on the model: every random packet must find the
// same PDR in the compiled block, walked or classified, as a walk over the SMF's rules finds.

#include <stdlib.h>

#include "unit.h"

#include "rules_kit.h"

#include "rules/match.h"

#define ROUNDS 400
#define PACKETS 500

static unsigned below(unsigned n)
{
	return (unsigned)random() % n;
}

// --- random rules ----------------------------------------------------------------------------------------

static const char *const flows[] = {
	"permit out ip from any to assigned",
	"permit out 17 from 10.9.9.0/24 5-6 to assigned",
	"permit out 17 from 10.9.9.1 to assigned 6,8",
	"permit out 6 from 10.9.8.0/23 4 to assigned",
	"permit out 6 from any 3-5,8 to assigned 1,4-6",
	"permit out ip from any 4 to assigned",
	"permit out ip from 0.0.0.0/0 to assigned",
	"permit out ip from ::/0 to any",
	"permit out 58 from ff02::2/128 to assigned",
	"permit out 132 from any to any 5",
	"permit out ip from 2001:db8:1::/48 to assigned",
	"permit out 17 from 2001:db8:1:8000::/49 to assigned 3",
	"permit out udp from 2001:db8:1::1 to 2001:db8:cafe:1::2",
	"permit out 1 from any to 10.45.0.2",
	"permit out 50 from any to assigned",
	"permit out 6 from 10.9.9.0/25 to 10.45.0.0/31",
};

// Applications: two flows, one with ports, one whose flows have gone.
static const char *const app_texts[][2] = {
	{"permit out ip from 10.9.8.0/23 to assigned", "permit out 17 from 2001:db8:1::/48 to any"},
	{"permit out 6 from any 3-4,8 to assigned 4-5", NULL},
	{NULL, NULL},
};

static const struct sdf *app_flows(void *ctx, uint16_t app, unsigned *ret_n)
{
	static struct sdf parsed[2];

	*ret_n = 0;
	for (unsigned i = 0; i < 2; i++)
		if (app_texts[app - 1][i])
			parsed[(*ret_n)++] = kit_sdf(app_texts[app - 1][i]);
	return parsed;
}

static struct sdf random_sdf(void)
{
	struct sdf sdf = {0};

	if (below(8))
		sdf = kit_sdf(flows[below(sizeof(flows) / sizeof(flows[0]))]);
	if (below(6) == 0 || !sdf.has_flow) {
		sdf.has_tos = true;
		sdf.tos = (uint8_t)(below(4) << 2);
		sdf.tos_mask = 0xfc;
	}
	if (below(12) == 0) {
		sdf.has_spi = true;
		sdf.spi = below(3);
	}
	if (below(12) == 0) {
		sdf.has_flow_label = true;
		sdf.flow_label = below(3);
	}
	return sdf;
}

static void random_pdi(struct pdr_rule *pdr, bool several)
{
	struct sdf sdfs[3];
	unsigned n = below(4);

	for (unsigned i = 0; i < n; i++)
		sdfs[i] = random_sdf();
	CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(pdr, sdfs, n), 0);
	if (below(4) == 0)
		pdr->pdi.app = (uint16_t)(1 + below(3));
	if (pdr->pdi.has_fteid && below(2))
		pdr->pdi.qfis = 1ull << (1 + below(2)) | 1ull << 9;
	if (below(3) == 0)
		kit_ue_set(pdr, several && below(2) ? "10.45.0.3" : "10.45.0.2",
			   below(2) ? "2001:db8:cafe:1::2" : NULL);
	if (several && pdr->pdi.has_ue_ip && below(2))
		pdr->pdi.ue_ip.v6_prefix = 128;
}

static struct rules *random_rules(bool several)
{
	struct rules *r = kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2");
	unsigned n = below(8);

	for (unsigned i = 0; i < n; i++) {
		uint16_t id = (uint16_t)(10 + below(2) * 100 + i);
		uint32_t precedence = below(4) ? below(300) : 65535;
		struct pdr_rule *pdr;

		if (below(2))
			pdr = kit_pdr_tunnel(r, id, precedence, below(3) ? IF_ACCESS : IF_CORE,
					     (uint8_t)(1 + below(2)), 1 + below(3));
		else
			pdr = kit_pdr_down(r, id, precedence, 1 + below(3));
		random_pdi(pdr, several);
	}
	return r;
}

// --- random packets --------------------------------------------------------------------------------------

struct packet {
	struct pkt p;
	bool up;
	uint8_t remote[16], local[16]; // of IPv4 the first four octets
	uint8_t tos;
	uint32_t label, spi;
	uint16_t remote_port, local_port;
	bool has_ports, has_spi;
	uint8_t user[128];
};

static void address_set(uint8_t to[16], const char *text)
{
	CU_ASSERT_EQUAL_FATAL(inet_pton(strchr(text, ':') ? AF_INET6 : AF_INET, text, to), 1);
}

static void random_addresses(struct packet *k, bool located)
{
	static const char *const remotes4[] = {"10.9.9.1", "10.9.9.200", "10.9.8.1", "8.8.8.8"};
	static const char *const remotes6[] = {"2001:db8:1::1", "2001:db8:1:8000::1", "ff02::2",
					       "2001:db8:2::1"};
	static const char *const locals4[] = {"10.45.0.2", "10.45.0.3", "10.45.0.9"};
	static const char *const locals6[] = {"2001:db8:cafe:1::2", "2001:db8:cafe:1::3",
					      "fe80::1"};

	if (k->p.family == 4) {
		address_set(k->remote, remotes4[below(4)]);
		address_set(k->local, locals4[located ? 0 : below(3)]);
	} else {
		address_set(k->remote, remotes6[below(4)]);
		address_set(k->local, locals6[below(located ? 2 : 3)]);
	}
}

static void random_l4(struct packet *k)
{
	static const uint8_t protos[] = {6, 17, 6, 17, 132, 136, 1, 58, 50, 51, 47};
	bool later = below(8) == 0;

	k->p.proto = protos[below(sizeof(protos))];
	k->has_ports = k->p.proto == 6 || k->p.proto == 17 || k->p.proto == 132 ||
		       k->p.proto == 136;
	k->has_spi = k->p.proto == 50 || k->p.proto == 51;
	if (later || below(8) == 0)
		k->p.flags |= PKT_F_FRAGMENT;
	if (later || (!k->has_ports && k->p.proto != 1 && k->p.proto != 58))
		k->p.flags |= PKT_F_NO_L4;
	k->has_ports &= !later;
	k->has_spi &= !(k->p.flags & PKT_F_FRAGMENT);
	k->remote_port = (uint16_t)below(10);
	k->local_port = (uint16_t)below(10);
	k->spi = below(3);
	if (k->p.flags & PKT_F_NO_L4)
		return;
	k->p.sport = k->up ? k->local_port : k->remote_port;
	k->p.dport = k->up ? k->remote_port : k->local_port;
}

// The bytes that parse would have found the rest in.
static void write_user(struct packet *k)
{
	uint8_t *ip = k->user;
	unsigned header = k->p.family == 4 ? 20 + 4 * below(3) : 40;
	unsigned l4 = header;

	if (k->p.family == 4) {
		ip[0] = (uint8_t)(0x40 | header / 4);
		ip[1] = k->tos;
		ip[9] = k->p.proto;
		memcpy(ip + (k->up ? 12 : 16), k->local, 4);
		memcpy(ip + (k->up ? 16 : 12), k->remote, 4);
	} else {
		be32_put(ip, 6u << 28 | (uint32_t)k->tos << 20 | k->label);
		ip[6] = k->p.proto;
		memcpy(ip + (k->up ? 8 : 24), k->local, 16);
		memcpy(ip + (k->up ? 24 : 8), k->remote, 16);
	}
	be32_put(ip + l4 + (k->p.proto == 51 ? 4 : 0), k->spi);
	k->p.user = 50;
	k->p.l4 = (uint16_t)(50 + l4);
	k->p.user_bytes = (uint16_t)(l4 + (below(10) ? 20 : 7));
	k->has_spi &= k->p.user_bytes >= l4 + 8;
}

static struct packet random_packet(bool several)
{
	struct packet k = {.up = below(2)};
	bool plain;

	k.p.family = below(2) ? 4 : 6;
	k.p.tunnel = (uint8_t)(k.up ? 1 + below(2) : below(3));
	plain = !k.up && k.p.tunnel == 0;
	if (!plain && below(2))
		k.p.flags |= PKT_F_PSC;
	k.p.qfi = k.p.flags & PKT_F_PSC ? (uint8_t)(1 + below(3)) : PKT_QFI_NONE;
	k.tos = (uint8_t)(below(4) << 2 | below(4));
	k.label = k.p.family == 6 ? below(3) : 0;
	// Plain packets were located, and uplink packets' source is checked, by the one address of the
	// session; where it has several, the round must tell.
	random_addresses(&k, !several && (plain || k.up));
	random_l4(&k);
	write_user(&k);
	return k;
}

// --- the walk over the model -----------------------------------------------------------------------------

static bool bits_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	for (unsigned i = 0; i < bits; i++) {
		if ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1)
			return false;
	}
	return true;
}

static bool in_prefix(const struct prefix *prefix, const struct packet *k, const uint8_t *addr)
{
	if (prefix->addr.family != k->p.family)
		return false;
	return bits_equal(prefix->addr.family == 4 ? (const uint8_t *)&prefix->addr.v4
						   : prefix->addr.v6,
			  addr, prefix->len);
}

static bool naive_side(const struct sdf_side *side, const struct packet *k, const uint8_t *addr,
		       uint16_t port)
{
	bool in_ports = side->n_ports == 0;

	if (!side->any && !side->assigned && !in_prefix(&side->prefix, k, addr))
		return false;
	for (unsigned i = 0; i < side->n_ports; i++)
		in_ports |= k->has_ports && port >= side->ports[i].low &&
			    port <= side->ports[i].high;
	return in_ports;
}

static bool naive_filter(const struct sdf *sdf, const struct packet *k)
{
	if (sdf->has_tos && (k->tos & sdf->tos_mask) != (sdf->tos & sdf->tos_mask))
		return false;
	if (sdf->has_spi && (!k->has_spi || k->spi != sdf->spi))
		return false;
	if (sdf->has_flow_label && (k->p.family != 6 || k->label != sdf->flow_label))
		return false;
	if (!sdf->has_flow)
		return true;
	return (sdf->any_proto || sdf->proto == k->p.proto) &&
	       naive_side(&sdf->from, k, k->remote, k->remote_port) &&
	       naive_side(&sdf->to, k, k->local, k->local_port);
}

// Whether the packet is the application's, if the PDR names one.
static bool naive_app(const struct pdr_rule *pdr, const struct packet *k)
{
	bool any = pdr->pdi.app == RULES_APP_NONE;
	const struct sdf *of_app;
	unsigned n = 0;

	if (any)
		return true;
	of_app = app_flows(NULL, pdr->pdi.app, &n);
	for (unsigned i = 0; i < n; i++)
		any |= naive_filter(&of_app[i], k);
	return any;
}

static bool naive_ue(const struct ue_ip *ue, const struct packet *k)
{
	if (k->p.family == 4)
		return ue->has_v4 && memcmp(&ue->v4, k->local, 4) == 0;
	return ue->has_v6 && bits_equal(ue->v6.s6_addr, k->local, ue->v6_prefix);
}

// Whether the packet comes from an address that some PDR gives the UE.
static bool naive_source(const struct rules *r, const struct packet *k)
{
	for (unsigned i = 0; i < r->n_pdrs; i++) {
		if (r->pdrs[i].pdi.has_ue_ip && naive_ue(&r->pdrs[i].pdi.ue_ip, k))
			return true;
	}
	return false;
}

static bool naive_pdr(const struct rules *r, const struct pdr_rule *pdr, const struct packet *k)
{
	bool any = pdr->pdi.n_filters == 0;

	if ((pdr->pdi.source == IF_ACCESS) != k->up || pdr->tunnel != k->p.tunnel)
		return false;
	if (pdr->pdi.qfis != 0 && (!(k->p.flags & PKT_F_PSC) || !(pdr->pdi.qfis >> k->p.qfi & 1)))
		return false;
	if (pdr->pdi.has_ue_ip && !naive_ue(&pdr->pdi.ue_ip, k))
		return false;
	for (unsigned i = 0; i < pdr->pdi.n_filters; i++)
		any |= naive_filter(&pdr->pdi.filters[i], k);
	return any && naive_app(pdr, k);
}

static const struct pdr_rule *naive_match(const struct rules *r, const struct packet *k)
{
	const struct pdr_rule *best = NULL;

	for (unsigned i = 0; i < r->n_pdrs; i++) {
		const struct pdr_rule *pdr = &r->pdrs[i];

		if (!naive_pdr(r, pdr, k))
			continue;
		if (best == NULL || pdr->precedence < best->precedence ||
		    (pdr->precedence == best->precedence && pdr->id < best->id))
			best = pdr;
	}
	// What does not come from the UE is only for a PDR that relays to the CP function.
	if (best && k->up && !naive_source(r, k) &&
	    rules_far_lookup(r, best->far)->destination != IF_CP_FUNCTION)
		return NULL;
	return best;
}

// The packet's way through the source check and the PDRs, as services 15 and 30 have it.
static const struct pdr *match(const struct ruleset *rs, bool several, const struct packet *k)
{
	const struct pdr *pdr = k->up ? ruleset_match(rs, true, &k->p, k->user)
				      : ruleset_match(rs, false, &k->p, k->user);
	bool spoofed = k->up && several && !ruleset_source(rs, &k->p, k->user);

	return pdr && spoofed && !(pdr->flags & PDR_F_ANY_SOURCE) ? NULL : pdr;
}

// Whether the locators lead the packet to the session at all.
static bool is_located(const struct compiled *c, const struct packet *k)
{
	if (k->up || k->p.tunnel != 0)
		return true;
	for (unsigned i = 0; i < c->n_ue_keys; i++)
		if (in_prefix(&c->ue_keys[i].prefix, k, k->local))
			return true;
	return false;
}

// Whether the rules have more than the session's line can check.
static bool has_several(const struct rules *r)
{
	for (unsigned i = 0; i < r->n_pdrs; i++) {
		const struct ue_ip *ue = &r->pdrs[i].pdi.ue_ip;

		if (r->pdrs[i].pdi.has_ue_ip &&
		    ((ue->has_v6 && ue->v6_prefix != 64) ||
		     (ue->has_v4 && ue->v4.s_addr != kit_v4("10.45.0.2").s_addr)))
			return true;
	}
	return false;
}

static void match_round(unsigned round, unsigned *hits, unsigned *misses)
{
	struct rules *r = random_rules(round % 2);
	bool several = has_several(r);
	struct compile_conf conf = kit_conf;
	struct pfcp_fault fault = {0};
	struct compiled c;

	conf.walk_max = round % 4 < 2 ? 0 : 1; // walked, or classified as soon as there are two
	conf.app_flows = app_flows;
	CU_ASSERT_EQUAL_FATAL(rules_compile(r, &conf, &c, &fault), 0);
	for (unsigned i = 0; i < PACKETS; i++) {
		struct packet k = random_packet(several);
		const struct pdr_rule *expected = naive_match(r, &k);
		const struct pdr *got = match(c.rs, several, &k);

		if (!is_located(&c, &k))
			continue;
		if ((got ? got->id : 0) != (expected ? expected->id : 0)) {
			printf("\nround %u packet %u: PDR %d instead of %d\n", round, i,
			       got ? got->id : -1, expected ? expected->id : -1);
			CU_FAIL_FATAL("another PDR");
		}
		*hits += got != NULL;
		*misses += got == NULL;
	}
	compiled_fini(&c);
	rules_free(r);
}

static void test_random(void)
{
	unsigned hits = 0, misses = 0;

	srandom(5);
	for (unsigned round = 0; round < ROUNDS; round++)
		match_round(round, &hits, &misses);
	CU_ASSERT_TRUE(hits > 50000 && misses > 20000);
}

// A router solicitation and a user packet of an Open5GS session.
static void test_router_solicitation(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2");
	struct pfcp_fault fault = {0};
	struct packet k = {.up = true};
	const struct pdr *pdr;
	struct compiled c;

	CU_ASSERT_EQUAL_FATAL(rules_compile(r, &kit_conf, &c, &fault), 0);
	k.p.family = 6;
	k.p.tunnel = 1;
	k.p.proto = 58;
	k.p.dport = 133 << 8;
	k.p.qfi = PKT_QFI_NONE;
	address_set(k.local, "fe80::1");
	address_set(k.remote, "ff02::2");
	write_user(&k);
	pdr = ruleset_match(c.rs, true, &k.p, k.user);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pdr);
	CU_ASSERT_EQUAL(pdr->id, 4);

	// User packets need the QFI of PDR 2.
	address_set(k.remote, "2001:db8::1");
	write_user(&k);
	CU_ASSERT_PTR_NULL(ruleset_match(c.rs, true, &k.p, k.user));
	k.p.flags = PKT_F_PSC;
	k.p.qfi = 2;
	CU_ASSERT_PTR_NULL(ruleset_match(c.rs, true, &k.p, k.user));
	k.p.qfi = 1;
	pdr = ruleset_match(c.rs, true, &k.p, k.user);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pdr);
	CU_ASSERT_EQUAL(pdr->id, 2);
	compiled_fini(&c);
	rules_free(r);
}

// ICMP's type and code stand where ports do, and are none.
static void test_icmp_has_no_ports(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct pfcp_fault fault = {0};
	struct packet k = {.up = false};
	struct compiled c;

	kit_filter_set(rules_pdr_lookup(r, 1), "permit out ip from any 0-65535 to assigned");
	CU_ASSERT_EQUAL_FATAL(rules_compile(r, &kit_conf, &c, &fault), 0);
	k.p.family = 4;
	k.p.proto = 1;
	k.p.dport = 8 << 8;
	address_set(k.local, "10.45.0.2");
	address_set(k.remote, "8.8.8.8");
	write_user(&k);
	CU_ASSERT_PTR_NULL(ruleset_match(c.rs, false, &k.p, k.user));
	k.p.proto = 17;
	CU_ASSERT_PTR_NOT_NULL(ruleset_match(c.rs, false, &k.p, k.user));
	k.p.flags = PKT_F_FRAGMENT | PKT_F_NO_L4;
	CU_ASSERT_PTR_NULL(ruleset_match(c.rs, false, &k.p, k.user));
	compiled_fini(&c);
	rules_free(r);
}

#define SYN 0x02
#define RST 0x04
#define ACK 0x10
#define FIRST PKT_F_FRAGMENT
#define LATER (PKT_F_FRAGMENT | PKT_F_NO_L4)

// The options of a Flow Description that are honoured (RFC 6733 4.3.1), and packets that lack what they ask for.
static void test_options(void)
{
	static const char tcp_setup[] = "permit out tcp from any to assigned setup";
	static const char tcp_established[] = "permit out tcp from any to assigned established";
	static const char fragments[] = "permit out ip from any to assigned frag";
	static const struct {
		const char *text;
		uint8_t family, proto, flags, tcp_flags;
		bool matches, cut; // cut: the packet ends before the TCP flags
	} rows[] = {
		{tcp_setup, 4, 6, 0, SYN, true, false},
		{tcp_setup, 6, 6, 0, SYN, true, false},
		{tcp_setup, 4, 6, FIRST, SYN, true, false},
		{tcp_setup, 4, 6, 0, SYN | ACK, false, false},
		{tcp_setup, 6, 6, 0, ACK, false, false},
		{tcp_setup, 4, 6, LATER, SYN, false, false},
		{tcp_setup, 4, 6, 0, SYN, false, true},
		{tcp_setup, 4, 17, 0, SYN, false, false},
		{tcp_established, 4, 6, 0, ACK, true, false},
		{tcp_established, 6, 6, 0, RST, true, false},
		{tcp_established, 4, 6, 0, SYN | ACK, true, false},
		{tcp_established, 4, 6, 0, SYN, false, false},
		{tcp_established, 6, 6, LATER, ACK, false, false},
		{tcp_established, 6, 6, 0, ACK, false, true},
		{fragments, 4, 17, LATER, 0, true, false},
		{fragments, 4, 50, LATER, 0, true, false},
		{fragments, 6, 17, LATER, 0, true, false},
		{fragments, 4, 17, FIRST, 0, false, false},
		{fragments, 6, 17, FIRST, 0, false, false},
		{fragments, 4, 17, 0, 0, false, false},
		{fragments, 4, 50, PKT_F_NO_L4, 0, false, false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rules *r = kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2");
		struct pfcp_fault fault = {0};
		struct packet k = {.up = false};
		struct compiled c;
		unsigned header;

		kit_filter_set(rules_pdr_lookup(r, 1), rows[i].text);
		CU_ASSERT_EQUAL_FATAL(rules_compile(r, &kit_conf, &c, &fault), 0);
		k.p.family = rows[i].family;
		k.p.proto = rows[i].proto;
		k.p.flags = rows[i].flags;
		address_set(k.local, rows[i].family == 4 ? "10.45.0.2" : "2001:db8:cafe:1::2");
		address_set(k.remote, rows[i].family == 4 ? "8.8.8.8" : "2001:db8::8");
		write_user(&k);
		header = (unsigned)(k.p.l4 - k.p.user);
		k.user[header + 13] = rows[i].tcp_flags;
		k.p.user_bytes = (uint16_t)(header + (rows[i].cut ? 13 : 20));
		if (rows[i].family == 4 && (rows[i].flags & PKT_F_FRAGMENT))
			be16_put(k.user + 6, rows[i].flags == LATER ? 185 : 0x2000);
		CU_ASSERT_EQUAL(ruleset_match(c.rs, false, &k.p, k.user) != NULL, rows[i].matches);
		compiled_fini(&c);
		rules_free(r);
	}
}

static CU_TestInfo tests[] = {
	{"as a walk over the model", test_random},
	{"router solicitations and QFIs", test_router_solicitation},
	{"ICMP and fragments have no ports", test_icmp_has_no_ports},
	{"options", test_options},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("rules_match")
