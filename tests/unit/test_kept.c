// base/kept: equal addresses are one, others are not, whatever the number of them; and each goes with its last
// user.

#include "base/kept.h"

#include <stddef.h>
#include <string.h>

#include "base/slab.h"
#include "random.h"
#include "unit.h"

#define ADDRS 3000 // more than there are buckets at first
#define ROUNDS 200000

static uint64_t blocks(void)
{
	struct slab_counts counts;

	slab_counts_get(&counts);
	return counts.blocks;
}

// Of both families, some of them alike but for that.
static struct addr addr_of(unsigned i)
{
	uint8_t v6[16] = {0};
	uint32_t number = i / 2;

	memcpy(i % 4 < 2 ? v6 : v6 + 12, &number, sizeof(number));
	return i % 2 ? addr_v6(v6) : addr_v4(number);
}

static void test_random(void)
{
	static const struct addr *kept[ADDRS];
	static unsigned users[ADDRS];
	uint64_t seed = 88172645463325252ull, before = blocks();
	unsigned wrong = 0, n = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned i = (unsigned)(random_step(&seed) % ADDRS);
		struct addr addr = addr_of(i);
		const struct addr *found = kept_lookup(&addr);

		wrong += found != (users[i] ? kept[i] : NULL);
		if (users[i] && random_step(&seed) % 5 < 2) {
			kept_give(kept[i]);
			n -= --users[i] == 0;
		} else {
			const struct addr *took = kept_take(&addr);

			CU_ASSERT_FATAL(took != NULL);
			wrong += !addr_eq(took, &addr) || (users[i] && took != kept[i]);
			kept[i] = took;
			n += users[i]++ == 0;
		}
		wrong += blocks() - before != n;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(n > ADDRS / 2);
	for (unsigned i = 0; i < ADDRS; i++)
		while (users[i] > 0 && users[i]--)
			kept_give(kept[i]);
	kept_give(NULL);
	CU_ASSERT_EQUAL(blocks(), before);
}

static CU_TestInfo tests[] = {
	{"random users", test_random},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("kept addresses")
