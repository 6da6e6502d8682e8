// Asking for the bytes that parse will read (2_parse.c).
//
// Worker.

#pragma once

#include "pipeline/pipeline.h"

// The first line of a frame, and what else its side of the network makes sure to need: the second line, where
// a tunnelled packet's own header ends, or the line before, which a tunnel header is written to.
static inline void parse_fetch(const struct worker *w, const struct turn *t, unsigned i)
{
	const uint8_t *data = rte_pktmbuf_mtod(t->mbufs[i], const uint8_t *);
	const struct parse_conf *conf = &w->parse[w->rx[t->rx[i]].ifaces[0]];

	rte_prefetch0(data);
	rte_prefetch0(conf->access ? data + RTE_CACHE_LINE_SIZE : data - RTE_CACHE_LINE_SIZE);
}
