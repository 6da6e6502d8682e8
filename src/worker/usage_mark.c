// Marks of usage, see usage_mark.h.
// Workers run it but for the taking of events, which is the control thread's.

#include "worker/usage_mark.h"

#include "worker/ring.h"

static bool event_post(struct worker *w, uint32_t slot, unsigned hits, const struct usage *u)
{
	struct usage_event event = {
		.slot = slot,
		.version = w->table.cold[slot].version,
		.hits = (uint8_t)hits,
		.serial = u->serial,
	};

	if (hits & (USAGE_HIT_TAKES | USAGE_HIT_SPLIT))
		event.counts = usage_counts_of(u);
	return rte_ring_sp_enqueue_elem(w->usage_events, &event, sizeof(event)) == 0;
}

void usage_mark(struct worker *w, const struct pkt *p, unsigned number)
{
	uint32_t slot = session_ref_index(p->ref);
	struct usage_at at = usage_find(&w->table, slot, number);
	unsigned hits;

	usage_settle(&at);
	hits = usage_hits(&at);
	if (hits && event_post(w, slot, hits, at.usage)) {
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
		struct usage *usage = policy_usage(policy, usages[i]);

		if (before == ((usage->flags & USAGE_F_BEFORE) != 0) &&
		    usage_count(usage, side, p->user_bytes, now_s))
			usage_mark(w, p, usages[i]);
	}
}

static bool pdr_has_usage(const struct pdr *pdr, unsigned number)
{
	if (number == 0 && pdr->policy & PDR_POLICY_USAGE_LINE)
		return true;
	for (unsigned i = 0; i < sizeof(pdr->usages) && pdr->usages[i] != PDR_NO_PLACE; i++)
		if (pdr->usages[i] == number)
			return true;
	return false;
}

// Told with what the usage has counted, as any report. With the ring full the next that is dropped tries again.
static void drops_tell(struct worker *w, const struct pkt *p, struct usage_drops *drops)
{
	uint32_t slot = session_ref_index(p->ref);
	struct usage_at at = usage_find(&w->table, slot, drops->number);

	usage_settle(&at);
	if (event_post(w, slot, USAGE_HIT_DROPPED, at.usage)) {
		usage_restart(&at);
		drops->packets = drops->bytes = 0;
		worker_count(w, COUNTER_usage_marks, 1);
	} else {
		worker_count(w, COUNTER_usage_marks_late, 1);
	}
	usage_grant(&at);
}

void usage_count_dropped(struct worker *w, const struct pkt *p)
{
	const struct policy *policy = w->table.cold[session_ref_index(p->ref)].policy;

	if (p->flags & PKT_F_UP)
		return;
	for (unsigned i = 0; i < policy->form.n_drops; i++) {
		struct usage_drops *drops = policy_drops(policy, i);

		if (!pdr_has_usage(p->pdr, drops->number))
			continue;
		drops->packets++;
		drops->bytes += p->user_bytes;
		if (drops->packets >= drops->packets_threshold ||
		    drops->bytes >= drops->bytes_threshold)
			drops_tell(w, p, drops);
	}
}

bool usage_splits_tell(struct worker *w, uint32_t slot, struct policy *next)
{
	const struct policy *policy = w->table.cold[slot].policy;

	for (unsigned i = 0; policy && i < policy->form.n_usages && i < next->form.n_usages; i++) {
		struct usage *to = policy_usage(next, i);
		unsigned hits = USAGE_HIT_SPLIT | (to->flags & USAGE_F_TAKE ? USAGE_HIT_ANEW : 0);
		struct usage_at at = usage_find(&w->table, slot, i);
		bool told;

		if (!(to->flags & USAGE_F_SPLIT))
			continue;
		usage_settle(&at);
		told = event_post(w, slot, hits, at.usage);
		if (told && hits & USAGE_HIT_ANEW)
			usage_restart(&at);
		usage_grant(&at);
		if (!told)
			return false;
		to->flags &= (uint16_t) ~(USAGE_F_SPLIT | USAGE_F_TAKE);
	}
	return true;
}

unsigned usage_events_take(struct worker *w, struct usage_event *ret, unsigned n)
{
	return rte_ring_sc_dequeue_burst_elem(w->usage_events, ret, sizeof(*ret), n, NULL);
}
