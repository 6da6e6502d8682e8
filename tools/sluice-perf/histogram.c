// Percentiles and printing of a histogram. See histogram.h.
// Any thread.

#include "histogram.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"

static const struct {
	const char *name;
	double percent;
} percentiles[] = {{"p50", 50}, {"p99", 99}, {"p99.9", 99.9}};

// The largest value that falls into a bucket.
static uint64_t bucket_end(unsigned bucket)
{
	unsigned power = bucket / HISTOGRAM_PARTS, part = bucket % HISTOGRAM_PARTS;

	if (power == 0)
		return part;
	return ((uint64_t)(HISTOGRAM_PARTS + part + 1) << (power - 1)) - 1;
}

double histogram_mean(const struct histogram *h)
{
	return h->n ? (double)h->sum / (double)h->n : 0;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
	uint64_t wanted = (uint64_t)ceil((double)h->n * percent / 100), seen = 0;

	for (unsigned i = 0; i < HISTOGRAM_POWERS * HISTOGRAM_PARTS - 1; i++) {
		seen += h->buckets[i];
		if (seen && seen >= wanted)
			return bucket_end(i) < h->max ? bucket_end(i) : h->max;
	}
	return h->max; // the last bucket has no end
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	if (from->n == 0)
		return;
	to->min = to->n == 0 || from->min < to->min ? from->min : to->min;
	to->max = from->max > to->max ? from->max : to->max;
	to->sum += from->sum;
	to->n += from->n;
	for (unsigned i = 0; i < HISTOGRAM_POWERS * HISTOGRAM_PARTS; i++)
		to->buckets[i] += from->buckets[i];
}

void histogram_json(struct json *j, const char *key, const struct histogram *h, double scale)
{
	json_object_open(j, key);
	json_uint(j, "n", h->n);
	json_double(j, "min", (double)h->min * scale);
	json_double(j, "mean", histogram_mean(h) * scale);
	for (unsigned i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		json_double(j, percentiles[i].name,
			    (double)histogram_percentile(h, percentiles[i].percent) * scale);
	json_double(j, "max", (double)h->max * scale);
	json_object_close(j);
}

void histogram_print(const struct histogram *h, double scale)
{
	printf("min %.1f mean %.1f", (double)h->min * scale, histogram_mean(h) * scale);
	for (unsigned i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		printf(" %s %.1f", percentiles[i].name,
		       (double)histogram_percentile(h, percentiles[i].percent) * scale);
	printf(" max %.1f\n", (double)h->max * scale);
}
