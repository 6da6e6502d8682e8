// Numbers that rest, see rest.h.
//
// A list in the order of time, and a hash of chains over the same nodes, doubled as they become more.

#include "base/rest.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/queue.h>

#define BUCKETS_MIN 64

struct node {
	TAILQ_ENTRY(node) in_time;
	struct node *next; // in its bucket
	uint64_t number, since_ns;
};
TAILQ_HEAD(node_list, node);

struct rest {
	struct node_list list; // the oldest first
	struct node **buckets;
	uint32_t mask; // number of buckets less one
	uint32_t n, most;
};

static struct node **bucket_of(struct node **buckets, uint32_t mask, uint64_t number)
{
	return &buckets[(number * 0x9e3779b97f4a7c15ull >> 32) & mask];
}

// Where the pointer to the node of this number stands, or would stand.
static struct node **place_of(const struct rest *rest, uint64_t number)
{
	struct node **at = bucket_of(rest->buckets, rest->mask, number);

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

struct rest *rest_new(uint32_t most)
{
	struct rest *rest = calloc(1, sizeof(*rest));

	if (rest == NULL)
		return NULL;
	TAILQ_INIT(&rest->list);
	rest->most = most;
	rest->mask = BUCKETS_MIN - 1;
	rest->buckets = calloc(BUCKETS_MIN, sizeof(struct node *));
	if (rest->buckets == NULL) {
		free(rest);
		return NULL;
	}
	return rest;
}

static void take_out(struct rest *rest, struct node **at)
{
	struct node *node = *at;

	*at = node->next;
	TAILQ_REMOVE(&rest->list, node, in_time);
	rest->n--;
	free(node);
}

void rest_free(struct rest *rest)
{
	struct node *node;

	if (rest == NULL)
		return;
	while ((node = TAILQ_FIRST(&rest->list)) != NULL)
		take_out(rest, place_of(rest, node->number));
	free(rest->buckets);
	free(rest);
}

// Twice as many buckets; without memory the chains just become longer.
static void grow(struct rest *rest)
{
	uint32_t mask = 2 * rest->mask + 1;
	struct node **buckets = calloc((size_t)mask + 1, sizeof(struct node *));
	struct node *node;

	if (buckets == NULL)
		return;
	TAILQ_FOREACH(node, &rest->list, in_time) {
		struct node **bucket = bucket_of(buckets, mask, node->number);

		node->next = *bucket;
		*bucket = node;
	}
	free(rest->buckets);
	rest->buckets = buckets;
	rest->mask = mask;
}

int rest_add(struct rest *rest, uint64_t number, uint64_t now_ns)
{
	struct node **at = place_of(rest, number);
	struct node *node = *at;

	if (node) {
		TAILQ_REMOVE(&rest->list, node, in_time);
	} else {
		node = calloc(1, sizeof(*node));
		if (node == NULL)
			return -ENOMEM;
		node->number = number;
		*at = node;
		rest->n++;
	}
	node->since_ns = now_ns;
	TAILQ_INSERT_TAIL(&rest->list, node, in_time);
	if (rest->most && rest->n > rest->most)
		take_out(rest, place_of(rest, TAILQ_FIRST(&rest->list)->number));
	if (rest->n > rest->mask && rest->mask < UINT32_MAX / 2)
		grow(rest);
	return 0;
}

bool rest_has(const struct rest *rest, uint64_t number)
{
	return *place_of(rest, number) != NULL;
}

int rest_del(struct rest *rest, uint64_t number)
{
	struct node **at = place_of(rest, number);

	if (*at == NULL)
		return -ENOENT;
	take_out(rest, at);
	return 0;
}

int rest_take(struct rest *rest, uint64_t until_ns, uint64_t *ret_number)
{
	const struct node *node = TAILQ_FIRST(&rest->list);

	if (node == NULL || node->since_ns > until_ns)
		return -EAGAIN;
	*ret_number = node->number;
	return rest_del(rest, node->number);
}

uint32_t rest_count(const struct rest *rest)
{
	return rest->n;
}
