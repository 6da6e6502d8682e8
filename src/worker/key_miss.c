// Keeping and telling what led nowhere, see key_miss.h.
// Worker.

#include "worker/key_miss.h"

#include "worker/worker.h"

#define EACH (NS_PER_MS * METER_UNITS_PER_NS)

// Where to keep one now; NULL: the last one is too new.
static struct key_miss *miss_open(struct worker *w, unsigned kind, bool v6)
{
	struct key_miss *miss = &w->misses[kind];

	if (miss->at && w->now - miss->at < EACH)
		return NULL;
	miss->at = w->now;
	miss->v6 = v6;
	return miss;
}

void key_missed(struct worker *w, const struct pkt *p, enum key_kind_own kind)
{
	const uint8_t *frame = rte_pktmbuf_mtod(p->mbuf, const uint8_t *);
	unsigned family = kind == KEY_KIND_teid ? frame[p->outer] >> 4 : p->family;
	struct key_miss *miss = miss_open(w, kind, family == 6);

	if (miss)
		key_kind_at(kind)->extract(p, frame + p->user, &miss->key);
}

void key_missed_flow(struct worker *w, const struct flow_key *key, bool v6)
{
	struct key_miss *miss = miss_open(w, key_kind_of(key), v6);

	if (miss)
		miss->key = *key;
}

void key_misses_look(const struct worker *w, struct key_miss ret[KEY_KINDS])
{
	memcpy(ret, w->misses, sizeof(w->misses));
	for (unsigned i = 0; i < KEY_KINDS; i++)
		if (ret[i].at)
			ret[i].at = w->now - ret[i].at + 1;
}
