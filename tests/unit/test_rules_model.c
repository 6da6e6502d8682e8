// The model of a session's rules: additions, removals, lookups, and copies that share nothing with
// what they were made of.

#include "unit.h"

#include "rules/pack.h"
#include "rules_kit.h"

// Any kind of rule: ids, counted down from the highest, are kept through growth and removal, in the order
// given.
#define KIND_TEST(kind, id_type)                                                                   \
	static id_type kind##_id(unsigned i)                                                       \
	{                                                                                          \
		return (id_type)(UINT32_MAX - i);                                                  \
	}                                                                                          \
                                                                                                   \
	static void kind##s_fill(struct rules *r)                                                  \
	{                                                                                          \
		for (unsigned i = 0; i < 100; i++) {                                               \
			struct kind##_rule *rule = rules_##kind##_add(r, kind##_id(i));            \
			struct kind##_rule zero;                                                   \
                                                                                                   \
			memset(&zero, 0, sizeof(zero));                                            \
			zero.id = kind##_id(i);                                                    \
			CU_ASSERT_PTR_NOT_NULL_FATAL(rule);                                        \
			CU_ASSERT_EQUAL(memcmp(rule, &zero, sizeof(zero)), 0);                     \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void test_##kind(void)                                                              \
	{                                                                                          \
		struct rules *r = rules_new();                                                     \
                                                                                                   \
		CU_ASSERT_PTR_NULL(rules_##kind##_lookup(r, kind##_id(0)));                        \
		kind##s_fill(r);                                                                   \
		CU_ASSERT_EQUAL(rules_##kind##_del(r, kind##_id(100)), -ENOENT);                   \
		for (unsigned i = 0; i < 100; i += 2)                                              \
			CU_ASSERT_EQUAL(rules_##kind##_del(r, kind##_id(i)), 0);                   \
		CU_ASSERT_EQUAL(rules_##kind##_del(r, kind##_id(0)), -ENOENT);                     \
		CU_ASSERT_EQUAL(r->n_##kind##s, 50);                                               \
		for (unsigned i = 0; i < 100; i++) {                                               \
			struct kind##_rule *rule = rules_##kind##_lookup(r, kind##_id(i));         \
                                                                                                   \
			CU_ASSERT_PTR_EQUAL(rule, i % 2 ? &r->kind##s[i / 2] : NULL);              \
		}                                                                                  \
		rules_free(r);                                                                     \
	}

KIND_TEST(pdr, uint16_t)
KIND_TEST(far, uint32_t)
KIND_TEST(qer, uint32_t)
KIND_TEST(urr, uint32_t)
KIND_TEST(bar, uint8_t)

static void test_tunnels(void)
{
	struct rules *r = rules_new();

	for (unsigned i = 0; i < RULES_MAX_TUNNELS; i++) {
		struct tunnel_rule *tunnel = rules_tunnel_add(r);

		CU_ASSERT_PTR_NOT_NULL_FATAL(tunnel);
		tunnel->number = (uint8_t)(i + 1);
	}
	CU_ASSERT_PTR_NULL(rules_tunnel_add(r));
	CU_ASSERT_EQUAL(r->tunnels[15].number, 16);
	rules_free(r);
}

static void test_filters(void)
{
	struct rules *r = rules_new();
	struct pdr_rule *pdr = rules_pdr_add(r, 1);
	struct sdf many[RULES_MAX_FILTERS + 1] = {0};

	kit_filter_set(pdr, "permit out ip from 10.0.0.0/8 to assigned");
	CU_ASSERT_EQUAL(pdr->pdi.n_filters, 1);
	CU_ASSERT_EQUAL(rules_pdr_filters_set(pdr, many, RULES_MAX_FILTERS + 1), -E2BIG);
	CU_ASSERT_EQUAL(pdr->pdi.n_filters, 1);
	CU_ASSERT_EQUAL(pdr->pdi.filters[0].from.prefix.len, 8);
	CU_ASSERT_EQUAL(rules_pdr_filters_set(pdr, many, RULES_MAX_FILTERS), 0);
	CU_ASSERT_EQUAL(pdr->pdi.n_filters, RULES_MAX_FILTERS);
	CU_ASSERT_EQUAL(rules_pdr_filters_set(pdr, NULL, 0), 0);
	CU_ASSERT_PTR_NULL(pdr->pdi.filters);
	rules_free(r);
	rules_free(NULL);
}

static void test_resolve(void)
{
	struct rules *r = rules_new();
	struct pdr_rule *pdr = rules_pdr_add(r, 1);
	struct sdf defined = kit_sdf("permit out ip from 10.0.0.0/8 to assigned");
	struct sdf reference = {.has_bid = true, .bid = 4}, other = {.has_bid = true, .bid = 5};

	defined.has_bid = true;
	defined.bid = 4;
	CU_ASSERT_EQUAL(rules_pdr_filters_set(pdr, &reference, 1), 0);
	CU_ASSERT_PTR_NULL(rules_filter_resolve(r, &reference)); // a reference defines nothing
	pdr = rules_pdr_add(r, 2);
	CU_ASSERT_EQUAL(rules_pdr_filters_set(pdr, &defined, 1), 0);
	CU_ASSERT_PTR_EQUAL(rules_filter_resolve(r, &reference), &pdr->pdi.filters[0]);
	CU_ASSERT_PTR_EQUAL(rules_filter_resolve(r, &defined), &defined);
	CU_ASSERT_PTR_NULL(rules_filter_resolve(r, &other));
	rules_free(r);
}

// A copy has equal contents and nothing in common.
static void test_clone(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2");
	struct rules *copy;

	rules_tunnel_add(r)->teid = 77;
	copy = rules_clone(r);
	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	CU_ASSERT_EQUAL(copy->n_pdrs, 4);
	CU_ASSERT_EQUAL(copy->n_fars, 3);
	CU_ASSERT_EQUAL(copy->n_qers + copy->n_urrs + copy->n_bars + copy->n_tunnels, 4);
	CU_ASSERT_EQUAL(memcmp(r->fars, copy->fars, 3 * sizeof(*r->fars)), 0);
	CU_ASSERT_EQUAL(memcmp(r->urrs, copy->urrs, sizeof(*r->urrs)), 0);
	CU_ASSERT_EQUAL(memcmp(&r->pdrs[3].pdi.filters[0], &copy->pdrs[3].pdi.filters[0],
			       sizeof(struct sdf)),
			0);

	copy->pdrs[3].pdi.filters[0].proto = 99;
	kit_open5gs_gnb(copy, 9, "127.0.0.50");
	copy->qers[0].qfi = 9;
	copy->urrs[0].triggers = 0;
	copy->bars[0].ddn_delay_50ms = 9;
	copy->tunnels[0].teid = 78;
	CU_ASSERT_EQUAL(rules_pdr_del(copy, 1), 0);
	kit_filter_set(rules_pdr_lookup(copy, 2), "permit out ip from any to assigned");
	CU_ASSERT_EQUAL(r->n_pdrs, 4);
	CU_ASSERT_EQUAL(r->pdrs[3].pdi.filters[0].proto, 58);
	CU_ASSERT_EQUAL(r->fars[0].action, APPLY_BUFF | APPLY_NOCP);
	CU_ASSERT_EQUAL(r->qers[0].qfi, 1);
	CU_ASSERT_EQUAL(r->urrs[0].triggers, 2);
	CU_ASSERT_EQUAL(r->bars[0].ddn_delay_50ms, 0);
	CU_ASSERT_EQUAL(r->tunnels[0].teid, 77);
	CU_ASSERT_EQUAL(rules_pdr_lookup(r, 2)->pdi.n_filters, 0);

	// The original may go first.
	rules_free(r);
	CU_ASSERT_EQUAL(rules_pdr_lookup(copy, 4)->pdi.filters[0].proto, 99);
	rules_free(copy);

	r = rules_new();
	copy = rules_clone(r);
	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	CU_ASSERT_PTR_NULL(copy->pdrs);
	rules_free(r);
	rules_free(copy);
}

static struct packer packed_once(const struct rules *rules, const struct rules *like)
{
	struct packer p = {0};

	rules_pack(&p, rules, like);
	CU_ASSERT_FALSE_FATAL(p.failed);
	return p;
}

// They come back equal: packed by themselves, they are the same octets.
static void pack_check(const struct rules *rules, const struct rules *like)
{
	struct packer p = packed_once(rules, like), plain = packed_once(rules, NULL), again;
	struct unpacker u = {p.bytes};
	struct rules *back = rules_unpack(&u, like);

	CU_ASSERT_PTR_NOT_NULL_FATAL(back);
	CU_ASSERT_PTR_EQUAL(u.at, p.bytes + p.n);
	again = packed_once(back, NULL);
	CU_ASSERT(again.n == plain.n && memcmp(again.bytes, plain.bytes, plain.n) == 0);
	packer_fini(&p);
	packer_fini(&plain);
	packer_fini(&again);
	rules_free(back);
}

static struct rules *rules_of_every_kind(void)
{
	struct rules *r = kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2");
	struct prefix prefixes[2];
	struct tunnel_rule *tunnel;

	CU_ASSERT_EQUAL(prefix_parse("10.1.0.0/16", &prefixes[0]), 0);
	CU_ASSERT_EQUAL(prefix_parse("10.2.0.0/16", &prefixes[1]), 0);
	CU_ASSERT_EQUAL(rules_pdr_framed_set(&r->pdrs[0], ADDR_V4, prefixes, 2), 0);
	CU_ASSERT_EQUAL(rules_pdr_more_set(&r->pdrs[1], prefixes, 1), 0);
	rules_far_copy_add(&r->fars[1])->teid = 4711;
	rules_endpoint_add(r, 3)->pdi.source = IF_CORE;
	rules_tunnel_add(r)->teid = 77;
	tunnel = rules_tunnel_add(r);
	tunnel->number = r->pdrs[0].tunnel = r->pdrs[1].tunnel = 2;
	tunnel->teid = r->pdrs[1].pdi.fteid.teid = 0x12345678;
	rules_picked_add(r)->prefix = prefixes[1];
	r->inactivity_s = 60;
	return r;
}

// Whatever they are packed against, which may have fewer rules, or more.
static void test_pack(void)
{
	struct rules *sets[] = {
		rules_new(),
		kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2"),
		kit_open5gs("10.45.0.3", "2001:db8:cafe:2::2"),
		rules_of_every_kind(),
	};
	struct packer p;

	for (unsigned i = 0; i < 4; i++) {
		pack_check(sets[i], NULL);
		for (unsigned k = 0; k < 4; k++)
			pack_check(sets[i], sets[k]);
	}
	p = packed_once(sets[2], sets[1]);
	CU_ASSERT(p.n < 60); // two UEs differ in little
	packer_fini(&p);
	for (unsigned i = 0; i < 4; i++)
		rules_free(sets[i]);
}

// Sessions that are alike have one pattern; when others come in its place, they get theirs. It goes with the last user.
static void test_patterns(void)
{
	struct rules *a = kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2");
	struct rules *b = kit_open5gs("10.45.0.3", "2001:db8:cafe:1::2");
	struct rules_patterns patterns = {0};
	struct rules_pattern *first, *other = NULL;
	struct packer p = {0};
	unsigned n = 0;

	first = rules_pattern_pack(&patterns, &p, a);
	CU_ASSERT_PTR_EQUAL_FATAL(rules_pattern_pack(&patterns, &p, b), first);
	CU_ASSERT_EQUAL(first->users, 3);
	for (unsigned i = 0; i < b->n_pdrs; i++) // quite another session of as many rules
		memset(&b->pdrs[i].precedence, 0x5a + (int)i, sizeof(b->pdrs[i].precedence) + 40);
	for (unsigned i = 0; i < b->n_fars; i++)
		inet_pton(AF_INET6, "2001:db8:1234:5678:9abc:def0:1122:3344", &b->fars[i].v6);
	for (unsigned i = 0; i < b->n_qers; i++)
		memset(&b->qers[i].mbr_up_bps, 0x77, 32);
	while (!other && n++ < 1000)
		other = rules_pattern_pack(&patterns, &p, b);
	CU_ASSERT_FATAL(n > 1 && other != NULL && other != first);
	CU_ASSERT(first->users == 2 && other->users == 2);
	rules_pattern_give(first);
	rules_pattern_give(first);
	rules_patterns_fini(&patterns);
	rules_pattern_give(other);
	packer_fini(&p);
	rules_free(a);
	rules_free(b);
}

static CU_TestInfo tests[] = {
	{"PDRs", test_pdr},
	{"FARs", test_far},
	{"QERs", test_qer},
	{"URRs", test_urr},
	{"BARs", test_bar},
	{"tunnels are bounded", test_tunnels},
	{"a PDR's filters", test_filters},
	{"filters by BID", test_resolve},
	{"copies share nothing", test_clone},
	{"packed and unpacked", test_pack},
	{"patterns", test_patterns},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("rules_model")
