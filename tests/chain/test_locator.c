// Locators: pools, hashes, and that one key leads to one session (session/locator.h).
//
// A chain test for EAL's memory; no packets here. What workers see of it is in test_rules.c and test_race.c.

#include <errno.h>
#include <stdlib.h>

#include "chain.h"
#include "session/locator_lookup.h"

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix;

	if (prefix_parse(text, &prefix) != 0)
		rig_die(text);
	return prefix;
}

// The rig's pools are those of RIG_N6; another interface has an address space of its own.
static void addresses(void)
{
	static const struct {
		const char *addr, *same; // the same key: an IPv6 UE has its /64
		bool dense;
	} rows[] = {
		{"10.45.0.0", NULL, true},
		{"10.45.255.255", NULL, true},
		{"10.46.0.0", NULL, false},
		{"10.44.255.255", NULL, false},
		{"0.0.0.1", NULL, false},
		{"255.255.255.254", NULL, false},
		{"2001:db8::", "2001:db8::1", true},
		{"2001:db8:f:ffff::", "2001:db8:f:ffff:1:2:3:4", true},
		{"2001:db8:10::", "2001:db8:10:0:ffff::", false},
		{"2001:db7:ffff:ffff::", NULL, false},
	};
	struct rig *rig = chain_rig(1);
	struct locator *loc = rig->locator;
	const struct locator_iface *li = &loc->iface[RIG_N6];

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct addr addr = rig_addr(rows[i].addr),
			    same = rig_addr(rows[i].same ? rows[i].same : rows[i].addr);
		struct session_ref ref = session_ref_make(3, 100 + i, 7),
				   other = session_ref_make(1, i, 8), got;
		uint64_t key = locator_dense_key(&addr);
		bool v4 = addr.family == ADDR_V4;

		CU_ASSERT_EQUAL(locator_dense(v4 ? li->v4 : li->v6, v4 ? li->n_v4 : li->n_v6,
					      key) != NULL,
				rows[i].dense);
		CU_ASSERT_EQUAL(locator_ue_get(loc, RIG_N6, &addr).check, 0);
		CU_ASSERT_EQUAL(locator_ue_del(loc, RIG_N6, &addr), -ENOENT);
		CU_ASSERT_EQUAL(locator_ue_add(loc, RIG_N6, &addr, ref), 0);
		CU_ASSERT_EQUAL(locator_ue_add(loc, RIG_N6, &same, other), -EEXIST);
		CU_ASSERT_EQUAL(locator_ue_add(loc, RIG_N3, &same, other), 0);
		got = locator_ue_get(loc, RIG_N6, &same);
		CU_ASSERT_EQUAL(memcmp(&got, &ref, sizeof(ref)), 0);
		got = locator_ue_get(loc, RIG_N3, &addr);
		CU_ASSERT_EQUAL(memcmp(&got, &other, sizeof(ref)), 0);
		CU_ASSERT_EQUAL(locator_ue_del(loc, RIG_N6, &same), 0);
		CU_ASSERT_EQUAL(locator_ue_get(loc, RIG_N6, &addr).check, 0);
		CU_ASSERT_EQUAL(locator_ue_get(loc, RIG_N3, &addr).check, 8);
		CU_ASSERT_EQUAL(locator_ue_del(loc, RIG_N3, &addr), 0);
		CU_ASSERT_EQUAL(locator_ue_del(loc, RIG_N3, &addr), -ENOENT);
	}
	CU_ASSERT_EQUAL(loc->n_ue_v4, 0);
	CU_ASSERT_EQUAL(loc->n_ue_v6, 0);
	rig_end(rig);
}

static void pools(void)
{
	struct rig *rig = chain_rig(1);
	struct locator *loc = rig->locator;
	struct prefix too_large[] = {prefix_of("10.0.0.0/7"), prefix_of("2001:db8::/39")};
	struct prefix too_long = prefix_of("2001:db8:1::/65");
	struct prefix host = prefix_of("10.9.9.9/32"), host6 = prefix_of("2001:db8:77:1::/64");

	for (unsigned i = 0; i < RTE_DIM(too_large); i++)
		CU_ASSERT_EQUAL(locator_pool_add(loc, RIG_N6, &too_large[i]), -EINVAL);
	CU_ASSERT_EQUAL(locator_pool_add(loc, RIG_N6, &too_long), -EINVAL);
	CU_ASSERT_EQUAL(locator_pool_add(loc, RIG_N6, &host6), 0);
	for (unsigned i = 1; i <= LOCATOR_POOLS; i++) // the rig has one
		CU_ASSERT_EQUAL(locator_pool_add(loc, RIG_N6, &host),
				i < LOCATOR_POOLS ? 0 : -ENOSPC);
	CU_ASSERT_EQUAL(locator_ue_add(loc, RIG_N6, &host.addr, session_ref_make(0, 1, 2)), 0);
	CU_ASSERT_EQUAL(locator_ue_get(loc, RIG_N6, &host.addr).check, 2);
	CU_ASSERT_EQUAL(locator_ue_del(loc, RIG_N6, &host.addr), 0);
	rig_end(rig);
}

// Where a packet to this address is led: the check of the reference, 0 for none.
static uint32_t led(const struct locator *loc, const struct addr *addr)
{
	const struct locator_iface *li = &loc->iface[RIG_N6];
	bool v4 = addr->family == ADDR_V4;
	const struct session_ref *word;
	struct session_ref ref = {0, 0};

	if (!v4 && li->longer_v6)
		ref = locator_longer(loc, RIG_N6, addr->v6);
	word = locator_dense(v4 ? li->v4 : li->v6, v4 ? li->n_v4 : li->n_v6,
			     locator_dense_key(addr));
	if (!ref.check)
		ref = word ? locator_word(word) : locator_ue_get(loc, RIG_N6, addr);
	if (!ref.check)
		ref = locator_shorter(loc, RIG_N6, addr->family,
				      v4 ? (const void *)&addr->v4 : addr->v6);
	return ref.check;
}

// Random framed prefixes, in and beside the pools, against a list: the longest wins. `bits` are those of the
// address that are drawn.
static void longest_prefix(bool v4)
{
	enum { MOST = 40, ROUNDS = 20000 };
	static const uint8_t lens4[] = {8, 12, 15, 16, 17, 24, 30, 31, 32},
			     lens6[] = {32, 44, 47, 48, 56, 63, 64, 65, 96, 127, 128};
	struct rig *rig = chain_rig(1);
	struct locator *loc = rig->locator;
	struct prefix list[MOST];
	unsigned n = 0, wrong = 0, hits = 0;

	srand(11);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct prefix p = prefix_of(v4 ? "10.45.0.0/32" : "2001:db8::/128");
		uint32_t longest = 0, at = MOST;

		for (unsigned k = v4 ? 0 : 5; k < (v4 ? 4 : 16); k++)
			if (rand() % 3 == 0)
				((uint8_t *)(v4 ? (void *)&p.addr.v4 : p.addr.v6))[k] ^=
					(uint8_t)(1 << rand() % 2 * 7);
		for (unsigned k = 0; k < n; k++)
			if (prefix_contains(&list[k], &p.addr) && list[k].len > longest)
				longest = list[k].len;
		wrong += led(loc, &p.addr) != longest;
		hits += longest != 0;
		p.len = v4 ? lens4[(unsigned)rand() % sizeof(lens4)]
			   : lens6[(unsigned)rand() % sizeof(lens6)];
		p.addr = addr_mask(&p.addr, p.len);
		for (unsigned k = 0; k < n; k++)
			if (prefix_eq(&list[k], &p))
				at = k;
		wrong += locator_prefix_held(loc, RIG_N6, &p) != (at < MOST);
		if (at < MOST && rand() % 2) {
			wrong += locator_prefix_del(loc, RIG_N6, &p) != 0;
			list[at] = list[--n];
		} else if (at < MOST || n < MOST) {
			int rc = locator_prefix_add(loc, RIG_N6, &p, true,
						    session_ref_make(0, 1, p.len));

			wrong += rc != (at < MOST ? -EEXIST : 0);
			if (rc == 0)
				list[n++] = p;
		}
		if (i % 64 == 0)
			rig_turn(rig); // workers pass a quiescent point
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(hits > ROUNDS / 10);
	while (n > 0)
		CU_ASSERT_EQUAL(locator_prefix_del(loc, RIG_N6, &list[--n]), 0);
	CU_ASSERT_EQUAL(loc->n_routes, 0);
	CU_ASSERT_EQUAL(loc->iface[RIG_N6].shorter_v4 | loc->iface[RIG_N6].shorter_v6 |
				loc->iface[RIG_N6].longer_v6,
			0);
	rig_end(rig);
}

static void longest_prefix_v4(void)
{
	longest_prefix(true);
}

static void longest_prefix_v6(void)
{
	longest_prefix(false);
}

// The same TEID at two local addresses is two tunnels.
static void teids(void)
{
	struct rig *rig = chain_rig(1);
	struct locator *loc = rig->locator;
	struct addr a = rig_addr("10.10.3.1"), b = rig_addr("10.10.4.1");
	struct locator_teid_key key = locator_teid_key(0x1234, 4, (const uint8_t *)&a.v4);

	CU_ASSERT_EQUAL(locator_teid_add(loc, 0x1234, &a, session_ref_make(1, 2, 0x1234)), 0);
	CU_ASSERT_EQUAL(locator_teid_add(loc, 0x1234, &a, session_ref_make(1, 3, 0x1234)), -EEXIST);
	CU_ASSERT_EQUAL(locator_teid_add(loc, 0x1234, &b, session_ref_make(1, 4, 0x1234)), 0);
	CU_ASSERT_EQUAL(session_ref_index(locator_hashed(loc->teids, &key)), 2);
	CU_ASSERT_EQUAL(locator_teid_del(loc, 0x1234, &a), 0);
	CU_ASSERT_EQUAL(locator_teid_del(loc, 0x1234, &a), -ENOENT);
	CU_ASSERT_EQUAL(locator_hashed(loc->teids, &key).check, 0);
	key = locator_teid_key(0x1234, 4, (const uint8_t *)&b.v4);
	CU_ASSERT_EQUAL(session_ref_index(locator_hashed(loc->teids, &key)), 4);
	CU_ASSERT_EQUAL(locator_teid_del(loc, 0x1234, &b), 0);
	CU_ASSERT_EQUAL(loc->n_teids, 0);
	rig_end(rig);
}

// Keys come and go for as long as the process runs.
static void no_key_is_lost(void)
{
	enum { ROUNDS = 20000 };
	struct rig *rig = chain_rig(1);
	struct rte_rcu_qsbr *qsbr = rig->qsbr;
	unsigned refused = 0;

	CU_ASSERT_PTR_NOT_NULL(qsbr);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct addr v4 = addr_v4(rte_cpu_to_be_32(0xc0000000u + i));

		refused += locator_ue_add(rig->locator, RIG_N6, &v4, session_ref_make(0, 1, 2)) !=
			   0;
		refused += locator_teid_add(rig->locator, i + 1, &v4, session_ref_make(0, 1, 2)) !=
			   0;
		refused += locator_ue_del(rig->locator, RIG_N6, &v4) != 0;
		refused += locator_teid_del(rig->locator, i + 1, &v4) != 0;
		if (i % 64 == 0)
			rig_turn(rig); // workers pass a quiescent point
	}
	CU_ASSERT_EQUAL(refused, 0);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"UE addresses", addresses},
	{"pools", pools},
	{"TEIDs", teids},
	{"the longest IPv4 prefix", longest_prefix_v4},
	{"the longest IPv6 prefix", longest_prefix_v6},
	{"no key is lost", no_key_is_lost},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("locator")
