// Smallest, median and largest of some values. See summary.h.
// Any thread.

#include "summary.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct summary summary_of(double *values, unsigned n)
{
	qsort(values, n, sizeof(values[0]), compare);
	return (struct summary){values[0], values[n / 2], values[n - 1]};
}
