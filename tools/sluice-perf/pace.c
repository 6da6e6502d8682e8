// See pace.h.
// Pure.

#include "pace.h"

double pace_due(struct pace *pace, uint64_t now, uint64_t done)
{
	double due = (double)(now - pace->start) * pace->per_unit - pace->left_out - (double)done;

	if (due > pace->behind_most) {
		pace->left_out += due - pace->behind_most;
		due = pace->behind_most;
	}
	return due;
}
