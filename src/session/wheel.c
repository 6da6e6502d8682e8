// The timer wheel, see wheel.h.
// Owner worker, but for making and freeing. A slot's mark is set when something is put into it, and cleared when it
// is found empty, so that a look passes over what time has left behind at 64 slots a step.

#include "session/wheel.h"

#include <errno.h>

#include <rte_malloc.h>

#define MARK_WORDS (WHEEL_SLOTS / 64)

int wheel_init(struct wheel *wheel, uint32_t n, uint32_t tick, int socket)
{
	*wheel = (struct wheel){
		.n = n,
		.tick = tick,
		.links = rte_malloc_socket("wheel_links", (n + WHEEL_SLOTS) * sizeof(struct link),
					   RTE_CACHE_LINE_SIZE, socket),
		.marks = rte_zmalloc_socket("wheel_marks", MARK_WORDS * sizeof(uint64_t),
					    RTE_CACHE_LINE_SIZE, socket),
	};
	if (!wheel->links || !wheel->marks) {
		wheel_fini(wheel);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n + WHEEL_SLOTS; i++)
		link_alone(wheel->links, i);
	return 0;
}

void wheel_fini(struct wheel *wheel)
{
	rte_free(wheel->links);
	rte_free(wheel->marks);
	*wheel = (struct wheel){0};
}

static uint32_t slot_of(uint32_t tick)
{
	return tick % WHEEL_SLOTS;
}

void wheel_arm(struct wheel *wheel, uint32_t i, uint32_t tick)
{
	int32_t ahead = (int32_t)(tick - wheel->tick);
	uint32_t slot;

	if (ahead < 0)
		ahead = 0;
	if (ahead >= (int32_t)WHEEL_SLOTS)
		ahead = WHEEL_SLOTS - 1;
	slot = slot_of(wheel->tick + (uint32_t)ahead);
	link_leave(wheel->links, i);
	link_join(wheel->links, i, wheel->n + slot);
	wheel->marks[slot / 64] |= 1ull << slot % 64;
}

// How many of the `most` slots from that of wheel->tick on are without a mark.
static uint32_t unmarked(const struct wheel *wheel, uint32_t most)
{
	uint32_t passed = 0;

	while (passed < most) {
		uint32_t slot = slot_of(wheel->tick + passed);
		uint64_t word = wheel->marks[slot / 64] >> slot % 64;

		if (word) {
			passed += (uint32_t)__builtin_ctzll(word);
			break;
		}
		passed += 64 - slot % 64;
	}
	return passed < most ? passed : most;
}

// Moves on to the first slot that is not empty, at most `most` slots on; false when all of them are.
static bool advance(struct wheel *wheel, uint32_t most)
{
	while (most > 0) {
		uint32_t passed = unmarked(wheel, most);
		uint32_t slot, head;

		wheel->tick += passed;
		most -= passed;
		if (most == 0)
			return false;
		slot = slot_of(wheel->tick);
		head = wheel->n + slot;
		if (wheel->links[head].next != head)
			return true;
		wheel->marks[slot / 64] &= ~(1ull << slot % 64);
	}
	return false;
}

// After a look that has found all, wheel->tick is `now`, whose slot takes what is to be given out at once.
unsigned wheel_due(struct wheel *wheel, uint32_t now, uint32_t *ret, unsigned n)
{
	unsigned got = 0;

	while (got < n) {
		uint32_t ahead = now - wheel->tick;
		uint32_t most = ahead < WHEEL_SLOTS ? ahead + 1 : WHEEL_SLOTS;
		uint32_t head;

		if (tick_is_after(wheel->tick, now))
			break; // time went back
		if (!advance(wheel, most)) {
			wheel->tick = now;
			break;
		}
		head = wheel->n + slot_of(wheel->tick);
		ret[got] = wheel->links[head].next;
		wheel_disarm(wheel, ret[got++]);
	}
	return got;
}

bool wheel_first(struct wheel *wheel, uint32_t *ret, uint32_t *ret_tick)
{
	uint32_t tick = wheel->tick;
	bool found = advance(wheel, WHEEL_SLOTS);

	if (found) {
		*ret = wheel->links[wheel->n + slot_of(wheel->tick)].next;
		*ret_tick = wheel->tick;
	}
	wheel->tick = tick;
	return found;
}
