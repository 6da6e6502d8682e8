// Usage: every packet is in exactly one report, and a mark is told by the very packet that reaches it, whether
// bytes are counted in the session's lines or in the record, and whatever happens in between.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "base/slab.h"
#include "session/policy_rules.h"
#include "session/usage.h"

#define PACKETS 200000

static struct session_line up, down;
static struct session_cold cold;
static struct session_table table = {.n_slots = 1, .up = &up, .down = &down, .cold = &cold};

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) * n >> 32);
}

// What a URR should have counted and be at.
struct model {
	uint64_t bytes[SIDES]; // since the last report
	uint64_t reported, sent;
	uint64_t threshold[USAGE_VOLUMES], quota[USAGE_VOLUMES]; // 0: none
	uint64_t used[USAGE_VOLUMES];                            // of the quota
	bool stopped;
};

static uint64_t volume(const struct model *m, unsigned which)
{
	return which == USAGE_TOTAL ? m->bytes[0] + m->bytes[1] : m->bytes[which - 1];
}

static unsigned model_count(struct model *m, unsigned side, uint32_t bytes)
{
	unsigned hits = 0;

	m->sent += bytes;
	m->bytes[side] += bytes;
	m->used[USAGE_TOTAL] += bytes;
	m->used[side + 1] += bytes;
	for (unsigned i = 0; i < USAGE_VOLUMES; i++) {
		if (m->threshold[i] && volume(m, i) >= m->threshold[i])
			hits |= USAGE_HIT_THRESHOLD;
		if (m->quota[i] && m->used[i] >= m->quota[i] && !m->stopped)
			hits |= USAGE_HIT_QUOTA;
	}
	m->stopped |= (hits & USAGE_HIT_QUOTA) != 0;
	return hits;
}

static unsigned count(unsigned side, uint32_t bytes, bool *ret_marked)
{
	struct usage_at at = usage_find(&table, 0, 0);
	bool marked = at.line[side] ? usage_count_line(at.line[side], bytes)
				    : usage_count(at.usage, side, bytes, 1);

	*ret_marked = marked;
	if (!marked)
		return 0;
	usage_settle(&at);
	return usage_hits(&at);
}

// Takes what stands in the record, as a report does.
static void take(struct model *m)
{
	struct usage_at at = usage_find(&table, 0, 0);

	for (unsigned side = 0; side < SIDES; side++) {
		CU_ASSERT_EQUAL(at.usage->bytes[side], m->bytes[side]);
		m->reported += at.usage->bytes[side];
		m->bytes[side] = 0;
	}
	usage_restart(&at);
}

static struct urr_volumes volumes_of(const uint64_t v[USAGE_VOLUMES])
{
	return (struct urr_volumes){.flags = (uint8_t)((v[0] ? 1 : 0) | (v[1] ? 2 : 0) |
						       (v[2] ? 4 : 0)),
				    .total = v[0],
				    .up = v[1],
				    .down = v[2]};
}

// The block is replaced: as it is, or with a new quota; what has been counted goes on, or is taken with the old one.
static void replace(struct rules *rules, struct model *m, bool takes)
{
	struct policy *policy, *old;

	rules->urrs[0].threshold = volumes_of(m->threshold);
	rules->urrs[0].quota = volumes_of(m->quota);
	CU_ASSERT_EQUAL_FATAL(policy_of_rules(rules, &policy), 0);
	policy_usage(policy, 0)->flags |= takes ? USAGE_F_TAKE : 0;
	old = session_policy_set(&table, 0, policy, 0, 0);
	for (unsigned side = 0; old && side < SIDES; side++) {
		CU_ASSERT_EQUAL(policy_usage(old, 0)->bytes[side], m->bytes[side]);
		m->reported += takes ? m->bytes[side] : 0;
		m->bytes[side] = takes ? 0 : m->bytes[side];
	}
	policy_free(old);
	rules_settled(rules);
}

static void draw_volumes(uint64_t v[USAGE_VOLUMES])
{
	for (unsigned i = 0; i < USAGE_VOLUMES; i++)
		v[i] = draw(3) ? 0 : 1 + draw(draw(2) ? 2000 : 500000);
}

static void run(bool in_line, uint64_t seed)
{
	struct rules *rules = rules_new();
	struct urr_rule *urr = rules_urr_add(rules, 7);
	struct model m = {.threshold = {5000}};
	unsigned n_hits = 0;

	state = seed;
	urr->method = METHOD_VOLUM;
	urr->triggers = TRIGGER_VOLTH;
	urr->measurement_info = in_line ? 0 : MEASURE_PACKETS;
	rules_places_assign(rules);
	CU_ASSERT_EQUAL(urr->place, 1);
	replace(rules, &m, false);
	for (unsigned i = 0; i < PACKETS; i++) {
		unsigned side = draw(4) == 0, expected, hits;
		uint32_t bytes = 20 + draw(1481);
		bool marked;
		struct usage_at at = usage_find(&table, 0, 0);

		CU_ASSERT_EQUAL((at.line[0] != NULL), in_line);
		expected = model_count(&m, side, bytes);
		hits = count(side, bytes, &marked);
		if (hits != expected)
			CU_FAIL_FATAL("a mark that was missed, or told too early");
		if (hits) {
			take(&m);
			n_hits++;
		}
		if (marked)
			usage_grant(&at);
		if (draw(500) == 0) {
			if (m.stopped || draw(4) == 0) {
				draw_volumes(m.quota);
				memset(m.used, 0, sizeof(m.used));
				m.stopped = false;
				rules->urrs[0].quota_given = rules->urrs[0].resumed = true;
			}
			draw_volumes(m.threshold);
			replace(rules, &m, draw(3) == 0);
			// A threshold below what is counted already is told by the next packet.
		}
	}
	CU_ASSERT(n_hits > 100);
	policy_free(session_policy_set(&table, 0, NULL, 0, 0));
	CU_ASSERT_EQUAL(m.sent, m.reported + m.bytes[0] + m.bytes[1]);
	rules_free(rules);
}

static void test_line(void)
{
	for (uint64_t seed = 1; seed < 9; seed++)
		run(true, seed);
}

static void test_record(void)
{
	for (uint64_t seed = 11; seed < 19; seed++)
		run(false, seed);
}

// Rules keep their places while others come and go, and a place that another takes begins anew.
static void test_places(void)
{
	struct rules *rules = rules_new();
	struct policy *policy;
	bool marked;

	for (uint32_t id = 1; id <= 3; id++) {
		rules_urr_add(rules, id)->method = 2;
		rules_qer_add(rules, id)->has_mbr = id != 2;
		rules_qer_lookup(rules, id)->mbr_up_bps = 8000;
	}
	rules_places_assign(rules);
	CU_ASSERT(rules_qer_lookup(rules, 1)->place == 1 &&
		  rules_qer_lookup(rules, 2)->place == 0 && rules_qer_lookup(rules, 3)->place == 2);
	CU_ASSERT(rules_meter_places(rules) == 2 && rules_usage_places(rules) == 3);
	CU_ASSERT_EQUAL_FATAL(policy_of_rules(rules, &policy), 0);
	policy_free(session_policy_set(&table, 0, policy, 0, 0));
	rules_settled(rules);
	up.tat[0] = 111;
	up.tat[1] = 222;
	CU_ASSERT_FALSE(count(SIDE_UP, 100, &marked));
	CU_ASSERT(up.cost[0] && up.cost[1] && !down.cost[0]);

	rules_urr_del(rules, 1);
	rules_qer_del(rules, 1);
	rules_urr_add(rules, 9)->method = METHOD_VOLUM;
	rules_urr_lookup(rules, 9)->measurement_info = MEASURE_PACKETS;
	rules_qer_lookup(rules, 2)->has_mbr = true;
	rules_places_assign(rules);
	CU_ASSERT(rules_qer_lookup(rules, 2)->place == 1 && rules_qer_lookup(rules, 2)->fresh);
	CU_ASSERT(rules_qer_lookup(rules, 3)->place == 2 && !rules_qer_lookup(rules, 3)->fresh);
	CU_ASSERT(rules_urr_lookup(rules, 9)->place == 1 && rules_urr_lookup(rules, 9)->fresh);
	CU_ASSERT_EQUAL_FATAL(policy_of_rules(rules, &policy), 0);
	policy = session_policy_set(&table, 0, policy, 0, 0);
	CU_ASSERT_EQUAL(policy_usage(policy, 0)->bytes[SIDE_UP], 100);
	CU_ASSERT(up.tat[0] == 0 && up.tat[1] == 222 && up.left == 0);
	policy_free(policy);
	policy = session_policy_set(&table, 0, NULL, 0, 0);
	CU_ASSERT_EQUAL(policy_usage(policy, 0)->bytes[SIDE_UP], 0);
	policy_free(policy);
	rules_free(rules);
}

// The first packet is told of, once, whatever is counted; when nobody can be told, the next one is. First and last
// packets have their times, and a report begins with another first one.
static void test_start(void)
{
	static const struct {
		uint16_t info;
		uint8_t method;
		uint32_t triggers;
		bool awaits;
	} rows[] = {
		{0, METHOD_VOLUM, TRIGGER_START, true},
		{0, METHOD_DURAT, 0, true},
		{MEASURE_START, METHOD_DURAT, 0, false},
		{MEASURE_START, METHOD_DURAT, TRIGGER_START, true},
		{MEASURE_PACKETS, METHOD_VOLUM, 0, false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rules *rules = rules_new();
		struct urr_rule *urr = rules_urr_add(rules, 1);
		struct usage_at at;
		struct policy *policy;
		bool marked;

		urr->method = rows[i].method;
		urr->triggers = rows[i].triggers;
		urr->measurement_info = (uint8_t)rows[i].info;
		rules_places_assign(rules);
		CU_ASSERT_EQUAL_FATAL(policy_of_rules(rules, &policy), 0);
		session_policy_set(&table, 0, policy, 0, 0);
		rules_settled(rules);
		at = usage_find(&table, 0, 0);
		CU_ASSERT(at.line[0] == NULL &&
			  usage_counts_of(policy_usage(policy, 0)).first_s == 0);
		CU_ASSERT_EQUAL(count(SIDE_UP, 100, &marked), rows[i].awaits ? USAGE_HIT_START : 0);
		CU_ASSERT_EQUAL(marked, rows[i].awaits);
		if (rows[i].awaits) {
			usage_hits_undo(&at, USAGE_HIT_START);
			usage_grant(&at);
			CU_ASSERT_EQUAL(count(SIDE_DOWN, 10, &marked), USAGE_HIT_START);
			usage_grant(&at);
		}
		CU_ASSERT_EQUAL(count(SIDE_UP, 100, &marked), 0);
		CU_ASSERT(usage_counts_of(policy_usage(policy, 0)).first_s == 1 &&
			  usage_counts_of(policy_usage(policy, 0)).last_s == 1);
		// A block for another reason: traffic goes on. A report is taken: it begins anew with the next.
		CU_ASSERT_EQUAL_FATAL(policy_of_rules(rules, &policy), 0);
		policy_usage(policy, 0)->flags |= USAGE_F_TAKE;
		policy_free(session_policy_set(&table, 0, policy, 0, 0));
		CU_ASSERT(usage_counts_of(policy_usage(policy, 0)).first_s == 0 &&
			  usage_counts_of(policy_usage(policy, 0)).last_s == 1);
		CU_ASSERT_EQUAL(count(SIDE_UP, 100, &marked), 0);
		CU_ASSERT_EQUAL(usage_counts_of(policy_usage(policy, 0)).packets[SIDE_UP], 1);
		policy_free(session_policy_set(&table, 0, NULL, 0, 0));
		rules_free(rules);
	}
}

// Quotas of nothing, and the largest that can be said.
static void test_extremes(void)
{
	static const struct {
		uint64_t quota;
		bool stopped;
	} rows[] = {{1, false}, {UINT64_MAX, false}, {INT64_MAX, false}, {0, true}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rules *rules = rules_new();
		struct urr_rule *urr = rules_urr_add(rules, 1);
		struct policy *policy;

		urr->method = 2;
		urr->quota = (struct urr_volumes){.flags = 7,
						  .total = rows[i].quota,
						  .up = rows[i].quota,
						  .down = rows[i].quota};
		rules_places_assign(rules);
		CU_ASSERT_EQUAL_FATAL(policy_of_rules(rules, &policy), 0);
		session_policy_set(&table, 0, policy, 0, 0);
		CU_ASSERT_EQUAL((policy_usage(policy, 0)->flags & USAGE_F_STOPPED) != 0,
				rows[i].stopped);
		policy_free(session_policy_set(&table, 0, NULL, 0, 0));
		rules_free(rules);
	}
}

static uint64_t slab_bytes(void)
{
	struct slab_counts counts;

	slab_counts_get(&counts);
	return counts.bytes;
}

// What most sessions have: as many bytes as this, and no more.
static void test_sizes(void)
{
	static const struct {
		unsigned n_qers;
		uint8_t limits;
		uint64_t bytes;
	} rows[] = {{1, 0, 96}, {2, 0, 128}, {2, 1, 128}, {2, 7, 144}, {0, 1, 64}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rules *rules = rules_new();
		struct urr_rule *urr = rules_urr_add(rules, 1);
		uint64_t before = slab_bytes();
		struct policy *policy;

		urr->method = METHOD_VOLUM;
		urr->triggers = TRIGGER_VOLTH;
		urr->threshold.flags = rows[i].limits;
		for (unsigned k = 0; k < rows[i].n_qers; k++)
			rules_qer_add(rules, k)->has_mbr = true;
		rules_places_assign(rules);
		CU_ASSERT_EQUAL_FATAL(policy_of_rules(rules, &policy), 0);
		CU_ASSERT_EQUAL(slab_bytes() - before, rows[i].bytes);
		policy_free(policy);
		CU_ASSERT_EQUAL(slab_bytes(), before);
		rules_free(rules);
	}
}

// A copy has what the lines and the block have.
static void look(const struct rules *rules, uint64_t bytes, uint64_t packets, int64_t quota)
{
	struct usage_counts counts;
	struct policy_form form;
	struct policy *copy;

	CU_ASSERT_FATAL(policy_form_of(rules, &form));
	copy = policy_new(&form);
	CU_ASSERT_EQUAL(session_policy_look(&table, 0, copy), -ENOENT); // no copy
	policy_free(copy);
	form.copy = true;
	copy = policy_new(&form);
	CU_ASSERT_EQUAL_FATAL(session_policy_look(&table, 0, copy), 0);
	counts = usage_counts_of(policy_usage(copy, 0));
	CU_ASSERT_EQUAL(counts.bytes[SIDE_UP], bytes);
	CU_ASSERT_EQUAL(counts.packets[SIDE_UP], packets);
	CU_ASSERT_EQUAL(usage_quota(policy_usage(copy, 0), USAGE_TOTAL), quota);
	CU_ASSERT_EQUAL(policy_meter_full(copy, 1, SIDE_DOWN)->tat, 222);
	CU_ASSERT_EQUAL(policy_meter(copy, 1, SIDE_DOWN)->cost, down.cost[1]);
	CU_ASSERT_EQUAL(policy_meter(copy, 1, SIDE_DOWN)->dropped, (1ull << 43) - 1);
	CU_ASSERT_EQUAL(policy_meter(copy, 1, SIDE_DOWN)->dropped_bytes, (1ull << 52) - 1);
	policy_free(copy);
}

// A URR comes to count packets too, and then no more: bytes, quota and meters go on as the block changes its form.
static void test_forms(void)
{
	struct rules *rules = rules_new();
	struct urr_rule *urr = rules_urr_add(rules, 1);
	struct policy *policy;
	bool marked;

	urr->method = METHOD_VOLUM;
	urr->quota = (struct urr_volumes){.flags = 1, .total = 1000};
	for (unsigned i = 0; i < 2; i++) {
		rules_qer_add(rules, i)->has_mbr = true;
		rules_qer_lookup(rules, i)->mbr_down_bps = 8000;
	}
	rules_places_assign(rules);
	for (unsigned step = 0; step < 3; step++) {
		struct meter *meter;

		urr->measurement_info = step == 1 ? MEASURE_PACKETS : 0;
		CU_ASSERT_EQUAL_FATAL(policy_of_rules(rules, &policy), 0);
		CU_ASSERT_EQUAL(policy->form.hot, step == 1);
		policy_free(session_policy_set(&table, 0, policy, 0, 0));
		rules_settled(rules);
		if (step == 0) {
			down.tat[1] = 222;
			meter = policy_meter(policy, 1, SIDE_DOWN);
			meter->dropped = (1ull << 43) - 1;
			meter->dropped_bytes = (1ull << 52) - 1;
		}
		CU_ASSERT_FALSE(count(SIDE_UP, 100, &marked));
		look(rules, 100 * (step + 1), step == 1, 1000 - 100 * (step + 1));
	}
	policy_free(session_policy_set(&table, 0, NULL, 0, 0));
	rules_free(rules);
}

static CU_TestInfo tests[] = {
	{"counted in the lines", test_line},
	{"counted in the record", test_record},
	{"places", test_places},
	{"the start of traffic", test_start},
	{"extremes", test_extremes},
	{"sizes", test_sizes},
	{"forms", test_forms},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("usage")
