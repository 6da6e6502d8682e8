// What many windows or trials of one measurement come to: smallest, median and largest.
// Any thread.

#pragma once

struct summary {
	double min, median, max;
};

// Of n > 0 values, which are sorted. Of an even number the median is the upper of the two in the middle.
struct summary summary_of(double *values, unsigned n);
