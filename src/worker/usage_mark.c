// Marks of usage, see usage_mark.h.
// Workers run it but for the taking of events, which is the control thread's.

#include "worker/usage_mark.h"

#include "worker/ring.h"

static bool event_post(struct worker *w, const struct pkt *p, unsigned hits, const struct usage *u)
{
	uint32_t slot = session_ref_index(p->ref);
	struct usage_event event = {
		.slot = slot,
		.version = w->table.cold[slot].version,
		.hits = (uint8_t)hits,
		.serial = u->serial,
	};

	if (hits & USAGE_HIT_TAKES)
		event.counts = u->counts;
	return rte_ring_sp_enqueue_elem(w->usage_events, &event, sizeof(event)) == 0;
}

void usage_mark(struct worker *w, const struct pkt *p, unsigned number)
{
	struct usage_at at = usage_find(&w->table, session_ref_index(p->ref), number);
	unsigned hits;

	usage_settle(&at);
	hits = usage_hits(&at);
	if (hits && event_post(w, p, hits, at.usage)) {
		if (hits & USAGE_HIT_TAKES)
			usage_restart(&at);
		worker_count(w, COUNTER_usage_marks, 1);
	} else if (hits) {
		usage_hits_undo(&at, hits);
		worker_count(w, COUNTER_usage_marks_late, 1);
	}
	usage_grant(&at);
}

void usage_count_listed(struct worker *w, const struct pkt *p, bool before)
{
	const struct policy *policy = w->table.cold[session_ref_index(p->ref)].policy;
	enum side side = (p->flags & PKT_F_UP) ? SIDE_UP : SIDE_DOWN;
	uint32_t now_s = (uint32_t)(w->now / METER_UNITS_PER_SEC);
	const uint8_t *usages = p->pdr->usages;

	for (unsigned i = 0; i < sizeof(p->pdr->usages) && usages[i] != PDR_NO_PLACE; i++) {
		struct usage *usage = &policy->usages[usages[i]];

		if (before == ((usage->flags & USAGE_F_BEFORE) != 0) &&
		    usage_count(usage, side, p->user_bytes, now_s))
			usage_mark(w, p, usages[i]);
	}
}

unsigned usage_events_take(struct worker *w, struct usage_event *ret, unsigned n)
{
	return rte_ring_sc_dequeue_burst_elem(w->usage_events, ret, sizeof(*ret), n, NULL);
}
