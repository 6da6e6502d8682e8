// The book of slots: who gets which, versions, TEIDs, tunnel records, and TEIDs that SMFs chose
// (session/slots.h). One thread, no EAL.

#include "session/slots.h"

#include <errno.h>

#include "unit.h"

static const uint32_t key[TEID_KEY_WORDS] = {0x12345678, 0x9abcdef1, 0x31415927, 0x27182819,
					     0x16180341};

static struct slots *slots_of(unsigned n_workers, uint32_t n_slots, uint32_t n_tunnels,
			      struct teid_scheme *ret)
{
	struct slots *slots;

	CU_ASSERT_EQUAL_FATAL(teid_scheme_init(ret, n_workers, n_slots + n_tunnels, key), 0);
	slots = slots_new(n_workers, n_slots, n_tunnels, ret);
	CU_ASSERT_PTR_NOT_NULL_FATAL(slots);
	return slots;
}

// Sessions go to the worker that has the fewest, until all are full.
static void least_loaded(void)
{
	enum { WORKERS = 3, SLOTS = 5 };
	struct slot taken[WORKERS * SLOTS], one;
	struct teid_scheme scheme;
	struct slots *slots = slots_of(WORKERS, SLOTS, 1, &scheme);

	for (unsigned i = 0; i < WORKERS * SLOTS; i++) {
		CU_ASSERT_EQUAL_FATAL(slots_take(slots, &taken[i]), 0);
		CU_ASSERT_EQUAL(taken[i].owner, i % WORKERS);
		CU_ASSERT_TRUE(taken[i].index < SLOTS && taken[i].version != 0);
		for (unsigned k = 0; k < i; k++)
			CU_ASSERT_FALSE(taken[k].owner == taken[i].owner &&
					taken[k].index == taken[i].index);
	}
	CU_ASSERT_EQUAL(slots_take(slots, &one), -ENOSPC);
	slots_give(slots, &taken[7]);
	CU_ASSERT_EQUAL(slots_used(slots, taken[7].owner), SLOTS - 1);
	CU_ASSERT_EQUAL(slots_take(slots, &one), 0);
	CU_ASSERT_EQUAL(one.owner, taken[7].owner);
	CU_ASSERT_EQUAL(one.index, taken[7].index);
	CU_ASSERT_EQUAL(one.version, taken[7].version + 1);
	CU_ASSERT_NOT_EQUAL(slots_teid(slots, &one), slots_teid(slots, &taken[7]));
	slots_free(slots);
}

// A slot rests as long as others are free.
static void reused_late(void)
{
	enum { SLOTS = 8 };
	struct teid_scheme scheme;
	struct slots *slots = slots_of(1, SLOTS, 1, &scheme);
	struct slot first, slot;

	CU_ASSERT_EQUAL(slots_take(slots, &first), 0);
	slots_give(slots, &first);
	for (unsigned i = 0; i < SLOTS - 1; i++) {
		CU_ASSERT_EQUAL(slots_take(slots, &slot), 0);
		CU_ASSERT_NOT_EQUAL(slot.index, first.index);
		slots_give(slots, &slot);
	}
	CU_ASSERT_EQUAL(slots_take(slots, &slot), 0);
	CU_ASSERT_EQUAL(slot.index, first.index);
	slots_free(slots);
}

// A TEID opens to the place that it was made for, and is in use as long as that is taken.
static void teids(void)
{
	enum { WORKERS = 4, SLOTS = 3, TUNNELS = 2 };
	struct teid_scheme scheme;
	struct slots *slots = slots_of(WORKERS, SLOTS, TUNNELS, &scheme);
	struct slot slot;
	uint32_t record, teid;

	for (unsigned i = 0; i < WORKERS * SLOTS; i++) {
		struct teid_parts at;

		CU_ASSERT_EQUAL_FATAL(slots_take(slots, &slot), 0);
		teid = slots_teid(slots, &slot);
		at = teid_open(&scheme, teid);
		CU_ASSERT_TRUE(at.owner == slot.owner && at.index == slot.index && teid != 0);
		CU_ASSERT_TRUE(slots_teid_in_use(slots, teid));
	}
	slots_give(slots, &slot);
	CU_ASSERT_FALSE(slots_teid_in_use(slots, slots_teid(slots, &slot)));
	for (unsigned owner = 0; owner < WORKERS; owner++)
		for (unsigned i = 0; i <= TUNNELS; i++) {
			int rc = slots_tunnel_take(slots, owner, &record, &teid);

			CU_ASSERT_EQUAL(rc, i < TUNNELS ? 0 : -ENOSPC);
			if (rc != 0)
				continue;
			CU_ASSERT_EQUAL(teid_open(&scheme, teid).owner, owner);
			CU_ASSERT_EQUAL(teid_open(&scheme, teid).index, SLOTS + record);
			CU_ASSERT_EQUAL(slots_tunnel_index(slots, record), SLOTS + record);
			CU_ASSERT_TRUE(slots_teid_in_use(slots, teid));
		}
	slots_tunnel_give(slots, WORKERS - 1, record);
	CU_ASSERT_FALSE(slots_teid_in_use(slots, teid));
	CU_ASSERT_FALSE(slots_teid_in_use(slots, 0));
	slots_free(slots);
}

// None of ours becomes equal to a TEID that an SMF chose.
static void given(void)
{
	enum { GIVEN = 3000 };
	struct teid_scheme scheme;
	struct slots *slots = slots_of(1, 1, 1, &scheme);
	uint32_t next = teid_make(&scheme, 0, 0, 1), record, teid;
	struct slot slot;

	// Also the one that the slot would have got first, and the record.
	CU_ASSERT_EQUAL(slots_teid_reserve(slots, next, true), 0);
	CU_ASSERT_EQUAL(slots_teid_reserve(slots, teid_make(&scheme, 0, 1, 1), true), 0);
	for (uint32_t i = 0; i < GIVEN; i++)
		CU_ASSERT_EQUAL(slots_teid_reserve(slots, 1000 + 7 * i, true), 0);
	CU_ASSERT_EQUAL(slots_take(slots, &slot), 0);
	CU_ASSERT_NOT_EQUAL(slots_teid(slots, &slot), next);
	CU_ASSERT_EQUAL(slot.version, 2);
	CU_ASSERT_EQUAL(slots_tunnel_take(slots, 0, &record, &teid), 0);
	CU_ASSERT_EQUAL(teid, teid_make(&scheme, 0, 1, 2));
	for (uint32_t i = 0; i < GIVEN; i++)
		CU_ASSERT_TRUE(slots_teid_in_use(slots, 1000 + 7 * i));
	for (uint32_t i = 0; i < GIVEN; i += 2)
		CU_ASSERT_EQUAL(slots_teid_reserve(slots, 1000 + 7 * i, false), 0);
	for (uint32_t i = 0; i < GIVEN; i++)
		CU_ASSERT_EQUAL(slots_teid_in_use(slots, 1000 + 7 * i), i & 1);
	CU_ASSERT_EQUAL(slots_teid_reserve(slots, 5, false), 0); // was not reserved
	CU_ASSERT_FALSE(slots_teid_in_use(slots, 0));
	slots_free(slots);
}

// Chosen at two addresses, it stays reserved until both have gone.
static void given_twice(void)
{
	struct teid_scheme scheme;
	struct slots *slots = slots_of(1, 4, 4, &scheme);

	for (unsigned i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(slots_teid_reserve(slots, 77, true), 0);
	CU_ASSERT_FALSE(slots_teid_is_ours(slots, 77));
	CU_ASSERT_EQUAL(slots_teid_reserve(slots, 77, false), 0);
	CU_ASSERT_TRUE(slots_teid_in_use(slots, 77));
	CU_ASSERT_EQUAL(slots_teid_reserve(slots, 77, false), 0);
	CU_ASSERT_FALSE(slots_teid_in_use(slots, 77));
	slots_free(slots);
}

// An SMF that chooses every TEID which a place could have takes that place, and no more.
static void all_given(void)
{
	enum { SLOTS = 1 << 29, GENERATIONS = 8 }; // the rest of 32 bits
	struct teid_scheme scheme;
	struct slots *slots;
	struct slot slot;
	uint32_t record, teid;

	CU_ASSERT_EQUAL_FATAL(teid_scheme_init(&scheme, 1, SLOTS, key), 0);
	CU_ASSERT_EQUAL_FATAL(1 << scheme.generation_bits, GENERATIONS);
	slots = slots_new(1, 2, 2, &scheme);
	CU_ASSERT_PTR_NOT_NULL_FATAL(slots);
	for (uint32_t g = 0; g < GENERATIONS; g++) {
		CU_ASSERT_EQUAL(slots_teid_reserve(slots, teid_make(&scheme, 0, 0, g), true), 0);
		CU_ASSERT_EQUAL(slots_teid_reserve(slots, teid_make(&scheme, 0, 2, g), true), 0);
	}
	CU_ASSERT_EQUAL(slots_take(slots, &slot), 0);
	CU_ASSERT_EQUAL(slot.index, 1);
	CU_ASSERT_EQUAL(slots_take(slots, &slot), -ENOSPC);
	CU_ASSERT_EQUAL(slots_tunnel_take(slots, 0, &record, &teid), 0);
	CU_ASSERT_EQUAL(record, 1);
	CU_ASSERT_EQUAL(slots_tunnel_take(slots, 0, &record, &teid), -ENOSPC);
	CU_ASSERT_EQUAL(slots_teid_reserve(slots, teid_make(&scheme, 0, 0, 3), false), 0);
	CU_ASSERT_EQUAL(slots_take(slots, &slot), 0);
	CU_ASSERT_EQUAL(slots_teid(slots, &slot), teid_make(&scheme, 0, 0, 3));
	slots_free(slots);
}

// A pool without further tunnels is of use.
static void no_tunnels(void)
{
	struct teid_scheme scheme;
	struct slots *slots = slots_of(2, 4, 0, &scheme);
	uint32_t record, teid;
	struct slot slot;

	CU_ASSERT_EQUAL(slots_take(slots, &slot), 0);
	CU_ASSERT_EQUAL(slots_tunnel_take(slots, 0, &record, &teid), -ENOSPC);
	slots_free(slots);
}

static CU_TestInfo tests[] = {
	{"the least loaded worker", least_loaded},
	{"reused late", reused_late},
	{"TEIDs", teids},
	{"TEIDs that SMFs chose", given},
	{"a TEID chosen twice", given_twice},
	{"all TEIDs of a place chosen", all_given},
	{"no further tunnels", no_tunnels},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("slots")
