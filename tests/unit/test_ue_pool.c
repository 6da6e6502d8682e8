// Pools of UE addresses (session/ue_pool.h) and the claims that they respect (session/claims.h): which address
// comes next, what rests, what is never given, and models with random operations. EAL for the locator's memory.

#include "session/ue_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/claims.h"
#include "session/locator.h"
#include "eal.h"

#define N6 1
#define SECOND 1000000000ull
#define REST (10 * SECOND)

static struct locator *loc;
static uint64_t now = 1000 * SECOND;

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix;

	CU_ASSERT_EQUAL_FATAL(prefix_parse(text, &prefix), 0);
	return prefix;
}

static struct ue_pools *pools_of(const char *pool, uint32_t fresh_first, uint64_t start)
{
	struct ue_pools_conf conf = {.rest_ns = REST, .fresh_first = fresh_first};
	struct ue_pools *pools = ue_pools_new(&conf);
	struct prefix prefix = prefix_of(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(pools);
	CU_ASSERT_EQUAL_FATAL(ue_pools_add(pools, 0, N6, &prefix, start), 0);
	return pools;
}

// The next address of this length as text, "" for none; the caller's until the next call.
static const char *take(struct ue_pools *pools, uint8_t len)
{
	static char text[PREFIX_STRLEN];
	struct prefix prefix;

	text[0] = '\0';
	if (ue_pools_take(pools, loc, 0, len == 32 ? ADDR_V4 : ADDR_V6, len, now, &prefix) == 0)
		prefix_str(text, &prefix);
	return text;
}

static void give(struct ue_pools *pools, const char *text)
{
	struct prefix prefix = prefix_of(text);

	ue_pools_give(pools, 0, &prefix, now);
}

static void hold(const char *text, bool on)
{
	struct prefix prefix = prefix_of(text);
	int rc = on ? locator_prefix_add(loc, N6, &prefix, false, session_ref_make(0, 1, 7))
		    : locator_prefix_del(loc, N6, &prefix);

	CU_ASSERT_EQUAL(rc, 0);
}

static struct ue_pool_view view;

static void view_copy(void *ctx, const struct ue_pool_view *pool)
{
	view = *pool;
}

// Every sequence of a table: what a pool gives, one after another.
static void sequences(void)
{
	static const struct {
		const char *pool;
		uint64_t start;
		uint8_t len;
		const char *given[6]; // until NULL: none is left
	} rows[] = {
		{"10.1.0.0/29",
		 0,
		 32,
		 {"10.1.0.1/32", "10.1.0.2/32", "10.1.0.3/32", "10.1.0.4/32", "10.1.0.5/32",
		  "10.1.0.6/32"}},
		{"10.1.0.0/30", 0, 32, {"10.1.0.1/32", "10.1.0.2/32", NULL}},
		{"10.1.0.0/30", 0x77772, 32, {"10.1.0.2/32", "10.1.0.1/32", NULL}},
		{"10.1.0.0/31", 0, 32, {"10.1.0.0/32", "10.1.0.1/32", NULL}},
		{"10.1.0.7/32", 5, 32, {"10.1.0.7/32", NULL}},
		{"2001:db8::/62",
		 0,
		 64,
		 {"2001:db8::/64", "2001:db8:0:1::/64", "2001:db8:0:2::/64", "2001:db8:0:3::/64",
		  NULL}},
		{"2001:db8::/64", 9, 64, {"2001:db8::/64", NULL}},
		{"2001:db8::/54",
		 0,
		 56,
		 {"2001:db8:0:300::/56", "2001:db8:0:200::/56", "2001:db8:0:100::/56",
		  "2001:db8::/56", NULL}},
		{"2001:db8::/56", 0, 56, {"2001:db8::/56", NULL}},
		{"2001:db8::/56", 0, 48, {NULL}},
		{"10.1.0.0/30", 0, 31, {NULL}},
		{"10.0.0.0/8",
		 0,
		 32,
		 {"10.0.0.1/32", "10.0.0.2/32", "10.0.0.3/32", "10.0.0.4/32", "10.0.0.5/32",
		  "10.0.0.6/32"}},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ue_pools *pools = pools_of(rows[i].pool, 1000, rows[i].start);

		for (unsigned k = 0; k < 6; k++) {
			const char *expected = rows[i].given[k] ? rows[i].given[k] : "";

			CU_ASSERT_STRING_EQUAL(take(pools, rows[i].len), expected);
			if (!rows[i].given[k])
				break;
		}
		ue_pools_free(pools);
	}
}

// What has been given back comes again in that order, after its time, and not before all others are gone.
static void reuse(void)
{
	struct ue_pools *pools = pools_of("10.1.0.0/29", 1000, 0);

	for (unsigned i = 0; i < 6; i++)
		take(pools, 32);
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "");
	give(pools, "10.1.0.5/32");
	now += SECOND;
	give(pools, "10.1.0.2/32");
	now += REST - SECOND - 1;
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "");
	now += 1;
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "10.1.0.5/32");
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "");
	now += SECOND;
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "10.1.0.2/32");
	ue_pools_each(pools, view_copy, NULL);
	CU_ASSERT_TRUE(view.size == 8 && view.used == 6 && view.resting == 0);
	ue_pools_free(pools);
}

// Of a large pool no more is touched than `fresh_first` and what has not rested.
static void memory(void)
{
	struct ue_pools *pools = pools_of("2001:db8::/32", 100, 0);
	char first[PREFIX_STRLEN];

	strcpy(first, take(pools, 64));
	give(pools, first);
	for (unsigned i = 0; i < 10000; i++) {
		char text[PREFIX_STRLEN];

		now += REST;
		strcpy(text, take(pools, 64));
		CU_ASSERT_EQUAL(strcmp(text, first) == 0, i % 100 == 99);
		give(pools, text);
	}
	ue_pools_each(pools, view_copy, NULL);
	CU_ASSERT_TRUE(view.size == 1ull << 32 && view.used == 0 && view.resting == 100);
	ue_pools_free(pools);
}

// What a session holds by its own claim, and what the interface's own net has.
static void never_given(void)
{
	struct ue_pools *pools = pools_of("10.1.0.0/29", 1000, 0);
	struct addr gateway = prefix_of("10.1.0.3").addr;

	CU_ASSERT_EQUAL(ue_pools_except(pools, N6, &gateway), 0);
	CU_ASSERT_EQUAL(ue_pools_except(pools, N6 + 1, &(struct addr){.family = 4}), 0);
	hold("10.1.0.1/32", true);
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "10.1.0.2/32");
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "10.1.0.4/32");
	hold("10.1.0.1/32", false);
	for (unsigned i = 0; i < 2; i++)
		take(pools, 32);
	CU_ASSERT_STRING_EQUAL(take(pools, 32), ""); // its turn came when it was held: it rests
	now += REST;
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "10.1.0.1/32");
	give(pools, "10.1.0.2/32");
	now += REST;
	hold("10.1.0.2/32", true); // restored by an SMF
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "");
	hold("10.1.0.2/32", false);
	now += REST - 1;
	ue_pools_rest(pools, N6, &(struct prefix){prefix_of("10.1.0.2").addr, 32, {0}}, now);
	now += REST - 1;
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "");
	now += 1;
	CU_ASSERT_STRING_EQUAL(take(pools, 32), "10.1.0.2/32");
	ue_pools_free(pools);

	// A /56 overlaps the /64s in it, and they it.
	pools = pools_of("2001:db8::/55", 1000, 0);
	hold("2001:db8:0:100::/64", true);
	CU_ASSERT_STRING_EQUAL(take(pools, 56), "2001:db8::/56");
	hold("2001:db8::/56", true);
	CU_ASSERT_STRING_EQUAL(take(pools, 64), "2001:db8:0:101::/64");
	hold("2001:db8:0:100::/64", false);
	hold("2001:db8::/56", false);
	ue_pools_free(pools);
}

// Random taking, giving, claiming and letting go. No address has two holders, none comes back too early, none
// is lost.
static void model(void)
{
	enum { ADDRS = 64, ROUNDS = 200000 };
	struct ue_pools *pools = pools_of("10.1.0.0/26", 20, 37);
	enum { FREE, PICKED, CLAIMED } state[ADDRS] = {FREE};
	uint64_t given_at[ADDRS] = {0};
	unsigned wrong = 0, taken = 0, full = 0;
	uint32_t base = rte_be_to_cpu_32(prefix_of("10.1.0.0").addr.v4);

	srand(3);
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned at = (unsigned)rand() % ADDRS;
		struct prefix prefix = {.addr = addr_v4(rte_cpu_to_be_32(base + at)), .len = 32};

		now += (unsigned)rand() % (SECOND / 2);
		switch (rand() % 5) {
		case 0:
		case 1:
			if (ue_pools_take(pools, loc, 0, ADDR_V4, 32, now, &prefix) < 0) {
				full++;
				break;
			}
			at = rte_be_to_cpu_32(prefix.addr.v4) - base;
			wrong += at == 0 || at >= ADDRS - 1 || state[at] != FREE ||
				 (given_at[at] && given_at[at] + REST > now);
			state[at] = PICKED;
			wrong += locator_prefix_add(loc, N6, &prefix, false,
						    session_ref_make(0, at, 1)) != 0;
			taken++;
			break;
		case 2:
			if (state[at] == FREE) {
				state[at] = CLAIMED;
				wrong += locator_prefix_add(loc, N6, &prefix, false,
							    session_ref_make(0, at, 2)) != 0;
			}
			break;
		default:
			if (state[at] == FREE)
				break;
			wrong += locator_prefix_del(loc, N6, &prefix) != 0;
			if (state[at] == PICKED) {
				ue_pools_give(pools, 0, &prefix, now);
				given_at[at] = now;
			} else {
				ue_pools_rest(pools, N6, &prefix, now);
			}
			state[at] = FREE;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(taken > ROUNDS / 20 && full > 0);
	for (unsigned at = 0; at < ADDRS; at++) {
		struct prefix prefix = {.addr = addr_v4(rte_cpu_to_be_32(base + at)), .len = 32};

		if (state[at] == FREE)
			continue;
		CU_ASSERT_EQUAL(locator_prefix_del(loc, N6, &prefix), 0);
		if (state[at] == PICKED)
			ue_pools_give(pools, 0, &prefix, now);
	}
	now += REST;
	taken = 0;
	while (*take(pools, 32))
		taken++;
	CU_ASSERT_EQUAL(taken, ADDRS - 2);
	ue_pools_free(pools);
}

// --- claims ----------------------------------------------------------------------------------------------

// Random prefixes of a small tree against a list.
static void claims_model(void)
{
	enum { MOST = 60, ROUNDS = 50000 };
	static const uint8_t lens[] = {48, 52, 56, 60, 64, 64, 64, 80, 128};
	struct {
		struct prefix prefix;
		unsigned iface;
		struct session_ref ref;
	} list[MOST];
	struct claims *claims = claims_new();
	unsigned n = 0, wrong = 0, refused = 0;

	srand(5);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct prefix p = prefix_of("2001:db8::/48");
		unsigned iface = (unsigned)rand() % 2, at = n;
		struct session_ref ref = session_ref_make(0, (unsigned)rand() % 4, 1);
		bool overlap = false, same = false, any = false;
		int rc;

		p.len = lens[(unsigned)rand() % sizeof(lens)];
		p.addr.v6[5] = (uint8_t)(rand() % 2);
		p.addr.v6[6] = (uint8_t)(rand() % 4 << 4 | rand() % 2);
		p.addr.v6[7] = (uint8_t)(rand() % 2);
		p.addr.v6[15] = (uint8_t)(rand() % 3);
		p.addr = addr_mask(&p.addr, p.len);
		for (unsigned k = 0; k < n; k++) {
			if (list[k].iface != iface || !prefix_overlaps(&list[k].prefix, &p))
				continue;
			any = true;
			overlap |= memcmp(&list[k].ref, &ref, sizeof(ref)) != 0;
			if (prefix_eq(&list[k].prefix, &p)) {
				same = true;
				at = k;
			}
		}
		wrong += claims_overlap(claims, iface, &p) != any;
		if (rand() % 2) {
			wrong += claims_del(claims, iface, &p) != (same ? 0 : -ENOENT);
			if (same)
				list[at] = list[--n];
			continue;
		}
		if (n == MOST)
			continue;
		rc = claims_add(claims, iface, &p, ref);
		wrong += rc != (overlap || same ? -EEXIST : 0);
		refused += rc != 0;
		if (rc == 0) {
			list[n].prefix = p;
			list[n].iface = iface;
			list[n++].ref = ref;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(refused > ROUNDS / 20);
	claims_free(claims);
}

// Random prefixes and framed routes, half of them in a dense pool, against a list: of UEs' own no two sessions have
// any in common.
static void prefixes_model(void)
{
	enum { MOST = 20, ROUNDS = 50000 };
	static const uint8_t lens[] = {44, 47, 49, 50, 52, 56, 60, 64, 64, 64, 64, 80, 128};
	const struct prefix dense = prefix_of("2001:db8::/49");
	struct {
		struct prefix prefix;
		bool framed;
		struct session_ref ref;
	} list[MOST];
	unsigned n = 0, wrong = 0, refused = 0;

	locator_free(
		loc); // its tables forget nothing, since nobody reads them: these have room for all
	loc = locator_new(ROUNDS, ROUNDS, NULL);
	CU_ASSERT_FATAL(loc != NULL && locator_pool_add(loc, N6, &dense) == 0);
	srand(7);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct prefix p = prefix_of("2001:db8::/48");
		struct session_ref ref = session_ref_make(0, (unsigned)rand() % 4, 1);
		bool framed = rand() % 3 == 0, overlap = false, same = false, held = false;
		unsigned at = n;
		int rc;

		p.len = lens[(unsigned)rand() % sizeof(lens)];
		p.addr.v6[5] = (uint8_t)(rand() % 2);
		p.addr.v6[6] = (uint8_t)(rand() % 16 << 4 | rand() % 2);
		p.addr.v6[7] = (uint8_t)(rand() % 2 * 255);
		p.addr.v6[15] = (uint8_t)(rand() % 3);
		p.addr = addr_mask(&p.addr, p.len);
		if (n > 0 && rand() % 2)
			p = list[(unsigned)rand() % n].prefix;
		for (unsigned k = 0; k < n; k++) {
			if (!prefix_overlaps(&list[k].prefix, &p))
				continue;
			held |= !list[k].framed;
			overlap |= !list[k].framed && !framed &&
				   memcmp(&list[k].ref, &ref, sizeof(ref)) != 0;
			if (prefix_eq(&list[k].prefix, &p)) {
				same = true;
				at = k;
			}
		}
		wrong += locator_prefix_held(loc, N6, &p) != (held || same);
		if (rand() % 2) {
			wrong += locator_prefix_del(loc, N6, &p) != (same ? 0 : -ENOENT);
			if (same)
				list[at] = list[--n];
			continue;
		}
		if (n == MOST)
			continue;
		rc = locator_prefix_add(loc, N6, &p, framed, ref);
		wrong += rc != (overlap || same ? -EEXIST : 0);
		refused += rc != 0;
		if (rc == 0) {
			list[n].prefix = p;
			list[n].framed = framed;
			list[n++].ref = ref;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(refused > ROUNDS / 50);
	locator_free(loc); // of all tests
}

static int eal(void)
{
	struct prefix dense = prefix_of("10.1.0.0/24");

	unit_eal("128");
	loc = locator_new(1024, 64, NULL);
	return loc ? locator_pool_add(loc, N6, &dense) : -1;
}

static void empty(void)
{
	struct ue_pools *pools;

	CU_ASSERT_EQUAL_FATAL(eal(), 0);
	pools = pools_of("10.1.0.0/29", 1, 0);
	CU_ASSERT_TRUE(ue_pools_have(pools, 0, ADDR_V4, 32));
	CU_ASSERT_FALSE(ue_pools_have(pools, 1, ADDR_V4, 32));
	CU_ASSERT_FALSE(ue_pools_have(pools, 0, ADDR_V6, 64));
	ue_pools_free(pools);
}

static CU_TestInfo tests[] = {
	{"no pool", empty},
	{"what comes next", sequences},
	{"what has been given back", reuse},
	{"a large pool", memory},
	{"what is never given", never_given},
	{"random operations", model},
	{"claims, random operations", claims_model},
	{"prefixes, random operations", prefixes_model},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("pools of UE addresses")
