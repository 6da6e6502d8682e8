// The no-drop-rate search. See search.h.
// Pure.

#include "search.h"

#define BEHIND 0.98       // a sender that offers less of what was asked is the limit
#define OVERLOAD_ROOM 1.5 // without overload more may come through than with it
#define NEARLY 0.9        // of the most that it ever offered
#define STUCK_MOST 4      // trials in a row behind: more would not help
#define LEAST 100.0       // packets a second: not worth going on below

void search_init(struct search *s, double most, double precision)
{
	*s = (struct search){.high = most, .precision = precision};
}

double search_next(struct search *s)
{
	if (s->ended || s->high < LEAST || s->high - s->low <= s->precision * s->high)
		return 0;
	s->asked = s->begun ? (s->low + s->high) / 2 : s->high;
	return s->asked;
}

static void first_take(struct search *s, double offered, double received, bool passed)
{
	s->begun = true;
	s->overload = received;
	if (passed) {
		s->low = offered;
		s->limited = offered < BEHIND * s->asked;
		s->ended = true;
		return;
	}
	s->high = offered < s->high ? offered : s->high;
	if (s->high > OVERLOAD_ROOM * received)
		s->high = OVERLOAD_ROOM * received;
}

// Offered less than asked, and lost nothing.
static void behind_take(struct search *s)
{
	s->stuck++;
	if (s->asked >= NEARLY * s->most || s->stuck == STUCK_MOST)
		s->limited = s->ended = true;
}

void search_take(struct search *s, double offered, double received, bool passed)
{
	bool behind = offered < BEHIND * s->asked;

	s->most = offered > s->most ? offered : s->most;
	if (!s->begun) {
		first_take(s, offered, received, passed);
		return;
	}
	if (passed)
		s->low = offered > s->low ? offered : s->low;
	else
		s->high = behind && offered > s->low ? offered : s->asked;
	if (passed && behind)
		behind_take(s);
	else
		s->stuck = 0;
}
