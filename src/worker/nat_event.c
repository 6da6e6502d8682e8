// See nat_event.h.
// Workers run it but for the taking of events, which is the control thread's.

#include "worker/nat_event.h"

#include "worker/ring.h"

void nat_event_post(struct worker *w, uint32_t slot, uint32_t block, bool got)
{
	const struct nat_session *session = &w->nat.sessions[slot];
	const struct nat_ports *ports = &w->nat.ports[session->profile];
	const struct nat_place place = nat_block_place(ports, block);
	struct nat_event event = {
		.since = ports->blocks[block].since,
		.now = w->now,
		.slot = slot,
		.ue = session->ue,
		.outside = place.addr,
		.first = place.port,
		.last = nat_block_last(ports, block),
		.profile = session->profile,
		.got = got,
	};

	if (ports->pool->log_blocks &&
	    rte_ring_sp_enqueue_elem(w->nat_events, &event, sizeof(event)) != 0)
		worker_count(w, COUNTER_nat_blocks_unlogged, 1);
}

unsigned nat_events_take(struct worker *w, struct nat_event *ret, unsigned n)
{
	return rte_ring_sc_dequeue_burst_elem(w->nat_events, ret, sizeof(*ret), n, NULL);
}
