// Many filters (rules/classify.h): the classifier against the walk, over the same rules compiled both ways, and
// what it may take of memory and time.
//
// CLASSIFY_SEED in the environment repeats a run.

#include <time.h>

#include "unit.h"

#include "rule_sets.h"

#define WALKED UINT16_MAX // walk_max of a block that is walked
#define CLASSIFIED 1

static struct compiled compile_set(const struct rules *rules, unsigned walk_max)
{
	const struct compile_conf conf = set_conf(walk_max);
	struct pfcp_fault fault = {0};
	struct compiled c;

	if (rules_compile(rules, &conf, &c, &fault) != 0) {
		printf("\n%u PDRs: %s\n", rules->n_pdrs, fault.text);
		CU_FAIL_FATAL("refused");
	}
	return c;
}

static uint16_t id_of(const struct pdr *pdr)
{
	return pdr ? pdr->id : 0;
}

// Packets of both directions through both blocks. Returns how many found a PDR that has filters.
static unsigned compare_packets(const struct rules *rules, enum set_kind kind, unsigned n_packets)
{
	struct compiled walked = compile_set(rules, WALKED);
	struct compiled classified = compile_set(rules, CLASSIFIED);
	unsigned hits = 0;

	for (unsigned i = 0; i < n_packets; i++) {
		bool up = rules->pdrs[0].pdi.source == IF_ACCESS;
		struct set_packet k;
		uint16_t expected, got;

		if (set_draw(32) == 0)
			up = !up; // the direction without PDRs
		set_packet(rules, kind, up, &k);
		expected = id_of(ruleset_match(walked.rs, up, &k.p, k.user));
		got = id_of(ruleset_match(classified.rs, up, &k.p, k.user));
		if (got != expected) {
			printf("\n%s, %u PDRs, packet %u: PDR %u instead of %u\n", set_names[kind],
			       rules->n_pdrs, i, got, expected);
			CU_FAIL_FATAL("walk and classifier differ");
		}
		hits += expected != 0 && expected != 9999;
	}
	CU_ASSERT_TRUE(classified.rs->flags & (RULESET_F_CLASSIFY_UP | RULESET_F_CLASSIFY_DOWN));
	CU_ASSERT_FALSE(walked.rs->flags & (RULESET_F_CLASSIFY_UP | RULESET_F_CLASSIFY_DOWN));
	compiled_fini(&walked);
	compiled_fini(&classified);
	return hits;
}

// Of those with lists of ports, each of which is several alternatives, fewer go into a session.
static unsigned n_of(enum set_kind kind, unsigned n)
{
	return kind == SET_ANY && n > 1000 ? 1000 : n;
}

#define SETS 1200
#define SET_PACKETS 1000

static void test_random(void)
{
	static const unsigned at_most[] = {20, 63, 64, 65, 140, 400, 400, 4080};
	const char *given = getenv("CLASSIFY_SEED");
	unsigned hits = 0;

	set_seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	printf("CLASSIFY_SEED=%llu ", (unsigned long long)set_seed);
	for (unsigned i = 0; i < SETS; i++) {
		enum set_kind kind = i % 2 ? SET_ANY : (enum set_kind)set_draw(SET_KINDS);
		unsigned most = at_most[set_draw(i % 50 ? 7 : 8)];
		unsigned n = set_draw(4) ? 2 + set_draw(most - 1) : most;
		struct rules *rules = set_rules(kind, n_of(kind, n), set_draw(2));

		hits += compare_packets(rules, kind, SET_PACKETS);
		rules_free(rules);
	}
	CU_ASSERT_TRUE(hits > SETS * SET_PACKETS / 3);
}

// The largest session of each kind: its block is bounded, and its time is not out of all proportion.
static void test_bounds(void)
{
	for (unsigned kind = 0; kind < SET_KINDS; kind++) {
		unsigned n = n_of((enum set_kind)kind, 4080);
		struct rules *rules = set_rules((enum set_kind)kind, n, false);
		clock_t start = clock();
		struct compiled c = compile_set(rules, CLASSIFIED);
		double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;

		CU_ASSERT_TRUE(ruleset_bytes(c.rs) <= (kind == SET_FULL ? 3500u << 10 : 1u << 20));
		CU_ASSERT_TRUE(seconds < 0.5);       // 3 to 10 ms; under sanitizers and load more
		CU_ASSERT_EQUAL(c.rs->n_filters, 0); // the classifier stands for them
		compiled_fini(&c);
		rules_free(rules);
	}
}

// Like rules give like bytes, whatever was compiled in between.
static void test_sharing(void)
{
	for (unsigned kind = 0; kind < SET_KINDS; kind++) {
		struct rules *rules = set_rules((enum set_kind)kind, 300, true);
		struct rules *other = set_rules(SET_FULL, 400, false);
		struct compiled a = compile_set(rules, CLASSIFIED);
		struct compiled between = compile_set(other, CLASSIFIED);
		struct compiled b = compile_set(rules, CLASSIFIED);

		CU_ASSERT_EQUAL_FATAL(ruleset_bytes(a.rs), ruleset_bytes(b.rs));
		CU_ASSERT_EQUAL(memcmp(a.rs, b.rs, ruleset_bytes(a.rs)), 0);
		compiled_fini(&a);
		compiled_fini(&between);
		compiled_fini(&b);
		rules_free(rules);
		rules_free(other);
	}
}

static void copy_direction(struct rules *to, const struct rules *from, uint16_t id_more)
{
	for (unsigned i = 0; i < from->n_pdrs; i++) {
		const struct pdr_rule *pdr = &from->pdrs[i];
		struct pdr_rule *copy = set_pdr(to, (uint16_t)(pdr->id + id_more), pdr->precedence,
						pdr->pdi.source == IF_ACCESS);

		rules_pdr_filters_set(copy, pdr->pdi.filters, pdr->pdi.n_filters);
		copy->pdi.qfis = pdr->pdi.qfis;
		copy->tunnel = pdr->tunnel;
	}
}

// One direction large and the other small, either way, and both large: each finds its own.
static void test_directions(void)
{
	static const struct {
		unsigned n_up, n_down;
		uint8_t flags;
	} rows[] = {
		{10, 200, RULESET_F_CLASSIFY_DOWN},
		{200, 10, RULESET_F_CLASSIFY_UP},
		{200, 100, RULESET_F_CLASSIFY_UP | RULESET_F_CLASSIFY_DOWN},
		{10, 10, 0},
	};

	set_seed = 7;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rules *rules = set_rules(SET_ANY, rows[i].n_up, true);
		struct rules *down = set_rules(SET_ANY, rows[i].n_down, false);
		struct compiled walked, mixed;

		copy_direction(rules, down, 10000);
		walked = compile_set(rules, WALKED);
		mixed = compile_set(rules, 0);
		CU_ASSERT_EQUAL(mixed.rs->flags & (RULESET_F_CLASSIFY_UP | RULESET_F_CLASSIFY_DOWN),
				rows[i].flags);
		for (unsigned k = 0; k < 20000; k++) {
			bool up = set_draw(2);
			struct set_packet p;

			set_packet(rules, SET_ANY, up, &p);
			if (id_of(ruleset_match(mixed.rs, up, &p.p, p.user)) !=
			    id_of(ruleset_match(walked.rs, up, &p.p, p.user)))
				CU_FAIL_FATAL("directions are mixed up");
		}
		compiled_fini(&walked);
		compiled_fini(&mixed);
		rules_free(rules);
		rules_free(down);
	}
}

// 4,096 alternatives are the most: as filters, or as PDRs without any. One more is refused with its PDR.
static void test_limit(void)
{
	const struct compile_conf conf = set_conf(0);
	struct rules *rules = set_rules(SET_HOSTS, 4080, false);
	struct pfcp_fault fault = {0};
	struct compiled c;
	struct sdf filters[FILTERS_EACH];

	CU_ASSERT_EQUAL_FATAL(rules->n_pdrs, 256);
	for (unsigned i = 0; i < FILTERS_EACH; i++)
		set_filter(SET_HOSTS, i, &filters[i]);
	CU_ASSERT_EQUAL(rules_pdr_filters_set(&rules->pdrs[255], filters, FILTERS_EACH), 0);
	CU_ASSERT_EQUAL_FATAL(rules_compile(rules, &conf, &c, &fault), 0);
	compiled_fini(&c);

	filters[0].from.n_ports = 0;
	set_ports(&filters[0].from, 1, 2);
	set_ports(&filters[0].from, 4, 5);
	CU_ASSERT_EQUAL(rules_pdr_filters_set(&rules->pdrs[255], filters, FILTERS_EACH), 0);
	CU_ASSERT_EQUAL(rules_compile(rules, &conf, &c, &fault), -EINVAL);
	CU_ASSERT_EQUAL(fault.cause, PFCP_CAUSE_NO_RESOURCES);
	CU_ASSERT_TRUE(fault.has_rule && fault.rule_type == RULE_PDR && fault.rule_id == 9999);
	CU_ASSERT_EQUAL(fault.offending_ie, RULE_IE_SDF_FILTER);
	rules_free(rules);
}

static CU_TestInfo tests[] = {
	{"as the walk finds", test_random},
	{"the largest sessions", test_bounds},
	{"like rules give like blocks", test_sharing},
	{"directions apart", test_directions},
	{"the most alternatives", test_limit},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("rules_classify")
