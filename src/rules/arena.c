// The arena of compiled rules, see arena.h.
// Control thread. Freed blocks go to a list by size; only when nothing else is left is a larger one cut.

#include "rules/arena.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_jhash.h>

// Block sizes: each number of units up to 16, then four to a doubling, so that at most a fifth is unused.
#define EXACT_SIZES 16u
#define N_SIZES (EXACT_SIZES + 4u * 14u)
#define MAX_UNITS 262144u // 16 MiB: the largest classifiers need less (rules/classify.h)

#define HUGE_PAGE ((size_t)2 << 20)

// About the block that starts at the unit of the same number; kept apart from it, so that counting a user
// does not take the block's cache line from the workers.
struct block {
	uint32_t users;
	uint32_t hash;
	uint32_t next; // of its hash chain, or of its free list; 0 ends either
};

struct arena_books {
	void *mapping;
	size_t mapping_bytes;
	uint32_t n_units;
	uint32_t fresh;  // units from here on were never used; unit 0 never is
	uint32_t serial; // of the latest block
	uint32_t bucket_mask;
	uint32_t *buckets;    // heads of hash chains
	struct block *blocks; // [n_units]
	uint32_t free[N_SIZES];
	uint32_t sizes[N_SIZES]; // in units
	struct rule_arena_counts counts;
};

// Address space without memory behind it until it is touched.
static void *reserve(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void unreserve(void *at, size_t bytes)
{
	if (at != NULL)
		munmap(at, bytes);
}

static size_t buckets_bytes(const struct arena_books *books)
{
	return ((size_t)books->bucket_mask + 1) * sizeof(uint32_t);
}

static size_t blocks_bytes(const struct arena_books *books)
{
	return books->n_units * sizeof(struct block);
}

static void sizes_fill(uint32_t sizes[N_SIZES])
{
	for (uint32_t i = 0; i < EXACT_SIZES; i++)
		sizes[i] = i + 1;
	for (uint32_t i = EXACT_SIZES; i < N_SIZES; i++) {
		uint32_t doubling = (i - EXACT_SIZES) / 4;
		uint32_t quarter = (i - EXACT_SIZES) % 4 + 1;

		sizes[i] = (EXACT_SIZES << doubling) + quarter * ((EXACT_SIZES / 4) << doubling);
	}
	assert(sizes[N_SIZES - 1] == MAX_UNITS);
}

// One hash chain for eight units: ordinary blocks are four to six.
static uint32_t bucket_mask_for(uint32_t n_units)
{
	uint32_t n = 1024;

	while (n < n_units / 8)
		n *= 2;
	return n - 1;
}

int rule_arena_init(struct rule_arena *arena, size_t bytes)
{
	size_t n_units = bytes / RULESET_UNIT;
	struct arena_books *books;

	if (n_units < 2 || n_units > UINT32_MAX)
		return -EINVAL;
	books = calloc(1, sizeof(*books));
	if (books == NULL)
		return -ENOMEM;
	arena->books = books;
	books->n_units = (uint32_t)n_units;
	books->fresh = 1;
	books->counts.bytes = n_units * RULESET_UNIT;
	books->bucket_mask = bucket_mask_for(books->n_units);
	sizes_fill(books->sizes);

	books->mapping_bytes = bytes + HUGE_PAGE;
	books->mapping = reserve(books->mapping_bytes);
	books->buckets = reserve(buckets_bytes(books));
	books->blocks = reserve(blocks_bytes(books));
	if (books->mapping == NULL || books->buckets == NULL || books->blocks == NULL) {
		rule_arena_fini(arena);
		return -ENOMEM;
	}
	arena->base = (uint8_t *)(((uintptr_t)books->mapping + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	// Only a matter of speed: without huge pages all works.
	madvise(arena->base, bytes, MADV_HUGEPAGE);
	return 0;
}

void rule_arena_fini(struct rule_arena *arena)
{
	struct arena_books *books = arena->books;

	if (books != NULL) {
		unreserve(books->mapping, books->mapping_bytes);
		unreserve(books->buckets, buckets_bytes(books));
		unreserve(books->blocks, blocks_bytes(books));
		free(books);
	}
	*arena = (struct rule_arena){0};
}

// The smallest size that holds this many units, at most MAX_UNITS.
static unsigned size_for(const struct arena_books *books, uint32_t units)
{
	unsigned i = units <= EXACT_SIZES ? units - 1 : EXACT_SIZES;

	while (books->sizes[i] < units)
		i++;
	return i;
}

static void free_list_add(struct arena_books *books, uint32_t place, unsigned size)
{
	books->blocks[place].next = books->free[size];
	books->free[size] = place;
}

static uint32_t free_list_take(struct arena_books *books, unsigned size)
{
	uint32_t place = books->free[size];

	if (place != 0)
		books->free[size] = books->blocks[place].next;
	return place;
}

// The units from `place` on, as free blocks, the largest first.
static void free_units(struct arena_books *books, uint32_t place, uint32_t units)
{
	for (unsigned size = N_SIZES; size-- > 0;) {
		while (units >= books->sizes[size]) {
			free_list_add(books, place, size);
			place += books->sizes[size];
			units -= books->sizes[size];
		}
	}
}

// A block of this size cut from a larger free one; 0 where there is none.
static uint32_t block_cut(struct arena_books *books, unsigned size)
{
	uint32_t units = books->sizes[size];

	for (unsigned larger = size + 1; larger < N_SIZES; larger++) {
		uint32_t place = free_list_take(books, larger);

		if (place != 0) {
			free_units(books, place + units, books->sizes[larger] - units);
			return place;
		}
	}
	return 0;
}

// A block of this size; 0 where there is no room.
static uint32_t block_take(struct arena_books *books, unsigned size)
{
	uint32_t place = free_list_take(books, size);

	if (place == 0 && books->n_units - books->fresh >= books->sizes[size]) {
		place = books->fresh;
		books->fresh += books->sizes[size];
	}
	return place ? place : block_cut(books, size);
}

#define SERIAL_AT offsetof(struct ruleset, pdrs[0].serial)
#define SERIAL_END (SERIAL_AT + sizeof(uint32_t))
static_assert(SERIAL_END <= RULESET_UNIT, "every block has room for its serial");

// But for the serial, which is 0 in a block that is not in the arena yet.
static bool is_like(const struct rule_arena *arena, uint32_t place, uint32_t hash,
		    const struct ruleset *rs)
{
	const struct ruleset *at = rule_arena_at(arena, place);

	return arena->books->blocks[place].hash == hash && at->units == rs->units &&
	       memcmp(at, rs, SERIAL_AT) == 0 &&
	       memcmp((const uint8_t *)at + SERIAL_END, (const uint8_t *)rs + SERIAL_END,
		      ruleset_bytes(rs) - SERIAL_END) == 0;
}

int rule_arena_intern(struct rule_arena *arena, const struct ruleset *rs, uint32_t *ret_place)
{
	struct arena_books *books = arena->books;
	uint32_t hash = rte_jhash(rs, (uint32_t)ruleset_bytes(rs), 0);
	uint32_t *chain = &books->buckets[hash & books->bucket_mask];
	uint32_t place;
	unsigned size;

	assert(rs->units > 0 && rs->units <= MAX_UNITS);
	for (place = *chain; place != 0; place = books->blocks[place].next) {
		if (!is_like(arena, place, hash, rs))
			continue;
		books->blocks[place].users++;
		books->counts.users++;
		*ret_place = place;
		return 0;
	}

	size = size_for(books, rs->units);
	place = block_take(books, size);
	if (place == 0)
		return -ENOSPC;
	memcpy(arena->base + (size_t)place * RULESET_UNIT, rs, ruleset_bytes(rs));
	((struct ruleset *)(void *)(arena->base + (size_t)place * RULESET_UNIT))->pdrs[0].serial =
		++books->serial;
	books->blocks[place] = (struct block){.users = 1, .hash = hash, .next = *chain};
	*chain = place;
	books->counts.users++;
	books->counts.blocks++;
	books->counts.bytes_used += (uint64_t)books->sizes[size] * RULESET_UNIT;
	*ret_place = place;
	return 0;
}

void rule_arena_release(struct rule_arena *arena, uint32_t place)
{
	struct arena_books *books = arena->books;
	struct block *block = &books->blocks[place];
	uint32_t *link = &books->buckets[block->hash & books->bucket_mask];
	unsigned size;

	assert(place > 0 && place < books->fresh && block->users > 0);
	books->counts.users--;
	if (--block->users > 0)
		return;

	while (*link != place)
		link = &books->blocks[*link].next;
	*link = block->next;
	size = size_for(books, rule_arena_at(arena, place)->units);
	free_list_add(books, place, size);
	books->counts.blocks--;
	books->counts.bytes_used -= (uint64_t)books->sizes[size] * RULESET_UNIT;
}

void rule_arena_counts_get(const struct rule_arena *arena, struct rule_arena_counts *ret)
{
	*ret = arena->books->counts;
}

uint32_t rule_arena_users(const struct rule_arena *arena, uint32_t place)
{
	return arena->books->blocks[place].users;
}
