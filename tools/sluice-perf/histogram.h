// A histogram of times: its percentiles are exact to 1/32 of their value, at a fixed size.
// Owned by one thread. Zeros are an empty one.

#pragma once

#include <stdint.h>

#define HISTOGRAM_PARTS 32u // to a power of two
#define HISTOGRAM_POWERS 36u

struct histogram {
	uint64_t n, sum, min, max;
	uint64_t buckets[HISTOGRAM_POWERS * HISTOGRAM_PARTS];
};

static inline unsigned histogram_bucket(uint64_t value)
{
	unsigned power;

	if (value < HISTOGRAM_PARTS)
		return (unsigned)value;
	power = 63u - (unsigned)__builtin_clzll(value) - 4u;
	if (power >= HISTOGRAM_POWERS)
		return HISTOGRAM_POWERS * HISTOGRAM_PARTS - 1;
	return power * HISTOGRAM_PARTS + (unsigned)(value >> (power - 1) & (HISTOGRAM_PARTS - 1));
}

static inline void histogram_add(struct histogram *h, uint64_t value)
{
	h->buckets[histogram_bucket(value)]++;
	h->min = h->n == 0 || value < h->min ? value : h->min;
	h->max = value > h->max ? value : h->max;
	h->sum += value;
	h->n++;
}

double histogram_mean(const struct histogram *h);
// The value that `percent` of all are not above: the end of its bucket, but never more than the largest. 0 when
// empty.
uint64_t histogram_percentile(const struct histogram *h, double percent);
// Adds `from` to `to`.
void histogram_merge(struct histogram *to, const struct histogram *from);

// One JSON object of it under `key`, or the end of a line for people; values times `scale`.
struct json;
void histogram_json(struct json *j, const char *key, const struct histogram *h, double scale);
void histogram_print(const struct histogram *h, double scale);
