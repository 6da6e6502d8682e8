// The nearest word, see near.h. Any thread.
//
// The usual table of distances between all beginnings of two words, of which three rows are kept.

#include "base/near.h"

#include <ctype.h>
#include <string.h>

static size_t near_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int near_letter(char c)
{
	return tolower((unsigned char)c);
}

// Row i of the table holds the distances of a's first i letters to each beginning of b; only the
// last two rows before it are needed.
size_t near_distance(const char *a, const char *b)
{
	size_t rows[3][NEAR_WORD_MAX + 1];
	size_t *now = rows[0], *before = rows[1], *earlier = rows[2];
	size_t na = strlen(a), nb = strlen(b);

	if (na > NEAR_WORD_MAX || nb > NEAR_WORD_MAX)
		return NEAR_WORD_MAX + 1;
	for (size_t j = 0; j <= nb; j++)
		now[j] = j;

	for (size_t i = 1; i <= na; i++) {
		size_t *spare = earlier;

		earlier = before;
		before = now;
		now = spare;
		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			int la = near_letter(a[i - 1]), lb = near_letter(b[j - 1]);

			now[j] = near_min(before[j - 1] + (la != lb),
					  near_min(before[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && la == near_letter(b[j - 2]) &&
			    near_letter(a[i - 2]) == lb)
				now[j] = near_min(now[j], earlier[j - 2] + 1);
		}
	}
	return now[nb];
}

void near_init(struct near *near, const char *word)
{
	size_t n = strlen(word);

	// A third of the letters may be wrong; one always.
	*near = (struct near){.word = word, .distance = (n < 3 ? 1 : n / 3) + 1};
}

void near_offer(struct near *near, const char *candidate)
{
	size_t distance = near_distance(near->word, candidate);

	if (distance < near->distance) {
		near->best = candidate;
		near->distance = distance;
	}
}

const char *near_best(const struct near *near)
{
	return near->best;
}
