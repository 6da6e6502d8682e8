// Packets that wait in order: a list by mbuf->next.
//
// Worker. Each packet is one buffer, so its `next` is free while it waits.

#pragma once

#include <stdint.h>

#include <rte_mbuf.h>

struct mbuf_list {
	struct rte_mbuf *first, *last;
	uint32_t n;
};

static inline void mbuf_list_put(struct mbuf_list *list, struct rte_mbuf *m)
{
	m->next = NULL;
	if (list->last)
		list->last->next = m;
	else
		list->first = m;
	list->last = m;
	list->n++;
}

// The first; NULL: it is empty.
static inline struct rte_mbuf *mbuf_list_take(struct mbuf_list *list)
{
	struct rte_mbuf *m = list->first;

	if (!m)
		return NULL;
	list->first = m->next;
	if (!list->first)
		list->last = NULL;
	list->n--;
	m->next = NULL;
	return m;
}
