// The compiler of rules: order, flags and destinations for an Open5GS session, what sessions share, and
// the cases that SMFs seldom give.

#include <stdlib.h>

#include "unit.h"

#include "rules_kit.h"

static struct compiled compile_with(struct rules *r, const struct compile_conf *conf)
{
	struct compiled c = {0};
	struct pfcp_fault fault = {0};

	rules_places_assign(r);
	if (rules_compile(r, conf, &c, &fault) != 0) {
		printf("\ncause %u, IE %u: %s\n", fault.cause, fault.offending_ie, fault.text);
		CU_FAIL_FATAL("test: rules do not compile");
	}
	return c;
}

static struct compiled compile(struct rules *r)
{
	return compile_with(r, &kit_conf);
}

static void refused(const struct rules *r, uint8_t cause, int type, uint32_t id, uint16_t ie)
{
	struct compiled c = {.n_places = 77};
	struct pfcp_fault fault = {0};

	CU_ASSERT_EQUAL(rules_compile(r, &kit_conf, &c, &fault), -EINVAL);
	CU_ASSERT_EQUAL(c.n_places, 77);
	CU_ASSERT_EQUAL(fault.cause, cause);
	CU_ASSERT_EQUAL(fault.offending_ie, ie);
	CU_ASSERT_EQUAL(fault.has_rule, type >= 0);
	if (type >= 0) {
		CU_ASSERT_EQUAL(fault.rule_type, type);
		CU_ASSERT_EQUAL(fault.rule_id, id);
	}
}

static const struct pdr *pdr_by_id(const struct ruleset *rs, uint16_t id)
{
	for (unsigned i = 0; i < rs->n_up + rs->n_down; i++) {
		if (rs->pdrs[i].id == id)
			return &rs->pdrs[i];
	}
	CU_FAIL_FATAL("test: no such PDR in the block");
	return NULL;
}

static const struct far *far_of(const struct ruleset *rs, uint16_t pdr)
{
	return ruleset_far(rs, pdr_by_id(rs, pdr)->far);
}

static bool blocks_alike(const struct ruleset *a, const struct ruleset *b)
{
	return a->units == b->units && memcmp(a, b, ruleset_bytes(a)) == 0;
}

// The rules of open5gs-ipv4v6.txt once the gNB is known.
static void test_open5gs(void)
{
	static const uint16_t order[] = {4, 2, 3, 1};
	struct rules *r = kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2");
	struct compiled c;
	const struct ruleset *rs;
	const struct pdr *pdr;

	kit_open5gs_gnb(r, 0x0a000001, "127.0.0.50");
	c = compile(r);
	rs = c.rs;
	CU_ASSERT_EQUAL(rs->n_up, 2);
	CU_ASSERT_EQUAL(rs->n_down, 2);
	CU_ASSERT_EQUAL(rs->n_fars, 3);
	CU_ASSERT_EQUAL(rs->n_filters, 1);
	CU_ASSERT_EQUAL(rs->flags, RULESET_F_ANY_SOURCE | RULESET_F_RARE_UP);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(rs->pdrs[i].id, order[i]);

	pdr = pdr_by_id(rs, 4);
	CU_ASSERT_EQUAL(pdr->flags, PDR_F_DECAP | PDR_F_ANY_SOURCE);
	CU_ASSERT_EQUAL(pdr->tunnel, 1);
	CU_ASSERT_EQUAL(pdr->qfis, UINT64_MAX);
	CU_ASSERT_EQUAL(pdr->n_filters, 1);
	CU_ASSERT_EQUAL(pdr->qfi, PKT_QFI_NONE);
	CU_ASSERT_EQUAL(pdr->policy, 0);
	CU_ASSERT_EQUAL(far_of(rs, 4)->to, FAR_TO_PLACE);
	CU_ASSERT_EQUAL(far_of(rs, 4)->place, 0);
	CU_ASSERT_EQUAL(far_of(rs, 4)->flags, FAR_F_UP);

	pdr = pdr_by_id(rs, 2);
	CU_ASSERT_EQUAL(pdr->flags, PDR_F_DECAP);
	CU_ASSERT_EQUAL(pdr->families, PDR_V4 | PDR_V6);
	CU_ASSERT_EQUAL(pdr->qfis, 1ull << 1);
	CU_ASSERT_EQUAL(pdr->n_filters, 0);
	CU_ASSERT_EQUAL(pdr->policy, PDR_POLICY_METER_0);
	CU_ASSERT_EQUAL(far_of(rs, 2)->to, FAR_TO_ROUTE);
	CU_ASSERT_EQUAL(far_of(rs, 2)->iface, KIT_N6);
	CU_ASSERT_EQUAL(far_of(rs, 2)->flags, FAR_F_UP | FAR_F_UE_DIRECT);

	pdr = pdr_by_id(rs, 3);
	CU_ASSERT_EQUAL(pdr->tunnel, 2);
	CU_ASSERT_EQUAL(pdr->flags, PDR_F_DECAP);
	CU_ASSERT_EQUAL(pdr->qfi, PKT_QFI_NONE);

	pdr = pdr_by_id(rs, 1);
	CU_ASSERT_EQUAL(pdr->tunnel, 0);
	CU_ASSERT_EQUAL(pdr->flags, 0);
	CU_ASSERT_EQUAL(pdr->qfi, 1);
	CU_ASSERT_EQUAL(pdr->policy, PDR_POLICY_METER_0 | PDR_POLICY_USAGE_LINE);
	CU_ASSERT_EQUAL(pdr->meters[0], PDR_NO_PLACE);
	CU_ASSERT_EQUAL(pdr->usages[0], PDR_NO_PLACE);
	CU_ASSERT_EQUAL(pdr->far, pdr_by_id(rs, 3)->far);
	CU_ASSERT_EQUAL(far_of(rs, 1)->to, FAR_TO_LINE);
	CU_ASSERT_EQUAL(far_of(rs, 1)->action, APPLY_FORW);
	CU_ASSERT_EQUAL(far_of(rs, 1)->id, 1);
	CU_ASSERT_EQUAL(far_of(rs, 1)->flags, 0);

	CU_ASSERT_TRUE(c.has_line);
	CU_ASSERT_EQUAL(c.line.teid, 0x0a000001);
	CU_ASSERT_EQUAL(c.line.v4.v4, kit_v4("127.0.0.50").s_addr);
	CU_ASSERT_EQUAL(c.line.iface_value, IF_ACCESS);
	CU_ASSERT_EQUAL(c.n_places, 1);
	CU_ASSERT_EQUAL(c.places[0].teid, 1);
	CU_ASSERT_EQUAL(c.places[0].iface_value, IF_CP_FUNCTION);
	compiled_fini(&c);
	rules_free(r);
}

static void test_addresses(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2");
	struct in6_addr prefix = kit_v6("2001:db8:cafe:1::");
	struct compiled c = compile(r);

	CU_ASSERT_EQUAL(c.ue_v4.s_addr, kit_v4("10.45.0.2").s_addr);
	CU_ASSERT_EQUAL(memcmp(&c.ue_v6, &prefix, 16), 0);
	CU_ASSERT_EQUAL(c.n_ue_keys, 2);
	CU_ASSERT_EQUAL(c.ue_keys[0].prefix.addr.v4, kit_v4("10.45.0.2").s_addr);
	CU_ASSERT_EQUAL(c.ue_keys[0].iface, KIT_N6);
	CU_ASSERT_EQUAL(memcmp(c.ue_keys[1].prefix.addr.v6, &prefix, 16), 0);
	CU_ASSERT_EQUAL(c.ue_keys[1].iface, KIT_N6);
	compiled_fini(&c);
	rules_free(r);
}

// Before the gNB is known.
static void test_buffering(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c = compile(r);

	CU_ASSERT_FALSE(c.has_line);
	CU_ASSERT_EQUAL(far_of(c.rs, 1)->to, FAR_TO_NOWHERE);
	CU_ASSERT_EQUAL(far_of(c.rs, 1)->action, APPLY_BUFF | APPLY_NOCP);
	CU_ASSERT_EQUAL(c.n_places, 1);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->families, PDR_V4);
	compiled_fini(&c);

	// Idle again: the gNB's tunnel is still in the model, and not in what is compiled.
	kit_open5gs_gnb(r, 7, "127.0.0.50");
	rules_far_lookup(r, 1)->action = APPLY_BUFF | APPLY_NOCP;
	c = compile(r);
	CU_ASSERT_FALSE(c.has_line);
	CU_ASSERT_EQUAL(far_of(c.rs, 1)->to, FAR_TO_NOWHERE);
	compiled_fini(&c);
	rules_free(r);
}

static void test_needs(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c = compile(r);

	CU_ASSERT_EQUAL(c.rs->chain_up, 1ull << 63 | NEEDS_DECAP | NEEDS_ENCAP | NEEDS_ROUTE |
						NEEDS_SOURCE_CHECK | NEEDS_METER);
	CU_ASSERT_EQUAL(c.rs->chain_down,
			1ull << 62 | NEEDS_DECAP | NEEDS_METER | NEEDS_USAGE | NEEDS_BUFFER);
	compiled_fini(&c);

	kit_open5gs_gnb(r, 7, "127.0.0.50");
	rules_qer_lookup(r, 1)->gate_down = 1;
	rules_qer_lookup(r, 1)->rqi = true;
	c = compile(r);
	CU_ASSERT_EQUAL(c.rs->chain_down, 1ull << 62 | NEEDS_DECAP | NEEDS_METER | NEEDS_USAGE |
						  NEEDS_ENCAP | NEEDS_GATE);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->flags, PDR_F_GATE_DOWN | PDR_F_RQI);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 2)->flags, PDR_F_DECAP | PDR_F_GATE_DOWN | PDR_F_RQI);
	compiled_fini(&c);
	rules_free(r);
}

// Other addresses, tunnels and order of IEs: the same block. Another precedence: another block.
static void test_sharing(void)
{
	struct rules *a = kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2");
	struct rules *b = kit_open5gs("10.45.7.7", "2001:db8:cafe:9::2");
	struct compiled ca, cb;
	struct pdr_rule swap;

	kit_open5gs_gnb(a, 0x0a000001, "127.0.0.50");
	kit_open5gs_gnb(b, 0x0b000003, "127.0.0.60");
	rules_far_lookup(b, 3)->teid = 9;
	swap = b->pdrs[0];
	b->pdrs[0] = b->pdrs[3];
	b->pdrs[3] = swap;
	ca = compile(a);
	cb = compile(b);
	CU_ASSERT_TRUE(blocks_alike(ca.rs, cb.rs));
	CU_ASSERT_EQUAL(cb.line.teid, 0x0b000003);
	compiled_fini(&cb);

	rules_pdr_lookup(b, 4)->precedence = 65536;
	cb = compile(b);
	CU_ASSERT_FALSE(blocks_alike(ca.rs, cb.rs));
	CU_ASSERT_EQUAL(cb.rs->pdrs[0].id, 2);
	compiled_fini(&ca);
	compiled_fini(&cb);
	rules_free(a);
	rules_free(b);
}

static void test_order_by_id(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c;

	kit_pdr_down(r, 20, 65535, 2);
	kit_pdr_down(r, 10, 65535, 2);
	kit_pdr_down(r, 30, 0, 2);
	kit_pdr_down(r, 31, UINT32_MAX, 2);
	c = compile(r);
	for (unsigned i = 0; i < 6; i++) {
		static const uint16_t order[] = {30, 3, 1, 10, 20, 31};

		CU_ASSERT_EQUAL(c.rs->pdrs[c.rs->n_up + i].id, order[i]);
	}
	compiled_fini(&c);
	rules_free(r);
}

static void test_alignment(void)
{
	for (unsigned extra = 0; extra < 8; extra++) {
		struct rules *r = kit_open5gs("10.45.0.2", NULL);
		struct compiled c;

		for (unsigned i = 0; i < extra; i++)
			kit_pdr_down(r, (uint16_t)(100 + i), i, 2);
		c = compile(r);
		CU_ASSERT_EQUAL(c.rs->filters_at % 4, 0);
		CU_ASSERT_PTR_EQUAL(ruleset_far(c.rs, 0), &c.rs->pdrs[4 + extra]);
		CU_ASSERT_TRUE((uint8_t *)ruleset_filter(c.rs, 1) <=
			       (uint8_t *)c.rs + ruleset_bytes(c.rs));
		compiled_fini(&c);
		rules_free(r);
	}
}

static void down_to_tunnel(struct rules *r, uint32_t n)
{
	kit_pdr_down(r, (uint16_t)(100 + n), 10, 100 + n);
	kit_tunnel_set(kit_far(r, 100 + n, APPLY_FORW, IF_ACCESS), 1000 + n, "192.0.2.1");
}

// One tunnel in the line and six places, however many FARs name them.
static void test_places(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c;

	for (uint32_t n = 0; n < 6; n++)
		down_to_tunnel(r, n);
	// Tunnel 1005 has two users and so stands in the line, also by another FAR with the same tunnel.
	kit_pdr_down(r, 200, 10, 200);
	kit_tunnel_set(kit_far(r, 200, APPLY_FORW, IF_ACCESS), 1005, "192.0.2.1");
	c = compile(r);
	CU_ASSERT_TRUE(c.has_line);
	CU_ASSERT_EQUAL(c.line.teid, 1005);
	CU_ASSERT_EQUAL(c.n_places, 6);
	CU_ASSERT_EQUAL(far_of(c.rs, 105)->to, FAR_TO_LINE);
	CU_ASSERT_EQUAL(far_of(c.rs, 200)->to, FAR_TO_LINE);
	CU_ASSERT_EQUAL(far_of(c.rs, 102)->to, FAR_TO_PLACE);
	CU_ASSERT_EQUAL(c.places[far_of(c.rs, 102)->place].teid, 1002);
	CU_ASSERT_EQUAL(c.places[far_of(c.rs, 4)->place].teid, 1);
	compiled_fini(&c);

	down_to_tunnel(r, 6);
	refused(r, PFCP_CAUSE_NO_RESOURCES, RULE_FAR, 106, RULE_IE_OUTER_HEADER_CREATION);
	rules_free(r);
}

// Up PDRs cannot use the down line: seven tunnels of theirs have no room.
static void test_places_up(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c;

	for (uint32_t n = 0; n < 6; n++) {
		kit_pdr_tunnel(r, (uint16_t)(100 + n), 10, IF_ACCESS, 1, 100 + n);
		kit_tunnel_set(kit_far(r, 100 + n, APPLY_FORW, IF_CORE), 1000 + n, "192.0.2.1");
	}
	refused(r, PFCP_CAUSE_NO_RESOURCES, -1, 0, RULE_IE_OUTER_HEADER_CREATION);
	rules_pdr_del(r, 105);
	c = compile(r);
	CU_ASSERT_EQUAL(c.n_places, 6);
	CU_ASSERT_FALSE(c.has_line);
	compiled_fini(&c);
	rules_free(r);
}

// A FAR that both directions name: from the line for down, by place for up.
static void test_far_of_both(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c;

	kit_open5gs_gnb(r, 77, "127.0.0.50");
	kit_pdr_tunnel(r, 9, 1, IF_ACCESS, 1, 1);
	c = compile(r);
	CU_ASSERT_EQUAL(c.rs->n_fars, 4);
	CU_ASSERT_EQUAL(far_of(c.rs, 1)->to, FAR_TO_LINE);
	CU_ASSERT_EQUAL(far_of(c.rs, 9)->to, FAR_TO_PLACE);
	CU_ASSERT_EQUAL(far_of(c.rs, 9)->id, 1);
	CU_ASSERT_EQUAL(c.places[far_of(c.rs, 9)->place].teid, 77);
	CU_ASSERT_EQUAL(c.line.teid, 77);
	// Access to access is relaying: any source.
	CU_ASSERT_TRUE(pdr_by_id(c.rs, 9)->flags & PDR_F_ANY_SOURCE);
	compiled_fini(&c);
	rules_free(r);
}

// Added QoS flow as in open5gs-gbr.txt: down by SDF filters alone, up by BID.
static void test_qos_flow(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct sdf down[2] = {kit_sdf("permit out 17 from 10.9.9.0/24 5000-5010 to assigned"),
			      kit_sdf("permit out 17 from 10.9.9.9 to assigned 6000")};
	struct sdf up[2] = {{.has_bid = true, .bid = 1},
			    kit_sdf("permit out 6 from 10.9.8.0/24 443 to assigned")};
	struct pdr_rule *pdr;
	struct compiled c;
	const struct filter *f;

	down[0].has_bid = true;
	down[0].bid = 1;
	pdr = kit_pdr_down(r, 5, 100, 1);
	CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(pdr, down, 2), 0);
	kit_qer_use(pdr, 2);
	pdr = kit_pdr_tunnel(r, 6, 100, IF_ACCESS, 1, 2);
	CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(pdr, up, 2), 0);
	pdr->pdi.qfis = 1ull << 2;
	kit_qer_use(pdr, 2);
	rules_qer_add(r, 2)->has_qfi = true;
	rules_qer_lookup(r, 2)->qfi = 2;

	c = compile(r);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 5)->qfi, 2);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 5)->n_filters, 2);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 6)->n_filters, 2);
	f = ruleset_filter(c.rs, pdr_by_id(c.rs, 6)->first_filter);
	CU_ASSERT_EQUAL(memcmp(f, ruleset_filter(c.rs, pdr_by_id(c.rs, 5)->first_filter), 64), 0);
	CU_ASSERT_EQUAL(f->flags, FILTER_F_PROTO | FILTER_F_PORTS);
	CU_ASSERT_EQUAL(f->remote_low, 5000);
	CU_ASSERT_EQUAL(f->remote_high, 5010);
	CU_ASSERT_EQUAL(f->local_low, 0);
	CU_ASSERT_EQUAL(f->local_high, 65535);
	CU_ASSERT_EQUAL(f->v4.remote, kit_v4("10.9.9.0").s_addr);
	CU_ASSERT_EQUAL(f->v4.remote_mask, kit_v4("255.255.255.0").s_addr);
	CU_ASSERT_EQUAL(f->v4.local_mask, 0);
	CU_ASSERT_EQUAL(c.n_ue_keys, 1);
	compiled_fini(&c);
	rules_free(r);
}

static void framed_set(struct pdr_rule *pdr, const char *text)
{
	struct prefix framed;

	CU_ASSERT_EQUAL_FATAL(prefix_parse(text, &framed), 0);
	CU_ASSERT_EQUAL_FATAL(rules_pdr_framed_set(pdr, framed.addr.family, &framed, 1), 0);
}

static bool source_is(const struct ruleset *rs, unsigned i, const char *text)
{
	const struct filter *f = ruleset_filter(rs, rs->n_filters - rs->n_sources + i);
	struct prefix prefix;

	if (i >= rs->n_sources || prefix_parse(text, &prefix) != 0 ||
	    f->family != prefix.addr.family || f->flags != 0)
		return false;
	if (f->family == ADDR_V4)
		return f->v4.local == prefix.addr.v4 &&
		       f->v4.local_mask ==
			       addr_mask(&(struct addr){.family = 4, .v4 = UINT32_MAX}, prefix.len)
				       .v4;
	return f->local_bits == prefix.len && memcmp(f->v6.local, prefix.addr.v6, 16) == 0;
}

static bool key_is(const struct compiled *c, unsigned i, const char *text, bool framed)
{
	struct prefix prefix;

	return i < c->n_ue_keys && prefix_parse(text, &prefix) == 0 &&
	       prefix_eq(&c->ue_keys[i].prefix, &prefix) && c->ue_keys[i].framed == framed;
}

// With two addresses of a family the block says what the session's line cannot.
static void test_several_addresses(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct pdr_rule *pdr = kit_pdr_down(r, 7, 10, 1);
	const struct pdr *up;
	struct compiled c;

	kit_ue_set(pdr, "10.45.0.3", "2001:db8:cafe:1::2");
	pdr->pdi.ni = 1;
	c = compile(r);
	CU_ASSERT_EQUAL(c.n_ue_keys, 3);
	CU_ASSERT_EQUAL(c.ue_keys[0].prefix.addr.v4, kit_v4("10.45.0.3").s_addr); // precedence 10
	CU_ASSERT_EQUAL(c.ue_keys[0].iface, 5);
	CU_ASSERT_EQUAL(c.ue_keys[2].prefix.addr.v4, kit_v4("10.45.0.2").s_addr);
	CU_ASSERT_EQUAL(c.ue_keys[2].iface, KIT_N6);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->n_filters, 1);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 7)->n_filters, 2);
	up = pdr_by_id(c.rs, 2);
	CU_ASSERT_EQUAL(up->n_filters, 0);
	CU_ASSERT_FALSE(up->flags & PDR_F_ANY_SOURCE);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 4)->n_filters, 1); // relays: from any address
	CU_ASSERT_TRUE(c.rs->chain_up & NEEDS_SOURCE_CHECK);
	CU_ASSERT_EQUAL(c.rs->n_sources, 3);
	CU_ASSERT_TRUE(source_is(c.rs, 0, "10.45.0.3/32"));
	CU_ASSERT_TRUE(source_is(c.rs, 1, "2001:db8:cafe:1::/64"));
	CU_ASSERT_TRUE(source_is(c.rs, 2, "10.45.0.2/32"));
	compiled_fini(&c);

	for (uint16_t i = 0; i < 6; i++) {
		char text[16];

		snprintf(text, sizeof(text), "10.45.1.%u", i);
		kit_ue_set(kit_pdr_down(r, (uint16_t)(50 + i), 5, 1), text, NULL);
	}
	refused(r, PFCP_CAUSE_NO_RESOURCES, RULE_PDR, 1, RULE_IE_UE_IP_ADDRESS);
	rules_free(r);
}

static void test_long_prefix(void)
{
	struct rules *r = kit_open5gs(NULL, "2001:db8:cafe:1::2");
	struct in6_addr none = {0};
	struct compiled c;

	r->pdrs[0].pdi.ue_ip.v6_prefix = 128;
	c = compile(r);
	CU_ASSERT_EQUAL(c.n_ue_keys, 1);
	CU_ASSERT_TRUE(key_is(&c, 0, "2001:db8:cafe:1::2/128", false));
	CU_ASSERT_EQUAL(memcmp(&c.ue_v6, &none, 16),
			0); // the line's check would take all of its /64
	CU_ASSERT_EQUAL(c.rs->n_sources, 1);
	CU_ASSERT_TRUE(source_is(c.rs, 0, "2001:db8:cafe:1::2/128"));
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->n_filters + pdr_by_id(c.rs, 2)->n_filters, 0);
	compiled_fini(&c);
	rules_free(r);
}

static void test_short_prefix(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", "2001:db8:cafe:1234::2");
	struct in6_addr first = kit_v6("2001:db8:cafe:1200::");
	struct compiled c;

	r->pdrs[0].pdi.ue_ip.v6_prefix = 56;
	c = compile(r);
	CU_ASSERT_EQUAL(c.n_ue_keys, 2);
	CU_ASSERT_TRUE(key_is(&c, 0, "10.45.0.2/32", false));
	CU_ASSERT_TRUE(key_is(&c, 1, "2001:db8:cafe:1200::/56", false));
	CU_ASSERT_EQUAL(memcmp(&c.ue_v6, &first, 16), 0);
	CU_ASSERT_EQUAL(c.rs->n_sources, 2);
	CU_ASSERT_TRUE(source_is(c.rs, 1, "2001:db8:cafe:1200::/56"));
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->n_filters + pdr_by_id(c.rs, 2)->n_filters, 0);
	compiled_fini(&c);
	rules_free(r);
}

// As Open5GS has them: in the downlink PDR with the UE's address, in the uplink one alone.
static void test_framed(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct pdr_rule *special = kit_pdr_down(r, 7, 10, 1);
	struct compiled c;

	framed_set(rules_pdr_lookup(r, 1), "192.168.77.0/24");
	framed_set(rules_pdr_lookup(r, 2), "192.168.77.0/24");
	kit_filter_set(special, "permit out ip from 8.8.8.8 to assigned");
	c = compile(r);
	CU_ASSERT_EQUAL(c.n_ue_keys, 2);
	CU_ASSERT_TRUE(key_is(&c, 0, "10.45.0.2/32", false));
	CU_ASSERT_TRUE(key_is(&c, 1, "192.168.77.0/24", true));
	CU_ASSERT_EQUAL(c.ue_v4.s_addr, kit_v4("10.45.0.2").s_addr);
	CU_ASSERT_EQUAL(c.rs->n_sources, 2);
	CU_ASSERT_TRUE(source_is(c.rs, 0, "10.45.0.2/32"));
	CU_ASSERT_TRUE(source_is(c.rs, 1, "192.168.77.0/24"));
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->n_filters + pdr_by_id(c.rs, 2)->n_filters, 0);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 7)->n_filters, 1); // for all that the session has
	CU_ASSERT_TRUE(c.rs->chain_up & NEEDS_SOURCE_CHECK);
	CU_ASSERT_FALSE(pdr_by_id(c.rs, 2)->flags & PDR_F_ANY_SOURCE);
	compiled_fini(&c);

	// A PDR for one of them says so by a filter, and one for another family takes it too.
	kit_ue_set(special, "10.45.0.2", NULL);
	framed_set(rules_pdr_lookup(r, 2), "2001:db8:77::/48");
	c = compile(r);
	CU_ASSERT_EQUAL(c.rs->n_sources, 3);
	CU_ASSERT_EQUAL(ruleset_filter(c.rs, pdr_by_id(c.rs, 7)->first_filter)->v4.local,
			kit_v4("10.45.0.2").s_addr);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 7)->families, PDR_V4);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->n_filters, 2);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 2)->families, PDR_V4 | PDR_V6);
	compiled_fini(&c);
	rules_free(r);
}

// Each PDR may have as many as a session may, together they are counted once.
static void test_framed_bound(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct prefix framed[RULES_MAX_FRAMED + 1];
	struct compiled c;

	for (unsigned i = 0; i <= RULES_MAX_FRAMED; i++) {
		char text[32];

		snprintf(text, sizeof(text), "192.168.%u.0/24", i);
		CU_ASSERT_EQUAL_FATAL(prefix_parse(text, &framed[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(
			rules_pdr_framed_set(&r->pdrs[i], ADDR_V4, framed, RULES_MAX_FRAMED), 0);
	CU_ASSERT_EQUAL(rules_pdr_framed_set(&r->pdrs[0], ADDR_V4, framed, RULES_MAX_FRAMED + 1),
			-E2BIG);
	c = compile(r);
	CU_ASSERT_EQUAL(c.rs->n_sources, 1 + RULES_MAX_FRAMED);
	CU_ASSERT_EQUAL(c.n_ue_keys, 1 + RULES_MAX_FRAMED);
	compiled_fini(&c);
	framed_set(&r->pdrs[1], "192.168.200.0/24");
	refused(r, PFCP_CAUSE_NO_RESOURCES, RULE_PDR, 1, RULE_IE_FRAMED_ROUTE);
	rules_free(r);
}

// An intermediate UPF: tunnels on both sides.
static void test_relay_session(void)
{
	struct rules *r = rules_new();
	struct pdr_rule *down;
	struct compiled c;

	kit_pdr_tunnel(r, 1, 10, IF_ACCESS, 1, 1);
	down = kit_pdr_tunnel(r, 2, 10, IF_CORE, 2, 2);
	kit_tunnel_set(kit_far(r, 1, APPLY_FORW, IF_CORE), 11, "192.0.2.1");
	kit_tunnel_set(kit_far(r, 2, APPLY_FORW, IF_ACCESS), 12, "192.0.2.2");
	c = compile(r);
	CU_ASSERT_EQUAL(c.n_ue_keys, 0);
	CU_ASSERT_EQUAL(c.ue_v4.s_addr, 0);
	CU_ASSERT_EQUAL(c.line.teid, 12);
	CU_ASSERT_EQUAL(c.places[0].teid, 11);
	CU_ASSERT_TRUE(pdr_by_id(c.rs, 1)->flags & PDR_F_ANY_SOURCE); // no address is known
	CU_ASSERT_EQUAL(c.rs->chain_up, 1ull << 63 | NEEDS_DECAP | NEEDS_ENCAP);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 2)->n_filters, 0);
	compiled_fini(&c);

	// With the UE's address in a PDR that comes by tunnel, only packets to it match.
	kit_ue_set(down, "10.45.0.2", NULL);
	c = compile(r);
	CU_ASSERT_EQUAL(c.n_ue_keys, 0);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 2)->n_filters, 1);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->flags, PDR_F_DECAP);
	CU_ASSERT_TRUE(c.rs->chain_up & NEEDS_SOURCE_CHECK);
	compiled_fini(&c);
	rules_free(r);
}

// What can match nothing must not become what matches all.
static void test_contradiction(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c;

	kit_ue_set(kit_pdr_down(r, 7, 10, 1), "10.45.0.3", NULL); // two addresses: filters say them
	kit_filter_set(rules_pdr_lookup(r, 1), "permit out ip from 2001:db8::/32 to assigned");
	kit_filter_set(rules_pdr_lookup(r, 7), "permit out ip from any to 10.45.0.9");
	c = compile(r);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->n_filters, 0);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->families, 0);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 7)->n_filters, 0);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 7)->families, 0);
	compiled_fini(&c);
	rules_free(r);
}

static void test_network_instances(void)
{
	static const struct compile_ni nis[] = {{3, UE_TO_UE_DROP}};
	const struct compile_conf none = {
		.nis = nis,
		.n_nis = 1,
		.default_ni = RULES_NI_NONE,
		.default_iface = 9,
		.chain = kit_chain,
	};
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c;

	rules_far_lookup(r, 2)->ni = 1;
	c = compile(r);
	CU_ASSERT_EQUAL(far_of(c.rs, 2)->iface, 5);
	CU_ASSERT_EQUAL(far_of(c.rs, 2)->flags, FAR_F_UP); // from UE to UE: by the routes
	compiled_fini(&c);
	rules_far_lookup(r, 2)->ni = RULES_NI_NONE;
	c = compile(r);
	CU_ASSERT_EQUAL(far_of(c.rs, 2)->iface, KIT_N6);
	CU_ASSERT_EQUAL(far_of(c.rs, 2)->flags, FAR_F_UP | FAR_F_UE_DIRECT);
	compiled_fini(&c);
	c = compile_with(r, &none);
	CU_ASSERT_EQUAL(far_of(c.rs, 2)->iface, 9);
	CU_ASSERT_EQUAL(c.ue_keys[0].iface, 3);
	compiled_fini(&c);
	rules_far_lookup(r, 2)->ni = 0;
	c = compile_with(r, &none);
	CU_ASSERT_EQUAL(far_of(c.rs, 2)->flags, FAR_F_UP | FAR_F_UE_DROP);
	compiled_fini(&c);

	rules_far_lookup(r, 2)->ni = 2; // has no N6 interface
	refused(r, PFCP_CAUSE_RULE_FAILURE, RULE_FAR, 2, RULE_IE_NETWORK_INSTANCE);
	rules_far_lookup(r, 2)->ni = 3; // is none
	refused(r, PFCP_CAUSE_RULE_FAILURE, RULE_FAR, 2, RULE_IE_NETWORK_INSTANCE);
	rules_far_lookup(r, 2)->ni = 0;
	rules_pdr_lookup(r, 1)->pdi.ni = 2;
	refused(r, PFCP_CAUSE_RULE_FAILURE, RULE_PDR, 1, RULE_IE_NETWORK_INSTANCE);
	rules_free(r);
}

// Fragments wait for each other where a filter, of either direction, asks what only a whole packet says.
static void test_gathers(void)
{
	static const struct {
		const char *filter;
		bool gathers;
	} rows[] = {
		{"permit out ip from 192.0.2.0/24 to assigned", false},
		{"permit out 17 from any to assigned", false},
		{"permit out 17 from any 53 to assigned", true},
		{"permit out 17 from any to assigned 1000-2000", true},
		{"permit out 6 from any to assigned setup", true},
		{"permit out 6 from any to assigned established", true},
		{"permit out 17 from any to assigned frag", false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned up = 0; up < 2; up++) {
			struct rules *r = kit_open5gs("10.45.0.2", NULL);
			struct compiled c;

			kit_filter_set(rules_pdr_lookup(r, up ? 2 : 1), rows[i].filter);
			c = compile(r);
			CU_ASSERT_EQUAL(c.rs->gathers, rows[i].gathers);
			compiled_fini(&c);
			rules_free(r);
		}
}

static void test_filter_limits(void)
{
	const char *ports = "permit out tcp from any 1,2,3,4,5,6,7,8 to assigned 1,2,3,4,5,6,7,8";
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct sdf two[2] = {kit_sdf(ports), kit_sdf("permit out ip from any to assigned")};
	struct compile_conf walked = kit_conf;
	struct compiled c;

	kit_filter_set(rules_pdr_lookup(r, 1), ports);
	walked.walk_max = 4096;
	c = compile_with(r, &walked);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 1)->n_filters, 64);
	CU_ASSERT_EQUAL(c.rs->n_filters, 65);
	compiled_fini(&c);

	// Down is classified, up is walked: only PDR 4's filter remains.
	CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(rules_pdr_lookup(r, 1), two, 2), 0);
	c = compile(r);
	CU_ASSERT_EQUAL(c.rs->n_filters, 1);
	CU_ASSERT_EQUAL(c.rs->n_up, 2);
	CU_ASSERT_EQUAL(c.rs->n_down, 0);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 4)->n_filters, 1);
	compiled_fini(&c);
	rules_pdr_filters_set(rules_pdr_lookup(r, 1), NULL, 0);

	// 64 ways of 64, but the session has four PDRs more, each an alternative.
	for (uint16_t i = 0; i < 64; i++)
		kit_filter_set(kit_pdr_down(r, (uint16_t)(100 + i), 10, 1), ports);
	refused(r, PFCP_CAUSE_NO_RESOURCES, RULE_PDR, 163, RULE_IE_SDF_FILTER);
	kit_filter_set(rules_pdr_lookup(r, 163), "permit out tcp from any 1-60 to assigned");
	c = compile(r);
	compiled_fini(&c);
	rules_free(r);
}

static void test_all_qfis(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c;

	rules_pdr_lookup(r, 2)->pdi.qfis = UINT64_MAX;
	c = compile(r);
	CU_ASSERT_EQUAL(pdr_by_id(c.rs, 2)->qfis, UINT64_MAX - 1);
	compiled_fini(&c);
	rules_free(r);
}

// A PDR that a flow's packets do not all match makes its direction one whose matches are not remembered.
static void test_rare(void)
{
	static const struct {
		const char *filter;
		bool rare;
	} rows[] = {
		{"permit out tcp from any 443 to assigned", false},
		{"permit out tcp from any to assigned setup", true},
		{"permit out tcp from any to assigned established", true},
		{"permit out ip from any to assigned frag", true},
	};
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c;

	c = compile(r);
	CU_ASSERT_TRUE(c.rs->flags & RULESET_F_RARE_UP); // it asks for a QFI
	CU_ASSERT_FALSE(c.rs->flags & RULESET_F_RARE_DOWN);
	compiled_fini(&c);
	rules_pdr_lookup(r, 2)->pdi.qfis = 0;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		kit_filter_set(rules_pdr_lookup(r, 1), rows[i].filter);
		c = compile(r);
		CU_ASSERT_FALSE(c.rs->flags & RULESET_F_RARE_UP);
		CU_ASSERT_EQUAL((c.rs->flags & RULESET_F_RARE_DOWN) != 0, rows[i].rare);
		compiled_fini(&c);
	}
	rules_free(r);
}

// What the configuration gives the flows of a network instance comes to both chains, whatever the rules need.
static void test_flow_services(void)
{
	static const struct compile_ni nis[] = {
		{KIT_N6, 0, 0}, {5, 0, 1ull << 20}, {COMPILE_IFACE_NONE, 0, 1ull << 21}};
	struct compile_conf conf = kit_conf;
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct compiled c, none = compile(r);

	conf.nis = nis;
	c = compile_with(r, &conf);
	CU_ASSERT_EQUAL(c.rs->chain_up, none.rs->chain_up);
	CU_ASSERT_EQUAL(c.rs->profile, 0);
	compiled_fini(&c);
	conf.default_ni = 1;
	rules_pdr_lookup(r, 1)->pdi.ni = RULES_NI_NONE;
	c = compile_with(r, &conf);
	CU_ASSERT_EQUAL(c.rs->chain_up, none.rs->chain_up | 1ull << 20);
	CU_ASSERT_EQUAL(c.rs->chain_down, none.rs->chain_down | 1ull << 20);
	CU_ASSERT_EQUAL(c.rs->profile, 1);
	compiled_fini(&c);

	// Without a downlink PDR the uplink's destination says so.
	rules_pdr_del(r, 1);
	rules_far_lookup(r, 2)->ni = 1;
	c = compile_with(r, &conf);
	CU_ASSERT_EQUAL(c.rs->profile, 1);
	compiled_fini(&c);
	// What goes from tunnel to tunnel is none's.
	kit_tunnel_set(rules_far_lookup(r, 2), 7, "127.0.0.9");
	rules_far_lookup(r, 2)->destination = IF_CORE;
	c = compile_with(r, &conf);
	CU_ASSERT_EQUAL(c.rs->chain_up & 1ull << 20, 0);
	CU_ASSERT_EQUAL(c.rs->profile, 0);
	compiled_fini(&c);
	compiled_fini(&none);
	rules_free(r);
}

static CU_TestInfo tests[] = {
	{"an Open5GS session", test_open5gs},
	{"its UE addresses", test_addresses},
	{"a session without a gNB", test_buffering},
	{"what the chains need", test_needs},
	{"like sessions give like blocks", test_sharing},
	{"equal precedence goes by id", test_order_by_id},
	{"parts of the block are aligned", test_alignment},
	{"tunnels: line and places", test_places},
	{"tunnels of up PDRs", test_places_up},
	{"a FAR of both directions", test_far_of_both},
	{"a QoS flow with filters by BID", test_qos_flow},
	{"several UE addresses", test_several_addresses},
	{"a UE prefix longer than 64", test_long_prefix},
	{"an IPv6 prefix shorter than /64", test_short_prefix},
	{"framed routes", test_framed},
	{"as many framed routes as may be", test_framed_bound},
	{"a session between tunnels", test_relay_session},
	{"filters that exclude each other", test_contradiction},
	{"network instances", test_network_instances},
	{"fragments that wait", test_gathers},
	{"limits of filters", test_filter_limits},
	{"all QFIs are not any", test_all_qfis},
	{"matches that a flow cannot remember", test_rare},
	{"services for flows", test_flow_services},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("rules_compile")
