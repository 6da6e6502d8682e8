// The search for the highest rate at which too little is lost to matter (RFC 2544 26.1).
//
// Pure. The first trial is as fast as the sender may be; what came through then bounds the search, which goes on
// by halves. A sender that cannot offer what is asked, though it has not offered much more before, ends it: then the
// sender is the limit, not what is measured. One that was merely interrupted counts with the rate that it offered.
//
//	struct search s;
//
//	search_init(&s, most, precision);
//	while ((rate = search_next(&s)) > 0)
//		search_take(&s, offered, received, passed);

#pragma once

#include <stdbool.h>

struct search {
	double low, high; // passed at, failed at
	double precision; // relative, at which it ends
	double asked;     // rate of the trial that runs
	double overload;  // received in the first trial
	double most;      // offered in any
	unsigned stuck;   // trials in a row that fell behind
	bool begun, ended;
	bool limited; // by the sender: `low` is what it could offer
};

void search_init(struct search *s, double most, double precision);
// The rate to try next, 0 when the search has ended: s->low is the result.
double search_next(struct search *s);
// What the trial came to, in packets a second.
void search_take(struct search *s, double offered, double received, bool passed);
