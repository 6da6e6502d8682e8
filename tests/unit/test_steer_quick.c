// The rows that the XDP program compares first (port/steer_quick.h): what they say is what the maps would, for any
// order in which addresses and prefixes come, change and go.

#include "port/steer_quick.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

#include "random.h"
#include "unit.h"

#define VLANS 2
#define HOSTS 16
#define ALL_BITS (STEER_VLAN_BITS + 128)

// The maps: addresses 10.0.0.0 to 10.0.0.15 in two VLANs, and the prefixes /28 to /32 that they are in.
struct model {
	__u32 addrs[VLANS][HOSTS]; // flags; 0: none
	bool prefixes[VLANS][5][HOSTS];
	struct steer_quick shown;
	struct steer_quick_list list;
};

static void address(__u8 mapped[16], unsigned host)
{
	const __u8 first[16] = {[10] = 0xff, [11] = 0xff, [12] = 10};

	memcpy(mapped, first, sizeof(first));
	mapped[15] = (__u8)host;
}

static struct steer_addr addr_key(unsigned vlan, unsigned host)
{
	struct steer_addr key = {.vlan = htons((uint16_t)vlan)};

	address(key.addr, host);
	return key;
}

static struct steer_prefix prefix_key(unsigned vlan, unsigned shorter, unsigned host)
{
	struct steer_prefix key = {.len = ALL_BITS - shorter, .vlan = htons((uint16_t)vlan)};

	address(key.addr, host >> shorter << shorter);
	return key;
}

static __u32 find(const struct model *m, unsigned vlan, unsigned host)
{
	__u64 words[2];
	__u8 mapped[16];

	address(mapped, host);
	memcpy(words, mapped, sizeof(words));
	return steer_quick_find(&m->shown, htons((uint16_t)vlan), words);
}

static __u32 maps_find(const struct model *m, unsigned vlan, unsigned host)
{
	bool ue = false;

	for (unsigned shorter = 0; shorter < 5; shorter++)
		ue |= m->prefixes[vlan][shorter][host >> shorter];
	return m->addrs[vlan][host] ? m->addrs[vlan][host] : ue ? STEER_UE : 0;
}

static void addr_step(struct model *m, unsigned vlan, unsigned host, __u32 flags)
{
	struct steer_addr key = addr_key(vlan, host);
	__u32 *at = &m->addrs[vlan][host];

	if (*at && flags)
		steer_quick_addr_change(&m->list, &key, flags);
	else if (*at)
		steer_quick_addr_del(&m->list, &key);
	else if (flags)
		steer_quick_addr_add(&m->list, &key, flags);
	*at = flags;
}

static void prefix_step(struct model *m, unsigned vlan, unsigned shorter, unsigned host)
{
	struct steer_prefix key = prefix_key(vlan, shorter, host);
	bool *at = &m->prefixes[vlan][shorter][host >> shorter];

	*at = !*at;
	if (*at)
		steer_quick_prefix_add(&m->list, &key);
	else
		steer_quick_prefix_del(&m->list, &key);
}

static struct model *model_new(void)
{
	static struct model m;

	memset(&m, 0, sizeof(m));
	m.list.shown = &m.shown;
	return &m;
}

// Rows that say nothing are right, too: then the maps are asked. How many of the answers came from rows.
static unsigned check(const struct model *m)
{
	unsigned found = 0;

	for (unsigned vlan = 0; vlan < VLANS; vlan++)
		for (unsigned host = 0; host < HOSTS; host++) {
			__u32 flags = find(m, vlan, host);

			found += flags != 0;
			if (flags && flags != maps_find(m, vlan, host))
				CU_FAIL_FATAL("a row says something else than the maps");
		}
	return found;
}

// Many addresses and few take turns.
static void test_model(void)
{
	static const __u32 flags[] = {STEER_OWN, STEER_SHARED, STEER_SHARED | STEER_GTPU};
	struct model *m = model_new();
	uint64_t seed = 28, found = 0, full = 0;

	for (unsigned i = 0; i < 200000; i++) {
		uint64_t random = random_step(&seed);
		unsigned vlan = random >> 8 & 1, host = random >> 16 & 15,
			 of_ten = i & 0x4000 ? 6 : 1;

		if (random & 1)
			addr_step(m, vlan, host,
				  (random >> 24) % 10 < of_ten ? flags[(random >> 40) % 3] : 0);
		else
			prefix_step(m, vlan, (unsigned)((random >> 32) % 5), host);
		found += check(m);
		full += m->list.n_more > 0;
	}
	CU_ASSERT(found > 200000);
	CU_ASSERT(full > 20000 && full < 180000);
}

static void test_ordinary(void)
{
	struct model *m = model_new();
	struct steer_prefix pool = prefix_key(0, 4, 0);
	struct steer_addr own = addr_key(0, 1), shared = addr_key(0, 2);

	steer_quick_prefix_add(&m->list, &pool);
	CU_ASSERT_EQUAL(find(m, 0, 2), STEER_UE);
	CU_ASSERT_EQUAL(find(m, 1, 2), 0);
	steer_quick_addr_add(&m->list, &own, STEER_OWN);
	steer_quick_addr_add(&m->list, &shared, STEER_SHARED);
	CU_ASSERT_EQUAL(find(m, 0, 1), STEER_OWN);
	CU_ASSERT_EQUAL(find(m, 0, 2), STEER_SHARED);
	CU_ASSERT_EQUAL(find(m, 0, 3), STEER_UE);
	CU_ASSERT_EQUAL(find(m, 0, 16), 0);
	steer_quick_addr_del(&m->list, &shared);
	CU_ASSERT_EQUAL(find(m, 0, 2), STEER_UE);
}

// While one address has no row, no prefix has: it may lie in it, and be the host's.
static void test_more_than_rows(void)
{
	struct model *m = model_new();
	struct steer_prefix pool = prefix_key(1, 4, 0);
	struct steer_addr last = addr_key(0, STEER_QUICK_ROWS);

	for (unsigned i = 0; i <= STEER_QUICK_ROWS; i++) {
		struct steer_addr key = addr_key(0, i);

		steer_quick_addr_add(&m->list, &key, STEER_SHARED);
	}
	steer_quick_prefix_add(&m->list, &pool);
	CU_ASSERT_EQUAL(find(m, 0, STEER_QUICK_ROWS), 0);
	CU_ASSERT_EQUAL(find(m, 1, 3), 0);
	steer_quick_addr_del(&m->list, &last);
	CU_ASSERT_EQUAL(find(m, 1, 3), 0); // all rows are addresses'
	last = addr_key(0, 0);
	steer_quick_addr_del(&m->list, &last);
	CU_ASSERT_EQUAL(find(m, 1, 3), STEER_UE);
	CU_ASSERT_EQUAL(find(m, 0, 3), STEER_SHARED);
}

// What is written while somebody looks is not taken.
static void test_while_written(void)
{
	struct model *m = model_new();
	struct steer_addr key = addr_key(0, 1);

	steer_quick_addr_add(&m->list, &key, STEER_OWN);
	CU_ASSERT_EQUAL(m->shown.change & 1, 0);
	m->shown.change++;
	CU_ASSERT_EQUAL(find(m, 0, 1), 0);
	m->shown.change++;
	CU_ASSERT_EQUAL(find(m, 0, 1), STEER_OWN);
}

static CU_TestInfo tests[] = {
	{"an address, a prefix, one in the other", test_ordinary},
	{"more addresses than rows", test_more_than_rows},
	{"rows being written", test_while_written},
	{"any order, against the maps", test_model},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("steer_quick")
