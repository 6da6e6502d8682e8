// The known word nearest to a misspelt one, for "did you mean".
//
// Distance is the number of letters inserted, left out, changed or swapped with their neighbour
// (optimal string alignment), blind to case. Any thread; no memory.
//
//	struct near near;
//	near_init(&near, "adress");
//	for (each known word)
//		near_offer(&near, word);
//	if (near_best(&near)) …

#pragma once

#include <stddef.h>

#define NEAR_WORD_MAX 64 // longer words are near to nothing

struct near {
	const char *word;
	const char *best; // NULL so far
	size_t distance;  // of best, or the least that is too far
};

void near_init(struct near *near, const char *word);

// The candidate must outlive the use of near_best(). Of equals the first offered wins.
void near_offer(struct near *near, const char *candidate);

// The nearest candidate, or NULL when all are too far to be meant.
const char *near_best(const struct near *near);

// The distance of two words, or NEAR_WORD_MAX + 1 when either is too long.
size_t near_distance(const char *a, const char *b);
