// Lists of numbers: rings in an array of links, where a list's head is a number as its members are.
//
// Owner worker. A number that is in no list is a ring of its own, so that leaving needs no question.

#pragma once

#include <stdint.h>

struct link {
	uint32_t next, prev;
};

static inline void link_alone(struct link *links, uint32_t i)
{
	links[i] = (struct link){i, i};
}

// Out of its list, if it is in one.
static inline void link_leave(struct link *links, uint32_t i)
{
	struct link at = links[i];

	links[at.prev].next = at.next;
	links[at.next].prev = at.prev;
	link_alone(links, i);
}

// Into the list that `head` is of, as its last; it is in none now.
static inline void link_join(struct link *links, uint32_t i, uint32_t head)
{
	uint32_t last = links[head].prev;

	links[i] = (struct link){head, last};
	links[last].next = i;
	links[head].prev = i;
}
